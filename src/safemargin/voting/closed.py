"""Two candidates: one binomial term says it all."""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, comb, log, pi, sqrt

import numpy as np

from safemargin.voting.binomial import log_binomial, log_upper_tail
from safemargin.voting.chances import Chances
from safemargin.voting.election import Kinds


def fits(kinds: Kinds) -> bool:
    """Whether there are two candidates, and one kind of vote for each."""
    return kinds.rule.candidates == 2 and len(kinds) == 2 and kinds.rule.outcomes == 2


def threshold(kinds: Kinds) -> int:
    """The least number of votes for the first, known ones left out, with which the first wins; may be out of reach."""
    total = kinds.others + 1
    mine = 0 if kinds.votes[0][0] == 0 else 1

    def wins(count: int) -> bool:
        sums = count * kinds.adds[mine] + (total - count) * kinds.adds[1 - mine] + kinds.offset
        return int(kinds.rule.winners(sums.reshape(1, -1))[0]) == 0

    low, high = 0, total + 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if wins(middle) else (middle + 1, high)
    return low


def closed(kinds: Kinds) -> Chances:
    """The chance that the others are one vote short is the whole difference that a vote makes."""
    k = threshold(kinds)
    mine = 0 if kinds.votes[0][0] == 0 else 1
    share, other = float(kinds.shares[mine]), float(kinds.shares[1 - mine])
    others = kinds.others
    shift = float(log_binomial(k - 1, others, share))
    logs = np.full((2, 2), -np.inf)
    for vote, need in ((mine, k - 1), (1 - mine, k)):
        logs[vote, 0] = log_upper_tail(need, others, share)
        logs[vote, 1] = log_upper_tail(others - need + 1, others, other)
    gaps = np.zeros((2, 2, 2))
    if shift > -np.inf:
        gaps[mine, 1 - mine] = gaps[1 - mine, mine] = [1.0, 1.0]
        gaps[mine, 1 - mine, 1] = gaps[1 - mine, mine, 0] = -1.0
    return Chances(logs, gaps, shift if shift > -np.inf else 0.0)


def closed_fraction(kinds: Kinds) -> Fraction:
    """Delta at epsilon 0 as a fraction."""
    k, others = threshold(kinds), kinds.others
    if not 1 <= k <= others + 1:
        return Fraction(0)
    share = kinds.shares[0 if kinds.votes[0][0] == 0 else 1]
    return comb(others, k - 1) * share ** (k - 1) * (1 - share) ** (others - k + 1)


@dataclass(frozen=True)
class Decline:
    """How delta of a majority falls with n: between `low` and `high` times exp(-rate n) / sqrt(n)."""

    rate: float
    low: float
    high: float


def decline(alpha: Fraction, share: Fraction) -> Decline:
    """The law of large electorates for a majority with bar alpha, if the first is believed to have `share`.

    >>> round(decline(Fraction(1, 2), Fraction(3, 10)).rate, 6)
    0.087177
    """
    a, p = float(alpha), float(share)
    rate = 0.0 if alpha == share else a * log(a / p) + (1 - a) * log((1 - a) / (1 - p))
    ratios = (a / p / sqrt(2 * pi * a * (1 - a)), (1 - a) / (1 - p) / sqrt(2 * pi * a * (1 - a)))
    return Decline(rate, min(ratios), max(ratios))


def worst_share(alpha: Fraction, voters: int) -> Fraction:
    """The believed share of the first at which delta is largest.

    >>> worst_share(Fraction(1, 2), 5)
    Fraction(1, 2)
    """
    k = ceil(alpha * voters)
    return Fraction(k - 1, voters - 1)
