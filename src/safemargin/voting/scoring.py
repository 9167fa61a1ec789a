"""Rules that add points: positional scoring and its special cases, and majority with a bar."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np

from safemargin.core import InputError, IntArray
from safemargin.voting.rule import Ranking, Rule, approvals, first_best


@dataclass(frozen=True)
class Positional(Rule):
    """Most points win. Candidates that a vote does not name share equally the points of the places left."""

    points: tuple[Fraction, ...] = ()

    def __post_init__(self) -> None:
        if len(self.points) != self.candidates:
            raise InputError(f"points: give one number per place, {self.candidates} of them, not {len(self.points)}")
        if any(low > high for high, low in zip(self.points, self.points[1:], strict=False)):
            raise InputError("points: a later place must not be worth more than an earlier one")

    def statistics(self, votes: Sequence[Ranking]) -> IntArray:
        """Points of every candidate, scaled to integers."""
        rows = [self._points_of(vote) for vote in votes]
        scale = lcm(*(value.denominator for row in rows for value in row))
        return np.array([[int(value * scale) for value in row] for row in rows], dtype=np.int64)

    def _points_of(self, vote: Ranking) -> list[Fraction]:
        row = [self.unnamed(self.points[len(vote) :])] * self.candidates
        for points, candidate in zip(self.points, vote, strict=False):
            row[candidate] = points
        return row

    def unnamed(self, left: Sequence[Fraction]) -> Fraction:
        """Points of a candidate who is not named, where `left` are the points that nobody has."""
        return sum(left, Fraction(0)) / len(left) if left else Fraction(0)

    def winners(self, sums: IntArray) -> IntArray:
        """The first with most points."""
        return first_best(sums)


@dataclass(frozen=True)
class Borda(Positional):
    """A place is worth as many points as there are candidates behind it."""

    @classmethod
    def of(cls, candidates: int) -> "Borda":
        """The rule for so many candidates."""
        return cls(candidates, tuple(Fraction(behind) for behind in range(candidates - 1, -1, -1)))


@dataclass(frozen=True)
class Approval(Positional):
    """k-approval: the first k places are worth a point each; a candidate who is not named is not approved of."""

    @classmethod
    def of(cls, candidates: int, count: int) -> "Approval":
        """The rule for so many candidates and places."""
        if not 1 <= count < candidates:
            raise InputError(f"approval-{count}: the number of places must be from 1 to {candidates - 1}")
        return cls(candidates, (Fraction(1),) * count + (Fraction(0),) * (candidates - count))

    def unnamed(self, left: Sequence[Fraction]) -> Fraction:
        """None."""
        return Fraction(0)

    def votes(self) -> tuple[Ranking, ...]:
        """One per set of candidates in front."""
        return approvals(self.candidates, int(sum(self.points)))


@dataclass(frozen=True)
class Plurality(Approval):
    """The most first places win."""


@dataclass(frozen=True)
class Veto(Positional):
    """The fewest last places win."""

    @classmethod
    def of(cls, candidates: int) -> "Veto":
        """The rule for so many candidates."""
        return cls(candidates, (Fraction(1),) * (candidates - 1) + (Fraction(0),))

    def votes(self) -> tuple[Ranking, ...]:
        """One per candidate in the last place."""
        return tuple((*ranking[1:], ranking[0]) for ranking in reversed(approvals(self.candidates, 1)))


@dataclass(frozen=True)
class Majority(Rule):
    """The first of two candidates wins with at least a share alpha of the votes; with 1/2 a tie goes to the first."""

    alpha: Fraction = Fraction(1, 2)

    def __post_init__(self) -> None:
        if self.candidates != 2:
            raise InputError(f"majority: has two candidates, not {self.candidates}")
        if not 0 < self.alpha < 1:
            raise InputError(f"alpha = {self.alpha}: must lie between 0 and 1")

    def statistics(self, votes: Sequence[Ranking]) -> IntArray:
        """The denominator of alpha for a vote for the first, against the numerator for every vote."""
        # integers, because alpha * n in floating point may miss a bar that is reached exactly (0.55 * 100 > 55)
        rows = [[self.alpha.denominator * (vote[0] == 0), self.alpha.numerator] for vote in votes]
        return np.array(rows, dtype=np.int64)

    def winners(self, sums: IntArray) -> IntArray:
        """The first if the bar is reached."""
        return (sums[:, 0] < sums[:, 1]).astype(np.int64)
