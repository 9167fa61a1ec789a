"""The fewest cells that break every barrier found so far: a lower bound, and the next pattern to try."""

from collections.abc import Sequence
from dataclasses import dataclass

import highspy
import numpy as np
from scipy import sparse

from safemargin.bounds.moves import solver_of
from safemargin.decide.withhold.barriers import Barrier
from safemargin.model.arrays import BoolArray


@dataclass(frozen=True)
class Cover:
    """Cells to withhold beside the primary ones, the least cost proved, and whether these attain it.

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
        """Whether any of its cells may be withheld at all."""
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
        solver = solver_of(_model(rows, signs, lower, cost), _options(seconds))
        solver.run()
        proved = solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
        found = np.asarray(solver.getSolution().col_value)
        values = found if len(found) == len(cost) else np.zeros(len(cost))
        chosen = np.zeros(len(self.primary), dtype=bool)
        chosen[self.candidates] = values[:count] > 0.5
        given_up = frozenset(cell for cell in wishful if values[place[cell]] > 0.5)
        bound = float(solver.getInfo().mip_dual_bound)
        return Cover(chosen, bound if np.isfinite(bound) else 0.0, proved, given_up)


def _options(seconds: float) -> Sequence[tuple[str, bool | float | str]]:
    return (("time_limit", seconds), ("mip_rel_gap", 0.0), ("mip_abs_gap", 0.5))


def _model(rows: list[list[int]], signs: list[list[float]], lower: list[float], cost: np.ndarray) -> highspy.HighsLp:
    """Binary columns; every row at least its lower end."""
    starts = np.r_[0, np.cumsum([len(row) for row in rows])].astype(np.int64)
    data = np.array([sign for row in signs for sign in row])
    indices = np.array([column for row in rows for column in row], dtype=np.int64)
    matrix = sparse.csc_array(sparse.csr_array((data, indices, starts), shape=(len(rows), len(cost))))
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = len(cost), len(rows)
    model.col_cost_ = cost
    model.col_lower_, model.col_upper_ = np.zeros(len(cost)), np.ones(len(cost))
    model.row_lower_, model.row_upper_ = np.array(lower), np.full(len(lower), highspy.kHighsInf)
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_ = matrix.indptr.astype(np.int32)
    model.a_matrix_.index_ = matrix.indices.astype(np.int32)
    model.a_matrix_.value_ = matrix.data.astype(np.float64)
    model.integrality_ = [highspy.HighsVarType.kInteger] * len(cost)
    return model
