"""Rules that look at duels of two candidates: Copeland, maximin, Schulze, ranked pairs and Kemeny.

The sums are the margins d(a, b) = (votes that prefer a) - (votes that prefer b) of all ordered pairs. Each rule sees
only their order, with d(b, a) = -d(a, b): so it is a generalised scoring rule (Definition 5), and engines may add a
common number to all sums. A candidate who beats all others (Condorcet) wins under each of them.

- Copeland: most duels won less duels lost.
- Maximin: the best worst margin.
- Schulze: a path is as strong as its weakest margin; the winner has to everybody a path as strong as the one back.
- Ranked pairs: duels are locked in by size, except those that close a cycle.
- Kemeny: the ranking that agrees with most pairwise preferences.

With three candidates margins have three dimensions, so that `race_planes.py` proves an interval for any electorate.

Example: a beats b 2 to 1, b beats c 2 to 1, c beats a 2 to 1: a cycle, and the first wins under maximin.

>>> Maximin(3).winner([(0, 1, 2), (1, 2, 0), (2, 0, 1)], [1, 1, 1])
0
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from safemargin.core import BoolArray, FloatArray, IntArray, TooLargeError
from safemargin.voting.election import Ranking, Rule, first_best, rankings

MAX_KEMENY_CANDIDATES = 6


def duels(candidates: int) -> list[tuple[int, int]]:
    """All ordered pairs of two candidates."""
    return [(a, b) for a in range(candidates) for b in range(candidates) if a != b]


def margins(votes: Sequence[Ranking], candidates: int) -> IntArray:
    """For each vote and ordered pair: 1 if the first is preferred, -1 if the second is, 0 if neither is named."""
    positions = np.full((len(votes), candidates), candidates, dtype=np.int64)
    for row, vote in enumerate(votes):
        positions[row, list(vote)] = np.arange(len(vote))
    first, second = np.array(duels(candidates), dtype=np.int64).reshape(-1, 2).T
    return np.asarray(np.sign(positions[:, second] - positions[:, first]))


@dataclass(frozen=True)
class Pairwise(Rule):
    """The sums are the margins of all ordered pairs."""

    def statistics(self, votes: Sequence[Ranking]) -> IntArray:
        """Margins of all ordered pairs."""
        return margins(votes, self.candidates)

    def worst_margins(self, sums: IntArray) -> IntArray:
        """The worst margin of every candidate: a row per election."""
        return np.asarray(sums.reshape(len(sums), self.candidates, self.candidates - 1).min(axis=2))

    def settled(self, sums: IntArray) -> BoolArray:
        """Where somebody beats everybody else by more than one vote, and so wins whatever vote is added."""
        return np.asarray(self.worst_margins(sums).max(axis=1) > 1)

    def matrix(self, sums: IntArray) -> IntArray:
        """Margins as a matrix per election, zero on the diagonal."""
        square = np.zeros((len(sums), self.candidates, self.candidates), dtype=np.int64)
        first, second = np.array(duels(self.candidates), dtype=np.int64).reshape(-1, 2).T
        square[:, first, second] = sums
        return square


@dataclass(frozen=True)
class Copeland(Pairwise):
    """Most duels won less duels lost; a duel that ends even counts for neither."""

    def winners(self, sums: IntArray) -> IntArray:
        """The first with the highest balance of duels."""
        square = self.matrix(sums)  # engines may shift all sums alike: margins are compared with each other
        return first_best(np.sign(square - square.transpose(0, 2, 1)).sum(axis=2))


@dataclass(frozen=True)
class Maximin(Pairwise):
    """The best worst margin against another candidate; also known as Simpson's rule."""

    def winners(self, sums: IntArray) -> IntArray:
        """The first with the best worst margin."""
        return first_best(self.worst_margins(sums))


@dataclass(frozen=True)
class Schulze(Pairwise):
    """Whoever has a path to every other as strong as the path back; a path is as strong as its weakest margin."""

    def winners(self, sums: IntArray) -> IntArray:
        """The first whom nobody has a stronger path to."""
        strength = self.matrix(sums)
        for middle in range(self.candidates):  # Floyd and Warshall, on the widest paths
            through = np.minimum(strength[:, :, middle, None], strength[:, None, middle, :])
            np.maximum(strength, through, out=strength)
        strength[:, np.arange(self.candidates), np.arange(self.candidates)] = 0
        unbeaten = (strength >= strength.transpose(0, 2, 1)).all(axis=2)
        return np.asarray(np.argmax(unbeaten, axis=1).astype(np.int64))


@dataclass(frozen=True)
class RankedPairs(Pairwise):
    """Tideman's rule: duels are locked in from the clearest on, except those that would close a cycle.

    Of equally clear duels the earlier pair of candidates is locked first. A duel that ends even is locked, too, after
    all others, in favour of the earlier candidate.
    """

    def winners(self, sums: IntArray) -> IntArray:
        """Whoever nobody is locked in above."""
        count = self.candidates
        first, second = np.array(duels(count), dtype=np.int64).T
        order = np.argsort(-sums, axis=1, kind="stable")
        rows = np.arange(len(sums))
        above = np.zeros((len(sums), count, count), dtype=bool)  # the transitive closure of what is locked
        above[:, np.arange(count), np.arange(count)] = True
        for step in range(len(first)):
            duel = order[:, step]
            a, b = first[duel], second[duel]
            free = (sums[rows, duel] >= 0) & ~above[rows, b, a]
            over = above[rows, :, a] & free[:, None]
            under = above[rows, b, :]
            above |= over[:, :, None] & under[:, None, :]
        beaten = (above & ~np.eye(count, dtype=bool)).any(axis=1)
        return np.asarray(np.argmax(~beaten, axis=1).astype(np.int64))


@dataclass(frozen=True)
class Kemeny(Rule):
    """The favourite of the ranking that agrees with most pairwise preferences; of equally good ones the first."""

    def __post_init__(self) -> None:
        if self.candidates > MAX_KEMENY_CANDIDATES:
            raise TooLargeError(f"kemeny: {self.candidates} candidates; at most {MAX_KEMENY_CANDIDATES} can be tried")

    def statistics(self, votes: Sequence[Ranking]) -> IntArray:
        """Agreement with every ranking, in pairs agreed on less pairs disagreed on."""
        agree = margins(rankings(self.candidates), self.candidates) > 0
        # in floating point, which numpy multiplies quickly; these integers are small
        products: FloatArray = margins(votes, self.candidates).astype(np.float64) @ agree.T.astype(np.float64)
        return np.rint(products).astype(np.int64)

    def winners(self, sums: IntArray) -> IntArray:
        """The favourite of the first best ranking."""
        favourites = np.array([ranking[0] for ranking in rankings(self.candidates)], dtype=np.int64)
        return np.asarray(favourites[np.argmax(sums, axis=1)])
