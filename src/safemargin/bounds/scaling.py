"""Scaling of real-valued tables to published ones of several axes: where to start from when votes are rounded."""

import numpy as np

from safemargin.bounds.effort import EFFORT
from safemargin.bounds.system import System
from safemargin.core import FloatArray, IntArray, distinct


class Scaling:
    """Scales tables of one system to its finest blocks; `goals` are counts per slice and column, the rest last."""

    def __init__(self, system: System, tops: tuple[int, ...], least: IntArray, most: IntArray) -> None:
        assert system.people is not None
        self.system, self.people = system, system.people.astype(np.float64)
        self.blocks, self.goals = [], []
        self.possible = True
        for top in tops:
            slices = distinct(system.blocks[top])
            if (slices < 0).any() or (least[slices] != most[slices]).any():
                self.possible = False
                return
            code = np.zeros(int(slices.max(initial=0)) + 1, dtype=np.int64)
            code[slices] = np.arange(len(slices))
            self.blocks.append(code[system.blocks[top]])
            self.goals.append(least[slices].astype(np.float64))

    def fit(self, logits: FloatArray | None = None) -> FloatArray:
        """Values of all variables near every goal; `logits` says per variable which way, as a logarithm."""
        count = self.system.n_free_options + 1
        values = np.ones((len(self.people), count))
        if logits is not None:
            # exp(20) is five hundred million to one: beyond, scaling would divide by zero.
            values[:, :-1] = np.exp(np.clip(logits.reshape(-1, count - 1), -20.0, 20.0))
        values *= (self.people / values.sum(axis=1))[:, None]
        # Iterative proportional fitting (Deming and Stephan 1940); it converges to the fit of maximum entropy (Csiszar
        # 1975).
        for _ in range(EFFORT.scaling_rounds):
            off = 0.0
            for code, goal in zip(self.blocks, self.goals, strict=True):
                sums = np.stack([np.bincount(code, column, minlength=len(goal)) for column in values.T], axis=1)
                off = max(off, float(np.abs(sums - goal).max(initial=0.0)))
                values *= np.divide(goal, sums, out=np.zeros_like(goal), where=sums > 0)[code]
            total = values.sum(axis=1)
            values *= np.divide(self.people, total, out=np.zeros_like(total), where=total > 0)[:, None]
            if off < EFFORT.scaling_miss:
                break
        result: FloatArray = values[:, :-1].ravel()
        return result
