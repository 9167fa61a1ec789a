"""Every table of a small fiber: branch on the unknowns that the equations leave free, thousands of cases at a time."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from safemargin.bounds.fiber_form import Echelon, FiberForm, eliminate
from safemargin.core import FloatArray, IntArray, TooLargeError

LARGEST_CHUNK, SMALLEST_CHUNK = 20_000, 200
ROUND_WORK, WORK_AT_ONCE = 100_000, 2_000_000
"""Cases are looked at together, as many as are so much work."""

ROUNDS = 20
MOST_ENTRIES = 20_000_000


@dataclass(frozen=True)
class Bar:
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


def steps(count: IntArray) -> IntArray:
    """`0, 1, ..., count - 1` for each entry of `count`, one after the other."""
    return np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)


class FiberSearch:
    """The solutions of a form, as values of the free unknowns that keep all others whole and within their room."""

    def __init__(self, form: FiberForm) -> None:
        if form.matrix.shape[0] * form.matrix.shape[1] > MOST_ENTRIES:
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
        self.above, self.below = np.maximum(self.sides, 0.0).T, np.minimum(self.sides, 0.0).T
        self.whole = bool((solved.scale == 1).all())
        self.chunk = min(max(WORK_AT_ONCE // (self.sides.size + 1), SMALLEST_CHUNK), LARGEST_CHUNK)
        self.uses = [
            tuple((rows, np.abs(column[rows])) for rows in (np.flatnonzero(column > 0), np.flatnonzero(column < 0)))
            for column in self.sides.T
        ]

    @property
    def dimension(self) -> int:
        """How many unknowns are free."""
        return 0 if self.solved is None else len(self.solved.free)

    def bars(self, most: float) -> Iterator[Bar]:
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
            if (span > 0).sum() > 1:
                stack.append(_branch(low, high, self._choose(width, span), self.chunk))
                continue
            at = int(span.argmax()) if len(span) else 0
            count = width[:, at] + 1 if len(span) else np.ones(len(low))
            yield from self._kept(Bar(low.astype(np.int64), at, count.astype(np.int64)))

    def _choose(self, width: FloatArray, span: FloatArray) -> int:
        return int(np.where(span > 0, width.mean(axis=0), np.inf).argmin())

    def _kept(self, bar: Bar) -> Iterator[Bar]:
        if self.whole:
            yield bar
            return
        assert self.solved is not None
        values = bar.expand()
        solid = ((self.solved.total - values @ self.solved.matrix.T) % self.solved.scale == 0).all(axis=1)
        if solid.any():
            yield Bar(values[solid], 0, np.ones(int(solid.sum()), dtype=np.int64))

    def complete(self, values: IntArray) -> IntArray:
        """All unknowns, from the free ones."""
        assert self.solved is not None
        found = np.zeros((len(values), len(self.form.room)), dtype=np.int64)
        found[:, self.solved.free] = values
        found[:, self.solved.pivots] = (self.solved.total - values @ self.solved.matrix.T) // self.solved.scale
        return found

    def _tighten(self, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Intervals that the inequalities leave in every case; cases without any are dropped."""
        for _ in range(ROUNDS):
            self.work += ROUND_WORK + len(low) * self.sides.size
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
        new_low, new_high = low.copy(), high.copy()
        for at in np.flatnonzero((low < high).any(axis=0)).tolist():
            (rises, up), (falls, down) = self.uses[at]
            if len(rises):
                room = np.floor(spare[:, rises] / up).min(axis=1)
                np.minimum(new_high[:, at], low[:, at] + room, out=new_high[:, at])
            if len(falls):
                room = np.floor(spare[:, falls] / down).min(axis=1)
                np.maximum(new_low[:, at], high[:, at] - room, out=new_low[:, at])
        return new_low, new_high


def _branch(low: FloatArray, high: FloatArray, at: int, chunk: int) -> Iterator[tuple[FloatArray, FloatArray]]:
    """One case per value of the unknown `at`, in chunks; a case with very many values is halved instead."""
    count = (high[:, at] - low[:, at] + 1).astype(np.int64)
    if len(low) == 1 and count[0] > chunk:
        middle = np.floor((low[0, at] + high[0, at]) / 2)
        for start, end in ((low[0, at], middle), (middle + 1, high[0, at])):
            first, last = low.copy(), high.copy()
            first[0, at], last[0, at] = start, end
            yield first, last
        return
    if len(low) > 1 and count.sum() > chunk:
        for half in (slice(None, len(low) // 2), slice(len(low) // 2, None)):
            yield from _branch(low[half], high[half], at, chunk)
        return
    first, last = np.repeat(low, count, axis=0), np.repeat(high, count, axis=0)
    first[:, at] += steps(count)
    last[:, at] = first[:, at]
    yield first, last
