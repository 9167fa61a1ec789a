"""Finding moves: by boxes, by linear programs whose optimum is an integer change, and by integer programs.

Objects (as in `moves.py`)
    m = p - q   a move as rises p >= 0 and falls q >= 0, so that the cost of |m| is linear
    price[j]    of changing cell j by one: next to nothing inside the pattern, infinite where a cell is always printed

Method
    minimise  price . (p + q)   subject to   E (p - q) = 0,  q <= room,  m[cell] >= amount.

    Tables of two axes have integer vertices (E is a network), so the linear program is enough. Tables of three and more
    have not: then other costs lead to other vertices, a box of any cost may do, and an integer program over the cells
    that the fractional optima used, then over all, decides.

What callers may rely on
    * A returned move is integer and satisfies every sum: `_verified` adds it up. No float is trusted.
    * `(None, True)`: no move exists. `(None, False)`: none was found in the time given.
    * `blocking_equations` is a hint for `cuts.py`, not a proof.

Cost: one linear program from the slack basis; 4 ms with 1,287 cells, 37 ms inside 5,000 cells of 17,507.
"""

import math
from dataclasses import replace

import numpy as np
from scipy import sparse

from safemargin.bounds import Form, is_infeasible, solver_of, values_of
from safemargin.core import BoolArray, FloatArray, IntArray, numpy_generator
from safemargin.suppress.moves import PUBLIC, Problem, View

INNER_COST = 0.001  # cost of changing a count that is suppressed anyway; a cell beyond the pattern costs about 1
ATTEMPTS = 6
SEED = 41_000
# Cells up to which an integer program over all of them decides; beyond, one over a few of them is tried.
MAX_CELLS_FOR_PROOF = 1_500

Limits = tuple[sparse.csr_array, IntArray]
"""A matrix and bounds: the matrix times a move must be within them."""


