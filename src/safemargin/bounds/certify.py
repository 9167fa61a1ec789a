"""Is anybody exposed? Deciding is far cheaper than computing every interval.

A few integer tables that all satisfy the public facts show, for almost every cell at once, that it is neither
forced outside the limits nor known to within tau. Only cells that no table clears get a program of their own. Checked
are the cells of the joint table and of smaller sets of axes: a pair of axes can be disclosed although each profile in
it, taken alone, is open.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from safemargin.bounds.build import build_system
from safemargin.bounds.differences import disclosed_by_differences
from safemargin.bounds.effort import EFFORT
from safemargin.bounds.exposure import Exposed, Proof
from safemargin.bounds.levels import labels, levels, probe, program_budget
from safemargin.bounds.mend import can_mend, table_by_mending
from safemargin.bounds.methods import SEED, Certifying, attain, settle, tighten
from safemargin.bounds.propagate import propagate
from safemargin.bounds.rounding import Rounder
from safemargin.bounds.search import Level
from safemargin.bounds.solver import Program
from safemargin.bounds.system import System, slice_ranges
from safemargin.bounds.targets import cells_asked, targets_of
from safemargin.bounds.wide import WidePrograms, is_wide
from safemargin.bounds.witness import Family
from safemargin.core import (
    BoolArray,
    ContradictionError,
    IntArray,
    Larger,
    Limits,
    Onlooker,
    Past,
    Progress,
    PublishedTable,
    no_progress,
    numpy_generator,
)

DIFFERENCES, TOGETHER = "differences with earlier releases", "cells with earlier releases"


def certify(
    known: System,
    limits: Limits,
    progress: Progress = no_progress,
    quick: bool = False,
    given: Sequence[IntArray] = (),
    excused: Sequence[tuple[BoolArray, BoolArray]] = (),
    most_linear: int | None = None,
    same: tuple[System, IntArray] | None = None,
) -> Proof:
    """Decide whether any cell of `known` is disclosed under `limits`; needs a joint roll.

    `quick` stops after the closed forms: it finds what is plainly exposed and clears nothing. Tables that are `given`,
    as with a certificate, are checked by addition and spare the search for others. What is `excused` (which profiles,
    which options) counts as public: cells of just these people are not looked at. With `most_linear`, fractional tables
    are used only where at most so many cells are left. A system that says the `same` in other slices, given with the
    place there of every profile, states the cells to look at; a few programs look for a disclosed one before all else,
    unless tables are given.
    """
    checked = levels(known, slice_ranges(known), limits)
    if same is not None:
        other, order = same
        checked[1:] = [level.reordered(order) for level in levels(other, slice_ranges(other), limits)[1:]]
    for level in checked:
        for members, options in excused:
            level.excuse(members, options)
    task = Certifying(known, checked, limits, given, most_linear, progress)
    tighten(task)
    exposed = _exposed(known, checked)
    if exposed or quick:
        return Proof(exposed, _sizes(checked), undecided=0 if exposed else 1)
    if same is not None and not given and program_budget(known):
        probe(known, checked, task.program, task.tables)
        if exposed := _exposed(known, checked):
            return Proof(exposed, _sizes(checked))
    attain(task)
    undecided = task.open - task.linear
    return Proof(
        exposed=_exposed(known, checked),
        checked=_sizes(checked),
        linear=task.linear,
        undecided=undecided,
        doubtful=_doubtful(known, checked) if undecided else (),
        tables=tuple(task.tables),
    )


def some_table(known: System) -> IntArray | None:
    """An integer table that satisfies all facts, near the published shares, a fit or a vertex; or none."""
    if is_wide(known):
        return WidePrograms(known, *propagate(known)).find(numpy_generator(SEED).standard_normal(known.size))
    rounder = Rounder(known)
    counts = rounder.round(rounder.guess()) if rounder.possible else None
    if counts is None:
        counts = rounder.round(Family(known, known.low, known.high).fit().values)
    if counts is None and can_mend(rounder):  # not where exchanges could do: what they miss there takes long to prove
        counts = table_by_mending(rounder, Program(known, *propagate(known)), numpy_generator(SEED + 9))
    return counts


def _sizes(checked: list[Level]) -> dict[str, int]:
    return {
        "joint cells": len(checked[0].codes),
        "cells of fewer axes": sum(len(level.codes) for level in checked[1:]),
        "largest set of fewer axes": max((len(level.names) for level in checked[1:]), default=0),
    }


def _exposed(known: System, checked: list[Level]) -> tuple[Exposed, ...]:
    return _worst_first([cell for level in checked for cell in _described(known, level, level.exposed())])


def _doubtful(known: System, checked: list[Level]) -> tuple[Exposed, ...]:
    """Some cells that nothing cleared, those with most people first."""
    cells = [cell for level in checked for cell in _described(known, level, np.logical_or(*level.needs()), most=20)]
    return _worst_first(cells)[:20]


def _described(known: System, level: Level, chosen: BoolArray, most: int | None = None) -> list[Exposed]:
    """Cells and options with what is known of them, those with most people first."""
    places = sorted(np.argwhere(chosen).tolist(), key=lambda place: -level.people[place[0]])
    return [
        Exposed(
            labels(known, level, cell),
            option,
            int(level.people[cell]),
            int(level.outer_lower[cell, option]),
            int(level.outer_upper[cell, option]),
        )
        for cell, option in places[:most]
    ]


def _worst_first(exposed: list[Exposed]) -> tuple[Exposed, ...]:
    unique = {(tuple(sorted(cell.cell.items())), cell.option): cell for cell in exposed}
    return tuple(sorted(unique.values(), key=lambda cell: (-cell.people, len(cell.cell), str(cell.cell), cell.option)))


def certify_with_earlier(
    tables: Sequence[PublishedTable],
    past: Past,
    limits: Limits,
    slack: int = 0,
    quick: bool = False,
    progress: Progress = no_progress,
) -> Proof:
    """Decide whether `tables` and the earlier releases together disclose anybody's answer."""
    slack = max(slack, past.slack)
    exposed, looked = disclosed_by_differences(tables, past, limits, slack)
    checked = {DIFFERENCES: looked}
    # Totals that disagree would make the larger system easier, never harder: then groups are compared one by one.
    if exposed or past.larger is None or slack:
        return Proof(tuple(exposed), checked)
    proof = _together(tables, past, past.larger, limits, slack, quick, progress)
    if proof is None:
        return Proof((), checked)
    cycles = " and ".join(release.cycle for release in past.earlier)
    return replace(
        proof,
        exposed=tuple(replace(cell, earlier=cycles) for cell in proof.exposed),
        doubtful=tuple(replace(cell, earlier=cycles) for cell in proof.doubtful),
        checked=checked | {TOGETHER: sum(v for name, v in proof.checked.items() if "cells" in name)},
        tables=(),
    )


