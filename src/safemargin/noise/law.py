"""Noise on whole numbers within a bound: the law of largest entropy for a variance, as p-tables have it for counts
that noise cannot make negative.
"""

import numpy as np

from safemargin.core import FloatArray
from safemargin.noise.checks import LARGEST_BOUND, at_least, variance_within

STEPS = 200
"""Halvings when the slope is sought; far beyond the precision of a float."""


def bounded_law(bound: int, variance: float | None = None) -> FloatArray:
    """Probabilities of `-bound ... bound`, proportional to `exp(-slope * x**2)`; uniform without a variance.

    >>> [round(float(p), 4) for p in bounded_law(2, 1.0)]
    [0.0638, 0.2447, 0.383, 0.2447, 0.0638]
    >>> float(bounded_law(1)[0])
    0.3333333333333333
    """
    if variance is None:
        at_least("bound", bound, 1, LARGEST_BOUND)
        return np.full(2 * bound + 1, 1 / (2 * bound + 1))
    variance = variance_within(variance, bound)
    squares = np.arange(-bound, bound + 1).astype(float) ** 2
    low, high = 0.0, 1.0
    while _spread(squares, high) > variance:
        high *= 2
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if _spread(squares, middle) > variance else (low, middle)
    return _law(squares, (low + high) / 2)


def _law(squares: FloatArray, slope: float) -> FloatArray:
    weights: FloatArray = np.exp(-slope * squares)
    weights /= weights.sum()
    return weights


def _spread(squares: FloatArray, slope: float) -> float:
    return float(_law(squares, slope) @ squares)


def sum_law(law: FloatArray, terms: int) -> FloatArray:
    """The law of the sum of `terms` independent draws; of symmetric laws, also of their differences."""
    found = law
    for _ in range(terms - 1):
        found = np.convolve(found, law)
    return found
