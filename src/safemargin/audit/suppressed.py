"""Suppressed counts of all tables together, margins included: which of them follow from what is printed."""

import numpy as np
from scipy import sparse

from safemargin.audit.situation import Attempt, Finding, Situation
from safemargin.bounds import System, Targets, build_system, settle


def suppressed(situation: Situation) -> Attempt:
    """Bound every suppressed count of a table without options; those known to within tau are disclosed."""
    if situation.onlooker.roll or not any("suppressed" in table.status for table in situation.release.tables):
        return Attempt("suppressed", "no count is suppressed that this attack looks at", 0)
    system = build_system(situation.release.tables, situation.onlooker, situation.slack)
    rows = _suppressed_rows(system)
    if system.options != ("",) or not rows:
        return Attempt("suppressed", "no count is suppressed that this attack looks at", 0)
    matrix = sparse.csr_array(system.rows[rows])
    targets = Targets(matrix, np.zeros(len(rows), dtype=np.int64), np.ones(len(rows), dtype=np.int64))
    settled = settle(system, targets)
    findings, inside = [], []
    for number, row in enumerate(rows):
        lower, upper = int(settled.lower[number]), int(settled.upper[number])
        if upper - lower <= situation.release.target.tau:
            table, line = system.sources[row]
            text = f"the suppressed count is {lower}" + (f" to {upper}" if upper > lower else "")
            findings.append(Finding("suppressed", table.cell(line), None, upper, lower, upper, text))
            inside.append((lower, _cells(matrix, number)))
    summary = (
        f"{len(findings):,} of {len(rows):,} suppressed counts follow from what is printed"
        if findings
        else f"none of {len(rows):,} suppressed counts follows from what is printed"
    )
    return Attempt("suppressed", summary, len(rows), tuple(findings), _people(inside))


def _people(groups: list[tuple[int, frozenset[int]]]) -> int:
    """How many people the groups hold at least: counts and inner cells of each; those that overlap are counted once."""
    taken: set[int] = set()
    people = 0
    for count, cells in sorted(groups, key=lambda group: -group[0]):
        if taken.isdisjoint(cells):
            taken |= cells
            people += count
    return people


def _suppressed_rows(system: System) -> list[int]:
    """One row of the system per suppressed cell, though several tables may suppress the same one."""
    rows: dict[frozenset[int], int] = {}
    for row, (table, line) in enumerate(system.sources):
        if table.status[line] == "suppressed":
            rows.setdefault(_cells(system.rows, row), row)
    return list(rows.values())


def _cells(matrix: sparse.csr_array, row: int) -> frozenset[int]:
    """The inner cells that a count sums."""
    return frozenset(matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]].tolist())
