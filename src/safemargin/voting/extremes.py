"""All kinds of votes at once, where there are too many for every pair: which stand out, and an upper end for delta.

Every vote is added to the same drawn elections, and compared with one vote. The gap between two votes is the difference
of what they differ from it by, so an interval for each vote and result bounds every pair and every set of results.
"""

from dataclasses import dataclass
from math import expm1
from statistics import NormalDist

import numpy as np

from safemargin.core import FloatArray, IntArray
from safemargin.voting.election import Kinds

MOST_RESULTS = 200_000_000
"""Results that are computed, times the sums of the rule."""
FEWEST_DRAWS = 2_000
PAIRS = 500
"""Votes that are compared with all others together."""


@dataclass
class Extremes:
    """Sums over draws, a row per vote and a column per result: of weights where the result changes, and squares."""

    kinds: Kinds
    first: FloatArray
    second: FloatArray
    likely: FloatArray
    squares: FloatArray
    draws: int = 0
    work: int = 0

    @classmethod
    def empty(cls, kinds: Kinds) -> "Extremes":
        """Nothing drawn yet."""
        shape = len(kinds), kinds.rule.outcomes
        return cls(kinds, np.zeros(shape), np.zeros(shape), np.zeros(shape[1]), np.zeros(shape[1]))

    def add(self, sums: IntArray, ratio: FloatArray) -> bool:
        """Count drawn elections: sums of the others, and how much each counts; or say that it would take too long."""
        open_ = ~self.kinds.rule.settled(sums)
        self.work += int(open_.sum()) * sums.shape[1] * len(self.kinds)
        if self.work > MOST_RESULTS:
            return False
        outcomes = self.kinds.rule.outcomes
        usual = self.kinds.rule.winners(sums + self.kinds.adds[0])
        self.draws += len(sums)
        self.likely += np.bincount(usual, ratio, outcomes)
        self.squares += np.bincount(usual, ratio**2, outcomes)
        sums, ratio, usual = sums[open_], ratio[open_], usual[open_]
        for vote in range(1, len(self.kinds)):
            results = self.kinds.rule.winners(sums + self.kinds.adds[vote])
            moved = results != usual
            if moved.any():
                weight, new, old = ratio[moved], results[moved], usual[moved]
                self.first[vote] += np.bincount(new, weight, outcomes) - np.bincount(old, weight, outcomes)
                self.second[vote] += np.bincount(new, weight**2, outcomes) + np.bincount(old, weight**2, outcomes)
        return True

    def standing_out(self, most: int) -> IntArray:
        """Votes that make some result likelier or less likely than most others do."""
        ranks = np.concatenate([np.argsort(way, axis=0, kind="stable") for way in (self.first, -self.first)], axis=1)
        found = list(dict.fromkeys(ranks.ravel().tolist()))[:most]
        return np.sort(np.array(found))

    def upper(self, epsilon: float, doubt: float) -> float:
        """An upper end for delta over all pairs of votes, exceeded with a chance of about `doubt`."""
        wide = NormalDist().inv_cdf(1 - doubt / (2 * self.first.size + len(self.likely)))
        mean = self.first / self.draws
        error = wide * np.sqrt(np.maximum(self.second / self.draws - mean**2, 0.0) / self.draws)
        chance = self.likely / self.draws
        spread = np.sqrt(np.maximum(self.squares / self.draws - chance**2, 0.0) / self.draws)
        less = expm1(epsilon) * np.maximum(chance - wide * spread, 0.0)
        high, low = mean + error, (1 + expm1(epsilon)) * (mean - error) + less
        best = 0.0
        for start in range(0, len(high), PAIRS):
            gaps = np.maximum(high[start : start + PAIRS, None, :] - low[None, :, :], 0.0).sum(axis=2)
            best = max(best, float(gaps.max()))
        return min(best, 1.0)
