"""Single transferable vote for one seat: whoever has fewest first places is dropped, again and again."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from safemargin.core import BoolArray, IntArray
from safemargin.voting.ballots import Ranking
from safemargin.voting.rules.rule import Rule

MOST_CANDIDATES = 12


@dataclass(frozen=True)
class Stv(Rule):
    """Of several with fewest votes the last is dropped, or with `drop_first` the first.

    A vote all of whose candidates are dropped counts no more.
    """

    drop_first: bool = False
    name = "stv"
    title = "single transferable vote"

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
        """Whoever is left; of the last two the first if they are equal."""
        return self._counted(sums)[0]

    def settled(self, sums: IntArray) -> BoolArray:
        """Where whoever is dropped has, every time, at least two votes fewer than anybody else."""
        return self._counted(sums)[1]

    def _counted(self, sums: IntArray) -> tuple[IntArray, BoolArray]:
        """Who wins, and whether no drop was close."""
        everybody = tuple(range(self.candidates))
        offsets, start = {}, 0
        for standing in self._standing():
            offsets[standing] = start
            start += len(standing)
        found, sure = np.zeros(len(sums), dtype=np.int64), np.ones(len(sums), dtype=bool)
        waiting = [(everybody, np.arange(len(sums)))]
        while waiting:
            standing, rows = waiting.pop()
            if len(standing) == 1:
                found[rows] = standing[0]
                continue
            start = offsets[standing]
            tops = (
                sums[rows, start : start + len(standing)]
                if len(rows) < len(sums)
                else sums[:, start:][:, : len(standing)]
            )
            forward = self.drop_first and len(standing) > 2
            dropped = np.argmin(tops, axis=1) if forward else len(standing) - 1 - np.argmin(tops[:, ::-1], axis=1)
            fewest = np.partition(tops, 1, axis=1)
            sure[rows] &= fewest[:, 1] - fewest[:, 0] > 1
            for place in range(len(standing)):
                mine = rows[dropped == place]
                if len(mine):
                    waiting.append((standing[:place] + standing[place + 1 :], mine))
        return found, sure

    def winner(self, votes: Sequence[Ranking], counts: Sequence[int]) -> int:
        """Who wins, counted round by round: many candidates have too many sets for a table."""
        if self.candidates <= 4:
            return super().winner(votes, counts)
        standing = list(range(self.candidates))
        while len(standing) > 1:
            tops = dict.fromkeys(standing, 0)
            for vote, count in zip(votes, counts, strict=True):
                if (first := next((c for c in vote if c in tops), None)) is not None:
                    tops[first] += count
            lowest = [c for c in standing if tops[c] == min(tops.values())]
            standing.remove(lowest[0] if self.drop_first and len(standing) > 2 else lowest[-1])
        return standing[0]
