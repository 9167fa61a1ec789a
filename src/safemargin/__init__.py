"""Decide, cell by cell, how group counts may be published: exactly where that is provably safe, protected elsewhere.

One function per command, and the namespaces `aggregate`, `election`, `guarantee` and `noise`. Each is loaded when
it is first used; `__init__.pyi` has their types.
"""

from lazy_loader import attach

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = attach(
    __name__,
    # The packages among these that are named after a function are called like it: see core/callable_package.py.
    submodules={
        *("aggregate", "audit", "election", "fiber", "guarantee", "noise"),
        *("release", "suppress", "swap", "topdown", "verify"),
    },
    submod_attrs={
        "audit.findings": ["Findings"],
        "bounds": ["Exposure"],
        "core": ["InputError", "Onlooker", "Publication", "RefusedError", "SafemarginError", "Table", "Target"],
        "io": ["ReadTable", "load"],
        "release.bound": ["bound"],
        "release.compare.compare": ["compare"],
        "release.draft": ["Draft"],
        "release.forecast": ["forecast"],
        "release.growth": ["growth"],
        "release.init": ["init"],
        "release.ledger.ledger": ["ledger"],
        "release.lock": ["lock"],
        "release.plan": ["Plan"],
        "release.project": ["Project", "schema"],
        "release.release": ["Release", "demo"],
        "swap.simulate": ["simulate"],
        "swap.swap_rates": ["swap_rates"],
        "ui": ["Result"],
        "verify.sign": ["Signed", "sign"],
        "voting.compare_rules": ["rules"],
        "voting.outcome": ["outcome"],
        "web.workbench": ["open_workbench"],
    },
)
