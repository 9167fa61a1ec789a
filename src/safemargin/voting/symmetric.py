"""Elections drawn at random where points decide and every ranking is equally likely: every draw counts m! times.

The others' points are then exchangeable: whoever has which of them is as likely as any other assignment. So a draw only
says which points there are, and how often somebody wins is counted over all m! assignments at once (Rao and Blackwell:
the mean is the same, and the variance smaller).

Counting without listing. Let r have `s` points, and let each other candidate c beat r with more than `s + t_c`. The
points that are not more are nested in c. So r wins in as many assignments as the product has factors of

    (points up to s + t_c, less those assigned before),   c by rising t.

Of all pairs of votes and sets of results, many have the same t: these are computed once (`PointGrid`).

Intervals: the pair is chosen on one half of the draws and measured on the other, so that choosing the largest does not
bias it; the upper end is a union bound over pairs and sets.
"""

from dataclasses import dataclass
from functools import cached_property
from math import exp, factorial, prod
from statistics import NormalDist

import numpy as np

from safemargin.core import FloatArray, Generator, IntArray, Progress, no_progress, numpy_generator
from safemargin.voting.chances import CONFIDENCE, Estimate
from safemargin.voting.election import VoterTypes

MAX_CANDIDATES = 8
MAX_WORK = 8e8
"""Factors of all products, most of which are shared: a few seconds."""
MANY = 50
"""Voters for each kind of vote from which on counts of votes are drawn, not votes."""
BLOCK = 500
"""Draws that are looked at together: what they give for every cell stays in a processor's cache."""


def applies(kinds: VoterTypes) -> bool:
    """Whether points decide, no vote is known, and all orders of the same points are equally likely."""
    adds = kinds.adds
    if not kinds.rule.adds_points or not kinds.rule.is_single or adds.shape[1] > MAX_CANDIDATES:
        return False
    points, often = np.unique(adds[0], return_counts=True)
    orders = factorial(adds.shape[1]) // prod(factorial(int(count)) for count in often)
    alike = len(set(kinds.shares)) == 1 and len(np.unique(kinds.offset)) == 1
    return bool(alike and len(kinds) == orders and len(points) > 1 and (np.sort(adds) == np.sort(adds[0])).all())


@dataclass(frozen=True, eq=False)
class PointGrid:
    """What the chance of a winner depends on: by how much each other candidate may exceed them, in rising order.

    `numbers[x, r]` is the cell of winner r where the person votes x; `limits` has a row per cell.

    Borda, three candidates, the others' points 6, 4 and 2 in any order; the person votes a>b>c. Of the six assignments
    a wins three, b two and c one:

    >>> from safemargin.voting.election import Election, uniform
    >>> from safemargin.voting.rules import rule_named
    >>> borda = rule_named("borda", 3)
    >>> grid = PointGrid.of(Election(borda, 5, uniform(borda)).kinds.adds)
    >>> (6 * grid.chances(np.array([[6, 4, 2]]))[0, grid.numbers[0]]).round().tolist()
    [3.0, 2.0, 1.0]
    """

    numbers: IntArray
    limits: IntArray

    @classmethod
    def of(cls, adds: IntArray) -> "PointGrid":
        """The cells of votes that add these points."""
        size = adds.shape[1]
        rows = []
        for r in range(size):
            others = [c for c in range(size) if c != r]
            earlier = np.array([c < r for c in others])  # who comes earlier wins a tie against r
            rows.append(np.sort(adds[:, [r]] - adds[:, others] - earlier, axis=1))
        limits, numbers = np.unique(np.concatenate(rows), axis=0, return_inverse=True)
        return cls(numbers.reshape(size, len(adds)).T, limits)

    def chances(self, scores: IntArray) -> FloatArray:
        """In which share of the assignments of each row of points somebody wins in each cell."""
        size = scores.shape[1]
        ahead = scores[:, None, :] - scores[:, :, None]  # of every other over whoever has the points
        below = {t: (ahead <= t).sum(axis=2) - (t >= 0) for t in np.unique(self.limits).tolist()}
        left = {(t, given): np.maximum(below[t] - given, 0.0) for t in below for given in range(size - 1)}
        shares = np.empty((len(scores), len(self.limits)))
        ways, before = [np.ones(ahead.shape[:2])], [None] * (size - 1)
        for cell, limits in enumerate(self.limits.tolist()):  # in order, so that most begin as the one before does
            same = next((n for n in range(size - 1) if limits[n] != before[n]), size - 1)
            del ways[same + 1 :]
            for given in range(same, size - 1):
                ways.append(ways[-1] * left[limits[given], given])
            shares[:, cell], before = ways[-1].sum(axis=1), limits
        return shares / factorial(size)


