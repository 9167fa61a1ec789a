"""Copeland: most wins less losses in duels of two candidates."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from safemargin.core import BoolArray, IntArray
from safemargin.voting.ballots import Ranking
from safemargin.voting.rules.rule import Rule, beats_all, first_best, margins, pairs


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
        place = {duel: column for column, duel in enumerate(pairs(self.candidates))}
        balance = np.zeros((len(sums), self.candidates), dtype=np.int64)
        for a, b in combinations(range(self.candidates), 2):
            won = np.sign(sums[:, place[a, b]] - sums[:, place[b, a]])
            balance[:, a] += won
            balance[:, b] -= won
        return first_best(balance)

    def settled(self, sums: IntArray) -> BoolArray:
        """Where somebody beats everybody else, and would whatever is added: they win."""
        return beats_all(sums, self.candidates)