class MoveFinder:
    """Finds moves of small cost inside and beyond a set of suppressed cells, among `cells` only if they are given.

    A change beyond the suppressed cells costs a price per person, a change inside next to nothing, so a move shows
    which further cells to suppress.
    """

    def __init__(self, problem: Problem, cells: IntArray | None = None, limits: Limits | None = None) -> None:
        """With `limits` (a matrix and bounds), the matrix times a move must be within the bounds."""
        self.problem, self.limits = problem, limits
        self.cells = np.arange(problem.size) if cells is None else cells
        equations = problem.equations if cells is None else problem.equations[:, cells]
        self.most = self.least = np.zeros(equations.shape[0])
        if limits is not None:
            equations = sparse.vstack([equations, limits[0][:, self.cells]])
            self.least = np.r_[self.least, np.full(len(limits[1]), -np.inf)]
            self.most = np.r_[self.most, limits[1]]
        self.count = len(self.cells)
        # Rises and falls are separate columns, so that the cost of a change is linear.
        self.matrix = sparse.csc_array(sparse.hstack([equations, -equations]))
        self.columns = np.arange(2 * self.count, dtype=np.int32)
        self.upper, self.cost = np.zeros(2 * self.count), np.ones(2 * self.count)
        self.solver = solver_of(self._form(np.arange(2 * self.count)), {"presolve": "off"})
        self.generator = numpy_generator(SEED)
        self.ray: FloatArray | None = None

    def open(self, suppressed: BoolArray, price: FloatArray | None = None, view: View = PUBLIC) -> None:
        """Let the counts of `suppressed` cells change as far as the view leaves open; others at a finite `price`."""
        usable = suppressed.copy() if price is None else suppressed | np.isfinite(price)
        usable[list(view.known)] = False
        self.room = self.problem.room(view)
        beyond = np.where(suppressed, 0.0, np.inf if price is None else price)
        # The box's last entry stands for cells that are always printed.
        self.price = np.r_[np.where(usable, beyond, np.inf), np.inf]
        self.boxes = self.problem.boxes if self.limits is None else None
        part = usable[self.cells]
        self.upper = np.r_[np.where(part, np.inf, 0.0), np.where(part, self.room[self.cells], 0.0)]
        cost = np.where(suppressed, INNER_COST, np.where(np.isfinite(beyond), beyond, 0.0))[self.cells]
        self.cost = np.r_[cost, cost]
        self.solver.changeColsBounds(len(self.columns), self.columns, np.zeros(len(self.columns)), self.upper)
        self.solver.changeColsCost(len(self.columns), self.columns, self.cost)

    def add_suppressed(self, cells: IntArray) -> None:
        """Give these cells the cost of suppressed ones."""
        self.set_price(cells, np.zeros(len(cells)))

    def set_price(self, cells: IntArray, price: FloatArray) -> None:
        """Give cells that may change another price; 0 is that of a suppressed cell."""
        self.price[cells] = price
        columns = np.searchsorted(self.cells, cells)
        columns = np.r_[columns, columns + self.count].astype(np.int32)
        cost = np.where(price > 0, price, INNER_COST)
        self.cost[columns] = np.r_[cost, cost]
        self.solver.changeColsCost(len(columns), columns, self.cost[columns])

    def box(self, cell: int, amount: int, most: float = 0.0) -> IntArray | None:
        """A box move that changes `cell` by `amount` and costs no more than `most`."""
        if self.boxes is None:
            return None
        found = self.boxes.cheapest(cell, amount, self.price, np.r_[self.room, 0])
        if found is None or found[0] > most:
            return None
        move = np.zeros(self.problem.size, dtype=np.int64)
        move[found[1]] = found[2]
        return None if (self.problem.equations @ move).any() else move

    def find(self, cell: int, amount: int, seconds: float = 10.0, box: float = 0.0) -> tuple[IntArray | None, bool]:
        """A move that changes `cell` by at least `amount` (downwards if negative), and whether the answer is proved.

        A box that costs no more than `box` comes first, then the LP with several costs; if none of its optima is
        integer, a box of any cost, and else an integer program of so many `seconds`.
        """
        column = self._column(cell, amount)
        if self.upper[column] < abs(amount):
            return None, True
        if (move := self.box(cell, amount, box)) is not None:
            return move, True
        useful = np.zeros(self.count, dtype=bool)
        for attempt in range(ATTEMPTS):
            if attempt:  # other costs lead to another vertex of about the same cost, which may be integer
                cost = self.cost * (0.5 + self.generator.random(len(self.columns)))
                self.solver.changeColsCost(len(self.columns), self.columns, cost)
            change = self._solve(column, abs(amount))
            move = None if change is None else self._verified(change)
            if change is None or move is not None:
                break
            useful |= np.abs(change) > 1e-6
        if attempt:
            self.solver.changeColsCost(len(self.columns), self.columns, self.cost)
        if change is None or move is not None or not seconds:
            return move, change is None or move is not None
        if (move := self.box(cell, amount, math.inf)) is not None:
            return move, True
        return self._integer_move(column, abs(amount), useful, seconds)

    def blocking_equations(self, cell: int, amount: int) -> IntArray | None:
        """Equations by which no fractional move changes `cell` by `amount` (a Farkas ray); None if one may exist."""
        column = self._column(cell, amount)
        if self.upper[column] < abs(amount):
            return np.zeros(0, dtype=np.int64)
        if self.box(cell, amount) is not None:
            return None
        self.ray = np.zeros(0)
        change, ray, self.ray = self._solve(column, abs(amount)), self.ray, None
        return None if change is not None or not len(ray) else np.flatnonzero(np.abs(ray) > 1e-9)

    def _column(self, cell: int, amount: int) -> int:
        """The column of the rise of a cell, or of its fall if the amount is negative."""
        position = int(np.searchsorted(self.cells, cell))
        return position if amount > 0 else position + self.count

    def _solve(self, column: int, amount: int) -> FloatArray | None:
        """The cheapest fractional change in which one column is at least `amount`; None if there is none.

        The other column of the cell is closed, since a rise and a fall of one cell together would change nothing. The
        model is left as it was; with `ray` set, an infeasible program leaves its Farkas ray there.
        """
        # From scratch: the dual simplex method needs few steps from the slack basis, many from another.
        solver, other = self.solver, (column + self.count) % (2 * self.count)
        solver.clearSolver()
        solver.changeColBounds(column, float(amount), float(self.upper[column]))
        solver.changeColBounds(other, 0.0, 0.0)
        solver.run()
        values = values_of(solver)
        if self.ray is not None and values is None:
            _, exists, ray = solver.getDualRay()  # type: ignore[attr-defined]
            self.ray = np.asarray(ray) if exists else self.ray
        solver.changeColBounds(column, 0.0, float(self.upper[column]))
        solver.changeColBounds(other, 0.0, float(self.upper[other]))
        return None if values is None else values[: self.count] - values[self.count :]

    def _integer_move(
        self, column: int, amount: int, useful: BoolArray, seconds: float
    ) -> tuple[IntArray | None, bool]:
        """By integer programs: over the cells that fractional moves use, then over all if they are few enough."""
        open_cells = self.upper[: self.count] + self.upper[self.count :] > 0
        for cells in (useful, open_cells) if int(open_cells.sum()) <= MAX_CELLS_FOR_PROOF else (useful,):
            columns = np.flatnonzero(np.r_[cells, cells] & (self.upper > 0))
            lower = np.where(columns == column, float(amount), 0.0)
            upper = np.where(columns == (column + self.count) % (2 * self.count), 0.0, self.upper[columns])
            form = replace(self._form(columns), low=lower, high=upper)
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
        """The change as integers, if addition shows that it is a move: the only way out of this class for anything
        fractional.
        """
        move = np.zeros(self.problem.size, dtype=np.int64)
        move[self.cells] = np.rint(change).astype(np.int64)
        if np.abs(change - move[self.cells]).max(initial=0.0) > 1e-4:
            return None
        possible = (move >= -self.room)[move != 0].all() and not (self.problem.equations @ move).any()
        return move if possible and (self.limits is None or (self.limits[0] @ move <= self.limits[1]).all()) else None

    def _form(self, columns: IntArray) -> Form:
        """The program over some columns."""
        upper = self.upper[columns]
        matrix = sparse.csc_array(self.matrix[:, columns])
        return Form(matrix, self.cost[columns], np.zeros(len(columns)), upper, self.least, self.most)
