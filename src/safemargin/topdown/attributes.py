"""Attributes that people are counted by in an area, groups of their categories, and the margins that these span.

Objects
    attribute   a name and its categories; a person has one of each
    cell        one category of every attribute
    grouping    a coarser attribute: every category is in one group, such as ages by whether they vote
    margin      counts by some attributes or groupings, summed over all others; `MarginQuery` names it

Statement
    A margin is a partition of the cells, and partitions form a lattice: Q <= R if R determines Q, `Q & R` is the
    finest margin that both determine, `Q | R` the coarsest that determines both. Constraints on margins of a chain
    Q <= R <= ... are nested, and rounding such tables needs no integer program (`siblings.py`).

Example
    Sex by age and age alone have age in common:

    >>> MarginQuery((0, 1)) & MarginQuery((1,)) == MarginQuery((1,)), MarginQuery((0,)) | MarginQuery((1,))
    (True, MarginQuery(axes=(0, 1), groups=(None, None)))
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeVar

import numpy as np

from safemargin.core import FloatArray, InputError, IntArray

TOTAL, DETAILED = "total", "detailed"
Numbers = TypeVar("Numbers", IntArray, FloatArray)

Codes = tuple[int, ...]  # the group of every category of an attribute, numbered in order of first occurrence


@dataclass(frozen=True)
class MarginQuery:
    """A margin: counts by some attributes (indices in `Attributes`) or groups of their categories.

    `groups` has for each attribute the group of every category, or None if categories are counted one by one.
    Margins form a lattice: `&` is the finest margin that both determine, `|` the coarsest that determines both.
    """

    axes: tuple[int, ...]
    groups: tuple[Codes | None, ...] = ()

    def __post_init__(self) -> None:
        """Attributes without groups are counted by category."""
        if not self.groups:
            object.__setattr__(self, "groups", (None,) * len(self.axes))  # the dataclass is frozen

    @property
    def groups_by_axis(self) -> dict[int, Codes | None]:
        """The groups by attribute."""
        return dict(zip(self.axes, self.groups, strict=True))

    def __and__(self, other: "MarginQuery") -> "MarginQuery":
        """The finest margin that both determine."""
        left, right = self.groups_by_axis, other.groups_by_axis
        return _query({axis: _meet(codes, right[axis]) for axis, codes in left.items() if axis in right})

    def __or__(self, other: "MarginQuery") -> "MarginQuery":
        """The coarsest margin that determines both."""
        left, right = self.groups_by_axis, other.groups_by_axis
        return _query({axis: _join(left, right, axis) for axis in (*left, *right)})

    def __le__(self, other: "MarginQuery") -> bool:
        """Whether the other margin determines this one."""
        finer = other.groups_by_axis
        return all(axis in finer and _is_coarser(codes, finer[axis]) for axis, codes in self.groups_by_axis.items())


def numbered(labels: Sequence[object]) -> Codes:
    """Groups in order of first occurrence.

    >>> numbered(["b", "a", "b"])
    (0, 1, 0)
    """
    order = {label: index for index, label in enumerate(dict.fromkeys(labels))}
    return tuple(order[label] for label in labels)


@dataclass(frozen=True)
class Grouping:
    """Categories of an attribute merged into groups, with a name of its own."""

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
    missing = next((category for category in categories if category not in group_of), None)
    if missing is not None:
        raise InputError(f"{missing!r} is in no group; each category of {of} must be in one")
    labels = [group_of[category] for category in categories]
    if not 1 < len(set(labels)) < len(labels):
        raise InputError(f"must merge the {len(labels)} categories of {of} into fewer groups, and more than one")
    return Grouping(name, axis, tuple(dict.fromkeys(labels)), numbered(labels))


@dataclass(frozen=True)
class Attributes:
    """Names of attributes and their categories. Cells are numbered with the last attribute fastest.

    >>> attributes = Attributes(("sex", "age"), (("f", "m"), ("young", "old")))
    >>> attributes.margin(np.array([[1, 2, 3, 4]]), attributes.query("sex")).tolist()
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
    def detailed(self) -> MarginQuery:
        """The margin that sums over nothing."""
        return MarginQuery(tuple(range(len(self.names))))

    def shape(self, query: MarginQuery) -> tuple[int, ...]:
        """Number of categories or groups of every attribute of a margin."""
        return tuple(
            self.sizes[axis] if codes is None else 1 + max(codes) for axis, codes in query.groups_by_axis.items()
        )

    def cells(self, query: MarginQuery) -> int:
        """Number of counts of a margin in one area."""
        return prod(self.shape(query))

    def query(self, text: str) -> MarginQuery:
        """The margin that a text like `sex*age`, `total` or `detailed` names."""
        if text == TOTAL:
            return MarginQuery(())
        if text == DETAILED:
            return self.detailed
        known: dict[str, tuple[int, Codes | None]] = {name: (axis, None) for axis, name in enumerate(self.names)}
        known |= {grouping.name: (grouping.axis, grouping.codes) for grouping in self.groupings}
        parts = [part.strip() for part in text.split("*")]
        if any(part not in known for part in parts) or len({known[part][0] for part in parts}) < len(parts):
            allowed = f"{TOTAL}, {DETAILED} or attributes joined by '*' ({', '.join(known)})"
            raise InputError(f"query {text!r}: must be {allowed}, each once")
        return _query(dict(known[part] for part in parts))

    def title(self, query: MarginQuery) -> str:
        """The text that names a margin."""
        if not query.axes:
            return TOTAL
        return DETAILED if query == self.detailed else "*".join(name for name, _ in self.columns(query))

    def columns(self, query: MarginQuery) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The columns of a margin: name, and categories or groups."""
        named = {(grouping.axis, grouping.codes): (grouping.name, grouping.labels) for grouping in self.groupings}
        return tuple(
            (self.names[axis], self.categories[axis]) if codes is None else named[axis, codes]
            for axis, codes in query.groups_by_axis.items()
        )

    def is_named(self, query: MarginQuery) -> bool:
        """Whether every group of categories of a margin has a name."""
        known = {(grouping.axis, grouping.codes) for grouping in self.groupings}
        return all(codes is None or (axis, codes) in known for axis, codes in query.groups_by_axis.items())

    def label(self, query: MarginQuery, cell: int) -> str:
        """A cell of a margin in words."""
        if not query.axes:
            return "all people"
        indices = np.unravel_index(cell, self.shape(query))
        columns = zip(self.columns(query), indices, strict=True)
        return ", ".join(f"{name} {labels[index]}" for (name, labels), index in columns)

    def margin(self, values: Numbers, query: MarginQuery, of: MarginQuery | None = None) -> Numbers:
        """Rows of the margin `of` (default: all cells) summed to a margin that it determines."""
        of = of or self.detailed
        wanted, given = query.groups_by_axis, of.groups_by_axis
        shaped = values.reshape(len(values), *self.shape(of))
        summed_axes = tuple(position for position, axis in enumerate(of.axes, 1) if axis not in wanted)
        for position, axis in enumerate(of.axes, 1):  # axis 0 is the areas
            if axis in wanted and wanted[axis] != given[axis]:
                shaped = _sum_groups(shaped, self._within(axis, wanted[axis], given[axis]), position)
        summed: Numbers = shaped.sum(axis=summed_axes).reshape(len(values), -1)
        return summed

    def cell_of(self, query: MarginQuery, of: MarginQuery) -> IntArray:
        """For every cell of the margin `of`, the cell of the coarser margin `query` that it is part of."""
        wanted, given = query.groups_by_axis, of.groups_by_axis
        cells = np.arange(self.cells(query)).reshape(self.shape(query))
        if query.axes:
            cells = cells[np.ix_(*(self._within(axis, codes, given[axis]) for axis, codes in wanted.items()))]
        shape = self.shape(of)
        spread = cells.reshape([size if axis in wanted else 1 for axis, size in zip(of.axes, shape, strict=True)])
        return np.broadcast_to(spread, shape).reshape(-1).astype(np.int64)

    def _within(self, axis: int, coarse: Codes | None, fine: Codes | None) -> list[int]:
        """The group of a coarse grouping that every group of a finer one lies in."""
        codes = coarse or tuple(range(self.sizes[axis]))
        if fine is None:
            return list(codes)
        group_of = dict(zip(fine, codes, strict=True))
        return [group_of[group] for group in range(len(group_of))]


def _sum_groups(shaped: Numbers, codes: Sequence[int], axis: int) -> Numbers:
    """Sum the categories of one attribute by their groups."""
    group = np.asarray(codes)
    sums = [shaped.take(np.flatnonzero(group == code), axis=axis).sum(axis=axis) for code in range(max(codes) + 1)]
    summed: Numbers = np.stack(sums, axis=axis)
    return summed


def _query(parts: Mapping[int, Codes | None]) -> MarginQuery:
    """In order of attributes. Groups of one category each are no groups, and one group of all is a sum."""
    kept = {
        axis: None if codes is None or len(set(codes)) == len(codes) else codes
        for axis, codes in sorted(parts.items())
        if codes is None or len(set(codes)) > 1
    }
    return MarginQuery(tuple(kept), tuple(kept.values()))


def _meet(left: Codes | None, right: Codes | None) -> Codes | None:
    """The finest groups that both determine."""
    if left is None or right is None:
        return right if left is None else left
    codes = list(left)
    for group in set(right):  # groups that share a category are merged
        joined = {codes[index] for index, code in enumerate(right) if code == group}
        codes = [min(joined) if code in joined else code for code in codes]
    return numbered(codes)


def _join(left: Mapping[int, Codes | None], right: Mapping[int, Codes | None], axis: int) -> Codes | None:
    """The coarsest groups that determine those of both.

    An axis that only one of them has keeps its groups; None is every category by itself.
    """
    if axis not in left or axis not in right:
        return left[axis] if axis in left else right[axis]
    codes, others = left[axis], right[axis]
    return None if codes is None or others is None else numbered(list(zip(codes, others, strict=True)))


def _is_coarser(coarse: Codes | None, fine: Codes | None) -> bool:
    """Whether the groups of one attribute are unions of others."""
    if fine is None or coarse is None:
        return fine is None
    return len(set(zip(fine, coarse, strict=True))) == len(set(fine))  # each fine group lies in one coarse group
