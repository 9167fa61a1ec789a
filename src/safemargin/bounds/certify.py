"""Is anybody exposed? Deciding is far cheaper than computing every interval.

A handful of integer tables that all satisfy the public facts show, for almost every cell at once, that it is neither
forced outside the limits nor known to within tau. Only cells that no table clears get a program of their own. Checked
are the cells of the joint table and of smaller sets of axes: a pair of axes can be given away although each profile in
it, taken alone, is open.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from safemargin.bounds.clearing import lean, nudge, show_reach, wander, wanted, with_rest
from safemargin.bounds.ends import decide_ends, worthwhile
from safemargin.bounds.levels import Level, levels, open_cells, show
from safemargin.bounds.linear import Program
from safemargin.bounds.nearby import MOST_VARIABLES, nearby
from safemargin.bounds.propagate import propagate
from safemargin.bounds.rounding import Rounder
from safemargin.bounds.sharp import SEED
from safemargin.bounds.system import System
from safemargin.bounds.witness import STEPS, Family, Fit
from safemargin.core import BoolArray, FloatArray, IntArray, Limits, Progress, no_progress, numpy_generator

ROUNDS = 30
SHUFFLES = 4
FITS = 5
PARTS = 100
"""Of a round, for the progress that is told."""
PULL, STRONG_PULL = 2.0, 8.0
FEW = 1_000
"""Cells for which tables are pulled towards some of them only."""
LONG = 8
"""Rounds in a row that may clear little or nothing, where a round is cheap."""


@dataclass(frozen=True)
class Exposed:
    """A cell that the facts give away: its labels, option, people and interval."""

    cell: dict[str, str] = field(hash=False)
    option: int
    people: int
    lower: int
    upper: int
    earlier: str = ""
    """The cycles of the earlier releases without which it would not be given away."""


@dataclass(frozen=True)
class Proof:
    """What deciding found.

    `tables` are the integer witnesses. `linear` cells are cleared by a real-valued table only, `undecided` ones by
    nothing that was tried; `doubtful` names some of those.
    """

    exposed: tuple[Exposed, ...]
    checked: dict[str, int] = field(hash=False)
    linear: int = 0
    undecided: int = 0
    doubtful: tuple[Exposed, ...] = ()
    tables: tuple[IntArray, ...] = field(hash=False, compare=False, default=())

    @property
    def holds(self) -> bool:
        """Whether every cell was shown to be safe."""
        return not self.exposed and self.undecided == 0


def certify(
    known: System,
    limits: Limits,
    progress: Progress = no_progress,
    quick: bool = False,
    given: Sequence[IntArray] = (),
    told: Sequence[tuple[BoolArray, BoolArray]] = (),
    most_linear: int | None = None,
) -> Proof:
    """Decide whether any cell of `known` is disclosed under `limits`; needs a joint roll.

    `quick` stops after the closed forms: it finds what is plainly exposed and clears nothing. Tables that are `given`,
    as with a certificate, are checked by addition and spare the search for others. What is `told` (which profiles,
    which options) counts as public: cells of just these people are not looked at. With `most_linear`, fractions of
    people are used only where so few cells are left that it helps.
    """
    rounder = Rounder(known)
    checked = levels(known, rounder, limits)
    for level in checked:
        for members, options in told:
            level.excuse(members, options)
    low, high = propagate(known)
    checked[0].force(*_listed_ends(known, low, high))
    exposed = [one for level in checked for one in _at(level, level.exposed())]
    if exposed or quick:
        return Proof(_worst_first(exposed), _sizes(checked), undecided=0 if exposed else 1)
    tables = [counts for counts in given if counts.shape == known.low.shape and known.admits(counts)]
    for counts in tables:
        show(checked, known, counts)
    show_reach(checked, rounder, tables)
    if not tables:
        tables = _shuffled(checked, known, rounder, rounder.guess() if rounder.possible else None, progress)
    linear = 0
    hopeless = most_linear is not None and not tables and rounder.in_circles and known.size > MOST_VARIABLES
    if open_cells(checked) and not hopeless:
        family = Family(known, low, high)
        if not tables:  # no whole table near the guess
            tables = _shuffled(checked, known, rounder, _second_guess(rounder, family), progress)
        if not given:
            _pulled(checked, family, (low, high), rounder, tables, progress)
        if open_cells(checked) and worthwhile(known):
            decide_ends(checked, Program(known, low, high), tables)
        if 0 < open_cells(checked) <= (known.size if most_linear is None else most_linear):
            linear = _cleared_by_fits(checked, family, limits)
    undecided = open_cells(checked) - linear
    return Proof(
        exposed=_worst_first([one for level in checked for one in _at(level, level.exposed())]),
        checked=_sizes(checked),
        linear=linear,
        undecided=undecided,
        doubtful=_worst_first([one for level in checked for one in _doubtful(level)])[:20] if undecided else (),
        tables=tuple(tables),
    )


def _sizes(checked: list[Level]) -> dict[str, int]:
    return {
        "joint cells": len(checked[0].codes),
        "cells of fewer axes": sum(len(level.codes) for level in checked[1:]),
        "largest set of fewer axes": max((len(level.names) for level in checked[1:]), default=0),
    }


def _floors(known: System, limits: Limits) -> FloatArray:
    least = np.array([float(f) for f in limits.floors])
    rest = np.array([1 - float(c) for c in limits.ceilings])
    if known.free == 1:
        return np.array([least[0], rest[0]])
    return least if known.reference else np.append(least, 0.0)


def _listed_ends(known: System, low: IntArray, high: IntArray) -> tuple[IntArray, IntArray]:
    """Intervals per profile and listed option from those of the variables."""
    least, most = low.reshape(-1, known.free), high.reshape(-1, known.free)
    if known.reference:
        assert known.people is not None
        left = np.maximum(known.people - most.sum(axis=1), 0)
        return np.column_stack([least, left]), np.column_stack([most, known.people - least.sum(axis=1)])
    count = len(known.options)
    return least[:, :count], most[:, :count]


def _shuffled(
    checked: list[Level], known: System, rounder: Rounder, near: FloatArray | None, progress: Progress
) -> list[IntArray]:
    """Integer tables from one `near` these values by exchanging votes, each time towards what is still open."""
    generator = numpy_generator(SEED + 2)
    tables: list[IntArray] = []
    counts = rounder.round(near) if near is not None else None
    left = open_cells(checked)
    for turn in range(SHUFFLES):
        if counts is None or not left:
            break
        tables.append(counts)
        show(checked, known, counts)
        if turn in (0, SHUFFLES - 1):  # further tables clear larger cells at less cost, where one can be had
            show_reach(checked[:1] if turn == 0 and rounder.scaling is None else checked, rounder, [counts])
        before, left = left, open_cells(checked)
        if left < FEW or (turn > 2 and left > 0.9 * before):  # fits clear few cells better
            break
        want = with_rest(known, wanted(known, checked, generator))
        counts = rounder.exchanges.shuffle(counts, want, generator)
        progress("certifying", (turn + 1) * PARTS, (SHUFFLES + ROUNDS) * PARTS)
    return tables


def _second_guess(rounder: Rounder, family: Family) -> FloatArray:
    """Another real-valued table to start from."""
    if rounder.scaling is None:
        return family.fit().values
    return rounder.scaling.fit(0.1 * numpy_generator(SEED + 5).standard_normal(rounder.known.size))


def _pulled(
    checked: list[Level],
    family: Family,
    box: tuple[IntArray, IntArray],
    rounder: Rounder,
    tables: list[IntArray],
    progress: Progress,
) -> None:
    """Add integer tables near fits that are pulled towards what is still open."""
    known = family.known
    generator = numpy_generator(SEED + 3)
    left, stuck = open_cells(checked), 0
    theta: FloatArray | None = None
    for turn in range(ROUNDS):
        if not left or stuck > (3 if rounder.scaling is None else LONG) or (turn > 2 and not tables):
            break
        if rounder.scaling is not None:
            wander(checked, rounder, tables, generator)
        if stuck:
            nudge(checked, rounder, tables, generator, partial(_between, progress, turn))
        if not open_cells(checked):
            break
        want = PULL * (1 + stuck) * wanted(known, checked, generator)
        if stuck and left < FEW:  # neighbours stand in each other's way: pull some of them only
            want *= generator.random((len(want), 1)) < 1 / (1 + stuck)
        if rounder.scaling is not None:
            values = rounder.scaling.fit(lean(known, want))
        else:
            fit = family.fit(tilt=lean(known, want), start=theta)
            theta, values = fit.direction if fit.residual < 1 and not fit.impossible else None, fit.values
        counts = rounder.round(values)
        if counts is None and rounder.in_circles:
            counts = nearby(known, values, *box, lean(known, want))
        if counts is None and tables:  # no whole table near the fit: exchange votes in an earlier one instead
            counts = rounder.exchanges.shuffle(tables[turn % len(tables)], with_rest(known, want), generator)
        if counts is not None:
            tables.append(counts)
            show(checked, known, counts)
            few = left < FEW and turn % 4 == 2
            show_reach(checked, rounder, tables if few else [counts])
        progress("certifying", (SHUFFLES + turn + 1) * PARTS, (SHUFFLES + ROUNDS) * PARTS)
        before, left = left, open_cells(checked)
        stuck = stuck + 1 if left > 0.9 * before else 0


def _between(progress: Progress, turn: int, share: float) -> None:
    """Tell how much of a round is done."""
    progress("certifying", (SHUFFLES + turn) * PARTS + int(share * (PARTS - 1)), (SHUFFLES + ROUNDS) * PARTS)


def _cleared_by_fits(checked: list[Level], family: Family, limits: Limits) -> int:
    """How many open cells real-valued tables clear: one inside the limits, some pulled each way, fewer at a time."""
    known = family.known
    generator = numpy_generator(SEED + 4)
    tables = _real_table(known, family.fit(floors=_floors(known, limits)))
    cleared = 0
    for turn in range(FITS):
        want = STRONG_PULL * wanted(known, checked, generator)
        want *= generator.random((len(want), 1)) < 1 / (1 + turn)
        for way in (1.0, -1.0):
            tables += _real_table(known, family.fit(tilt=way * lean(known, want), steps=STEPS))
        cleared = sum(level.cleared_by(tables) for level in checked if level.open_cells) if tables else 0
        if cleared == open_cells(checked):
            break
    return cleared


def _real_table(known: System, fit: Fit) -> list[FloatArray]:
    """A fit per profile and listed option; nothing if it misses a fact."""
    if not fit.found:
        return []
    values = fit.values.reshape(-1, known.free)
    if known.reference:
        assert known.people is not None
        values = np.column_stack([values, known.people - values.sum(axis=1)])
    return [values[:, : len(known.options)]]


def _doubtful(level: Level) -> list[Exposed]:
    up, down = level.needs()
    return _at(level, up | down, most=20)


def _at(level: Level, chosen: BoolArray, most: int | None = None) -> list[Exposed]:
    """Cells and options with what is known of them, those with most people first."""
    places = sorted(np.argwhere(chosen).tolist(), key=lambda at: -level.people[at[0]])
    return [
        Exposed(
            level.labels(cell),
            option,
            int(level.people[cell]),
            int(level.outer_lower[cell, option]),
            int(level.outer_upper[cell, option]),
        )
        for cell, option in places[:most]
    ]


def _worst_first(exposed: list[Exposed]) -> tuple[Exposed, ...]:
    unique = {(tuple(sorted(one.cell.items())), one.option): one for one in exposed}
    return tuple(sorted(unique.values(), key=lambda one: (-one.people, len(one.cell), str(one.cell), one.option)))
