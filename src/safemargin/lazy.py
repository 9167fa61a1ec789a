"""Faces of packages that load each public name when it is first used.

The names are those that a package imports under `if TYPE_CHECKING:`, so one list serves type checkers, readers and this
module. Nothing in that block is imported before somebody asks for it.
"""

import ast
import sys
from importlib import import_module
from types import ModuleType


class LazyPackage(ModuleType):
    """A package whose names come from its modules; a module of the same name does not hide the name."""

    _homes: dict[str, tuple[str, str]]
    """The module of every name, and what it is called there; nothing for a module that stands for itself."""

    def __getattr__(self, name: str) -> object:
        if name not in self._homes:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        home, own_name = self._homes[name]
        module = import_module(home)
        value: object = getattr(module, own_name) if own_name else module
        super().__setattr__(name, value)
        return value

    def __setattr__(self, name: str, value: object) -> None:
        # The import system binds every submodule in its package: that must not replace a function of the same name.
        if not (name in self._homes and isinstance(value, ModuleType)):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*self.__dict__, *self._homes})


def lazy_face(package: str, **elsewhere: str) -> None:
    """Give a package the names that its `if TYPE_CHECKING:` block imports; all are public unless `__all__` says which.

    `elsewhere` adds names whose module the import law forbids the package to mention.
    """
    face = sys.modules[package]
    homes = {name: (module, name) for name, module in elsewhere.items()} | listed_names(package)
    face.__dict__.update({"__all__": sorted(homes), **face.__dict__, "_homes": homes})
    face.__class__ = LazyPackage


def listed_names(package: str) -> dict[str, tuple[str, str]]:
    """What the `if TYPE_CHECKING:` block of a package imports: the module and the name there, by the name here."""
    source = sys.modules[package].__loader__.get_source(package)  # type: ignore[union-attr]
    block = next(node for node in ast.parse(source).body if isinstance(node, ast.If))
    return {
        alias.asname or alias.name: (f"{package}.{alias.name}", "")
        if node.module == package
        else (node.module or "", alias.name)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
