"""Every table of a small fiber, and the number of tables by partial sums.

Objects
    free        unknowns that elimination leaves free; the others follow from them (`fiber_equations.Echelon`)
    case        intervals of all free unknowns; a bar is a case in which at most one of them is open
    grid        the number of ways to fill the unknowns so far, by what they leave of every sum

Listing (`TableSearch`)
    Every solved unknown is two inequalities over the free ones, as it must lie between 0 and its room. Cases are
    narrowed by propagation on these, thousands at a time, and split along the unknown with the fewest values on average
    until one unknown is open: its values are a bar of solutions. Where scales are not 1, values that would make a
    solved
    unknown a fraction are dropped.

Counting (`count_by_grid`)
    Partial tables that leave the same sums have the same completions, so only their number is carried: the transfer
    matrix method. One more unknown with ceiling c is a cumulative sum along the diagonal of the rows it stands in, less
    the part beyond c. Numbers are kept modulo primes (`from_residues`).

What callers may rely on
    * Bars are disjoint and together all solutions; work is counted and limited, and a limit raises `TooLargeError`.
    * Floats hold all numbers exactly: rooms and scales stay below 2^53.

Example
    Two unknowns that add up to 3, each at most 2: the bars hold (1, 2) and (2, 1).

    >>> from scipy import sparse
    >>> row, both = sparse.csr_array(np.array([[1, 1]])), np.arange(2)
    >>> form = Equations(row, np.array([3]), np.array([2, 2]), both, np.zeros(2))
    >>> search = TableSearch(form)
    >>> [table for bar in search.bars(1e6) for table in search.complete(bar.expand()).tolist()]
    [[2, 1], [1, 2]]
    >>> count_by_grid(form, 10**6)
    2
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from math import prod

import numpy as np

from safemargin.bounds.effort import EFFORT
from safemargin.bounds.fiber_equations import Echelon, Equations, eliminate, from_residues, steps
from safemargin.core import FloatArray, IntArray, TooLargeError


@dataclass(frozen=True)
class SolutionBar:
    """Solutions that differ in one free unknown `at` only: from `low` on, `count` of them per row."""

    low: IntArray
    at: int
    count: IntArray

    def expand(self) -> IntArray:
        """All of them, one per row."""
        values = np.repeat(self.low, self.count, axis=0)
        if self.low.shape[1]:
            values[:, self.at] += steps(self.count)
        return values


class TableSearch:
    """The solutions of a form, as values of the free unknowns that keep all others whole and within their room."""

    def __init__(self, form: Equations) -> None:
        if form.matrix.shape[0] * form.matrix.shape[1] > EFFORT.listing_entries:
            raise TooLargeError("too many open counts to list tables")
        self.form, self.work = form, 0
        slack = np.arange(len(form.room)) < len(form.loose)
        self.solved = eliminate(form.matrix.toarray(), form.total, np.lexsort((-form.room, slack)))
        if self.solved is not None:
            self._bound(self.solved)

    def _bound(self, solved: Echelon) -> None:
        """Every solved unknown is two inequalities `sides @ free <= limit`."""
        matrix = solved.matrix.astype(np.float64)
        most = solved.scale * self.form.room[solved.pivots]
        self.sides = np.concatenate([matrix, -matrix])
        self.limit = np.r_[solved.total, most - solved.total].astype(np.float64)
        # Floats hold these integers exactly (below 2^53), and matrix products of floats use BLAS.
        self.above, self.below = np.maximum(self.sides, 0.0).T, np.minimum(self.sides, 0.0).T
        self.whole = bool((solved.scale == 1).all())
        self.chunk = min(max(EFFORT.chunk_work // (self.sides.size + 1), EFFORT.smallest_chunk), EFFORT.largest_chunk)
        self.uses = [
            tuple((rows, np.abs(column[rows])) for rows in (np.flatnonzero(column > 0), np.flatnonzero(column < 0)))
            for column in self.sides.T
        ]

    def bars(self, most: float) -> Iterator[SolutionBar]:
        """All solutions, without those that would make a solved unknown a fraction.

        Raises after `most` work: one unit is one look at one unknown in one inequality.
        """
        if self.solved is None:
            return
        high = self.form.room[self.solved.free].astype(np.float64)[None, :]
        stack = [iter([(np.zeros_like(high), high)])]
        while stack:
            case = next(stack[-1], None)
            if case is None:
                stack.pop()
                continue
            low, high = self._tighten(*case)
            if self.work > most:
                raise TooLargeError("too many cases to look at")
            if not len(low):
                continue
            width = high - low
            span = np.asarray(width.max(axis=0))
            # Branch on the unknown with the fewest values on average: fewest cases, as fail-first does.
            if (span > 0).sum() > 1:
                stack.append(_branch(low, high, self._choose(width, span), self.chunk))
                continue
            column = int(span.argmax()) if len(span) else 0
            count = width[:, column] + 1 if len(span) else np.ones(len(low))
            yield from self._kept(SolutionBar(low.astype(np.int64), column, count.astype(np.int64)))

    def _choose(self, width: FloatArray, span: FloatArray) -> int:
        """The unknown to branch on: of those that are open, the one with the fewest values on average (fail first)."""
        return int(np.where(span > 0, width.mean(axis=0), np.inf).argmin())

    def _kept(self, bar: SolutionBar) -> Iterator[SolutionBar]:
        """The bar, without values that would make a solved unknown a fraction."""
        if self.whole:
            yield bar
            return
        assert self.solved is not None
        values = bar.expand()
        solid = ((self.solved.total - values @ self.solved.matrix.T) % self.solved.scale == 0).all(axis=1)
        if solid.any():
            yield SolutionBar(values[solid], 0, np.ones(int(solid.sum()), dtype=np.int64))

    def complete(self, values: IntArray) -> IntArray:
        """All unknowns, from the free ones."""
        assert self.solved is not None
        unknowns = np.zeros((len(values), len(self.form.room)), dtype=np.int64)
        unknowns[:, self.solved.free] = values
        unknowns[:, self.solved.pivots] = (self.solved.total - values @ self.solved.matrix.T) // self.solved.scale
        return unknowns

    def _tighten(self, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Intervals that the inequalities leave in every case; cases without any are dropped."""
        for _ in range(EFFORT.branch_rounds):
            self.work += EFFORT.round_work + len(low) * self.sides.size
            spare = self.limit - low @ self.above - high @ self.below
            alive = (spare >= 0).all(axis=1)
            if not alive.all():
                low, high, spare = low[alive], high[alive], spare[alive]
            if not len(low):
                break
            new_low, new_high = self._step(low, high, spare)
            alive = (new_low <= new_high).all(axis=1)
            changed = (new_low > low).any() or (new_high < high).any()
            low, high = new_low[alive], new_high[alive]
            if not changed:
                break
        return low, high

    def _step(self, low: FloatArray, high: FloatArray, spare: FloatArray) -> tuple[FloatArray, FloatArray]:
        """One round of propagation: per open unknown, the values that every inequality with it still allows."""
        new_low, new_high = low.copy(), high.copy()
        for column in np.flatnonzero((low < high).any(axis=0)).tolist():
            (rises, up), (falls, down) = self.uses[column]
            if len(rises):
                room = np.floor(spare[:, rises] / up).min(axis=1)
                np.minimum(new_high[:, column], low[:, column] + room, out=new_high[:, column])
            if len(falls):
                room = np.floor(spare[:, falls] / down).min(axis=1)
                np.maximum(new_low[:, column], high[:, column] - room, out=new_low[:, column])
        return new_low, new_high


