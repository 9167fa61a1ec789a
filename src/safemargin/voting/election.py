"""An election as an onlooker sees it: the rule, how many vote, what is believed, and votes that are known."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import factorial

import numpy as np

from safemargin.core import FloatArray, InputError, IntArray
from safemargin.voting.rule import Ranking, Rule, letters, rankings


@dataclass(frozen=True)
class Belief:
    """Votes that can be cast, each drawn independently with a share above zero; the shares sum to one.

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
            raise InputError("belief: every vote that can be cast needs a probability above 0; omit the others")


@dataclass(frozen=True)
class ShareBox:
    """Votes with the least and the greatest share that the onlooker thinks possible."""

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


@dataclass(frozen=True)
class GroupedBelief:
    """Voters of several groups, each with shares of its own: votes are independent, but not drawn alike."""

    groups: tuple[str, ...]
    sizes: tuple[int, ...]
    beliefs: tuple[Belief, ...]
    words: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        for group, size in zip(self.groups, self.sizes, strict=True):
            if size < 1:
                raise InputError(f"belief: group {group!r}: voters = {size}: must be at least 1")

    @property
    def voters(self) -> int:
        """Everybody in all groups."""
        return sum(self.sizes)

    @property
    def average(self) -> Belief:
        """The shares of all voters together: which votes there are, and how often each is expected."""
        shares: dict[Ranking, Fraction] = {}
        for size, belief in zip(self.sizes, self.beliefs, strict=True):
            for vote, share in zip(belief.votes, belief.shares, strict=True):
                shares[vote] = shares.get(vote, Fraction(0)) + share * Fraction(size, self.voters)
        return Belief(tuple(shares), tuple(shares.values()), self.words)


@dataclass(frozen=True)
class UrnBelief:
    """A Polya urn: every vote is drawn from the urn and put back with one more of its kind, so people vote alike.

    `start` has the shares of the first vote, `balls` is how many balls the urn starts with; the fewer, the more alike.
    """

    start: Belief
    balls: Fraction

    def __post_init__(self) -> None:
        if self.balls <= 0:
            raise InputError(f"belief: balls = {float(self.balls):g}: an urn needs balls of every kind of vote")


def mallows(center: Ranking, dispersion: Fraction) -> dict[Ranking, Fraction]:
    """Shares that fall by a factor `dispersion` with every pair that is ordered against the center (Mallows 1957).

    >>> mallows((0, 1), Fraction(1, 2))
    {(0, 1): Fraction(2, 3), (1, 0): Fraction(1, 3)}
    """
    if not 0 < dispersion <= 1:
        raise InputError(f"belief: dispersion = {float(dispersion):g}: must be above 0 and at most 1")
    places = {candidate: place for place, candidate in enumerate(center)}
    powers = {}
    for ranking in rankings(len(center)):
        against = sum(places[a] > places[b] for a, b in combinations(ranking, 2))
        powers[ranking] = dispersion**against
    total = sum(powers.values())
    return {ranking: power / total for ranking, power in powers.items()}


def uniform(rule: Rule) -> Belief:
    """All rankings equally likely, as far as the rule distinguishes them."""
    votes = rule.votes()
    behind = factorial(rule.candidates) // len(votes)
    return Belief(votes, (Fraction(1, len(votes)),) * len(votes), "every ranking is equally likely", behind)


def from_counts(counts: Mapping[Ranking, int], votes: Sequence[Ranking], words: str) -> Belief:
    """Shares from a poll or an earlier result; half a vote is added to each, so that none is impossible."""
    # the posterior mean under Jeffreys' prior; without it a vote that nobody cast would have delta 1
    total = Fraction(sum(counts.values())) + Fraction(len(votes), 2)
    shares = tuple((counts.get(vote, 0) + Fraction(1, 2)) / total for vote in votes)
    return Belief(tuple(votes), shares, words)


@dataclass(frozen=True)
class Election:
    """`voters` counts everybody: the person in question, those whose votes are `known`, and all others."""

    rule: Rule
    voters: int
    belief: Belief
    known: Mapping[Ranking, int] = field(default_factory=dict, hash=False)
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.voters < 1:
            raise InputError(f"voters = {self.voters}: there must be at least 1")
        if self.others < 0:
            raise InputError(f"known votes: {sum(self.known.values()):,} of {self.voters:,} voters; one must be left")

    @property
    def others(self) -> int:
        """Voters whose votes are drawn."""
        return self.voters - 1 - sum(self.known.values())

    @property
    def candidates(self) -> tuple[str, ...]:
        """Names of the candidates in the order in which ties are broken."""
        return self.names or letters(self.rule.candidates)

    @cached_property
    def kinds(self) -> "Kinds":
        """Votes that the rule does not distinguish, taken together."""
        return kinds_of(self)


@dataclass(frozen=True, eq=False)
class Kinds:
    """Kinds of votes with their shares and what each adds to the sums; `offset` is what known votes add."""

    rule: Rule
    votes: tuple[Ranking, ...]
    shares: tuple[Fraction, ...]
    adds: IntArray
    offset: IntArray
    others: int
    numbers: IntArray
    """The kind of every vote of the belief."""

    @cached_property
    def weights(self) -> FloatArray:
        """The shares as floating-point numbers."""
        return np.array([float(share) for share in self.shares])

    def __len__(self) -> int:
        return len(self.votes)


def kinds_of(election: Election) -> Kinds:
    """Merge votes whose sums differ by the same number throughout: the order of sums never distinguishes them."""
    belief = election.belief
    known = [vote for vote, count in election.known.items() if count]
    adds = election.rule.statistics((*belief.votes, *known))  # one call, so that one scale makes all of them integers
    own = adds[: len(belief.votes)]
    counts = np.array([election.known[vote] for vote in known], dtype=np.int64)
    offset = counts @ adds[len(belief.votes) :] if known else np.zeros(adds.shape[1], dtype=np.int64)
    rows: dict[bytes, int] = {}
    shares: dict[int, Fraction] = {}
    firsts = []
    for row, share in enumerate(belief.shares):
        firsts.append(rows.setdefault((own[row] - own[row, 0]).tobytes(), row))
        shares[firsts[-1]] = shares.get(firsts[-1], Fraction(0)) + share
    votes = tuple(belief.votes[row] for row in shares)
    numbers = np.searchsorted(list(shares), firsts)
    return Kinds(election.rule, votes, tuple(shares.values()), own[list(shares)], offset, election.others, numbers)
