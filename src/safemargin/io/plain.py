"""Values as the texts that a CSV file would hold, and how a program that reads them says that there are too many."""

import math

EXACT_FLOATS = 2**53
"""Below this, a float is the whole number that it looks like."""
TOO_LARGE = 3
"""The exit code of such a program where a file has more values than are held."""


def plain_text(value: object) -> str | None:
    """A value as a CSV file would hold it; none where it is absent.

    >>> plain_text(2.0), plain_text(2.5), plain_text(float("nan"))
    ('2', '2.5', None)
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, float) and value.is_integer() and abs(value) <= EXACT_FLOATS:
        return str(int(value))
    return str(value)
