"""A real-valued table near published counts by scaling slices in turn (iterative proportional fitting).

From weights that lean one way it leads to the same table as Newton's method. It stops earlier and less exactly, which
is enough for rounding, and costs as much for thousands of slices as for a few.
"""

import numpy as np

from safemargin.bounds.system import System
from safemargin.core import FloatArray, IntArray, distinct

ROUNDS = 25
CLOSE = 0.5
"""People by which no slice may be off, or scaling goes on."""


class Scaling:
    """Scales tables of one system to its finest blocks; `goals` are counts per slice and column, the rest last."""

    def __init__(self, known: System, tops: tuple[int, ...], least: IntArray, most: IntArray) -> None:
        assert known.people is not None
        self.known, self.people = known, known.people.astype(np.float64)
        self.blocks, self.goals = [], []
        self.possible = True
        for top in tops:
            mine = distinct(known.blocks[top])
            if (mine < 0).any() or (least[mine] != most[mine]).any():
                self.possible = False
                return
            code = np.zeros(int(mine.max(initial=0)) + 1, dtype=np.int64)
            code[mine] = np.arange(len(mine))
            self.blocks.append(code[known.blocks[top]])
            self.goals.append(least[mine].astype(np.float64))

    def fit(self, lean: FloatArray | None = None) -> FloatArray:
        """Values of all variables near every goal; `lean` says per variable which way, as a logarithm."""
        count = self.known.free + 1
        values = np.ones((len(self.people), count))
        if lean is not None:
            values[:, :-1] = np.exp(np.clip(lean.reshape(-1, count - 1), -20.0, 20.0))
        values *= (self.people / values.sum(axis=1))[:, None]
        for _ in range(ROUNDS):
            off = 0.0
            for code, goal in zip(self.blocks, self.goals, strict=True):
                sums = np.stack([np.bincount(code, column, minlength=len(goal)) for column in values.T], axis=1)
                off = max(off, float(np.abs(sums - goal).max(initial=0.0)))
                values *= np.divide(goal, sums, out=np.zeros_like(goal), where=sums > 0)[code]
            total = values.sum(axis=1)
            values *= np.divide(self.people, total, out=np.zeros_like(total), where=total > 0)[:, None]
            if off < CLOSE:
                break
        result: FloatArray = values[:, :-1].ravel()
        return result
