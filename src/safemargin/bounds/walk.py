"""Integer tables of any order, found and varied by moves that no margin notices.

Objects
    grid        a full table of one option over all combinations of categories (`grid.MarginGrid`)
    face        a set of axes whose margin is published; a *missing* face is a smallest set that none contains
    move        two categories per axis of a missing face: +1 and -1 in turn at the 2 x 2 x ... corners

Statement
    A move changes no margin over a face F that does not contain the missing face: along an axis that F sums over, the
    signs of the corners cancel. All corners are paired at once (categories in random pairs), so one sweep is thousands
    of moves that share no cell, and the least and most of every cell over single moves follow with it.

    Moves connect the fiber for decomposable margins (Dobra 2003). For others they need not: a walk is a search for
    tables, and what it does not reach is left to programs.

A first table
    A real-valued fit is rounded at random; `_correction` adds whole numbers, of any sign, that restore all margins
    exactly (Moebius inversion over faces); sweeps then move counts back above zero and below their caps (`_repair`).

What callers may rely on
    * Every table has all published margins. `start` returns one within the caps, or nothing.
    * Sweeps keep within the caps: moves go as far as the corners have room.

Example
    Rows of 2 and 2, columns of 2 and 2: from any table the walk shows that a cell can be 0, 1 or 2.

    >>> codes = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> two = {frozenset({0}): np.full(4, 2), frozenset({1}): np.full(4, 2)}
    >>> walk = Walk(MarginGrid(codes, (2, 2), tuple(two), two), np.full(4, 9), numpy_generator(1))
    >>> near = next(walk.sweeps(np.array([1, 1, 1, 1]), 1))
    >>> near.least.tolist(), near.most.tolist()
    ([0, 0, 0, 0], [2, 2, 2, 2])
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from safemargin.bounds.effort import EFFORT
from safemargin.bounds.grid import Face, MarginGrid, missing_faces
from safemargin.bounds.search import Search
from safemargin.core import UNBOUNDED, FloatArray, Generator, IntArray, numpy_generator

Corner = tuple[tuple[IntArray, ...], int]
"""Where one corner of every move stands in the grid, and its sign."""


@dataclass(frozen=True)
class Neighbours:
    """A table, and the least and most of every cell in the tables that are one move away from it."""

    table: IntArray
    least: IntArray
    most: IntArray


class Walk:
    """Moves on a full grid of one option; `high` caps its cells.

    `faces` are the missing faces along which there is a move: each of their axes has two categories or more.
    """

    def __init__(self, grid: MarginGrid, high: IntArray, generator: Generator) -> None:
        self.grid, self.shape = grid, grid.shape
        self.high = np.minimum(high, UNBOUNDED).reshape(grid.shape)
        self.faces = [face for face in missing_faces(grid.faces, len(grid.shape)) if self._fits(face)]
        self.generator = generator

    def _fits(self, face: Face) -> bool:
        return all(self.shape[axis] > 1 for axis in face)

    def start(self, repairs: int) -> IntArray | None:
        """An integer table with the published margins, or none if so many `repairs` do not find one."""
        fitted = self._fit()
        # Randomised rounding keeps every expected count; the correction then restores the margins exactly, in integers.
        table = np.floor(fitted + self.generator.random(self.shape)).astype(np.int64)
        table = table + self._correction(table)
        for turn in range(repairs):
            if self._penalty(table).sum() == 0:
                return table.ravel()
            if not self.faces:
                return None
            self._repair(table, EFFORT.walk_warmth[turn % len(EFFORT.walk_warmth)])
        return None

    def sweeps(self, table: IntArray, count: int, want: IntArray | None = None) -> Iterator[Neighbours]:
        """Move on from `table`, `count` times; where `want` is given, towards higher (1) or lower (-1) counts."""
        current = table.reshape(self.shape).copy()
        wanted = None if want is None else want.reshape(self.shape)
        for _ in range(count if self.faces else 0):
            corners = self._corners(self.faces[int(self.generator.integers(len(self.faces)))])
            up, down = self._room(current, corners)
            least, most = current.copy(), current.copy()
            for corner, sign in corners:
                most[corner] += up if sign > 0 else down
                least[corner] -= down if sign > 0 else up
            yield Neighbours(current.ravel(), least.ravel(), most.ravel())
            step = self._choose(up, down, corners, wanted)
            for corner, sign in corners:
                current[corner] += sign * step

    def _choose(self, up: IntArray, down: IntArray, corners: list[Corner], want: IntArray | None) -> IntArray:
        """How far every move goes: anywhere on its line at random, or to the end that is wanted."""
        chance = self.generator.random(up.shape)
        if want is None:
            # Uniform on the line of tables that the move allows.
            return np.floor(chance * (up + down + 1)).astype(np.int64) - down
        score = sum(sign * want[corner] for corner, sign in corners) + 2 * chance - 1
        return np.where(score > 0, up, -down)

    def _room(self, table: IntArray, corners: list[Corner]) -> tuple[IntArray, IntArray]:
        """How far every move can go up and down before one of its corners leaves its range from zero to its cap."""
        ups, downs = [], []
        for corner, sign in corners:
            values, caps = table[corner], self.high[corner] - table[corner]
            ups.append(caps if sign > 0 else values)
            downs.append(values if sign > 0 else caps)
        return np.minimum.reduce(ups), np.minimum.reduce(downs)

    def _corners(self, face: Face) -> list[Corner]:
        """A random pairing of the categories of every axis of `face`."""
        choices: list[tuple[IntArray, ...]] = []
        for axis, size in enumerate(self.shape):
            if axis in face:
                mixed = self.generator.permutation(size).astype(np.int64)
                half = size // 2
                choices.append((mixed[:half], mixed[half : 2 * half]))
            else:
                choices.append((np.arange(size),))
        corners = []
        for pick in product(*(range(len(choice)) for choice in choices)):
            index = tuple(choices[axis][which] for axis, which in enumerate(pick))
            corners.append((np.ix_(*index), 1 if sum(pick) % 2 == 0 else -1))
        return corners

    def _fit(self) -> FloatArray:
        """Real-valued table with nearly the published margins, by iterative proportional fitting."""
        table = np.ones(self.shape)
        goals = [(face, self._margin(self._values(face), face).astype(np.float64)) for face in self.grid.faces]
        for _ in range(EFFORT.walk_fit_rounds):
            for face, goal in goals:
                sums = table.sum(axis=self._others(face), keepdims=True)
                table *= np.divide(goal, sums, out=np.zeros_like(goal), where=sums > 0)
        return table

    def _values(self, face: Face) -> IntArray:
        """A published margin, given per profile, in the shape of the grid."""
        return self.grid.values[face].reshape(self.shape)

    def _others(self, face: Face) -> tuple[int, ...]:
        """The axes that a face sums over."""
        return tuple(axis for axis in range(len(self.shape)) if axis not in face)

    def _margin(self, per_profile: IntArray, face: Face) -> IntArray:
        """A margin with length one along the other axes, from its value at every profile."""
        index = tuple(slice(None) if axis in face else slice(0, 1) for axis in range(len(self.shape)))
        return per_profile[index]

    def _correction(self, table: IntArray) -> IntArray:
        """Whole numbers, of any sign, that give `table` the published margins: spread from the largest categories."""
        count = len(self.shape)
        base = [int(table.sum(axis=tuple(b for b in range(count) if b != axis)).argmax()) for axis in range(count)]
        inner = [np.delete(np.arange(size), base[axis]) for axis, size in enumerate(self.shape)]
        added: dict[Face, IntArray] = {}
        parts = {frozenset(p) for f in self.grid.faces for k in range(len(f) + 1) for p in combinations(sorted(f), k)}
        # Moebius inversion, the largest faces first: each gap is what larger faces have not yet explained.
        for face in sorted(parts, key=lambda part: (-len(part), sorted(part))):
            whole = next(published for published in self.grid.faces if face <= published)
            goal = self._margin(self._values(whole), whole)
            goal = goal.sum(axis=tuple(sorted(whole - face)), keepdims=True)
            gap = goal - table.sum(axis=self._others(face), keepdims=True)
            gap = gap[np.ix_(*(inner[a] if a in face else np.zeros(1, dtype=np.int64) for a in range(count)))]
            for other, values in added.items():
                if face < other:
                    gap = gap - values.sum(axis=tuple(sorted(other - face)), keepdims=True)
            added[face] = gap
        result = np.zeros_like(table)
        for face, values in added.items():
            result[np.ix_(*(inner[a] if a in face else np.array([base[a]]) for a in range(count)))] = values
        return result

    def _penalty(self, table: IntArray) -> IntArray:
        """How far every cell is below zero or above its cap."""
        return np.maximum(-table, 0) + np.maximum(table - self.high, 0)

    def _repair(self, table: IntArray, warmth: float) -> None:
        """One sweep that leaves as little as possible below zero or above the caps."""
        corners = self._corners(self.faces[int(self.generator.integers(len(self.faces)))])
        parts = [(table[corner], self.high[corner], sign) for corner, sign in corners]
        costs = []
        for step in EFFORT.walk_steps:
            cost = sum(
                np.maximum(-(values + sign * step), 0) + np.maximum(values + sign * step - caps, 0)
                for values, caps, sign in parts
            )
            # Noise below 1 breaks ties between steps of equal penalty: a walk out of dead ends, not away from repair.
            costs.append(cost + warmth * self.generator.random(parts[0][0].shape))
        best = np.array(EFFORT.walk_steps)[np.argmin(np.stack(costs), axis=0)]
        for corner, sign in corners:
            table[corner] += sign * best


def attain_by_walks(
    grids: Sequence[MarginGrid],
    search: Search,
    seed: int,
    report: Callable[[], None],
    start: Callable[[], IntArray | None] | None,
) -> None:
    """Integer tables of plain margins, one option after the other: sweeps at random, then towards the open ends.

    `start` finds a table where rounding does not; without it, an option that needs one is left to other methods.
    """
    patient = search.enough is None
    for option, grid in enumerate(grids):
        own = slice(option, None, len(grids))
        walk = Walk(grid, search.high[own], numpy_generator(seed + option))
        table = walk.start(EFFORT.walk_repairs[0])
        if table is None and start is not None:
            whole = start()
            table = walk.start(EFFORT.walk_repairs[1]) if whole is None else whole[own]
        if table is None:
            continue
        for want_of in (None, _upwards, _downwards):
            want = None if want_of is None else want_of(search, own)
            stale = 0
            for near in walk.sweeps(table, EFFORT.walk_sweeps, want):
                before = search.unsettled()
                search.show(near.least, near.most, own)
                table = near.table.copy()
                stale = 0 if search.unsettled() < before - EFFORT.walk_gain[patient] else stale + 1
                if stale > EFFORT.walk_stale[patient] or not search.unsettled():
                    break
            report()


def _upwards(search: Search, own: slice) -> IntArray:
    """Which counts are wanted higher, for upper ends that are open; lower where only the lower end is."""
    return search.open_above[own].astype(np.int64) - search.open_below[own]


def _downwards(search: Search, own: slice) -> IntArray:
    """Which counts are wanted lower, for lower ends that are open; not where the upper end is open too."""
    return search.open_below[own].astype(np.int64) - 2 * search.open_above[own]
