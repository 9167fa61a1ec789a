"""Plurality: the most first places win."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from safemargin.core import IntArray
from safemargin.voting.ballots import Ranking, favourites
from safemargin.voting.rules.rule import Rule, first_best


@dataclass(frozen=True)
class Plurality(Rule):
    """Only the favourite counts."""

    name = "plurality"
    title = "plurality"

    def statistics(self, votes: Sequence[Ranking]) -> IntArray:
        """One for the favourite."""
        found = np.zeros((len(votes), self.candidates), dtype=np.int64)
        found[np.arange(len(votes)), [vote[0] for vote in votes]] = 1
        return found

    def winners(self, sums: IntArray) -> IntArray:
        """The first with most votes."""
        return first_best(sums)

    def votes(self) -> tuple[Ranking, ...]:
        """One per favourite."""
        return favourites(self.candidates)
