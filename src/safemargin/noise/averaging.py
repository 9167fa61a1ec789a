"""Averaging: how likely the mean of independent representations of a count is the count (Eq. 12 and annex B.3).

`ratio` is `k / t**2`, for `t` representations that add up `k` noisy counts in all. A mean is right when its noise is
below one half.
"""

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from safemargin.core import Generator
from safemargin.samplers.checks import at_least, inside, positive
from safemargin.samplers.max_entropy import bounded_law

HALF = 0.5
MOST_COUNTS = 10**15
"""Counts that a simulated mean may add up."""

CONFIDENCE = 0.68
"""What the paper allows an onlooker at most."""


def gaussian_success(ratio: float, variance: float) -> float:
    """Chance that the mean is right if its noise is Gaussian.

    >>> round(gaussian_success(0.1, 2), 3)
    0.736
    """
    spread = math.sqrt(positive("kt2", ratio) * positive("variance", variance))
    return math.erf(HALF / (spread * math.sqrt(2)))


def chebyshev_success(ratio: float, variance: float) -> float:
    """What the chance is at least, whatever the law of the noise.

    >>> round(chebyshev_success(0.1, 2), 3), chebyshev_success(1, 2)
    (0.2, 0.0)
    """
    return max(0.0, 1 - positive("kt2", ratio) * positive("variance", variance) / HALF**2)


def variance_needed(ratio: float, confidence: float = CONFIDENCE) -> float:
    """The variance from which on the Gaussian chance is at most `confidence`.

    >>> round(variance_needed(0.0867), 2)
    2.92
    """
    quantile = NormalDist().inv_cdf((1 + inside("confidence", confidence)) / 2)
    return (HALF / quantile) ** 2 / positive("kt2", ratio)


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

        >>> [round(end, 3) for end in Simulated(736, 1000).interval(1.96)]
        [0.708, 0.762]
        """
        n, z = self.samples, deviations
        middle = (self.rate + z * z / (2 * n)) / (1 + z * z / n)
        half = z / (1 + z * z / n) * math.sqrt(self.rate * (1 - self.rate) / n + z * z / (4 * n * n))
        return max(0.0, middle - half), min(1.0, middle + half)


def simulate(
    counts: int, representations: int, variance: float, bound: int, *, samples: int, generator: Generator
) -> SimulatedMeans:
    """Means over `representations` that add up `counts` noisy counts in all, with noise of largest entropy.

    How often each value occurs among the draws is drawn at once, which has the same law as drawing them one by one.
    """
    at_least("k", counts, 1, MOST_COUNTS)
    at_least("t", representations, 1)
    at_least("samples", samples, 1, 10_000_000)
    drawn = generator.multinomial(counts, bounded_law(bound, variance), size=samples)
    sums = drawn @ np.arange(-bound, bound + 1)
    return SimulatedMeans(int((2 * np.abs(sums) < representations).sum()), samples)


def simulate_epsilon(
    counts: int, representations: int, epsilon: float, *, samples: int, generator: Generator
) -> SimulatedMeans:
    """The same with two-sided geometric noise, whose sums are differences of negative binomial draws."""
    at_least("k", counts, 1, MOST_COUNTS)
    at_least("t", representations, 1)
    at_least("samples", samples, 1, 10_000_000)
    stop = -math.expm1(-positive("epsilon", epsilon))
    up, down = (generator.negative_binomial(counts, stop, size=samples) for _ in range(2))
    return SimulatedMeans(int((2 * np.abs(up - down) < representations).sum()), samples)
