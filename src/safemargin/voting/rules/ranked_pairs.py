"""Ranked pairs: duels are locked in from the clearest on, except those that would close a circle."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from safemargin.core import BoolArray, IntArray
from safemargin.voting.ballots import Ranking
from safemargin.voting.rules.rule import Rule, beats_all, margins, pairs


@dataclass(frozen=True)
class RankedPairs(Rule):
    """Tideman's rule. Of equally clear duels the earlier pair of candidates is locked first."""

    name = "ranked-pairs"
    title = "ranked pairs"

    def statistics(self, votes: Sequence[Ranking]) -> IntArray:
        """Margins of all ordered pairs."""
        return margins(votes, self.candidates)

    def winners(self, sums: IntArray) -> IntArray:
        """Whoever nobody is locked in above."""
        count = self.candidates
        duels = pairs(count)
        first, second = np.array(duels, dtype=np.int64).T
        order = np.argsort(-sums, axis=1, kind="stable")
        rows = np.arange(len(sums))
        above = np.zeros((len(sums), count, count), dtype=bool)
        above[:, np.arange(count), np.arange(count)] = True
        for step in range(len(duels)):
            duel = order[:, step]
            a, b = first[duel], second[duel]
            free = (sums[rows, duel] >= 0) & ~above[rows, b, a]
            over = above[rows, :, a] & free[:, None]
            under = above[rows, b, :]
            above |= over[:, :, None] & under[:, None, :]
        beaten = (above & ~np.eye(count, dtype=bool)).any(axis=1)
        found: IntArray = np.argmax(~beaten, axis=1).astype(np.int64)
        return found

    def settled(self, sums: IntArray) -> BoolArray:
        """Where somebody beats everybody else, and would whatever is added: they win."""
        return beats_all(sums, self.candidates)
