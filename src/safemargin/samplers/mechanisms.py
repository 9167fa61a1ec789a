"""Noise on counts with a privacy guarantee, drawn exactly and from system entropy; no seed can be given.

Two samplers have the same laws: `inversion` (the default, vectorised) and `opendp` (the oracle, 100 times slower).
The environment variable SAFEMARGIN_SAMPLER selects one for all commands.
"""

import math
import os
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from safemargin.core import Guarantee, InputError, IntArray, frozen, named
from safemargin.samplers.checks import at_least, positive
from safemargin.samplers.inversion import IntegerLaw

if TYPE_CHECKING:
    from opendp.prelude import Measurement

SAMPLERS = ("inversion", "opendp")


def chosen_sampler(sampler: str | None = None) -> str:
    """The sampler that is asked for, here or in the environment of this process."""
    sampler = sampler or os.environ.get("SAFEMARGIN_SAMPLER") or SAMPLERS[0]
    if sampler not in SAMPLERS:
        raise InputError(f"sampler = {sampler!r}: must be one of {', '.join(SAMPLERS)}")
    return sampler


@dataclass(frozen=True)
class _Noise(ABC):
    """Independent noise of one law on every count; with a bound, noise beyond it is drawn again."""

    @property
    @abstractmethod
    def exact_law(self) -> IntegerLaw:
        """The law as inversion needs it."""

    @property
    @abstractmethod
    def measurement(self) -> "Measurement":
        """OpenDP's own object for vectors of counts."""

    def protect(self, counts: IntArray, sampler: str | None = None) -> IntArray:
        """`counts` with fresh, independent noise on every entry; entries may become negative."""
        law = self.exact_law
        # Wider noise would need a table of thresholds that takes seconds to compute.
        if chosen_sampler(sampler) == "inversion" and law.is_small:
            return frozen(counts.ravel() + law.draw(counts.size)).reshape(counts.shape)
        draw = self.measurement
        noise = frozen(draw([0] * counts.size))
        while law.bound is not None and len(wide := (abs(noise) > law.bound).nonzero()[0]):
            noise = noise.copy()
            noise[wide] = draw([0] * len(wide))  # conditioning on the bound is drawing again
        return frozen(counts.ravel() + noise).reshape(counts.shape)


