"""Checks of parameters, with one wording: what is allowed, and the nearest value that is."""

import math

from safemargin.core import InputError

LARGEST_BOUND = 1000
"""Largest bound of noise whose law is computed value by value."""


def positive(name: str, value: float) -> float:
    """A finite number above zero.

    >>> positive("epsilon", -1)
    Traceback (most recent call last):
    ...
    safemargin.core.errors.InputError: epsilon = -1: must be positive and finite, e.g. 0.001
    """
    # The reciprocal of a subnormal number is infinite, and most laws need it as their scale.
    if not 0 < value < math.inf or math.isinf(1 / value):
        raise InputError(
            f"{name} = {value:g}: must be positive and finite, e.g. {1_000_000 if value == math.inf else 0.001}"
        )
    return value


def inside(name: str, value: float) -> float:
    """A share that is neither 0 nor 1."""
    if not 0 < value < 1:
        raise InputError(f"{name} = {value:g}: must be above 0 and below 1, e.g. {0.999 if value >= 1 else 0.001}")
    return value


def share(name: str, value: float) -> float:
    """A share, 0 and 1 included."""
    if not 0 <= value <= 1:
        raise InputError(f"{name} = {value:g}: must be from 0 to 1; the nearest is {1 if value > 1 else 0}")
    return value


def at_least(name: str, value: int, least: int, most: int | None = None) -> int:
    """An integer in a range.

    >>> at_least("bound", 0, 1)
    Traceback (most recent call last):
    ...
    safemargin.core.errors.InputError: bound = 0: must be at least 1; the nearest is 1
    """
    if value < least or (most is not None and value > most):
        limits = f"at least {least}" if most is None else f"from {least} to {most}"
        raise InputError(f"{name} = {value}: must be {limits}; the nearest is {least if value < least else most}")
    return value


def variance_within(variance: float, bound: int) -> float:
    """A variance that noise of largest entropy within `bound` can have: up to that of uniform noise."""
    at_least("bound", bound, 1, LARGEST_BOUND)
    positive("variance", variance)
    most = bound * (bound + 1) / 3  # uniform noise on -E ... E
    if variance > most * (1 + 1e-12):  # 20/3 written with a few digits is still 20/3
        # Rounded down, so that the value in the message is accepted.
        nearest = f"{bound * (bound + 1) * 10**6 // 3 / 10**6:.6f}".rstrip("0").rstrip(".")
        raise InputError(
            f"variance = {variance:.9g}: must be at most {most:g}, as of uniform noise within {bound}; "
            f"the nearest is {nearest}"
        )
    return min(variance, most)
