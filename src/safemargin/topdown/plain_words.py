"""What a design of the TopDown method means, in two sentences for people."""

import math
from collections.abc import Mapping, Sequence

from safemargin.ui import short_number

MOST_ODDS = 40.0
"""Largest epsilon whose factor is written out."""


def off_by(errors: Sequence[tuple[str, float]]) -> str:
    """How far the numbers of people of areas are off, level by level; errors are root mean squares.

    >>> off_by([("country", 0.0), ("region", 0.0), ("block", 4.1)])
    'Numbers of people are exact for every country and region; for a block off by about 4.1.'
    """
    exact = [level for level, error in errors if not error]
    noised = [f"for a {level} off by about {short_number(error)}" for level, error in errors if error]
    known = f"exact for every {' and '.join(exact)}" if exact else ""
    return f"Numbers of people are {'; '.join(filter(None, [known, ', '.join(noised)]))}."


def one_person(guarantee: Mapping[str, object]) -> str:
    """How much one person's record can change what is published, beside the exact counts.

    >>> one_person({"epsilon": 2.0, "delta": 1e-10})
    'One record changes the odds of anything else by a factor of at most 7.39, but for a chance of 1 in 10,000,000,000.'
    """
    epsilon, delta = guarantee["epsilon"], guarantee["delta"]
    assert isinstance(epsilon, int | float) and isinstance(delta, int | float)
    factor = f"e^{epsilon:g}"
    if epsilon <= MOST_ODDS:
        odds = math.exp(epsilon)
        step = 10.0 ** (math.floor(math.log10(odds)) - 2)
        factor = f"{float(f'{math.ceil(odds / step) * step:.12g}'):,.10g}"  # rounded up
    chance = f", but for a chance of 1 in {1 / delta:,.0f}" if delta > 0 else ""
    return f"One record changes the odds of anything else by a factor of at most {factor}{chance}."
