"""What people are counted by in an area: attributes, groups of their categories, and the margins that these span."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeVar

import numpy as np

from safemargin.core import FloatArray, InputError, IntArray

TOTAL, DETAILED = "total", "detailed"
Numbers = TypeVar("Numbers", IntArray, FloatArray)

Codes = tuple[int, ...]
"""The group of every category of an attribute, numbered in the order in which they first occur."""


@dataclass(frozen=True)
class Query:
    """A margin: counts by these attributes (places in `Attributes`) or groups of their categories, summed over others.

    `groups` has for each attribute the group of every category, or nothing where categories are counted one by one.
    """

    axes: tuple[int, ...]
    groups: tuple[Codes | None, ...] = ()

    def __post_init__(self) -> None:
        if not self.groups:
            object.__setattr__(self, "groups", (None,) * len(self.axes))

    @property
    def parts(self) -> dict[int, Codes | None]:
        """The groups by attribute."""
        return dict(zip(self.axes, self.groups, strict=True))

    def __and__(self, other: "Query") -> "Query":
        """The finest margin that both determine."""
        mine, theirs = self.parts, other.parts
        return _query({axis: _merged(codes, theirs[axis]) for axis, codes in mine.items() if axis in theirs})

    def __or__(self, other: "Query") -> "Query":
        """The coarsest margin that determines both."""
        mine, theirs = self.parts, other.parts
        return _query({axis: _crossed(mine, theirs, axis) for axis in (*mine, *theirs)})

    def __le__(self, other: "Query") -> bool:
        """Whether the other margin determines this one."""
        theirs = other.parts
        return all(axis in theirs and _is_coarser(codes, theirs[axis]) for axis, codes in self.parts.items())


def numbered(labels: Sequence[object]) -> Codes:
    """Groups in the order in which they first occur.

    >>> numbered(["b", "a", "b"])
    (0, 1, 0)
    """
    order = {label: place for place, label in enumerate(dict.fromkeys(labels))}
    return tuple(order[label] for label in labels)


@dataclass(frozen=True)
class Grouping:
    """Categories of an attribute put together under a name of their own."""

    name: str
    axis: int
    labels: tuple[str, ...]
    codes: Codes


def build_grouping(
    name: str, of: str, axis: int, categories: Sequence[str], groups: Mapping[str, Sequence[str]]
) -> Grouping:
    """Categories of the attribute `of` by group; each must be in exactly one."""
    group_of: dict[str, str] = {}
    for label, members in groups.items():
        for member in members:
            if member not in categories:
                raise InputError(f"{label}: {member!r} is not a category of {of}")
            if group_of.setdefault(member, label) != label:
                raise InputError(f"{member!r} is in {group_of[member]!r} and in {label!r}; each category has one group")
    missing = next((each for each in categories if each not in group_of), None)
    if missing is not None:
        raise InputError(f"{missing!r} is in no group; each category of {of} must be in one")
    found = [group_of[each] for each in categories]
    if not 1 < len(set(found)) < len(found):
        raise InputError(f"must put the {len(found)} categories of {of} into fewer groups, and more than one")
    return Grouping(name, axis, tuple(dict.fromkeys(found)), numbered(found))


@dataclass(frozen=True)
class Attributes:
    """What people are counted by within an area: names and their categories. Cells are numbered with the last fastest.

    >>> kinds = Attributes(("sex", "age"), (("f", "m"), ("young", "old")))
    >>> kinds.margin(np.array([[1, 2, 3, 4]]), kinds.query("sex")).tolist()
    [[3, 7]]
    """

    names: tuple[str, ...]
    categories: tuple[tuple[str, ...], ...]
    groupings: tuple[Grouping, ...] = ()

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of categories by attribute."""
        return tuple(map(len, self.categories))

    @property
    def detailed(self) -> Query:
        """The margin that sums over nothing."""
        return Query(tuple(range(len(self.names))))

    def shape(self, query: Query) -> tuple[int, ...]:
        """Number of categories or groups of every attribute of a margin."""
        return tuple(self.sizes[axis] if codes is None else 1 + max(codes) for axis, codes in query.parts.items())

    def cells(self, query: Query) -> int:
        """Number of counts of a margin in one area."""
        return prod(self.shape(query))

    def query(self, text: str) -> Query:
        """The margin that a text like `sex*age`, `total` or `detailed` names."""
        if text == TOTAL:
            return Query(())
        if text == DETAILED:
            return self.detailed
        known: dict[str, tuple[int, Codes | None]] = {name: (axis, None) for axis, name in enumerate(self.names)}
        known |= {each.name: (each.axis, each.codes) for each in self.groupings}
        parts = [part.strip() for part in text.split("*")]
        if any(part not in known for part in parts) or len({known[part][0] for part in parts}) < len(parts):
            allowed = f"{TOTAL}, {DETAILED} or attributes joined by '*' ({', '.join(known)})"
            raise InputError(f"query {text!r}: must be {allowed}, each once")
        return _query(dict(known[part] for part in parts))

    def title(self, query: Query) -> str:
        """The text that names a margin."""
        if not query.axes:
            return TOTAL
        return DETAILED if query == self.detailed else "*".join(name for name, _ in self.columns(query))

    def columns(self, query: Query) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The columns of a margin: the name of each, and its categories or groups."""
        named = {(each.axis, each.codes): (each.name, each.labels) for each in self.groupings}
        return tuple(
            (self.names[axis], self.categories[axis]) if codes is None else named[axis, codes]
            for axis, codes in query.parts.items()
        )

    def is_named(self, query: Query) -> bool:
        """Whether every group of categories of a margin has a name."""
        known = {(each.axis, each.codes) for each in self.groupings}
        return all(codes is None or (axis, codes) in known for axis, codes in query.parts.items())

    def labels(self, query: Query, cell: int) -> str:
        """A cell of a margin in words."""
        if not query.axes:
            return "all people"
        places = np.unravel_index(cell, self.shape(query))
        words = zip(self.columns(query), places, strict=True)
        return ", ".join(f"{name} {labels[place]}" for (name, labels), place in words)

    def margin(self, values: Numbers, query: Query, of: Query | None = None) -> Numbers:
        """Rows of the margin `of` (all cells if it is not named) summed to a margin that it determines."""
        of = of or self.detailed
        wanted, given = query.parts, of.parts
        shaped = values.reshape(len(values), *self.shape(of))
        gone = tuple(place for place, axis in enumerate(of.axes, 1) if axis not in wanted)
        for place, axis in enumerate(of.axes, 1):
            if axis in wanted and wanted[axis] != given[axis]:
                shaped = _grouped(shaped, self._within(axis, wanted[axis], given[axis]), place)
        summed: Numbers = shaped.sum(axis=gone).reshape(len(values), -1)
        return summed

    def groups(self, query: Query, of: Query) -> IntArray:
        """For every cell of the margin `of`, the cell of the margin `query` within it that it is summed into."""
        wanted, given = query.parts, of.parts
        places = np.arange(self.cells(query)).reshape(self.shape(query))
        if query.axes:
            places = places[np.ix_(*(self._within(axis, codes, given[axis]) for axis, codes in wanted.items()))]
        whole = self.shape(of)
        spread = places.reshape([size if axis in wanted else 1 for axis, size in zip(of.axes, whole, strict=True)])
        return np.broadcast_to(spread, whole).reshape(-1).astype(np.int64)

    def _within(self, axis: int, coarse: Codes | None, fine: Codes | None) -> list[int]:
        """The group of a coarse grouping that every group of a finer one lies in."""
        codes = coarse or tuple(range(self.sizes[axis]))
        if fine is None:
            return list(codes)
        found = dict(zip(fine, codes, strict=True))
        return [found[group] for group in range(len(found))]


def _grouped(shaped: Numbers, codes: Sequence[int], place: int) -> Numbers:
    """Sums over groups of the categories at one place."""
    group = np.asarray(codes)
    taken = [shaped.take(np.flatnonzero(group == each), axis=place).sum(axis=place) for each in range(max(codes) + 1)]
    summed: Numbers = np.stack(taken, axis=place)
    return summed


def _query(parts: Mapping[int, Codes | None]) -> Query:
    """In order of attributes; groups of one category are no groups, and one group of all is a sum."""
    kept = {
        axis: None if codes is None or len(set(codes)) == len(codes) else codes
        for axis, codes in sorted(parts.items())
        if codes is None or len(set(codes)) > 1
    }
    return Query(tuple(kept), tuple(kept.values()))


def _merged(one: Codes | None, other: Codes | None) -> Codes | None:
    """The finest groups that both determine."""
    if one is None or other is None:
        return other if one is None else one
    found = list(one)
    for group in set(other):
        together = {found[place] for place, code in enumerate(other) if code == group}
        found = [min(together) if code in together else code for code in found]
    return numbered(found)


def _crossed(one: Mapping[int, Codes | None], other: Mapping[int, Codes | None], axis: int) -> Codes | None:
    """The coarsest groups that determine those of both."""
    if axis not in one or axis not in other:
        return one[axis] if axis in one else other[axis]
    mine, theirs = one[axis], other[axis]
    return None if mine is None or theirs is None else numbered(list(zip(mine, theirs, strict=True)))


def _is_coarser(coarse: Codes | None, fine: Codes | None) -> bool:
    if fine is None or coarse is None:
        return fine is None
    return len(set(zip(fine, coarse, strict=True))) == len(set(fine))
