"""Two candidates: one binomial term is the whole difference that a vote makes (Theorem 2)."""

from fractions import Fraction
from math import comb

import numpy as np

from safemargin.voting.binomial import log_binomial, log_upper_tail
from safemargin.voting.chances import Chances
from safemargin.voting.election import Kinds


def applies(kinds: Kinds) -> bool:
    """Whether there are two candidates, and one kind of vote for each."""
    return kinds.rule.candidates == 2 and len(kinds) == 2 and kinds.rule.outcomes == 2


def threshold(kinds: Kinds) -> int:
    """The least number of votes for the first, known ones aside, with which the first wins; may be out of reach."""
    total = kinds.others + 1
    own = _first(kinds)

    def wins(count: int) -> bool:
        sums = count * kinds.adds[own] + (total - count) * kinds.adds[1 - own] + kinds.offset
        return int(kinds.rule.winners(sums.reshape(1, -1))[0]) == 0

    low, high = 0, total + 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if wins(middle) else (middle + 1, high)
    return low


def _first(kinds: Kinds) -> int:
    """Which kind votes for the first candidate."""
    return 0 if kinds.votes[0][0] == 0 else 1


def compute(kinds: Kinds) -> Chances:
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
    return Chances(logs, gaps, shift if shift > -np.inf else 0.0)


def exact_fraction(kinds: Kinds) -> Fraction:
    """Delta at epsilon 0 as a fraction."""
    k, others = threshold(kinds), kinds.others
    if not 1 <= k <= others + 1:
        return Fraction(0)
    share = kinds.shares[_first(kinds)]
    return comb(others, k - 1) * share ** (k - 1) * (1 - share) ** (others - k + 1)
