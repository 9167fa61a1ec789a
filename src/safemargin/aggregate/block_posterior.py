"""The best guess of a bit from its block of a masked matrix: the exact posterior (eq. 18, restricted to a block).

A uniform permutation of size m = 2n meets a 2 x 2 block of the diagonal in one of seven patterns: nothing, one of the
four entries, both entries of the diagonal (D), or both of the other one (A). K decoys with Dirichlet(1, ..., 1) weights
give a pattern of probability p, chosen k times, a weight v with density `v^(k-1) / (k-1)!` up to a common factor. Over
the counts k the likelihood of weights v is the coefficient of `t^K` in the product of

    g(p, v) = sum over k >= 1 of (p t)^k v^(k-1) / (k! (k-1)!)

over the patterns that occur. A block shows `x = v_00 + w`, `y = v_11 + w` with w the weight of D, and the same for A:
both w are integrated out. The integrands are polynomials of degree at most K, so Gauss and Legendre's rule is exact.
Weights are whole numbers of 1 / `rest`: a set of patterns with fewer free weights is likelier by a factor `rest` for
each, which is how equal or empty entries disclose a bit.

The posterior of the whole matrix would be a sum over all its decompositions; no guess from a block alone is better.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from safemargin.aggregate.mask import Mask
from safemargin.core import FloatArray, IntArray

MOST_BLOCKS = 1_500
"""Blocks that an attack goes through: each takes about 0.4 ms with 20 decoys."""


@dataclass(frozen=True)
class BlockPatterns:
    """Chances of the patterns of one decoy in a block, for `bits` bits: of D (and A), of one entry, of nothing.

    >>> found = BlockPatterns.of(2)  # of 24 permutations of 4 rows, 2 have both entries of the diagonal
    >>> [round(24 * chance, 9) for chance in (found.both, found.one, found.none)]
    [2.0, 4.0, 4.0]
    """

    both: float
    one: float
    none: float

    @staticmethod
    def of(bits: int) -> "BlockPatterns":
        """By counting permutations of size 2n."""
        size = 2 * bits
        pairs = size * (size - 1)
        return BlockPatterns(1 / pairs, (size - 2) / pairs, max(0.0, 1 - (4 * (size - 2) + 2) / pairs))


@lru_cache(maxsize=8)
def _logarithms(decoys: int) -> FloatArray:
    """Of k! (k - 1)! for k from 1 on."""
    counts = np.arange(1, decoys + 1)
    from scipy.special import gammaln  # slow to import, and few commands need it

    return np.asarray(gammaln(counts + 1) + gammaln(counts))


def _series(chance: float, weights: FloatArray, decoys: int) -> FloatArray:
    """`g(chance, weight)` for every weight: coefficients of t^0 to t^K (last axis)."""
    found = np.zeros((len(weights), decoys + 1))
    if chance > 0:
        counts = np.arange(1, decoys + 1)
        powers = (counts - 1) * np.log(np.maximum(weights, 1e-300))[:, None]
        found[:, 1:] = np.exp(counts * np.log(chance) + powers - _logarithms(decoys))
    return found


def _times(left: FloatArray, right: FloatArray) -> FloatArray:
    """Products of polynomials in t, row by row, cut behind t^K."""
    found = np.zeros_like(left)
    for power in range(left.shape[1]):
        found[:, power:] += left[:, power, None] * right[:, : left.shape[1] - power]
    return found


class _Pair:
    """The two entries of one diagonal of a block: likelihoods in t of the weight w of its pattern D.

    `points` are weights that some set of patterns fixes, `inside` is the density between 0 and the smaller entry.
    """

    def __init__(self, x: float, y: float, patterns: BlockPatterns, decoys: int, rest: float) -> None:
        self.x, self.y, self.patterns, self.decoys, self.rest = x, y, patterns, decoys, rest
        self.least = min(x, y)
        points: list[float] = []
        rows: list[FloatArray] = []
        if x == 0 and y == 0:
            points.append(0.0)
            rows.append(np.eye(1, decoys + 1))
        elif self.least == 0:
            points.append(0.0)
            rows.append(_series(patterns.one, np.array([x + y]), decoys) / rest)
        else:
            points += [0.0, self.least]
            one = _series(patterns.one, np.array([x, y, abs(x - y)]), decoys)
            both = _series(patterns.both, np.array([self.least]), decoys)
            rows.append(_times(one[:1], one[1:2]) / rest**2)
            rows.append(both / rest if x == y else _times(both, one[2:]) / rest**2)
        self.points, self.rows = np.array(points), np.concatenate(rows)

    def inside(self, weights: FloatArray) -> FloatArray:
        """D and both single entries together: likelihoods at weights between 0 and the smaller entry."""
        single = [_series(self.patterns.one, entry - weights, self.decoys) for entry in (self.x, self.y)]
        return _times(_times(_series(self.patterns.both, weights, self.decoys), single[0]), single[1]) / self.rest**2


def _nodes(low: float, high: float, count: int) -> tuple[FloatArray, FloatArray]:
    points, heights = np.polynomial.legendre.leggauss(count)
    return low + (points + 1) * (high - low) / 2, heights * (high - low) / 2


def likelihood(entries: tuple[float, float, float, float], patterns: BlockPatterns, decoys: int, rest: float) -> float:
    """Of a block `(e00, e11, e01, e10)` that decoys alone gave, in shares of `rest` (up to a common factor)."""
    if min(entries) < 0:
        return 0.0
    left = _Pair(entries[0], entries[1], patterns, decoys, rest)
    right = _Pair(entries[2], entries[3], patterns, decoys, rest)
    count = decoys // 2 + 1
    sums, polynomials = [], []
    for pair in (left, right):
        points, rows = pair.points, pair.rows
        if pair.least > 0 and patterns.one > 0:
            nodes, heights = _nodes(0, pair.least, count)
            points = np.concatenate([points, nodes])
            rows = np.concatenate([rows, pair.inside(nodes) * heights[:, None]])
        sums.append(points)
        polynomials.append(rows)
    # With the pattern "nothing": its weight is what remains.
    over = sum(entries) - 1
    remains = sums[0][:, None] + sums[1][None, :] - over
    none = _series(patterns.none, remains.ravel(), decoys).reshape(*remains.shape, decoys + 1)
    none[remains <= 1e-12] = 0.0
    total = 0.0
    for power in range(decoys + 1):
        products = polynomials[0][:, : power + 1].T @ none[:, :, decoys - power] @ polynomials[1][:, power::-1]
        total += float(np.trace(products))
    return total + _without_nothing(left, right, over, count)


def _without_nothing(left: _Pair, right: _Pair, over: float, count: int) -> float:
    """Sets of patterns without "nothing": the weights of D and A add up to `over`."""

    def last(first: FloatArray, second: FloatArray) -> float:
        return float((first * second[:, ::-1]).sum())  # the coefficient of t^K

    total = 0.0
    for one, other in ((left, right), (right, left)):
        for point, row in zip(one.points, one.rows, strict=True):
            rest = over - point
            if one is left:
                equal = np.flatnonzero(np.abs(other.points - rest) < 1e-12)
                total += one.rest * sum(last(row[None], other.rows[place][None]) for place in equal)
            if 0 < rest < other.least and other.patterns.one > 0:
                total += last(row[None], other.inside(np.array([rest])))
    low, high = max(0.0, over - right.least), min(left.least, over)
    if low < high and left.patterns.one > 0:
        nodes, heights = _nodes(low, high, count)
        total += last(left.inside(nodes) * heights[:, None], right.inside(over - nodes))
    return total


def block_posterior(mask: Mask, matrix: IntArray) -> FloatArray:
    """Chances that the bits are 1, each from its own block; fair bits."""
    patterns, rest = BlockPatterns.of(mask.bits), float(mask.scale - mask.unit)
    found = np.full(mask.bits, 0.5)
    for bit in range(mask.bits):
        a, b = 2 * bit, 2 * bit + 1
        zero = np.array([matrix[a, a], matrix[b, b]])
        one = np.array([matrix[a, b], matrix[b, a]])
        chances = []
        for taken, other, swapped in ((zero, one, False), (one, zero, True)):
            pairs = [(taken - mask.unit) / rest, other / rest]
            e = [float(value) for pair in (reversed(pairs) if swapped else pairs) for value in pair]
            chances.append(likelihood((e[0], e[1], e[2], e[3]), patterns, mask.decoys, rest))
        if sum(chances) > 0:
            found[bit] = chances[1] / sum(chances)
    return found
