"""Elections drawn at random, more often where the race is close, with an interval that holds in 95 of 100 runs.

Importance sampling. A vote matters only in close races, which are rare where the belief is far from a tie. So elections
are drawn from a mixture of the believed shares and those of the nearest ties (`crossings.py`), and each counts with the
ratio of its probability under the belief to that under the mixture. The ratio is at most the number of parts, so that
no draw can dominate.

The person as any voter. Where all kinds of votes occur often, the person is one of n drawn voters at random: Q_x(r) =
E[1{result r} T_x] / (n p_x), with the count T_x of votes x. One draw then serves every vote, with less variance than
casting each vote beside the same others.

Honest intervals. The maximum over pairs of votes is biased upwards on the draws that it is taken from. So the pair and
the results are chosen on one half of the draws and measured on the other: that is the lower end. The upper end is a
union bound over all pairs and sets of results, with normal quantiles. With too many votes to compare all pairs, each is
compared with one; the gap of two is then a difference of two of these (`SampledExtremes`).

Not a proof: the interval fails in up to 5 of 100 runs, and its upper end is also cut by the delta of publishing all
counts, which is proved.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations
from math import exp, expm1
from statistics import NormalDist

import numpy as np

from safemargin.core import (
    BoolArray,
    FloatArray,
    Generator,
    IntArray,
    Progress,
    TooLargeError,
    no_progress,
    numpy_generator,
)
from safemargin.voting.chances import CONFIDENCE, Estimate
from safemargin.voting.election import Crossing, VoterTypes

DRAWS = 200_000
BLOCK = 10_000
NEGLIGIBLE = 20.0
MAX_SETS = 64
"""Sets of results for which the upper end is computed as a whole; with more, result by result."""
MAX_COUNTS = 10_000_000
"""Numbers that are held at once."""
MAX_PRODUCTS = 10_000_000
"""Products of two votes with their results whose sums are held: 80 MB."""
MAX_ADDED = 500_000
"""Sums that all votes are added to at once: as many as a processor's cache holds."""
MAX_VOTES = 64
"""Kinds of votes of which every pair is measured. Of more, those that stand out are, and the upper end is for all."""
STAND_OUT = 24
OFTEN = 20.0
"""Expected votes of a kind from which on the person is taken to be any voter."""
RARE = 3.7
"""What is expected so often is drawn in 39 of 40 runs (exp(-3.7) = 1/40). A draw counts at most as much as there are
points that it is drawn around. Where points decide, every tie of two candidates is drawn; ties of other rules are too
many to be sure."""
MAX_RESULTS = 400_000_000
"""Results that are computed for the upper end over all votes, times the sums of the rule."""
FEW_PER_KIND = 8
MAX_VOTES_DRAWN = 1_000_000
"""Votes that are drawn one by one and held at once, where there are at most so many of each kind."""
FEWEST_DRAWS = 2_000
PAIRS = 500
"""Votes that are compared with all others together."""
MAX_SETS_OF_RESULTS = 12
"""Results all sets of which are listed: 4,096 sets."""


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
        seen = np.unique(results)
        parts = np.where(results[:, None, :] == seen[:, None], weights[:, None, :], 0.0)  # by draw, result and vote
        self.first[seen] += parts.sum(axis=0)
        if results.shape[1] == 1:  # one result for all votes: two different ones never meet
            self.second[seen, seen] += np.einsum("drv,drw->rvw", parts, parts, optimize=True)
            return
        flat = parts.reshape(len(weights), -1)  # one product of two matrices: many small ones are slow on busy cores
        products = (flat.T @ flat).reshape(len(seen), parts.shape[2], len(seen), parts.shape[2])
        self.second[np.ix_(seen, seen)] += products.transpose(0, 2, 1, 3)

    def gap(self, results: tuple[int, ...], factor: float) -> tuple[FloatArray, FloatArray]:
        """Probability of `results` with each vote less `factor` times that with each other: mean, standard error."""
        some = list(results)
        first, second = self.first[some].sum(axis=0), self.second[np.ix_(some, some)].sum(axis=(0, 1))
        mean = (first[:, None] - factor * first[None, :]) / self.draws
        own = np.diag(second)
        square = (own[:, None] + factor**2 * own[None, :] - 2 * factor * second) / self.draws
        return mean, np.sqrt(np.maximum(square - mean**2, 0.0) / self.draws)


