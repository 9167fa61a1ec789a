"""What tables published before disclose by themselves, whatever is published now.

Let `P` be the populations (integers, at least 0) that have every count of the earlier tables and at least one person
in each of their gaps. A count is *known before* if it is the same in all of `P`. The tables to be published now say
nothing here: neither their counts, nor that a suppressed count of theirs is at least one. Tables that would disclose a
count which is not known before, whatever they suppress, are refused.

Example: a x b printed 7 and 6 by a, 4 and 9 by b, and four gaps; the first count may be 1, 2 or 3. If every cell of
a x b x c now holds somebody, each of the four gaps holds at least two people, and the first count is 2: that is new.
"""

import numpy as np
from scipy import sparse

from safemargin.bounds import Form, is_infeasible, solver_of
from safemargin.core import Lattice
from safemargin.suppress.linked import UNKNOWN, LinkedTables, link

SECONDS = 10.0
"""For each of the two integer programs about a count; what they do not decide is not known before."""


class EarlierTables:
    """The earlier tables of linked tables, and the cells of the new ones without their counts, under the same ids."""

    def __init__(self, tables: LinkedTables) -> None:
        empty = {
            name: Lattice(table.trees, np.full(table.shape, UNKNOWN, dtype=np.int64))
            for name, table in zip(tables.names, tables.tables, strict=False)
        }
        names = tables.names[len(tables.tables) :]
        alone = link({}, {**empty, **dict(zip(names, tables.earlier, strict=True))})
        self.matrix = sparse.csc_array(alone.equations.astype(np.float64))
        size = self.matrix.shape[1]
        self.low, self.high = np.zeros(size), np.full(size, np.inf)
        cells = np.arange(len(alone.counts))
        self.low[cells[alone.gaps]] = 1.0
        self.low[cells[alone.known]] = self.high[cells[alone.known]] = alone.counts[alone.known]

    def disclose(self, cell: int, count: int) -> bool:
        """Whether no population of the earlier tables has another count than this one in a cell."""
        if count < 0 or self.low[cell] > count or self.high[cell] < count:
            raise ValueError(f"count {count} of cell {cell} is in no population of the earlier tables")
        return self._impossible(cell, count + 1.0, np.inf) and self._impossible(cell, 0.0, count - 1.0)

    def _impossible(self, cell: int, least: float, most: float) -> bool:
        """Whether an integer program proves that no population has this count between `least` and `most`.

        A program that runs out of time proves nothing: then the count is not known before.
        """
        low, high = self.low.copy(), self.high.copy()
        low[cell], high[cell] = max(low[cell], least), min(high[cell], most)
        if low[cell] > high[cell]:
            return True
        rows, columns = self.matrix.shape
        form = Form(self.matrix, np.zeros(columns), low, high, np.zeros(rows), np.zeros(rows))
        solver = solver_of(form, {"time_limit": SECONDS}, whole=True)
        solver.run()
        return is_infeasible(solver)
