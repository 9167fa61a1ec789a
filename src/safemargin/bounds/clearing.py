"""Steps that clear open cells: which way tables should differ, and tables a few exchanges away from known ones."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from safemargin.bounds.levels import Level, open_cells, show
from safemargin.bounds.reach import Surroundings
from safemargin.bounds.rounding import Rounder
from safemargin.bounds.system import System
from safemargin.core import BoolArray, FloatArray, Generator, IntArray

IDLE = 12
"""Steps in a row that may clear nothing."""
HANDFUL = 200
"""Cells for which wandering is cheap."""
MANY = 5_000
"""Cells for which nudging profiles is cheaper than a fit."""
NUDGES = 500
"""Steps of nudging at a time."""
SHARE, LEAST_SHARE = 0.125, 0.01
"""Of the profiles of open cells, those that are nudged at once: halved whenever no table follows."""


def wanted(known: System, checked: list[Level], generator: Generator) -> FloatArray:
    """Per profile and listed option which way the next table should differ, to clear the cells that are still open."""
    want = np.zeros((len(known.codes), len(known.options)))
    turns = np.where(np.arange(want.shape[1]) % 2 == 0, 1.0, -1.0)
    for level in checked:
        if level.open_cells:
            up, down = level.needs()
            either = generator.choice([-1.0, 1.0], size=len(up))[:, None] * turns
            pull = up.astype(np.float64) - down.astype(np.float64) + (up & down) * either
            want = np.where(want == 0, pull[level.cell_of], want)  # sums could cancel
    return want


def with_rest(known: System, want: FloatArray) -> FloatArray:
    """What is wanted per column of a table: the listed options, and nothing of what is left over."""
    return want if known.reference else np.column_stack([want, np.zeros(len(want))])


def lean(known: System, want: FloatArray) -> FloatArray:
    """What is wanted per listed option as a pull on the variables."""
    return np.asarray((want[:, :-1] - want[:, -1:] if known.reference else want).ravel())


def show_reach(checked: list[Level], rounder: Rounder, tables: Sequence[IntArray]) -> None:
    """What tables one exchange away from these show of open cells."""
    count = len(rounder.known.options)
    for counts in tables:
        around = Surroundings(rounder.reach, counts)
        for level in checked:
            if level.open_cells:
                up, down = level.needs()
                asked: BoolArray = np.asarray((up | down).any(axis=1))
                for least, most in _ends(level, rounder, around, asked):
                    level.show(least[:, :count], most[:, :count])
                    if not level.open_cells:
                        break


def _ends(
    level: Level, rounder: Rounder, around: Surroundings, asked: BoolArray
) -> Iterator[tuple[IntArray, IntArray]]:
    """Ends of cells, block by block; where every cell is a profile that a table tells from all others, by pairs."""
    if rounder.reach.are_profiles and len(level.first) == len(level.cell_of):
        for least, most in rounder.exchanges.reach(around.counts, asked[level.cell_of]):
            yield least[level.first], most[level.first]
    else:
        yield from around.ends(level.pieces(rounder.reach).of(asked))


def wander(checked: list[Level], rounder: Rounder, tables: list[IntArray], generator: Generator) -> None:
    """Add tables that exchanges lead to, as long as they clear some of a handful of cells: cheaper than a fit each."""
    known = rounder.known
    counts, idle = tables[-1] if tables else None, 0
    while counts is not None and idle < IDLE and 0 < (before := open_cells(checked)) < HANDFUL:
        counts = rounder.exchanges.shuffle(counts, with_rest(known, wanted(known, checked, generator)), generator)
        show(checked, known, counts)
        show_reach(checked, rounder, [counts])
        idle += 1
        if open_cells(checked) < before:
            tables.append(counts)
            idle = 0


def nudge(
    checked: list[Level],
    rounder: Rounder,
    tables: list[IntArray],
    generator: Generator,
    cleared: Callable[[float], None] = lambda share: None,
) -> None:
    """Add tables in which some profiles of open cells change an answer and exchanges make up for that elsewhere.

    `cleared` is told after every step which share of the cells that were open is not any more.
    """
    known, idle, share, first = rounder.known, 0, SHARE, open_cells(checked)
    for _ in range(NUDGES):
        if not tables or rounder.in_circles or idle >= IDLE or not 0 < (before := open_cells(checked)) < MANY:
            break
        cleared(1 - before / first)
        want = with_rest(known, wanted(known, checked, generator))
        rows = np.flatnonzero((want != 0).any(axis=1))
        some = rows[generator.random(len(rows)) < share]
        some = some if len(some) else rows[generator.integers(len(rows), size=1)]
        start = rounder.exchanges.matrix(tables[int(generator.integers(len(tables)))]).copy()
        for row in some.tolist():
            _change_answer(start[row], want[row], generator)
        counts = rounder.round(start[:, : known.free].ravel().astype(np.float64))
        idle += 1
        if counts is None:
            share = max(share / 2, LEAST_SHARE)
            continue
        show(checked, known, counts)
        show_reach(checked, rounder, [counts])
        if (left := open_cells(checked)) < before:
            tables.append(counts)
            idle = 0 if left < 0.99 * before else idle


def _change_answer(counts: IntArray, want: FloatArray, generator: Generator) -> None:
    """Let one person of a profile answer otherwise, towards what is wanted most; ties are drawn."""
    option = int(np.argmax(np.abs(want) + 1e-3 * generator.random(len(want))))
    others = np.arange(len(counts)) != option
    if want[option] > 0:
        given = np.flatnonzero(others & (counts > 0))
        if len(given):
            counts[generator.choice(given)] -= 1
            counts[option] += 1
    elif counts[option] > 0:
        counts[generator.choice(np.flatnonzero(others))] += 1
        counts[option] -= 1
