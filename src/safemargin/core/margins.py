"""From tallies to tables as the public would see them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from safemargin.core.arrays import frozen, group_sums, row_keys
from safemargin.core.axis import Schema
from safemargin.core.errors import InputError
from safemargin.core.onlooker import Onlooker
from safemargin.core.published import SIGN, UNBOUNDED, Group, PublishedTable
from safemargin.core.table import Table, Tally

Partition = Sequence[Group]
"""Groups of categories that part an axis."""

COMPOSITIONS = ("none", "sizes", "joint")


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

    Every group is listed, also one that nobody voted in: to leave it out would tell that.
    """
    listed = table.margin((axis,))
    every = np.zeros((len(table.schema.axis(axis).categories), listed.counts.shape[1]), dtype=np.int64)
    every[listed.codes[:, 0]] = listed.counts
    whole = Tally((axis,), frozen(np.arange(len(every)), 1), frozen(every, every.shape[1]))
    return as_published(whole, table.schema, axis, {axis: partition})


def printed(table: Table, axes: tuple[str, ...], partitions: Mapping[str, Partition]) -> PublishedTable:
    """One axis or several exactly, with their groups merged as `partitions` says; named after the axes.

    Of several axes every cell that has people on the roll is listed, also one that nobody voted in. The others are
    empty.
    """
    if len(axes) == 1:
        return merged_margin(table, axes[0], partitions[axes[0]])
    votes = table.margin(axes)
    codes, counts = [votes.codes], [votes.counts]
    if table.roll:
        roll = table.people(axes)
        filled = roll.codes[roll.counts[:, 0] > 0]
        codes.append(filled)
        counts.append(np.zeros((len(filled), votes.counts.shape[1]), dtype=np.int64))
    whole = Tally(axes, frozen(np.concatenate(codes), len(axes)), frozen(np.concatenate(counts), len(counts[0][0])))
    return as_published(whole, table.schema, SIGN.join(axes), partitions)


def protected_margin(
    table: Table, axis: str, partition: Partition, hidden: Collection[Group], status: str = "suppressed"
) -> PublishedTable:
    """One axis with its groups merged as `partition` says and the counts of `hidden` groups unknown."""
    exact = merged_margin(table, axis, partition)
    hide = np.array([group in hidden for group in exact.groups[0]])[exact.codes[:, 0]]
    return replace(
        exact,
        lower=frozen(np.where(hide, 0, exact.lower)),
        upper=frozen(np.where(hide, UNBOUNDED, exact.upper)),
        status=tuple(np.where(hide, status, exact.status).tolist()),
    )


def exact_margins(table: Table) -> tuple[PublishedTable, ...]:
    """Tier 0 and every axis, exactly: what a careless office would publish."""
    names: list[tuple[str, ...]] = [(), *((axis,) for axis in table.schema.names)]
    return tuple(as_published(table.margin(axes), table.schema, " x ".join(axes) or "total") for axes in names)


def knowing(table: Table, composition: str, name: str = "informed", knows_rule: bool = True) -> Onlooker:
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
