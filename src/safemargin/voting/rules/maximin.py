"""Maximin: the candidate whose worst margin against another is best."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from safemargin.core import BoolArray, IntArray
from safemargin.voting.ballots import Ranking
from safemargin.voting.rules.rule import Rule, beats_all, first_best, margins


@dataclass(frozen=True)
class Maximin(Rule):
    """Also known as Simpson's rule."""

    name = "maximin"
    title = "maximin"

    def statistics(self, votes: Sequence[Ranking]) -> IntArray:
        """Margins of all ordered pairs."""
        return margins(votes, self.candidates)

    def winners(self, sums: IntArray) -> IntArray:
        """The first with the best worst margin."""
        width = self.candidates - 1
        return first_best(
            np.stack([sums[:, a * width : (a + 1) * width].min(axis=1) for a in range(self.candidates)], 1)
        )

    def settled(self, sums: IntArray) -> BoolArray:
        """Where somebody beats everybody else, and would whatever is added: they win."""
        return beats_all(sums, self.candidates)
