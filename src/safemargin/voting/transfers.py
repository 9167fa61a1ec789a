"""Single transferable vote among three, by dynamic programming over first places: n squared steps.

Given the first places of the others, the person's vote settles who is dropped, and the second places on the votes of
whoever is dropped are binomial.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from safemargin.core import FloatArray, IntArray, Progress, no_progress
from safemargin.voting.binomial import log_binomial
from safemargin.voting.chances import Chances
from safemargin.voting.election import Kinds
from safemargin.voting.elimination import Stv


def applies(kinds: Kinds) -> bool:
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
    """Tables for up to `most` votes."""
    exactly = np.zeros((most + 1, most + 2))
    exactly[0, 0] = 1.0
    for count in range(1, most + 1):
        exactly[count, 0] = exactly[count - 1, 0] * (1 - share)
        exactly[count, 1:] = exactly[count - 1, 1:] * (1 - share) + exactly[count - 1, :-1] * share
    least = np.cumsum(exactly[:, ::-1], axis=1)[:, ::-1]
    below = np.concatenate([np.zeros((most + 1, 1)), np.cumsum(exactly, axis=1)[:, :-1]], axis=1)
    return Seconds(exactly, least, below)


def count_transfers(kinds: Kinds, progress: Progress = no_progress) -> Chances:
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
        return Chances(np.log(likely), gaps)


class TransferCase(NamedTuple):
    """Per split of first places: who is dropped, the second places that the first other needs, chances of results."""

    dropped: IntArray
    need: IntArray
    chances: FloatArray


def _known(kinds: Kinds) -> tuple[IntArray, IntArray]:
    """First places of known votes, and for each candidate dropped the lead of the first other over the second then."""
    sums = kinds.offset
    duels = {(0, 1): sums[3:5], (0, 2): sums[5:7], (1, 2): sums[7:9]}
    leads = [duels[tuple(c for c in range(3) if c != dropped)] for dropped in range(3)]  # type: ignore[index]
    return sums[:3], np.array([int(lead[0] - lead[1]) for lead in leads])


def _per_vote(
    kinds: Kinds,
    tops: IntArray,
    vote: tuple[int, ...],
    known: tuple[IntArray, IntArray],
    tables: list[Seconds],
    pairs: list[tuple[int, int]],
) -> TransferCase:
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
