"""What coalitions of respondents know about the cells of tables.

A member of a cell knows that it is not empty, and knows its count if nobody else is in it. A coalition of k respondents
knows, of each inner cell, how many of them are in it: a lower limit of its count if k >= 2 of them are there (one
person's presence says only "not empty", which every onlooker knows), and the count itself if the cell holds no one
else. The same follows for a sum all of whose occupied parts they know.

These are the singletons of the literature (Jewett 1993), for any number of insiders. A pattern must protect every
suppressed count that a coalition is not itself in, from that coalition: two cells of one person each in one row
protect each other from the public and not from either person.
"""

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from safemargin.core import TooLargeError
from safemargin.suppress.linked import LinkedTables, inner_cells
from safemargin.suppress.moves import View

MAX_COALITIONS = 20_000


def coalition_views(tables: LinkedTables, insiders: int) -> tuple[View, ...]:
    """What every coalition of up to `insiders` respondents knows, in cells of `tables`.

    They know how many of them are in an inner cell, and its count if nobody else is in it; likewise of sums. In
    several tables each of them may be in any cells that have a combination of categories in common.
    """
    if not insiders:
        return ()
    views: dict[View, None] = {}
    sums = _small_sums(tables, insiders)
    choices = [[(), *_memberships(tables, index, insiders)] for index in range(len(tables.tables))]
    for chosen in product(*choices):
        items = sorted({item for group in chosen for item in group})
        if not items or (insiders == 1 and not _compatible(tables, [cell for cell, _ in items])):
            continue
        inner = {cell for cell, members in items if members == tables.counts[cell]}
        known = inner | {cell for part in inner for cell, parts in sums.get(part, ()) if parts <= inner}
        views[View(tuple(sorted(known)), tuple(item for item in items if item[0] not in known))] = None
        if len(views) > MAX_COALITIONS:
            raise TooLargeError(f"insiders = {insiders}: more than {MAX_COALITIONS:,} coalitions; give fewer insiders")
    return tuple(views)


def _small_sums(tables: LinkedTables, most: int) -> dict[int, list[tuple[int, frozenset[int]]]]:
    """For every inner cell, the sums of at most `most` people that it is part of, each with its inner cells."""
    sums: dict[int, list[tuple[int, frozenset[int]]]] = {}
    for table, ids in zip(tables.tables, tables.cell_ids, strict=False):
        inner = ids[inner_cells(table.trees)].reshape([len(tree.leaves) for tree in table.trees])
        for position in np.flatnonzero((table.counts > 0) & (table.counts <= most)).tolist():
            nodes = np.unravel_index(position, table.shape)
            inside = [tree.members[int(node)] for tree, node in zip(table.trees, nodes, strict=True)]
            parts = inner[np.ix_(*inside)].ravel()
            occupied = frozenset(parts[tables.counts[parts] > 0].tolist())
            for part in occupied:
                sums.setdefault(part, []).append((int(ids[position]), occupied))
    return sums


def _memberships(tables: LinkedTables, table: int, most: int) -> Iterator[tuple[tuple[int, int], ...]]:
    """Inner cells of one table with the number of insiders in each, where that says more than "not empty"."""
    inner = tables.cell_ids[table][inner_cells(tables.tables[table].trees)]
    items = [
        (cell, members)
        for cell, count in zip(inner.tolist(), tables.counts[inner].tolist(), strict=True)
        for members in range(1, min(count, most) + 1)
        if members == count or members >= 2
    ]
    yield from _subsets(items, most)


def _subsets(items: Sequence[tuple[int, int]], most: int) -> Iterator[tuple[tuple[int, int], ...]]:
    """Sets of cells that hold so many insiders together: each cell at most once, with the members of the coalition in
    it.
    """
    for index, (cell, members) in enumerate(items):
        if members <= most:
            yield ((cell, members),)
            rest = [item for item in items[index + 1 :] if item[0] != cell]
            for more in _subsets(rest, most - members):
                yield ((cell, members), *more)


def _compatible(tables: LinkedTables, cells: Sequence[int]) -> bool:
    """Whether one person can be in all of these cells."""
    return all(
        tree.members[np.unique(nodes)].all(axis=0).any()
        for tree, nodes in zip(tables.trees, tables.nodes[list(cells)].T, strict=True)
    )
