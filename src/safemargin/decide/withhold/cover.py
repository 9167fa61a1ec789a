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
    """Cells to withhold beside the primary ones, the least cost proved, and whether these attain it."""

    chosen: BoolArray
    bound: float
    proved: bool


class Covering:
    """Binary choice per candidate cell; one row per barrier."""

    def __init__(self, primary: BoolArray, candidates: BoolArray) -> None:
        self.primary, self.candidates = primary, candidates
        self.columns = np.full(len(primary), -1, dtype=np.int64)
        self.columns[candidates] = np.arange(int(candidates.sum()))
        self.barriers: list[Barrier] = []
        self.known: set[Barrier] = set()
        self.impossible: Barrier | None = None

    def add(self, barrier: Barrier) -> bool:
        """Take a barrier in; False if it was there already."""
        if barrier in self.known:
            return False
        self.known.add(barrier)
        self.barriers.append(barrier)
        if not self._columns(barrier) and self.primary[barrier.cell]:
            self.impossible = barrier
        return True

    def _columns(self, barrier: Barrier) -> list[int]:
        columns: list[int] = self.columns[list(barrier.cells)].tolist() if barrier.cells else []
        return [column for column in columns if column >= 0]

    def solve(self, seconds: float) -> Cover:
        """The cheapest choice that breaks every barrier, as far as `seconds` go."""
        count = int(self.candidates.sum())
        rows, columns, data, lower = [], [], [], []
        for row, barrier in enumerate(self.barriers):
            mine = self._columns(barrier)
            rows += [row] * len(mine)
            columns += mine
            data += [1.0] * len(mine)
            lower.append(1.0)
            if not self.primary[barrier.cell]:
                rows.append(row)
                columns.append(int(self.columns[barrier.cell]))
                data.append(-1.0)
                lower[-1] = 0.0
        matrix = sparse.csc_array((data, (rows, columns)), shape=(len(self.barriers), count))
        model = highspy.HighsLp()
        model.num_col_, model.num_row_ = count, len(self.barriers)
        model.col_cost_ = np.ones(count)
        model.col_lower_, model.col_upper_ = np.zeros(count), np.ones(count)
        model.row_lower_, model.row_upper_ = np.array(lower), np.full(len(lower), highspy.kHighsInf)
        model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        model.a_matrix_.start_ = matrix.indptr.astype(np.int32)
        model.a_matrix_.index_ = matrix.indices.astype(np.int32)
        model.a_matrix_.value_ = matrix.data.astype(np.float64)
        model.integrality_ = [highspy.HighsVarType.kInteger] * count
        options: Sequence[tuple[str, object]] = (("time_limit", seconds), ("mip_rel_gap", 0.0), ("mip_abs_gap", 0.5))
        solver = solver_of(model, options)
        solver.run()
        proved = solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
        values = np.zeros(len(self.primary))
        found = np.asarray(solver.getSolution().col_value)
        if len(found) == count:
            values[self.candidates] = found
        return Cover(values > 0.5, float(solver.getInfo().mip_dual_bound), proved)
