"""Revealing the bound of noise from counts and their totals (Eqs. 10 and 11)."""

import math

from safemargin.noise.checks import at_least, inside
from safemargin.noise.law import bounded_law, sum_law


def reveal_chance(bound: int, variance: float | None = None, parts: int = 2) -> float:
    """Chance that one tuple, `parts` counts and their total, tells the bound; uniform noise without a variance.

    It does when the noise adds up to more than the next smaller bound allows.

    >>> round(11**3 * reveal_chance(5), 9)
    20.0
    >>> f"{reveal_chance(5, 2.0):.1e}"
    '1.5e-07'
    """
    at_least("parts", parts, 2)
    terms = parts + 1
    sums = sum_law(bounded_law(bound, variance), terms)
    edge = bound * terms - terms * (bound - 1)  # sums this close to the end and closer
    return float(sums[:edge].sum() + sums[-edge:].sum())


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
