"""HiGHS: a program as arrays, and what came of it. The solver is loaded with the first program, not before."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from safemargin.core import UNBOUNDED, FloatArray, IntArray

if TYPE_CHECKING:
    from highspy import Highs

Setting = bool | int | float | str

DEFAULTS: Mapping[str, Setting] = {}
PRIMAL: Mapping[str, Setting] = {"simplex_strategy": 4, "solver": "simplex", "presolve": "off"}
"""Settings for programs that differ in their costs only: each starts from the optimum of the last."""


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
    """A quiet solver on one thread; with `whole`, for whole numbers only."""
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
