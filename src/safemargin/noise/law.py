"""Sums of independent noise."""

import numpy as np

from safemargin.core import FloatArray


def sum_law(law: FloatArray, terms: int) -> FloatArray:
    """The law of the sum of `terms` independent draws; of symmetric laws, also of their differences."""
    found = law
    for _ in range(terms - 1):
        found = np.convolve(found, law)
    return found
