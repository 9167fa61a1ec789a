"""Disclosing the bound of noise from counts and their totals (Eqs. 10 and 11), and true counts once it is known."""

import math
from collections.abc import Sequence

import numpy as np

from safemargin.core import FloatArray, InputError
from safemargin.noise.calculators import CONFIDENCE, Figure
from safemargin.samplers import at_least, bounded_law, inside
from safemargin.ui import count_range, exact_percent

MOST_PARTS = 1000
"""Parts of a total, which are added up one by one."""


def reveal_chance(bound: int, variance: float | None = None, parts: int = 2, law: FloatArray | None = None) -> float:
    """Chance that one tuple, `parts` counts and their total, discloses the bound; uniform noise without a variance.

    The noise has the largest entropy, or another symmetric `law` on `-bound ... bound`. It discloses the bound when it
    adds up to more than the next smaller bound allows.

    >>> round(11**3 * reveal_chance(5), 9)
    20.0
    >>> f"{reveal_chance(5, 2.0):.1e}"
    '1.5e-07'
    """
    at_least("parts", parts, 2, MOST_PARTS)
    terms = parts + 1
    # Above the reach of the next smaller bound, terms (E - 1), there are as many sums as terms, at either end of a
    # symmetric law: only the last values of each convolution are needed.
    edge = (bounded_law(bound, variance) if law is None else law)[:terms]
    sums = edge
    for _ in range(parts):
        sums = np.convolve(sums, edge)[:terms]
    return float(2 * sums.sum())


def tuples_needed(chance: float, confidence: float = CONFIDENCE) -> int | None:
    """How many independent tuples disclose the bound with this confidence (Eq. 11); None if the chance is zero.

    >>> tuples_needed(20 / 11**3), tuples_needed(0.0)
    (76, None)
    """
    inside("confidence", confidence)
    if chance >= 1:
        return 1
    return math.ceil(math.log1p(-confidence) / math.log1p(-chance)) if chance > 0 else None


def reveal_risk(chance: float, tuples: int) -> float:
    """Chance that at least one of so many independent tuples discloses the bound.

    >>> round(reveal_risk(20 / 11**3, 76), 3)
    0.684
    """
    at_least("tuples", tuples, 0)
    if chance >= 1:
        return 1.0 if tuples else 0.0
    return -math.expm1(tuples * math.log1p(-chance))  # 1 - (1 - p)^m without cancellation for small p


def reveal(
    bound: int,
    variance: float | None = None,
    parts: int = 2,
    tuples: int | None = None,
    confidence: float = CONFIDENCE,
) -> Figure:
    """Chance that counts and their total disclose the bound of the noise."""
    chance = reveal_chance(bound, variance, parts)
    needed = tuples_needed(chance, confidence)
    risk = None if tuples is None else reveal_risk(chance, tuples)
    enough = f"{needed or 0:,} of them do, with {exact_percent(confidence)} confidence."
    sentence = (
        f"One total with its {parts} parts discloses the bound {bound} with chance {chance:.3g}; "
        + ("no number of them is enough." if needed is None else enough)
        + ("" if risk is None else f" Among {tuples:,} of them, the chance is {risk:.3g}.")
    )
    inputs = {"bound": bound, "variance": variance, "parts": parts, "tuples": tuples, "confidence": confidence}
    return Figure(chance, inputs, sentence, {"tuples_needed": needed, "risk": risk})


def true_ranges(counts: Sequence[int], total: int, bound: int) -> tuple[tuple[int, int], ...]:
    """Least and most of every true count, the total last, that fit noisy ones with noise within `bound`.

    >>> true_ranges([3, 2], 11, bound=2), true_ranges([3, 2], 9, bound=2)
    (((5, 5), (4, 4), (9, 9)), ((3, 5), (2, 4), (7, 9)))
    """
    at_least("bound", bound, 0)
    if len(counts) < 2:
        raise InputError(f"counts = {', '.join(map(str, counts)) or '(none)'}: give at least two, which the total adds")
    low = [max(0, count - bound) for count in counts]
    high = [count + bound for count in counts]
    least, most = max(total - bound, sum(low)), min(total + bound, sum(high))
    if least > most or min(high) < 0:
        raise InputError(
            f"counts = {', '.join(map(str, counts))} and total = {total} are too far apart for noise within {bound}; "
            f"the nearest bound is {_fitting(counts, total)}"
        )
    # A count is at least what the total leaves when all others are at their most, and the other way round. One pass is
    # enough for one equation.
    ranges = [(max(a, least - (sum(high) - b)), min(b, most - (sum(low) - a))) for a, b in zip(low, high, strict=True)]
    return (*ranges, (least, most))


def exploit(counts: Sequence[int], total: int, bound: int) -> Figure:
    """True counts that fit noisy ones and their total, once the bound is known."""
    ranges = true_ranges(counts, total, bound)
    is_disclosed = all(low == high for low, high in ranges)
    verdict = "All true counts are disclosed" if is_disclosed else "The true counts are not all disclosed"
    *parts, whole = (count_range(*ends) for ends in ranges)
    return Figure(
        [low for low, _ in ranges] if is_disclosed else None,
        {"counts": list(counts), "total": total, "bound": bound},
        f"{verdict}: {', '.join(parts)}, total {whole}.",
        {"intervals": [list(ends) for ends in ranges]},
    )


def _fitting(counts: Sequence[int], total: int) -> int:
    """The smallest bound with which the counts fit their total and nobody is negative."""
    gap = abs(sum(counts) - total)
    bound = max(-(-gap // (len(counts) + 1)), 0, *(-count for count in counts), -total)
    while True:
        low = sum(max(0, count - bound) for count in counts)
        if max(total - bound, low) <= min(total + bound, sum(counts) + bound * len(counts)):
            return bound
        bound += 1
