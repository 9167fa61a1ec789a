"""Packages that are called like the function they are named after.

`safemargin.release(...)` publishes, and `safemargin.release.draft` is a module of the same package. So the import
system may bind the package in `safemargin` wherever somebody imports one of its modules: the name stays callable.
"""

import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any


class CallablePackage(ModuleType):
    """A package whose module of the same name has a function of that name, which is loaded when it is called."""

    @property
    def __wrapped__(self) -> Callable[..., Any]:
        """The function: `inspect.signature` and `help` follow this name."""
        name = self.__name__.rpartition(".")[2]
        function: Callable[..., Any] = getattr(import_module(f"{self.__name__}.{name}"), name)
        return function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__wrapped__(*args, **kwargs)


def make_callable(package: str) -> None:
    """Let a package that is being imported be called like the function it is named after."""
    sys.modules[package].__class__ = CallablePackage
