"""Laws of noise that the calculators and studies use, as floats; published noise comes from `samplers`."""

import math
from dataclasses import dataclass

import numpy as np

from safemargin.core import FloatArray, Generator, IntArray
from safemargin.samplers import bounded_law, positive, variance_within

STEPS = 1024
"""Keys that are distinguished when the keys of several parts are added."""


@dataclass(frozen=True)
class EpsilonNoise:
    """Two-sided geometric noise with an epsilon on every count (Eq. 5)."""

    epsilon: float

    def __post_init__(self) -> None:
        positive("epsilon", self.epsilon)

    @property
    def _stop(self) -> float:
        return -math.expm1(-self.epsilon)

    def draw(self, shape: tuple[int, ...], generator: Generator) -> IntArray:
        """Noise for a simulation: the difference of two geometric draws has this law."""
        return generator.geometric(self._stop, shape) - generator.geometric(self._stop, shape)

    def beyond(self, size: IntArray) -> FloatArray:
        """Chance of noise of at least `size` (positive) upwards: `exp(-epsilon * size) / (1 + exp(-epsilon))`.

        >>> EpsilonNoise(0.1).beyond(np.array([40])).round(4).tolist()
        [0.0096]
        """
        chances: FloatArray = np.exp(-self.epsilon * size) / (1 + math.exp(-self.epsilon))
        return chances

    def draw_sums(self, terms: int, samples: int, generator: Generator) -> IntArray:
        """Sums of `terms` independent draws, `samples` of them."""
        # Sums of geometric draws are negative binomial, so each sum takes two draws.
        up, down = (generator.negative_binomial(terms, self._stop, size=samples) for _ in range(2))
        return up - down


@dataclass(frozen=True)
class BoundedNoise:
    """Noise of largest entropy for a variance within a bound, which p-tables have."""

    variance: float
    bound: int

    def __post_init__(self) -> None:
        variance_within(self.variance, self.bound)

    @property
    def _values(self) -> IntArray:
        return np.arange(-self.bound, self.bound + 1)

    def draw(self, shape: tuple[int, ...], generator: Generator) -> IntArray:
        """Independent draws of the law."""
        return generator.choice(self._values, p=bounded_law(self.bound, self.variance), size=shape)

    def beyond(self, size: IntArray) -> FloatArray:
        """Chance of noise of at least `size` (positive) upwards.

        >>> BoundedNoise(2.0, 5).beyond(np.array([1, 6])).round(4).tolist()
        [0.359, 0.0]
        """
        upper = bounded_law(self.bound, self.variance)[self.bound :]
        # Summed from the small tail inwards, so that rounding does not swamp it.
        tails = np.append(np.cumsum(upper[::-1])[::-1], 0.0)
        chances: FloatArray = tails[np.minimum(size, self.bound + 1)]
        return chances

    def draw_sums(self, terms: int, samples: int, generator: Generator) -> IntArray:
        """Sums of `terms` independent draws, `samples` of them."""
        # How often each value occurs is drawn at once, which has the same law as drawing them one by one.
        often = generator.multinomial(terms, bounded_law(self.bound, self.variance), size=samples)
        sums: IntArray = often @ self._values
        return sums


StudiedNoise = EpsilonNoise | BoundedNoise
"""Laws of noise on integers that are symmetric about zero."""


def sum_law(law: FloatArray, terms: int) -> FloatArray:
    """The law of the sum of `terms` independent draws; of symmetric laws, also of their differences."""
    sums = law
    for _ in range(terms - 1):
        sums = np.convolve(sums, law)
    return sums


def keyed_gap_law(law: FloatArray, parts: int) -> FloatArray:
    """Law of the noise of a total less that of its parts, `-(parts + 1) E ... (parts + 1) E`, with cell keys.

    The key of a total is the sum of the keys of its parts, so its noise is not independent of theirs, though any two
    are. With the usual lookup, where larger keys select larger noise, a total and its two parts cannot all be far off
    in the way that discloses the bound. `law` is that of one count, `-E ... E`; chances below 0.001 are rough.

    >>> float(keyed_gap_law(bounded_law(5, 2.0), 2)[15].round(6))  # independent noise: 0.163
    0.0
    """
    bound = len(law) // 2
    ends = np.cumsum(law)
    ends[-1] = 1.0  # rounding could leave the largest keys without noise
    width = 2 * bound * parts + 1
    steps = np.arange(STEPS)
    single = np.zeros((width, STEPS))
    single[np.searchsorted(ends, (steps + 0.5) / STEPS, side="right"), steps] = 1 / STEPS
    # Joint law of the sum of noise (rows, from the left end up) and of the sum of keys modulo one (columns): a power in
    # the Fourier domain. The rows are wide enough not to wrap around; the columns are meant to.
    joint = np.maximum(np.fft.irfft2(np.fft.rfft2(single) ** parts, s=single.shape), 0.0)
    # Each key was taken at the middle of its step, so the sum is half a step per part higher.
    total_noise = np.searchsorted(ends, ((steps + parts / 2) / STEPS) % 1, side="right")
    gaps = np.zeros(2 * bound * (parts + 1) + 1)
    for step in steps:
        low = total_noise[step]
        gaps[low : low + width] += joint[::-1, step]
    gaps /= gaps.sum()
    return gaps
