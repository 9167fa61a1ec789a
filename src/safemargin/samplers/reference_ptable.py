"""Rows of p-tables as the R package ptable 1.0.0 makes them.

It asks for a variance of at most V, for probabilities of at least 1e-8, and that they do not fall from the left end up
to zero; so some counts get less noise than V. Then it rounds to eight digits.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from safemargin.core import BoolArray, FloatArray, InputError
from safemargin.samplers.max_entropy import attainable, tilted
from safemargin.samplers.ptable import Law

DIGITS = 10**8
SMALLEST = 1e-8


def reference_row(count: int, noise: Sequence[int], variance: Fraction, monotone: bool = True) -> Law:
    """The law of largest entropy under the package's constraints, in parts of a hundred million.

    `monotone` is its option `mono` for this count.
    """
    chances = reference_chances(count, noise, variance, monotone)
    ends = np.rint(np.cumsum(chances) * DIGITS).astype(np.int64)
    ends[-1] = DIGITS
    return Law(count, tuple(noise), tuple(np.diff(ends, prepend=0).tolist()))


def reference_chances(count: int, noise: Sequence[int], variance: Fraction, monotone: bool = True) -> FloatArray:
    """The probabilities before they are rounded."""
    least, most = attainable(noise)
    if variance <= least and least > 0:
        raise InputError(
            f"count {count}: the reference needs a variance above {float(least):g}; without the compatible mode "
            f"{float(least):g} itself is attained"
        )
    values = np.array(noise, dtype=float)
    chances = _constrained(values, None, monotone)
    if chances is None or chances @ values**2 > float(variance):
        chances = _constrained(values, float(min(variance, most)), monotone)
    if chances is None:
        raise InputError(f"count {count}: the reference finds no noise of variance {float(variance):g}")
    return chances


def _constrained(values: FloatArray, variance: float | None, monotone: bool) -> FloatArray | None:
    """Largest entropy; neighbours are tied where they would fall on the way up to zero, tiny ones are at the floor."""
    tied = np.zeros(len(values) - 1, dtype=bool)  # a value and the next one
    floor = np.zeros(len(values), dtype=bool)
    rising = (values[1:] <= 0) & monotone
    for _ in range(4 * len(values)):
        chances = _pooled(values, variance, tied, floor)
        if chances is None:
            return None
        falls = rising & ~tied & (np.diff(chances) < -1e-12)
        low = ~floor & (chances < SMALLEST)
        if falls.any():
            tied |= falls
        elif low.any():
            floor |= low
        else:
            return chances
    return None


def _pooled(values: FloatArray, variance: float | None, tied: BoolArray, floor: BoolArray) -> FloatArray | None:
    """Largest entropy with equal probabilities within each pool of tied values."""
    pool = np.concatenate([[0], np.cumsum(~tied)])
    size = np.bincount(pool)
    powers = [values / abs(values).max()]
    if variance is not None:
        powers.append(powers[0] ** 2)
    features = np.stack([(np.bincount(pool, power) / size)[pool] for power in powers])
    free, mass = ~floor, 1 - SMALLEST * floor.sum()
    targets = np.array([0.0] if variance is None else [0.0, variance / abs(values).max() ** 2])
    targets = (targets - SMALLEST * np.stack(powers)[:, floor].sum(axis=1)) / mass
    found = np.full(len(values), SMALLEST)
    found[free] = mass * tilted(features[:, free], targets)
    reached = np.stack(powers) @ found
    wanted = np.array([0.0] if variance is None else [0.0, variance / abs(values).max() ** 2])
    return found if abs(reached - wanted).max() < 1e-9 else None
