"""Two-sided geometric noise on counts, drawn by OpenDP from system entropy; no seed can be given."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from safemargin.core import Guarantee, IntArray, frozen, named
from safemargin.samplers.checks import at_least, positive

if TYPE_CHECKING:
    from opendp.prelude import Measurement


@dataclass(frozen=True)
class Geometric:
    """Independent noise with `P(Z = k) = (1 - q) / (1 + q) * q**abs(k)`, `q = exp(-epsilon)`, on every count.

    Bach (2020), Eq. 5; Ghosh, Roughgarden and Sundararajan (2009).

    A change of the protected counts by `s` in total (sum of absolute differences) changes the probability of
    any result by a factor of at most `exp(s * epsilon)`.
    """

    epsilon: float

    def __post_init__(self) -> None:
        positive("epsilon", self.epsilon)

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
        import opendp.prelude as dp  # most releases need no noise, and it takes long to import

        # OpenDP keeps its samplers behind this flag; the proof of this one is published with its source.
        dp.enable_features("contrib")
        # 1 / epsilon may be rounded down, and then OpenDP's map(1) would exceed epsilon by a rounding error.
        scale = math.nextafter(1 / self.epsilon, math.inf)
        return dp.m.make_geometric(dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64"), scale=scale)

    def protect(self, counts: IntArray) -> IntArray:
        """`counts` with fresh, independent noise on every entry; entries may become negative."""
        noisy = self.measurement(counts.ravel().tolist())
        return frozen(noisy).reshape(counts.shape)

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
