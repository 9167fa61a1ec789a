"""Elections drawn at random, more often where the race is close, with an interval that holds in 95 of 100 runs."""

from dataclasses import dataclass, replace
from itertools import chain, combinations
from math import exp
from statistics import NormalDist

import numpy as np

from safemargin.core import FloatArray, Generator, IntArray, Progress, numpy_generator
from safemargin.voting.crossings import crossings, results_at
from safemargin.voting.election import Kinds
from safemargin.voting.extremes import FEWEST_DRAWS, Extremes
from safemargin.voting.rules.positional import Positional

DRAWS = 200_000
BLOCK = 10_000
NEGLIGIBLE = 20.0
MOST_SETS = 64
MOST_COUNTS = 10_000_000
"""Numbers that are held at once."""
MOST_VOTES = 64
"""Kinds of votes of which every pair is measured. Of more, those that stand out are, and the upper end is for all."""
STAND_OUT = 24
OFTEN = 20.0
"""Expected votes of a kind from which on the person is taken to be any voter."""
CONFIDENCE = 0.95
RARE = 3.7
"""What is expected so often is drawn in 39 of 40 runs. A draw counts at most as much as there are places.

Where scores decide, every tie of two candidates is drawn; ties of other rules are too many to be sure.
"""


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


@dataclass
class Moments:
    """Sums over draws: of the weight of every vote by result, and of products of two by both their results."""

    first: FloatArray
    second: FloatArray
    draws: int = 0

    @classmethod
    def empty(cls, results: int, votes: int) -> "Moments":
        """Nothing drawn yet."""
        return cls(np.zeros((results, votes)), np.zeros((results, results, votes, votes)))

    def add(self, weights: FloatArray, results: IntArray) -> None:
        """Count a block of draws: for each, a weight per vote, and a result per vote or one for all votes."""
        self.draws += len(weights)
        seen = np.unique(results).tolist()
        parts = {result: weights * (results == result) for result in seen}
        for r in seen:
            self.first[r] += parts[r].sum(axis=0)
            for other in seen if results.shape[1] > 1 else [r]:
                self.second[r, other] += parts[r].T @ parts[other]

    def gap(self, results: tuple[int, ...], factor: float) -> tuple[FloatArray, FloatArray]:
        """Chance of `results` with each vote less `factor` times that with each other: mean and standard error."""
        some = list(results)
        first, second = self.first[some].sum(axis=0), self.second[np.ix_(some, some)].sum(axis=(0, 1))
        mean = (first[:, None] - factor * first[None, :]) / self.draws
        own = np.diag(second)
        square = (own[:, None] + factor**2 * own[None, :] - 2 * factor * second) / self.draws
        return mean, np.sqrt(np.maximum(square - mean**2, 0.0) / self.draws)


def looked_at(kinds: Kinds) -> IntArray:
    """The votes among which the worst pair is looked for: the likeliest, spread out where many are equally likely."""
    spread = (np.arange(len(kinds)) * 2654435761) % 2**32
    return np.sort(np.lexsort((spread, -kinds.weights))[:MOST_VOTES])


def sampled(kinds: Kinds, epsilon: float, draws: int, seed: int, progress: Progress) -> Estimate:
    """Choose the worst votes and results on one half of the draws, measure on the other."""
    found = crossings(kinds, 2)
    places = [kinds.weights]
    places += [c.shares for c in found if c.rate > 0 and kinds.others * (c.rate - found[0].rate) < NEGLIGIBLE][:4]
    all_votes = _extremes(kinds, places, draws, seed) if len(kinds) > MOST_VOTES else None
    votes = all_votes.standing_out(min(STAND_OUT, MOST_VOTES)) if all_votes else looked_at(kinds)
    usual = int(results_at(kinds, kinds.weights)[0])
    many = (kinds.others + 1) * float(kinds.weights[votes].min()) >= OFTEN
    generator = numpy_generator(seed)
    halves = []
    for half in range(2):
        moments = Moments.empty(kinds.rule.outcomes, len(votes))
        for start in range(0, draws // 2, BLOCK):
            progress("computing", half * (draws // 2) + start, draws)
            count = min(BLOCK, draws // 2 - start)
            counts, ratio = _drawn(places, kinds.others + many, count, generator)
            sums = _sums(kinds, counts)
            if many:  # one of all voters, at random, is the person: their vote is likely where it is cast often
                weights = ratio[:, None] * counts[:, votes] / ((kinds.others + 1) * kinds.weights[votes])
                moments.add(weights, kinds.rule.winners(sums)[:, None])
            else:  # every vote of the person is added to the same others
                results = np.stack([kinds.rule.winners(sums + kinds.adds[vote]) for vote in votes], axis=1)
                moments.add(np.repeat(ratio[:, None], len(votes), axis=1), results)
        halves.append(moments)
    estimate = _estimate(halves[0], halves[1], epsilon, usual)
    x, y = estimate.pair
    high = estimate.high
    if len(kinds) > MOST_VOTES:
        high = max(estimate.delta, all_votes.upper(epsilon, (1 - CONFIDENCE) / 2)) if all_votes else 1.0
    if high == 0 or not isinstance(kinds.rule, Positional):  # ties may be missed that nobody drew
        drawn = all_votes.draws if all_votes else draws
        high = max(high, min(RARE * len(places) / drawn, 1.0))
    hidden = len(kinds) > MOST_VOTES and all_votes is None
    return replace(estimate, pair=(int(votes[x]), int(votes[y])), high=high, all_votes=not hidden)


def _extremes(kinds: Kinds, places: list[FloatArray], draws: int, seed: int) -> Extremes | None:
    """All votes added to the same elections; nothing if that takes too long."""
    found, generator = Extremes.empty(kinds), numpy_generator(seed + 1)
    block = max(min(BLOCK, FEWEST_DRAWS // 4, MOST_COUNTS // (len(kinds) + kinds.adds.shape[1])), 1)
    while found.draws < draws:
        counts, ratio = _drawn(places, kinds.others, min(block, draws - found.draws), generator)
        if not found.add(_sums(kinds, counts), ratio):
            break
    return found if found.draws >= min(draws, FEWEST_DRAWS) else None


def _sums(kinds: Kinds, counts: IntArray) -> IntArray:
    """What all votes add up to, in floating point, which is quick and exact for whole numbers of this size."""
    sums: IntArray = np.rint(counts.astype(np.float64) @ kinds.adds.astype(np.float64)).astype(np.int64)
    return sums + kinds.offset


def _drawn(places: list[FloatArray], voters: int, count: int, generator: Generator) -> tuple[IntArray, FloatArray]:
    """Counts of votes from a mixture of beliefs, and how much likelier the first belief makes them than the mixture."""
    which = generator.integers(len(places), size=count)
    rows = [generator.multinomial(voters, place, size=int((which == n).sum())) for n, place in enumerate(places)]
    counts = np.concatenate(rows)
    logs = counts @ np.log(np.array(places)).T
    ratio: FloatArray = np.exp(logs[:, 0] - np.logaddexp.reduce(logs, axis=1)) * len(places)
    return counts, ratio


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
        rare = RARE / (choosing.draws + measuring.draws)
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
