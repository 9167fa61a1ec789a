"""Areas in a tree, from everything down to the smallest."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np

from safemargin.core import FloatArray, InputError, IntArray, frozen

Numbers = TypeVar("Numbers", IntArray, FloatArray)


@dataclass(frozen=True)
class Spine:
    """Areas by level, the widest first; the parts of an area lie side by side.

    `parents[level][place]` is the place of the area one level up that an area is part of.
    """

    levels: tuple[str, ...]
    names: tuple[tuple[str, ...], ...]
    parents: tuple[IntArray, ...]

    @property
    def last(self) -> int:
        """The level of the smallest areas."""
        return len(self.levels) - 1

    @property
    def areas(self) -> int:
        """How many there are on all levels."""
        return sum(map(len, self.names))

    @cached_property
    def starts(self) -> tuple[IntArray, ...]:
        """By level, the place of the first part of every area one level up."""
        return tuple(frozen(np.flatnonzero(np.diff(above, prepend=-1))) for above in self.parents)

    def parts(self, level: int, place: int) -> range:
        """Places of the parts of an area, one level down."""
        starts = self.starts[level + 1]
        end = int(starts[place + 1]) if place + 1 < len(starts) else len(self.names[level + 1])
        return range(int(starts[place]), end)

    def sums(self, level: int, values: Numbers) -> Numbers:
        """Rows of the areas of `level` added up to those one level up."""
        summed: Numbers = np.add.reduceat(values, self.starts[level], axis=0)
        return summed

    def counts(self, smallest: IntArray) -> tuple[IntArray, ...]:
        """Counts of every level from those of the smallest areas."""
        found = [smallest]
        for level in range(self.last, 0, -1):
            found.append(self.sums(level, found[-1]))
        return tuple(found[::-1])


def build_spine(levels: Sequence[str], root: str, paths: Iterable[tuple[str, ...]]) -> Spine:
    """The tree of areas from the names on the way to each smallest one; `levels[0]` is the root's.

    >>> build_spine(["land", "town"], "all", [("b",), ("a",)]).names
    (('all',), ('a', 'b'))
    """
    ordered = sorted(set(paths))
    if not ordered:
        raise InputError("spine: there are no areas")
    above: dict[str, int] = {root: 0}
    names: list[tuple[str, ...]] = [(root,)]
    parents: list[IntArray] = [frozen([])]
    for depth, level in enumerate(levels[1:]):
        parent_of: dict[str, str] = {}
        for path in ordered:
            name, parent = path[depth], path[depth - 1] if depth else root
            if not name:
                raise InputError(f"spine: an area of {parent!r} has no {level}; name every area on every level")
            if parent_of.setdefault(name, parent) != parent:
                raise InputError(
                    f"spine: is not a tree: {level} {name!r} lies in {parent_of[name]!r} and in {parent!r}; "
                    "give every area a code of its own"
                )
        names.append(tuple(parent_of))
        parents.append(frozen([above[parent] for parent in parent_of.values()]))
        above = {name: place for place, name in enumerate(parent_of)}
    return Spine(tuple(levels), tuple(names), tuple(parents))
