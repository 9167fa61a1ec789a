"""Closed forms: publishing all counts of votes, one sum over binomial terms; two candidates, one such term.

Counts (Theorem 4, Lemma 8). Votes of kinds i and j are in question, with shares p and q; n people vote. All that
distinguishes them is how many of the s votes of either kind are i. Given s that number is binomial, with one vote
fixed:

    Pr[k | vote i] = Bin(s - 1, p/(p+q))(k - 1),     Pr[k | vote j] = Bin(s - 1, p/(p+q))(k),

whose ratio is k q / ((s - k) p). So the set of all k above a bar is the worst one, and delta is the sum over s of
Bin(n - 1, p+q)(s - 1) times one binomial probability at epsilon 0, or one and a tail above. (The paper has Bin(n), not
Bin(n - 1).)

Which pair is worst. Turning votes of other kinds at random into i or j is a step after publication. So delta falls as
the share of i or j grows: the two rarest kinds are the worst pair, at every epsilon.

Two candidates (Theorem 2). A vote decides if the others are one vote short of the bar: delta is one probability of a
binomial law, in logarithms exact for any number of voters.

Theorem 1 bounds the same by two Chernoff tails; `theorem_1` has it with the constants of its proof, for comparison.

Example: three voters, two kinds of equal share. Delta is Pr[the other two are one of each].

>>> counts_fraction(3, [Fraction(1, 2)] * 2)
Fraction(1, 2)
"""

from bisect import bisect_left
from collections.abc import Sequence
from fractions import Fraction
from math import comb, exp, expm1, floor, log

import numpy as np

from safemargin.core import FloatArray
from safemargin.voting.binomial import log_binomial, log_upper_tail
from safemargin.voting.chances import OutcomeDistribution, Worst
from safemargin.voting.election import VoterTypes

SAMPLE = 120
MAX_TERMS = 1_500
NEGLIGIBLE = 42.0
"""Terms smaller than the largest by exp of this are omitted: 6e-19 of it."""


def _log_terms(s: FloatArray, voters: int, first: float, second: float, epsilon: float) -> FloatArray:
    """log of what elections with s votes of the two kinds contribute."""
    both = first + second
    share = first / both
    odds = exp(epsilon) * share
    # k votes of the first kind among s count for the first vote from k > s odds / (1 - share + odds) on
    bar = np.floor(s * odds / (1 - share + odds)) + 1
    own = log_binomial(bar - 1, s - 1, share)
    if epsilon > 0:
        with np.errstate(divide="ignore", invalid="ignore"):
            less = log_upper_tail(bar, s - 1, share) + log(expm1(epsilon)) - own
            left = np.log1p(-np.exp(np.minimum(less, 0.0)))
            own = np.where((less < 0) & (own > -np.inf), own + left, -np.inf)
    size = log_binomial(s - 1, voters - 1, min(both, 1.0)) if both < 1 else np.where(s == voters, 0.0, -np.inf)
    return size + own


def log_pair(voters: int, first: float, second: float, epsilon: float = 0.0) -> float:
    """log of delta for votes whose kinds have these shares: the first instead of the second."""
    if first + second > 1 - 1e-15:
        return float(_log_terms(np.array([float(voters)]), voters, first, second, epsilon)[0])
    low, high = 1, voters
    mode = 1 + (voters - 1) * (first + second)
    while high - low > MAX_TERMS:  # terms have one hump: narrow the range to where a sample is not negligible
        sizes = np.unique(np.linspace(low, high, SAMPLE).astype(np.int64))
        terms = _log_terms(sizes.astype(np.float64), voters, first, second, epsilon)
        near = np.flatnonzero(terms > terms.max() - NEGLIGIBLE)
        if terms.max() == -np.inf:
            near = np.array([np.argmin(abs(sizes - mode))])
        tighter = int(sizes[max(near[0] - 1, 0)]), int(sizes[min(near[-1] + 1, len(sizes) - 1)])
        if tighter[1] - tighter[0] > 0.8 * (high - low):
            break
        low, high = tighter
    terms = _log_terms(np.arange(low, high + 1, dtype=np.float64), voters, first, second, epsilon)
    top = float(terms.max())
    return top + log(float(np.exp(terms - top).sum())) if top > -np.inf else -np.inf


def rarest(shares: Sequence[float]) -> tuple[int, int]:
    """Numbers of the two smallest shares."""
    order = sorted(range(len(shares)), key=lambda kind: (shares[kind], kind))
    return order[0], order[1]


