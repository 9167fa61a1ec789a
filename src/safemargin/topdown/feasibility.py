"""Look-ahead: which counts of an area its parts can attain, and further unknowns where that is not known in advance.

Objects
    S           a set of cells of a margin; lo(S) and hi(S) are the least and the most people that it can hold
    box, plank  limits of each cell, and of the total of all cells

Statement (Frank and Tardos, "Generalized polymatroids and submodular flows", 1988)
    Counts with a box and a plank form a generalised polymatroid: exactly the integer vectors x with
    lo(S) <= x(S) <= hi(S) for all S. A sum of such sets is one again, with lo and hi added up, also in integers. So
    the limits of the smallest areas, added up level by level, and cut with each level's own box and plank,

        hi'(S) = min over T of hi(T) + high(S - T) - low(T - S),

    say exactly what can still be divided among the parts.

What callers may rely on
    * With one margin of at most 8 cells and totals, `reachable_levels` is exact: tables never run into a dead end.
    * Otherwise it returns nothing, and `tables.py` marks an area whose parts have no solution; `look_ahead` then adds
      the counts of its parts as unknowns.

Example
    Two parts: the first holds at most 3 women, the second at most 2 men; each holds 5 people. Together at least 3 men
    must live there, although no single limit says so:

    >>> from safemargin.topdown.design import build_spine
    >>> spine = build_spine(["land", "town"], "all", [("a",), ("b",)])
    >>> sex, nobody = MarginQuery((0,)), np.zeros((2, 2), dtype=np.int64)
    >>> people = MarginLimit(MarginQuery(()), np.array([[5], [5]]), np.array([[5], [5]]))
    >>> each = MarginLimit(sex, nobody, np.array([[3, MAX_COUNT], [MAX_COUNT, 2]]))
    >>> reached, _ = reachable_sets(spine, sex, 2, [[], [people, each]])
    >>> for women_men, least, most in zip(reached.weights.tolist(), reached.low[0], reached.high[0]):
    ...     print(women_men, int(least), int(most))
    [1, 0] 3 8
    [0, 1] 2 7
    [1, 1] 10 10
"""

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from safemargin.core import BoolArray, FloatArray, IntArray
from safemargin.topdown.attributes import MarginQuery
from safemargin.topdown.design import (
    MAX_COUNT,
    Area,
    Design,
    LevelLimits,
    LookAhead,
    MarginLimit,
    Spine,
    WeightedLimit,
    limits_within,
)

MAX_CELLS = 8  # cells of a margin up to which every set of them is considered (256 sets)

Ends = tuple[FloatArray, FloatArray]  # the least and the most of every set of cells, a row per area


def reachable_levels(design: Design, limits: Sequence[LevelLimits]) -> list[WeightedLimit | None]:
    """What areas of every level can hold of the first margin, given the limits of all levels below."""
    first = design.passes[0]
    rows = [limits_within(design.attributes, here, first) for here in limits]
    return reachable_sets(design.spine, first, design.attributes.cells(first), rows)


def reachable_sets(
    spine: Spine, margin: MarginQuery, cells: int, limits: list[list[MarginLimit]]
) -> list[WeightedLimit | None]:
    """By level, the sets of cells that the levels below limit more tightly than the level's own limits.

    Ends of all 2^cells sets, from the smallest areas up: sums over parts, cut with the box and plank of the level (the
    statement of the module). Exact for one margin of at most `MAX_CELLS` cells with totals; none otherwise.
    """
    levels: list[WeightedLimit | None] = [None] * len(spine.levels)
    with_totals = [level for level, here in enumerate(limits) if any(not limit.query.axes for limit in here)]
    crossed = any(limit.query == margin for here in limits for limit in here)
    if cells > MAX_CELLS or not margin.axes or not with_totals or not crossed:
        return levels
    sets = (np.arange(2**cells)[:, None] >> np.arange(cells) & 1).astype(bool)
    below: Ends | None = None
    for level in range(with_totals[-1], -1, -1):  # further down only cells are limited, and their limits add up
        box, plank = _own_limits(len(spine.names[level]), margin, cells, limits[level])
        own = _set_ends(sets, box, plank)
        if below is None:
            below = own
            continue
        summed = spine.sums(level + 1, below[0]), spine.sums(level + 1, below[1])
        below = _intersect(sets, summed, box, plank)
        tighter = ((below[0] > own[0]) | (below[1] < own[1])).any(axis=0)
        if tighter.any():
            low, high = below[0][:, tighter], np.minimum(below[1][:, tighter], MAX_COUNT)
            weights = sets[tighter].astype(np.int64)
            levels[level] = WeightedLimit(margin, weights, low.astype(np.int64), high.astype(np.int64))
    return levels


