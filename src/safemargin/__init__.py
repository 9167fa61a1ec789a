"""Decide, cell by cell, how group counts may be published: exactly where that is provably safe, protected elsewhere.

One function per command, and the namespaces `aggregate`, `guarantee` and `noise`. Each is loaded when it is first used.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # what type checkers see; `_HOME` is what is loaded, and a test compares the two
    from safemargin import aggregate as aggregate
    from safemargin import guarantees as guarantee
    from safemargin import noise as noise
    from safemargin.audit.audit import audit as audit
    from safemargin.audit.findings import Findings as Findings
    from safemargin.bounds.exposure import Exposure as Exposure
    from safemargin.bounds.tables import bound as bound
    from safemargin.core import InputError as InputError
    from safemargin.core import Onlooker as Onlooker
    from safemargin.core import Publication as Publication
    from safemargin.core import RefusedError as RefusedError
    from safemargin.core import SafemarginError as SafemarginError
    from safemargin.core import Table as Table
    from safemargin.core import Target as Target
    from safemargin.fiber.fiber import fiber as fiber
    from safemargin.release.compare.compare import compare as compare
    from safemargin.release.draft import Draft as Draft
    from safemargin.release.init import init as init
    from safemargin.release.ledger.ledger import ledger as ledger
    from safemargin.release.plan import Plan as Plan
    from safemargin.release.project import Project as Project
    from safemargin.release.project import schema as schema
    from safemargin.release.release import Release as Release
    from safemargin.release.release import demo as demo
    from safemargin.release.release import release as release
    from safemargin.suppress.suppress import suppress as suppress
    from safemargin.swap.simulate import simulate as simulate
    from safemargin.swap.swap import swap as swap
    from safemargin.swap.swap_rates import swap_rates as swap_rates
    from safemargin.topdown.topdown import topdown as topdown
    from safemargin.ui import Result as Result
    from safemargin.verify.verify import verify as verify
    from safemargin.voting.outcome import outcome as outcome

__version__ = "0.1.0"

_HOME = {
    "Draft": "release.draft",
    "Exposure": "bounds.exposure",
    "Findings": "audit.findings",
    "InputError": "core",
    "Onlooker": "core",
    "Plan": "release.plan",
    "Project": "release.project",
    "Publication": "core",
    "RefusedError": "core",
    "Release": "release.release",
    "Result": "ui",
    "SafemarginError": "core",
    "Table": "core",
    "Target": "core",
    "audit": "audit.audit",
    "bound": "bounds.tables",
    "fiber": "fiber.fiber",
    "compare": "release.compare.compare",
    "demo": "release.release",
    "init": "release.init",
    "ledger": "release.ledger.ledger",
    "outcome": "voting.outcome",
    "release": "release.release",
    "schema": "release.project",
    "simulate": "swap.simulate",
    "suppress": "suppress.suppress",
    "swap": "swap.swap",
    "swap_rates": "swap.swap_rates",
    "topdown": "topdown.topdown",
    "verify": "verify.verify",
}
"""Where every public name is defined."""
_NAMESPACES = {"aggregate": "aggregate", "guarantee": "guarantees", "noise": "noise"}
"""Packages that hold one function per subcommand."""

__all__ = sorted([*_HOME, *_NAMESPACES])


class _Face(ModuleType):
    """A feature folder has the name of its public function: importing the folder must not hide the function."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOME and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


def __getattr__(name: str) -> object:
    if name in _NAMESPACES:
        return import_module(f"{__name__}.{_NAMESPACES[name]}")
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    setattr(sys.modules[__name__], name, value)
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])


sys.modules[__name__].__class__ = _Face
