"""Moves between tables that look alike: whole numbers added to suppressed counts that leave every sum as it is.

A suppressed count is at least one (zeros are published). A move is possible if all counts stay so. A cell that some
possible move changes cannot be told exactly.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from safemargin.bounds.solver import Form, is_infeasible, solver_of, values_of
from safemargin.core import BoolArray, FloatArray, IntArray, numpy_generator

if TYPE_CHECKING:
    from highspy import Highs

INSIDE = 0.001
"""What a change of a suppressed count costs."""
TRIES = 6
SEED = 41_000
MOST_TO_PROVE = 1_500
"""Cells up to which an integer program over all of them decides; beyond, one over a few of them has to do."""


class Moves:
    """Looks for moves inside and beyond a set of suppressed cells: as few and as small changes as possible.

    Cells are those with a count of at least one; `equations` has a column for each. Beyond the `suppressed` cells a
    change costs a price per person, inside next to nothing, so that the move says what else to suppress.
    """

    def __init__(self, equations: sparse.csr_array, counts: IntArray, floor: IntArray | None = None) -> None:
        self.equations, self.counts = equations, counts
        self.floor = np.ones(len(counts), dtype=np.int64) if floor is None else floor
        self.least = self.floor
        self.count = len(counts)
        self.matrix = sparse.csc_array(sparse.hstack([equations, -equations]))
        self.every = np.arange(2 * self.count, dtype=np.int32)
        self.upper = np.zeros(2 * self.count)
        self.cost = np.ones(2 * self.count)
        self.solver = solver_of(_form(self.matrix, self.cost, self.upper), {"presolve": "off"})
        self.generator = numpy_generator(SEED)
        self.rays = False
        self.ray: FloatArray | None = None

    def open(
        self,
        suppressed: BoolArray,
        price: FloatArray | None = None,
        known: Sequence[int] = (),
        at_least: Sequence[tuple[int, int]] = (),
    ) -> None:
        """Let the counts of `suppressed` cells change; with a `price`, those of all others where it is finite.

        Cells that somebody knows stay as they are, others at what somebody knows them to be at least.
        """
        usable = suppressed.copy() if price is None else suppressed | np.isfinite(price)
        usable[list(known)] = False
        self.least = self.floor.copy()
        for cell, least in at_least:
            self.least[cell] = max(least, int(self.least[cell]))
        self.upper = np.r_[np.where(usable, np.inf, 0.0), np.where(usable, self.counts - self.least, 0.0)]
        cost = np.where(suppressed, INSIDE, 0.0 if price is None else np.where(np.isfinite(price), price, 0.0))
        self.cost = np.r_[cost, cost]
        self.solver.changeColsBounds(len(self.every), self.every, np.zeros(len(self.every)), self.upper)
        self.solver.changeColsCost(len(self.every), self.every, self.cost)

    def cheapen(self, cells: IntArray) -> None:
        """These are suppressed from now on."""
        columns = np.r_[cells, cells + self.count].astype(np.int32)
        self.cost[columns] = INSIDE
        self.solver.changeColsCost(len(columns), columns, self.cost[columns])

    def find(self, cell: int, amount: int, seconds: float = 10.0) -> tuple[IntArray | None, bool]:
        """A move that changes `cell` by at least `amount` (downwards if negative), and whether the answer is proved.

        Real-valued moves are looked for first; where none of them is whole, an integer program decides.
        """
        column = cell if amount > 0 else cell + self.count
        if self.upper[column] < abs(amount):
            return None, True
        useful = np.zeros(self.count, dtype=bool)
        for turn in range(TRIES):
            if turn:
                self._shuffle()
            change = self._solve(self.solver, column, abs(amount))
            if change is None:
                break
            move = self._checked(change)
            if move is not None:
                break
            useful |= np.abs(change) > 1e-6
        if turn:
            self.solver.changeColsCost(len(self.every), self.every, self.cost)
        if change is None or move is not None:
            return move if change is not None else None, True
        return self._whole(column, abs(amount), useful, seconds)

    def reason(self, cell: int, amount: int) -> IntArray | None:
        """The equations by which no real-valued move changes `cell` by `amount`; None if there may be one."""
        column = cell if amount > 0 else cell + self.count
        if self.upper[column] < abs(amount):
            return np.zeros(0, dtype=np.int64)
        self.rays = True
        change = self._solve(self.solver, column, abs(amount))
        self.rays = False
        return None if change is not None or self.ray is None else np.flatnonzero(np.abs(self.ray) > 1e-9)

    def _solve(self, solver: "Highs", column: int, amount: int) -> FloatArray | None:
        """From scratch: near the cell the dual simplex method needs few steps from nothing, many from elsewhere."""
        other = (column + self.count) % (2 * self.count)
        solver.clearSolver()
        solver.changeColBounds(column, float(amount), float(self.upper[column]))
        solver.changeColBounds(other, 0.0, 0.0)
        solver.run()
        values = values_of(solver)
        if self.rays and values is None:
            _, exists, ray = solver.getDualRay()  # type: ignore[attr-defined]
            self.ray = np.asarray(ray) if exists else None
        solver.changeColBounds(column, 0.0, float(self.upper[column]))
        solver.changeColBounds(other, 0.0, float(self.upper[other]))
        return None if values is None else values[: self.count] - values[self.count :]

    def _whole(self, column: int, amount: int, useful: BoolArray, seconds: float) -> tuple[IntArray | None, bool]:
        """By integer programs: over the cells that real-valued moves use, then over all if they are few enough."""
        open_cells = self.upper[: self.count] > 0
        for mine in (useful, open_cells) if int(open_cells.sum()) <= MOST_TO_PROVE else (useful,):
            columns = np.flatnonzero(np.r_[mine, mine] & (self.upper > 0))
            lower = np.where(columns == column, float(amount), 0.0)
            upper = np.where(columns == (column + self.count) % (2 * self.count), 0.0, self.upper[columns])
            form = _form(sparse.csc_array(self.matrix[:, columns]), self.cost[columns], upper, lower)
            solver = solver_of(form, {"time_limit": seconds, "mip_rel_gap": 0.2}, whole=True)
            solver.run()
            values = values_of(solver)
            if values is not None:
                change = np.zeros(2 * self.count)
                change[columns] = values
                move = self._checked(change[: self.count] - change[self.count :])
                if move is not None:
                    return move, True
        done = mine is open_cells and is_infeasible(solver)
        return None, done

    def _shuffle(self) -> None:
        """Other prices, for another move of about the same cost: it may be one of whole numbers."""
        cost = self.cost * (0.5 + self.generator.random(len(self.every)))
        self.solver.changeColsCost(len(self.every), self.every, cost)

    def _checked(self, change: FloatArray) -> IntArray | None:
        move = np.rint(change).astype(np.int64)
        if np.abs(change - move).max(initial=0.0) > 1e-4:
            return None
        return move if is_move(self.equations, self.counts, move, self.least) else None


def is_move(equations: sparse.csr_array, counts: IntArray, move: IntArray, least: IntArray) -> bool:
    """Whether whole numbers leave every sum as it is and every changed count at `least` or more, by addition."""
    changed = move != 0
    return bool(not (equations @ move).any() and (counts[changed] + move[changed] >= least[changed]).all())


def _form(matrix: sparse.csc_array, cost: FloatArray, upper: FloatArray, lower: FloatArray | None = None) -> Form:
    """Columns within bounds that `matrix` takes to zero."""
    zero = np.zeros(matrix.shape[0])
    return Form(matrix, cost, np.zeros(len(cost)) if lower is None else lower, upper, zero, zero)
