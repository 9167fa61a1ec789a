"""Whole counts near given values that keep every constraint, by HiGHS.

Each value goes down or up to the next whole number. Where the constraints are the counts of the area above and nested
margins of each part, the program is a transport problem, whose vertices are whole. Elsewhere an integer program is
solved, and counts may go further.
"""

import numpy as np
from scipy import sparse

from safemargin.core import FloatArray, IntArray, TooLargeError
from safemargin.topdown.ahead import Ahead
from safemargin.topdown.design import MOST
from safemargin.topdown.family import NEAR, AreaFamily
from safemargin.topdown.nonnegative import Infeasible

WHOLE = 1e-6
FAR = 3.0
"""Cost of going one further than the next whole number."""

SOME = 1000.0
"""How far counts may go at first: integer programs with wide limits lose digits."""

MANY = 20_000
"""Counts from which on interior points and a way to a vertex take less time than the simplex method."""

SECONDS = 120.0
"""Time for one integer program."""


def whole(family: AreaFamily, values: FloatArray, ahead: Ahead | None = None) -> IntArray:
    """The nearest whole counts, by the sum of distances; with `ahead`, among those that can be divided further down."""
    floor = np.floor(values + NEAR)
    floor[family.empty] = 0.0
    chance = np.where(family.empty, 0.0, np.clip(values - floor, 0.0, 1.0))
    step = np.where(family.empty | (chance == 0.0), 0.0, 1.0)
    found = _solved(family, ahead, floor, 1 - 2 * chance, step, None)
    for far in (SOME, np.inf):
        counts = _checked(family, ahead, found)
        if counts is not None:
            return counts
        free = np.where(family.empty, 0.0, far)
        found = _solved(family, ahead, floor, 1 - 2 * chance, np.where(family.empty, 0.0, 1.0), free)
    counts = _checked(family, ahead, found)
    if counts is None:
        raise Infeasible("no whole counts satisfy all constraints")
    return counts


def _checked(family: AreaFamily, ahead: Ahead | None, found: FloatArray | None) -> IntArray | None:
    """Counts that are whole and keep everything, by addition of whole numbers."""
    if found is None or np.abs(found - np.rint(found)).max(initial=0.0) > WHOLE:
        return None
    every = np.rint(found).astype(np.int64)
    counts, later = every[: len(family.target)], every[len(family.target) :]
    sums = family.matrix @ counts
    good = (every >= 0).all() and (sums >= family.least).all() and (sums <= family.most).all()
    if good and ahead is not None:
        sums = ahead.here @ counts + ahead.further @ later
        good = (sums >= ahead.least).all() and (sums <= ahead.most).all()
    return counts if good else None


def _solved(
    family: AreaFamily,
    ahead: Ahead | None,
    floor: FloatArray,
    cost: FloatArray,
    step: FloatArray,
    free: FloatArray | None,
) -> FloatArray | None:
    """An optimum of `floor` plus at most `step`, then the counts further down.

    With `free`, counts are whole and may go so much further, at a cost.
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
        high = np.concatenate([step, free, np.minimum(free, floor)])
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
    if free is None and model.num_col_ > MANY:
        solver.setOptionValue("solver", "ipm")
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
