"""Whole counts near given values that keep every constraint, by HiGHS.

Each value goes down or up to the next whole number. Where the constraints are the counts of the area above and nested
margins of each part, the program is a transport problem, whose vertices are whole. Elsewhere an integer program is
solved, and counts may go further.
"""

import numpy as np
from scipy import sparse

from safemargin.mechanisms.topdown.family import NEAR, Family
from safemargin.mechanisms.topdown.nonnegative import Infeasible
from safemargin.model.arrays import BoolArray, FloatArray, IntArray
from safemargin.model.design import MOST

WHOLE = 1e-6
FAR = 3.0
"""Cost of going one further than the next whole number."""


def whole(family: Family, values: FloatArray) -> IntArray:
    """The nearest whole counts, by the sum of distances."""
    floor = np.floor(values + NEAR)
    floor[family.empty] = 0.0
    chance = np.where(family.empty, 0.0, np.clip(values - floor, 0.0, 1.0))
    step = np.where(family.empty | (chance == 0.0), 0.0, 1.0)
    found = _solved(family, floor, 1 - 2 * chance, step, None)
    if found is None or np.abs(found - np.rint(found)).max(initial=0.0) > WHOLE:
        found = _solved(family, floor, 1 - 2 * chance, np.where(family.empty, 0.0, 1.0), ~family.empty)
    if found is None:
        raise Infeasible("no whole counts satisfy all constraints")
    counts = np.rint(found).astype(np.int64)
    sums = family.matrix @ counts
    if (counts < 0).any() or (sums < family.least).any() or (sums > family.most).any():
        raise Infeasible("no whole counts satisfy all constraints")
    return counts


def _solved(
    family: Family, floor: FloatArray, cost: FloatArray, step: FloatArray, free: BoolArray | None
) -> FloatArray | None:
    """An optimum of `floor` plus at most `step`; where `free`, counts are whole and may go further, at a cost."""
    import highspy

    matrix = family.matrix
    low, high = np.zeros_like(step), step
    size = len(floor)
    if free is not None:
        matrix = sparse.csr_array(sparse.hstack([matrix, matrix, -matrix]))
        cost = np.concatenate([cost, np.full(2 * size, FAR)])
        low = np.zeros(3 * size)
        high = np.concatenate([step, np.where(free, np.inf, 0.0), np.where(free, floor, 0.0)])
    columns = sparse.csc_array(matrix)
    base = family.matrix @ floor
    model = highspy.HighsLp()
    model.num_row_, model.num_col_ = columns.shape
    model.col_cost_, model.col_lower_, model.col_upper_ = cost, low, high
    model.row_lower_ = family.least - base
    model.row_upper_ = np.where(family.most >= MOST, np.inf, family.most - base)
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_ = columns.indptr.astype(np.int32)
    model.a_matrix_.index_ = columns.indices.astype(np.int32)
    model.a_matrix_.value_ = columns.data.astype(np.float64)
    solver = highspy.Highs()  # type: ignore[no-untyped-call]
    for name, value in {"output_flag": False, "threads": 1, "mip_rel_gap": 0.0, "time_limit": 120.0}.items():
        solver.setOptionValue(name, value)
    solver.passModel(model)
    if free is not None:
        places = np.arange(model.num_col_, dtype=np.int32)
        solver.changeColsIntegrality(len(places), places, np.full(len(places), highspy.HighsVarType.kInteger))
    solver.run()
    if solver.getInfo().primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
        return None
    found: FloatArray = np.asarray(solver.getSolution().col_value, dtype=np.float64)
    if free is not None:
        found = found[:size] + found[size : 2 * size] - found[2 * size :]
    values: FloatArray = floor + found
    return values
