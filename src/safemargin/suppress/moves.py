"""Moves: integer changes of suppressed counts that leave every sum unchanged.

A suppressed count is at least one, because zeros are published. A move is possible if all counts stay that large. A
count that some possible move changes is not disclosed exactly.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from safemargin.bounds import Form, is_infeasible, solver_of, values_of
from safemargin.core import BoolArray, FloatArray, IntArray, numpy_generator

if TYPE_CHECKING:
    pass

INNER_COST = 0.001  # cost of changing a count that is suppressed anyway; a cell beyond the pattern costs about 1
ATTEMPTS = 6
SEED = 41_000
# Cells up to which an integer program over all of them decides; beyond, one over a few of them is tried.
MAX_CELLS_FOR_PROOF = 1_500


class MoveFinder:
    """Finds moves of small cost inside and beyond a set of suppressed cells.

    `equations` has a column for each cell. A change beyond the suppressed cells costs a price per person, a change
    inside next to nothing, so a move shows which further cells to suppress.
    """

    def __init__(self, equations: sparse.csr_array, counts: IntArray, minimum: IntArray) -> None:
        self.equations, self.counts = equations, counts
        self.minimum = self.least = minimum
        self.count = len(counts)
        # Rises and falls are separate columns, so that the cost of a change is linear.
        self.matrix = sparse.csc_array(sparse.hstack([equations, -equations]))
        self.columns = np.arange(2 * self.count, dtype=np.int32)
        self.upper = np.zeros(2 * self.count)
        self.cost = np.ones(2 * self.count)
        self.solver = solver_of(_form(self.matrix, self.cost, self.upper), {"presolve": "off"})
        self.generator = numpy_generator(SEED)
        self.keep_ray = False
        self.ray: FloatArray | None = None

    def open(
        self,
        suppressed: BoolArray,
        price: FloatArray | None = None,
        known: Sequence[int] = (),
        at_least: Sequence[tuple[int, int]] = (),
    ) -> None:
        """Let the counts of `suppressed` cells change; with a `price`, also all others where it is finite.

        Cells in `known` do not change; those in `at_least` keep this minimum.
        """
        usable = suppressed.copy() if price is None else suppressed | np.isfinite(price)
        usable[list(known)] = False
        self.least = self.minimum.copy()
        for cell, least in at_least:
            self.least[cell] = max(least, int(self.least[cell]))
        self.upper = np.r_[np.where(usable, np.inf, 0.0), np.where(usable, self.counts - self.least, 0.0)]
        cost = np.where(suppressed, INNER_COST, 0.0 if price is None else np.where(np.isfinite(price), price, 0.0))
        self.cost = np.r_[cost, cost]
        self.solver.changeColsBounds(len(self.columns), self.columns, np.zeros(len(self.columns)), self.upper)
        self.solver.changeColsCost(len(self.columns), self.columns, self.cost)

    def add_suppressed(self, cells: IntArray) -> None:
        """Give these cells the cost of suppressed ones."""
        columns = np.r_[cells, cells + self.count].astype(np.int32)
        self.cost[columns] = INNER_COST
        self.solver.changeColsCost(len(columns), columns, self.cost[columns])

    def find(self, cell: int, amount: int, seconds: float = 10.0) -> tuple[IntArray | None, bool]:
        """A move that changes `cell` by at least `amount` (downwards if negative), and whether the answer is proved.

        The LP is tried first, with several costs; if none of its optima is integer, an integer program decides.
        """
        column = cell if amount > 0 else cell + self.count
        if self.upper[column] < abs(amount):
            return None, True
        useful = np.zeros(self.count, dtype=bool)
        for attempt in range(ATTEMPTS):
            if attempt:  # other costs lead to another vertex of about the same cost, which may be integer
                cost = self.cost * (0.5 + self.generator.random(len(self.columns)))
                self.solver.changeColsCost(len(self.columns), self.columns, cost)
            change = self._solve(column, abs(amount))
            if change is None:
                break
            move = self._verified(change)
            if move is not None:
                break
            useful |= np.abs(change) > 1e-6
        if attempt:
            self.solver.changeColsCost(len(self.columns), self.columns, self.cost)
        if change is None or move is not None:
            return move if change is not None else None, True
        return self._integer_move(column, abs(amount), useful, seconds)

    def blocking_equations(self, cell: int, amount: int) -> IntArray | None:
        """Equations by which no fractional move changes `cell` by `amount` (a Farkas ray); None if one may exist."""
        column = cell if amount > 0 else cell + self.count
        if self.upper[column] < abs(amount):
            return np.zeros(0, dtype=np.int64)
        self.keep_ray = True
        change = self._solve(column, abs(amount))
        self.keep_ray = False
        return None if change is not None or self.ray is None else np.flatnonzero(np.abs(self.ray) > 1e-9)

    def _solve(self, column: int, amount: int) -> FloatArray | None:
        # From scratch: the dual simplex method needs few steps from the slack basis, many from another.
        solver, other = self.solver, (column + self.count) % (2 * self.count)
        solver.clearSolver()
        solver.changeColBounds(column, float(amount), float(self.upper[column]))
        solver.changeColBounds(other, 0.0, 0.0)
        solver.run()
        values = values_of(solver)
        if self.keep_ray and values is None:
            _, exists, ray = solver.getDualRay()  # type: ignore[attr-defined]
            self.ray = np.asarray(ray) if exists else None
        solver.changeColBounds(column, 0.0, float(self.upper[column]))
        solver.changeColBounds(other, 0.0, float(self.upper[other]))
        return None if values is None else values[: self.count] - values[self.count :]

    def _integer_move(
        self, column: int, amount: int, useful: BoolArray, seconds: float
    ) -> tuple[IntArray | None, bool]:
        """By integer programs: over the cells that fractional moves use, then over all if they are few enough."""
        open_cells = self.upper[: self.count] > 0
        for cells in (useful, open_cells) if int(open_cells.sum()) <= MAX_CELLS_FOR_PROOF else (useful,):
            columns = np.flatnonzero(np.r_[cells, cells] & (self.upper > 0))
            lower = np.where(columns == column, float(amount), 0.0)
            upper = np.where(columns == (column + self.count) % (2 * self.count), 0.0, self.upper[columns])
            form = _form(sparse.csc_array(self.matrix[:, columns]), self.cost[columns], upper, lower)
            # Any move will do, so a gap of 20 % saves most of the branching.
            solver = solver_of(form, {"time_limit": seconds, "mip_rel_gap": 0.2}, whole=True)
            solver.run()
            values = values_of(solver)
            if values is not None:
                change = np.zeros(2 * self.count)
                change[columns] = values
                move = self._verified(change[: self.count] - change[self.count :])
                if move is not None:
                    return move, True
        return None, cells is open_cells and is_infeasible(solver)

    def _verified(self, change: FloatArray) -> IntArray | None:
        """The change as integers, if addition shows that it is a move."""
        move = np.rint(change).astype(np.int64)
        if np.abs(change - move).max(initial=0.0) > 1e-4:
            return None
        changed = move != 0
        possible = (self.counts[changed] + move[changed] >= self.least[changed]).all()
        return move if possible and not (self.equations @ move).any() else None


def _form(matrix: sparse.csc_array, cost: FloatArray, upper: FloatArray, lower: FloatArray | None = None) -> Form:
    """Columns within bounds that `matrix` maps to zero."""
    zero = np.zeros(matrix.shape[0])
    return Form(matrix, cost, np.zeros(len(cost)) if lower is None else lower, upper, zero, zero)
