"""Scaling of real-valued tables to published ones of several axes: where to start from when votes are rounded.

Objects
    v[e, o]     a table of positive numbers per profile and option, the rest in the last column
    block       a published table without a gap whose counts are all exact; its *goal* is the count per slice and column

Statement
    Iterative proportional fitting (Deming and Stephan 1940) multiplies v, block by block, by goal over present sum. If
    some positive table has all goals, v converges to the one nearest to its start in relative entropy (Csiszar 1975);
    from a start of ones that is the table of largest entropy. People of profiles are one more margin.

What callers may rely on
    * The result is a place to round from, never evidence: it may miss a goal by up to `EFFORT.scaling_miss`.
    * Cost: O(profiles * options) per block and round, without any matrix; Newton's method (`witness.py`) needs a dense
      system of all rows, so scaling is used where tables of several axes have thousands of them.
    * `possible` is false where some block has gaps or ranges; `fit` must not be called then.
"""

import numpy as np

from safemargin.bounds.effort import EFFORT
from safemargin.bounds.system import System
from safemargin.core import FloatArray, IntArray, distinct


class Scaling:
    """Scales tables of one system to its finest blocks; `goals` are counts per slice and column, the rest last.

    `tops` are the blocks that no other one refines: who meets these goals meets all of them.
    """

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
        """Values of all variables near every goal; `logits` says per variable which way, as a logarithm.

        The start is exp(logits), so a logit of 1 makes a count e times as likely as its neighbours, before margins pull
        back.
        """
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
