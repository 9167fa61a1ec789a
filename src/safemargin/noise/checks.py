"""Parameters that make sense; what does not is refused with the nearest value that does."""

import math

from safemargin.core import InputError

LARGEST_BOUND = 1000
"""Of noise that is worked out value by value."""


def positive(name: str, value: float) -> float:
    """A finite number above zero.

    >>> positive("epsilon", -1)
    Traceback (most recent call last):
    ...
    safemargin.core.errors.InputError: epsilon = -1: must be above 0 and finite; the nearest are small ones, say 0.001
    """
    if not 0 < value < math.inf:
        nearest = "large ones, say 1000000" if value == math.inf else "small ones, say 0.001"
        raise InputError(f"{name} = {value:g}: must be above 0 and finite; the nearest are {nearest}")
    return value


def inside(name: str, value: float) -> float:
    """A share that is neither nothing nor all.

    >>> inside("confidence", 1)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    safemargin.core.errors.InputError: confidence = 1: must be above 0 and below 1; the nearest are ...
    """
    if not 0 < value < 1:
        nearest = "just below 1, say 0.999" if value >= 1 else "just above 0, say 0.001"
        raise InputError(f"{name} = {value:g}: must be above 0 and below 1; the nearest are {nearest}")
    return value


def share(name: str, value: float) -> float:
    """A share, none and all included.

    >>> share("matched", 1.5)
    Traceback (most recent call last):
    ...
    safemargin.core.errors.InputError: matched = 1.5: must be from 0 to 1; the nearest is 1
    """
    if not 0 <= value <= 1:
        raise InputError(f"{name} = {value:g}: must be from 0 to 1; the nearest is {1 if value > 1 else 0}")
    return value


def at_least(name: str, value: int, least: int, most: int | None = None) -> int:
    """A whole number in a range.

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
    """A variance that noise of largest entropy within `bound` can have: up to that of uniform noise.

    >>> variance_within(12, 5)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    safemargin.core.errors.InputError: variance = 12: noise within 5 has at most 10, where it is uniform; ...
    """
    at_least("bound", bound, 1, LARGEST_BOUND)
    positive("variance", variance)
    most = bound * (bound + 1) / 3
    if variance > most * (1 + 1e-12):
        nearest = f"{bound * (bound + 1) * 10**6 // 3 / 10**6:.6f}".rstrip("0").rstrip(".")
        raise InputError(
            f"variance = {variance:.9g}: noise within {bound} has at most {most:g}, where it is uniform; "
            f"the nearest is {nearest}"
        )
    return min(variance, most)
