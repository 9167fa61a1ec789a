"""Geometric and Laplace noise with a bound: drawn by OpenDP, and drawn again where it is larger than the bound.

Noise with a bound gives no pure privacy: what only one of two neighbours can become has probability delta.
"""

import math
from dataclasses import dataclass

import numpy as np

from safemargin.core import FloatArray, Guarantee, InputError, IntArray, about_a_person, frozen
from safemargin.samplers.geometric import Geometric
from safemargin.samplers.laplace import Laplace


@dataclass(frozen=True)
class TruncatedGeometric:
    """Noise proportional to `exp(-epsilon * abs(k))` on the whole numbers from `-bound` to `bound`."""

    epsilon: float
    bound: int

    def __post_init__(self) -> None:
        Geometric(self.epsilon)
        if self.bound < 1:
            raise InputError(f"bound = {self.bound}: must be at least 1; nearest is 1")

    def law(self, noise: int) -> float:
        """Probability of the noise.

        >>> TruncatedGeometric(math.log(2), 1).law(1)
        0.25
        """
        if abs(noise) > self.bound:
            return 0.0
        q = math.exp(-self.epsilon)
        return math.exp(-self.epsilon * abs(noise)) * (1 - q) / (1 + q - 2 * q ** (self.bound + 1))

    @property
    def variance(self) -> float:
        """Variance of the noise on one count."""
        return 2 * math.fsum(k * k * self.law(k) for k in range(1, self.bound + 1))

    def delta(self, shift: int = 1) -> float:
        """The exact delta at `shift * epsilon` of one count that moves by `shift`: the mass at the edge.

        >>> TruncatedGeometric(math.log(2), 1).delta()
        0.25
        """
        if shift < 1:
            raise InputError(f"shift = {shift}: a person moves at least one count; nearest is 1")
        edge = range(self.bound - shift + 1, self.bound + 1)
        return min(1.0, math.fsum(self.law(k) for k in edge if k >= -self.bound))

    def protect(self, counts: IntArray) -> IntArray:
        """`counts` with fresh, independent noise on every entry; entries may become negative."""
        source = Geometric(self.epsilon)
        noise = np.array(source.protect(np.zeros(counts.size, dtype=np.int64)))
        while (outside := np.flatnonzero(abs(noise) > self.bound)).size:
            noise[outside] = source.protect(np.zeros(outside.size, dtype=np.int64))
        return frozen(counts.ravel() + noise).reshape(counts.shape)

    def guarantee(self, sensitivity: int) -> Guarantee:
        """The promise about counts that one person moves by `sensitivity` in total."""
        return _promise("geometric", self.epsilon, self.bound, sensitivity, self.delta(sensitivity))


@dataclass(frozen=True)
class TruncatedLaplace:
    """Real noise of density proportional to `exp(-epsilon * abs(x))` from `-bound` to `bound`; for reference."""

    epsilon: float
    bound: float

    def __post_init__(self) -> None:
        Laplace(self.epsilon)
        if not 0 < self.bound < math.inf:
            raise InputError(f"bound = {self.bound}: must be positive and finite; nearest is 1")

    def cumulative(self, noise: float) -> float:
        """Probability of noise of at most this."""
        place = min(max(noise, -self.bound), self.bound)
        half = -math.expm1(-self.epsilon * abs(place)) / (-2 * math.expm1(-self.epsilon * self.bound))
        return 0.5 + math.copysign(half, place)

    def delta(self, shift: float = 1.0) -> float:
        """The exact delta at `shift * epsilon` of one count that moves by `shift`: the mass at the edge."""
        if not shift > 0:
            raise InputError(f"shift = {shift}: must be positive; nearest is 1")
        return 1 - self.cumulative(self.bound - shift) if shift < 2 * self.bound else 1.0

    def protect(self, counts: IntArray) -> FloatArray:
        """`counts` with fresh, independent noise on every entry."""
        source = Laplace(self.epsilon)
        noise = np.array(source.protect(np.zeros(counts.size, dtype=np.int64)))
        while (outside := np.flatnonzero(abs(noise) > self.bound)).size:
            noise[outside] = source.protect(np.zeros(outside.size, dtype=np.int64))
        noisy: FloatArray = (counts.ravel() + noise).reshape(counts.shape)
        noisy.setflags(write=False)
        return noisy

    def guarantee(self, sensitivity: int) -> Guarantee:
        """The promise about counts that one person moves by `sensitivity` in total."""
        return _promise("Laplace", self.epsilon, self.bound, sensitivity, self.delta(sensitivity))


def _promise(name: str, epsilon: float, bound: float, sensitivity: int, delta: float) -> Guarantee:
    """One count that takes the whole change has the largest delta, as mass grows inwards from the edge."""
    loss = sensitivity * epsilon
    statement = (
        f"Each count carries independent {name} noise with epsilon {epsilon:g}, never larger than {bound:g}. A change "
        f"of these counts by at most {sensitivity} in total changes the probability of any result by a factor of at "
        f"most exp({loss:g}), except for results of probability {delta:.3g}."
    )
    return about_a_person(f"truncated {name} noise", statement, loss, delta)
