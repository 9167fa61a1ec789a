"""Where the winner changes: the shares nearest to a belief at which two results meet.

The chance of a close race falls by a factor exp(-rate) per voter, where the rate is the Kullback-Leibler divergence
of these shares from the belief.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from safemargin.core import FloatArray, IntArray, numpy_generator
from safemargin.voting.election import Kinds

MOST_SETS = 1000
"""Sets of ties that are tried."""
MOST_SUMS = 100
"""Rules with more sums than this have too many ties to try; nothing is said about them."""
MOST_WORK = 200_000
"""Sets of ties times kinds of votes."""
DIRECTIONS = 200
NEAR = 1e-5
WHOLE = 1e12
"""Sums of shares are multiplied by this and rounded, so that rules see whole numbers."""


@dataclass(frozen=True, eq=False)
class Crossing:
    """Shares at which results meet, how far they are from the belief, and which results."""

    rate: float
    shares: FloatArray
    results: frozenset[int]


def hyperplanes(adds: IntArray) -> IntArray:
    """Differences of two sums that a vote changes, each once: a row per difference, a column per vote."""
    found: dict[bytes, IntArray] = {}
    for first, second in combinations(range(adds.shape[1]), 2):
        normal = adds[:, first] - adds[:, second]
        if not normal.any() or (normal == normal[0]).all():
            continue
        normal = normal // np.gcd.reduce(normal)
        normal = normal if normal[np.flatnonzero(normal)[0]] > 0 else -normal
        found.setdefault(normal.tobytes(), normal)
    return np.array(list(found.values()), dtype=np.int64).reshape(-1, adds.shape[0])


def results_at(kinds: Kinds, shares: FloatArray) -> IntArray:
    """Who wins if votes are cast in exactly these shares; a row of shares each."""
    sums = np.rint(np.atleast_2d(shares) @ kinds.adds.astype(np.float64) * WHOLE).astype(np.int64)
    return kinds.rule.winners(sums)


def around(kinds: Kinds, shares: FloatArray) -> frozenset[int]:
    """All results in the neighbourhood of the shares."""
    moves = numpy_generator(4).normal(size=(DIRECTIONS, len(kinds)))
    moves -= moves.mean(axis=1, keepdims=True)
    moves *= NEAR * float(shares.min()) / np.abs(moves).max(axis=1, keepdims=True)
    return frozenset(results_at(kinds, np.concatenate([shares + moves, shares - moves])).tolist())


def project(shares: FloatArray, normals: FloatArray) -> FloatArray | None:
    """The shares nearest to the given ones on which every normal sums to zero; none if there are none inside."""
    turn = np.zeros(len(normals))
    logs = np.log(shares)
    for _ in range(100):
        tilted = logs + turn @ normals
        found: FloatArray = np.exp(tilted - tilted.max())
        found /= found.sum()
        off = normals @ found
        if np.abs(off).max() < 1e-14:
            return found
        curve = (normals * found) @ normals.T - np.outer(off, off)
        try:
            step = np.linalg.solve(curve + 1e-15 * np.eye(len(normals)), off)
        except np.linalg.LinAlgError:
            return None
        length = float(np.abs(step).max())
        turn -= step * min(1.0, 2.0 / length)
        if np.abs(turn).max() > 500:
            return None
    return found if np.abs(off).max() < 1e-9 else None


def divergence(found: FloatArray, shares: FloatArray) -> float:
    """Kullback-Leibler divergence, in nats."""
    return float(np.sum(found * np.log(found / shares)))


def crossings(kinds: Kinds, active: int = 3) -> list[Crossing]:
    """Places where the result changes, the nearest first: the nearest one of every set of results that meet.

    All sets of up to `active` ties are tried, as far as `MOST_SETS` reaches. A belief at which results meet is its own.
    """
    shares = kinds.weights
    here = around(kinds, shares)
    if len(here) > 1:
        return [Crossing(0.0, shares, here)]
    if kinds.adds.shape[1] > MOST_SUMS:
        return []
    normals = hyperplanes(kinds.adds).astype(np.float64)
    most = min(MOST_SETS, max(MOST_WORK // len(kinds), 50))
    best: dict[frozenset[int], Crossing] = {}
    tried = 0
    for size in range(1, active + 1):
        for chosen in combinations(range(len(normals)), size):
            tried += 1
            if tried > most:
                return sorted(best.values(), key=lambda each: each.rate)
            found = project(shares, normals[list(chosen)])
            if found is None or found.min() < 1e-12:
                continue
            rate = divergence(found, shares)
            meeting = around(kinds, found)
            if len(meeting) > 1 and (meeting not in best or best[meeting].rate > rate):
                best[meeting] = Crossing(rate, found, meeting)
    return sorted(best.values(), key=lambda each: each.rate)
