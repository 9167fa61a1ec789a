"""The only step of TopDown that reads people: margins with discrete Gaussian noise, drawn by OpenDP."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from safemargin.core import IntArray
from safemargin.samplers.gaussian import DiscreteGaussian, vector_gaussian

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


def measure(counts: IntArray, variance: Fraction, progress: Callable[[int], None] = lambda drawn: None) -> IntArray:
    """`counts` with fresh, independent noise on every entry; entries may become negative."""
    mechanism = vector_gaussian(variance)
    exact = np.ascontiguousarray(counts).reshape(-1)
    noisy = np.empty_like(exact)
    for start in range(0, len(exact), CHUNK):
        part = exact[start : start + CHUNK]
        noisy[start : start + len(part)] = mechanism(part)
        progress(len(part))
    return noisy.reshape(counts.shape)
