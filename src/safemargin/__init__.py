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
    from safemargin.audit.audit import audit
    from safemargin.audit.findings import Findings
    from safemargin.bounds.bound import bound
    from safemargin.bounds.exposure import Exposure
    from safemargin.core.errors import SafemarginError
    from safemargin.core.onlooker import Onlooker
    from safemargin.core.publication import Publication
    from safemargin.core.table import Table
    from safemargin.core.target import Target
    from safemargin.release.decide.decide import decide
    from safemargin.release.plan import Plan
    from safemargin.release.project import Project
    from safemargin.release.publish import publish
    from safemargin.release.tabulate import tabulate
finally:
    if _collects:
        gc.enable()

__all__ = [
    "Exposure",
    "Findings",
    "Onlooker",
    "Plan",
    "Project",
    "Publication",
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