def cell_ends(design: Design, limits: Sequence[LevelLimits], query: MarginQuery, cell: int) -> list[Ends]:
    """By level, the least and the most that one cell of a margin can hold in every area, a column each."""
    spine, cells = design.spine, design.attributes.cells(query)
    possible = design.attributes.margin((~design.impossible)[None, :].astype(np.int64), query)[0] > 0
    only = (np.arange(cells) == cell)[None, :]
    levels: list[Ends] = []
    for level in range(spine.last, -1, -1):
        rows = limits_within(design.attributes, limits[level], query)
        box, plank = _own_limits(len(spine.names[level]), query, cells, rows)
        low, high = _set_ends(only, (box[0], np.where(possible, box[1], 0.0)), plank)
        if levels:  # what the parts can hold adds up
            low = np.maximum(low, spine.sums(level + 1, levels[-1][0]))
            high = np.minimum(high, spine.sums(level + 1, levels[-1][1]))
        levels.append((low, high))
    return levels[::-1]


def _own_limits(areas: int, margin: MarginQuery, cells: int, limits: list[MarginLimit]) -> tuple[Ends, Ends]:
    """Limits of each cell (a box), and of the total (a plank)."""
    low, high = np.zeros((areas, cells)), np.full((areas, cells), np.inf)
    least, most = np.zeros((areas, 1)), np.full((areas, 1), np.inf)
    for limit in limits:
        upper = np.where(limit.high >= MAX_COUNT, np.inf, limit.high.astype(np.float64))
        if limit.query == margin:
            low, high = np.maximum(low, limit.low), np.minimum(high, upper)
        if not limit.query.axes:
            least, most = np.maximum(least, limit.low), np.minimum(most, upper)
    return (low, high), (least, most)


def _set_ends(sets: BoolArray, box: Ends, plank: Ends) -> Ends:
    """Ends of every set of cells: its own limits, or the total minus the limits of its complement."""
    inside_low, inside_high = _sums(box[0], sets), _sums(box[1], sets)
    outside_low, outside_high = _sums(box[0], ~sets), _sums(box[1], ~sets)
    return np.maximum(inside_low, plank[0] - outside_high), np.minimum(inside_high, plank[1] - outside_low)


def _intersect(sets: BoolArray, ends: Ends, box: Ends, plank: Ends) -> Ends:
    """Ends of every set of cells after further limits of each cell and of the total."""
    # Intersection of a generalised polymatroid with a box: b'(S) = min over T of b(T) + u(S - T) - l(T - S)
    # (Frank and Tardos 1988), then with a plank on the whole set.
    low, high = np.full_like(ends[0], -np.inf), np.full_like(ends[1], np.inf)
    for index, members in enumerate(sets):
        extra, missing = sets & ~members, members & ~sets  # of every other set against this one
        most = ends[1] + _sums(box[1], missing) - _sums(box[0], extra)
        least = ends[0] + _sums(box[0], missing) - _sums(box[1], extra)
        high[:, index], low[:, index] = most.min(axis=1), least.max(axis=1)
    complement = len(sets) - 1 - np.arange(len(sets))
    return np.maximum(low, plank[0] - high[:, complement]), np.minimum(high, plank[1] - low[:, complement])


def _sums(values: FloatArray, sets: BoolArray) -> FloatArray:
    """Sums over every set. Infinite values count only in sets that contain them: 0 * inf would be nan."""
    finite = np.where(np.isinf(values), 0.0, values)
    infinite = np.isinf(values).astype(np.float64) @ sets.T > 0
    return np.where(infinite, np.inf, finite @ sets.T.astype(np.float64))


