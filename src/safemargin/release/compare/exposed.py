"""What the onlookers of a project get out of what a method prints, by the same audit for all."""

from collections.abc import Iterable, Mapping

import numpy as np

from safemargin.audit.audit import audit
from safemargin.audit.findings import Finding
from safemargin.core import JOINER, Table
from safemargin.release.compare.comparison import Learnt
from safemargin.release.compare.method import Case, Method, Tables


def learnt(method: Method, tables: Tables, case: Case) -> tuple[Learnt, ...]:
    """One entry per onlooker. Noise without bounds is no fact, so nothing is inferred from it."""
    totals = dict(zip(case.table.schema.options, case.table.totals.tolist(), strict=True))
    slack = case.table.inconsistency.slack(sum(totals.values()))
    found = []
    for onlooker in case.onlookers:
        findings = audit(method.known(tables, onlooker), onlooker, slack=slack, sharp=None, judged=totals)
        cells = [one for attempt in findings.attempts for one in attempt.findings]
        found.append(
            Learnt(
                onlooker=onlooker.name,
                verdicts=findings.exposure.tallied(case.target),
                people_exposed=people_in(cells, case.table),
                attacks=tuple(attempt.attack for attempt in findings.attempts if attempt.findings),
            )
        )
    return tuple(found)


def people_in(findings: Iterable[Finding], table: Table) -> int:
    """How many people are in at least one of the cells; at least so many, where nobody knows the joint roll."""
    cells = {tuple(sorted(one.cell.items())): one for one in findings}.values()
    if not table.knows_composition:
        return max((_alone(one, table) for one in cells), default=0)
    roll = table.people(table.schema.names)
    inside = np.zeros(len(roll.codes), dtype=bool)
    for one in cells:
        here = np.ones(len(inside), dtype=bool)
        for axis, codes in _codes(one.cell, table).items():
            here &= np.isin(roll.codes[:, roll.axes.index(axis)], codes)
        inside |= here
    return int(roll.counts[inside].sum())


def _alone(one: Finding, table: Table) -> int:
    if one.people is not None or len(one.cell) != 1:
        return one.people or 0
    ((axis, codes),) = _codes(one.cell, table).items()
    roll = table.people((axis,))
    return int(roll.counts[np.isin(roll.codes[:, 0], codes)].sum())


def _codes(cell: Mapping[str, str], table: Table) -> dict[str, list[int]]:
    """The categories of a cell on every axis that it names; merged ones are written together."""
    found = {}
    for axis, name in cell.items():
        index = table.schema.axis(axis).index
        found[axis] = [index[name]] if name in index else [index[each] for each in name.split(JOINER) if each in index]
    return found
