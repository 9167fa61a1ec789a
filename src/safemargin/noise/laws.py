"""Laws of noise as floats, for calculators and studies; published noise comes from `samplers`.

Noise that is drawn again beyond a bound has (epsilon, delta) in place of epsilon (section 2.3 and [9] of the paper):
what only one of two neighbours can become has probability delta. Geometric and Gaussian noise are on the integers, as
counts are published with them. Laplace noise is on the reals; `truncated_law` has it rounded, as it is published.
"""

import math
from bisect import bisect_left
from dataclasses import dataclass

import numpy as np

from safemargin.core import FloatArray, Generator, InputError, IntArray
from safemargin.samplers import LARGEST_BOUND, at_least, bounded_law, inside, positive, variance_within

STEPS = 1024
"""Keys that are distinguished when the keys of several parts are added."""
NEGLIGIBLE = 1e-15
"""Probability of geometric noise beyond which it is not listed."""
FEW = 8
"""Draws whose sums are convolved one by one; more are a power in the Fourier domain."""
LAWS = ("geometric", "laplace", "gaussian")


@dataclass(frozen=True)
class EpsilonNoise:
    """Two-sided geometric noise with an epsilon on every count (Eq. 5)."""

    epsilon: float

    def __post_init__(self) -> None:
        positive("epsilon", self.epsilon)

    @property
    def _stop(self) -> float:
        return -math.expm1(-self.epsilon)

    @property
    def law(self) -> FloatArray:
        """Probabilities as far as they matter, zero in the middle."""
        reach = math.ceil(-math.log(NEGLIGIBLE) / self.epsilon)
        sizes = np.abs(np.arange(-reach, reach + 1))
        chances: FloatArray = np.exp(-self.epsilon * sizes) * math.tanh(self.epsilon / 2)  # (1 - q) / (1 + q)
        return chances

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
    def law(self) -> FloatArray:
        """Probabilities of `-bound ... bound`."""
        return bounded_law(self.bound, self.variance)

    @property
    def _values(self) -> IntArray:
        return np.arange(-self.bound, self.bound + 1)

    def draw(self, shape: tuple[int, ...], generator: Generator) -> IntArray:
        """Independent draws of the law."""
        return generator.choice(self._values, p=self.law, size=shape)

    def beyond(self, size: IntArray) -> FloatArray:
        """Chance of noise of at least `size` (positive) upwards.

        >>> BoundedNoise(2.0, 5).beyond(np.array([1, 6])).round(4).tolist()
        [0.359, 0.0]
        """
        upper = self.law[self.bound :]
        # Summed from the small tail inwards, so that rounding does not swamp it.
        tails = np.append(np.cumsum(upper[::-1])[::-1], 0.0)
        chances: FloatArray = tails[np.minimum(size, self.bound + 1)]
        return chances

    def draw_sums(self, terms: int, samples: int, generator: Generator) -> IntArray:
        """Sums of `terms` independent draws, `samples` of them."""
        # How often each value occurs is drawn at once, which has the same law as drawing them one by one.
        often = generator.multinomial(terms, self.law, size=samples)
        sums: IntArray = often @ self._values
        return sums


StudiedNoise = EpsilonNoise | BoundedNoise
"""Laws of noise on integers that are symmetric about zero."""


def studied_noise(epsilon: float | None, variance: float | None, bound: int | None) -> StudiedNoise:
    """Noise with an epsilon, or with a variance and a bound."""
    if epsilon is not None and variance is None and bound is None:
        return EpsilonNoise(epsilon)
    if epsilon is not None or variance is None or bound is None:
        raise InputError("give epsilon, or variance with bound")
    return BoundedNoise(variance, bound)


def sum_law(law: FloatArray, terms: int) -> FloatArray:
    """The law of the sum of `terms` independent draws; of symmetric laws, also of their differences."""
    if terms > FEW:
        size = (len(law) - 1) * terms + 1
        chances: FloatArray = np.maximum(np.fft.irfft(np.fft.rfft(law, size) ** terms, size), 0.0)
        chances /= chances.sum()
        return chances
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


def truncated_law(law: str, parameter: float, bound: int) -> FloatArray:
    """Probabilities of `-bound ... bound`: `parameter` is the variance of Gaussian noise, or the epsilon of the others.

    >>> [round(float(p), 4) for p in truncated_law("geometric", math.log(2), 1)]
    [0.25, 0.5, 0.25]
    """
    sizes = np.arange(-bound, bound + 1)
    weights: FloatArray = np.exp(-(sizes**2) / (2 * parameter) if law == "gaussian" else -parameter * abs(sizes))
    if law == "laplace":
        # The integral around zero, over that around k less its decay.
        weights[bound] = 2 / (1 + math.exp(parameter / 2))
    weights /= weights.sum()
    return weights


