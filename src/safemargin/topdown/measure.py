"""The only step of TopDown that reads people: margins with discrete Gaussian noise, drawn by OpenDP."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from safemargin.core.arrays import IntArray
from safemargin.samplers.gaussian import DiscreteGaussian

if TYPE_CHECKING:
    from opendp.prelude import Measurement

CHUNK = 50_000
"""Counts that are drawn between two signs of progress."""


LARGE = 10
"""Variance parameters from which on the variance is the same in floating point."""


def noise_variance(parameter: Fraction) -> float:
    """Variance of discrete Gaussian noise: that of the parameter, but for small ones, where noise is mostly zero.

    >>> noise_variance(Fraction(32)), round(noise_variance(Fraction(1, 4)), 6)
    (32.0, 0.215013)
    """
    return float(parameter) if parameter > LARGE else DiscreteGaussian(math.sqrt(parameter)).variance


def gaussian(variance: Fraction) -> "Measurement":
    """OpenDP's discrete Gaussian on vectors of counts, with at least this variance parameter."""
    import opendp.prelude as dp  # it takes long to import

    dp.enable_features("contrib")
    scale = math.sqrt(variance)
    while Fraction(scale) ** 2 < variance:
        scale = math.nextafter(scale, math.inf)
    return dp.m.make_gaussian(dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64"), scale=scale)


def measure(counts: IntArray, variance: Fraction, progress: Callable[[int], None] = lambda drawn: None) -> IntArray:
    """`counts` with fresh, independent noise on every entry; entries may become negative."""
    mechanism = gaussian(variance)
    exact = np.ascontiguousarray(counts).reshape(-1)
    noisy = np.empty_like(exact)
    for start in range(0, len(exact), CHUNK):
        part = exact[start : start + CHUNK]
        noisy[start : start + len(part)] = mechanism(part)
        progress(len(part))
    return noisy.reshape(counts.shape)
