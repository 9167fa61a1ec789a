"""Cuts: sets of published cells of which at least one must be suppressed before a cell is protected.

Objects (as in `moves.py`)
    S           a trial: cells that are not printed; the others are published, m[j] = 0 there
    i           a cell of S that the trial does not protect
    u           multipliers, one per sum; s = E'u - e_i is what they leave at each cell

Statement (Farkas; the Benders cuts of Fischetti and Salazar, Management Science 47, 2001)
    For every move, 0 = u'(E m) = m[i] + sum_j s[j] m[j]. If s[j] >= 0 on S, then, since m[j] >= -room[j],

        m[i] = -sum_j s[j] m[j] <= sum_{j in S} s[j] room[j],

    so i cannot rise by `rise` if the right-hand side is below it. Cells with s[j] = 0 do not enter, suppressed or not.
    Hence any pattern that lets i rise suppresses one of C = {j published : s[j] != 0}: that set is the cut. With -e_i
    for e_i the same proves that i cannot fall; a cell that can do neither is known exactly.

Method
    A linear program looks for u with a small 1-norm on published cells (a stand-in for a small C), near the equations
    of a Farkas ray. Its optimum is read as fractions and verified in integers: a cut that fails there is dropped.

What callers may rely on
    * Every cut holds for every pattern, in exact integers. So the least cost of a set of cells that meets all cuts
      (`MasterProblem`, a hitting set with a binary per cell) is a lower bound of every pattern's cost.
    * There are tables in which integrality alone discloses a cell. They have no such cut; `search.py` grows one.

Example
    A row of two cells, one suppressed: the other must be suppressed too, or the sum gives it back.

    >>> from safemargin.core import Hierarchy, lattice
    >>> from safemargin.suppress.linked import single
    >>> from safemargin.suppress.problem import build_problem
    >>> table = lattice([Hierarchy.flat("sex", ["f", "m"]), Hierarchy.flat("age", ["old", "young"])], [[1, 4], [5, 6]])
    >>> problem = build_problem(single(table), (1, 1))
    >>> sorted(cut.cells for cut in single_gap_cuts(problem, problem.primary))  # 0 is the grand total
    [(1, 7), (3, 5)]
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
from scipy import sparse

from safemargin.bounds import Form, is_optimal, solver_of
from safemargin.core import BoolArray, FloatArray, IntArray
from safemargin.suppress.finder import MoveFinder
from safemargin.suppress.moves import PUBLIC, Problem, View

MAX_DENOMINATOR = 200
MAX_SCALE = 10**6
# How much of the last person a proof may leave open; with these the vertices of the program are simple fractions.
SLACKS = (0.0, 0.75)
OPTIMAL = {"mip_rel_gap": 0.0, "mip_abs_gap": 0.5}  # costs are integers, so a gap below one is the optimum


@dataclass(frozen=True)
class Bound:
    """`coefficients . room` of some suppressed `cells` is below `amount * scale`: one direction of a cut's proof.

    These are s[j] times a common denominator, `scale`, of the multipliers: integers, so that addition verifies them,
    and the same proof can be tried in another table, where only the room differs. `rows` are the sums that it adds up,
    `multipliers` how often, times `scale`.
    """

    cells: IntArray
    coefficients: IntArray
    scale: int
    amount: int
    rows: IntArray
    multipliers: IntArray


@dataclass(frozen=True)
class Cut:
    """Unless one of `cells` is suppressed, `cell` cannot change enough (`rise` 0), or cannot rise by `rise`.

    It holds for an onlooker with this view. `proof` says which counts it rests on; None if on all of one table. The cut
    of a sum with a single gap has no proof but the sum: `row`.
    """

    cell: int
    rise: int
    cells: tuple[int, ...]
    view: View = PUBLIC
    proof: tuple[Bound, ...] | None = field(default=(), compare=False)
    row: int = field(default=-1, compare=False)

    def holds_in(self, problem: Problem, rise: int) -> bool:
        """Whether its proof holds in another table, where the cell must rise by `rise` if it is about a rise."""
        if self.proof is None or self.view not in problem.views or (self.rise and not rise):
            return False
        if problem.forced[list(self.cells)].any() or not (problem.forced | problem.candidates)[self.cell]:
            return False
        room = problem.room(self.view)
        return all(
            int(part.coefficients @ room[part.cells]) < (rise if self.rise else part.amount) * part.scale
            for part in self.proof
        )


def single_gap_cuts(problem: Problem, suppressed: BoolArray) -> list[Cut]:
    """Cuts for cells that are the only suppressed one of a sum: the rest of the sum."""
    equations = problem.equations
    cuts = []
    for row in problem.alone(suppressed).tolist():
        cells = equations.indices[equations.indptr[row] : equations.indptr[row + 1]]
        cell = int(cells[suppressed[cells]][0])
        if not problem.unlisted[cell]:
            rest = np.setdiff1d(cells, cell)
            cuts.append(Cut(cell, int(problem.rise_for(PUBLIC)[cell]), tuple(rest.tolist()), PUBLIC, row=row))
    return cuts


class CutFinder:
    """Finds cuts for one set of suppressed cells, each near the equations of a Farkas ray."""

    def __init__(self, problem: Problem, suppressed: BoolArray) -> None:
        self.problem, self.suppressed = problem, suppressed
        self.moves = MoveFinder(problem)
        self.view: View | None = None

    def find(self, view: View, cell: int) -> Cut | None:
        """A cut for a suppressed cell; None if its requirement is met, or only integrality holds it in place.

        A cell is known to within tau if there is an `up` such that it can neither rise by `up` nor fall by tau + 1 -
        `up`: then all its values lie within tau. The first such split that both Farkas rays prove gives the cut.
        """
        required = int(self.problem.rise_for(view)[cell])
        if required and (cut := self.against_rise(view, cell, required)) is not None:
            return cut
        self._set_view(view)
        for up in range(1, self.problem.width + 1):
            if (rising := self.moves.blocking_equations(cell, up)) is not None:
                down = self.problem.width + 1 - up
                falling = self.moves.blocking_equations(cell, -down)
                return None if falling is None else self._smallest(view, cell, 0, up, down, {*rising, *falling})
        return None

    def against_rise(self, view: View, cell: int, rise: int) -> Cut | None:
        """A cut that keeps a suppressed cell from rising by `rise`."""
        self._set_view(view)
        rows = self.moves.blocking_equations(cell, rise)
        return None if rows is None else self._smallest(view, cell, rise, rise, 0, set(rows.tolist()))

    def _set_view(self, view: View) -> None:
        """Let moves be those that a view leaves possible; opening a model costs, so the last view is kept."""
        if view != self.view:
            self.moves.open(self.suppressed, None, view)
            self.view = view

    def _smallest(self, view: View, cell: int, rise: int, up: int, down: int, rows: set[int]) -> Cut | None:
        """A cut from these sums alone, with a stand-in for the fewest cells; None if they prove nothing.

        Cells and rows of the small program are renumbered, and numbered back in the proof.
        """
        part = sparse.csr_array(self.problem.equations[sorted(rows)])
        cells = np.unique(np.r_[part.indices, cell])
        unknown = self.suppressed.copy()
        unknown[list(view.known)] = False
        room = self.problem.room(view)
        program = CutProgram(sparse.csr_array(part[:, cells]), room[cells], unknown[cells])
        found = program.find(int(np.searchsorted(cells, cell)), up, down)
        if found is None:
            return None
        around = np.setdiff1d(cells[sorted(found[0])], view.known)
        used = np.array(sorted(rows), dtype=np.int64)
        proof = tuple(replace(bound, cells=cells[bound.cells], rows=used[bound.rows]) for bound in found[1])
        return Cut(cell, rise, tuple(around.tolist()), view, proof)


class CutProgram:
    """A linear program for cuts with few cells; `room` is how far each count may fall."""

    def __init__(self, equations: sparse.csr_array, room: IntArray, suppressed: BoolArray) -> None:
        self.equations, self.room, self.suppressed = equations, room, suppressed
        self.transposed = sparse.csr_array(equations.T)
        self.rows, self.count = equations.shape
        self.solver = solver_of(self._form())

    def _form(self) -> Form:
        """Columns: multipliers against rising and against falling, then the size of each published coefficient.

        The sum of |coefficients| over published cells is the 1-norm stand-in for the number of cells in the cut.
        """
        published = np.flatnonzero(~self.suppressed)
        count, rows, sizes = self.count, self.rows, len(published)
        self.falling = half = count + sizes
        size_of = np.full(count, -1, dtype=np.int64)
        size_of[published] = np.arange(sizes)
        entries = self.equations.tocoo()
        inside = size_of[entries.col] >= 0
        room = np.where(self.suppressed, self.room, 0) @ self.transposed
        limited = np.flatnonzero(room)
        # Per direction: coefficients + size, then coefficients - size of published cells, then the room that is used.
        row = np.r_[entries.col, count + size_of[entries.col[inside]], np.full(len(limited), 2 * half)]
        column = np.r_[entries.row, entries.row[inside], limited]
        value = np.r_[entries.data, entries.data[inside], room[limited]]
        sized = np.r_[published, count + np.arange(sizes)]
        size, sign = 2 * rows + np.r_[size_of[published], size_of[published]], np.repeat([1, -1], sizes)
        fall = np.where(row == 2 * half, 1, half)
        placed = (np.r_[row, row + fall, sized, sized + half], np.r_[column, column + rows, size, size])
        shape = (2 * half + 2, 2 * rows + sizes)
        matrix = sparse.csc_array((np.r_[value, value, sign, sign].astype(np.float64), placed), shape=shape)
        least = np.r_[np.zeros(count), np.full(sizes, -np.inf)]
        most = np.r_[np.full(count, np.inf), np.zeros(sizes)]
        return Form(
            matrix,
            np.r_[np.zeros(2 * rows), np.ones(sizes)],
            np.r_[np.full(2 * rows, -np.inf), np.zeros(sizes)],
            np.full(shape[1], np.inf),
            np.r_[least, least, -np.inf, -np.inf],
            np.r_[most, most, np.inf, np.inf],
        )

    def find(self, cell: int, up: int, down: int) -> tuple[set[int], list[Bound]] | None:
        """Cells that keep `cell` from rising by `up` and, unless `down` is 0, from falling by `down`, and why."""
        cuts = [cut for slack in SLACKS if (cut := self._find(cell, up, down, slack)) is not None]
        return min(cuts, key=lambda cut: len(cut[0]), default=None)

    def _find(self, cell: int, up: int, down: int, slack: float) -> tuple[set[int], list[Bound]] | None:
        """Cells and bounds of a cut that stops a cell from rising by `up` and falling by `down`; None without a proof
        in integers.

        The rows of the cell are normalised for the time of the solution and reset, since one model serves all cells.
        """
        room = float(self.room[cell])
        solver, last = self.solver, 2 * self.falling
        solver.changeRowBounds(cell, 1.0, np.inf)
        solver.changeRowBounds(self.falling + cell, -1.0, np.inf)
        solver.changeRowBounds(last, -np.inf, up - 1 + slack + room)
        solver.changeRowBounds(last + 1, -np.inf, down - 1 + slack - room if down else np.inf)
        solver.run()
        values, optimal = np.asarray(solver.getSolution().col_value), is_optimal(solver)
        solver.changeRowBounds(cell, 0.0, np.inf)
        solver.changeRowBounds(self.falling + cell, 0.0, np.inf)
        if not optimal:
            return None
        cut: set[int] = set()
        proof: list[Bound] = []
        for sign, amount in ((1, up), (-1, down)):
            if amount:
                part = values[: self.rows] if sign > 0 else values[self.rows : 2 * self.rows]
                found = self._verified(cell, sign, amount, part)
                if found is None:
                    return None
                cut |= found[0]
                proof.append(found[1])
        return cut, proof

    def _verified(self, cell: int, sign: int, amount: int, multipliers: FloatArray) -> tuple[set[int], Bound] | None:
        """The cut in one direction, if the multipliers prove it in exact integers."""
        scale, integers = common_fractions(multipliers)
        if not scale:
            return None
        slack = self.transposed @ integers
        slack[cell] -= sign * scale
        hidden = slack[self.suppressed]
        if (hidden < 0).any() or int(hidden @ self.room[self.suppressed]) >= amount * scale:
            return None
        used, rows = np.flatnonzero((slack != 0) & self.suppressed), np.flatnonzero(integers)
        bound = Bound(used, slack[used], scale, amount, rows, integers[rows])
        return set(np.flatnonzero((slack != 0) & ~self.suppressed).tolist()), bound


def common_fractions(values: FloatArray) -> tuple[int, IntArray]:
    """Floats read as simple fractions: the common denominator and the numerators; denominator 0 if it is too large.

    >>> scale, numerators = common_fractions(np.array([0.5, -1 / 3, 2.0]))
    >>> scale, numerators.tolist()
    (6, [3, -2, 12])
    """
    scale = 1
    for value in np.unique(np.round(values, 9)).tolist():
        scale = math.lcm(scale, Fraction(value).limit_denominator(MAX_DENOMINATOR).denominator)
        if scale > MAX_SCALE:
            return 0, np.zeros(0, dtype=np.int64)
    return scale, np.rint(values * scale).astype(np.int64)


@dataclass(frozen=True)
class MasterSolution:
    """Cells to suppress beside the forced ones, the proved lower bound of the cost, and whether they attain it.

    `exposed` are the cells whose preferred rise was given up.
    """

    chosen: BoolArray
    bound: float
    proved: bool
    exposed: frozenset[int] = frozenset()


Limit = tuple[IntArray, int]
"""Weights of cells, and the most that those of the chosen cells may add up to."""


class MasterProblem:
    """The cells of least cost that satisfy every cut: a binary per candidate cell, a row per cut.

        minimise  cost . y   subject to   sum_{j in C} y[j] >= 1          for a cut of a cell that is never printed,
                                          sum_{j in C} y[j] >= y[cell]    for a cut of any other cell.

    `soft` cuts are about preferred rises and may be violated at a cost.
    """

    def __init__(self, forced: BoolArray, candidates: BoolArray, cost: IntArray) -> None:
        self.forced, self.candidates, self.cost = forced, candidates, cost
        self.columns = np.full(len(forced), -1, dtype=np.int64)
        self.columns[candidates] = np.arange(int(candidates.sum()))
        self.cuts: dict[Cut, None] = {}
        self.soft: dict[Cut, None] = {}

    def add(self, cut: Cut, soft: bool = False) -> bool:
        """Add a cut; False if it was there already."""
        cuts = self.soft if soft else self.cuts
        new = cut not in cuts
        cuts[cut] = None
        return new

    def satisfiable(self, cut: Cut) -> bool:
        """Whether any of its cells may be suppressed at all."""
        return bool(self.candidates[list(cut.cells)].any())

    def solve(
        self, seconds: float, goal: IntArray | None = None, limits: Sequence[Limit] = (), exposed: int | None = None
    ) -> MasterSolution:
        """The cells of least cost that satisfy every cut, within `seconds`; with a `goal` per cell, of least goal.

        Every limit bounds the weights of the chosen cells. With `exposed`, at most so many preferred rises are given
        up; if it is -1, as few as possible, whatever the goal.
        """
        count = int(self.candidates.sum())
        soft_cells = sorted({cut.cell for cut in self.soft}) if exposed is not None else []
        column_of = {cell: count + index for index, cell in enumerate(soft_cells)}
        rows: list[list[int]] = []
        signs: list[list[float]] = []
        lower: list[float] = []
        for cut in (*self.cuts, *(self.soft if exposed is not None else ())):
            columns = [column for column in self.columns[list(cut.cells)].tolist() if column >= 0] if cut.cells else []
            sign, least = [1.0] * len(columns), 1.0
            if not self.forced[cut.cell]:  # the cut matters only if its own cell is suppressed
                columns, sign, least = [*columns, int(self.columns[cut.cell])], [*sign, -1.0], 0.0
            elif exposed is not None and cut in self.soft:
                columns, sign = [*columns, column_of[cut.cell]], [*sign, 1.0]
            rows.append(columns)
            signs.append(sign)
            lower.append(least)
        for weights, most in limits:
            rows.append(list(range(count)))
            signs.append((-weights[self.candidates].astype(float)).tolist())
            lower.append(-float(most))
        if exposed is not None and exposed >= 0:
            rows.append(list(column_of.values()))
            signs.append([-1.0] * len(soft_cells))
            lower.append(-float(exposed))
        aim = np.zeros(count) if exposed == -1 else (self.cost if goal is None else goal)[self.candidates]
        cost = np.r_[aim, np.full(len(soft_cells), float(exposed == -1))]
        solver = solver_of(_binary_form(rows, signs, lower, cost), {"time_limit": seconds, **OPTIMAL}, whole=True)
        solver.run()
        values = np.asarray(solver.getSolution().col_value)
        values = values if len(values) == len(cost) else np.zeros(len(cost))
        chosen = np.zeros(len(self.forced), dtype=bool)
        chosen[self.candidates] = values[:count] > 0.5
        given_up = frozenset(cell for cell in soft_cells if values[column_of[cell]] > 0.5)
        bound = float(solver.getInfo().mip_dual_bound)
        return MasterSolution(chosen, bound if np.isfinite(bound) else 0.0, is_optimal(solver), given_up)


def _binary_form(rows: list[list[int]], signs: list[list[float]], lower: list[float], cost: FloatArray) -> Form:
    starts = np.r_[0, np.cumsum([len(row) for row in rows])].astype(np.int64)
    data = np.array([sign for row in signs for sign in row])
    indices = np.array([column for row in rows for column in row], dtype=np.int64)
    matrix = sparse.csc_array(sparse.csr_array((data, indices, starts), shape=(len(rows), len(cost))))
    zero, ones = np.zeros(len(cost)), np.ones(len(cost))
    return Form(matrix, cost, zero, ones, np.array(lower), np.full(len(lower), np.inf))