@dataclass
class SampledExtremes:
    """All kinds of votes, where there are too many for every pair: which stand out, and an upper end for delta.

    Every vote is added to the same drawn elections, and compared with one vote. The gap between two votes is the
    difference of what they differ from it by, so an interval for each vote and result bounds every pair and every set
    of results. Sums over draws, a row per vote and a column per result: weights where the result changes, and squares.
    """

    kinds: VoterTypes
    first: FloatArray
    second: FloatArray
    likely: FloatArray
    squares: FloatArray
    draws: int = 0
    work: int = 0

    @classmethod
    def empty(cls, kinds: VoterTypes) -> "SampledExtremes":
        """Nothing drawn yet."""
        shape = len(kinds), kinds.rule.outcomes
        return cls(kinds, np.zeros(shape), np.zeros(shape), np.zeros(shape[1]), np.zeros(shape[1]))

    def add(self, sums: IntArray, ratio: FloatArray) -> bool:
        """Count drawn elections: sums of the others, and how much each counts. False if it would take too long."""
        is_open = self._open(sums)
        self.work += int(is_open.sum()) * sums.shape[1] * len(self.kinds)
        if self.work > MAX_RESULTS:
            return False
        outcomes = self.kinds.rule.outcomes
        usual = self.kinds.rule.winners(sums + self.kinds.adds[0])
        self.draws += len(sums)
        self.likely += np.bincount(usual, ratio, outcomes)
        self.squares += np.bincount(usual, ratio**2, outcomes)
        sums, ratio, usual = sums[is_open], ratio[is_open], usual[is_open]
        if not len(sums):
            return True
        before = np.bincount(usual, ratio, outcomes), np.bincount(usual, ratio**2, outcomes)
        block = max(MAX_ADDED // (len(sums) * sums.shape[1]), 1)
        for start in range(
            0, len(self.kinds), block
        ):  # many votes in one call: a call per vote costs more than its work
            adds = self.kinds.adds[start : start + block]
            both = (sums[None, :, :] + adds[:, None, :]).reshape(-1, sums.shape[1])
            results = self.kinds.rule.winners(both).reshape(len(adds), len(sums))
            cells = results + np.arange(len(adds))[:, None] * outcomes
            same = results == usual
            for sums_of, weights, old in ((self.first, ratio, before[0]), (self.second, ratio**2, before[1])):
                spread = np.broadcast_to(weights, cells.shape)
                new = np.bincount(cells.ravel(), spread.ravel(), cells.shape[0] * outcomes).reshape(-1, outcomes)
                kept = np.bincount(cells[same], spread[same], cells.shape[0] * outcomes).reshape(-1, outcomes)
                # what stays the same counts neither way; of squares, what is gained and what is lost add up
                sums_of[start : start + block] += new - old if sums_of is self.first else new + old - 2 * kept
        return True

    def _open(self, sums: IntArray) -> BoolArray:
        """Elections in which one vote may change the result: of points, where the lead is at most what it adds."""
        rule, adds = self.kinds.rule, self.kinds.adds
        if not rule.adds_points or not rule.is_single:
            return ~rule.settled(sums)
        lead = np.partition(sums, -2, axis=1)
        return np.asarray(lead[:, -1] - lead[:, -2] <= (adds.max(axis=1) - adds.min(axis=1)).max())

    def standing_out(self, most: int) -> IntArray:
        """Votes that make some result likelier or less likely than most others do."""
        ranks = np.concatenate([np.argsort(way, axis=0, kind="stable") for way in (self.first, -self.first)], axis=1)
        return np.sort(np.array(list(dict.fromkeys(ranks.ravel().tolist()))[:most]))

    def upper(self, epsilon: float, doubt: float) -> float:
        """An upper end for delta over all pairs of votes, exceeded with a probability of about `doubt`."""
        wide = NormalDist().inv_cdf(1 - doubt / (2 * self.first.size + len(self.likely)))
        mean = self.first / self.draws
        error = wide * np.sqrt(np.maximum(self.second / self.draws - mean**2, 0.0) / self.draws)
        chance = self.likely / self.draws
        spread = np.sqrt(np.maximum(self.squares / self.draws - chance**2, 0.0) / self.draws)
        less = expm1(epsilon) * np.maximum(chance - wide * spread, 0.0)
        high, low = mean + error, (1 + expm1(epsilon)) * (mean - error) + less
        return min(_largest_gap(high, low), 1.0)


def _largest_gap(high: FloatArray, low: FloatArray) -> float:
    """The largest sum of positive parts of `high[x] - low[y]` over pairs of rows.

    >>> _largest_gap(np.array([[0.5, 0.2], [0.1, 0.6]]), np.array([[0.4, 0.1], [0.0, 0.5]]))
    0.5
    """
    results = high.shape[1]
    if results <= MAX_SETS_OF_RESULTS:
        # a sum of positive parts is the largest over sets of results, and for one set the best rows are found apart
        sets = (np.arange(1 << results)[:, None] >> np.arange(results) & 1).astype(np.float64)
        return float(((high @ sets.T).max(axis=0) - (low @ sets.T).min(axis=0)).max())
    blocks = (high[start : start + PAIRS, None, :] - low[None, :, :] for start in range(0, len(high), PAIRS))
    return max(float(np.maximum(gaps, 0.0).sum(axis=2).max()) for gaps in blocks)


def likely_votes(kinds: VoterTypes) -> IntArray:
    """The likeliest votes, spread out where many are equally likely."""
    spread = (np.arange(len(kinds)) * 2654435761) % 2**32  # Knuth's multiplicative hash
    return np.sort(np.lexsort((spread, -kinds.weights))[:MAX_VOTES])


def sample(
    kinds: VoterTypes, ties: Sequence[Crossing], epsilon: float, draws: int, seed: int, progress: Progress = no_progress
) -> Estimate:
    """Choose the worst votes and results on one half of the draws, measure on the other; draw more close to `ties`."""
    near = [c.shares for c in ties if c.rate > 0 and kinds.others * (c.rate - ties[0].rate) < NEGLIGIBLE]
    points = [kinds.weights, *near[:4]]
    extremes = _draw_extremes(kinds, points, draws, seed) if len(kinds) > MAX_VOTES else None
    votes = extremes.standing_out(min(STAND_OUT, MAX_VOTES)) if extremes else likely_votes(kinds)
    usual = int(kinds.winners(kinds.weights @ kinds.adds)[0])
    pairs = kinds.rule.outcomes * len(votes)
    if pairs**2 > MAX_PRODUCTS:
        raise TooLargeError(f"rule: {kinds.rule.outcomes:,} possible results are too many to draw; ask for fewer seats")
    block = min(BLOCK, max(MAX_COUNTS // pairs, 100))
    is_frequent = (kinds.others + 1) * float(kinds.weights[votes].min()) >= OFTEN
    many = is_frequent and len(kinds) <= kinds.others
    generator = numpy_generator(seed)
    halves = []
    for half in range(2):
        moments = Moments.empty(kinds.rule.outcomes, len(votes))
        for start in range(0, draws // 2, block):
            progress("drawing elections", half * (draws // 2) + start, draws)
            size = min(block, draws // 2 - start)
            sums, counts, ratio = _draw(kinds, points, kinds.others + many, size, generator)
            if (
                many and counts is not None
            ):  # one of all voters, at random, is the person: Q_x(r) = E[1{result r} T_x] / (n pi_x)
                weights = ratio[:, None] * counts[:, votes] / ((kinds.others + 1) * kinds.weights[votes])
                moments.add(weights, kinds.rule.winners(sums)[:, None])
            else:  # every vote of the person is added to the same others
                results = np.stack([kinds.rule.winners(sums + kinds.adds[vote]) for vote in votes], axis=1)
                moments.add(np.repeat(ratio[:, None], len(votes), axis=1), results)
        halves.append(moments)
    estimate = _estimate(halves[0], halves[1], epsilon, usual)
    high = estimate.high
    if len(kinds) > MAX_VOTES:
        high = max(estimate.delta, extremes.upper(epsilon, (1 - CONFIDENCE) / 2)) if extremes else 1.0
    if high == 0 or not kinds.rule.adds_points:  # ties may be missed that nobody drew
        high = max(high, min(RARE * len(points) / (extremes.draws if extremes else draws), 1.0))
    x, y = estimate.pair
    hidden = len(kinds) > MAX_VOTES and extremes is None
    return replace(estimate, pair=(int(votes[x]), int(votes[y])), high=high, all_votes=not hidden)


def _draw_extremes(kinds: VoterTypes, points: list[FloatArray], draws: int, seed: int) -> SampledExtremes | None:
    """All votes added to the same elections; nothing if that takes too long."""
    extremes, generator = SampledExtremes.empty(kinds), numpy_generator(seed + 1)
    block = max(min(BLOCK, FEWEST_DRAWS // 4, MAX_COUNTS // (len(kinds) + kinds.adds.shape[1])), 1)
    while extremes.draws < draws:
        sums, _, ratio = _draw(kinds, points, kinds.others, min(block, draws - extremes.draws), generator)
        if not extremes.add(sums, ratio):
            break
    return extremes if extremes.draws >= min(draws, FEWEST_DRAWS) else None


def _draw(
    kinds: VoterTypes, points: list[FloatArray], voters: int, count: int, generator: Generator
) -> tuple[IntArray, IntArray | None, FloatArray]:
    """Sums of drawn elections from a mixture of shares; counts of votes, unless there are more kinds than voters; and
    how much likelier the first shares make each election than the mixture does."""
    which = np.sort(generator.integers(len(points), size=count))
    sizes = np.bincount(which, minlength=len(points)).tolist()
    adds, logs = kinds.adds.astype(np.float64), np.log(np.array(points)).T
    if len(kinds) <= voters:
        counts = np.concatenate([_counts(generator, voters, p, n) for p, n in zip(points, sizes, strict=True)])
        sums, log_mass = counts.astype(np.float64) @ adds, counts @ logs
    else:  # vote by vote: most kinds have no vote, and their counts would be a long row of zeros
        counts = None
        sums, log_mass = np.zeros((count, adds.shape[1])), np.zeros((count, len(points)))
        laws = [_law(shares) for shares in points]
        for _ in range(voters):
            votes = np.concatenate([law(generator, size) for law, size in zip(laws, sizes, strict=True)])
            sums += adds[votes]
            log_mass += logs[votes]
    ratio: FloatArray = np.exp(log_mass[:, 0] - np.logaddexp.reduce(log_mass, axis=1)) * len(points)
    # floating point is quick, and exact for integers of this size
    return np.rint(sums).astype(np.int64) + kinds.offset, counts, ratio


def _counts(generator: Generator, voters: int, shares: FloatArray, size: int) -> IntArray:
    """How often each kind of vote is cast in `size` elections.

    A multinomial draw takes a binomial per kind. Where all kinds are equally likely and there are few voters for each,
    it is quicker to draw every vote and to count: the law is the same.
    """
    kinds = len(shares)
    if shares.min() < shares.max() or voters > FEW_PER_KIND * kinds:
        return np.asarray(generator.multinomial(voters, shares, size=size))
    counts = np.empty((size, kinds), dtype=np.int64)
    rows = max(MAX_VOTES_DRAWN // voters, 1)
    for start in range(0, size, rows):
        some = min(rows, size - start)
        votes = generator.integers(kinds, size=(some, voters), dtype=np.int32)
        votes += (np.arange(some, dtype=np.int32) * kinds)[:, None]
        counts[start : start + some] = np.bincount(votes.ravel(), minlength=some * kinds).reshape(some, kinds)
    return counts


def _law(shares: FloatArray) -> Callable[[Generator, int], IntArray]:
    """Kinds of votes drawn with these shares: a function of the generator and of how many."""
    if shares.min() == shares.max():
        return lambda generator, size: generator.integers(len(shares), size=size)
    ends = np.append(np.cumsum(shares)[:-1], 1.0)
    return lambda generator, size: np.searchsorted(ends, generator.random(size), "right")


def _estimate(choosing: Moments, measuring: Moments, epsilon: float, usual: int) -> Estimate:
    """Delta with its lower end, chosen and measured on different draws; the upper end is over all pairs.

    At epsilon 0 the usual result is left to the others: with the votes exchanged it says the same, but less exactly. A
    result that nobody drew has at most the chance `RARE / draws`, which is the upper end where nothing else was seen.
    """
    factor = exp(epsilon)
    seen = [r for r in range(len(choosing.first)) if choosing.first[r].any()]
    # at epsilon 0 the usual result says the same as all others together, with the votes exchanged, but less exactly
    rare = [r for r in seen if r != usual or epsilon > 0]
    if not rare or seen == [usual]:
        unseen = RARE / (choosing.draws + measuring.draws)
        return Estimate(0.0, 0.0, min(unseen, 1.0), (0, 1), ())
    gaps = np.array([choosing.gap((r,), factor)[0] for r in rare])
    total = np.maximum(gaps, 0.0).sum(axis=0)  # the worst set of results of each pair: where its gap is positive
    x, y = np.unravel_index(int(total.argmax()), total.shape)
    results = tuple(r for r, gap in zip(rare, gaps[:, x, y], strict=True) if gap > 0)
    mean, error = measuring.gap(results, factor)
    delta = max(float(mean[x, y]), 0.0)
    low = max(delta - NormalDist().inv_cdf(1 - (1 - CONFIDENCE) / 2) * float(error[x, y]), 0.0)
    both = Moments(
        choosing.first + measuring.first, choosing.second + measuring.second, choosing.draws + measuring.draws
    )
    high = max(delta, _upper(both, [r for r in seen if r != usual], factor))
    return Estimate(delta, low, min(high, 1.0), (int(x), int(y)), results)


def _upper(moments: Moments, rare: list[int], factor: float) -> float:
    """An upper end for delta over all pairs of the votes and all sets of results, exceeded in one of 40 runs."""
    votes = moments.first.shape[1]
    is_few = 2 ** len(rare) <= MAX_SETS
    every = chain.from_iterable(combinations(rare, size) for size in range(1, len(rare) + 1))
    sets = list(every) if is_few else [(r,) for r in range(len(moments.first))]
    wide = NormalDist().inv_cdf(1 - (1 - CONFIDENCE) / 2 / (votes**2 * len(sets) * 2))
    ends = []
    for results in sets:
        mean, error = moments.gap(results, factor)
        ends.append(mean + wide * error)
        if is_few and factor > 1:  # the complement, with the usual result: 1 - p_x - e (1 - p_y) = e p_y - p_x + 1 - e
            mean, error = moments.gap(results, 1 / factor)
            ends.append((factor * (mean + wide * error)).T + 1 - factor)
    if is_few:
        return float(np.max(ends))
    return float(np.maximum(ends, 0.0).sum(axis=0).max())
