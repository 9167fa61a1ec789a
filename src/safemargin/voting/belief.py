"""What an adversary believes about the votes of others: each is drawn independently with these shares."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import factorial

from safemargin.core import InputError
from safemargin.voting.ballots import Ranking, ranking_text
from safemargin.voting.rules.rule import Rule


@dataclass(frozen=True)
class Belief:
    """Votes that can be cast, each with a share above zero; the shares sum to one.

    `behind` is how many rankings each vote stands for, all equally likely.
    """

    votes: tuple[Ranking, ...]
    shares: tuple[Fraction, ...]
    words: str = field(default="", compare=False)
    behind: int = 1

    def __post_init__(self) -> None:
        if len(self.votes) < 2:
            raise InputError("belief: needs at least two votes that can be cast")
        if sum(self.shares) != 1:
            raise InputError(f"belief: the probabilities sum to {float(sum(self.shares)):.12g}, not to 1")
        if min(self.shares) <= 0:
            raise InputError("belief: every vote that can be cast needs a probability above 0; leave the others out")


@dataclass(frozen=True)
class ShareBox:
    """Votes with the least and the greatest share that the adversary thinks possible."""

    votes: tuple[Ranking, ...]
    low: tuple[Fraction, ...]
    high: tuple[Fraction, ...]
    words: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        for vote, low, high in zip(self.votes, self.low, self.high, strict=True):
            if not 0 <= low <= high <= 1:
                raise InputError(f"belief: vote {vote}: must have 0 <= low <= high <= 1")
        if not sum(self.low) <= 1 <= sum(self.high):
            raise InputError("belief: no probabilities within the intervals sum to 1")
        if any(low == 0 for low in self.low):
            raise InputError("belief: an interval starts at 0, where delta is 1; give every vote some probability")


def uniform(rule: Rule) -> Belief:
    """All rankings equally likely, told apart as far as the rule does."""
    votes = rule.votes()
    behind = factorial(rule.candidates) // len(votes)
    return Belief(votes, (Fraction(1, len(votes)),) * len(votes), "every ranking is equally likely", behind)


def from_counts(counts: Mapping[Ranking, int], votes: Sequence[Ranking], words: str) -> Belief:
    """Shares from a poll or an earlier result; half a vote is added to each, so that none is impossible."""
    total = Fraction(sum(counts.values())) + Fraction(len(votes), 2)
    shares = tuple((counts.get(vote, 0) + Fraction(1, 2)) / total for vote in votes)
    return Belief(tuple(votes), shares, words)


def polled(counts: Mapping[Ranking, int], votes: Sequence[Ranking], words: str, z: float = 1.96) -> ShareBox:
    """Intervals from a poll: Wilson's, which hold each share in 95 of 100 polls."""
    total = sum(counts.values())
    if total == 0:
        raise InputError("belief: the counts are all zero")
    ends = [_wilson(counts.get(vote, 0), total, z) for vote in votes]
    low = tuple(max(Fraction(low).limit_denominator(10**6), Fraction(1, 10**6)) for low, _ in ends)
    high = tuple(Fraction(high).limit_denominator(10**6) for _, high in ends)
    return ShareBox(tuple(votes), low, high, words)


def _wilson(count: int, total: int, z: float) -> tuple[float, float]:
    share, extra = count / total, z * z / total
    middle = (share + extra / 2) / (1 + extra)
    half = z * (share * (1 - share) / total + extra / (4 * total)) ** 0.5 / (1 + extra)
    return max(middle - half, 0.0), min(middle + half, 1.0)


def shares_words(belief: Belief, names: Sequence[str], most: int = 6) -> str:
    """The shares in words, the largest first."""
    order = sorted(zip(belief.shares, belief.votes, strict=True), key=lambda pair: -pair[0])
    told = [f"{ranking_text(vote, names)} {float(share):.3g}" for share, vote in order[:most]]
    return ", ".join(told) + (f" and {len(order) - most} more" if len(order) > most else "")
