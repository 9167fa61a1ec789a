"""Averaging: how likely the mean of independent representations of a count is the count (Eq. 12 and annex B.3).

`kt2` is `k / t**2`, for `t` representations that add up `k` noisy counts in all. A mean is right when its noise is
below one half.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

import numpy as np

from safemargin.core import Generator, InputError, numpy_generator
from safemargin.noise.calculators import CONFIDENCE, Figure
from safemargin.noise.laws import BoundedNoise, EpsilonNoise, StudiedNoise
from safemargin.samplers import LARGEST_BOUND, at_least, inside, positive
from safemargin.ui import exact_percent

HALF = 0.5
MOST_COUNTS = 10**15
"""Counts that a simulated mean may add up."""
REPRESENTATIONS = 100
"""Representations of a simulated mean, unless the caller gives the number."""


def gaussian_success(kt2: float, variance: float) -> float:
    """Chance that the mean is right if its noise is Gaussian (annex B.3).

    >>> round(gaussian_success(0.1, 2), 3)
    0.736
    """
    # The mean over t representations of k noise terms in all has variance k V / t^2.
    spread = math.sqrt(positive("kt2", kt2) * positive("variance", variance))
    return math.erf(HALF / (spread * math.sqrt(2)))


def chebyshev_success(kt2: float, variance: float) -> float:
    """What the chance is at least, whatever the law of the noise (Eq. 12 with xi = 1/2).

    >>> round(chebyshev_success(0.1, 2), 3), chebyshev_success(1, 2)
    (0.2, 0.0)
    """
    return max(0.0, 1 - positive("kt2", kt2) * positive("variance", variance) / HALF**2)


def variance_needed(kt2: float, confidence: float = CONFIDENCE) -> float:
    """The variance from which on the Gaussian chance is at most `confidence`.

    >>> round(variance_needed(0.0867), 2)
    2.92
    """
    # Solves erf(1/2 / sqrt(2 kt2 V)) = confidence for V: the two-sided quantile of the normal law.
    quantile = NormalDist().inv_cdf((1 + inside("confidence", confidence)) / 2)
    return (HALF / quantile) ** 2 / positive("kt2", kt2)


def variance_of(epsilon: float) -> float:
    """Variance of Laplace noise with this epsilon on one count (Eq. 3).

    >>> variance_of(0.5)
    8.0
    """
    return 2 / positive("epsilon", epsilon) ** 2


def epsilon_of(variance: float) -> float:
    """Epsilon of Laplace noise with this variance.

    >>> epsilon_of(8.0)
    0.5
    """
    return math.sqrt(2 / positive("variance", variance))


@dataclass(frozen=True)
class SimulatedMeans:
    """How often a simulated mean was right."""

    right: int
    samples: int

    @property
    def rate(self) -> float:
        """As a share."""
        return self.right / self.samples

    def interval(self, deviations: float = 3.0) -> tuple[float, float]:
        """The rate with so many standard deviations on both sides (Wilson).

        >>> [round(end, 3) for end in SimulatedMeans(736, 1000).interval(1.96)]
        [0.708, 0.762]
        """
        from scipy.stats import binomtest  # takes half a second to import

        # The coverage of so many standard deviations on both sides.
        level = math.erf(deviations / math.sqrt(2))
        ends = binomtest(self.right, self.samples).proportion_ci(level, method="wilson")
        return float(ends.low), float(ends.high)


def simulate(k: int, t: int, noise: StudiedNoise, *, samples: int, generator: Generator) -> SimulatedMeans:
    """Means over `t` representations that add up `k` noisy counts in all."""
    at_least("k", k, 1, MOST_COUNTS)
    at_least("t", t, 1)
    at_least("samples", samples, 1, 10_000_000)
    sums = noise.draw_sums(k, samples, generator)
    # The mean is the sum over t; doubled, the comparison with one half stays in integers.
    return SimulatedMeans(int((2 * np.abs(sums) < t).sum()), samples)


def average(
    kt2: float | None = None,
    variance: float | None = None,
    epsilon: float | None = None,
    k: int | None = None,
    t: int | None = None,
    bound: int | None = None,
    samples: int = 1000,
    seed: int = 1,
) -> Figure:
    """Chance that the mean of all representations of a count is the true count: Gaussian, at least, and simulated."""
    is_explicit = k is not None or bound is not None
    k, t, kt2 = _representations(k, t, kt2)
    if (variance is None) == (epsilon is None):
        raise InputError("give one of variance and epsilon")
    spread = variance_of(epsilon) if variance is None and epsilon is not None else variance
    assert spread is not None
    chance, least = gaussian_success(kt2, spread), chebyshev_success(kt2, spread)
    sentence = f"The mean is the true count with chance {chance:.1%} (Gaussian), at least {least:.1%} (Chebyshev)."
    details: dict[str, object] = {"chebyshev": least, "simulated": None}
    # Without a bound: four standard deviations, so that cutting the law hardly changes it.
    limit = None if epsilon is not None else bound or max(10, math.ceil(4 * math.sqrt(spread)))
    if samples and not is_explicit and (k > MOST_COUNTS or (limit or 0) > LARGEST_BOUND):
        sentence += "\nNone were simulated: there would be too many counts, or values of the noise."
    elif samples:
        noise = EpsilonNoise(epsilon or 0.0) if limit is None else BoundedNoise(spread, limit)
        means = simulate(k, t, noise, samples=samples, generator=numpy_generator(seed))
        low, high = means.interval()
        details["simulated"] = {"right": means.right, "samples": samples, "rate": means.rate, "interval": [low, high]}
        within = "" if limit is None else f" within {limit}"
        sentence += (
            f"\n{means.right:,} of {samples:,} simulated means were right ({low:.1%} to {high:.1%}), "
            f"each of {t:,} representations that add up {k:,} counts with noise{within}."
        )
    inputs = {"kt2": kt2, "variance": spread, "k": k, "t": t, "bound": limit, "samples": samples, "seed": seed}
    return Figure(chance, inputs, sentence, details)


def _representations(k: int | None, t: int | None, kt2: float | None) -> tuple[int, int, float]:
    """Integers for a ratio, or the ratio of integers."""
    if k is not None and t is not None and kt2 is None:
        if k < t or t < 1:
            raise InputError(f"k = {k}, t = {t}: each of the t representations adds up at least one count")
        return k, t, k / t**2
    if kt2 is None or k is not None or t is not None:
        raise InputError("give kt2 alone, or k with t")
    exact = Fraction(positive("kt2", kt2))
    times = max(REPRESENTATIONS, math.ceil(1 / exact))  # at least one count each
    return max(1, round(exact * times**2)), times, kt2


def variance(kt2: float, confidence: float = CONFIDENCE) -> Figure:
    """Smallest variance, and largest epsilon, that keep averaging from being right too often."""
    value = variance_needed(kt2, confidence)
    epsilon = epsilon_of(value)
    sentence = (
        f"Variance {value:.3g} at least, or epsilon {epsilon:.3g} at most: a mean is right in "
        f"{exact_percent(confidence)} of cases."
    )
    return Figure(value, {"kt2": kt2, "confidence": confidence}, sentence, {"epsilon": epsilon})
