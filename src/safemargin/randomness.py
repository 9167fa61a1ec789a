"""The only file that draws bits for simulated people, for search directions, for record keys that are tried out, and
for the secret of real ones.

Published noise is never drawn here: OpenDP's samplers draw it from system entropy in `mechanisms/geometric.py`.
"""

import os
import secrets
from pathlib import Path

import numpy as np

from safemargin.errors import OutputError

Generator = np.random.Generator
"""A source of reproducible numbers, to be passed as an argument."""


def numpy_generator(seed: int | None) -> Generator:
    """Reproducible numbers for simulated data and for choosing where to search; without a seed, fresh ones.

    Never for published noise: whoever knows or guesses the seed can subtract it.

    >>> bool(numpy_generator(7).random() == numpy_generator(7).random())
    True
    """
    return np.random.default_rng(seed)


def write_secret(path: Path) -> None:
    """A new file with 64 random hexadecimal digits from the system, readable by its owner alone."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise OutputError(f"{path}: exists already; a secret is never overwritten") from None
    except OSError as error:
        raise OutputError(f"{path}: cannot be written ({error.strerror})") from error
    with os.fdopen(handle, "w") as file:
        file.write(secrets.token_hex(32) + "\n")