def marked_below(design: Design, level: int, areas: range, marks: frozenset[Area]) -> frozenset[Area]:
    """The marked areas among some, and the marked ones among their parts in turn.

    A mark below an area that is not marked is out of reach: only marked areas look ahead to their parts.
    """
    marked: set[Area] = set()
    for area in areas:
        if (level, area) in marks:
            marked.add((level, area))
            marked |= marked_below(design, level + 1, design.spine.children(level, area), marks)
    return frozenset(marked)


def look_ahead(
    design: Design,
    limits: Sequence[LevelLimits],
    margin: MarginQuery,
    level: int,
    areas: range,
    kept: BoolArray,
    marks: frozenset[Area],
) -> LookAhead | None:
    """Rows for the parts of marked areas; `kept` says which counts of a margin of `areas` are unknowns.

    None if no area is marked. Counts of parts become unknowns that add up to their area and keep their own limits;
    marked parts get rows of their own parts in turn.
    """
    builder = _LookAheadBuilder(design, limits, margin, marks)
    columns = np.where(kept, np.cumsum(kept) - 1, -1).reshape(len(areas), -1)
    for area, own in zip(areas, columns, strict=True):
        builder.add(level, area, own, below=False)
    return builder.build(int(kept.sum()))


class _LookAheadBuilder:
    """Collects rows and columns. Columns of areas further down are numbered apart."""

    def __init__(
        self, design: Design, limits: Sequence[LevelLimits], margin: MarginQuery, marks: frozenset[Area]
    ) -> None:
        self.design, self.margin, self.marks = design, margin, marks
        self.limits = [limits_within(design.attributes, here, margin) for here in limits]
        self.weighted: list[list[WeightedLimit]] = [[] for _ in limits]
        for level, limit in design.weighted:
            self.weighted[level].append(limit)
        self.rows, self.columns = 0, 0
        self.entries: dict[bool, list[tuple[IntArray, IntArray, IntArray]]] = {False: [], True: []}
        self.ends: list[tuple[IntArray, IntArray]] = []

    def add(self, level: int, area: int, own: IntArray, *, below: bool) -> None:
        """Add the parts of an area if it is marked; its own counts have the columns `own` (-1: none)."""
        if (level, area) not in self.marks:
            return
        known = np.flatnonzero(own >= 0)
        sums = self.rows + np.arange(len(known))
        ones = np.ones_like(known)
        self.entries[below].append((sums, own[known], -ones))
        self._add_rows(np.zeros(len(known), dtype=np.int64), np.zeros(len(known), dtype=np.int64))
        for part in self.design.spine.children(level, area):
            columns = np.full(len(own), -1, dtype=np.int64)
            columns[known] = self.columns + np.arange(len(known))
            self.columns += len(known)
            self.entries[True].append((sums, columns[known], ones))
            for limit in self.limits[level + 1]:
                cells = self.design.attributes.cell_of(limit.query, self.margin)[known]
                self.entries[True].append((self.rows + cells, columns[known], ones))
                self._add_rows(limit.low[part], limit.high[part])
            for weighted in self.weighted[level + 1]:
                for row, weights in enumerate(weighted.on_cells(self.design.attributes, self.margin)):
                    self.entries[True].append((np.full_like(known, self.rows + row), columns[known], weights[known]))
                self._add_rows(weighted.low[part], weighted.high[part])
            self.add(level + 1, part, columns, below=True)

    def build(self, width: int) -> LookAhead | None:
        """Everything as matrices."""
        if not self.rows:
            return None
        least, most = (np.concatenate(ends) for ends in zip(*self.ends, strict=True))
        return LookAhead(self._matrix(False, width), self._matrix(True, self.columns), least, most)

    def _add_rows(self, least: IntArray, most: IntArray) -> None:
        """Count further rows, with their least and most."""
        self.ends.append((least, most))
        self.rows += len(least)

    def _matrix(self, below: bool, width: int) -> sparse.csr_array:
        """The entries collected for counts of this level, or of levels below, as one matrix."""
        entries = self.entries[below]
        empty = np.zeros(0, dtype=np.int64)
        rows = np.concatenate([empty, *(rows for rows, _, _ in entries)])
        columns = np.concatenate([empty, *(columns for _, columns, _ in entries)])
        values = np.concatenate([np.zeros(0), *(values for _, _, values in entries)])
        return sparse.csr_array((values, (rows, columns)), shape=(self.rows, width))
