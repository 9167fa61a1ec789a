"""Privacy guarantees: state, convert, compose, compare and check them. One function per subcommand of `guarantee`."""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from safemargin.guarantees.census import budget, census
    from safemargin.guarantees.compare import beside, compare
    from safemargin.guarantees.compose import compose, show
    from safemargin.guarantees.convert import convert
    from safemargin.guarantees.swap_curves import rates, swap
    from safemargin.guarantees.verify import verify

_HOME = {
    "beside": "guarantees.compare",
    "budget": "guarantees.census",
    "census": "guarantees.census",
    "check": "swap.check",
    "compare": "guarantees.compare",
    "compose": "guarantees.compose",
    "convert": "guarantees.convert",
    "rates": "guarantees.swap_curves",
    "show": "guarantees.compose",
    "swap": "guarantees.swap_curves",
    "verify": "guarantees.verify",
}
"""The module of every function; `check` is a part of swapping, as in the menu."""

__all__ = ["beside", "budget", "census", "check", "compare", "compose", "convert", "rates", "show", "swap", "verify"]


class _Namespace(ModuleType):
    """A module has the name of its public function: importing it must not hide the function."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOME and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"safemargin.{_HOME[name]}"), name)
    setattr(sys.modules[__name__], name, value)
    return value


sys.modules[__name__].__class__ = _Namespace
