"""Whole counts near given values that keep every constraint, by HiGHS.

Each value goes down or up to the next whole number. Where the constraints are the counts of the area above and nested
margins of each part, the program is a transport problem, whose vertices are whole. Elsewhere an integer program is
solved, and counts may go further.
"""

import numpy as np
from scipy import sparse

from safemargin.errors import TooLargeError
from safemargin.mechanisms.topdown.ahead import Ahead
from safemargin.mechanisms.topdown.family import NEAR, Family
from safemargin.mechanisms.topdown.nonnegative import Infeasible
from safemargin.model.arrays import BoolArray, FloatArray, IntArray
from safemargin.model.design import MOST

WHOLE = 1e-6
FAR = 3.0
"""Cost of going one further than the next whole number."""

SECONDS = 120.0
"""Time for one integer program."""


def whole(family: Family, values: FloatArray, ahead: Ahead | None = None) -> IntArray:
    """The nearest whole counts, by the sum of distances; with `ahead`, among those that can be divided further down."""
    floor = np.floor(values + NEAR)
    floor[family.empty] = 0.0
    chance = np.where(family.empty, 0.0, np.clip(values - floor, 0.0, 1.0))
    step = np.where(family.empty | (chance == 0.0), 0.0, 1.0)
    found = _solved(family, ahead, floor, 1 - 2 * chance, step, None)
    if found is None or np.abs(found - np.rint(found)).max(initial=0.0) > WHOLE:
        found = _solved(family, ahead, floor, 1 - 2 * chance, np.where(family.empty, 0.0, 1.0), ~family.empty)
    if found is None:
        raise Infeasible("no whole counts satisfy all constraints")
    every = np.rint(found).astype(np.int64)
    counts, later = every[: len(floor)], every[len(floor) :]
    sums = family.matrix @ counts
    if (every < 0).any() or (sums < family.least).any() or (sums > family.most).any():
        raise Infeasible("no whole counts satisfy all constraints")
    if ahead is not None:
        sums = ahead.here @ counts + ahead.further @ later
        if (sums < ahead.least).any() or (sums > ahead.most).any():
            raise Infeasible("no whole counts satisfy all constraints")
    return counts


def _solved(
    family: Family, ahead: Ahead | None, floor: FloatArray, cost: FloatArray, step: FloatArray, free: BoolArray | None
) -> FloatArray | None:
    """An optimum of `floor` plus at most `step`, then the counts further down.

    Where `free`, counts are whole and may go further, at a cost.
    """
    import highspy

    matrix, base = family.matrix, family.matrix @ floor
    least, most = family.least - base, np.where(family.most >= MOST, np.inf, family.most - base)
    later, size = 0, len(floor)
    if ahead is not None:
        matrix, later = sparse.csr_array(sparse.vstack([matrix, ahead.here])), ahead.further.shape[1]
        base = ahead.here @ floor
        least = np.concatenate([least, ahead.least - base])
        most = np.concatenate([most, np.where(ahead.most >= MOST, np.inf, ahead.most - base)])
    low, high = np.zeros_like(step), step
    if free is not None:
        matrix = sparse.csr_array(sparse.hstack([matrix, matrix, -matrix]))
        cost = np.concatenate([cost, np.full(2 * size, FAR)])
        low = np.zeros(3 * size)
        high = np.concatenate([step, np.where(free, np.inf, 0.0), np.where(free, floor, 0.0)])
    if ahead is not None:
        above = sparse.csr_array((family.matrix.shape[0], later))
        matrix = sparse.csr_array(sparse.hstack([matrix, sparse.vstack([above, ahead.further])]))
        cost, low = np.concatenate([cost, np.zeros(later)]), np.concatenate([low, np.zeros(later)])
        high = np.concatenate([high, np.full(later, np.inf)])
    columns = sparse.csc_array(matrix)
    model = highspy.HighsLp()
    model.num_row_, model.num_col_ = columns.shape
    model.col_cost_, model.col_lower_, model.col_upper_ = cost, low, high
    model.row_lower_, model.row_upper_ = least, most
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_ = columns.indptr.astype(np.int32)
    model.a_matrix_.index_ = columns.indices.astype(np.int32)
    model.a_matrix_.value_ = columns.data.astype(np.float64)
    solver = highspy.Highs()  # type: ignore[no-untyped-call]
    for name, value in {"output_flag": False, "threads": 1, "mip_rel_gap": 0.0, "time_limit": SECONDS}.items():
        solver.setOptionValue(name, value)
    solver.passModel(model)
    if free is not None:
        places = np.arange(model.num_col_, dtype=np.int32)
        solver.changeColsIntegrality(len(places), places, np.full(len(places), highspy.HighsVarType.kInteger))
    solver.run()
    if solver.getInfo().primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
        if solver.getModelStatus() == highspy.HighsModelStatus.kTimeLimit:
            raise TooLargeError(f"no whole counts were found in {SECONDS:.0f} s, and none are known not to exist")
        return None
    found: FloatArray = np.asarray(solver.getSolution().col_value, dtype=np.float64)
    if free is not None:
        found = np.concatenate([found[:size] + found[size : 2 * size] - found[2 * size : 3 * size], found[3 * size :]])
    found[:size] += floor
    return found