@dataclass(frozen=True, eq=False)
class Half:
    """Means and covariances of the cells over draws."""

    draws: int
    first: FloatArray
    second: FloatArray

    def __add__(self, other: "Half") -> "Half":
        return Half(self.draws + other.draws, self.first + other.first, self.second + other.second)

    @cached_property
    def mean(self) -> FloatArray:
        """The chance of every cell."""
        return self.first / self.draws

    @cached_property
    def covariance(self) -> FloatArray:
        """Of the means."""
        return np.asarray((self.second / self.draws - np.outer(self.mean, self.mean)) / self.draws)


def sample_alike(
    kinds: VoterTypes, epsilon: float, draws: int, seed: int, progress: Progress = no_progress
) -> Estimate:
    """Choose the worst votes and results on one half of the draws, measure on the other; the upper end is over all."""
    doubt = (1 - CONFIDENCE) / 2
    cells, size = PointGrid.of(kinds.adds), kinds.adds.shape[1]
    draws = min(draws, int(MAX_WORK / (len(cells.limits) * size * (size - 1)))) // 2
    generator, factor = numpy_generator(seed), exp(epsilon)
    halves = [_draw(kinds, cells, draws, generator, number, progress) for number in range(2)]
    sets = (np.arange(1, 1 << size)[:, None] >> np.arange(size) & 1).astype(np.float64)
    likely = halves[0].mean[cells.numbers] @ sets.T
    best = int((likely.max(axis=0) - factor * likely.min(axis=0)).argmax())
    x, y, chosen = int(likely[:, best].argmax()), int(likely[:, best].argmin()), np.flatnonzero(sets[best])
    weights = np.bincount(cells.numbers[x, chosen], minlength=len(cells.limits)).astype(np.float64)
    weights -= factor * np.bincount(cells.numbers[y, chosen], minlength=len(cells.limits))
    delta = max(float(weights @ halves[1].mean), 0.0)
    error = float(weights @ halves[1].covariance @ weights) ** 0.5
    low = max(delta - NormalDist().inv_cdf(1 - doubt) * error, 0.0)
    high = max(delta, _upper(halves[0] + halves[1], cells, sets, factor, doubt))
    return Estimate(delta, low, min(high, 1.0), (x, y), tuple(chosen.tolist()))


def _draw(kinds: VoterTypes, cells: PointGrid, draws: int, generator: Generator, half: int, progress: Progress) -> Half:
    """Sums over elections of all others, each with every assignment of its points."""
    count = len(cells.limits)
    first, second = np.zeros(count), np.zeros((count, count))
    for start in range(0, draws, BLOCK):
        progress("drawing elections", half * draws + start, 2 * draws)
        size = min(BLOCK, draws - start)
        scores = np.zeros((size, kinds.adds.shape[1]), dtype=np.int64)
        if kinds.others > MANY * len(kinds):  # how often each vote is cast, at once: the same law
            scores += generator.multinomial(kinds.others, kinds.weights / kinds.weights.sum(), size=size) @ kinds.adds
        else:
            for _ in range(kinds.others):
                scores += kinds.adds[generator.integers(len(kinds), size=size)]
        found = cells.chances(scores)
        first += found.sum(axis=0)
        second += found.T @ found
    return Half(draws, first, second)


def _upper(both: Half, cells: PointGrid, sets: FloatArray, factor: float, doubt: float) -> float:
    """An upper end over all pairs of votes and sets of results: for each set the best two votes are found apart."""
    wide = NormalDist().inv_cdf(1 - doubt / (2 * len(cells.numbers) * len(sets)))
    most, least = np.full(len(sets), -np.inf), np.full(len(sets), np.inf)
    for start in range(0, len(cells.numbers), BLOCK):
        numbers = cells.numbers[start : start + BLOCK]
        likely = both.mean[numbers] @ sets.T
        spread = both.covariance[numbers[:, :, None], numbers[:, None, :]]
        square = np.einsum("sr,xrq,sq->xs", sets, spread, sets, optimize=True)
        error = wide * np.sqrt(np.maximum(square, 0.0))
        most = np.maximum(most, (likely + error).max(axis=0))
        least = np.minimum(least, (likely - error).min(axis=0))
    return float((most - factor * np.maximum(least, 0.0)).max())
