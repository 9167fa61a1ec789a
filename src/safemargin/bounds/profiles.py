"""Which profiles there are: those on a joint roll, else every combination of categories that no table rules out."""

import math
from collections.abc import Sequence
from itertools import product

import numpy as np

from safemargin.core import IntArray, PublishedTable, TooLargeError, group_sums, row_keys

MOST_PROFILES = 2_000_000
"""Without a joint roll every combination of categories is a cell; beyond this many, those that no table empties."""


def categories_of(tables: Sequence[PublishedTable], axis: str) -> tuple[str, ...]:
    """Every category of an axis that some table lists."""
    seen: dict[str, None] = {}
    for table in tables:
        if axis in table.axes:
            for group in table.groups[table.axes.index(axis)]:
                seen.update(dict.fromkeys(sorted(group)))
    return tuple(seen)


def joint_roll(roll: Sequence[PublishedTable], axes: tuple[str, ...]) -> PublishedTable | None:
    """The roll that gives the people of every profile of `axes`, by as many axes as any does."""
    found = [
        table
        for table in roll
        if set(table.axes) >= set(axes)
        and table.is_exact
        and all(len(group) == 1 for groups in table.groups for group in groups)
    ]
    return max(found, key=lambda table: len(table.axes), default=None)


def occupied(
    roll: PublishedTable, axes: tuple[str, ...], categories: tuple[tuple[str, ...], ...]
) -> tuple[IntArray, IntArray]:
    """The profiles that a joint roll has people in, and how many."""
    codes = np.zeros((len(roll.lower), len(axes)), dtype=np.int64)
    for a, axis in enumerate(axes):
        at = roll.axes.index(axis)
        index = {name: code for code, name in enumerate(categories[a])}
        lookup = np.array([index[next(iter(group))] for group in roll.groups[at]], dtype=np.int64)
        codes[:, a] = lookup[roll.codes[:, at]]
    first, sums = group_sums(row_keys(codes, [len(names) for names in categories]), roll.lower[:, None])
    filled = sums[:, 0] > 0
    return codes[first][filled], sums[filled, 0]


def combinations(
    tables: Sequence[PublishedTable], axes: tuple[str, ...], categories: tuple[tuple[str, ...], ...]
) -> IntArray:
    """Every combination of categories; where that is too many, those that no single table leaves out."""
    if not axes:
        return np.zeros((1, 0), dtype=np.int64)
    if math.prod(len(names) for names in categories) <= MOST_PROFILES:
        grids = np.indices([len(names) for names in categories]).reshape(len(axes), -1)
        return grids.T.astype(np.int64).reshape(-1, len(axes))
    index = [{name: code for code, name in enumerate(names)} for names in categories]
    partial: dict[tuple[int, ...], None] = {}
    covered: tuple[str, ...] = ()
    for table in sorted(tables, key=lambda table: -len(table.axes)):
        if set(table.axes) <= set(covered):
            continue
        listed: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
        shared = [axis for axis in table.axes if axis in covered]
        fresh = [axis for axis in table.axes if axis not in covered]
        for row in np.flatnonzero(table.upper > 0):
            members = {
                axis: [index[axes.index(axis)][name] for name in table.groups[a][table.codes[row, a]]]
                for a, axis in enumerate(table.axes)
            }
            for key in product(*(members[axis] for axis in shared)):
                listed.setdefault(key, []).extend(product(*(members[axis] for axis in fresh)))
        at = [covered.index(axis) for axis in shared]
        rows = partial if covered else {(): None}
        partial = {
            (*row, *tail): None for row in rows for tail in dict.fromkeys(listed.get(tuple(row[i] for i in at), ()))
        }
        covered = (*covered, *fresh)
        if len(partial) > MOST_PROFILES:
            raise TooLargeError(
                f"more than {MOST_PROFILES:,} combinations of {' x '.join(axes)}: give a joint roll, or fewer tables"
            )
    order = [covered.index(axis) for axis in axes]
    return np.array(sorted(tuple(row[i] for i in order) for row in partial), dtype=np.int64).reshape(-1, len(axes))
