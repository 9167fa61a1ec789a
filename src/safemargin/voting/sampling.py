"""Elections drawn at random, more often where the race is close, with an interval that holds in 95 of 100 runs."""

from dataclasses import dataclass, replace
from itertools import chain, combinations
from math import exp
from statistics import NormalDist

import numpy as np

from safemargin.model.arrays import FloatArray, IntArray
from safemargin.randomness import numpy_generator
from safemargin.voting.crossings import crossings, results_at
from safemargin.voting.election import Kinds
from safemargin.voting.lattice import Progress

DRAWS = 200_000
BLOCK = 10_000
NEGLIGIBLE = 20.0
MOST_SETS = 64
MOST_VOTES = 64
"""Votes among which the worst pair is looked for, the likeliest ones."""
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Estimate:
    """Delta with the ends of its interval; the pair and the results were chosen on the first half of the draws."""

    delta: float
    low: float
    high: float
    pair: tuple[int, int]
    results: tuple[int, ...]


@dataclass
class Moments:
    """Sums over draws, by result: of the weights of every vote, and of their products."""

    first: FloatArray
    second: FloatArray
    draws: int = 0

    def add(self, weights: FloatArray, results: IntArray) -> None:
        """Count a block of draws: a row of weights and a result each."""
        self.draws += len(weights)
        for result in np.unique(results):
            mine = weights[results == result]
            self.first[int(result)] += mine.sum(axis=0)
            self.second[int(result)] += mine.T @ mine

    def gap(self, results: tuple[int, ...], factor: float) -> tuple[FloatArray, FloatArray]:
        """Chance of `results` with each vote less `factor` times that with each other: mean and standard error."""
        first, second = self.first[list(results)].sum(axis=0), self.second[list(results)].sum(axis=0)
        mean = (first[:, None] - factor * first[None, :]) / self.draws
        own = np.diag(second)
        square = (own[:, None] + factor**2 * own[None, :] - 2 * factor * second) / self.draws
        return mean, np.sqrt(np.maximum(square - mean**2, 0.0) / self.draws)


def sampled(kinds: Kinds, epsilon: float, draws: int, seed: int, progress: Progress) -> Estimate:
    """Choose the worst votes and results on one half of the draws, measure on the other."""
    found = crossings(kinds, 2)
    votes = np.sort(np.argsort(-kinds.weights, kind="stable")[:MOST_VOTES])
    places = [kinds.weights]
    places += [c.shares for c in found if c.rate > 0 and kinds.others * (c.rate - found[0].rate) < NEGLIGIBLE][:4]
    usual = int(results_at(kinds, kinds.weights)[0])
    generator = numpy_generator(seed)
    logs = np.log(np.array(places))
    halves = []
    for half in range(2):
        size, kinds_count = kinds.rule.outcomes, len(votes)
        moments = Moments(np.zeros((size, kinds_count)), np.zeros((size, kinds_count, kinds_count)))
        for start in range(0, draws // 2, BLOCK):
            progress(half * (draws // 2) + start, draws)
            count = min(BLOCK, draws // 2 - start)
            which = generator.integers(len(places), size=count)
            counts = np.concatenate(
                [
                    generator.multinomial(kinds.others + 1, place, size=int((which == number).sum()))
                    for number, place in enumerate(places)
                ]
            )
            spread = counts @ logs.T
            ratio = np.exp(spread[:, 0] - np.logaddexp.reduce(spread, axis=1)) * len(places)
            weights = ratio[:, None] * counts[:, votes] / ((kinds.others + 1) * kinds.weights[votes])
            moments.add(weights, kinds.rule.winners(counts @ kinds.adds + kinds.offset))
        halves.append(moments)
    estimate = _estimate(halves[0], halves[1], epsilon, usual)
    x, y = estimate.pair
    return replace(estimate, pair=(int(votes[x]), int(votes[y])))


def _sets(moments: Moments, usual: int) -> list[tuple[int, ...]]:
    """Sets of results without the usual one: the others say the same, with the votes exchanged."""
    seen = [r for r in range(len(moments.first)) if moments.first[r].any() and r != usual]
    every = chain.from_iterable(combinations(seen, size) for size in range(1, len(seen) + 1))
    return list(every) if 2 ** len(seen) <= MOST_SETS else [(r,) for r in seen] + [tuple(seen)]


def _estimate(choosing: Moments, measuring: Moments, epsilon: float, usual: int) -> Estimate:
    factor = exp(epsilon)
    sets = _sets(choosing, usual)
    cases = []
    for results in sets:
        mean, _ = choosing.gap(results, factor)
        cases.append((float(mean.max()), results, np.unravel_index(int(mean.argmax()), mean.shape)))
    if not cases:
        rare = 3.7 / (choosing.draws + measuring.draws)
        return Estimate(0.0, 0.0, min(rare, 1.0), (0, 1), ())
    _, results, (x, y) = max(cases, key=lambda case: case[0])
    mean, error = measuring.gap(results, factor)
    level = 1 - (1 - CONFIDENCE) / 2
    delta = max(float(mean[x, y]), 0.0)
    low = max(delta - NormalDist().inv_cdf(level) * float(error[x, y]), 0.0)
    pairs = mean.size * max(len(sets), 1) * 2
    wide = NormalDist().inv_cdf(1 - (1 - CONFIDENCE) / 2 / pairs)
    both = Moments(
        choosing.first + measuring.first, choosing.second + measuring.second, choosing.draws + measuring.draws
    )
    tops = [delta]
    for some in sets:
        mean, error = both.gap(some, factor)
        tops.append(float((mean + wide * error).max()))
        if epsilon > 0:  # the usual result among them
            mean, error = both.gap(some, 1 / factor)
            tops.append(float((factor * (mean + wide * error)).max()) + 1 - factor)
    return Estimate(delta, low, min(max(tops), 1.0), (int(x), int(y)), results)
