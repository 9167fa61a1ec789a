"""Bucklin: places are opened one after the other until somebody is named by more than half."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from safemargin.core import BoolArray, IntArray
from safemargin.voting.ballots import Ranking
from safemargin.voting.rules.rule import Rule, first_best


@dataclass(frozen=True)
class Bucklin(Rule):
    """At the first place where somebody has a majority, most mentions win; `simple`: the first with a majority.

    Where incomplete votes leave nobody with a majority, most mentions win.
    """

    simple: bool = False
    name = "bucklin"
    title = "Bucklin"

    def statistics(self, votes: Sequence[Ranking]) -> IntArray:
        """Twice the mentions in the first k places, for each k and candidate; then the number of votes."""
        count = self.candidates
        found = np.zeros((len(votes), count * count + 1), dtype=np.int64)
        for row, vote in enumerate(votes):
            for place, candidate in enumerate(vote):
                found[row, np.arange(place, count) * count + candidate] = 2
        found[:, -1] = 1
        return found

    def winners(self, sums: IntArray) -> IntArray:
        """The winner at the first place with a majority."""
        count = self.candidates
        found = np.full(len(sums), -1, dtype=np.int64)
        for place in range(count):
            mentions = sums[:, place * count : (place + 1) * count]
            over = mentions > sums[:, -1:]
            now = (found < 0) & over.any(axis=1)
            found[now] = np.argmax(over[now], axis=1) if self.simple else first_best(mentions[now])
        nobody = found < 0
        found[nobody] = first_best(sums[nobody, (count - 1) * count : count * count])
        return found

    def settled(self, sums: IntArray) -> BoolArray:
        """Where no majority is close up to the first place with one, and the winner there leads by two mentions."""
        count, total = self.candidates, sums[:, -1:]
        found, waiting = np.zeros(len(sums), dtype=bool), np.ones(len(sums), dtype=bool)
        for place in range(count):
            mentions = sums[:, place * count : (place + 1) * count]
            never, always = mentions + 2 <= total + 1, mentions > total + 1
            if self.simple:  # the first who has a majority, if it is sure who has one
                wins = (never | always).all(axis=1) & always.any(axis=1)
            else:
                most = np.partition(mentions, count - 2, axis=1)
                wins = always.any(axis=1) & (most[:, -1] - most[:, -2] > 2)
            found |= waiting & wins
            waiting &= never.all(axis=1)
        return found
