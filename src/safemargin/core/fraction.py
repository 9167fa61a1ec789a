"""Exact numbers from text."""

import re
from fractions import Fraction

LARGEST_POWER = 400
"""Of ten, that is written out."""


def rounded(number: Fraction, digits: int = 6) -> str:
    """A number to read, of any size.

    >>> rounded(Fraction(7, 6)), rounded(Fraction(10**400))
    ('1.16667', 'inf')
    """
    try:
        return f"{float(number):.{digits}g}"
    except OverflowError:
        return "inf" if number > 0 else "-inf"


def exact_number(text: str) -> Fraction:
    """`0.05`, `1/20` and `5e-2` as the same number; ValueError for anything else, and for endless powers of ten.

    >>> exact_number("293764/114921"), exact_number("1e-2")
    (Fraction(293764, 114921), Fraction(1, 100))
    """
    if not text.isascii():  # Fraction takes digits of every script, which readers take for something else
        raise ValueError(text)
    power = re.search(r"[eE][+-]?([\d_]+)\s*$", text)
    if power and (len(digits := power[1].replace("_", "").lstrip("0")) > 9 or int(digits or 0) > LARGEST_POWER):
        raise ValueError(text)
    try:
        return Fraction(text)
    except ZeroDivisionError:
        raise ValueError(text) from None
