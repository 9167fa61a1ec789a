"""Rules that count in rounds: single transferable vote and Bucklin; and STV among three by dynamic programming.

Single transferable vote as sums (Definition 5): first places among every set of candidates still standing. That is
2^m - m - 1 sets, so that six candidates have 186 sums, of which the counting looks at five groups.

Three candidates. Let (f_a, f_b, f_c) be the first places of the others, a multinomial law. They and the person's vote
settle who is dropped, say c. The second places on the f_c votes for c are binomial and independent of the rest, and who
wins is whether they reach a bar. So probabilities of results are sums over first places, n^2 / 2 of them, of binomial
tails; and the gap of two votes is, where both drop the same candidate, the few binomial terms between their bars. These
are positive numbers only: no difference of tails that are nearly equal.

Limit: tables of the binomial terms grow with n^2, 860 MB at 6,000 voters. Further than that, and for more candidates
than three, elections are drawn (`sampling.py`); the sums have five dimensions or more, too many to list.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np

from safemargin.core import BoolArray, FloatArray, IntArray, Progress, no_progress
from safemargin.voting.binomial import log_binomial
from safemargin.voting.chances import OutcomeDistribution
from safemargin.voting.election import Ranking, Rule, VoterTypes, first_best


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

    @cached_property
    def _columns(self) -> IntArray:
        """By the set of candidates still standing (a number in base two) and candidate: the column of the sums.

        Whoever is not standing has the column behind the last.
        """
        columns = np.full((1 << self.candidates, self.candidates), sum(map(len, self._standing())), dtype=np.int64)
        start = 0
        for standing in self._standing():
            columns[sum(1 << c for c in standing), list(standing)] = range(start, start + len(standing))
            start += len(standing)
        return columns

    def _count_rounds(self, sums: IntArray) -> tuple[IntArray, BoolArray]:
        """Who wins, and whether no drop was close.

        All elections drop one candidate per round, whoever is still standing in each: m - 1 steps for all of them,
        where a step for every set of candidates that is met would be up to 2^m.
        """
        never = np.iinfo(np.int64).max // 2  # more first places than anybody has: not standing
        padded = np.concatenate([sums, np.full((len(sums), 1), never)], axis=1)
        standing = np.full(len(sums), (1 << self.candidates) - 1)
        sure = np.ones(len(sums), dtype=bool)
        for left in range(self.candidates, 1, -1):
            tops = np.take_along_axis(padded, self._columns[standing], axis=1)
            forward = self.drop_first and left > 2
            dropped = np.argmin(tops, axis=1) if forward else self.candidates - 1 - np.argmin(tops[:, ::-1], axis=1)
            fewest = np.partition(tops, 1, axis=1)
            sure &= fewest[:, 1] - fewest[:, 0] > 1
            standing ^= 1 << dropped
        return np.asarray(np.log2(standing).astype(np.int64)), sure

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


def transfers_apply(kinds: VoterTypes) -> bool:
    """Whether this is the rule, with three candidates and complete rankings."""
    return isinstance(kinds.rule, Stv) and kinds.rule.candidates == 3 and all(len(vote) == 3 for vote in kinds.votes)


@dataclass(frozen=True, eq=False)
class Seconds:
    """For one candidate who is dropped: probabilities of so many second places for the first of the two others.

    `exactly[f, k]`, `least[f, k]` (at least k) and `below[f, k]` (fewer than k), among f votes.
    """

    exactly: FloatArray
    least: FloatArray
    below: FloatArray


def _seconds(most: int, share: float) -> Seconds:
    """Binomial tables for 0 to `most` votes for the dropped candidate, of which each counts for another by `share`.

    Columns go up to `most` + 1, a bar that nobody reaches: `least` is 0 there and `below` is 1.
    """
    exactly = np.zeros((most + 1, most + 2))
    exactly[0, 0] = 1.0
    for count in range(1, most + 1):
        exactly[count, 0] = exactly[count - 1, 0] * (1 - share)
        exactly[count, 1:] = exactly[count - 1, 1:] * (1 - share) + exactly[count - 1, :-1] * share
    least = np.cumsum(exactly[:, ::-1], axis=1)[:, ::-1]
    below = np.concatenate([np.zeros((most + 1, 1)), np.cumsum(exactly, axis=1)[:, :-1]], axis=1)
    return Seconds(exactly, least, below)


def count_transfers(kinds: VoterTypes, progress: Progress = no_progress) -> OutcomeDistribution:
    """Sum over the first places of the others."""
    others, votes = kinds.others, kinds.votes
    firsts = np.array([sum(w for w, v in zip(kinds.weights, votes, strict=True) if v[0] == c) for c in range(3)])
    offset = _known(kinds)
    tables, pairs = [], []
    for last in range(3):
        u, v = (c for c in range(3) if c != last)
        to_u = sum(w for w, vote in zip(kinds.weights, votes, strict=True) if vote[:2] == (last, u))
        tables.append(_seconds(others, float(to_u / firsts[last]) if firsts[last] else 0.0))
        pairs.append((u, v))
    size = len(votes)
    likely, gaps = np.zeros((size, 3)), np.zeros((size, size, 3))
    log_pairs = log_binomial(np.arange(others + 1), others, firsts[0])
    share = firsts[1] / (firsts[1] + firsts[2]) if firsts[1] + firsts[2] > 0 else 0.0
    for a in range(others + 1):
        progress("counting first places", a, others + 1)
        rest = others - a
        b = np.arange(rest + 1)
        weights = np.exp(log_pairs[a] + log_binomial(b, rest, share))
        tops = np.stack([np.full(rest + 1, a), b, rest - b])
        cases = [_per_vote(kinds, tops, vote, offset, tables, pairs) for vote in votes]
        for x, case in enumerate(cases):
            likely[x] += case.chances @ weights
            for y in range(x):
                differs = (case.dropped != cases[y].dropped) | (case.need != cases[y].need)
                if differs.any():
                    gap = _gap(np.flatnonzero(differs), weights, case, cases[y], tops, tables)
                    gaps[x, y] += gap
                    gaps[y, x] -= gap
    with np.errstate(divide="ignore"):
        return OutcomeDistribution(np.log(likely), gaps)


class TransferCase(NamedTuple):
    """Per split of first places: who is dropped, the second places that the first other needs, chances of results.

    Rows follow the splits of `count_transfers`; `need` counts second places of the dropped candidate's voters.
    """

    dropped: IntArray
    need: IntArray
    chances: FloatArray


def _known(kinds: VoterTypes) -> tuple[IntArray, IntArray]:
    """First places of known votes, and for each candidate dropped the lead of the first other over the second then.

    The sums of the rule with three candidates are three first places, then two per duel.
    """
    sums = kinds.offset
    duels = {(0, 1): sums[3:5], (0, 2): sums[5:7], (1, 2): sums[7:9]}
    leads = [duels[tuple(c for c in range(3) if c != dropped)] for dropped in range(3)]  # type: ignore[index]
    return sums[:3], np.array([int(lead[0] - lead[1]) for lead in leads])


def _per_vote(
    kinds: VoterTypes,
    tops: IntArray,
    vote: tuple[int, ...],
    known: tuple[IntArray, IntArray],
    tables: list[Seconds],
    pairs: list[tuple[int, int]],
) -> TransferCase:
    """What each split of first places leads to if the person casts `vote`: who is dropped, and how the rest decides.

    After the one with fewest first places is dropped, the other two need their second places: the binomial tails of
    `tables` give the chance that these reach what is needed.
    """
    assert isinstance(kinds.rule, Stv)
    sums = tops + known[0][:, None]
    sums[vote[0]] += 1
    dropped = np.argmin(sums, axis=0) if kinds.rule.drop_first else 2 - np.argmin(sums[::-1], axis=0)
    need = np.zeros(tops.shape[1], dtype=np.int64)
    chances = np.zeros((3, tops.shape[1]))
    for out, (u, v) in enumerate(pairs):
        here = np.flatnonzero(dropped == out)
        if not len(here):
            continue
        lead = known[1][out] + (1 if vote.index(u) < vote.index(v) else -1)
        short = tops[v, here] - tops[u, here] + tops[out, here] - lead  # 2 x seconds must reach this
        bar = np.clip(-(-short // 2), 0, tops[out, here] + 1)
        need[here] = bar
        chances[u, here] = tables[out].least[tops[out, here], bar]
        chances[v, here] = tables[out].below[tops[out, here], bar]
    return TransferCase(dropped, need, chances)


def _gap(
    differs: IntArray,
    weights: FloatArray,
    first: TransferCase,
    second: TransferCase,
    tops: IntArray,
    tables: list[Seconds],
) -> FloatArray:
    """How much likelier each result is with the first vote than with the second, over the splits where they differ."""
    gap = np.zeros(3)
    same = differs[first.dropped[differs] == second.dropped[differs]]
    for dropped in range(3):
        here = same[first.dropped[same] == dropped]
        if len(here):
            # needs differ by one or two: the terms between them, not a difference of tails near one
            low = np.minimum(first.need[here], second.need[here])
            high = np.maximum(first.need[here], second.need[here])
            exactly, count = tables[dropped].exactly, tops[dropped, here]
            between = exactly[count, low] + np.where(high - low > 1, exactly[count, np.maximum(high - 1, 0)], 0.0)
            change = float((weights[here] * between * np.sign(second.need[here] - first.need[here])).sum())
            u, v = (c for c in range(3) if c != dropped)
            gap[u] += change
            gap[v] -= change
    apart = differs[first.dropped[differs] != second.dropped[differs]]
    gap += (first.chances[:, apart] - second.chances[:, apart]) @ weights[apart]
    return gap
