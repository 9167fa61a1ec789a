"""Discrete Gaussian noise on counts, drawn by OpenDP from system entropy; no seed can be given."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from safemargin.samplers.checks import positive

if TYPE_CHECKING:
    from opendp.prelude import Measurement


@dataclass(frozen=True)
class DiscreteGaussian:
    """Independent noise proportional to `exp(-k^2 / (2 scale^2))` on the integers, on every count.

    A change whose squares add up to `s` costs `s / (2 scale^2)` of zero-concentrated privacy (zCDP): Canonne, Kamath
    and Steinke (2020), theorem 4.
    """

    scale: float

    def __post_init__(self) -> None:
        positive("scale", self.scale)

    def law(self, noise: int) -> float:
        """Probability of the noise."""
        return math.exp(-(noise**2) / (2 * self.scale**2)) / self._weight

    @property
    def _weight(self) -> float:
        return 1 + 2 * math.fsum(math.exp(-(k**2) / (2 * self.scale**2)) for k in range(1, self._reach))

    @property
    def _reach(self) -> int:
        """Noise beyond this has probability below exp(-800), which no double can hold."""
        return math.ceil(40 * self.scale) + 2

    @property
    def variance(self) -> float:
        """Variance of the noise on one count, a little below `scale**2`."""
        total = math.fsum(k**2 * math.exp(-(k**2) / (2 * self.scale**2)) for k in range(1, self._reach))
        return 2 * total / self._weight


def vector_gaussian(variance: Fraction) -> "Measurement":
    """OpenDP's discrete Gaussian on vectors of counts, with at least this variance parameter."""
    import opendp.prelude as dp  # it takes long to import

    dp.enable_features("contrib")
    scale = math.sqrt(variance)
    while Fraction(scale) ** 2 < variance:  # rounding down would cost more than is accounted for
        scale = math.nextafter(scale, math.inf)
    return dp.m.make_gaussian(dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64"), scale=scale)
