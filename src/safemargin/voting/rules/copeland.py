"""Copeland: most wins less losses in duels of two candidates."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from safemargin.model.arrays import IntArray
from safemargin.voting.ballots import Ranking
from safemargin.voting.rules.rule import Rule, first_best, margins


@dataclass(frozen=True)
class Copeland(Rule):
    """A duel that ends even counts for neither."""

    name = "copeland"
    title = "Copeland"

    def statistics(self, votes: Sequence[Ranking]) -> IntArray:
        """Margins of all ordered pairs."""
        return margins(votes, self.candidates)

    def winners(self, sums: IntArray) -> IntArray:
        """The first with the highest balance of duels."""
        width = self.candidates - 1
        signs = np.sign(sums)
        return first_best(np.stack([signs[:, a * width : (a + 1) * width].sum(1) for a in range(self.candidates)], 1))
