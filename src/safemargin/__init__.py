"""Decide, cell by cell, how group counts may be published: exact where that is provably safe.

One function per command. Each is loaded when it is first used.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from safemargin.audit.audit import audit
    from safemargin.audit.findings import Findings
    from safemargin.bounds.bound import bound
    from safemargin.bounds.exposure import Exposure
    from safemargin.core import Onlooker, Publication, RefusedError, SafemarginError, Table, Target
    from safemargin.release.draft import Draft
    from safemargin.release.plan import Plan
    from safemargin.release.project import Project
    from safemargin.release.release import Release, release
    from safemargin.suppress.suppress import suppress
    from safemargin.voting.outcome import outcome

_HOME = {
    "Draft": "release.draft",
    "Exposure": "bounds.exposure",
    "Findings": "audit.findings",
    "Onlooker": "core",
    "Plan": "release.plan",
    "Project": "release.project",
    "Publication": "core",
    "RefusedError": "core",
    "Release": "release.release",
    "SafemarginError": "core",
    "Table": "core",
    "Target": "core",
    "audit": "audit.audit",
    "bound": "bounds.bound",
    "outcome": "voting.outcome",
    "release": "release.release",
    "suppress": "suppress.suppress",
}
"""Where every public name is defined."""

__all__ = [
    "Draft",
    "Exposure",
    "Findings",
    "Onlooker",
    "Plan",
    "Project",
    "Publication",
    "RefusedError",
    "Release",
    "SafemarginError",
    "Table",
    "Target",
    "audit",
    "bound",
    "outcome",
    "release",
    "suppress",
]

__version__ = "0.1.0"


class _Face(ModuleType):
    """A feature folder has the name of its public function: importing it must not hide the function."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOME and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    setattr(sys.modules[__name__], name, value)
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])


sys.modules[__name__].__class__ = _Face
