"""The law of a weighted sum of noise, and what a linear estimate leaves possible.

Objects
    w_1 ... w_m     weights of m noisy counts in an estimate of a true count t, so that the estimate is t plus the sum
                    of w_j times the noise on count j
    f(u)            characteristic function of the noise on one count: a sum of cosines, as the noise is symmetric

Statement
    The estimate less t has the characteristic function f(w_1 u) ... f(w_m u). With every true count as likely
    beforehand, the chance of t is proportional to the density of that sum at the estimate less t. A Gaussian of the
    same variance expects too few right guesses with geometric and Laplace noise, and too many with uniform noise.

What callers may rely on
    * The sum may take few values, such as multiples of a half. It is spread by Gaussian noise of `SMOOTH`, far less
      than the distance of two counts, so that it has a density at all of them.
    * The smallest weights, whose share of the fourth cumulant is below `ALIKE`, are taken together as Gaussian, but
      never the `FEW` largest: a sum of few terms takes some values far more often than those beside them.

Example
    The mean of two prints with noise uniform within 1: three of five ways to get 8.0 have 8 as the true count.

    >>> law = AttackLaw("uniform", np.full(3, 1 / 3))
    >>> likeliest(law, np.array([8.0, 7.5]), NoiseWeights(np.array([0.5]), np.array([2])))[1].round(3).tolist()
    [0.6, 0.5]
"""

import math
from dataclasses import dataclass

import numpy as np

from safemargin.core import FloatArray, IntArray
from safemargin.noise.noise_law import FREQUENCIES, AttackLaw

SMOOTH = 0.02
"""Standard deviation of what a sum is spread by, at most an eighth of its own."""
ALIKE = 0.005
"""Excess kurtosis below which a sum is taken to be Gaussian."""
CERTAIN = 0.05
"""Standard deviation below which a sum is never off by half a count, whatever its law."""
FEW = 12
"""The largest weights whose noise is added up as it is."""
TAIL = 12
"""Standard deviations beyond which a sum is not listed."""
FADED = 6.5
"""Standard deviations of a Gaussian after which its characteristic function is negligible."""
MOST_WINDOW = 400
"""Counts on either side of an estimate that are compared."""


@dataclass(frozen=True)
class NoiseWeights:
    """The different weights of noisy counts in an estimate, and how many counts have each."""

    values: FloatArray
    times: IntArray

    @classmethod
    def of(cls, weights: FloatArray, times: IntArray | None = None) -> "NoiseWeights":
        """With equal sizes taken together: the noise is symmetric, so that signs do not matter."""
        sizes: FloatArray = np.abs(np.ravel(weights)).round(10).astype(np.float64)
        often = np.ones(len(sizes), dtype=np.int64) if times is None else np.ravel(times)
        values, places = np.unique(sizes, return_inverse=True)
        counts = np.bincount(places, weights=often, minlength=len(values)).astype(np.int64)
        return cls(values[values > 0], counts[values > 0])

    def times_each(self, other: "NoiseWeights") -> "NoiseWeights":
        """The products of all weights of both."""
        return NoiseWeights.of(np.outer(self.values, other.values), np.outer(self.times, other.times))

    @property
    def key(self) -> bytes:
        """Equal for equal laws."""
        return self.values.tobytes() + self.times.tobytes()

    def moment(self, power: int) -> float:
        """The sum of a power of all weights."""
        return float(self.times @ self.values**power)


def likeliest(law: AttackLaw, estimates: FloatArray, weights: NoiseWeights) -> tuple[IntArray, FloatArray]:
    """The likeliest true count behind every estimate, of 0 and more, and its chance."""
    spread = math.sqrt(max(law.variance * weights.moment(2), 1e-12))
    half = min(MOST_WINDOW, math.ceil(8 * spread) + 2)
    centre = np.maximum(np.rint(estimates), 0).astype(np.int64)
    window = np.arange(-half, half + 1)
    counts = centre[:, None] + window
    logs = np.where(counts >= 0, _log_density(law, weights, spread, estimates[:, None] - counts), -np.inf)
    best = logs.argmax(axis=1)
    top = logs[np.arange(len(logs)), best]
    possible = np.isfinite(top)
    with np.errstate(under="ignore"):
        total = np.exp(logs - np.where(possible, top, 0.0)[:, None]).sum(axis=1)
    sure = np.divide(1.0, total, out=np.zeros(len(total)), where=possible)
    return np.where(possible, centre + window[best], centre), sure


def _log_density(law: AttackLaw, weights: NoiseWeights, spread: float, places: FloatArray) -> FloatArray:
    """Logarithm of the density of a weighted sum of noise, up to a constant."""
    if spread < CERTAIN:
        gaussian: FloatArray = -(places**2) / (2 * spread**2)
        return gaussian
    noise = np.arange(len(law.chances)) - len(law.chances) // 2
    cumulant = float(law.chances @ noise.astype(float) ** 4) - 3 * law.variance**2
    scale = abs(cumulant) / spread**4
    alike = np.cumsum(weights.times * weights.values**4) * scale < ALIKE  # values ascend
    alike &= np.cumsum(weights.times[::-1])[::-1] > FEW
    rest = law.variance * float(weights.times[alike] @ weights.values[alike] ** 2)
    smooth = min(SMOOTH, spread / 8)
    spread_square = rest + smooth**2
    reach = TAIL * spread + 2
    last = FADED / math.sqrt(spread_square)
    steps = math.ceil(last * reach / math.pi)
    frequencies = np.arange(steps + 1) * (math.pi / reach)
    function = np.exp(-spread_square * frequencies**2 / 2)
    for index in np.flatnonzero(~alike).tolist():
        around = np.abs((weights.values[index] * frequencies + math.pi) % (2 * math.pi) - math.pi)
        at_weight = np.interp(around, np.linspace(0, math.pi, FREQUENCIES), law.waves)
        function *= at_weight ** int(weights.times[index])
    size = 1 << math.ceil(math.log2(max(2 * steps + 2, 32 * reach / math.sqrt(spread_square))))
    density = np.fft.irfft(function, size)[: size // 2]
    floor = density.max() * 1e-13  # below it there is only rounding
    at = np.interp(np.abs(places), np.arange(size // 2) * (2 * reach / size), density, right=0.0)
    with np.errstate(divide="ignore"):
        logs: FloatArray = np.where(at > floor, np.log(np.maximum(at, floor)), -np.inf)
    return logs
