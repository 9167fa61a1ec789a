"""Areas in a tree, from everything down to the smallest; and the attributes that people are counted by in each."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TypeVar

import numpy as np

from safemargin.errors import InputError
from safemargin.model.arrays import FloatArray, IntArray, frozen

TOTAL, DETAILED = "total", "detailed"
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


@dataclass(frozen=True)
class Query:
    """A margin: counts by these attributes (places in `Attributes`), summed over the others."""

    axes: tuple[int, ...]

    def __and__(self, other: "Query") -> "Query":
        return Query(tuple(axis for axis in self.axes if axis in other.axes))

    def __le__(self, other: "Query") -> bool:
        return set(self.axes) <= set(other.axes)


@dataclass(frozen=True)
class Attributes:
    """What people are counted by within an area: names and their categories. Cells are numbered with the last fastest.

    >>> kinds = Attributes(("sex", "age"), (("f", "m"), ("young", "old")))
    >>> kinds.margin(np.array([[1, 2, 3, 4]]), kinds.query("sex")).tolist()
    [[3, 7]]
    """

    names: tuple[str, ...]
    categories: tuple[tuple[str, ...], ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of categories by attribute."""
        return tuple(map(len, self.categories))

    @property
    def detailed(self) -> Query:
        """The margin that sums over nothing."""
        return Query(tuple(range(len(self.names))))

    def cells(self, query: Query) -> int:
        """Number of counts of a margin in one area."""
        return prod(self.sizes[axis] for axis in query.axes)

    def query(self, text: str) -> Query:
        """The margin that a text like `sex*age`, `total` or `detailed` names."""
        if text == TOTAL:
            return Query(())
        if text == DETAILED:
            return self.detailed
        parts = [part.strip() for part in text.split("*")]
        unknown = next((part for part in parts if part not in self.names), None)
        if unknown is not None or len(set(parts)) < len(parts):
            allowed = f"{TOTAL}, {DETAILED} or attributes joined by '*' ({', '.join(self.names)})"
            raise InputError(f"query {text!r}: must be {allowed}, each once")
        return Query(tuple(sorted(self.names.index(part) for part in parts)))

    def title(self, query: Query) -> str:
        """The text that names a margin."""
        if not query.axes:
            return TOTAL
        return DETAILED if query == self.detailed else "*".join(self.names[axis] for axis in query.axes)

    def labels(self, query: Query, cell: int) -> str:
        """A cell of a margin in words."""
        if not query.axes:
            return "all people"
        places = np.unravel_index(cell, [self.sizes[axis] for axis in query.axes])
        words = zip(query.axes, places, strict=True)
        return ", ".join(f"{self.names[axis]} {self.categories[axis][place]}" for axis, place in words)

    def margin(self, values: Numbers, query: Query, of: Query | None = None) -> Numbers:
        """Rows of the margin `of` (all cells if it is not named) summed to a margin within it."""
        of = of or self.detailed
        shaped = values.reshape(len(values), *(self.sizes[axis] for axis in of.axes))
        gone = tuple(place + 1 for place, axis in enumerate(of.axes) if axis not in query.axes)
        summed: Numbers = shaped.sum(axis=gone).reshape(len(values), -1)
        return summed

    def groups(self, query: Query, of: Query) -> IntArray:
        """For every cell of the margin `of`, the cell of the margin `query` within it that it is summed into."""
        places = np.arange(self.cells(query)).reshape([self.sizes[axis] for axis in query.axes])
        spread = places.reshape([self.sizes[axis] if axis in query.axes else 1 for axis in of.axes])
        return np.broadcast_to(spread, [self.sizes[axis] for axis in of.axes]).reshape(-1).astype(np.int64)
