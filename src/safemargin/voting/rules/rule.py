"""What a voting rule is here: every vote adds a vector of whole numbers, and the order of the sums says who wins.

This is the generalised-scoring form: `statistics` is f, `winners` is g. Adding one number to all sums changes nothing.
Ties go to the candidate with the lower number.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from safemargin.core import BoolArray, IntArray
from safemargin.voting.ballots import Ranking, rankings


@dataclass(frozen=True)
class Rule(ABC):
    """A way to choose one of `candidates` from rankings, blind to who cast which."""

    candidates: int
    name: ClassVar[str] = ""
    title: ClassVar[str] = ""

    @abstractmethod
    def statistics(self, votes: Sequence[Ranking]) -> IntArray:
        """What each vote adds: a row per vote."""

    @abstractmethod
    def winners(self, sums: IntArray) -> IntArray:
        """Who wins, for each row of sums."""

    def settled(self, sums: IntArray) -> BoolArray:
        """Rows whose winner is sure to stay the same whatever vote is added; rules say so where it is quick to tell."""
        return np.zeros(len(sums), dtype=bool)

    def votes(self) -> tuple[Ranking, ...]:
        """One vote of each kind that the rule tells apart, equally many rankings behind each."""
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


def pairs(candidates: int) -> list[tuple[int, int]]:
    """All ordered pairs of two candidates."""
    return [(a, b) for a in range(candidates) for b in range(candidates) if a != b]


def margins(votes: Sequence[Ranking], candidates: int) -> IntArray:
    """For each vote and ordered pair: 1 if the first is preferred, -1 if the second is, 0 if neither is named."""
    places = np.full((len(votes), candidates), candidates, dtype=np.int64)
    for row, vote in enumerate(votes):
        places[row, list(vote)] = np.arange(len(vote))
    first, second = np.array(pairs(candidates), dtype=np.int64).reshape(-1, 2).T
    found: IntArray = np.sign(places[:, second] - places[:, first])
    return found


def beats_all(sums: IntArray, candidates: int) -> BoolArray:
    """Rows of margins in which somebody beats everybody else by more than one vote, and so still does after another."""
    width = candidates - 1
    worst = [sums[:, a * width : (a + 1) * width].min(axis=1) for a in range(candidates)]
    found: BoolArray = np.stack(worst).max(axis=0) > 1
    return found


def margin_square(sums: IntArray, candidates: int) -> IntArray:
    """Sums of margins as a matrix per row, zero on the diagonal."""
    square = np.zeros((len(sums), candidates, candidates), dtype=np.int64)
    first, second = np.array(pairs(candidates), dtype=np.int64).reshape(-1, 2).T
    square[:, first, second] = sums
    return square


def first_best(scores: IntArray) -> IntArray:
    """The first of the highest scores in each row."""
    if scores.shape[1] <= 8:  # numpy's argmax is slow along short rows
        best, place = scores[:, 0].copy(), np.zeros(len(scores), dtype=np.int64)
        for column in range(1, scores.shape[1]):
            higher = scores[:, column] > best
            np.copyto(best, scores[:, column], where=higher)
            place[higher] = column
        return place
    found: IntArray = np.argmax(scores, axis=1).astype(np.int64)
    return found
