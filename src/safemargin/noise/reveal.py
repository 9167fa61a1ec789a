"""Revealing the bound of noise from counts and their totals (Eqs. 10 and 11)."""

import math

import numpy as np

from safemargin.samplers.checks import at_least, inside
from safemargin.samplers.max_entropy import bounded_law

MOST_PARTS = 1000
"""Of a total, when they are added up one by one."""


def reveal_chance(bound: int, variance: float | None = None, parts: int = 2) -> float:
    """Chance that one tuple, `parts` counts and their total, tells the bound; uniform noise without a variance.

    It does when the noise adds up to more than the next smaller bound allows.

    >>> round(11**3 * reveal_chance(5), 9)
    20.0
    >>> f"{reveal_chance(5, 2.0):.1e}"
    '1.5e-07'
    """
    at_least("parts", parts, 2, MOST_PARTS)
    terms = parts + 1
    # Above the next smaller bound's reach are as many sums as there are terms, at either end of a symmetric law.
    law = bounded_law(bound, variance)[:terms]
    sums = law
    for _ in range(parts):
        sums = np.convolve(sums, law)[:terms]
    return float(2 * sums.sum())


def tuples_needed(chance: float, confidence: float = 0.68) -> int | None:
    """How many independent tuples tell the bound with this confidence; none do if the chance is nothing.

    >>> tuples_needed(20 / 11**3), tuples_needed(0.0)
    (76, None)
    """
    inside("confidence", confidence)
    if chance >= 1:
        return 1
    if chance <= 0:
        return None
    return math.ceil(math.log1p(-confidence) / math.log1p(-chance))


def reveal_risk(chance: float, tuples: int) -> float:
    """Chance that at least one of so many independent tuples tells the bound.

    >>> round(reveal_risk(20 / 11**3, 76), 3)
    0.684
    """
    at_least("tuples", tuples, 0)
    return 1.0 if chance >= 1 and tuples else -math.expm1(tuples * math.log1p(-chance)) if chance < 1 else 0.0
