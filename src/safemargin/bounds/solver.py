"""Linear and integer programs by HiGHS. The solver is loaded with the first program, not before.

Objects
    form        min cost . x with least <= M x <= most and low <= x <= high
    program     a form that is solved many times with other costs, kept warm
    optimum     value and table; `proved` if the solver came to its end

Settings as measured (docs/bounds.md): primal simplex, since a change of cost keeps the basis primal feasible; presolve
for thousands of counts only; linearly independent rows. This is 4 to 23 times faster than the defaults of HiGHS.

What callers may rely on
    * Values are floating point. Callers round and verify tables, and widen bounds by `1e-6 * sqrt(value)` or more:
      the feasibility tolerance of HiGHS is 1e-7 per row.
    * If a limit stops an integer program, `Optimum.value` is the solver's dual bound: no table exceeds it.
    * One thread, fixed settings: the same program gives the same vertex on one version of HiGHS.

Example
    The most of x + 2 y with x + y = 3 and ceilings of 2:

    >>> rows = sparse.csr_array(np.array([[1, 1]])), np.array([3]), np.array([3])
    >>> program = Program(rows, np.zeros(2, dtype=int), np.full(2, 2), thinned=100, plain=100)
    >>> best = program.maximise(np.array([1.0, 2.0]))
    >>> best.value, best.values.tolist(), best.proved
    (5.0, [1.0, 2.0], True)
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import linalg, sparse

from safemargin.core import UNBOUNDED, ContradictionError, FloatArray, IntArray, one_thread

if TYPE_CHECKING:
    from highspy import Highs

Setting = bool | int | float | str
DEFAULTS: Mapping[str, Setting] = {}
PRIMAL: Mapping[str, Setting] = {"simplex_strategy": 4, "solver": "simplex", "presolve": "off"}
"""Settings for programs that differ in their costs only: each starts from the optimum of the last."""
DUAL: Mapping[str, Setting] = {"presolve": "off", "solver": "simplex"}
"""Settings for programs that differ in their bounds only."""


@dataclass(frozen=True)
class Form:
    """The least `cost . x` with `low <= x <= high` and `least <= matrix x <= most`."""

    matrix: sparse.csc_array
    cost: FloatArray
    low: FloatArray
    high: FloatArray
    least: FloatArray
    most: FloatArray


def solver_of(form: Form, options: Mapping[str, Setting] = DEFAULTS, whole: bool = False) -> "Highs":
    """A quiet solver on one thread; with `whole`, for integers only."""
    import highspy

    model = highspy.HighsLp()
    model.num_row_, model.num_col_ = form.matrix.shape
    model.col_cost_, model.col_lower_, model.col_upper_ = form.cost, form.low, form.high
    model.row_lower_, model.row_upper_ = form.least, form.most
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_ = form.matrix.indptr.astype(np.int32)
    model.a_matrix_.index_ = form.matrix.indices.astype(np.int32)
    model.a_matrix_.value_ = form.matrix.data.astype(np.float64)
    solver = highspy.Highs()  # type: ignore[no-untyped-call]
    for name, value in {"output_flag": False, "threads": 1, **options}.items():
        solver.setOptionValue(name, value)
    solver.passModel(model)
    if whole:
        every = np.arange(model.num_col_, dtype=np.int32)
        solver.changeColsIntegrality(len(every), every, np.full(len(every), highspy.HighsVarType.kInteger))
    return solver


def limits(values: IntArray) -> FloatArray:
    """Ends of ranges, infinite where there is no limit."""
    ends: FloatArray = np.where(values >= UNBOUNDED, np.inf, values.astype(np.float64))
    return ends


def form_of(rows: tuple[sparse.csr_array, IntArray, IntArray], low: IntArray, high: IntArray) -> Form:
    """Rows, which have a least and a most, over counts from `low` to `high`; without a cost."""
    matrix, lower, upper = rows
    least = np.where(lower > -UNBOUNDED, lower, -np.inf).astype(np.float64)
    nothing = np.zeros(matrix.shape[1])
    return Form(sparse.csc_array(matrix), nothing, low.astype(np.float64), limits(high), least, limits(upper))


def is_optimal(solver: "Highs") -> bool:
    """Whether the solver came to its end."""
    import highspy

    return bool(solver.getModelStatus() == highspy.HighsModelStatus.kOptimal)


def is_infeasible(solver: "Highs") -> bool:
    """Whether the solver proved that there is no solution."""
    import highspy

    return bool(solver.getModelStatus() == highspy.HighsModelStatus.kInfeasible)


def values_of(solver: "Highs") -> FloatArray | None:
    """What the solver found, if it satisfies the rows."""
    import highspy

    usable = solver.getInfo().primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    return np.asarray(solver.getSolution().col_value) if usable else None


def add_sum(solver: "Highs", places: IntArray, weights: FloatArray, value: float) -> int:
    """Add the row that `weights * x[places]` adds up to `value`; returns its number."""
    row: int = solver.getNumRow()
    solver.addRow(value, value, len(places), places.astype(np.int32), weights)
    return row


def drop_row(solver: "Highs", row: int) -> None:
    """Take a row out again."""
    solver.deleteRows(1, np.array([row], dtype=np.int32))


@dataclass(frozen=True)
class Optimum:
    """Value of a program and the table that attains it.

    If the solver stopped before the optimum, `proved` is false and `value` is what no table exceeds.
    """

    value: float
    values: FloatArray
    proved: bool


class Program:
    """A HiGHS model of rows, which have a least and a most, with counts from `low` to `high`, kept warm.

    Dependent rows are omitted among at most `thinned` equations; beyond `plain` counts the first program is presolved.
    Variables with `low == high` are no columns; `loose` are the others. `solves` counts programs, for budgets.
    """

    def __init__(
        self, rows: tuple[sparse.csr_array, IntArray, IntArray], low: IntArray, high: IntArray, thinned: int, plain: int
    ) -> None:
        self.size = len(low)
        self.loose = np.flatnonzero(low < high)
        self.fixed = low.astype(np.float64)
        matrix, lower, upper = rows
        shift = matrix @ np.where(low < high, 0, low)
        matrix = sparse.csr_array(matrix[:, self.loose])
        keep = _independent(matrix, lower, upper, thinned)
        implied = np.setdiff1d(np.arange(len(lower)), keep)
        self.implied = matrix[implied], (lower - shift)[implied]
        matrix, lower, upper, shift = matrix[keep], lower[keep], upper[keep], shift[keep]
        shifted = np.where(lower > -UNBOUNDED, lower - shift, lower), np.where(upper < UNBOUNDED, upper - shift, upper)
        self.form = form_of((matrix, *shifted), low[self.loose], high[self.loose])
        # Presolve shortens the first program only: HiGHS skips it where it starts from the optimum of the last.
        is_large = len(self.loose) > plain
        self.solver = solver_of(self.form, {**PRIMAL, "presolve": "on"} if is_large else PRIMAL)
        self.solves = 0

    def maximise(self, cost: FloatArray) -> Optimum:
        """The largest value of `cost . x` over real tables."""
        return self._optimum(self.solver, cost)

    def vertex(self, cost: FloatArray) -> FloatArray:
        """A real table with the largest `cost . x`, from scratch: for costs that have nothing to do with the last."""
        # Presolve and the dual simplex method: 2 s for 20,000 people and 40 axes, where a warm start takes 30 s.
        return self._optimum(solver_of(self.form), cost).values

    def maximise_integer(self, cost: FloatArray, seconds: float = np.inf, nodes: int | None = None) -> Optimum:
        """The largest value of `cost . x` over integer tables.

        If `seconds` or `nodes` do not suffice, `proved` is false, and `value` is what no table exceeds. What decides
        about a release is limited in nodes, so that every run finds the same.
        """
        # With integer costs a gap below 1 proves the optimum: 0.5 saves the last branches.
        options: dict[str, Setting] = {"mip_rel_gap": 0.0, "mip_abs_gap": 0.5, "time_limit": seconds}
        if nodes is not None:
            options["mip_max_nodes"] = nodes
        solver = solver_of(self.form, options, whole=True)
        return self._optimum(solver, cost)

    def _optimum(self, solver: "Highs", cost: FloatArray) -> Optimum:
        """Solve with this cost over the loose variables, and put the fixed ones back.

        Raises `ContradictionError` if the solver proved that no real-valued table satisfies the rows.
        """
        self.solves += 1
        count = len(self.loose)
        constant = float(cost @ self.fixed - cost[self.loose] @ self.fixed[self.loose])
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
        # Not optimal: the dual bound is still valid for every table; the primal value is not a bound.
        limit = -float(solver.getInfo().mip_dual_bound) + constant
        return Optimum(limit if solver is not self.solver else np.inf, values, False)

    def _check_implied(self, solution: FloatArray, proved: bool) -> None:
        """Equations that were omitted have the same left side in every solution; one look shows if they hold."""
        matrix, wanted = self.implied
        if proved and len(wanted):
            # Integers on both sides: a real disagreement is at least 1, anything near 1e-3 is rounding of the solver.
            if (np.abs(matrix @ solution - wanted) > 1e-3).any():
                raise ContradictionError("the facts contradict each other: no table satisfies all of them")
            self.implied = matrix[:0], wanted[:0]


def _independent(matrix: sparse.csr_array, lower: IntArray, upper: IntArray, most: int) -> IntArray:
    """Rows to keep: all ranges, and a basis of the equations (the others follow from them)."""
    equal = np.flatnonzero(lower == upper)
    if not 1 < len(equal) <= most:
        return np.arange(len(lower))
    part = matrix[equal].astype(np.float64)
    # Pivoted Cholesky of the Gram matrix finds independent rows; entries are small integers, so 1e-7 separates rank.
    gram = np.asarray((part @ part.T).todense())
    with one_thread():
        _, pivots, rank, _ = linalg.lapack.dpstrf(gram, lower=0, tol=1e-7 * max(float(gram.diagonal().max()), 1.0))
    kept = equal[np.sort(pivots[:rank] - 1)]
    return np.sort(np.r_[kept, np.flatnonzero(lower != upper)])
