"""Noise by keys that add up: the key of a total is the sum of the keys of its parts.

So the noise of a total is not independent of that of its parts, though any two of them are. With the usual lookup,
where larger keys pick larger noise, a total and its two parts cannot all be far off the way that tells the bound.
"""

import numpy as np

from safemargin.core import FloatArray

STEPS = 1024
"""Keys that are told apart when several parts are added up."""


def keyed_gap_law(law: FloatArray, parts: int) -> FloatArray:
    """Law of the noise of a total less that of its parts, `-(parts + 1) E ... (parts + 1) E`, with keys that add up.

    `law` is that of one count, `-E ... E`. Keys are taken in steps, so that chances below a thousandth are rough.

    >>> from safemargin.samplers.max_entropy import bounded_law
    >>> float(keyed_gap_law(bounded_law(5, 2.0), 2)[15].round(6))  # independent noise: 0.163
    0.0
    """
    bound = len(law) // 2
    ends = np.cumsum(law)
    ends[-1] = 1.0
    width = 2 * bound * parts + 1
    places = np.arange(STEPS)
    one = np.zeros((width, STEPS))
    one[np.searchsorted(ends, (places + 0.5) / STEPS, side="right"), places] = 1 / STEPS
    # Sums of noise from the left end up, and sums of keys modulo one, of all parts together.
    joint = np.maximum(np.fft.irfft2(np.fft.rfft2(one) ** parts, s=one.shape), 0.0)
    whole = np.searchsorted(ends, ((places + parts / 2) / STEPS) % 1, side="right")
    found = np.zeros(2 * bound * (parts + 1) + 1)
    for key in places:  # noise of the total, less that of the parts
        low = whole[key]
        found[low : low + width] += joint[::-1, key]
    found /= found.sum()
    return found
