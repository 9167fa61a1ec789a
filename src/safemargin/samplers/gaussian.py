"""Discrete Gaussian noise on counts, drawn by OpenDP from system entropy; no seed can be given."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from safemargin.core import ONE_PERSON, Guarantee, IntArray, Measure, epsilon_of, frozen
from safemargin.samplers.checks import at_least, positive

if TYPE_CHECKING:
    from opendp.prelude import Measurement


@dataclass(frozen=True)
class DiscreteGaussian:
    """Independent noise proportional to `exp(-k^2 / (2 scale^2))` on the integers, on every count.

    A change whose squares add up to `s` costs `s / (2 scale^2)` of zero-concentrated privacy (zCDP).
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

    @property
    def measurement(self) -> "Measurement":
        """OpenDP's own object for vectors of counts; its `map(d)` is `d**2 / (2 scale**2)`."""
        import opendp.prelude as dp  # most releases need no noise, and it takes long to import

        dp.enable_features("contrib")
        return dp.m.make_gaussian(dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="i64"), scale=self.scale)

    def protect(self, counts: IntArray) -> IntArray:
        """`counts` with fresh, independent noise on every entry; entries may become negative."""
        return frozen(self.measurement(counts.ravel().tolist())).reshape(counts.shape)

    def guarantee(self, squares: int, delta: float = 1e-10) -> Guarantee:
        """The guarantee for counts whose changes by one person have squares that add up to `squares`.

        >>> DiscreteGaussian(scale=1.0).guarantee(squares=2).rho
        1.0
        """
        rho = at_least("squares", squares, 1) / (2 * self.scale**2)  # Canonne, Kamath and Steinke (2020), theorem 4
        epsilon = epsilon_of(rho, delta)
        statement = (
            f"Each count carries independent discrete Gaussian noise of scale {self.scale:g}. A change of these counts "
            f"whose squares add up to at most {squares} costs {rho:.4g} of zero-concentrated privacy: it changes the "
            f"probability of any result by a factor of at most exp({epsilon:.4g}), except with probability {delta:g}."
        )
        noise = Guarantee(
            "discrete Gaussian noise", "", rho, change=ONE_PERSON, measure=Measure.ZCDP, rule="discrete Gaussian noise"
        )
        return replace(
            noise,
            statement=statement,
            budget=epsilon,
            measure=Measure.APPROXIMATE,
            delta=delta,
            rule="zCDP to approximate (Canonne, Kamath and Steinke)",
            premises=(noise,),
        )


def vector_gaussian(variance: Fraction) -> "Measurement":
    """OpenDP's discrete Gaussian on vectors of counts, with at least this variance parameter."""
    import opendp.prelude as dp  # it takes long to import

    dp.enable_features("contrib")
    scale = math.sqrt(variance)
    while Fraction(scale) ** 2 < variance:  # rounding down would cost more than is accounted for
        scale = math.nextafter(scale, math.inf)
    return dp.m.make_gaussian(dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64"), scale=scale)
