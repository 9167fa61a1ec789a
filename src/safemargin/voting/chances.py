"""How likely each result is for each vote of one person, and what follows: delta, pure epsilon, the worst pair.

Objects. Q_x(r) is the probability that result r is published if the person votes x and all others draw their votes.
Definition 2 of Liu, Lu, Xia and Zikas: the publication is (epsilon, delta)-private if for all votes x and y and all
sets R of results

    Q_x(R) <= exp(epsilon) Q_y(R) + delta.

The worst set R of a pair holds the results where the difference is positive. So the least delta is

    delta(epsilon) = max over (x, y) of  sum over r of max(0, Q_x(r) - exp(epsilon) Q_y(r)).

What an engine must deliver. Delta falls exponentially where the race is not close, and the difference of two numbers
near 1 would then hold no digit of it. So engines sum the *gap* Q_x(r) - Q_y(r) over the cases in which x and y lead to
different results, and over no others, and hand over gaps beside probabilities. Both may be below what floating point
holds; they share the factor `exp(shift)`.

Invariants. Gaps of a pair add up to 0 over results, and change sign with the order of the pair. Delta at epsilon 0 is
half the sum of their absolute values. `slack` bounds how far any delta may be off.

Example: two voters, two candidates, ties go to a. The person decides alone if the other votes b.

>>> likely = np.array([[1.0, 0.0], [0.5, 0.5]])  # of a and of b, if the person votes a and if they vote b
>>> with_log = OutcomeDistribution(np.log(np.maximum(likely, 1e-300)), likely[:, None] - likely[None])
>>> with_log.worst().delta, with_log.worst().results
(0.5, (0,))
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import comb, exp, expm1, inf, log
from typing import Any, NamedTuple

import numpy as np

from safemargin.core import BoolArray, FloatArray, IntArray

CONFIDENCE = 0.95
"""Of intervals for what is estimated from draws."""
BLOCK = 100_000
"""Ways to vote that are looked at together."""


class Worst(NamedTuple):
    """The largest gap at one epsilon: which votes, and which results they make likelier."""

    delta: float
    log_delta: float
    pair: tuple[int, int]
    results: tuple[int, ...]


@dataclass(frozen=True)
class Estimate:
    """Delta with the ends of its interval; the pair and the results were chosen on the first half of the draws."""

    delta: float
    low: float
    high: float
    pair: tuple[int, int]
    results: tuple[int, ...]
    all_votes: bool = True
    """Whether the upper end holds for every pair of votes; otherwise it is 1."""


@dataclass(frozen=True, eq=False)
class OutcomeDistribution:
    """`log_likely[x, r]` is the log of how likely result r is if the person votes x.

    `gaps[x, y, r]` is the difference for votes x and y, to be multiplied by `exp(shift)`. It is summed over the cases
    in which they differ and over no others, so that it keeps its digits where the two are nearly equal.
    `slack` is how far any delta may be off by rounding, before that factor.
    """

    log_likely: FloatArray
    gaps: FloatArray
    shift: float = 0.0
    slack: float = 0.0

    def worst(self, epsilon: float = 0.0) -> Worst:
        """Delta at an epsilon: the largest sum of positive gaps over ordered pairs of votes."""
        gaps = self.gaps
        if epsilon > 0.0:  # Q_x - e Q_y = (Q_x - Q_y) - (e - 1) Q_y; 700 keeps exp within floating point
            less = np.exp(np.minimum(self.log_likely + (log(expm1(epsilon)) - self.shift), 700.0))
            gaps = gaps - less[None, :, :]
        sums = np.maximum(gaps, 0.0).sum(axis=2)
        best = float(sums.max(initial=0.0))
        near = np.argwhere(sums >= best * (1 - 1e-9))  # of pairs that differ by rounding the first, on every machine
        x, y = (int(near[0][0]), int(near[0][1])) if best > 0 else (0, min(1, len(gaps) - 1))
        results = tuple(int(r) for r in np.flatnonzero(gaps[x, y] > 0))
        log_delta = log(best) + self.shift if best > 0 else -inf
        return Worst(exp(log_delta) if log_delta > -745 else 0.0, log_delta, (x, y), results)

    def of_votes(self, votes: IntArray) -> "OutcomeDistribution":
        """Of some votes only."""
        return replace(self, log_likely=self.log_likely[votes], gaps=self.gaps[np.ix_(votes, votes)])

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

    def simulator_delta(self, epsilon: float = 0.0) -> float:
        """The least delta of any simulator that does not see the vote (Definition 8, nothing else known).

        For one belief the best simulator is a fixed law q of results, which a linear program finds: for all votes x,
        sum of (Q_x - e q)+ <= delta and sum of (q - e Q_x)+ <= delta. Definition 2 gives it with the same numbers; the
        way back costs a factor (Lemma 2).
        """
        from scipy.optimize import linprog  # slow to import, and only this needs it

        likely = np.exp(self.log_likely)
        votes, results = likely.shape
        excess = votes * results  # variables: q, the excesses of Q_x over e q, those of q over e Q_x, delta
        law = np.tile(np.eye(results), (votes, 1))
        single, summed = np.eye(excess), np.kron(np.eye(votes), np.ones(results))
        zero, column = np.zeros((excess, excess)), np.zeros((excess, 1))
        rows = np.block(
            [
                [-exp(epsilon) * law, -single, zero, column],
                [law, zero, -single, column],
                [np.zeros((votes, results)), summed, zero[:votes], -np.ones((votes, 1))],
                [np.zeros((votes, results)), zero[:votes], summed, -np.ones((votes, 1))],
            ]
        )
        limits = np.concatenate([-likely.ravel(), exp(epsilon) * likely.ravel(), np.zeros(2 * votes)])
        cost = np.zeros(rows.shape[1])
        cost[-1] = 1.0
        total = np.zeros((1, rows.shape[1]))
        total[0, :results] = 1.0
        least: Any = linprog(cost, rows, limits, total, [1.0], method="highs").fun
        return max(float(least), 0.0)


def from_patterns(
    patterns: Mapping[bytes, float], results: int, shift: float = 0.0, slack: float = 0.0
) -> OutcomeDistribution:
    """From how likely each pattern is: the result for every vote of the person, the others' votes staying."""
    rows = np.array([np.frombuffer(key, dtype=_number_of(results)) for key in patterns], dtype=np.int64)
    weights = np.array(list(patterns.values()))
    pivotal = (rows != rows[:, :1]).any(axis=1)
    kinds = rows.shape[1]
    likely = np.zeros((kinds, results))
    gaps = np.zeros((kinds, kinds, results))
    for result in range(results):
        hit = (rows == result).astype(np.float64)
        likely[:, result] = weights @ hit
        # only patterns in which x gives the result and y does not: no difference of numbers that are nearly equal
        here = hit[pivotal]
        only = (here * weights[pivotal, None]).T @ (1.0 - here)
        gaps[:, :, result] = only - only.T
    with np.errstate(divide="ignore"):
        return OutcomeDistribution(np.log(likely) + shift, gaps, shift, slack)


