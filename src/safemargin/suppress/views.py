"""What onlookers know beside what is printed, and the stored moves that they cannot exclude; no solver is needed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy import sparse

from safemargin.core import BoolArray, IntArray, TooLargeError
from safemargin.suppress.linked import LinkedTables, inner_cells

MAX_COALITIONS = 20_000


@dataclass(frozen=True)
class View:
    """What an onlooker knows beside what is printed: counts of some cells, and lower limits of others."""

    known: tuple[int, ...] = ()
    at_least: tuple[tuple[int, int], ...] = ()

    def sees_more(self, suppressed: BoolArray) -> bool:
        """Whether some of it is not printed."""
        return any(suppressed[cell] for cell in self.known) or any(suppressed[cell] for cell, _ in self.at_least)


PUBLIC = View()


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


class MoveStore:
    """All moves found, kept sparse. A move stays possible when more cells are suppressed."""

    def __init__(self, counts: IntArray) -> None:
        self.counts, self.size = counts, len(counts)
        self.cells: list[IntArray] = []
        self.changes: list[IntArray] = []
        self._built = sparse.csr_array((0, self.size), dtype=np.int64)

    def add(self, move: IntArray) -> None:
        """Keep a move."""
        cells = np.flatnonzero(move)
        self.cells.append(cells)
        self.changes.append(move[cells])

    @property
    def matrix(self) -> sparse.csr_array:
        """One row per move."""
        if self._built.shape[0] < len(self.cells):
            starts = np.r_[0, np.cumsum([len(cells) for cells in self.cells])]
            parts = (np.concatenate(self.changes), np.concatenate(self.cells), starts)
            self._built = sparse.csr_array(parts, shape=(len(self.cells), self.size))
        return self._built

    def inside(self, suppressed: BoolArray) -> sparse.csr_array:
        """Moves that change suppressed cells only."""
        outside = abs(self.matrix) @ (~suppressed).astype(np.int64)
        return self.matrix[np.flatnonzero(outside == 0)].tocsr()


class PatternMoves:
    """The stored moves inside one set of suppressed cells, and those added later."""

    def __init__(self, store: MoveStore, suppressed: BoolArray) -> None:
        self.store = store
        moves = store.inside(suppressed).tocoo()
        self.rows, self.cells, self.changes = moves.row, moves.col, moves.data
        self.count = moves.shape[0]

    def add(self, move: IntArray) -> None:
        """Keep a move here and in the store."""
        self.store.add(move)
        cells = np.flatnonzero(move)
        self.rows = np.r_[self.rows, np.full(len(cells), self.count)]
        self.cells, self.changes = np.r_[self.cells, cells], np.r_[self.changes, move[cells]]
        self.count += 1

    def possible(self, view: View) -> BoolArray:
        """Which moves an onlooker with this view cannot exclude."""
        possible = np.ones(self.count, dtype=bool)
        if view.known:
            possible[self.rows[np.isin(self.cells, view.known)]] = False
        for cell, least in view.at_least:
            possible[self.rows[(self.cells == cell) & (self.store.counts[cell] + self.changes < least)]] = False
        return possible

    def ranges(self, view: View = PUBLIC) -> tuple[IntArray, IntArray]:
        """How far each count can rise and fall."""
        used = self.possible(view)[self.rows] if view != PUBLIC else np.ones(len(self.rows), dtype=bool)
        up, down = np.zeros(self.store.size, dtype=np.int64), np.zeros(self.store.size, dtype=np.int64)
        np.maximum.at(up, self.cells[used], self.changes[used])
        np.maximum.at(down, self.cells[used], -self.changes[used])
        return up, down
