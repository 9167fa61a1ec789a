"""Laplace noise, for reference: real numbers, drawn by OpenDP from system entropy; no seed can be given."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from safemargin.core import FloatArray, Guarantee, InputError, IntArray, about_a_person

if TYPE_CHECKING:
    from opendp.prelude import Measurement


@dataclass(frozen=True)
class Laplace:
    """Independent noise of density `epsilon / 2 * exp(-epsilon * abs(x))` on every count.

    Counts are no longer whole; published counts use two-sided geometric noise instead.
    """

    epsilon: float

    def __post_init__(self) -> None:
        if not 0 < self.epsilon < math.inf or math.isinf(1 / self.epsilon):
            raise InputError(f"epsilon = {self.epsilon}: must be positive and finite; nearest is a small one, as 0.001")

    @property
    def variance(self) -> float:
        """Variance of the noise on one count.

        >>> Laplace(epsilon=0.5).variance
        8.0
        """
        return 2 / self.epsilon**2

    @property
    def mean_size(self) -> float:
        """Expected absolute value of the noise on one count."""
        return 1 / self.epsilon

    def density(self, noise: float) -> float:
        """Density of the noise."""
        return self.epsilon / 2 * math.exp(-self.epsilon * abs(noise))

    @property
    def measurement(self) -> "Measurement":
        """OpenDP's own object for vectors; its `map(s)` is at most `s * epsilon`, but for rounding of real numbers."""
        import opendp.prelude as dp  # most releases need no noise, and it takes long to import

        dp.enable_features("contrib")
        domain = dp.vector_domain(dp.atom_domain(T="f64", nan=False))
        return dp.m.make_laplace(domain, dp.l1_distance(T="f64"), scale=math.nextafter(1 / self.epsilon, math.inf))

    def protect(self, counts: IntArray) -> FloatArray:
        """`counts` with fresh, independent noise on every entry."""
        noisy = np.array(self.measurement(counts.ravel().astype(np.float64).tolist()), dtype=np.float64)
        noisy.setflags(write=False)
        return noisy.reshape(counts.shape)

    def guarantee(self, sensitivity: int) -> Guarantee:
        """The promise about counts that one person moves by `sensitivity` in total.

        >>> Laplace(epsilon=0.5).guarantee(sensitivity=2).epsilon
        1.0
        """
        if sensitivity < 1:
            raise InputError(f"sensitivity = {sensitivity}: a person moves at least one count; nearest is 1")
        loss = sensitivity * self.epsilon
        statement = (
            f"Each count carries independent Laplace noise with epsilon {self.epsilon:g} (standard deviation "
            f"{math.sqrt(self.variance):.2g}). A change of these counts by at most {sensitivity} in total changes the "
            f"probability of any result by a factor of at most exp({loss:g})."
        )
        return about_a_person("Laplace noise", statement, loss)
