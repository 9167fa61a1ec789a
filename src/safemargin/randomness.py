"""The only file that draws bits for simulated people, for search directions and for record keys that are tried out.

Published noise is never drawn here: OpenDP's samplers draw it from system entropy in `mechanisms/geometric.py`.
"""

import numpy as np

Generator = np.random.Generator
"""A source of reproducible numbers, to be passed as an argument."""


def numpy_generator(seed: int | None) -> Generator:
    """Reproducible numbers for simulated data and for choosing where to search; without a seed, fresh ones.

    Never for published noise: whoever knows or guesses the seed can subtract it.

    >>> bool(numpy_generator(7).random() == numpy_generator(7).random())
    True
    """
    return np.random.default_rng(seed)
