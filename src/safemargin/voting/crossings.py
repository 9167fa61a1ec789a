"""Where the winner changes: the shares nearest to a belief at which two results meet, and how far away they are.

Objects. Shares of the kinds of votes are points q of the simplex; the belief is one of them, p. A *tie* is a hyperplane
`normal.q = 0` on which two sums of the rule are equal (Claim 1 of the paper: these are finitely many). A *crossing* is
a point q in whose neighbourhood more than one result occurs.

Theorem (Sanov 1957). The chance that n independent votes have shares near q is exp(-n D(q | p)) up to a power of n,
where D is the Kullback-Leibler divergence, sum of q log(q / p). One vote changes the result only near a crossing. So
delta falls like exp(-rate n) with the rate D of the nearest crossing; it is 0 where the belief is a crossing itself.

Method. The nearest point on a set of hyperplanes is an exponential tilt of p (Csiszar 1975): q = p exp(t.normals) / Z.
So Newton's method needs a variable per hyperplane, however many kinds of votes there are. Whether results meet at q is
tried in random directions around it: a crossing that all of them miss is not found, so that `rate` is an estimate from
above.

Example: two candidates with shares .6 and .4 tie at (.5, .5), and D is log(1 / sqrt(4 * .6 * .4)).

>>> shares, normals = np.array([0.6, 0.4]), np.array([[1.0, -1.0]])
>>> nearest = project(shares, normals)
>>> nearest.round(9).tolist(), round(divergence(nearest, shares), 6)
([0.5, 0.5], 0.020411)
"""

from itertools import combinations

import numpy as np

from safemargin.core import FloatArray, IntArray, numpy_generator
from safemargin.voting.election import Crossing, VoterTypes

MAX_SETS = 1000
"""Sets of ties that are tried."""
MAX_SUMS = 100
"""Rules with more sums than this have too many ties to try; nothing is said about them."""
MAX_WORK = 200_000
"""Sets of ties times kinds of votes."""
DIRECTIONS = 200
NEAR = 1e-5


def hyperplanes(adds: IntArray) -> IntArray:
    """Differences of two sums that a vote changes, each once: a row per difference, a column per vote (Claim 1)."""
    normals: dict[bytes, IntArray] = {}
    for first, second in combinations(range(adds.shape[1]), 2):
        normal = adds[:, first] - adds[:, second]
        if not normal.any() or (normal == normal[0]).all():
            continue
        normal = normal // np.gcd.reduce(normal)
        normal = normal if normal[np.flatnonzero(normal)[0]] > 0 else -normal
        normals.setdefault(normal.tobytes(), normal)
    return np.array(list(normals.values()), dtype=np.int64).reshape(-1, adds.shape[0])


def directions(kinds: VoterTypes) -> FloatArray:
    """What random changes of the shares, none above 1, add to the sums."""
    moves = numpy_generator(4).normal(size=(DIRECTIONS, len(kinds)))
    moves -= moves.mean(axis=1, keepdims=True)
    moves /= np.abs(moves).max(axis=1, keepdims=True)
    return np.asarray(moves @ kinds.adds.astype(np.float64))


def results_near(kinds: VoterTypes, shares: FloatArray, around: FloatArray) -> frozenset[int]:
    """All results in the neighbourhood of the shares, in these directions and their opposites."""
    # Sums are linear in the shares: the product with every direction is taken once, not once for every point.
    steps = NEAR * float(shares.min()) * np.concatenate([around, -around])
    return frozenset(kinds.winners(shares @ kinds.adds.astype(np.float64) + steps).tolist())


def project(shares: FloatArray, normals: FloatArray) -> FloatArray | None:
    """The shares nearest to the given ones on which every normal sums to zero; none if there are none inside.

    The nearest in divergence are an exponential tilt (Csiszar 1975), so Newton's method needs one variable per normal.
    """
    tilt = np.zeros(len(normals))
    logs = np.log(shares)
    for _ in range(100):
        tilted = logs + tilt @ normals
        nearest: FloatArray = np.exp(tilted - tilted.max())
        nearest /= nearest.sum()
        off = normals @ nearest
        if np.abs(off).max() < 1e-14:
            return nearest
        curvature = (normals * nearest) @ normals.T - np.outer(off, off)
        try:
            step = np.linalg.solve(curvature + 1e-15 * np.eye(len(normals)), off)
        except np.linalg.LinAlgError:
            return None
        tilt -= step * min(1.0, 2.0 / float(np.abs(step).max()))  # damped: far away the quadratic model overshoots
        if np.abs(tilt).max() > 500:  # the shares run to the edge: no point inside satisfies all ties
            return None
    return nearest if np.abs(off).max() < 1e-9 else None


def divergence(nearest: FloatArray, shares: FloatArray) -> float:
    """Kullback-Leibler divergence, in nats."""
    return float(np.sum(nearest * np.log(nearest / shares)))


def crossings(kinds: VoterTypes, active: int = 3) -> list[Crossing]:
    """Shares at which the result changes, the nearest first: the nearest for every set of results that meet.

    All sets of up to `active` ties are tried, as far as `MAX_SETS` reaches. A belief at which results meet is its own.
    """
    shares = kinds.weights
    around = directions(kinds)
    here = results_near(kinds, shares, around)
    if len(here) > 1:
        return [Crossing(0.0, shares, here)]
    if kinds.adds.shape[1] > MAX_SUMS:
        return []
    normals = hyperplanes(kinds.adds).astype(np.float64)
    limit = min(MAX_SETS, max(MAX_WORK // len(kinds), 50))
    sets = (chosen for size in range(1, active + 1) for chosen in combinations(range(len(normals)), size))
    best: dict[frozenset[int], Crossing] = {}
    for _, chosen in zip(range(limit), sets, strict=False):
        nearest = project(shares, normals[list(chosen)])
        if nearest is None or nearest.min() < 1e-12:
            continue
        rate, meeting = divergence(nearest, shares), results_near(kinds, nearest, around)
        if len(meeting) > 1 and (meeting not in best or best[meeting].rate > rate):
            best[meeting] = Crossing(rate, nearest, meeting)
    return sorted(best.values(), key=lambda crossing: crossing.rate)
