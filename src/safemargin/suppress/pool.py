"""The moves found so far, and how far they take counts inside a set of suppressed cells."""

import numpy as np
from scipy import sparse

from safemargin.core import BoolArray, IntArray
from safemargin.suppress.coalition import PUBLIC, View


class Pool:
    """Whole-number moves, kept sparse. A move that was possible once stays possible when more cells are suppressed."""

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

    def inside(self, suppressed: BoolArray) -> IntArray:
        """Moves that change suppressed cells only."""
        matrix = self.matrix
        outside = abs(matrix) @ (~suppressed).astype(np.int64)
        return np.flatnonzero(outside == 0)


class Reach:
    """The moves of a pool inside one set of suppressed cells, and those added to both."""

    def __init__(self, pool: Pool, suppressed: BoolArray) -> None:
        self.pool = pool
        moves = pool.matrix[pool.inside(suppressed)].tocoo()
        self.rows, self.cells, self.changes = moves.row, moves.col, moves.data
        self.count = moves.shape[0]

    def add(self, move: IntArray) -> None:
        """Keep a move here and in the pool."""
        self.pool.add(move)
        cells = np.flatnonzero(move)
        self.rows = np.r_[self.rows, np.full(len(cells), self.count)]
        self.cells, self.changes = np.r_[self.cells, cells], np.r_[self.changes, move[cells]]
        self.count += 1

    def possible(self, view: View) -> BoolArray:
        """Which moves an onlooker with this view cannot rule out."""
        found = np.ones(self.count, dtype=bool)
        if view.known:
            found[self.rows[np.isin(self.cells, view.known)]] = False
        for cell, least in view.at_least:
            found[self.rows[(self.cells == cell) & (self.pool.counts[cell] + self.changes < least)]] = False
        return found

    def ends(self, view: View = PUBLIC) -> tuple[IntArray, IntArray]:
        """How far each count can rise and fall."""
        mine = self.possible(view)[self.rows] if view != PUBLIC else np.ones(len(self.rows), dtype=bool)
        up, down = np.zeros(self.pool.size, dtype=np.int64), np.zeros(self.pool.size, dtype=np.int64)
        np.maximum.at(up, self.cells[mine], self.changes[mine])
        np.maximum.at(down, self.cells[mine], -self.changes[mine])
        return up, down
