"""Voting rules and elections: rankings, what a rule is, what an onlooker believes, and votes that are known.

A rule is in the generalised scoring form of Liu, Lu, Xia and Zikas (Definition 5): every vote adds a vector of integers
(`statistics`, their f), and the order of the sums says who wins (`winners`, their g). Adding the same number to all
sums changes nothing. Ties go to the candidate with the lower number.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import factorial, prod
from string import ascii_lowercase
from typing import ClassVar

import numpy as np

from safemargin.core import BoolArray, FloatArray, InputError, IntArray, TooLargeError, exact_number

Ranking = tuple[int, ...]
"""Candidates by number, the favourite first; whoever is not named is behind all who are."""

MAX_RANKINGS = 40_320
"""Rankings of eight candidates."""
SCALE = 1e12
"""Sums of shares are multiplied by this and rounded, so that rules see integers."""


def number(text: str, where: str) -> Fraction:
    """An exact number as people write it: 0.55, 2/3 or 1e-6."""
    try:
        return exact_number(text.strip())
    except ValueError:
        raise InputError(f"{where}: {text!r} is not a number") from None


def letters(candidates: int) -> tuple[str, ...]:
    """Names for candidates that have none.

    >>> letters(3)
    ('a', 'b', 'c')
    """
    if candidates <= len(ascii_lowercase):
        return tuple(ascii_lowercase[:candidates])
    return tuple(f"c{number}" for number in range(1, candidates + 1))


def rankings(candidates: int, places: Sequence[int] = ()) -> tuple[Ranking, ...]:
    """All complete rankings in alphabetical order; with `places`, one of those that differ within groups of so many.

    >>> rankings(3, (1, 2))
    ((0, 1, 2), (1, 0, 2), (2, 0, 1))
    """
    places = places or (1,) * candidates
    # Two groups of places are sets of candidates, and fewer than all rankings by far.
    if len(places) > 2 and factorial(candidates) // prod(map(factorial, places)) > MAX_RANKINGS:
        raise TooLargeError(f"{candidates} candidates: have more than {MAX_RANKINGS:,} rankings; name those that occur")
    votes: list[Ranking] = [()]
    for size in places:
        left = [[c for c in range(candidates) if c not in vote] for vote in votes]
        votes = [(*vote, *next_) for vote, rest in zip(votes, left, strict=True) for next_ in combinations(rest, size)]
    return tuple(votes)


def parse_ranking(text: str, names: Sequence[str], where: str) -> Ranking:
    """The ranking that `a>b>c` stands for; a tie of all others at the end is as if they were not named.

    >>> parse_ranking("b > a", ("a", "b", "c"), "line 2")
    (1, 0)
    >>> parse_ranking("b > {a, c}", ("a", "b", "c"), "line 2")
    (1,)
    """
    where = f"{where}: ranking {text!r}"
    places = places_in(text, names)
    if any("" in place for place in places):
        raise InputError(f"{where}: has an empty place; write candidates as in a>b>c")
    return strict_ranking(places, {name: number for number, name in enumerate(names)}, where)


def places_in(text: str, names: Sequence[str] = ()) -> list[tuple[str, ...]]:
    """The candidates on every place of a ranking; a tie is `{a,b}`, `a=b` or `a~b`, unless it is one of `names`.

    >>> places_in("a>{b,c}>d=e")
    [('a',), ('b', 'c'), ('d', 'e')]
    """
    places = []
    for place in (part.strip() for part in text.split(">")):
        inner = place[1:-1].split(",") if place.startswith("{") and place.endswith("}") else re.split("[=~]", place)
        places.append((place,) if place in names else tuple(name.strip() for name in inner))
    return places


def strict_ranking(places: Sequence[Sequence[str]], numbers: Mapping[str, int], where: str) -> Ranking:
    """The ranking with one candidate on every place, by number.

    Candidates on the last place together are not named, if they are all that are left: a vote that stops before them
    says the same. Other ties are refused, since rules differ in what they would count.
    """
    named = [name for level in places for name in level]
    for name in named:
        if name not in numbers:
            raise InputError(f"{where}: unknown candidate {name!r}; known are {', '.join(numbers)}")
        if named.count(name) > 1:
            raise InputError(f"{where}: names {name!r} twice")
    if len(places) > 1 and len(places[-1]) > 1 and len(named) == len(numbers):
        places = places[:-1]
    tied = next((level for level in places if len(level) > 1), None)
    if tied is not None:
        raise InputError(
            f"{where}: puts {', '.join(tied)} on one place; only a tie of all others at the end can be counted"
        )
    if not places:
        raise InputError(f"{where}: names nobody")
    return tuple(numbers[level[0]] for level in places)


def ranking_text(ranking: Ranking, names: Sequence[str]) -> str:
    """A ranking as people write it.

    >>> ranking_text((1, 0), ("a", "b", "c"))
    'b>a'
    """
    return ">".join(names[candidate] for candidate in ranking)


@dataclass(frozen=True)
class Rule(ABC):
    """A way to choose one of `candidates` from rankings, blind to who cast which."""

    candidates: int
    is_proved: ClassVar[bool] = True
    """Whether the rule is monotone, locally stable and canceling-out, as Theorem 3 needs (checked in the tests)."""
    is_single: ClassVar[bool] = True
    """Whether a result is one candidate."""
    adds_points: ClassVar[bool] = False
    """Whether the sums are points of candidates, and most points win."""
    needs_counts: ClassVar[bool] = False
    """Whether the sums must be counts of votes: then no smaller grid stands for them."""

    @abstractmethod
    def statistics(self, votes: Sequence[Ranking]) -> IntArray:
        """What each vote adds: a row per vote."""

    @abstractmethod
    def winners(self, sums: IntArray) -> IntArray:
        """Who wins, for each row of sums."""

    def settled(self, sums: IntArray) -> BoolArray:
        """Rows whose winner surely stays the same whatever vote is added, where that is quick to see."""
        return np.zeros(len(sums), dtype=bool)

    def votes(self) -> tuple[Ranking, ...]:
        """One vote of each kind that the rule distinguishes, equally many rankings behind each."""
        return rankings(self.candidates)

    def winner(self, votes: Sequence[Ranking], counts: Sequence[int]) -> int:
        """Who wins an election with so many of each vote.

        >>> from safemargin.voting.rules import rule_named
        >>> rule_named("plurality", 3).winner([(0, 1, 2), (2, 1, 0)], [2, 3])
        2
        """
        sums = np.asarray(counts, dtype=np.int64) @ self.statistics(votes)
        return int(self.winners(sums.reshape(1, -1))[0])

    @property
    def outcomes(self) -> int:
        """How many results there can be."""
        return self.candidates

    def outcome_name(self, outcome: int, names: Sequence[str]) -> str:
        """What a result is called."""
        return names[outcome]


def first_best(scores: IntArray) -> IntArray:
    """The first of the highest scores in each row."""
    if scores.shape[1] > 8:
        return np.asarray(np.argmax(scores, axis=1).astype(np.int64))
    # numpy's argmax is slow along short rows: three candidates take four times as long as this loop over columns
    best, winner = scores[:, 0].copy(), np.zeros(len(scores), dtype=np.int64)
    for column in range(1, scores.shape[1]):
        higher = scores[:, column] > best
        np.copyto(best, scores[:, column], where=higher)
        winner[higher] = column
    return winner


@dataclass(frozen=True)
class Belief:
    """Votes that can be cast, each drawn independently with a share above zero; the shares sum to one.

    `behind` is how many rankings each vote stands for, all equally likely.
    """

    votes: tuple[Ranking, ...]
    shares: tuple[Fraction, ...]
    words: str = field(default="", compare=False)
    behind: int = 1

    @property
    def start(self) -> "Belief":
        """Independent votes with about these shares, to start from."""
        return self

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

    @property
    def start(self) -> Belief:
        """Shares in proportion to their low ends."""
        return Belief(self.votes, tuple(low / sum(self.low) for low in self.low), self.words)


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
    def start(self) -> Belief:
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
    def kinds(self) -> "VoterTypes":
        """Votes that the rule does not distinguish, taken together."""
        return kinds_of(self)


@dataclass(frozen=True, eq=False)
class VoterTypes:
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

    def winners(self, sums: FloatArray) -> IntArray:
        """Who wins with these sums per voter; a row per election."""
        return self.rule.winners(np.rint(np.atleast_2d(sums) * SCALE).astype(np.int64))

    def __len__(self) -> int:
        return len(self.votes)


@dataclass(frozen=True, eq=False)
class Crossing:
    """Shares at which results meet, how far they are from the belief, and which results."""

    rate: float
    shares: FloatArray
    results: frozenset[int]


def kinds_of(election: Election) -> VoterTypes:
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
    return VoterTypes(election.rule, votes, tuple(shares.values()), own[list(shares)], offset, election.others, numbers)
