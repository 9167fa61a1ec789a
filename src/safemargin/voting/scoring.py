"""Rules that add points: positional scoring and its special cases, and majority with a bar.

A vote gives `points[place]` to the candidate on each place, and most points win, ties to the lower number. Points are
fractions; sums are integers after one common scale, so that ties are exact. Plurality is 1, 0, ..., 0; veto 1, ..., 1,
0; Borda m - 1, ..., 0; approval-k has k ones. Candidates who are not named share the points of the places left, so that
adding the same number to all sums changes nothing (canceling-out).

Majority: the first of two wins with at least alpha n votes. As integers: with alpha = s / t, votes for the first times
t against n times s; in floating point .55 x 100 would be above 55.

Example: Borda with three candidates.

>>> Positional(3, (Fraction(2), Fraction(1), Fraction(0))).statistics([(0, 1, 2), (2, 0, 1)]).tolist()
[[2, 1, 0], [1, 0, 2]]
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, groupby
from math import comb, lcm

import numpy as np

from safemargin.core import InputError, IntArray
from safemargin.voting.election import Ranking, Rule, first_best, rankings


@dataclass(frozen=True)
class Positional(Rule):
    """Most points win. Candidates that a vote does not name share equally the points of the places left."""

    points: tuple[Fraction, ...] = ()
    adds_points = True

    def __post_init__(self) -> None:
        if len(self.points) != self.candidates:
            raise InputError(f"points: give one number per place, {self.candidates} of them, not {len(self.points)}")
        if any(low > high for high, low in zip(self.points, self.points[1:], strict=False)):
            raise InputError("points: a later place must not be worth more than an earlier one")

    def statistics(self, votes: Sequence[Ranking]) -> IntArray:
        """Points of every candidate, scaled to integers."""
        lengths = np.array([len(vote) for vote in votes], dtype=np.int64)
        rest = {length: self.unnamed(self.points[length:]) for length in set(lengths.tolist())}
        scale = lcm(*(value.denominator for value in (*self.points, *rest.values())))
        points = np.array([int(value * scale) for value in self.points], dtype=np.int64)
        adds = np.empty((len(votes), self.candidates), dtype=np.int64)
        for length, value in rest.items():
            rows = np.flatnonzero(lengths == length)
            named = np.array([votes[row] for row in rows.tolist()], dtype=np.int64)
            adds[rows] = int(value * scale)
            adds[rows[:, None], named] = points[:length]
        return adds

    def unnamed(self, left: Sequence[Fraction]) -> Fraction:
        """Points of a candidate who is not named, where `left` are the points that nobody has."""
        return sum(left, Fraction(0)) / len(left) if left else Fraction(0)

    def winners(self, sums: IntArray) -> IntArray:
        """The first with most points."""
        return first_best(sums)

    def votes(self) -> tuple[Ranking, ...]:
        """Those that give the same points are one."""
        alike = [len(list(equal)) for _, equal in groupby(self.points)]
        # Where all places are worth the same, no vote matters; two kinds of votes are named, which add the same.
        return rankings(self.candidates, alike if len(alike) > 1 else [self.candidates - 1, 1])


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


@dataclass(frozen=True)
class Plurality(Approval):
    """The most first places win."""


@dataclass(frozen=True)
class Committee(Approval):
    """The `seats` candidates with most first places form a committee; who got how many is not published."""

    seats: int = 1
    is_proved = False  # the theorems are about one winner
    is_single = False

    @classmethod
    def for_seats(cls, candidates: int, seats: int) -> "Committee":
        """The rule for so many candidates and seats."""
        if not 1 <= seats < candidates:
            raise InputError(f"committee: {seats} seats: must be at least 1 and fewer than {candidates} candidates")
        return cls(candidates, (Fraction(1),) + (Fraction(0),) * (candidates - 1), seats)

    @cached_property
    def committees(self) -> dict[tuple[int, ...], int]:
        """Every committee with its number."""
        return {chosen: n for n, chosen in enumerate(combinations(range(self.candidates), self.seats))}

    def winners(self, sums: IntArray) -> IntArray:
        """The number of the committee; of equal candidates the earlier ones are in it."""
        first = np.sort(np.argsort(-sums, axis=1, kind="stable")[:, : self.seats], axis=1)
        distinct, group = np.unique(first, axis=0, return_inverse=True)
        numbers = np.array([self.committees[tuple(row)] for row in distinct.tolist()], dtype=np.int64)
        return numbers[group.ravel()]

    @property
    def outcomes(self) -> int:
        """Committees."""
        return comb(self.candidates, self.seats)

    def outcome_name(self, outcome: int, names: Sequence[str]) -> str:
        """The members."""
        chosen = next(chosen for chosen, number in self.committees.items() if number == outcome)
        return "+".join(names[candidate] for candidate in chosen)


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
