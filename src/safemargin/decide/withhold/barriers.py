"""Why a cell is known: published cells of which at least one must be withheld before it can change.

For a cell `i` and a set of withheld cells, multipliers `u` of the equations prove that `i` cannot rise by `need`:
`m_i = -sum_j s_j m_j` with `s = E'u - e_i`, `s_j >= 0` on withheld cells, and `m_j >= 1 - count_j`, so that `m_i` is at
most `sum_j s_j (count_j - 1) < need`. Cells with `s_j = 0` play no part, withheld or not: only the published cells with
`s_j != 0`, the barrier, hold `i` in place. The same with the sign changed proves that it cannot fall.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy import sparse

from safemargin.bounds.moves import Moves
from safemargin.bounds.solver import Form, is_optimal, solver_of
from safemargin.model.arrays import BoolArray, FloatArray, IntArray

MOST_IN_A_DENOMINATOR = 200
LARGEST_SCALE = 10**6
SHARES = (0.0, 0.75)
"""How much of the last whole person a proof may leave open: vertices of the program are simple fractions then."""


@dataclass(frozen=True)
class Barrier:
    """Unless one of `cells` is withheld, `cell` cannot change (`need` 0), or cannot rise by `need`."""

    cell: int
    need: int
    cells: tuple[int, ...]


def alone(equations: sparse.csr_array, withheld: BoolArray, needs: IntArray) -> list[Barrier]:
    """Withheld cells that are the only one of a sum: the rest of it is a barrier."""
    hidden = abs(equations) @ withheld.astype(np.int64)
    found = []
    for row in np.flatnonzero(hidden == 1).tolist():
        cells = equations.indices[equations.indptr[row] : equations.indptr[row + 1]]
        mine = withheld[cells]
        cell = int(cells[mine][0])
        found.append(Barrier(cell, int(needs[cell]), tuple(np.sort(cells[~mine]).tolist())))
    return found


class Reasons:
    """Barriers one by one, each from the equations by which a linear program finds a cell fixed."""

    def __init__(self, equations: sparse.csr_array, counts: IntArray, withheld: BoolArray) -> None:
        self.equations, self.counts, self.withheld = equations, counts, withheld
        self.moves = Moves(equations, counts)
        self.moves.open(withheld)

    def find(self, cell: int, need: int = 0) -> Barrier | None:
        """A barrier for a withheld cell; None if it can change, or only whole numbers hold it in place."""
        rows: set[int] = set()
        for amount in (need,) if need else (1, -1):
            reason = self.moves.reason(cell, amount)
            if reason is None:
                return None
            rows.update(reason.tolist())
        part = sparse.csr_array(self.equations[sorted(rows)])
        cells = np.unique(np.r_[part.indices, cell])
        inside = sparse.csr_array(part[:, cells])
        near = Barriers(inside, self.counts[cells], self.withheld[cells])
        found = near.find(int(np.searchsorted(cells, cell)), need)
        return None if found is None else Barrier(cell, need, tuple(cells[list(found.cells)].tolist()))


class Barriers:
    """Finds barriers of few cells for one set of withheld cells."""

    def __init__(self, equations: sparse.csr_array, counts: IntArray, withheld: BoolArray) -> None:
        self.equations, self.counts, self.withheld = equations, counts, withheld
        self.transposed = sparse.csr_array(equations.T)
        self.rows, self.count = equations.shape
        self.solver = solver_of(self._form())

    def _form(self) -> Form:
        """Columns: multipliers against rising and falling, then the size of each published coefficient."""
        published = np.flatnonzero(~self.withheld)
        turned = self.transposed.astype(np.float64)
        size = sparse.csr_array(
            (np.ones(len(published)), (published, np.arange(len(published)))), shape=(self.count, len(published))
        )
        room = np.where(self.withheld, self.counts - 1.0, 0.0) @ turned
        room = sparse.csr_array(room.reshape(1, -1))
        no_cells, no_size = sparse.csr_array(turned.shape), sparse.csr_array((1, len(published)))
        no_rows = sparse.csr_array(room.shape)
        matrix = sparse.csc_array(
            sparse.vstack(
                [
                    sparse.hstack([turned, no_cells, size]),
                    sparse.hstack([turned, no_cells, -size])[published],
                    sparse.hstack([no_cells, turned, size]),
                    sparse.hstack([no_cells, turned, -size])[published],
                    sparse.hstack([room, no_rows, no_size]),
                    sparse.hstack([no_rows, room, no_size]),
                ]
            )
        )
        multipliers = np.full(2 * self.rows, -np.inf)
        half = np.r_[np.zeros(self.count), np.full(len(published), -np.inf)]
        most = np.r_[np.full(self.count, np.inf), np.zeros(len(published))]
        self.falling = self.count + len(published)
        return Form(
            matrix,
            np.r_[np.zeros(2 * self.rows), np.ones(len(published))],
            np.r_[multipliers, np.zeros(len(published))],
            np.full(matrix.shape[1], np.inf),
            np.r_[half, half, -np.inf, -np.inf],
            np.r_[most, most, np.inf, np.inf],
        )

    def find(self, cell: int, need: int = 0) -> Barrier | None:
        """A barrier that holds `cell`, which is withheld, in place; with a `need`, that keeps it from rising so far."""
        found = [barrier for share in SHARES if (barrier := self._find(cell, need, share)) is not None]
        return min(found, key=lambda barrier: len(barrier.cells), default=None)

    def _find(self, cell: int, need: int, share: float) -> Barrier | None:
        room = float(self.counts[cell] - 1)
        solver, last = self.solver, 2 * self.falling
        solver.changeRowBounds(cell, 1.0, np.inf)
        solver.changeRowBounds(self.falling + cell, -1.0, np.inf)
        solver.changeRowBounds(last, -np.inf, (need or 1) - 1 + share + room)
        solver.changeRowBounds(last + 1, -np.inf, np.inf if need else share - room)
        solver.run()
        found = is_optimal(solver)
        values = np.asarray(solver.getSolution().col_value) if found else np.zeros(0)
        solver.changeRowBounds(cell, 0.0, np.inf)
        solver.changeRowBounds(self.falling + cell, 0.0, np.inf)
        if not found:
            return None
        held: set[int] = set()
        for way in (1,) if need else (1, -1):
            cells = self._exactly(
                cell, way, need or 1, values[: self.rows] if way > 0 else values[self.rows : 2 * self.rows]
            )
            if cells is None:
                return None
            held |= cells
        return Barrier(cell, need, tuple(sorted(held)))

    def _exactly(self, cell: int, way: int, need: int, multipliers: FloatArray) -> set[int] | None:
        """The barrier in one direction, if the multipliers prove it in whole numbers."""
        scale, whole = _in_fractions(multipliers)
        if not scale:
            return None
        slack = self.transposed @ whole
        slack[cell] -= way * scale
        hidden = slack[self.withheld]
        if (hidden < 0).any() or int(hidden @ (self.counts[self.withheld] - 1)) >= need * scale:
            return None
        return set(np.flatnonzero((slack != 0) & ~self.withheld).tolist())


def _in_fractions(values: FloatArray) -> tuple[int, IntArray]:
    """Floating point read as simple fractions: the common denominator and the numerators; 0 if it is too large."""
    scale = 1
    for value in np.unique(np.round(values, 9)).tolist():
        part = Fraction(value).limit_denominator(MOST_IN_A_DENOMINATOR)
        scale = math.lcm(scale, part.denominator)
        if scale > LARGEST_SCALE:
            return 0, np.zeros(0, dtype=np.int64)
    return scale, np.rint(values * scale).astype(np.int64)
