"""Majority with a bar: the first of two candidates wins with at least a share alpha of the votes."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from safemargin.core import InputError, IntArray
from safemargin.voting.ballots import Ranking
from safemargin.voting.rules.rule import Rule


@dataclass(frozen=True)
class Majority(Rule):
    """Two candidates; with alpha = 1/2 a tie goes to the first."""

    alpha: Fraction = Fraction(1, 2)
    name = "majority"
    title = "majority"

    def __post_init__(self) -> None:
        if self.candidates != 2:
            raise InputError(f"majority: has two candidates, not {self.candidates}")
        if not 0 < self.alpha < 1:
            raise InputError(f"alpha = {self.alpha}: must lie between 0 and 1")

    def statistics(self, votes: Sequence[Ranking]) -> IntArray:
        """The denominator for a vote for the first, against the numerator for every vote."""
        rows = [[self.alpha.denominator * (vote[0] == 0), self.alpha.numerator] for vote in votes]
        return np.array(rows, dtype=np.int64)

    def winners(self, sums: IntArray) -> IntArray:
        """The first if the bar is reached."""
        return (sums[:, 0] < sums[:, 1]).astype(np.int64)
