"""Positional scoring: a place in a ranking is worth so many points."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np

from safemargin.core import InputError, IntArray
from safemargin.voting.ballots import Ranking
from safemargin.voting.rules.rule import Rule, first_best


@dataclass(frozen=True)
class Positional(Rule):
    """Most points win. Candidates that a vote does not name share equally what the places left are worth."""

    points: tuple[Fraction, ...] = ()
    name = "positional"
    title = "positional scoring"

    def __post_init__(self) -> None:
        if len(self.points) != self.candidates:
            raise InputError(f"points: give one number per place, {self.candidates} of them, not {len(self.points)}")
        if any(low > high for high, low in zip(self.points, self.points[1:], strict=False)):
            raise InputError("points: a later place must not be worth more than an earlier one")

    def statistics(self, votes: Sequence[Ranking]) -> IntArray:
        """Points of every candidate, made whole."""
        rows = [self._points_of(vote) for vote in votes]
        scale = lcm(*(value.denominator for row in rows for value in row))
        return np.array([[int(value * scale) for value in row] for row in rows], dtype=np.int64)

    def _points_of(self, vote: Ranking) -> list[Fraction]:
        left = self.points[len(vote) :]
        row = [self.unnamed(left)] * self.candidates
        for place, candidate in enumerate(vote):
            row[candidate] = self.points[place]
        return row

    def unnamed(self, left: Sequence[Fraction]) -> Fraction:
        """What a candidate gets who is not named, where `left` are the places nobody has."""
        return sum(left, Fraction(0)) / len(left) if left else Fraction(0)

    def winners(self, sums: IntArray) -> IntArray:
        """The first with most points."""
        return first_best(sums)
