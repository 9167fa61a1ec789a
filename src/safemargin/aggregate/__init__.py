"""Exact sums over clients whose answers nobody sees. One function per subcommand of `aggregate`."""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from safemargin.aggregate.api import attack, privacy, rehearse, structure, sum, views

_NAMES = ("attack", "privacy", "rehearse", "structure", "sum", "views")

__all__ = ["attack", "privacy", "rehearse", "structure", "sum", "views"]


class _Namespace(ModuleType):
    """A module has the name of its public function: importing it must not hide the function."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _NAMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


def __getattr__(name: str) -> object:
    if name not in _NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module("safemargin.aggregate.api"), name)
    setattr(sys.modules[__name__], name, value)
    return value


sys.modules[__name__].__class__ = _Namespace
