"""The fewest cells that break every barrier found so far: a lower bound, and the next pattern to try."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from safemargin.bounds.solver import Form, is_optimal, solver_of
from safemargin.core import BoolArray, FloatArray
from safemargin.suppress.barriers import Barrier

EXACTLY = {"mip_rel_gap": 0.0, "mip_abs_gap": 0.5}
"""Costs are whole: less than one apart is the optimum."""


@dataclass(frozen=True)
class Cover:
    """Cells to suppress beside the primary ones, the least cost proved, and whether these attain it.

    `given_up` are the cells whose wish not every barrier against it was broken.
    """

    chosen: BoolArray
    bound: float
    proved: bool
    given_up: frozenset[int] = frozenset()


class Covering:
    """Binary choice per candidate cell; one row per barrier. One against a wish may be left unbroken, at a cost."""

    def __init__(self, primary: BoolArray, candidates: BoolArray) -> None:
        self.primary, self.candidates = primary, candidates
        self.columns = np.full(len(primary), -1, dtype=np.int64)
        self.columns[candidates] = np.arange(int(candidates.sum()))
        self.barriers: dict[Barrier, None] = {}
        self.wishes: dict[Barrier, None] = {}

    def add(self, barrier: Barrier) -> bool:
        """Take a barrier in; False if it was there already."""
        if barrier in self.barriers:
            return False
        self.barriers[barrier] = None
        return True

    def wish(self, barrier: Barrier) -> bool:
        """Take a barrier against a wish in; False if it was there already."""
        if barrier in self.wishes:
            return False
        self.wishes[barrier] = None
        return True

    def breakable(self, barrier: Barrier) -> bool:
        """Whether any of its cells may be suppressed at all."""
        return bool(self.candidates[list(barrier.cells)].any())

    def solve(self, seconds: float, size: int | None = None) -> Cover:
        """The fewest cells that break every barrier, as far as `seconds` go.

        With a `size`, that many cells at most, and as few wishes as possible given up.
        """
        count = int(self.candidates.sum())
        wishful = sorted({barrier.cell for barrier in self.wishes}) if size is not None else []
        place = {cell: count + at for at, cell in enumerate(wishful)}
        rows: list[list[int]] = []
        signs: list[list[float]] = []
        lower: list[float] = []
        for barrier in (*self.barriers, *(self.wishes if size is not None else ())):
            columns: list[int] = self.columns[list(barrier.cells)].tolist() if barrier.cells else []
            mine, ones = [column for column in columns if column >= 0], 1.0
            signs.append([1.0] * len(mine))
            if not self.primary[barrier.cell]:
                mine, ones = [*mine, int(self.columns[barrier.cell])], 0.0
                signs[-1].append(-1.0)
            elif size is not None and barrier in self.wishes:
                mine.append(place[barrier.cell])
                signs[-1].append(1.0)
            rows.append(mine)
            lower.append(ones)
        if size is not None:
            rows.append(list(range(count)))
            signs.append([-1.0] * count)
            lower.append(-float(size))
        cost = np.r_[np.full(count, 1.0 if size is None else 0.0), np.ones(len(wishful))]
        solver = solver_of(_form(rows, signs, lower, cost), {"time_limit": seconds, **EXACTLY}, whole=True)
        solver.run()
        proved = is_optimal(solver)
        found = np.asarray(solver.getSolution().col_value)
        values = found if len(found) == len(cost) else np.zeros(len(cost))
        chosen = np.zeros(len(self.primary), dtype=bool)
        chosen[self.candidates] = values[:count] > 0.5
        given_up = frozenset(cell for cell in wishful if values[place[cell]] > 0.5)
        bound = float(solver.getInfo().mip_dual_bound)
        return Cover(chosen, bound if np.isfinite(bound) else 0.0, proved, given_up)


def _form(rows: list[list[int]], signs: list[list[float]], lower: list[float], cost: FloatArray) -> Form:
    """Binary columns; every row at least its lower end."""
    starts = np.r_[0, np.cumsum([len(row) for row in rows])].astype(np.int64)
    data = np.array([sign for row in signs for sign in row])
    indices = np.array([column for row in rows for column in row], dtype=np.int64)
    matrix = sparse.csc_array(sparse.csr_array((data, indices, starts), shape=(len(rows), len(cost))))
    zero, one = np.zeros(len(cost)), np.ones(len(cost))
    return Form(matrix, cost, zero, one, np.array(lower), np.full(len(lower), np.inf))