@dataclass(frozen=True)
class Geometric(_Noise):
    """Independent noise with `P(Z = k) = (1 - q) / (1 + q) * q**abs(k)`, `q = exp(-epsilon)`, on every count.

    Bach (2020), Eq. 5; Ghosh, Roughgarden and Sundararajan (2009).

    A change of the protected counts by `s` in total (sum of absolute differences) changes the probability of
    any result by a factor of at most `exp(s * epsilon)`. With a bound this holds except with probability delta
    (`truncated_delta`); variance, mean size and guarantee are those without one.
    """

    epsilon: float
    bound: int | None = None

    def __post_init__(self) -> None:
        positive("epsilon", self.epsilon)

    @property
    def exact_law(self) -> IntegerLaw:
        return IntegerLaw(Fraction(self.epsilon), Fraction(0), self.bound)

    @property
    def variance(self) -> float:
        """Variance of the noise on one count.

        >>> round(Geometric(epsilon=1.0).variance, 4)
        1.8413
        """
        # 2 q / (1 - q)^2; expm1 keeps 1 - q exact for small epsilon.
        return 2 * math.exp(-self.epsilon) / math.expm1(-self.epsilon) ** 2

    @property
    def mean_size(self) -> float:
        """Expected absolute value of the noise on one count.

        >>> round(Geometric(epsilon=1.0).mean_size, 4)
        0.8509
        """
        return 1 / math.sinh(self.epsilon) if self.epsilon < 700 else 0.0  # 2 q / (1 - q^2); sinh(711) overflows

    @property
    def measurement(self) -> "Measurement":
        """OpenDP's own object for vectors of counts; its `map(s)` is at most `s * epsilon`."""
        import opendp.prelude as dp  # most releases do not need it, and it takes long to import

        # OpenDP keeps its samplers behind this flag; the proof of this one is published with its source.
        dp.enable_features("contrib")
        # 1 / epsilon may be rounded down, and then OpenDP's map(1) would exceed epsilon by a rounding error.
        scale = math.nextafter(1 / self.epsilon, math.inf)
        return dp.m.make_geometric(dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64"), scale=scale)

    def guarantee(self, sensitivity: int, invariants: tuple[str, ...] = ()) -> Guarantee:
        """The guarantee for counts of which exchanging two people's answers changes `sensitivity` in total.

        >>> Geometric(epsilon=0.5).guarantee(sensitivity=2).epsilon
        1.0
        """
        loss = at_least("sensitivity", sensitivity, 1) * self.epsilon
        statement = (
            f"Each count carries independent two-sided geometric noise with epsilon {self.epsilon:g} "
            f"(standard deviation {math.sqrt(self.variance):.2g}). Exchanging the answers of two people moves these "
            f"counts by at most {sensitivity} in total, so it changes the probability of any result by a factor of at "
            f"most exp({loss:g})."
        )
        if invariants:
            statement += f" This covers only exchanges that leave unchanged what is exact: {', '.join(invariants)}."
        return Guarantee("two-sided geometric noise", statement, loss, tuple(map(named, invariants)))


@dataclass(frozen=True)
class RoundedLaplace(_Noise):
    """Laplace noise of scale `1 / epsilon`, rounded to integers: what Bach (2020), Eq. 3, prints on counts.

    Rounding comes after the noise, so the guarantee is that of Laplace noise. Geometric noise has the same epsilon and
    less variance.
    """

    epsilon: float
    bound: int | None = None

    def __post_init__(self) -> None:
        positive("epsilon", self.epsilon)

    @property
    def exact_law(self) -> IntegerLaw:
        return IntegerLaw(Fraction(self.epsilon), Fraction(0), self.bound, is_rounded=True)

    @property
    def measurement(self) -> "Measurement":
        raise InputError("law laplace: OpenDP has no such noise on integers; take the law geometric")


@dataclass(frozen=True)
class DiscreteGaussian(_Noise):
    """Independent noise proportional to `exp(-k^2 / (2 parameter))` on the integers, on every count.

    A change whose squares add up to `s` costs `s / (2 parameter)` of zero-concentrated privacy (zCDP): Canonne, Kamath
    and Steinke (2020), theorem 4.
    """

    parameter: Fraction
    bound: int | None = None

    def __post_init__(self) -> None:
        positive("parameter", float(self.parameter))

    @property
    def exact_law(self) -> IntegerLaw:
        return IntegerLaw(Fraction(0), 1 / (2 * Fraction(self.parameter)), self.bound)

    def law(self, noise: int) -> float:
        """Probability of the noise."""
        return 0.0 if abs(noise) > self._reach else self._weights[abs(noise)] / self._weight

    @cached_property
    def _weights(self) -> list[float]:
        square = 2 * float(self.parameter)
        return [math.exp(-(k**2) / square) for k in range(self._reach + 1)]

    @cached_property
    def _weight(self) -> float:
        return 2 * math.fsum(self._weights) - 1

    @property
    def _reach(self) -> int:
        """Noise beyond this has probability zero, or below exp(-800), which no double can hold."""
        return math.ceil(40 * math.sqrt(self.parameter)) + 2 if self.bound is None else self.bound

    @property
    def variance(self) -> float:
        """Variance of the noise on one count, a little below `parameter`."""
        return 2 * math.fsum(k**2 * weight for k, weight in enumerate(self._weights)) / self._weight

    @property
    def measurement(self) -> "Measurement":
        """OpenDP's discrete Gaussian on vectors of counts, with at least this parameter."""
        import opendp.prelude as dp  # it takes long to import

        dp.enable_features("contrib")
        scale = math.sqrt(self.parameter)
        while Fraction(scale) ** 2 < self.parameter:  # rounding down would cost more than is accounted for
            scale = math.nextafter(scale, math.inf)
        return dp.m.make_gaussian(dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64"), scale=scale)
