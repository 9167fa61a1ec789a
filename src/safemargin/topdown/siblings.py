"""Sibling areas, the parts of one area, as one problem: counts near an estimate and under constraints.

Objects
    x           counts of all parts of one area, part by part
    A           rows of sums with least <= A x <= most: the counts of the area above, exact margins, bounds
    t, w        the least-squares estimate of x, and weights: one over its variance

Method
    1. The nearest real numbers: minimise sum w (x - t)^2, plus the same for margins that were measured, with x >= 0
       and the rows of A. Newton's method (`transport.py`) where the problem has its shape, else Clarabel.
    2. The nearest integers that keep every row, by HiGHS: each x becomes one of its two neighbours at the cost of the
       distance. If the rows are the area above and nested margins of each part, A is the matrix of a transport problem,
       whose vertices are integer, so a linear program is enough (Hoffman and Kruskal 1956). Otherwise an integer
       program, whose counts may go further than a neighbour.

What callers may rely on
    * `round_to_integers` returns integers that satisfy every row by integer addition (`_verified`), or raises.
    * Where tables further down limit what can be divided (`LookAhead`), their unknowns are part of step 2.
    * One thread and fixed options: the same public files give the same tables on every machine of a kind.

Example
    An area of 3 old and 4 young people has two parts with estimates of 1.4 and 1.6 old, 2.2 and 1.8 young. Rounding
    each by itself would give 1 + 2 and 2 + 2, which adds up here; it need not, and then the nearest that does is taken.

    >>> age = Attributes(("age",), (("old", "young"),))
    >>> near, even = np.array([[1.4, 2.2], [1.6, 1.8]]), {age.detailed: np.ones((2, 2))}
    >>> above, none = np.array([[3, 4]]), np.zeros(2, dtype=bool)
    >>> problem = SiblingMatrices(age, age.detailed).problem(above, [], [], none, near, even)
    >>> round_to_integers(problem, nonnegative_estimate(problem)).tolist()
    [1, 2, 2, 2]
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from safemargin.bounds import Form, solver_of, values_of
from safemargin.core import BoolArray, FloatArray, InputError, IntArray, TooLargeError
from safemargin.topdown.attributes import Attributes, MarginQuery
from safemargin.topdown.design import MAX_COUNT, LookAhead, MarginLimit, WeightedLimit
from safemargin.topdown.transport import TransportProblem

# Rows that an estimate misses by this much, and this share of their size, count as met.
TOLERANCE, RELATIVE = 1e-7, 1e-13
FAR = 1e5  # limits this many people away from the target are added only if the solution breaks them
SOLVED = ("Solved", "AlmostSolved", "InsufficientProgress")
INTEGRAL = 1e-6
STEP_COST = 3.0  # cost of each person beyond the next integer; more than any rounding saves
FIRST_RANGE = 1000.0  # how far counts may go at first: integer programs with wide limits lose digits
MANY = 20_000  # counts from which on an interior point method with crossover is faster than the simplex method
FREE = 1e12  # softness of a sum that nothing holds near its target: the price of any difference is negligible
SECONDS = 120.0  # time limit of one integer program
ONE_AREA = np.zeros(1, dtype=np.int64)  # all parts belong to the first area
TIME_UP = "Time limit reached"


class Infeasible(InputError):
    """No counts satisfy all constraints of sibling areas."""


@dataclass(frozen=True)
class SiblingProblem:
    """Counts `x` with `least <= matrix x <= most`, `x >= 0` and `x = 0` where `empty`, near `target`.

    `margins` should stay near those of the target too: a matrix, the weight of each of its rows, and how far each is
    from the target already. `target` and `weight` have one entry per count, area by area.
    """

    matrix: sparse.csr_array
    least: IntArray
    most: IntArray
    empty: BoolArray
    target: FloatArray
    weight: FloatArray
    margins: tuple[tuple[sparse.csr_array, FloatArray, FloatArray], ...] = ()

    def is_met(self, values: FloatArray) -> bool:
        """Whether values satisfy everything, up to rounding errors."""
        sums = self.matrix @ values
        slack = TOLERANCE + RELATIVE * np.abs(sums)
        return bool(
            (values >= -TOLERANCE).all()
            and (values[self.empty] <= TOLERANCE).all()
            and (sums >= self.least - slack).all()
            and (sums <= self.most + slack).all()
        )

    def without(self, gone: BoolArray) -> "SiblingProblem":
        """The same problem without counts that must be zero; what they contributed to targets of sums is taken off."""
        keep = ~gone
        lost = np.where(gone, self.target, 0.0)
        return SiblingProblem(
            self.matrix[:, keep],
            self.least,
            self.most,
            np.zeros(int(keep.sum()), dtype=bool),
            self.target[keep],
            self.weight[keep],
            tuple((matrix[:, keep], weight, shift - matrix @ lost) for matrix, weight, shift in self.margins),
        )


class SiblingMatrices:
    """The matrices of sibling problems of every size, each built once.

    Problems of equally many parts share a matrix; only ends, targets and weights differ.
    """

    def __init__(self, attributes: Attributes, margin: MarginQuery) -> None:
        self.attributes, self.margin = attributes, margin
        self._sums: dict[tuple[int, MarginQuery | bytes], sparse.csr_array] = {}
        self._weighted: dict[tuple[int, MarginQuery, bytes], sparse.csr_array] = {}

    def sums(self, areas: int, query: MarginQuery) -> sparse.csr_array:
        """Sums to a coarser margin in each area."""
        if (areas, query) not in self._sums:
            cells = self.attributes.cells(self.margin)
            rows = self.attributes.cell_of(query, self.margin)
            shape = (self.attributes.cells(query), cells)
            summed = sparse.csr_array((np.ones(cells), (rows, np.arange(cells))), shape=shape)
            self._sums[areas, query] = sparse.csr_array(sparse.kron(sparse.eye_array(areas), summed))
        return self._sums[areas, query]

    def _sums_above(self, areas: int, starts: IntArray) -> sparse.csr_array:
        """Sums of every count over the areas from each start on."""
        key = areas, starts.tobytes()
        if key not in self._sums:
            parent = np.repeat(np.arange(len(starts)), np.diff(starts, append=areas))
            above = sparse.csr_array((np.ones(areas), (parent, np.arange(areas))), shape=(len(starts), areas))
            self._sums[key] = sparse.csr_array(sparse.kron(above, sparse.eye_array(self.attributes.cells(self.margin))))
        return self._sums[key]

    def _weighted_sums(self, areas: int, limit: WeightedLimit) -> sparse.csr_array:
        """Weighted sums of the counts of each area."""
        key = areas, limit.query, limit.weights.tobytes()
        if key not in self._weighted:
            rows = sparse.csr_array(limit.on_cells(self.attributes, self.margin).astype(np.float64))
            self._weighted[key] = sparse.csr_array(sparse.kron(sparse.eye_array(areas), rows))
        return self._weighted[key]

    def problem(
        self,
        above: IntArray | None,
        limits: list[MarginLimit],
        weighted: Sequence[WeightedLimit],
        empty: BoolArray,
        target: FloatArray,
        weights: dict[MarginQuery, FloatArray],
        starts: IntArray = ONE_AREA,
    ) -> SiblingProblem:
        """The parts of areas as one problem: `target` and the weights of each margin have a row per part.

        `above` has the counts of the areas, whose first parts `starts` has. Rows are the limits, the sums above, and
        weighted sums, in this order.
        """
        areas, cells = target.shape
        blocks = [(self.sums(areas, limit.query), limit.low, limit.high) for limit in limits]
        if above is not None:
            blocks.append((self._sums_above(areas, starts), above, above))
        blocks += [(self._weighted_sums(areas, limit), limit.low, limit.high) for limit in weighted]
        if not blocks:
            none = np.zeros(0, dtype=np.int64)
            blocks.append((sparse.csr_array((0, areas * cells)), none, none))
        return SiblingProblem(
            sparse.csr_array(sparse.vstack([matrix for matrix, _, _ in blocks])),
            np.concatenate([low.reshape(-1) for _, low, _ in blocks]),
            np.concatenate([high.reshape(-1) for _, _, high in blocks]),
            np.tile(empty, areas),
            target.reshape(-1),
            weights[self.margin].reshape(-1),
            tuple(
                (self.sums(areas, query), weight.reshape(-1), np.zeros(areas * self.attributes.cells(query)))
                for query, weight in weights.items()
                if query != self.margin
            ),
        )

    def transport(
        self,
        above: IntArray,
        limits: list[MarginLimit],
        gone: BoolArray,
        target: FloatArray,
        weights: dict[MarginQuery, FloatArray],
        starts: IntArray,
    ) -> TransportProblem | None:
        """The same problem in the shape that Newton's method takes; None if it has another.

        That shape is: each count in an interval, the sums above exact, and at most one coarser margin, fixed or near
        its measurement. Anything else (weighted sums, crossing margins, bounds on sums) goes to Clarabel.
        """
        low, high = np.zeros(target.shape), np.where(gone, 0.0, np.inf)
        sums = {query: weight for query, weight in weights.items() if query != self.margin}
        fixed = dict[MarginQuery, IntArray]()
        for limit in limits:
            if limit.query == self.margin:
                low = np.maximum(low, limit.low)
                high = np.minimum(high, np.where(limit.high >= MAX_COUNT, np.inf, limit.high))
            elif (limit.low == limit.high).all():
                fixed[limit.query] = limit.low
            else:
                return None
        if len(sums.keys() | fixed.keys()) > 1 or (low > high).any():
            return None
        (query,) = (*fixed, *sums)[:1] or (MarginQuery(()),)
        groups = self.attributes.cell_of(query, self.margin)
        near = self.attributes.margin(target, query, self.margin)
        if query in fixed:
            near, softness = fixed[query].astype(np.float64), np.zeros(near.shape)
        elif query in sums:
            softness = 1 / sums[query]
        else:
            softness = np.full(near.shape, FREE)
        return TransportProblem(target, weights[self.margin], low, high, starts, above, groups, near, softness)


def nonnegative_estimate(problem: SiblingProblem) -> FloatArray:
    """The values nearest to the target that satisfy everything, as real numbers; raises `Infeasible` if there are none.

    Distant limits are omitted first, which keeps the program well scaled; if one is broken, all are used.
    """
    if not len(problem.target):
        raise Infeasible("no counts satisfy all constraints, because none is left")
    # Targets are rounded to binary fractions whose sums are exact, so that equations do not contradict each other.
    unit = 2.0 ** min(20, 50 - math.ceil(math.log2(1 + np.abs(problem.target).sum())))
    problem = replace(problem, target=np.rint(problem.target * unit) / unit)
    moved = problem.target + _shortest_step(problem, FAR)
    sums = problem.matrix @ moved
    # A distant limit that was omitted is broken by more than rounding errors: solve again with all limits.
    if (moved < -1).any() or (sums < problem.least - 1).any() or (sums > problem.most + 1).any():
        moved = problem.target + _shortest_step(problem, np.inf)
    values: FloatArray = np.maximum(moved, 0.0)
    return values


def _shortest_step(problem: SiblingProblem, far: float) -> FloatArray:
    """The shortest step from the target to where all limits hold that are at most `far` away.

    The unknown is the step, which is short, and not the counts: large counts would lose digits.
    """
    size = len(problem.target)
    scale = problem.weight.max()  # weights up to 1 keep the solver's tolerances meaningful
    weights, ties = [problem.weight / scale], []
    width = size + sum(len(weight) for _, weight, _ in problem.margins)
    column = size
    for matrix, weight, _ in problem.margins:  # one more variable per sum keeps the quadratic form diagonal and sparse
        weights.append(weight / scale)
        shift = sparse.csr_array(
            (np.ones(len(weight)), (np.arange(len(weight)), np.arange(column, column + len(weight)))),
            shape=(len(weight), width),
        )
        ties.append(_widen(matrix, width) - shift)
        column += len(weight)
    rows, now = _widen(problem.matrix, width), problem.matrix @ problem.target
    fixed = problem.least == problem.most
    above = (problem.most < MAX_COUNT) & ~fixed & (problem.most - now < far)
    below = (problem.least > 0) & ~fixed & (now - problem.least < far)
    identity = _widen(sparse.eye_array(size, format="csr"), width)
    near = ~problem.empty & (problem.target < far)
    equal = [rows[fixed], identity[problem.empty], *ties]
    right = [
        (problem.least - now)[fixed],
        -problem.target[problem.empty],
        *(-shift for _, _, shift in problem.margins),
        (problem.most - now)[above],
        (now - problem.least)[below],
        problem.target[near],
    ]
    limited = sparse.csc_array(sparse.vstack([*equal, rows[above], -rows[below], -identity[near]]))
    equations = sum(block.shape[0] for block in equal)
    return _least_squares(np.concatenate(weights), limited, np.concatenate(right), equations)[:size]


def _least_squares(weights: FloatArray, matrix: sparse.csc_array, right: FloatArray, equations: int) -> FloatArray:
    """The least `x` by weighted squares with `matrix x <= right`, with equality in the first rows.

    Raises `Infeasible` if the solver ends without a solution in both scalings; integer tables may still exist, so
    callers with an integer program ask that (`LevelProblem._solve_margin`).
    """
    import clarabel

    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1  # one thread: results must not depend on the machine
    cones = [clarabel.ZeroConeT(equations), clarabel.NonnegativeConeT(len(right) - equations)]
    squares, zero = sparse.diags_array(weights, format="csc"), np.zeros(len(weights))
    # A long step among small limits may look infeasible to an interior point method; the second attempt scales it.
    for unit in (1.0, 1.0 + float(np.abs(right).max(initial=0.0))):
        solution = clarabel.DefaultSolver(squares, zero, matrix, right / unit, cones, settings).solve()
        if str(solution.status) in SOLVED:
            return np.asarray(solution.x, dtype=np.float64) * unit
    raise Infeasible(f"no counts satisfy all constraints ({solution.status})")


def _widen(matrix: sparse.csr_array, width: int) -> sparse.csr_array:
    """The same rows with further empty columns."""
    return sparse.csr_array((matrix.data, matrix.indices, matrix.indptr), shape=(matrix.shape[0], width))


def round_to_integers(problem: SiblingProblem, values: FloatArray, ahead: LookAhead | None = None) -> IntArray:
    """The nearest integer counts by the sum of distances; with `ahead`, among those that can be divided further.

    First to neighbours (a linear program, integral for transport problems), then integers within `FIRST_RANGE`, then
    any. Every attempt is verified by integer addition; raises `Infeasible` if an integer program proves that there are
    none.
    """
    floor = np.floor(values + TOLERANCE)
    floor[problem.empty] = 0.0
    fraction = np.where(problem.empty, 0.0, np.clip(values - floor, 0.0, 1.0))
    step = np.where(problem.empty | (fraction == 0.0), 0.0, 1.0)  # integers stay, fractions go to a neighbour
    # Rounding up a value with fraction f costs (1 - f) and saves f: the distance, up to a constant.
    solution = _round(problem, ahead, floor, 1 - 2 * fraction, step, None)
    for reach in (FIRST_RANGE, np.inf):
        counts = _verified(problem, ahead, solution)
        if counts is not None:
            return counts
        free = np.where(problem.empty, 0.0, reach)
        solution = _round(problem, ahead, floor, 1 - 2 * fraction, np.where(problem.empty, 0.0, 1.0), free)
    counts = _verified(problem, ahead, solution)
    if counts is None:
        raise Infeasible("no integer counts satisfy all constraints")
    return counts


def _verified(problem: SiblingProblem, ahead: LookAhead | None, solution: FloatArray | None) -> IntArray | None:
    """Counts that are integers and satisfy everything, by integer addition."""
    if solution is None or np.abs(solution - np.rint(solution)).max(initial=0.0) > INTEGRAL:
        return None
    integers = np.rint(solution).astype(np.int64)
    counts, further = integers[: len(problem.target)], integers[len(problem.target) :]
    sums = problem.matrix @ counts
    good = (integers >= 0).all() and (sums >= problem.least).all() and (sums <= problem.most).all()
    if good and ahead is not None:
        sums = ahead.here @ counts + ahead.below @ further
        good = (sums >= ahead.least).all() and (sums <= ahead.most).all()
    return counts if good else None


def _round(
    problem: SiblingProblem,
    ahead: LookAhead | None,
    floor: FloatArray,
    cost: FloatArray,
    step: FloatArray,
    free: FloatArray | None,
) -> FloatArray | None:
    """An optimum of `floor` plus at most `step`, then the counts further down; nothing if there is none.

    With `free`, counts are integers and may go that much further, at a cost. Running out of time raises: an unsolved
    program is no proof that there are no counts.
    """
    size = len(floor)
    rows, below = problem.matrix, sparse.csr_array((problem.matrix.shape[0], 0))
    least, most = problem.least, problem.most
    if ahead is not None:
        above = sparse.csr_array((rows.shape[0], ahead.below.shape[1]))
        rows, below = sparse.csr_array(sparse.vstack([rows, ahead.here])), sparse.vstack([above, ahead.below])
        least, most = np.concatenate([least, ahead.least]), np.concatenate([most, ahead.most])
    base = rows @ floor
    blocks, high = [rows], [step]
    if free is not None:  # columns for going further up, and further down
        blocks, high = [rows, rows, -rows], [step, free, np.minimum(free, floor)]
        cost = np.concatenate([cost, np.full(2 * size, STEP_COST)])
    further = below.shape[1]
    matrix = sparse.csc_array(sparse.hstack([*blocks, below]))
    form = Form(
        matrix,
        np.concatenate([cost, np.zeros(further)]),
        np.zeros(matrix.shape[1]),
        np.concatenate([*high, np.full(further, np.inf)]),
        np.where(least <= -MAX_COUNT, -np.inf, least - base),
        np.where(most >= MAX_COUNT, np.inf, most - base),
    )
    options: dict[str, bool | int | float | str] = {"mip_rel_gap": 0.0, "time_limit": SECONDS}
    if free is None:
        # Crossover ends at a vertex, and vertices of transport problems are integer. Presolving small ones takes as
        # long as solving them: 0.6 and 0.6 s of CPU for the 10,000 blocks of a synthetic country.
        options |= {"solver": "ipm"} if matrix.shape[1] > MANY else {"presolve": "off"}
    solver = solver_of(form, options, whole=free is not None)
    solver.run()
    solution = values_of(solver)
    if solution is None:
        if solver.modelStatusToString(solver.getModelStatus()) == TIME_UP:
            raise TooLargeError(f"no integer counts were found in {SECONDS:.0f} s, and none are known not to exist")
        return None
    if free is not None:
        moved = solution[:size] + solution[size : 2 * size] - solution[2 * size : 3 * size]
        solution = np.concatenate([moved, solution[3 * size :]])
    solution[:size] += floor
    return solution
