"""How likely each result is for each vote of one person, and what follows: delta, pure epsilon, the worst pair."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, expm1, inf, log
from typing import NamedTuple

import numpy as np

from safemargin.core import BoolArray, FloatArray, IntArray


class Worst(NamedTuple):
    """The largest gap at one epsilon: which votes, and which results they make likelier."""

    delta: float
    log_delta: float
    pair: tuple[int, int]
    results: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Chances:
    """`log_likely[x, r]` is the log of how likely result r is if the person votes x.

    `gaps[x, y, r]` is the difference for votes x and y, summed from the cases where they differ alone, so that it is
    exact to its last digits even where the two are nearly equal; it is to be multiplied by `exp(shift)`.
    `slack` is how far any delta may be off by rounding, before that factor.
    """

    log_likely: FloatArray
    gaps: FloatArray
    shift: float = 0.0
    slack: float = 0.0

    def worst(self, epsilon: float = 0.0) -> Worst:
        """Delta at an epsilon: the largest sum of positive gaps over ordered pairs of votes."""
        gaps = self.gaps
        if epsilon > 0.0:
            less = np.exp(np.minimum(self.log_likely + (log(expm1(epsilon)) - self.shift), 700.0))
            gaps = gaps - less[None, :, :]
        sums = np.maximum(gaps, 0.0).sum(axis=2)
        best = float(sums.max(initial=0.0))
        near = np.argwhere(sums >= best * (1 - 1e-9))
        x, y = (int(near[0][0]), int(near[0][1])) if best > 0 else (0, min(1, len(gaps) - 1))
        results = tuple(int(r) for r in np.flatnonzero(gaps[x, y] > 0))
        log_delta = log(best) + self.shift if best > 0 else -inf
        return Worst(exp(log_delta) if log_delta > -745 else 0.0, log_delta, (x, y), results)

    @property
    def rounding(self) -> float:
        """How far delta may be off."""
        return self.slack * exp(self.shift) if self.shift > -700 else 0.0

    @property
    def pure_epsilon(self) -> float:
        """The smallest epsilon with delta = 0; infinite if some vote rules a result out."""
        possible = self.log_likely > -inf
        if (possible.any(axis=0) != possible.all(axis=0)).any():
            return inf
        logs = np.where(possible, self.log_likely, 0.0)
        return float((logs.max(axis=0) - logs.min(axis=0)).max())


def from_patterns(patterns: Mapping[bytes, float], results: int, shift: float = 0.0, slack: float = 0.0) -> Chances:
    """From how likely each pattern is: the result for every vote of the person, the others' votes staying."""
    rows = np.array([np.frombuffer(key, dtype=np.int8) for key in patterns], dtype=np.int64)
    weights = np.array(list(patterns.values()))
    pivotal = (rows != rows[:, :1]).any(axis=1)
    kinds = rows.shape[1]
    likely = np.zeros((kinds, results))
    gaps = np.zeros((kinds, kinds, results))
    for result in range(results):
        hit = (rows == result).astype(np.float64)
        likely[:, result] = weights @ hit
        here = hit[pivotal]
        only = (here * weights[pivotal, None]).T @ (1.0 - here)
        gaps[:, :, result] = only - only.T
    with np.errstate(divide="ignore"):
        return Chances(np.log(likely) + shift, gaps, shift, slack)


def gather(found: dict[bytes, float], results: IntArray, weights: FloatArray) -> BoolArray:
    """Add the weights of cells to their patterns; `results` has a row per vote. Says which cells are pivotal."""
    pivotal: BoolArray = (results != results[0]).any(axis=0)
    kinds = len(results)
    for result, weight in enumerate(np.bincount(results[0, ~pivotal], weights[~pivotal])):
        if weight:
            key = np.full(kinds, result, dtype=np.int8).tobytes()
            found[key] = found.get(key, 0.0) + float(weight)
    if pivotal.any():
        rows = np.ascontiguousarray(results[:, pivotal].T.astype(np.int8))
        whole = rows.view(np.dtype((np.void, kinds))).ravel()
        distinct, place = np.unique(whole, return_inverse=True)
        for key, weight in zip(distinct, np.bincount(place.ravel(), weights[pivotal]), strict=True):
            found[key.tobytes()] = found.get(key.tobytes(), 0.0) + float(weight)
    return pivotal