def _number_of(results: int) -> type[np.unsignedinteger[Any]]:
    """The smallest type that holds every result: committees may be thousands."""
    return np.uint8 if results <= 1 << 8 else np.uint32


def gather(patterns: dict[bytes, float], results: IntArray, weights: FloatArray, outcomes: int) -> BoolArray:
    """Add the weights of cells to their patterns; `results` has a row per vote. Returns which cells are pivotal."""
    number = _number_of(outcomes)
    pivotal: BoolArray = (results != results[0]).any(axis=0)
    kinds = len(results)
    for result, weight in enumerate(np.bincount(results[0, ~pivotal], weights[~pivotal])):
        if weight:
            key = np.full(kinds, result, dtype=number).tobytes()
            patterns[key] = patterns.get(key, 0.0) + float(weight)
    if pivotal.any():
        rows = np.ascontiguousarray(results[:, pivotal].T.astype(number))
        # a row as one value, so that unique sorts only once
        packed = rows.view(np.dtype((np.void, rows.strides[0]))).ravel()
        distinct, group = np.unique(packed, return_inverse=True)
        for key, weight in zip(distinct, np.bincount(group.ravel(), weights[pivotal]), strict=True):
            patterns[key.tobytes()] = patterns.get(key.tobytes(), 0.0) + float(weight)
    return pivotal


def ways(others: int, kinds: int) -> int:
    """How many counts of votes there are."""
    return comb(others + kinds - 1, kinds - 1)


def all_counts(others: int, kinds: int) -> Iterator[IntArray]:
    """Every way to split `others` into counts of kinds, in blocks of rows."""
    if kinds == 1 or ways(others, kinds) <= BLOCK:
        yield _block(others, kinds)
        return
    for first in range(others + 1):
        for rest in all_counts(others - first, kinds - 1):
            yield np.concatenate([np.full((len(rest), 1), first), rest], axis=1)


def _block(others: int, kinds: int) -> IntArray:
    """All of them at once: every row so far is repeated for each count that the next kind can have."""
    rows = np.zeros((1, 0), dtype=np.int64)
    for _ in range(kinds - 1):
        left = others - rows.sum(axis=1)
        source = np.repeat(np.arange(len(rows)), left + 1)
        start = np.cumsum(left + 1) - (left + 1)
        value = np.arange(len(source)) - start[source]
        rows = np.concatenate([rows[source], value[:, None]], axis=1)
    return np.concatenate([rows, others - rows.sum(axis=1, keepdims=True)], axis=1)
