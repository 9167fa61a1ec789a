"""Suppressed groups of an axis as one group: the same facts, in a form that is far easier to search.

Objects
    total       exact counts of everybody, per option
    hidden      groups of one axis of which every option is unknown (from 0, without a limit)
    pool        the union of the hidden groups, with what the total leaves after all others

Statement
    The total less the exact groups of an axis is the sum of the suppressed ones. A system that states this sum says as
    much as one that lists groups of which nothing is known: the same tables satisfy both. Exchanges and programs find
    tables of it sooner, since a row without a limit is a slice that exchanges must respect and that decides nothing.

Invariants
    * Nothing is assumed: where an option of a group is known and another is not, where a table does not list all
      categories, or where totals disagree, the table is returned as it is.
    * Codes of profiles may be numbered otherwise; `certify_pooled` carries witnesses back.

Example
    Four wards with 6 yes and 4 no each, of which a and c are suppressed: together they must have 12 and 8.

    >>> from safemargin.core import as_published, protected_margin, table_of
    >>> table = table_of({"ward": ("a", "b", "c", "d")}, [[6, 4]] * 4, [10] * 4)
    >>> wards, none = [frozenset(name) for name in "abcd"], frozenset([frozenset("a"), frozenset("c")])
    >>> total = as_published(table.margin(()), table.schema, "total")
    >>> _, merged = pooled((total, protected_margin(table, "ward", wards, none)), {"ward": tuple("abcd")})
    >>> [sorted(group) for group in merged.groups[0]], merged.lower.tolist()
    ([['a', 'c'], ['b'], ['d']], [12, 8, 6, 4, 6, 4])
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from safemargin.core import UNBOUNDED, Group, PublishedTable, frozen


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
    """The table with its unknown groups as one whose counts the total states; none if no other group is left.

    Left as it is where an option of a group is known and another is not, or where totals disagree.
    """
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
