"""The moves found so far, and which requirements they meet inside a set of withheld cells."""

import numpy as np
from scipy import sparse

from safemargin.model.arrays import BoolArray, IntArray


class Pool:
    """Whole-number moves, kept sparse. A move that was possible once stays possible when more cells are withheld."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.cells: list[IntArray] = []
        self.changes: list[IntArray] = []
        self._built = sparse.csr_array((0, size), dtype=np.int64)

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

    def inside(self, withheld: BoolArray) -> IntArray:
        """Moves that change withheld cells only."""
        matrix = self.matrix
        outside = abs(matrix) @ (~withheld).astype(np.int64)
        return np.flatnonzero(outside == 0)

    def meets(self, withheld: BoolArray, needs: IntArray) -> BoolArray:
        """Cells whose requirement some move inside `withheld` meets: a change, or a rise by `needs`."""
        found = np.zeros(self.size, dtype=bool)
        moves = self.matrix[self.inside(withheld)].tocoo()
        enough = (needs[moves.col] == 0) | (moves.data >= needs[moves.col])
        found[moves.col[enough]] = True
        return found
