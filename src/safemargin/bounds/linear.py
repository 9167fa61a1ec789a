"""Linear and integer programs over the tables that the facts admit: one model, one cost vector changed per solve.

Settings as measured: primal simplex without presolve, linearly independent rows (see docs/bounds.md).
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import linalg, sparse
from threadpoolctl import threadpool_limits

from safemargin.bounds.solver import PRIMAL, Form, is_infeasible, is_optimal, limits, solver_of
from safemargin.bounds.system import System
from safemargin.core import UNBOUNDED, ContradictionError, FloatArray, IntArray

if TYPE_CHECKING:
    from highspy import Highs

MOST_ROWS_TO_THIN = 3_000


@dataclass(frozen=True)
class Optimum:
    """Value of a program and the table that attains it.

    If the solver stopped before the optimum, `proved` is false and `value` is what no table exceeds.
    """

    value: float
    values: FloatArray
    proved: bool


class Program:
    """A HiGHS model of one system, kept warm between objectives."""

    def __init__(self, known: System, low: IntArray, high: IntArray) -> None:
        self.known = known
        self.loose = np.flatnonzero(low < high)
        self.fixed = low.astype(np.float64)
        matrix, lower, upper = joint_rows(known)
        shift = matrix @ np.where(low < high, 0, low)
        matrix = sparse.csr_array(matrix[:, self.loose])
        keep = _independent(matrix, lower, upper)
        implied = np.setdiff1d(np.arange(len(lower)), keep)
        self.implied = matrix[implied], (lower - shift)[implied]
        matrix, lower, upper, shift = matrix[keep], lower[keep], upper[keep], shift[keep]
        self.form = Form(
            sparse.csc_array(matrix),
            np.zeros(len(self.loose)),
            low[self.loose].astype(np.float64),
            limits(high[self.loose]),
            np.where(lower > -UNBOUNDED, lower - shift, -np.inf).astype(np.float64),
            np.where(upper < UNBOUNDED, upper - shift, np.inf).astype(np.float64),
        )
        self.solver = solver_of(self.form, PRIMAL)
        self.solves = 0

    def maximise(self, cost: FloatArray) -> Optimum:
        """The largest value of `cost . x` over real tables."""
        return self._optimum(self.solver, cost)

    def maximise_integer(self, cost: FloatArray, seconds: float) -> Optimum:
        """The largest value of `cost . x` over integer tables.

        If `seconds` do not suffice, `proved` is false, and `value` is what no table exceeds.
        """
        options = {"time_limit": seconds, "mip_rel_gap": 0.0, "mip_abs_gap": 0.5}
        solver = solver_of(self.form, options, whole=True)
        return self._optimum(solver, cost)

    def _optimum(self, solver: "Highs", cost: FloatArray) -> Optimum:
        self.solves += 1
        count = len(self.loose)
        constant = float(cost @ np.where(self._is_loose(), 0.0, self.fixed))
        if count == 0:
            return Optimum(constant, self.fixed.copy(), True)
        solver.changeColsCost(count, np.arange(count, dtype=np.int32), -cost[self.loose])
        solver.run()
        if is_infeasible(solver):
            raise ContradictionError("the facts contradict each other: no table satisfies all of them")
        values = self.fixed.copy()
        solution = np.asarray(solver.getSolution().col_value)
        proved = is_optimal(solver)
        if len(solution) == count:
            values[self.loose] = solution
            self._check_implied(solution, proved)
        if proved:
            return Optimum(float(cost @ values), values, True)
        limit = -float(solver.getInfo().mip_dual_bound) + constant
        return Optimum(limit if solver is not self.solver else np.inf, values, False)

    def _check_implied(self, solution: FloatArray, proved: bool) -> None:
        """Equations that were left out have the same left side in every solution; one look tells if they hold."""
        matrix, wanted = self.implied
        if proved and len(wanted):
            if (np.abs(matrix @ solution - wanted) > 1e-3).any():
                raise ContradictionError("the facts contradict each other: no table satisfies all of them")
            self.implied = matrix[:0], wanted[:0]

    def _is_loose(self) -> np.ndarray:
        mask = np.zeros(self.known.size, dtype=bool)
        mask[self.loose] = True
        return mask


def integer_table(known: System, values: FloatArray) -> IntArray | None:
    """`values` in whole numbers if they satisfy every fact exactly."""
    counts = np.rint(values).astype(np.int64)
    return counts if known.admits(counts) else None


def joint_rows(known: System) -> tuple[sparse.csr_array, IntArray, IntArray]:
    """The rows of the system, with one more per profile where several options share its people."""
    if known.people is None or known.free == 1:
        return known.rows, known.lower, known.upper
    profiles = np.arange(known.size) // known.free
    shared = sparse.csr_array((np.ones(known.size, dtype=np.int64), (profiles, np.arange(known.size))))
    matrix = sparse.csr_array(sparse.vstack([known.rows, shared]))
    nothing = np.zeros(len(known.people), dtype=np.int64)
    return matrix, np.r_[known.lower, nothing], np.r_[known.upper, known.people]


def _independent(matrix: sparse.csr_array, lower: IntArray, upper: IntArray) -> IntArray:
    """Rows to keep: all ranges, and a basis of the equations (the others follow from them)."""
    equal = np.flatnonzero(lower == upper)
    if not 1 < len(equal) <= MOST_ROWS_TO_THIN:
        return np.arange(len(lower))
    part = matrix[equal].astype(np.float64)
    gram = np.asarray((part @ part.T).todense())
    with threadpool_limits(1):
        _, pivots, rank, _ = linalg.lapack.dpstrf(gram, lower=0, tol=1e-7 * max(float(gram.diagonal().max()), 1.0))
    kept = equal[np.sort(pivots[:rank] - 1)]
    return np.sort(np.r_[kept, np.flatnonzero(lower != upper)])
