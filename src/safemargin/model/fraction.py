"""Exact numbers from text."""

import re
from fractions import Fraction

LARGEST_POWER = 400
"""Of ten, that is written out."""


def exact_number(text: str) -> Fraction:
    """`0.05`, `1/20` and `5e-2` as the same number; ValueError for anything else, and for endless powers of ten.

    >>> exact_number("293764/114921"), exact_number("1e-2")
    (Fraction(293764, 114921), Fraction(1, 100))
    """
    power = re.search(r"[eE]([+-]?\d+)\s*$", text)
    if power and abs(int(power[1][:9])) > LARGEST_POWER:
        raise ValueError(text)
    try:
        return Fraction(text)
    except ZeroDivisionError:
        raise ValueError(text) from None
