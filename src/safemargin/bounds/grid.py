"""Plain margins of a table: what the methods for tables of any order need to know about a system.

A system is plain if every fact is an exact count of single categories, complete over its axes, and nobody's options
share people. Then the published sets of axes (their *faces*) say which changes no margin notices.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from safemargin.bounds.system import System
from safemargin.core import IntArray, row_keys

Face = frozenset[int]
"""A set of axes, by number."""


@dataclass(frozen=True)
class Grid:
    """The maximal published faces of a plain system, and for one option the block of slices that states each."""

    known: System
    shape: tuple[int, ...]
    faces: tuple[Face, ...]
    values: Mapping[Face, IntArray]

    @cached_property
    def is_full(self) -> bool:
        """Whether every combination of categories is a profile."""
        return len(self.known.codes) == int(np.prod(self.shape, dtype=np.int64))

    def margin(self, face: Face) -> IntArray:
        """Counts of a face (or any part of one) per profile: the margin that each profile lies in."""
        whole = next(each for each in self.faces if face <= each)
        axes, kept = sorted(whole), sorted(face)
        table = self._table(whole)
        summed = table.sum(axis=tuple(place for place, axis in enumerate(axes) if axis not in face))
        if not kept:
            return np.full(len(self.known.codes), int(table.sum()), dtype=np.int64)
        return np.asarray(summed[tuple(self.known.codes[:, axis] for axis in kept)], dtype=np.int64)

    def _table(self, face: Face) -> IntArray:
        axes = sorted(face)
        table = np.zeros([self.shape[axis] for axis in axes] or [1], dtype=np.int64)
        place = tuple(self.known.codes[:, axis] for axis in axes) or (np.zeros(len(self.known.codes), dtype=np.int64),)
        table[place] = self.values[face]
        return table


def grids(known: System) -> tuple[Grid, ...]:
    """One grid per option of a plain system; none if it is not plain."""
    if known.people is not None and known.free > 1:
        return ()
    if (known.lower != known.upper).any() or not ((known.weights.sum(axis=1) == 1).all()):
        return ()
    shape = tuple(len(names) for names in known.categories)
    found = []
    for option in range(known.free):
        values: dict[Face, IntArray] = {}
        for block in known.blocks:
            stated = _stated(known, block, option)
            face = _face(known, block)
            if stated is None or face is None:
                return ()
            if not (block >= 0).all():
                return ()
            values.setdefault(face, stated)
        tops = tuple(f for f in values if not any(f < other for other in values))
        if not tops:
            return ()
        found.append(Grid(known, shape, tops, {face: values[face] for face in tops}))
    return tuple(found)


def missing_faces(faces: Sequence[Face], count: int) -> tuple[Face, ...]:
    """Smallest sets of axes that no published face contains: a change spread over one of them goes unnoticed."""
    found: list[Face] = []
    for order in range(1, count + 1):
        for axes in combinations(range(count), order):
            face = frozenset(axes)
            if not any(face <= each for each in faces) and not any(each <= face for each in found):
                found.append(face)
    return tuple(found)


def _face(known: System, block: IntArray) -> Face | None:
    rows = np.flatnonzero(known.slice_of == block.max(initial=-1))
    if not len(rows):
        return None
    table, _ = known.sources[int(rows[0])]
    face = frozenset(known.axes.index(axis) for axis in table.axes)
    columns = sorted(face)
    keys = row_keys(known.codes[:, columns], [len(known.categories[c]) for c in columns])
    alone = len(np.unique(keys)) == len(np.unique(block))
    return face if alone else None


def _stated(known: System, block: IntArray, option: int) -> IntArray | None:
    """The published count of the slice that each profile lies in."""
    value = np.full(known.slices.shape[0], -1, dtype=np.int64)
    mine = known.weights[:, option] > 0
    value[known.slice_of[mine]] = known.lower[mine]
    stated = value[block]
    return None if (stated < 0).any() else stated
