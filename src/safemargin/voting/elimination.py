"""Rules that count in rounds: single transferable vote and Bucklin."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from safemargin.core import BoolArray, IntArray
from safemargin.voting.rule import Ranking, Rule, first_best


@dataclass(frozen=True)
class Stv(Rule):
    """Single transferable vote for one seat: whoever has fewest first places is dropped, again and again.

    Of several with fewest votes the last is dropped, or with `drop_first` the first; of two who are left and equal the
    first wins either way. A vote all of whose candidates are dropped counts no more.
    """

    drop_first: bool = False
    is_proved = False  # not monotone: raising the winner may let another one be dropped

    def _standing(self) -> list[tuple[int, ...]]:
        everybody = range(self.candidates)
        return [some for size in range(self.candidates, 1, -1) for some in combinations(everybody, size)]

    def statistics(self, votes: Sequence[Ranking]) -> IntArray:
        """First places among every set of candidates still standing."""
        columns = []
        for standing in self._standing():
            first = [next((c for c in vote if c in standing), -1) for vote in votes]
            columns += [[int(top == candidate) for top in first] for candidate in standing]
        return np.array(columns, dtype=np.int64).T.reshape(len(votes), -1)

    def winners(self, sums: IntArray) -> IntArray:
        """Whoever is left."""
        return self._count_rounds(sums)[0]

    def settled(self, sums: IntArray) -> BoolArray:
        """Where whoever is dropped has, every time, at least two votes fewer than anybody else."""
        return self._count_rounds(sums)[1]

    def _count_rounds(self, sums: IntArray) -> tuple[IntArray, BoolArray]:
        """Who wins, and whether no drop was close. Elections with the same candidates standing go together."""
        offsets, start = {}, 0
        for standing in self._standing():
            offsets[standing] = start
            start += len(standing)
        winners, sure = np.zeros(len(sums), dtype=np.int64), np.ones(len(sums), dtype=bool)
        waiting = [(tuple(range(self.candidates)), np.arange(len(sums)))]
        while waiting:
            standing, rows = waiting.pop()
            if len(standing) == 1:
                winners[rows] = standing[0]
                continue
            columns = slice(offsets[standing], offsets[standing] + len(standing))
            tops = sums[rows, columns] if len(rows) < len(sums) else sums[:, columns]
            forward = self.drop_first and len(standing) > 2
            dropped = np.argmin(tops, axis=1) if forward else len(standing) - 1 - np.argmin(tops[:, ::-1], axis=1)
            fewest = np.partition(tops, 1, axis=1)
            sure[rows] &= fewest[:, 1] - fewest[:, 0] > 1
            for column in range(len(standing)):
                if len(rest := rows[dropped == column]):
                    waiting.append((standing[:column] + standing[column + 1 :], rest))
        return winners, sure

    def winner(self, votes: Sequence[Ranking], counts: Sequence[int]) -> int:
        """Who wins, counted round by round: many candidates have too many sets for a table."""
        standing = list(range(self.candidates))
        while len(standing) > 1:
            tops = dict.fromkeys(standing, 0)
            for vote, count in zip(votes, counts, strict=True):
                if (first := next((c for c in vote if c in tops), None)) is not None:
                    tops[first] += count
            lowest = [c for c in standing if tops[c] == min(tops.values())]
            standing.remove(lowest[0] if self.drop_first and len(standing) > 2 else lowest[-1])
        return standing[0]


@dataclass(frozen=True)
class Bucklin(Rule):
    """Places are opened one after the other until somebody is named by more than half; then most mentions win.

    With `simple`, the first candidate with a majority wins. Where incomplete votes leave nobody with a majority, most
    mentions win.
    """

    simple: bool = False
    is_proved = False  # not canceling-out, although Corollary 1 lists it: one more of every ranking changes the winner

    def statistics(self, votes: Sequence[Ranking]) -> IntArray:
        """Twice the mentions in the first k places, for each k and candidate; then the number of votes."""
        count = self.candidates
        adds = np.zeros((len(votes), count * count + 1), dtype=np.int64)
        for row, vote in enumerate(votes):
            for position, candidate in enumerate(vote):
                adds[row, np.arange(position, count) * count + candidate] = 2
        adds[:, -1] = 1
        return adds

    def _mentions(self, sums: IntArray, opened: int) -> IntArray:
        return sums[:, opened * self.candidates : (opened + 1) * self.candidates]

    def winners(self, sums: IntArray) -> IntArray:
        """The winner at the first place with a majority."""
        winners, rows = np.zeros(len(sums), dtype=np.int64), np.arange(len(sums))
        for opened in range(self.candidates):
            here = sums if len(rows) == len(sums) else sums[rows]
            mentions, half = self._mentions(here, opened), here[:, -1]
            best = first_best(mentions)
            over = mentions[np.arange(len(here)), best] > half
            if self.simple:
                for candidate in range(self.candidates - 1, -1, -1):  # the first with a majority is written last
                    best[over & (mentions[:, candidate] > half)] = candidate
            winners[rows] = best  # where nobody has a majority, even in the end: most mentions
            rows = rows[~over]
        return winners

    def settled(self, sums: IntArray) -> BoolArray:
        """Where no majority is close up to the first place with one, and the winner there leads by two mentions."""
        total = sums[:, -1:]
        sure, waiting = np.zeros(len(sums), dtype=bool), np.ones(len(sums), dtype=bool)
        for opened in range(self.candidates):
            mentions = self._mentions(sums, opened)
            never, always = mentions + 2 <= total + 1, mentions > total + 1
            if self.simple:  # the first who has a majority, if it is sure who has one
                wins = (never | always).all(axis=1) & always.any(axis=1)
            else:
                most = np.partition(mentions, self.candidates - 2, axis=1)
                wins = always.any(axis=1) & (most[:, -1] - most[:, -2] > 2)
            sure |= waiting & wins
            waiting &= never.all(axis=1)
        return sure
