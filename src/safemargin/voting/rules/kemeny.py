"""Kemeny: the ranking that agrees with most pairwise preferences; its favourite wins."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from safemargin.core import IntArray, TooLargeError
from safemargin.voting.ballots import Ranking, rankings
from safemargin.voting.rules.rule import Rule, margins, pairs

MOST_CANDIDATES = 6


@dataclass(frozen=True)
class Kemeny(Rule):
    """Of equally good rankings the first in the alphabet is taken. For few candidates: all rankings are tried."""

    name = "kemeny"
    title = "Kemeny"

    def __post_init__(self) -> None:
        if self.candidates > MOST_CANDIDATES:
            raise TooLargeError(f"kemeny: {self.candidates} candidates; at most {MOST_CANDIDATES} can be tried")

    def statistics(self, votes: Sequence[Ranking]) -> IntArray:
        """Agreement with every ranking, in pairs agreed on less pairs disagreed on."""
        place = {duel: column for column, duel in enumerate(pairs(self.candidates))}
        agree = np.zeros((len(place), len(rankings(self.candidates))), dtype=np.int64)
        for column, ranking in enumerate(rankings(self.candidates)):
            for ahead, candidate in enumerate(ranking):
                for behind in ranking[ahead + 1 :]:
                    agree[place[candidate, behind], column] = 1
        return margins(votes, self.candidates) @ agree

    def winners(self, sums: IntArray) -> IntArray:
        """The favourite of the first best ranking."""
        tops = np.array([ranking[0] for ranking in rankings(self.candidates)], dtype=np.int64)
        found: IntArray = tops[np.argmax(sums, axis=1)]
        return found
