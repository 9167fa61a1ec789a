"""Plain margins of a table, and the intervals that follow from them without a program.

A system is plain if every fact is an exact count of single categories, complete over its axes, and nobody's options
share people. Then the published sets of axes (their *faces*) say which changes no margin notices.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from safemargin.bounds.effort import EFFORT
from safemargin.core import UNBOUNDED, IntArray

Face = frozenset[int]
"""A set of axes, by number."""


@dataclass(frozen=True)
class MarginGrid:
    """The maximal published faces of a plain system, and for one option the block of slices that states each."""

    codes: IntArray
    shape: tuple[int, ...]
    faces: tuple[Face, ...]
    values: Mapping[Face, IntArray]

    @cached_property
    def is_full(self) -> bool:
        """Whether every combination of categories is a profile."""
        return len(self.codes) == int(np.prod(self.shape, dtype=np.int64))

    def margin(self, face: Face) -> IntArray:
        """Counts of a face (or any part of one) per profile: the margin that each profile lies in."""
        whole = next(published for published in self.faces if face <= published)
        axes, kept = sorted(whole), sorted(face)
        table = self._table(whole)
        summed = table.sum(axis=tuple(number for number, axis in enumerate(axes) if axis not in face))
        if not kept:
            return np.full(len(self.codes), int(table.sum()), dtype=np.int64)
        return np.asarray(summed[tuple(self.codes[:, axis] for axis in kept)], dtype=np.int64)

    def _table(self, face: Face) -> IntArray:
        axes = sorted(face)
        table = np.zeros([self.shape[axis] for axis in axes] or [1], dtype=np.int64)
        index = tuple(self.codes[:, axis] for axis in axes) or (np.zeros(len(self.codes), dtype=np.int64),)
        table[index] = self.values[face]
        return table


def missing_faces(faces: Sequence[Face], count: int) -> tuple[Face, ...]:
    """Smallest sets of axes that no published face contains: a change spread over one of them goes unnoticed."""
    missing: list[Face] = []
    for order in range(1, count + 1):
        for axes in combinations(range(count), order):
            face = frozenset(axes)
            if not any(face <= other for other in faces) and not any(other <= face for other in missing):
                missing.append(face)
    return tuple(missing)


@dataclass(frozen=True)
class Junction:
    """A set of faces that can be put together one after the other, each meeting the earlier ones in one of them."""

    faces: tuple[Face, ...]
    separators: tuple[Face, ...]


def junction(faces: Sequence[Face]) -> Junction | None:
    """The order in which decomposable faces fit together, or none if they are not decomposable.

    Graham's reduction: a face whose shared axes all lie in one other face is an ear; take ears off until one is left.

    >>> junction([frozenset({0, 1}), frozenset({1, 2}), frozenset({2, 0})]) is None
    True
    """
    # Graham (1979): a hypergraph is acyclic, i.e. the margins decomposable, iff removing ears leaves one face.
    left = [face for face in faces if not any(face < other for other in faces)]
    taken: list[Face] = []
    separators: list[Face] = []
    while len(left) > 1:
        for face in left:
            others = [other for other in left if other is not face]
            shared = face & frozenset().union(*others)
            if any(shared <= other for other in others):
                taken.append(face)
                separators.append(shared)
                left = others
                break
        else:
            return None
    return Junction((*left, *taken[::-1]), tuple(separators[::-1]))


def by_option(
    grids: Sequence[MarginGrid],
    narrow: Callable[[MarginGrid, IntArray, IntArray], tuple[IntArray, IntArray]],
    low: IntArray,
    high: IntArray,
) -> tuple[IntArray, IntArray]:
    """Intervals of all variables, narrowed one option (and its grid) at a time."""
    low, high = low.copy(), high.copy()
    for option, grid in enumerate(grids):
        own = slice(option, None, len(grids))
        low[own], high[own] = narrow(grid, low[own], high[own])
    return low, high


def decomposable(grid: MarginGrid) -> tuple[IntArray, IntArray]:
    """Lower and upper counts of every profile (Dobra and Fienberg): cliques less separators, and the least clique."""
    order = junction(grid.faces)
    assert order is not None
    # Dobra and Fienberg (PNAS 2000), theorem 1: max(0, cliques - separators) <= n <= min of the cliques, both attained.
    cliques = [grid.margin(face) for face in order.faces]
    lower = sum(cliques) - sum((grid.margin(face) for face in order.separators), np.zeros_like(cliques[0]))
    return np.maximum(lower, 0), np.minimum.reduce(cliques)


def shuttle(grid: MarginGrid, low: IntArray, high: IntArray) -> tuple[IntArray, IntArray]:
    """Tighten intervals of one option (one per profile); valid for every table with these margins."""
    count = len(grid.shape)
    patterns = 2**count
    if count < 2 or len(low) * patterns > EFFORT.shuttle_counts:
        return low, high
    lower = np.zeros((len(low), patterns), dtype=np.int64)
    upper = np.full((len(low), patterns), UNBOUNDED, dtype=np.int64)
    lower[:, 0], upper[:, 0] = low, high
    # Buzzigoli and Giusti's shuttle, generalised by Dobra: 2^d collapsed cells per cell, all cells at once.
    rows = [row for face in grid.faces for row in _rows(grid, face, count)]
    for _ in range(EFFORT.shuttle_rounds):
        changed = False
        for members, value in rows:
            spare = value - lower[:, members].sum(axis=1)
            surplus = np.minimum(upper[:, members], UNBOUNDED).sum(axis=1) - value
            top = np.minimum(upper[:, members], lower[:, members] + spare[:, None])
            bottom = np.maximum(lower[:, members], upper[:, members] - surplus[:, None])
            changed |= bool((top < upper[:, members]).any() or (bottom > lower[:, members]).any())
            upper[:, members], lower[:, members] = top, bottom
        if not changed:
            break
    return lower[:, 0], upper[:, 0]


def _rows(grid: MarginGrid, face: Face, count: int) -> list[tuple[list[int], IntArray]]:
    """Rows of the collapsed tables for one face: which patterns of "rest" add up to which margin.

    Bit `a` of a pattern says that axis `a` is at the rest. The margin with some axes at the rest follows from those
    with the cell's own categories by inclusion and exclusion.
    """
    axes = sorted(face)
    own = {
        frozenset(part): grid.margin(frozenset(part)) for k in range(len(axes) + 1) for part in combinations(axes, k)
    }
    outside = [axis for axis in range(count) if axis not in face]
    rows = []
    for size in range(len(axes) + 1):
        for rest in combinations(axes, size):
            value = np.zeros(len(grid.codes), dtype=np.int64)
            for k in range(size + 1):
                for part in combinations(rest, k):
                    # Inclusion and exclusion: the margin at "rest" on some axes from the margins at the cell's own
                    # categories.
                    value += (-1) ** k * own[(face - frozenset(rest)) | frozenset(part)]
            base = sum(1 << axis for axis in rest)
            members = [
                base + sum(1 << axis for axis in free)
                for k in range(len(outside) + 1)
                for free in combinations(outside, k)
            ]
            rows.append((members, value))
    return rows
