"""Suppressed groups of an axis as one group: the same facts, in a form that is far easier to search.

The total less the exact groups of an axis is the sum of the suppressed ones. A system that states this sum says as much
as one that lists groups of which nothing is known, and exchanges and programs find tables of it sooner.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import is_

import numpy as np

from safemargin.bounds.build import build_system
from safemargin.bounds.certify import certify
from safemargin.bounds.exposure import Proof
from safemargin.bounds.system import System
from safemargin.core import (
    UNBOUNDED,
    Group,
    IntArray,
    Limits,
    Onlooker,
    Progress,
    PublishedTable,
    frozen,
    no_progress,
)

WIDE = 500
"""Slices beyond which witnesses of the pooled system are only given to a search of the system as it is published."""


def pooled(tables: Sequence[PublishedTable], seen: Mapping[str, Sequence[str]]) -> tuple[PublishedTable, ...]:
    """The tables with the groups of an axis whose counts are all unknown as one, where a total states their sum.

    `seen` are all categories of every axis: a table that does not list all of them is left as it is. An axis of which
    only such groups are left adds nothing to the total, and is omitted.
    """
    totals = [table for table in tables if not table.axes and table.is_exact and table.options]
    if not totals:
        return tuple(tables)
    found = []
    for table in tables:
        listed = frozenset().union(*table.groups[0]) if len(table.axes) == 1 else None
        is_whole = listed is not None and listed >= set(seen[table.axes[0]]) and table.options == totals[0].options
        found.append(_pooled(table, totals[0]) if is_whole else table)
    return tuple(table for table in found if table is not None)


def _pooled(table: PublishedTable, total: PublishedTable) -> PublishedTable | None:
    count, groups = len(table.options), table.groups[0]
    rows = np.lexsort((table.option, table.codes[:, 0]))
    known = table.lower == table.upper
    hidden = (table.lower == 0) & (table.upper >= UNBOUNDED)
    if len(rows) != count * len(groups) or not hidden.any() or not (known | hidden).all():
        return table
    unknown = hidden[rows].reshape(-1, count)
    if not (unknown.all(axis=1) == unknown.any(axis=1)).all():  # one option of a group is known, another is not
        return table
    unknown = unknown[:, 0]
    if unknown.all():
        return None
    counts = np.where(unknown[:, None], 0, table.lower[rows].reshape(-1, count))
    rest = total.lower[np.argsort(total.option)] - counts.sum(axis=0)
    if (rest < 0).any():  # totals that disagree are for others to report
        return table
    first = int(unknown.argmax())
    whole: Group = frozenset().union(*(group for group, none in zip(groups, unknown, strict=True) if none))
    counts[first] = rest
    keep = ~unknown
    keep[first] = True
    places = np.flatnonzero(keep).tolist()
    kept = tuple(whole if place == first else groups[place] for place in places)
    sums = frozen(counts[keep].ravel())
    return replace(
        table,
        groups=(kept,),
        codes=frozen(np.repeat(np.arange(len(kept)), count), 1),
        option=frozen(np.tile(np.arange(count), len(kept))),
        lower=sums,
        upper=sums,
        status=tuple("exact" if len(group) == 1 else "merged" for group in kept for _ in range(count)),
        noisy=None,
    )


def certify_pooled(
    known: System,
    tables: Sequence[PublishedTable],
    onlooker: Onlooker,
    limits: Limits,
    progress: Progress = no_progress,
    given: Sequence[IntArray] = (),
    most_linear: int | None = None,
) -> Proof:
    """What `certify` says of `known`, the system of `tables`, searched with suppressed groups of each axis as one.

    Witnesses, those `given` and those of the proof, are tables of `known`.
    """
    fewer = pooled(tables, dict(zip(known.axes, known.categories, strict=True)))
    merged = known if len(fewer) == len(tables) and all(map(is_, fewer, tables)) else build_system(fewer, onlooker)
    if merged is known or merged.free != known.free:
        return certify(known, limits, progress, given=given, most_linear=most_linear)
    row_of, rows = {row: number for number, row in enumerate(_named(known))}, _named(merged)
    # An axis of suppressed groups only is in no pooled table: where no roll names it either, profiles are fewer.
    if set(rows) != set(row_of):
        return certify(known, limits, progress, given=given, most_linear=most_linear)
    order = np.array([row_of[row] for row in rows], dtype=np.int64)
    carried = [counts.reshape(-1, known.free)[order].ravel() for counts in given if counts.shape == known.low.shape]
    # Wide axes are searched by programs of their own, which know the slices of the system only.
    wide = len(known.blocks) and int(known.blocks.max()) > WIDE
    same = None if wide else (known, order)
    proof = certify(merged, limits, progress, given=carried, most_linear=most_linear, same=same)
    witnesses = []
    for counts in proof.tables:
        back = np.empty_like(counts).reshape(-1, known.free)
        back[order] = counts.reshape(-1, merged.free)
        witnesses.append(back.ravel())
    if wide:
        return certify(known, limits, progress, given=witnesses, most_linear=most_linear)
    return replace(proof, tables=tuple(witnesses))


def _named(known: System) -> list[tuple[str, ...]]:
    """The categories of every profile, axes by name."""
    axes = sorted(range(len(known.axes)), key=lambda axis: known.axes[axis])
    return [tuple(known.categories[axis][row[axis]] for axis in axes) for row in known.codes.tolist()]
