"""Why a cell is known: published cells of which at least one must be suppressed before it can change.

For a cell `i` and a set of suppressed cells, multipliers `u` of the equations prove that `i` cannot rise by `need`:
`m_i = -sum_j s_j m_j` with `s = E'u - e_i`, `s_j >= 0` on suppressed cells, and `m_j >= 1 - count_j`, so that `m_i` is
at most `sum_j s_j (count_j - 1) < need` (there is less room than `count_j - 1` where somebody knows more). Cells with
`s_j = 0` play no part, suppressed or not: only the published cells with `s_j != 0`, the barrier, hold `i` in place. The
same with the sign changed proves that it cannot fall.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy import sparse

from safemargin.bounds.solver import Form, is_optimal, solver_of
from safemargin.core import BoolArray, FloatArray, IntArray
from safemargin.suppress.coalition import PUBLIC, View
from safemargin.suppress.moves import Moves
from safemargin.suppress.problem import Problem

MOST_IN_A_DENOMINATOR = 200
LARGEST_SCALE = 10**6
SHARES = (0.0, 0.75)
"""How much of the last whole person a proof may leave open: vertices of the program are simple fractions then."""


@dataclass(frozen=True)
class Barrier:
    """Unless one of `cells` is suppressed, `cell` cannot change enough (`need` 0), or cannot rise by `need`.

    That is so for somebody who knows the counts of the cells in `view`.
    """

    cell: int
    need: int
    cells: tuple[int, ...]
    view: View = PUBLIC


def alone(asked: Problem, suppressed: BoolArray, view: View = PUBLIC) -> list[Barrier]:
    """Suppressed cells that are the only one of a sum: the rest of it is a barrier."""
    open_cells = suppressed.copy()
    open_cells[list(view.known)] = False
    equations = asked.equations
    hidden = abs(equations) @ open_cells.astype(np.int64)
    found = []
    for row in np.flatnonzero(hidden == 1).tolist():
        cells = equations.indices[equations.indptr[row] : equations.indptr[row + 1]]
        mine = open_cells[cells]
        cell = int(cells[mine][0])
        if not asked.untold[cell]:
            rest = np.setdiff1d(cells[~mine], view.known)
            found.append(Barrier(cell, int(asked.asks(view)[cell]), tuple(rest.tolist()), view))
    return found


class Reasons:
    """Barriers one by one, each from the equations by which a linear program finds a cell held in place."""

    def __init__(self, asked: Problem, suppressed: BoolArray) -> None:
        self.asked, self.suppressed = asked, suppressed
        self.moves = Moves(asked.equations, asked.counts, asked.floor)
        self.view: View | None = None

    def find(self, view: View, cell: int) -> Barrier | None:
        """A barrier for a suppressed cell; None if its requirement is met, or only whole numbers hold it in place."""
        need = int(self.asked.asks(view)[cell])
        if need and (barrier := self.rising(view, cell, need)) is not None:
            return barrier
        self._see(view)
        for up in range(1, self.asked.width + 1):
            if (rising := self.moves.reason(cell, up)) is not None:
                down = self.asked.width + 1 - up
                falling = self.moves.reason(cell, -down)
                return None if falling is None else self._near(view, cell, 0, up, down, {*rising, *falling})
        return None

    def rising(self, view: View, cell: int, need: int) -> Barrier | None:
        """A barrier that keeps a suppressed cell from rising by `need`."""
        self._see(view)
        reason = self.moves.reason(cell, need)
        return None if reason is None else self._near(view, cell, need, need, 0, set(reason.tolist()))

    def _see(self, view: View) -> None:
        if view != self.view:
            self.moves.open(self.suppressed, None, view.known, view.at_least)
            self.view = view

    def _near(self, view: View, cell: int, need: int, up: int, down: int, rows: set[int]) -> Barrier | None:
        part = sparse.csr_array(self.asked.equations[sorted(rows)])
        cells = np.unique(np.r_[part.indices, cell])
        open_cells = self.suppressed.copy()
        open_cells[list(view.known)] = False
        room = self.asked.counts - self.moves.least
        near = Barriers(sparse.csr_array(part[:, cells]), room[cells], open_cells[cells])
        held = near.find(int(np.searchsorted(cells, cell)), up, down)
        if held is None:
            return None
        return Barrier(cell, need, tuple(np.setdiff1d(cells[list(held)], view.known).tolist()), view)


class Barriers:
    """Finds barriers of few cells for one set of suppressed cells; `room` is how far each count may fall."""

    def __init__(self, equations: sparse.csr_array, room: IntArray, suppressed: BoolArray) -> None:
        self.equations, self.room, self.suppressed = equations, room, suppressed
        self.transposed = sparse.csr_array(equations.T)
        self.rows, self.count = equations.shape
        self.solver = solver_of(self._form())

    def _form(self) -> Form:
        """Columns: multipliers against rising and falling, then the size of each published coefficient."""
        published = np.flatnonzero(~self.suppressed)
        turned = self.transposed.astype(np.float64)
        size = sparse.csr_array(
            (np.ones(len(published)), (published, np.arange(len(published)))), shape=(self.count, len(published))
        )
        room = np.where(self.suppressed, self.room, 0.0) @ turned
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

    def find(self, cell: int, up: int, down: int) -> tuple[int, ...] | None:
        """Cells that keep a suppressed `cell` from rising by `up` and, unless that is 0, from falling by `down`."""
        found = [held for share in SHARES if (held := self._find(cell, up, down, share)) is not None]
        return min(found, key=len, default=None)

    def _find(self, cell: int, up: int, down: int, share: float) -> tuple[int, ...] | None:
        room = float(self.room[cell])
        solver, last = self.solver, 2 * self.falling
        solver.changeRowBounds(cell, 1.0, np.inf)
        solver.changeRowBounds(self.falling + cell, -1.0, np.inf)
        solver.changeRowBounds(last, -np.inf, up - 1 + share + room)
        solver.changeRowBounds(last + 1, -np.inf, down - 1 + share - room if down else np.inf)
        solver.run()
        found = is_optimal(solver)
        values = np.asarray(solver.getSolution().col_value) if found else np.zeros(0)
        solver.changeRowBounds(cell, 0.0, np.inf)
        solver.changeRowBounds(self.falling + cell, 0.0, np.inf)
        if not found:
            return None
        held: set[int] = set()
        for way, amount in ((1, up), (-1, down)):
            if amount:
                part = values[: self.rows] if way > 0 else values[self.rows : 2 * self.rows]
                cells = self._exactly(cell, way, amount, part)
                if cells is None:
                    return None
                held |= cells
        return tuple(sorted(held))

    def _exactly(self, cell: int, way: int, amount: int, multipliers: FloatArray) -> set[int] | None:
        """The barrier in one direction, if the multipliers prove it in whole numbers."""
        scale, whole = _in_fractions(multipliers)
        if not scale:
            return None
        slack = self.transposed @ whole
        slack[cell] -= way * scale
        hidden = slack[self.suppressed]
        if (hidden < 0).any() or int(hidden @ self.room[self.suppressed]) >= amount * scale:
            return None
        return set(np.flatnonzero((slack != 0) & ~self.suppressed).tolist())


def _in_fractions(values: FloatArray) -> tuple[int, IntArray]:
    """Floating point read as simple fractions: the common denominator and the numerators; 0 if it is too large."""
    scale = 1
    for value in np.unique(np.round(values, 9)).tolist():
        part = Fraction(value).limit_denominator(MOST_IN_A_DENOMINATOR)
        scale = math.lcm(scale, part.denominator)
        if scale > LARGEST_SCALE:
            return 0, np.zeros(0, dtype=np.int64)
    return scale, np.rint(values * scale).astype(np.int64)
