"""The whole rule, run backwards: of all votes that agree with what is published, which would have led to it?

An axis that is left out, a table that was asked for and is missing, a merge: each is a decision about votes, and who
knows the rule can ask what it would have decided for others. Every integer table that the published counts
admit is put through the rule, and those that are published otherwise are struck out. What is left is all that the
onlooker need consider possible.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

import numpy as np

from safemargin.audit.findings import Attempt, Finding
from safemargin.audit.situation import Situation
from safemargin.bounds.build import build_system
from safemargin.bounds.propagate import propagate
from safemargin.bounds.system import System
from safemargin.core import BoolArray, IntArray, PublishedTable

MOST_TABLES = 200
"""Tables that are put through the rule; if more are possible, none is."""

MOST_STEPS = 50_000

Rerun = Callable[[IntArray], Sequence[PublishedTable]]
"""The tables that would be published if people had answered so: votes per row of the joint roll and option."""


def backwards(situation: Situation, rerun: Rerun) -> Attempt:
    """Look for cells that the rule leaves no answer within the limits for, although the published counts do."""
    known = build_system(situation.release.tables, situation.onlooker, situation.slack)
    if any("noised" in table.status for table in situation.release.tables):
        return Attempt("backwards", "noised groups are drawn: no run of the rule is like another", 0)
    if known.people is None or situation.slack:
        return Attempt("backwards", "needs the joint roll and exact totals", 0)
    found = possible_tables(known)
    if found is None:
        return Attempt("backwards", f"more than {MOST_TABLES} tables are possible: the rule was not run backwards", 0)
    out = _as_seen(situation.release.tables)
    order = _roll_order(situation, known)
    every = [known.listed(counts) for counts in found]
    left = [votes for votes in every if _as_seen(rerun(votes[order])) == out]
    findings, looked = _told(situation, known, every, left)
    people = max((one.people or 0 for one in findings), default=0)
    words = f"{len(findings)} counts follow" if findings else f"nothing follows about {looked} cells"
    summary = f"{len(left):,} of {len(every):,} possible tables lead to this release: {words}"
    return Attempt("backwards", summary, looked, tuple(findings), people)


def possible_tables(known: System) -> list[IntArray] | None:
    """Every integer table that satisfies all facts; None if there are too many to list."""
    found: list[IntArray] = []
    for counts in _listed(known):
        if counts is None or len(found) == MOST_TABLES:
            return None
        found.append(counts)
    return found


def _listed(known: System) -> Iterator[IntArray | None]:
    """Tables one by one, variable by variable; None, once, if that takes too long."""
    low, high = propagate(known)
    matrix = known.rows.toarray() if known.size <= MOST_TABLES else None
    if matrix is None or int((high - low).sum()) > MOST_STEPS:
        yield None
        return
    after = [(matrix[:, at:] @ low[at:], matrix[:, at:] @ high[at:]) for at in range(known.size + 1)]
    steps = 0
    stack: list[tuple[int, ...]] = [()]
    while stack:
        start = stack.pop()
        steps += 1
        if steps > MOST_STEPS:
            yield None
            return
        at = len(start)
        sums = matrix[:, :at] @ np.array(start, dtype=np.int64)
        if ((sums + after[at][0] > known.upper) | (sums + after[at][1] < known.lower)).any():
            continue
        if at == known.size:
            counts = np.array(start, dtype=np.int64)
            if known.admits(counts):
                yield counts
            continue
        stack.extend((*start, value) for value in range(int(high[at]), int(low[at]) - 1, -1))


def _as_seen(tables: Sequence[PublishedTable]) -> set[tuple[object, ...]]:
    """What everybody sees of a release."""
    return {
        (table.axes, label, table.options[option] if option >= 0 else "", status, low, high)
        for table in tables
        for label, option, status, low, high in zip(
            (tuple(sorted(table.cell(row).items())) for row in range(len(table.lower))),
            table.option.tolist(),
            table.status,
            table.lower.tolist(),
            table.upper.tolist(),
            strict=True,
        )
    }


def _roll_order(situation: Situation, known: System) -> IntArray:
    """For every row of the joint roll the profile it is in the system."""
    axes = set(known.axes)
    roll = next(each for each in situation.onlooker.roll if set(each.axes) >= axes)
    place = {
        tuple(known.categories[a][code] for a, code in enumerate(row)): at
        for at, row in enumerate(known.codes.tolist())
    }
    cells = [roll.cell(row) for row in np.flatnonzero(roll.lower > 0).tolist()]
    return np.array([place[tuple(cell[axis] for axis in known.axes)] for cell in cells], dtype=np.int64)


def _told(
    situation: Situation, known: System, every: Sequence[IntArray], left: Sequence[IntArray]
) -> tuple[list[Finding], int]:
    """Cells of any axes for which only what the rule strikes out was within the limits."""
    assert known.people is not None
    findings, looked = [], 0
    for names in (chosen for size in range(1, len(known.axes) + 1) for chosen in combinations(known.axes, size)):
        columns = [known.axes.index(axis) for axis in names]
        cells, cell_of = np.unique(known.codes[:, columns], axis=0, return_inverse=True)
        members = (cell_of.ravel()[None, :] == np.arange(len(cells))[:, None]).astype(np.int64)
        size = members @ known.people
        before, after = (np.array([members @ votes for votes in tables]) for tables in (every, left))
        looked += len(cells)
        told = _confined(situation, after, size) & ~_confined(situation, before, size)
        for row, option in np.argwhere(told).tolist():
            values = sorted(set(after[:, row, option].tolist()))
            shown = " or ".join(map(str, values)) if len(values) < 4 else f"{values[0]} to {values[-1]}"
            cell = {axis: known.categories[at][code] for axis, at, code in zip(names, columns, cells[row], strict=True)}
            words = f"the rule would have decided otherwise, were it not {shown} of {size[row]} people"
            name = known.options[option] or None
            findings.append(Finding("backwards", cell, name, int(size[row]), values[0], values[-1], words))
    return findings, looked


def _confined(situation: Situation, values: IntArray, people: IntArray) -> BoolArray:
    """Per cell and option, whether no possible value is within the limits, or they are as good as one."""
    limits = situation.limits
    within = (values >= limits.least(people)) & (values <= limits.most(people))
    told = np.array(limits.told or (False,) * values.shape[2])
    disclosed = limits.verdicts(values.min(axis=0), values.max(axis=0), people) == 2
    return np.asarray((disclosed | ~within.any(axis=0)) & ~told)
