"""All ways in which the others can vote, one by one: the plainest engine, for any rule."""

from collections.abc import Iterator
from math import comb

import numpy as np
from scipy.special import gammaln

from safemargin.core import FloatArray, IntArray, Progress, no_progress
from safemargin.voting.chances import Chances, from_patterns, gather
from safemargin.voting.election import Kinds

BLOCK = 100_000


def ways(others: int, kinds: int) -> int:
    """How many counts of votes there are."""
    return comb(others + kinds - 1, kinds - 1)


def all_counts(others: int, kinds: int) -> Iterator[IntArray]:
    """Every way to split `others` into counts of kinds, in blocks of rows."""
    if kinds == 1 or ways(others, kinds) <= BLOCK:
        yield _block(others, kinds)
        return
    for first in range(others + 1):
        for rest in all_counts(others - first, kinds - 1):
            yield np.concatenate([np.full((len(rest), 1), first), rest], axis=1)


def _block(others: int, kinds: int) -> IntArray:
    """All of them at once: every row so far is repeated for each count that the next kind can have."""
    rows = np.zeros((1, 0), dtype=np.int64)
    for _ in range(kinds - 1):
        left = others - rows.sum(axis=1)
        source = np.repeat(np.arange(len(rows)), left + 1)
        start = np.cumsum(left + 1) - (left + 1)
        value = np.arange(len(source)) - start[source]
        rows = np.concatenate([rows[source], value[:, None]], axis=1)
    return np.concatenate([rows, others - rows.sum(axis=1, keepdims=True)], axis=1)


def log_multinomial(counts: IntArray, weights: FloatArray) -> FloatArray:
    """log of the probability of each row of counts."""
    total = counts.sum(axis=1)
    return np.asarray(gammaln(total + 1) - gammaln(counts + 1).sum(axis=1) + counts @ np.log(weights))


def enumerate_votes(kinds: Kinds, progress: Progress = no_progress) -> Chances:
    """Look at every way the others can vote, with each vote of the person added."""
    patterns: dict[bytes, float] = {}
    done, total = 0, ways(kinds.others, len(kinds))
    for counts in all_counts(kinds.others, len(kinds)):
        sums = counts @ kinds.adds + kinds.offset
        results = np.stack([kinds.rule.winners(sums + row) for row in kinds.adds])
        gather(patterns, results, np.exp(log_multinomial(counts, kinds.weights)))
        done += len(counts)
        progress("enumerating", done, total)
    return from_patterns(patterns, kinds.rule.outcomes)
