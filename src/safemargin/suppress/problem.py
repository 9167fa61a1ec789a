"""What is to be protected: the cells that hold people, which are primary, and which others may be suppressed."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from safemargin.core import BoolArray, IntArray
from safemargin.suppress.coalition import PUBLIC, View, views
from safemargin.suppress.fill import fill, floors
from safemargin.suppress.linked import Linked


@dataclass(frozen=True)
class Problem:
    """Cells with a count of at least one, and others that nobody tells; `places` are their numbers in the tables.

    Empty cells, the grand total and what was published before are always printed.
    """

    places: IntArray
    counts: IntArray
    floor: IntArray
    """What a count is at least if it is not printed."""
    equations: sparse.csr_array
    primary: BoolArray
    gone: BoolArray
    """Cells that are not printed in any case: primary, suppressed before, or in no table."""
    untold: BoolArray
    """Of these, the ones in no table: nothing is claimed about them."""
    candidates: BoolArray
    needs: IntArray
    """How far the count of a primary cell must be able to rise; 0 where that is not asked."""
    width: int
    """How far apart two values of a suppressed count must be."""
    wishes: IntArray
    """How far primary counts had better be able to rise: beyond what is primary."""
    views: tuple[View, ...]
    """What onlookers know, the public first; `needs` hold for the public only."""
    counted: BoolArray
    """Cells of the tables to be published."""

    @property
    def size(self) -> int:
        """Number of cells."""
        return len(self.counts)

    def asks(self, view: View) -> IntArray:
        """`needs`, as far as they hold for somebody."""
        return self.needs if view == PUBLIC else np.zeros(self.size, dtype=np.int64)


def problem(
    tables: Linked,
    primary: tuple[int, int],
    protect: int | None = None,
    tau: int = 0,
    insiders: int = 0,
    settled: Sequence[int] = (),
) -> Problem:
    """Protect counts from `primary[0]` to `primary[1]`, each so that it could be `protect` or more if that is given.

    Nobody is to know a suppressed count to within `tau`, nor may `insiders` people together. `settled` cells are known.
    """
    every = fill(tables)
    people = len(every) - len(tables.counts)
    new, gaps = (np.r_[part, np.zeros(people, dtype=bool)] for part in (tables.new, tables.gaps))
    known = np.r_[tables.known, np.zeros(people, dtype=bool)]
    known[list(settled)] = True
    in_no_table = ~new & ~gaps & ~known
    places = np.flatnonzero((every > 0) | in_no_table)
    counts = every[places]
    rows = sparse.csr_array(tables.equations[:, places])
    rows = sparse.csr_array(rows[np.flatnonzero(np.diff(rows.indptr) > 0)])
    free = ~known[places] & (places != 0)
    is_primary = (counts >= primary[0]) & (counts <= primary[1]) & free & new[places]
    untold = in_no_table[places]
    gone = is_primary | untold | (gaps[places] & free)
    needs = np.zeros(len(counts), dtype=np.int64)
    if protect is not None:
        needs = np.where(is_primary, np.maximum(protect - counts, 0), 0)
    return Problem(
        places=places,
        counts=counts,
        floor=floors(tables)[places],
        equations=rows,
        primary=is_primary,
        gone=gone,
        untold=untold,
        candidates=~gone & free,
        needs=needs,
        width=tau + 1,
        wishes=np.where(is_primary, primary[1] + 1 - counts, 0),
        views=(PUBLIC, *(_placed(view, places) for view in views(tables, insiders))),
        counted=new[places],
    )


def _placed(view: View, places: IntArray) -> View:
    """The view in places among the cells that hold people."""
    at = {int(cell): place for place, cell in enumerate(places.tolist())}
    return View(tuple(at[cell] for cell in view.known), tuple((at[cell], least) for cell, least in view.at_least))