def counts_worst(voters: int, shares: Sequence[float], epsilon: float = 0.0) -> Worst:
    """Delta of publishing the counts of all kinds; `voters` are those whose votes are not known.

    >>> round(counts_worst(5, [1 / 3] * 3).delta, 6)
    0.432099
    """
    first, second = rarest(shares)
    orders = ((first, second), (second, first)) if epsilon > 0 else ((first, second),)  # at 0 both are the same
    ways = [(log_pair(voters, shares[i], shares[j], epsilon), (i, j)) for i, j in orders]
    log_delta, pair = max(ways, key=lambda way: (way[0], -way[1][0]))
    return Worst(exp(log_delta) if log_delta > -745 else 0.0, log_delta, pair, ())


def counts_worst_at(voters: int, shares: Sequence[Fraction], epsilons: Sequence[float]) -> list[Worst]:
    """The same at several epsilons."""
    numbers = [float(share) for share in shares]
    return [counts_worst(voters, numbers, epsilon) for epsilon in epsilons]


def theorem_1(voters: int, shares: Sequence[float], epsilon: float) -> float | None:
    """The delta that Theorem 1 proves for all counts, with the constants of its proof; none below its least epsilon.

    Two tails of Bin(n - 1, p) of the rarest kind, by Chernoff: above exp(epsilon / 2) times its mean less one vote, and
    below exp(-epsilon / 2) times. The proof needs epsilon above 2 ln(1 + 1 / (p (n - 1))).

    >>> theorem_1(1_000, [0.5, 0.5], 0.5) > counts_worst(1_000, [0.5, 0.5], 0.5).delta
    True
    """
    mean = min(shares) * (voters - 1)
    epsilon = min(epsilon, 2 * log(2))
    if mean <= 0 or epsilon <= 2 * log(1 + 1 / mean):
        return None
    more, fewer = expm1(epsilon / 2) - 1 / mean, -expm1(-epsilon / 2)
    return min(exp(-mean * more**2 / 3) + exp(-mean * fewer**2 / 2), 1.0)


def counts_fraction(voters: int, shares: Sequence[Fraction]) -> Fraction:
    """Delta at epsilon 0 as a fraction."""
    first, second = (shares[kind] for kind in rarest([float(share) for share in shares]))
    both = first + second
    share = first / both
    total = Fraction(0)
    for s in range(1, voters + 1):
        size = comb(voters - 1, s - 1) * both ** (s - 1) * (1 - both) ** (voters - s)
        k = floor(s * share)
        total += size * comb(s - 1, k) * share**k * (1 - share) ** (s - 1 - k)
    return total


def has_two_candidates(kinds: VoterTypes) -> bool:
    """Whether there are two candidates, one kind of vote for each, and votes for somebody never harm them."""
    monotone = not kinds.rule.needs_counts  # a rule of one's own may ask for an odd number of votes
    return kinds.rule.candidates == 2 and len(kinds) == 2 and kinds.rule.outcomes == 2 and monotone


def threshold(kinds: VoterTypes) -> int:
    """The least number of votes for the first, known ones aside, with which the first wins; may be out of reach."""
    total = kinds.others + 1
    own = _first(kinds)

    def wins(count: int) -> bool:
        sums = count * kinds.adds[own] + (total - count) * kinds.adds[1 - own] + kinds.offset
        return int(kinds.rule.winners(sums.reshape(1, -1))[0]) == 0

    return bisect_left(range(total + 1), True, key=wins)


def _first(kinds: VoterTypes) -> int:
    """Which kind votes for the first candidate."""
    return 0 if kinds.votes[0][0] == 0 else 1


def two_candidate_chances(kinds: VoterTypes) -> OutcomeDistribution:
    """The probability that the others are one vote short is the whole difference that a vote makes."""
    k, own, others = threshold(kinds), _first(kinds), kinds.others
    share, other = float(kinds.shares[own]), float(kinds.shares[1 - own])
    shift = float(log_binomial(k - 1, others, share))
    logs = np.full((2, 2), -np.inf)
    for vote, need in ((own, k - 1), (1 - own, k)):
        logs[vote, 0] = log_upper_tail(need, others, share)
        logs[vote, 1] = log_upper_tail(others - need + 1, others, other)
    gaps = np.zeros((2, 2, 2))
    if shift > -np.inf:
        gaps[own, 1 - own] = gaps[1 - own, own] = [1.0, 1.0]
        gaps[own, 1 - own, 1] = gaps[1 - own, own, 0] = -1.0
    return OutcomeDistribution(logs, gaps, shift if shift > -np.inf else 0.0)


def two_candidate_fraction(kinds: VoterTypes) -> Fraction:
    """Delta at epsilon 0 as a fraction."""
    k, others = threshold(kinds), kinds.others
    if not 1 <= k <= others + 1:
        return Fraction(0)
    share = kinds.shares[_first(kinds)]
    return comb(others, k - 1) * share ** (k - 1) * (1 - share) ** (others - k + 1)
