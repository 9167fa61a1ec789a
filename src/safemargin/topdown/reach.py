"""Which counts of an area its parts can attain at all, where limits of the people and of the cells of a margin cross.

Counts with limits on each cell and on their sum form a generalised polymatroid: they are given by the least and the
most that every set of cells can hold. Sums of such sets are again such a set, and the bounds of sets of cells add up,
also in whole numbers (Frank and Tardos, 1988). So the bounds of the smallest areas, added up level by level, say
exactly what can still be divided among the parts.
"""

from dataclasses import dataclass

import numpy as np

from safemargin.core import BoolArray, FloatArray, IntArray
from safemargin.topdown.attributes import Query
from safemargin.topdown.design import MOST, AreaLimit
from safemargin.topdown.spine import Spine

MOST_CELLS = 8
"""Of a margin: every set of its cells is looked at."""

Ends = tuple[FloatArray, FloatArray]
"""The least and the most of every set of cells, a row per area."""


@dataclass(frozen=True)
class ReachableCounts:
    """Sets of cells of a margin (rows of `sets`) with the least and the most that the areas of a level can hold."""

    sets: BoolArray
    low: IntArray
    high: IntArray


def reach(spine: Spine, margin: Query, cells: int, limits: list[list[AreaLimit]]) -> list[ReachableCounts | None]:
    """What the limits of all levels below leave, by level; only sets that are not limited as tightly already."""
    found: list[ReachableCounts | None] = [None] * len(spine.levels)
    summed_up = [level for level, here in enumerate(limits) if any(not limit.query.axes for limit in here)]
    crossed = any(limit.query == margin for here in limits for limit in here)
    if cells > MOST_CELLS or not margin.axes or not summed_up or not crossed:
        return found
    sets = (np.arange(2**cells)[:, None] >> np.arange(cells) & 1).astype(bool)
    below: Ends | None = None
    for level in range(summed_up[-1], -1, -1):  # further down only cells are limited, and their limits add up
        box, plank = _own(len(spine.names[level]), margin, cells, limits[level])
        own = _set_ends(sets, box, plank)
        if below is not None:
            summed = spine.sums(level + 1, below[0]), spine.sums(level + 1, below[1])
            here = _within(sets, summed, box, plank)
            tighter = ((here[0] > own[0]) | (here[1] < own[1])).any(axis=0)
            if tighter.any():
                low, high = here[0][:, tighter], np.minimum(here[1][:, tighter], MOST)
                found[level] = ReachableCounts(sets[tighter], low.astype(np.int64), high.astype(np.int64))
            below = here
        else:
            below = own
    return found


def _own(areas: int, margin: Query, cells: int, limits: list[AreaLimit]) -> tuple[Ends, Ends]:
    """Limits of each cell, and of the people."""
    low, high = np.zeros((areas, cells)), np.full((areas, cells), np.inf)
    least, most = np.zeros((areas, 1)), np.full((areas, 1), np.inf)
    for limit in limits:
        upper = np.where(limit.high >= MOST, np.inf, limit.high.astype(np.float64))
        if limit.query == margin:
            low, high = np.maximum(low, limit.low), np.minimum(high, upper)
        if not limit.query.axes:
            least, most = np.maximum(least, limit.low), np.minimum(most, upper)
    return (low, high), (least, most)


def _set_ends(sets: BoolArray, box: Ends, plank: Ends) -> Ends:
    """Ends of every set of cells under limits of each cell and of all together."""
    inside_low, inside_high = _sums(box[0], sets), _sums(box[1], sets)
    outside_low, outside_high = _sums(box[0], ~sets), _sums(box[1], ~sets)
    return np.maximum(inside_low, plank[0] - outside_high), np.minimum(inside_high, plank[1] - outside_low)


def _within(sets: BoolArray, ends: Ends, box: Ends, plank: Ends) -> Ends:
    """Ends of every set of cells after further limits of each cell and of all together."""
    low, high = np.full_like(ends[0], -np.inf), np.full_like(ends[1], np.inf)
    for place, mine in enumerate(sets):
        extra, missing = sets & ~mine, mine & ~sets  # of every other set against this one
        most = ends[1] + _sums(box[1], missing) - _sums(box[0], extra)
        least = ends[0] + _sums(box[0], missing) - _sums(box[1], extra)
        high[:, place], low[:, place] = most.min(axis=1), least.max(axis=1)
    others = len(sets) - 1 - np.arange(len(sets))  # the place of the complement
    return np.maximum(low, plank[0] - high[:, others]), np.minimum(high, plank[1] - low[:, others])


def _sums(values: FloatArray, sets: BoolArray) -> FloatArray:
    """Sums over every set, where infinite values are only counted if they are in it."""
    finite = np.where(np.isinf(values), 0.0, values)
    endless = np.isinf(values).astype(np.float64) @ sets.T > 0
    return np.where(endless, np.inf, finite @ sets.T.astype(np.float64))
