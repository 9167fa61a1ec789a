"""Rankings, and what a voting rule is: every vote adds a vector of integers, and the order of the sums says who wins.

This is the generalised scoring form of Liu, Lu, Xia and Zikas (Definition 5): `statistics` is their f, `winners` their
g. Adding the same number to all sums changes nothing. Ties go to the candidate with the lower number.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from math import factorial
from string import ascii_lowercase
from typing import ClassVar

import numpy as np

from safemargin.core import BoolArray, InputError, IntArray, TooLargeError

Ranking = tuple[int, ...]
"""Candidates by number, the favourite first; whoever is not named is behind all who are."""

MAX_RANKINGS = 40_320
"""Rankings of eight candidates."""


def letters(candidates: int) -> tuple[str, ...]:
    """Names for candidates that have none.

    >>> letters(3)
    ('a', 'b', 'c')
    """
    if candidates <= len(ascii_lowercase):
        return tuple(ascii_lowercase[:candidates])
    return tuple(f"c{number}" for number in range(1, candidates + 1))


def rankings(candidates: int) -> tuple[Ranking, ...]:
    """All complete rankings, in alphabetical order."""
    if factorial(candidates) > MAX_RANKINGS:
        raise TooLargeError(f"{candidates} candidates: have more than {MAX_RANKINGS:,} rankings; name those that occur")
    return tuple(permutations(range(candidates)))


def approvals(candidates: int, count: int) -> tuple[Ranking, ...]:
    """One ranking per set of `count` candidates in front; with a count of 1, one per favourite."""
    chosen = combinations(range(candidates), count)
    return tuple((*front, *(c for c in range(candidates) if c not in front)) for front in chosen)


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
