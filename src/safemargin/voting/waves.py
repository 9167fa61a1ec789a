"""Histograms of several waves together: the person and all others vote anew, independently, in every wave.

Who won is a function of a histogram and adds nothing (Lemma 3, steps after publication). In one wave all that
distinguishes two votes are their own two counts a and b, whose ratio of probabilities is (a / p) / (b / q).

Theorem. In one wave the two rarest kinds are the worst pair: turning other votes at random into one of the two is a
step after publication. A step in every wave is a step after all of them. So they are the worst pair in all waves, too,
and what remains is in how many of the waves the rarest is cast; all waves + 1 cases are computed.

Composition. With independent waves the probability of everything published is a product, and so is the ratio L of the
two laws. Delta at epsilon is

    Pr[L is infinite] + sum over finite ratios of  mass x max(0, 1 - exp(epsilon) / L).

Ratios are kept as fractions of whole numbers, so that equal ones merge exactly. The waves are divided into two halves,
whose ratios are multiplied only in the last sum, in order of size: w waves cost as much as w / 2.

This is smaller than the sum of the deltas of single waves (basic composition), and at epsilon 0 it is the total
variation distance of the product laws.

Example: two of three people draw one of two votes; one wave shows .5, two waves .625 (not 1).

>>> [round(waves_worst(3, [Fraction(1, 2)] * 2, waves, [0.0])[0].delta, 6) for waves in (1, 2)]
[0.5, 0.625]
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import expm1, inf, log, log1p, prod

import numpy as np
from scipy.special import gammaln

from safemargin.core import FloatArray, IntArray, TooLargeError
from safemargin.voting.closed_forms import rarest

MOST_WAVES = 8
MOST_RATIOS = 3_000_000
"""Of half of the waves, before equal ones are merged."""


@dataclass(frozen=True)
class Ratios:
    """How likely every finite ratio of probabilities is, times `factor` the whole numbers `over` / `under`."""

    over: IntArray
    under: IntArray
    mass: FloatArray
    log_factor: float

    def merged(self) -> "Ratios":
        """With equal ratios together."""
        common = np.gcd(self.over, self.under)
        pairs = np.stack([self.over // common, self.under // common], axis=1)
        kept, where = np.unique(pairs, axis=0, return_inverse=True)
        mass = np.asarray(np.bincount(where.ravel(), self.mass, len(kept)), dtype=np.float64)
        return Ratios(kept[:, 0], kept[:, 1], mass, self.log_factor)

    def times(self, other: "Ratios") -> "Ratios":
        """The likelihood ratios of two independent releases together: products, pair by pair, with their masses
        multiplied.
        """
        if len(self.mass) * len(other.mass) > MOST_RATIOS:
            raise TooLargeError(
                "waves: too many voters in a group, or too many waves, for an exact delta; take fewer: at epsilon 0, "
                "the deltas of single waves add up to a bound"
            )
        over, under = np.multiply.outer(self.over, other.over), np.multiply.outer(self.under, other.under)
        mass = np.multiply.outer(self.mass, other.mass)
        factor = self.log_factor + other.log_factor
        return Ratios(over.ravel(), under.ravel(), mass.ravel(), factor).merged()

    @property
    def losses(self) -> FloatArray:
        """The logarithms of the ratios."""
        return np.asarray(np.log(self.over) - np.log(self.under) + self.log_factor)


@dataclass(frozen=True)
class Waves:
    """Delta at one epsilon, for somebody who casts `pair[0]` in `first` of the waves and `pair[1]` in the others.

    It is compared with the other one of the two in each wave; `slack` bounds its rounding.
    """

    delta: float
    pair: tuple[int, int]
    first: int
    slack: float


def waves_worst(voters: int, shares: Sequence[Fraction], waves: int, epsilons: Sequence[float]) -> list[Waves]:
    """Delta of the histograms of all waves together, of a group of so many voters, at several epsilons.

    >>> round(waves_worst(3, [Fraction(1, 2)] * 2, 1, [0.0])[0].delta, 6), round(
    ...     waves_worst(3, [Fraction(1, 2)] * 2, 2, [0.0])[0].delta, 6)
    (0.5, 0.625)
    """
    if len(shares) < 2:
        return [Waves(0.0, (0, 0), waves, 0.0)] * len(epsilons)
    if voters * voters > MOST_RATIOS:
        raise TooLargeError(f"waves: {voters:,} voters in a group are too many for an exact delta of several waves")
    pair = rarest([float(share) for share in shares])
    one, other = (
        _ratios(voters, *(shares[kind] for kind in pair)),
        _ratios(voters, *(shares[kind] for kind in pair[::-1])),
    )
    best = [Waves(-1.0, pair, waves, 0.0)] * len(epsilons)
    for first in range(waves, -1, -1):
        # The number of waves in which each is cast decides, so that they can be halved in any order.
        cast = [one] * first + [other] * (waves - first)
        never = prod((1 - wave[1] for wave in cast), start=1.0)
        certain = 1.0 if never <= 0 else -expm1(sum(log1p(-wave[1]) for wave in cast))
        half, rest = _together(cast[::2]), _together(cast[1::2])
        for number, epsilon in enumerate(epsilons):
            found = min(certain + _excess(half, rest, epsilon), 1.0)
            if found > best[number].delta * (1 + 1e-12):
                best[number] = Waves(found, pair, first, 4 * (len(half.mass) + len(rest.mass)) * 2.0**-52)
    return best


def _ratios(voters: int, own: Fraction, other: Fraction) -> tuple[Ratios, float]:
    """The law of the ratio of one wave for somebody who casts the vote with share `own`, where it is finite; and the
    chance that it is not: that nobody casts the other."""
    n, p, q = voters - 1, float(own), float(other)
    # a - 1 and b others cast the two votes; b = 0 is impossible for somebody who casts the other one.
    a, b = (grid.ravel() for grid in np.meshgrid(np.arange(1, n + 2), np.arange(1, n + 1), indexing="ij"))
    inside = a - 1 + b <= n
    a, b = a[inside], b[inside]
    left = n - (a - 1) - b
    others = own + other
    rest = np.where(left == 0, 0.0, left * log(1 - others) if others < 1 else -inf) if n else left * 0.0
    logs = gammaln(n + 1) - gammaln(a) - gammaln(b + 1) - gammaln(left + 1) + (a - 1) * log(p) + b * log(q) + rest
    return Ratios(a, b, np.exp(logs), log(q) - log(p)).merged(), float((1 - other) ** n)


def _together(waves: Sequence[tuple[Ratios, float]]) -> Ratios:
    """The ratios of all waves as one law: waves are independent given the person's vote, so laws are multiplied."""
    unit = np.ones(1, dtype=np.int64)
    whole = Ratios(unit, unit, np.ones(1), 0.0)
    for ratios, _ in waves:
        whole = whole.times(ratios)
    return whole


def _excess(half: Ratios, rest: Ratios, epsilon: float) -> float:
    """The sum of mass (1 - exp(epsilon - loss)) over all pairs of ratios whose losses together are above epsilon."""
    order = np.argsort(rest.losses)
    losses, mass = rest.losses[order], rest.mass[order]
    above = np.append(np.cumsum(mass[::-1])[::-1], 0.0)
    # Relative to the largest loss, so that no power overflows where it counts.
    scaled = np.append(np.cumsum((mass * np.exp(losses.min(initial=0.0) - losses))[::-1])[::-1], 0.0)
    own = half.losses
    start = np.searchsorted(losses, epsilon - own, side="right")
    with np.errstate(over="ignore", invalid="ignore"):
        less = np.exp(epsilon - own - losses.min(initial=0.0)) * scaled[start]
    gained = np.where(start < len(losses), above[start] - less, 0.0)
    return float(half.mass @ np.maximum(gained, 0.0))
