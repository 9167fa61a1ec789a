"""Plain margins of a table, and how they fit together.

A system is plain if every fact is an exact count of single categories, complete over its axes, and nobody's options
share people. Then the published sets of axes (their *faces*) say which changes no margin notices.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from safemargin.core import IntArray

Face = frozenset[int]
"""A set of axes, by number."""


@dataclass(frozen=True)
class MarginGrid:
    """The maximal published faces of a plain system, and for one option the block of slices that states each.

    `values[face][e]` is the published count of the cell of that face in which profile e lies.
    """

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
        """The margin of a face as an array over its axes; cells that nobody is in are 0."""
        axes = sorted(face)
        table = np.zeros([self.shape[axis] for axis in axes] or [1], dtype=np.int64)
        index = tuple(self.codes[:, axis] for axis in axes) or (np.zeros(len(self.codes), dtype=np.int64),)
        table[index] = self.values[face]
        return table


def missing_faces(faces: Sequence[Face], count: int) -> tuple[Face, ...]:
    """Smallest sets of axes that no published face contains: a change spread over one of them goes unnoticed.

    >>> [sorted(face) for face in missing_faces([frozenset({0, 1}), frozenset({2})], 3)]
    [[0, 2], [1, 2]]
    """
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
