"""The only file that draws bits: from a seed for simulated people, search directions and record keys that are tried
out, from the system for the secret of real ones and for swapping.

Published noise comes from `samplers`, which turn the system's words into exact laws, or call OpenDP. The functions for
them and for swapping take no seed, so that what is published cannot be replayed.
"""

import os
import secrets
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from safemargin.core.errors import InputError, OutputError
from safemargin.core.whole import write_whole

Generator = np.random.Generator
"""A source of reproducible numbers, to be passed as an argument."""

Words = NDArray[np.uint64]
Bools = NDArray[np.bool_]
Half = NDArray[np.uint32]


def numpy_generator(seed: int | None) -> Generator:
    """Reproducible numbers for simulated data and for choosing where to search; without a seed, fresh ones.

    Never for published noise: whoever knows or guesses the seed can subtract it.

    >>> bool(numpy_generator(7).random() == numpy_generator(7).random())
    True
    """
    if seed is not None and seed < 0:
        raise InputError(f"seed = {seed}: must not be negative; the nearest is 0")
    return np.random.default_rng(seed)


def new_secret() -> str:
    """64 random hexadecimal digits from the system."""
    return secrets.token_hex(32)


def write_secret(path: Path) -> None:
    """A new file with 64 random hexadecimal digits from the system, readable by its owner alone."""
    if not path.parent.is_dir():  # a folder that is mistyped must not become the home of a secret
        raise OutputError(f"{path}: cannot be written; name a file in a folder that exists")
    try:
        # Whole, and on the disk: tables made with a secret that is lost cannot be made again.
        write_whole(path, f"{new_secret()}\n".encode(), 0o600, new=True)
    except FileExistsError:
        raise OutputError(f"{path}: exists already; a secret is never overwritten") from None


def system_words(count: int) -> Words:
    """Independent 64-bit words from the operating system."""
    return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)


def system_choices(rate: Fraction, count: int) -> Bools:
    """Independent choices, each true with probability exactly `rate`, from the operating system.

    A word is compared with the leading bits of the rate; where they are equal, the next bits decide.

    >>> bool(system_choices(Fraction(1), 5).all()), bool(system_choices(Fraction(0), 5).any())
    (True, False)
    """
    scaled = rate * 2**32
    whole = int(scaled)
    if whole == 2**32:
        return np.ones(count, dtype=np.bool_)
    draws: Half = np.frombuffer(os.urandom(4 * count), dtype=np.uint32)
    chosen: Bools = draws < np.uint32(whole)
    rest = scaled - whole
    if rest:
        undecided = np.flatnonzero(draws == np.uint32(whole))
        if len(undecided):
            chosen[undecided] = system_choices(rest, len(undecided))
    return chosen


def system_below(bound: int, shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Independent whole numbers from 0 to `bound - 1`, uniform, from the operating system.

    >>> bool((system_below(1, (3,)) == 0).all())
    True
    """
    if not 0 < bound <= 2**63:
        raise InputError(f"bound = {bound}: must be from 1 to 2^63")
    count = int(np.prod(shape))
    # A remainder of 64 random bits is uniform once the incomplete last run of `bound` values is rejected.
    limit = 2**64 - 2**64 % bound
    words = system_words(count)
    drawn = words[words < np.uint64(limit)] if limit < 2**64 else words
    while len(drawn) < count:
        more = system_words(count - len(drawn) + 8)
        drawn = np.concatenate([drawn, more[more < np.uint64(limit)]])
    return (drawn[:count] % np.uint64(bound)).astype(np.int64).reshape(shape)
