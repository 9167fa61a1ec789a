"""Insiders: people who know their own answers and tell each other; nobody else is in groups that they fill."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from safemargin.core import BoolArray, TooLargeError
from safemargin.suppress.linked import Linked, inner_places

MOST_COALITIONS = 20_000


@dataclass(frozen=True)
class View:
    """What an onlooker knows beside what is printed: counts of some cells, and what others are at least."""

    known: tuple[int, ...] = ()
    at_least: tuple[tuple[int, int], ...] = ()

    def sees_more(self, suppressed: BoolArray) -> bool:
        """Whether any of it is not printed anyway."""
        return any(suppressed[cell] for cell in self.known) or any(suppressed[cell] for cell, _ in self.at_least)


PUBLIC = View()


def views(tables: Linked, insiders: int) -> tuple[View, ...]:
    """What every coalition of up to so many insiders knows, in cells of `tables`.

    They know how many of them are in an inner cell, and its count if they are all that are in it; likewise of sums. In
    several tables each may be in any cells that have a combination of categories in common.
    """
    found: dict[View, None] = {}
    filled = _made_of(tables, insiders)
    each = [[(), *_groups(tables, at, insiders)] for at in range(len(tables.tables))] if insiders else []
    for chosen in product(*each):
        items = sorted({item for group in chosen for item in group})
        if not items or (insiders == 1 and not _one_person(tables, [cell for cell, _ in items])):
            continue
        inner = {cell for cell, members in items if members == tables.counts[cell]}
        known = inner | {cell for part in inner for cell, parts in filled.get(part, ()) if parts <= inner}
        found[View(tuple(sorted(known)), tuple(item for item in items if item[0] not in known))] = None
        if len(found) > MOST_COALITIONS:
            raise TooLargeError(f"insiders = {insiders}: more than {MOST_COALITIONS:,} coalitions; say fewer insiders")
    return tuple(found)


def _made_of(tables: Linked, most: int) -> dict[int, list[tuple[int, frozenset[int]]]]:
    """For every inner cell the sums up to `most` that it is in, each with the inner cells it is made of."""
    found: dict[int, list[tuple[int, frozenset[int]]]] = {}
    for table, cells in zip(tables.tables, tables.places, strict=False):
        inner = cells[inner_places(table.trees)].reshape([len(tree.leaves) for tree in table.trees])
        for place in np.flatnonzero((table.counts > 0) & (table.counts <= most)).tolist():
            nodes = np.unravel_index(place, table.shape)
            inside = [tree.members[int(node)] for tree, node in zip(table.trees, nodes, strict=True)]
            parts = inner[np.ix_(*inside)].ravel()
            made = frozenset(parts[tables.counts[parts] > 0].tolist())
            for part in made:
                found.setdefault(part, []).append((int(cells[place]), made))
    return found


def _groups(tables: Linked, table: int, most: int) -> Iterator[tuple[tuple[int, int], ...]]:
    """Inner cells of one table with how many insiders each holds, where that tells more than that it is not empty."""
    inner = tables.places[table][inner_places(tables.tables[table].trees)]
    items = [
        (cell, members)
        for cell, count in zip(inner.tolist(), tables.counts[inner].tolist(), strict=True)
        for members in range(1, min(count, most) + 1)
        if members == count or members >= 2
    ]
    yield from _sums(items, most)


def _sums(items: Sequence[tuple[int, int]], most: int) -> Iterator[tuple[tuple[int, int], ...]]:
    for at, (cell, members) in enumerate(items):
        if members <= most:
            yield ((cell, members),)
            rest = [item for item in items[at + 1 :] if item[0] != cell]
            for more in _sums(rest, most - members):
                yield ((cell, members), *more)


def _one_person(tables: Linked, cells: Sequence[int]) -> bool:
    """Whether somebody can be in all of these cells."""
    for tree, nodes in zip(tables.trees, tables.nodes[list(cells)].T, strict=True):
        if not tree.members[np.unique(nodes)].all(axis=0).any():
            return False
    return True
