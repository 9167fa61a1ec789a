"""Reading counts that people wrote down."""

import math
import re
from decimal import Decimal

from safemargin.core import UNBOUNDED

_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")


class BadText(ValueError):
    """A text that does not say what it should; its message says why."""


def whole_number(text: str) -> int:
    """The count that `text` says.

    >>> whole_number("3.0"), whole_number("1e3")
    (3, 1000)
    """
    plain = text.strip()
    if plain.isascii() and plain.isdigit() and len(plain) <= 15:
        return int(plain)
    if not _NUMBER.fullmatch(plain):
        raise BadText("is not finite" if is_number(plain) else "is not a number")
    value = Decimal(plain)
    if value != value.to_integral_value():
        raise BadText("is not a whole number")
    if value < 0:
        raise BadText("is negative")
    if value > UNBOUNDED:
        raise BadText(f"is larger than {UNBOUNDED}")
    return int(value)


def is_number(text: str) -> bool:
    """Whether `text` says any number at all, also one that is no count."""
    try:
        float(text)
    except ValueError:
        return False
    return text.isascii() and "_" not in text


def is_finite(text: str) -> bool:
    """Whether `text` says a finite number."""
    return is_number(text) and math.isfinite(float(text))