def _branch(low: FloatArray, high: FloatArray, column: int, chunk: int) -> Iterator[tuple[FloatArray, FloatArray]]:
    """One case per value of the unknown `column`, in chunks; a case with very many values is halved instead."""
    count = (high[:, column] - low[:, column] + 1).astype(np.int64)
    if len(low) == 1 and count[0] > chunk:
        middle = np.floor((low[0, column] + high[0, column]) / 2)
        for start, end in ((low[0, column], middle), (middle + 1, high[0, column])):
            first, last = low.copy(), high.copy()
            first[0, column], last[0, column] = start, end
            yield first, last
        return
    if len(low) > 1 and count.sum() > chunk:
        for half in (slice(None, len(low) // 2), slice(len(low) // 2, None)):
            yield from _branch(low[half], high[half], column, chunk)
        return
    first, last = np.repeat(low, count, axis=0), np.repeat(high, count, axis=0)
    first[:, column] += steps(count)
    last[:, column] = first[:, column]
    yield first, last


def _order(matrix: IntArray, total: IntArray) -> IntArray:
    """An order of the unknowns, row by row, the row next that adds least to what must be remembered.

    The grid has one dimension per row that has begun and not ended; large totals make it large.
    """
    used = matrix != 0
    size = np.log1p(np.abs(total).astype(np.float64))
    begun, order = np.zeros(len(matrix), dtype=bool), np.zeros(0, dtype=np.int64)
    left = np.ones(matrix.shape[1], dtype=bool)
    while left.any():
        open_rows = np.flatnonzero(used[:, left].any(axis=1))
        costs = []
        for row in open_rows.tolist():
            touched = used[:, used[row] & left].any(axis=1) & ~begun
            costs.append((float(size[touched].sum()), int((used[row] & left).sum())))
        row = int(open_rows[min(range(len(costs)), key=costs.__getitem__)])
        unknowns = np.flatnonzero(used[row] & left)
        order = np.r_[order, unknowns[np.lexsort((unknowns, -used[:, unknowns].sum(axis=0)))]]
        left[unknowns] = False
        begun |= used[:, unknowns].any(axis=1)
    return order


def count_by_grid(form: Equations, work: int) -> int | None:
    """By walking through the unknowns on a dense grid of what is left of all sums; for rows of zeros and ones.

    One more unknown is one cumulative sum. None if the grid is too large to do it with so much `work`.
    """
    matrix = form.matrix.toarray()
    if (matrix > 1).any() or (matrix < 0).any():
        return None
    solved = eliminate(matrix, form.total, np.argsort(-form.room, kind="stable"))
    if solved is None:
        return 0
    chosen = _independent(matrix, form.total)
    total = form.total[chosen].tolist()
    order = _order(matrix[chosen], form.total[chosen])
    used = matrix[chosen][:, order] > 0
    rows = [np.flatnonzero(column).tolist() for column in used.T]
    last = [int(np.flatnonzero(row).max()) for row in used]
    first = [int(np.flatnonzero(row).min()) for row in used]
    sizes = [prod(t + 1 for t, a, b in zip(total, first, last, strict=True) if a <= p <= b) for p in range(len(order))]
    most = prod((form.room[solved.free] + 1).tolist())
    if max(sizes) > EFFORT.grid_cells or sum(sizes) * (most.bit_length() // 30 + 2) > work:
        return None
    ending = [[row for row, end in enumerate(last) if end == step] for step in range(len(order))]
    plan = list(zip(rows, ending, form.room[order].tolist(), strict=True))
    return from_residues(partial(_grid_modulo, plan, total), most)


def _independent(matrix: IntArray, total: IntArray) -> IntArray:
    """Independent rows, those with small totals first."""
    order = np.argsort(total, kind="stable")
    solved = eliminate(matrix[order].T, np.zeros(matrix.shape[1], dtype=np.int64), np.arange(len(order)))
    assert solved is not None
    return np.sort(order[solved.pivots])


Plan = list[tuple[list[int], list[int], int]]
"""Per unknown: the rows it stands in, the rows that end with it, and its ceiling."""


def _grid_modulo(plan: Plan, total: list[int], prime: int) -> int:
    """The number of solutions, modulo a prime."""
    ways: IntArray = np.ones(1, dtype=np.int64)
    active: list[int] = [-1]
    for rows, ending, room in plan:
        for row in rows:
            if row not in active:
                wider = np.zeros((*ways.shape, total[row] + 1), dtype=np.int64)
                wider[..., -1] = ways
                ways = wider
                active.append(row)
        ways = _with_unknown(ways, [active.index(row) for row in rows], room) % prime
        for row in ending:
            ways = np.take(ways, 0, axis=active.index(row))
            active.remove(row)
    return int(ways[0])


def _with_unknown(ways: IntArray, axes: list[int], room: int) -> IntArray:
    """Every value of an unknown up to `room`, taken from what is left along all `axes` at once."""
    lead = min(axes, key=lambda axis: ways.shape[axis])
    down, up = [slice(None)] * ways.ndim, [slice(None)] * ways.ndim
    for axis in axes:
        down[axis], up[axis] = slice(None, -1), slice(1, None)
    # Cumulative sums along the diagonal add every value of the unknown at once; minus those above its ceiling.
    sums = ways.copy()
    for level in range(ways.shape[lead] - 2, -1, -1):
        down[lead], up[lead] = slice(level, level + 1), slice(level + 1, level + 2)
        sums[tuple(down)] += sums[tuple(up)]
    if room + 1 >= min(ways.shape[axis] for axis in axes):
        return sums
    for axis in axes:
        down[axis], up[axis] = slice(None, -room - 1), slice(room + 1, None)
    capped = sums.copy()
    capped[tuple(down)] -= sums[tuple(up)]
    return capped