def _together(
    tables: Sequence[PublishedTable],
    past: Past,
    larger: Larger,
    limits: Limits,
    slack: int,
    quick: bool,
    progress: Progress,
) -> Proof | None:
    """The certificate of the larger population; none if it is too large, or somebody must have changed their answer."""
    placed = [larger.placed(table) for table in tables]
    onlooker = Onlooker(roll=(larger.roll,), facts=larger.facts)
    try:
        known = build_system(placed, onlooker, slack, check=False)
        public = _public_histories(placed, larger, known, limits, slack)
        if known.size > EFFORT.earlier_counts:
            proof = certify(known, limits, quick=True, excused=public)
            return proof if quick else replace(proof, undecided=0) if proof.exposed else None
        if not quick:
            _check_possible(known)
        return certify(known, limits, progress, quick, excused=public)
    except ContradictionError:
        return None


def _check_possible(known: System) -> None:
    """Raise if no table, fractional or not, satisfies all facts."""
    Program(known, *propagate(known)).maximise(np.zeros(known.size))


def _public_histories(
    placed: Sequence[PublishedTable], larger: Larger, known: System, limits: Limits, slack: int
) -> list[tuple[BoolArray, BoolArray]]:
    """Whose answers the totals of all cycles alone disclose within the limits: people of one history."""
    axis = larger.roll.axes[-1]
    totals = [table for table in (*placed, *larger.facts) if table.axes == (axis,)]
    if not totals:
        return []
    small = build_system(totals, Onlooker(roll=(larger.only_history(),)), slack)
    assert small.people is not None
    cells, cell_of = cells_asked(small, None)
    settled = settle(small, targets_of(small, cell_of, len(cells)))
    lower, upper = (ends.reshape(len(cells), -1) for ends in (settled.lower, settled.upper))
    narrow = limits.verdicts(lower, upper, small.people) == 2
    narrow &= (upper >= limits.least(small.people)) & (lower <= limits.most(small.people))
    column = known.axes.index(axis)
    history = np.array(known.categories[column])[known.codes[:, column]]
    rows = np.flatnonzero(narrow.any(axis=1)).tolist()
    return [(history == cells.cell(row)[axis], narrow[row]) for row in rows]