def law_variance(chances: FloatArray) -> float:
    """Variance of a law on `-bound ... bound`."""
    return float(chances @ (np.arange(len(chances)) - len(chances) // 2) ** 2)


def hockey_stick(chances: FloatArray, epsilon: float, change: int = 1) -> float:
    """Smallest delta at this epsilon when the count that the noise is added to moves by `change`.

    >>> round(hockey_stick(truncated_law("geometric", 0.5, 12), 0.5), 6)  # the mass at the edge
    0.000608
    """
    here, there = np.pad(chances, (0, change)), np.pad(chances, (change, 0))
    # 1e-12: at the epsilon of geometric noise all ratios equal exp(epsilon), up to their last bits.
    return float(np.maximum(here - math.exp(min(epsilon, 700.0)) * (1 + 1e-12) * there, 0.0).sum())


def truncated_delta(
    epsilon: float, bound: float, change: int = 1, law: str = "geometric", variance: float | None = None
) -> float:
    """Delta of noise that is drawn again where it is larger than `bound`, for a change of counts by `change` in total.

    One count that takes the whole change has the largest delta, as mass grows inwards from the edge. Of geometric and
    Laplace noise epsilon is that of one count, and the guarantee has `change` times as much; of Gaussian noise it is
    that of the guarantee.

    >>> truncated_delta(math.log(2), 1), round(truncated_delta(0.5, 12), 6)
    (0.25, 0.000608)
    """
    _check(law, variance)
    positive("epsilon", epsilon)
    at_least("change", change, 1)
    if law == "laplace":
        positive("bound", bound)
        if change >= 2 * bound:
            return 1.0
        # The mass from bound - change up, right or left of zero; expm1 keeps small masses exact.
        whole = -2 * math.expm1(-epsilon * bound)
        if change <= bound:
            return math.exp(-epsilon * (bound - change)) * -math.expm1(-epsilon * change) / whole
        return 0.5 - math.expm1(-epsilon * (change - bound)) / whole
    if not math.isfinite(bound):
        raise InputError(f"bound = {bound}: must be finite, e.g. 12")
    if bound != int(bound):
        raise InputError(f"bound = {bound:g}: {law} noise has an integer bound; the nearest is {round(bound)}")
    at_least("bound", int(bound), 1)
    if law == "gaussian":
        at_least("bound", int(bound), 1, LARGEST_BOUND)
        return hockey_stick(truncated_law(law, variance or 0.0, int(bound)), epsilon, change)
    q = math.exp(-epsilon)
    mass = math.fsum(q ** abs(k) for k in range(int(bound) - change + 1, int(bound) + 1) if k >= -bound)
    return min(1.0, float(mass * (1 - q) / (1 + q - 2 * q ** (bound + 1))))


def truncated_bound(
    epsilon: float, delta: float, change: int = 1, law: str = "geometric", variance: float | None = None
) -> float:
    """The smallest bound whose delta is at most this; an integer unless the noise is Laplace.

    >>> truncated_bound(math.log(2), 0.25), round(truncated_bound(0.5, 0.008, law="laplace"), 2)
    (1, 7.45)
    """
    _check(law, variance)
    loss = positive("epsilon", epsilon) * at_least("change", change, 1)
    inside("delta", delta)

    def suffices(bound: int) -> bool:
        return truncated_delta(epsilon, bound, change, law, variance) <= delta

    # Delta falls in the bound, so the first bound that suffices is the smallest.
    if law == "gaussian":
        bound = 1 + bisect_left(range(1, LARGEST_BOUND + 1), True, key=suffices)
        if bound > LARGEST_BOUND:
            least = truncated_delta(epsilon, LARGEST_BOUND, change, law, variance)
            raise InputError(f"delta = {delta:g}: no bound is enough; without one delta is {least:.3g}")
        return bound
    # With Laplace noise delta = (e^(eps change) - 1) / (2 (e^(eps E) - 1)) for E above the change, solved for E.
    edge = math.log1p(math.expm1(loss) / (2 * delta)) / epsilon
    if law == "geometric":
        # Geometric noise has the same decay and a smaller delta, and at a bound of `change` one below a half.
        return 1 + bisect_left(range(1, max(math.ceil(edge), change) + 2), True, key=suffices)
    if edge < change:  # more than half of the mass is at the edge
        from scipy.optimize import brentq  # slow to import, and few calls need it

        edge = float(brentq(lambda e: truncated_delta(epsilon, e, change, law) - delta, change / 2, change))
    return edge


def _check(law: str, variance: float | None) -> None:
    if law not in LAWS:
        raise InputError(f"law = {law!r}: must be one of {', '.join(LAWS)}")
    if (law == "gaussian") != (variance is not None):
        raise InputError("variance goes with the law gaussian, which needs it")
    if variance is not None:
        positive("variance", variance)
