"""What is to be protected: the cells that hold people, which are primary, and which others may be withheld."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from safemargin.model.arrays import BoolArray, IntArray
from safemargin.model.lattice import Lattice


@dataclass(frozen=True)
class Problem:
    """Cells with a count of at least one; `places` says where they lie in the lattice.

    Empty cells and the grand total are always published. `needs[i]` is how far the count of a primary cell must be able
    to rise; 0 asks only that it can change, as it must in every withheld cell.
    """

    places: IntArray
    counts: IntArray
    equations: sparse.csr_array
    primary: BoolArray
    candidates: BoolArray
    needs: IntArray
    wishes: IntArray
    """How far primary counts had better be able to rise: beyond what is primary."""

    @property
    def size(self) -> int:
        """Number of cells."""
        return len(self.counts)


def problem(table: Lattice, primary: tuple[int, int], protect: int | None = None) -> Problem:
    """Protect counts from `primary[0]` to `primary[1]`, each so that it could be `protect` or more if that is given."""
    every = table.counts.ravel()
    places = np.flatnonzero(every)
    counts = every[places]
    rows = sparse.csr_array(table.equations[:, places])
    rows = sparse.csr_array(rows[np.flatnonzero(np.diff(rows.indptr) > 0)])
    is_primary = (counts >= primary[0]) & (counts <= primary[1]) & (places != 0)
    needs = np.zeros(len(counts), dtype=np.int64)
    if protect is not None:
        needs = np.where(is_primary, np.maximum(protect - counts, 0), 0)
    wishes = np.where(is_primary, primary[1] + 1 - counts, 0)
    return Problem(places, counts, rows, is_primary, ~is_primary & (places != 0), needs, wishes)
