"""Moves between tables that look alike: whole numbers added to withheld counts that leave every sum as it is.

A withheld count is at least one (zeros are published). A move is possible if all counts stay so. A cell that some
possible move changes cannot be told exactly.
"""

from collections.abc import Sequence

import highspy
import numpy as np
from scipy import sparse

from safemargin.model.arrays import BoolArray, FloatArray, IntArray

NEAR = 1e-6


class Moves:
    """Looks for moves inside and beyond a set of withheld cells: as few and as small changes as possible.

    Cells are those with a count of at least one; `equations` has a column for each. Beyond the `withheld` cells a
    change costs `price` per person, inside next to nothing, so that the move says what else to withhold.
    """

    def __init__(self, equations: sparse.csr_array, counts: IntArray) -> None:
        self.equations, self.counts = equations, counts
        self.count = len(counts)
        matrix = sparse.csc_array(sparse.hstack([equations, -equations]))
        model = highspy.HighsLp()
        model.num_col_, model.num_row_ = 2 * self.count, equations.shape[0]
        model.col_cost_ = np.ones(2 * self.count)
        model.col_lower_ = np.zeros(2 * self.count)
        model.col_upper_ = np.zeros(2 * self.count)
        model.row_lower_ = model.row_upper_ = np.zeros(equations.shape[0])
        model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        model.a_matrix_.start_ = matrix.indptr.astype(np.int32)
        model.a_matrix_.index_ = matrix.indices.astype(np.int32)
        model.a_matrix_.value_ = matrix.data.astype(np.float64)
        self.model = model
        self.solver = solver_of(model)
        self.every = np.arange(2 * self.count, dtype=np.int32)
        self.upper = np.zeros(2 * self.count)
        self.whole: highspy.Highs | None = None

    def open(self, withheld: BoolArray, price: FloatArray | None = None) -> None:
        """Let the counts of `withheld` cells change; with a `price`, those of all others that have one."""
        usable = withheld if price is None else withheld | np.isfinite(price)
        self.upper = np.r_[np.where(usable, highspy.kHighsInf, 0.0), np.where(usable, self.counts - 1.0, 0.0)]
        cost = np.where(withheld, 0.001, 0.0 if price is None else np.where(np.isfinite(price), price, 0.0))
        self.cost = np.r_[cost, cost]
        for solver in (self.solver, self.whole) if self.whole is not None else (self.solver,):
            solver.changeColsBounds(len(self.every), self.every, np.zeros(len(self.every)), self.upper)
            solver.changeColsCost(len(self.every), self.every, self.cost)

    def find(self, cell: int, amount: int, seconds: float = 10.0) -> tuple[IntArray | None, bool]:
        """A move that changes `cell` by at least `amount` (downwards if negative), and whether the answer is proved.

        A real-valued move is looked for first; where it is no whole one, an integer program decides.
        """
        column = cell if amount > 0 else cell + self.count
        if self.upper[column] < abs(amount):
            return None, True
        change, _ = self._solve(self.solver, column, abs(amount), cell)
        if change is None:
            return None, True
        move = self._checked(change)
        if move is not None:
            return move, True
        if self.whole is None:
            self.whole = solver_of(self.model)
            kinds = np.full(len(self.every), highspy.HighsVarType.kInteger)
            self.whole.changeColsIntegrality(len(self.every), self.every, kinds)
            self.whole.changeColsBounds(len(self.every), self.every, np.zeros(len(self.every)), self.upper)
            self.whole.changeColsCost(len(self.every), self.every, self.cost)
        self.whole.setOptionValue("time_limit", self.whole.getRunTime() + seconds)
        self.whole.setOptionValue("mip_rel_gap", 0.2)
        change, done = self._solve(self.whole, column, abs(amount), cell)
        return None if change is None else self._checked(change), done

    def _solve(self, solver: highspy.Highs, column: int, amount: int, cell: int) -> tuple[FloatArray | None, bool]:
        other = cell + self.count if column == cell else cell
        solver.changeColBounds(column, float(amount), float(self.upper[column]))
        solver.changeColBounds(other, 0.0, 0.0)
        solver.run()
        usable = solver.getInfo().primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
        values = np.asarray(solver.getSolution().col_value) if usable else None
        done = solver.getModelStatus() in (highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kInfeasible)
        solver.changeColBounds(column, 0.0, float(self.upper[column]))
        solver.changeColBounds(other, 0.0, float(self.upper[other]))
        return None if values is None else values[: self.count] - values[self.count :], done

    def _checked(self, change: FloatArray) -> IntArray | None:
        move = np.rint(change).astype(np.int64)
        if np.abs(change - move).max(initial=0.0) > 1e-4:
            return None
        return move if is_move(self.equations, self.counts, move) else None


def is_move(equations: sparse.csr_array, counts: IntArray, move: IntArray) -> bool:
    """Whether whole numbers leave every sum as it is and every changed count at one or more, by addition."""
    changed = move != 0
    return bool(not (equations @ move).any() and (counts[changed] + move[changed] >= 1).all())


def solver_of(model: highspy.HighsLp, options: Sequence[tuple[str, object]] = ()) -> highspy.Highs:
    """A quiet solver on one thread, holding `model`."""
    solver = highspy.Highs()  # type: ignore[no-untyped-call]
    for name, value in (("output_flag", False), ("threads", 1), *options):
        solver.setOptionValue(name, value)
    solver.passModel(model)
    return solver
