"""The whole rule, run again: of all answers that agree with what is published, which would have led to it?

An axis that is omitted, a table that was asked for and is missing, a merge: each is a decision about answers, and who
knows the rule can ask what it would have decided for others. The rule is run on every integer table that the published
counts admit, and those that are published otherwise are excluded. What is left is all that the onlooker need consider.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

import numpy as np

from safemargin.audit.situation import Attempt, Finding, Situation
from safemargin.bounds import System, build_system, propagate
from safemargin.core import BoolArray, IntArray, PublishedTable

MAX_TABLES = 200
"""Tables on which the rule is run; if more are possible, it is run on none."""

MAX_STEPS = 50_000
"""Partial tables that are looked at: about a second."""

Rerun = Callable[[IntArray], Sequence[PublishedTable]]
"""The tables that would be published if people had answered so: counts per row of the joint roll and option."""


def rerun(situation: Situation, rule: Rerun) -> Attempt:
    """Find cells for which the rule leaves no count within the limits, although the published counts do."""
    system = build_system(situation.release.tables, situation.onlooker, situation.slack)
    if any("noised" in table.status for table in situation.release.tables):
        return Attempt("rerun", "noised groups are drawn: no run of the rule is like another", 0)
    if system.people is None or situation.slack:
        return Attempt("rerun", "needs the joint roll and exact totals", 0)
    possible = possible_tables(system)
    if possible is None:
        return Attempt("rerun", f"more than {MAX_TABLES} tables are possible: the rule was not run again", 0)
    published = as_seen(situation.release.tables)
    order = _roll_order(situation, system)
    every = [system.listed(counts) for counts in possible]
    left = [counts for counts in every if as_seen(rule(counts[order])) == published]
    findings, looked = _disclosed(situation, system, every, left)
    people = max((finding.people or 0 for finding in findings), default=0)
    text = f"{len(findings)} counts follow" if findings else f"nothing follows about {looked} cells"
    summary = f"{len(left):,} of {len(every):,} possible tables lead to this release: {text}"
    return Attempt("rerun", summary, looked, tuple(findings), people)


def possible_tables(system: System) -> list[IntArray] | None:
    """Every integer table that satisfies all facts; None if there are too many to list."""
    tables: list[IntArray] = []
    for counts in _listed(system):
        if counts is None or len(tables) == MAX_TABLES:
            return None
        tables.append(counts)
    return tables


def _listed(system: System) -> Iterator[IntArray | None]:
    """Tables one by one, variable by variable; None, once, if that takes too long."""
    low, high = propagate(system)
    matrix = system.rows.toarray() if system.size <= MAX_TABLES else None
    if matrix is None or int((high - low).sum()) > MAX_STEPS:
        yield None
        return
    after = [(matrix[:, n:] @ low[n:], matrix[:, n:] @ high[n:]) for n in range(system.size + 1)]
    steps = 0
    stack: list[tuple[int, ...]] = [()]
    while stack:
        start = stack.pop()
        steps += 1
        if steps > MAX_STEPS:
            yield None
            return
        size = len(start)
        sums = matrix[:, :size] @ np.array(start, dtype=np.int64)
        # depth first, cut where what is still open cannot bring every row into its range
        if ((sums + after[size][0] > system.upper) | (sums + after[size][1] < system.lower)).any():
            continue
        if size == system.size:
            counts = np.array(start, dtype=np.int64)
            if system.admits(counts):
                yield counts
            continue
        stack.extend((*start, value) for value in range(int(high[size]), int(low[size]) - 1, -1))


def as_seen(tables: Sequence[PublishedTable]) -> set[tuple[object, ...]]:
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


def _roll_order(situation: Situation, system: System) -> IntArray:
    """For every row of the joint roll the profile it is in the system."""
    axes = set(system.axes)
    roll = next(roll for roll in situation.onlooker.roll if set(roll.axes) >= axes)
    profiles = {
        tuple(system.categories[a][code] for a, code in enumerate(row)): profile
        for profile, row in enumerate(system.codes.tolist())
    }
    cells = [roll.cell(row) for row in np.flatnonzero(roll.lower > 0).tolist()]
    return np.array([profiles[tuple(cell[axis] for axis in system.axes)] for cell in cells], dtype=np.int64)


def _disclosed(
    situation: Situation, system: System, every: Sequence[IntArray], left: Sequence[IntArray]
) -> tuple[list[Finding], int]:
    """Cells of any axes for which only what the rule excludes was within the limits."""
    assert system.people is not None
    findings, looked = [], 0
    for names in (chosen for size in range(1, len(system.axes) + 1) for chosen in combinations(system.axes, size)):
        columns = [system.axes.index(axis) for axis in names]
        cells, cell_of = np.unique(system.codes[:, columns], axis=0, return_inverse=True)
        members = (cell_of.ravel()[None, :] == np.arange(len(cells))[:, None]).astype(np.int64)
        size = members @ system.people
        before, after = (
            situation.limits.columns(np.array([members @ counts for counts in tables])) for tables in (every, left)
        )
        looked += len(cells)
        disclosed = _confined(situation, after, size) & ~_confined(situation, before, size)
        for row, option in np.argwhere(disclosed).tolist():
            values = sorted(set(after[:, row, option].tolist()))
            shown = " or ".join(map(str, values)) if len(values) < 4 else f"{values[0]} to {values[-1]}"
            cell = {axis: system.categories[a][code] for axis, a, code in zip(names, columns, cells[row], strict=True)}
            text = f"the rule would have decided otherwise, were it not {shown} of {size[row]} people"
            name = (*system.options, *situation.limits.names)[option] or None
            findings.append(Finding("rerun", cell, name, int(size[row]), values[0], values[-1], text))
    return findings, looked


def _confined(situation: Situation, values: IntArray, people: IntArray) -> BoolArray:
    """Per cell and option, whether no possible value is within the limits, or they are as good as one."""
    limits = situation.limits
    within = (values >= limits.least(people)) & (values <= limits.most(people))
    unchosen = np.array(limits.unchosen or (False,) * values.shape[2])
    disclosed = limits.verdicts(values.min(axis=0), values.max(axis=0), people) == 2
    return np.asarray((disclosed | ~within.any(axis=0)) & ~unchosen)
