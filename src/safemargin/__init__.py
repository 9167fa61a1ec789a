"""Decides, cell by cell, how group counts may be published: exact where that is provably safe.

table = tabulate(Project.load("project.toml"))
exposure = bound(table)
plan = decide(table, target)
release = publish(plan, table)
findings = audit(release, onlooker)
"""

import gc

_collects = gc.isenabled()
gc.disable()  # nothing that an import makes is garbage, and looking for some takes a tenth of a second
try:
    from safemargin.audit import audit
    from safemargin.bounds import bound
    from safemargin.decide import decide
    from safemargin.errors import SafemarginError
    from safemargin.model.exposure import Exposure
    from safemargin.model.findings import Findings
    from safemargin.model.onlooker import Onlooker
    from safemargin.model.plan import Plan
    from safemargin.model.release import Release
    from safemargin.model.table import Table
    from safemargin.model.target import Target
    from safemargin.project import Project
    from safemargin.publish import publish
    from safemargin.tabulate import tabulate
finally:
    if _collects:
        gc.enable()

__all__ = [
    "Exposure",
    "Findings",
    "Onlooker",
    "Plan",
    "Project",
    "Release",
    "SafemarginError",
    "Table",
    "Target",
    "audit",
    "bound",
    "decide",
    "publish",
    "tabulate",
]

__version__ = "0.1.0"
