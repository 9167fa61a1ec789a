"""Counts over occupied profiles: what the office holds, and how its margins would be published."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np

from safemargin.core.arrays import UNBOUNDED, IntArray, frozen, group_sums, row_keys
from safemargin.core.axis import Axis, Schema
from safemargin.core.errors import InputError
from safemargin.core.published import SIGN, Group, Onlooker, PublishedTable

Partition = Sequence[Group]
"""Groups of categories that part an axis."""

SMALL_MARGIN = 16
"""A margin with so many times fewer rows than its tally is kept: beside the tally it takes no room."""

COMPOSITIONS = ("none", "sizes", "joint")


@dataclass(frozen=True)
class Tally:
    """Counts per occupied combination of some axes: one row of `codes` and one row of `counts` each."""

    axes: tuple[str, ...]
    codes: IntArray
    counts: IntArray
    _margins: dict[tuple[str, ...], "Tally"] = field(default_factory=dict, init=False, compare=False, repr=False)
    """Small margins that were asked for: deciding asks for those of single axes again and again."""

    def __post_init__(self) -> None:
        if self.codes.shape != (len(self.counts), len(self.axes)):
            raise InputError(f"tally over {self.axes}: {self.codes.shape} codes for {len(self.counts)} counts")
        if (self.counts < 0).any():
            raise InputError(f"tally over {self.axes}: negative count {int(self.counts.min())}")

    @property
    def totals(self) -> IntArray:
        """Sum of every column."""
        sums: IntArray = self.counts.sum(axis=0)
        return sums

    def margin(self, axes: tuple[str, ...]) -> "Tally":
        """The tally summed over every axis that is not in `axes`."""
        if axes == self.axes:
            return self
        if axes in self._margins:
            return self._margins[axes]
        columns = [self.axes.index(name) for name in axes]
        codes = self.codes[:, columns]
        sizes = [int(codes[:, i].max(initial=0)) + 1 for i in range(len(columns))]
        first, sums = group_sums(row_keys(codes, sizes), self.counts)
        margin = Tally(axes, frozen(codes[first], len(axes)), frozen(sums, self.counts.shape[1]))
        if SMALL_MARGIN * len(first) <= len(codes):
            self._margins[axes] = margin
        return margin


@dataclass(frozen=True)
class Inconsistency:
    """How far the totals of sealed elections over one electorate are apart (Remark 4 of the paper).

    `rate` is the largest difference from the binding total, as a share of its votes. `estimate` is the share of people
    who answered otherwise in an election than in the binding one, with the ends of a 95 % interval. If turnout is
    `apart`, the roll counts those who answered each election, so that it may differ between elections too.
    """

    rate: float = 0.0
    totals: dict[str, tuple[int, ...]] = field(default_factory=dict, hash=False)
    estimate: tuple[float, float, float] = (0.0, 0.0, 0.0)
    apart: bool = False

    def slack(self, total: int) -> int:
        """How many votes a margin may be off, rounded up: the widening of its constraint."""
        return int(np.ceil(round(self.rate * total, 9)))

    def document(self) -> dict[str, object]:
        """The same for a document."""
        delta, low, high = self.estimate
        return {
            "delta": delta,
            "interval": [low, high],
            "confidence": 0.95,
            "totals": {axis: list(counts) for axis, counts in self.totals.items()},
        }


@dataclass(frozen=True)
class Table:
    """A population: who there is (`roll`, public in part) and what they chose (`votes`, secret).

    Microdata give one tally over all axes. Sealed elections give one tally per axis and none jointly: everything the
    product does to decide a release needs no more than that.
    """

    schema: Schema
    votes: tuple[Tally, ...]
    roll: tuple[Tally, ...]
    inconsistency: Inconsistency = Inconsistency()

    def __post_init__(self) -> None:
        if not self.votes or not any(len(tally.counts) for tally in self.votes):
            raise InputError("the table is empty: nobody is counted")

    def margin(self, axes: tuple[str, ...]) -> Tally:
        """Votes per option by `axes`, from any tally that contains them."""
        return _narrowest(self.votes, axes, "votes").margin(axes)

    def people(self, axes: tuple[str, ...]) -> Tally:
        """People on the roll by `axes`."""
        return _narrowest(self.roll, axes, "the roll").margin(axes)

    @property
    def knows_composition(self) -> bool:
        """Whether the roll is known jointly over all axes."""
        return any(set(tally.axes) >= set(self.schema.names) for tally in self.roll)

    @property
    def totals(self) -> IntArray:
        """The total: votes per option over everybody."""
        return self.margin(()).counts[0] if self.margin(()).counts.size else self.votes[0].totals


def table_of(
    axes: Mapping[str, Sequence[str]],
    votes: Sequence[Sequence[int]],
    people: Sequence[int] | None = None,
    options: tuple[str, ...] = ("yes", "no"),
) -> Table:
    """A table over every combination of some axes, in the order of `itertools.product`; without people, no roll.

    The running example of `bounds` has two districts, two ages, and ten people of each kind, of whom six said yes:

    >>> table = table_of({"district": ("N", "S"), "age": ("old", "young")}, [[6, 4]] * 4, [10] * 4)
    >>> table.totals.tolist(), table.margin(("age",)).counts.tolist()
    ([24, 16], [[12, 8], [12, 8]])
    """
    names = tuple(axes)
    codes = frozen(list(product(*(range(len(categories)) for categories in axes.values()))), len(names))
    schema = Schema(tuple(Axis(name, tuple(categories)) for name, categories in axes.items()), options)
    roll = () if people is None else (Tally(names, codes, frozen(people, 1)),)
    return Table(schema, (Tally(names, codes, frozen(votes, len(options))),), roll)


def _narrowest(tallies: tuple[Tally, ...], axes: tuple[str, ...], what: str) -> Tally:
    holders = [tally for tally in tallies if set(tally.axes) >= set(axes)]
    if not holders:
        raise InputError(f"{what} are not known by {' x '.join(axes)}: no tally has these axes together")
    # The smallest holder is the cheapest to sum.
    return min(holders, key=lambda tally: (len(tally.axes), len(tally.counts)))


def as_published(
    tally: Tally, schema: Schema, name: str, partitions: Mapping[str, Partition] | None = None, roll: bool = False
) -> PublishedTable:
    """Exact counts of `tally`, with categories merged as `partitions` says."""
    groups, codes = [], np.empty_like(tally.codes)
    for a, axis in enumerate(tally.axes):
        index = schema.axis(axis).index
        parts = tuple((partitions or {}).get(axis, [frozenset([c]) for c in schema.axis(axis).categories]))
        lookup = np.full(len(index), -1, dtype=np.int64)
        for g, group in enumerate(parts):
            for category in group:
                lookup[index[category]] = g
        if (lookup < 0).any():
            raise InputError(f"{name}: the groups of {axis!r} do not cover all its categories")
        groups.append(parts)
        codes[:, a] = lookup[tally.codes[:, a]]
    first, sums = group_sums(row_keys(codes, [len(parts) for parts in groups]), tally.counts)
    width = sums.shape[1]
    codes = np.repeat(codes[first], width, axis=0)
    counts = frozen(sums.ravel())
    merged = np.zeros(len(codes), dtype=bool)
    for a, parts in enumerate(groups):
        merged |= np.array([len(group) > 1 for group in parts])[codes[:, a]]
    return PublishedTable(
        name=name,
        axes=tally.axes,
        groups=tuple(groups),
        codes=frozen(codes, len(tally.axes)),
        options=() if roll else schema.options,
        option=frozen(np.full(len(counts), -1) if roll else np.tile(np.arange(width), len(first))),
        lower=counts,
        upper=counts,
        status=tuple(np.where(merged, "merged", "exact").tolist()),
        measure="people" if roll else "count",
    )


def merged_margin(table: Table, axis: str, partition: Partition) -> PublishedTable:
    """One axis exactly, with its groups merged as `partition` says.

    Every group is listed, also one that nobody voted in: to omit it would disclose that.
    """
    listed = table.margin((axis,))
    every = np.zeros((len(table.schema.axis(axis).categories), listed.counts.shape[1]), dtype=np.int64)
    every[listed.codes[:, 0]] = listed.counts
    whole = Tally((axis,), frozen(np.arange(len(every)), 1), frozen(every, every.shape[1]))
    return as_published(whole, table.schema, axis, {axis: partition})


def printed(
    table: Table,
    axes: tuple[str, ...],
    partitions: Mapping[str, Partition],
    hidden: Collection[tuple[Group, ...]] = (),
) -> PublishedTable:
    """One axis or several exactly, with their groups merged as `partitions` says; named after the axes.

    Of several axes every cell that has people on the roll is listed, also one that nobody voted in. The others are
    empty. The counts of `hidden` cells are unknown.
    """
    if len(axes) == 1:
        return _without(merged_margin(table, axes[0], partitions[axes[0]]), hidden, "suppressed")
    votes = table.margin(axes)
    codes, counts = [votes.codes], [votes.counts]
    if table.roll:
        roll = table.people(axes)
        filled = roll.codes[roll.counts[:, 0] > 0]
        codes.append(filled)
        counts.append(np.zeros((len(filled), votes.counts.shape[1]), dtype=np.int64))
    whole = Tally(axes, frozen(np.concatenate(codes), len(axes)), frozen(np.concatenate(counts), len(counts[0][0])))
    return _without(as_published(whole, table.schema, SIGN.join(axes), partitions), hidden, "suppressed")


def protected_margin(
    table: Table, axis: str, partition: Partition, hidden: Collection[Group], status: str = "suppressed"
) -> PublishedTable:
    """One axis with its groups merged as `partition` says and the counts of `hidden` groups unknown."""
    return _without(merged_margin(table, axis, partition), {(group,) for group in hidden}, status)


def _without(exact: PublishedTable, hidden: Collection[tuple[Group, ...]], status: str) -> PublishedTable:
    """A table with the counts of some cells unknown."""
    if not hidden:
        return exact
    sought = frozenset(hidden)
    cells, cell_of = np.unique(exact.codes, axis=0, return_inverse=True)
    named = [tuple(groups[code] for groups, code in zip(exact.groups, cell, strict=True)) for cell in cells.tolist()]
    # A hidden count may be any number: its range is the widest there is.
    hide = np.array([cell in sought for cell in named])[cell_of.ravel()]
    return replace(
        exact,
        lower=frozen(np.where(hide, 0, exact.lower)),
        upper=frozen(np.where(hide, UNBOUNDED, exact.upper)),
        status=tuple(np.where(hide, status, exact.status).tolist()),
    )


def exact_margins(table: Table) -> tuple[PublishedTable, ...]:
    """The total and every axis, exactly: what a careless office would publish."""
    names: list[tuple[str, ...]] = [(), *((axis,) for axis in table.schema.names)]
    return tuple(as_published(table.margin(axes), table.schema, " x ".join(axes) or "total") for axes in names)


def onlooker_with_roll(table: Table, composition: str, name: str = "informed", knows_rule: bool = True) -> Onlooker:
    """An onlooker who knows the roll of `table` jointly, by single axes, or not at all."""
    if composition not in COMPOSITIONS:
        raise InputError(f"composition {composition!r}: must be one of {', '.join(COMPOSITIONS)}")
    if composition == "none" or not table.roll:
        return Onlooker(name, knows_rule=knows_rule)
    names: list[tuple[str, ...]] = [table.schema.names]
    if composition == "sizes" or not table.knows_composition:
        names = [(axis,) for axis in table.schema.names]
    rolls = tuple(
        as_published(table.people(axes), table.schema, f"roll by {' x '.join(axes)}", roll=True) for axes in names
    )
    return Onlooker(name, rolls, knows_rule=knows_rule)
