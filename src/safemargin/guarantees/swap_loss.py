"""What permutation swapping guarantees: epsilon from the swap rate and the largest stratum, and back.

Bailie, Gong and Meng, "A Refreshment Stirred, Not Shaken", Theorems 1, 3 and 4. Where its text slips, what is computed
here was checked by enumeration (see the tests).
"""

import math
from collections.abc import Iterator
from fractions import Fraction

from safemargin.core import InputError, exact_number

Rate = Fraction | float

SETTLED = 40
"""Items from which on derangements are k!/e to all digits."""

CLOSE = 1e-12
"""The least epsilon, off by such a part of it, is still the least: there are several ways to round it."""


def rate_of(text: str | float | Fraction) -> Fraction:
    """A swap rate as an exact number: `0.05` and `1/20` are the same.

    >>> rate_of("0.05"), rate_of(0.05), rate_of("1/20")
    (Fraction(1, 20), Fraction(1, 20), Fraction(1, 20))
    """
    try:
        rate = text if isinstance(text, Fraction) else exact_number(str(text))
    except ValueError:
        raise InputError(f"rate = {text}: is not a number") from None
    if not 0 <= rate <= 1:
        raise InputError(f"rate = {text}: must lie between 0 and 1")
    return rate


def short_rate(rate: Rate) -> str:
    """A rate for a sentence; one that is nearly 0 or 1 does not look like it.

    >>> short_rate(Fraction(1, 20)), short_rate(Fraction(1, 10**400)), short_rate(1 - Fraction(1, 10**9))
    ('0.05', 'just above 0', 'just below 1')
    """
    text = f"{float(rate):g}"
    return {"0": "just above 0", "1": "just below 1"}.get(text, text) if 0 < rate < 1 else text


def odds_factor(rate: Fraction, largest: int) -> Fraction | None:
    """e to the epsilon of Theorem 1, an exact number; None where it is infinite.

    >>> odds_factor(Fraction(1, 2), 10)
    Fraction(11, 1)
    """
    _check_largest(largest)
    if largest == 0:
        return Fraction(1)
    if rate in (0, 1):
        return None
    # Theorem 1 in the form of Eq. E.8: the ratio of two permutations is o^d D(k - d) / D(k), largest at the ends of d.
    odds = rate / (1 - rate)
    return max(odds, (largest + 1) / odds)


def swap_epsilon(rate: Rate, largest: int) -> float:
    """Epsilon of swapping at `rate` where the largest stratum with two different records holds `largest` records.

    >>> round(swap_epsilon(0.05, 13_475_623), 2), swap_epsilon(1, 10), swap_epsilon(0, 0)
    (19.36, inf, 0.0)
    """
    factor = odds_factor(rate_of(rate), largest)
    return math.inf if factor is None else _log(factor)


def varied_epsilon(least: Rate, most: Rate, largest: int) -> float:
    """Epsilon where every record has a rate of its own between `least` and `most`, given by what it holds.

    The proof of Theorem 1 with odds o_i: permutations that lead two data sets d records apart to one output move sets
    of records that differ in at most d, each of which brings a factor of at most o_max, or (b + 1) / o_min.

    >>> varied_epsilon(0.05, 0.05, 1000) == swap_epsilon(0.05, 1000), round(varied_epsilon(0.1, 0.4, 4), 5)
    (True, 3.80666)
    """
    # Eq. E.8 is convex in the log odds, so that its maximum over an interval of rates lies at an end.
    return max(swap_epsilon(rate, largest) for rate in (least, most))


def visible_epsilon(rate: Rate, largest: int, epsilon: float | None = None) -> float:
    """Epsilon where an exchange that leaves the table of a stratum as it was is drawn again: a proven bound.

    Drawing again multiplies the chance of any table by the same factor for one data set, at most e^(d epsilon) apart
    for two; only the data set itself becomes as rare as the selection of nobody, which has the inverse chance
    (1 + o)^b - b o. Two data sets of one universe are at least two records apart. `epsilon` is that without redrawing.

    >>> round(visible_epsilon(0.9, 3), 5)
    5.63742
    """
    # Two data sets of one universe are at least two records apart (Lemma 5), which halves the last term.
    own = swap_epsilon(rate, largest) if epsilon is None else epsilon
    if own in (0, math.inf):
        return own
    p = rate_of(rate)
    odds = float(p / (1 - p))
    nobody = largest * math.log1p(odds)  # in logarithms: the power overflows beyond a few hundred records
    return own + max(own, (nobody + math.log1p(-largest * odds * math.exp(-nobody))) / 2)


def response_factor(rate: Fraction, values: int) -> Fraction:
    """e to the epsilon of drawing a value anew at this rate, uniformly among `values` (randomised response).

    >>> response_factor(Fraction(1, 2), 2)
    Fraction(3, 1)
    """
    # The true value stays with probability 1 - q + q/k, any other comes with q/k.
    return 1 + values * (1 - rate) / rate if values > 1 else Fraction(1)


def odds_in_words(epsilon: float) -> str:
    """What e to the epsilon means for somebody who weighs two data sets that are one record apart.

    >>> odds_in_words(13.0)[:62]
    'e^13 = 442,000: after the publication, the odds between two su'
    """
    factor = f"{float(f'{math.exp(min(epsilon, 700.0)):.3g}'):,.6g}" if epsilon < 14 else f"{math.exp(epsilon):.2g}"
    says = (
        "which bounds next to nothing about one record: it is protected by the exchanges of others, not by this number"
        if epsilon > 5
        else "which limits what anybody learns about one record"
    )
    return (
        f"e^{epsilon:.3g} = {factor}: after the publication, the odds between two such data sets can be up to that "
        f"many times what they were, {says}."
    )


def best_rate(largest: int) -> tuple[float, float]:
    """The rate with the smallest epsilon, and that epsilon.

    >>> rate, epsilon = best_rate(10)
    >>> round(rate, 6), round(epsilon, 5)
    (0.768338, 1.19895)
    """
    _check_largest(largest)
    if largest == 0:
        raise InputError("largest stratum = 0: nothing can be exchanged, so every rate has epsilon 0")
    # Both terms of Eq. E.8 are equal at odds sqrt(b + 1).
    least = math.log(largest + 1) / 2
    return _rate(least), least


def rates_for(epsilon: float, largest: int) -> tuple[float, float]:
    """The two rates with this epsilon, the lower one first; refused below the least epsilon that can be had.

    >>> [round(rate, 6) for rate in rates_for(3, 10)]
    [0.353862, 0.952574]
    """
    _, least = best_rate(largest)
    if not math.isfinite(epsilon):
        raise InputError(f"epsilon = {epsilon}: must be a number")
    if epsilon < least * (1 - CLOSE):
        digits = 6 if epsilon < least * (1 - 1e-5) else 17
        raise InputError(
            f"epsilon = {epsilon:.{digits}g}: with a largest stratum of {largest:,} records no rate has less than "
            f"{least:.{digits}g}"
        )
    # The inverse of Eq. E.8: odds (b + 1) e^-epsilon and e^epsilon.
    epsilon = max(epsilon, least)
    return _rate(math.log(largest + 1) - epsilon), _rate(epsilon)


def moved(rate: Rate, size: int) -> float:
    """Probability that a record of a stratum of `size` records is moved, redrawn selections of one included.

    >>> moved(0.5, 2), round(moved(0.1, 5), 7)
    (0.5, 0.0511794)
    """
    if size < 2:
        return 0.0
    # Logarithms keep the digits of (1 - p)^(n - 1) where p is tiny and n is large.
    p = float(rate_of(rate))
    others = float(min(size, 10**300) - 1)
    some = -math.expm1(others * math.log1p(-p)) if p < 1 else 1.0  # another one is selected
    # The paper prints p * some; a selection of one record is drawn again, which divides by the chance of none such.
    alone = size * p * (1 - some) if some < 1 else 0.0
    return p * some / (1 - alone)


def derangements(items: int) -> int:
    """Permutations that leave nothing in its place.

    >>> [derangements(k) for k in range(11)]
    [1, 0, 1, 2, 9, 44, 265, 1854, 14833, 133496, 1334961]
    """
    # Exact integers: floats end at 170!.
    number = 1
    for k in range(1, items + 1):  # Eq. E.4: D(k) = k D(k - 1) + (-1)^k
        number = k * number + (-1) ** k
    return number


def lower_bound(rate: Rate, largest: int) -> float:
    """What no analysis can undercut: there are data with `largest` records that lose so much (Theorem 3).

    >>> round(lower_bound(0.1, 6), 5)
    3.88848
    """
    epsilon = swap_epsilon(rate, largest)
    if epsilon in (0, math.inf):
        return epsilon
    p = rate_of(rate)
    log_odds = _log(p / (1 - p))
    lower = abs(log_odds)  # Proposition 8: all values different, data sets that differ by one swap
    if largest == 3:  # d(1) = 0: the second bound is undefined there; this is what three different records lose
        lower = max(lower, math.log(2) / 3 - log_odds, (math.log(2) - log_odds) / 2)
    else:
        # Proposition 9: D(b) / D(b - 2) permutations per output, over a distance of two records.
        lower = max(lower, _log_growth(largest) / 2 - log_odds)
    return min(lower, epsilon)


def hardest(rate: Rate, largest: int) -> tuple[int, ...] | None:
    """How often the held, and as often the swapped, values of a stratum occur that loses the lower bound of
    `lower_bound`; None if all of them are different (Propositions 8 and 9).

    >>> hardest(0.1, 6), hardest(0.9, 6), hardest(0.1, 7)
    ((1, 1, 2, 2), None, (1, 1, 2, 2, 1))
    """
    p = rate_of(rate)
    if largest < 4 or p in (0, 1) or _log_growth(largest) / 2 - _log(p / (1 - p)) < abs(_log(p / (1 - p))):
        return None
    top = largest // 2 - 1  # Proposition 9, condition F.1: no value more often than b/2 - 1
    # Two values occur once (F.2); the others share the rest of the records as evenly as (F.1) allows.
    full, rest = divmod(largest - 2, top)
    counts = (1, 1, *[top] * full, *([rest] if rest else []))
    return None if top == 1 else counts


def _log_growth(items: int) -> float:
    """Logarithm of d(items) / d(items - 2); of large numbers the logarithms would be too alike to be subtracted."""
    if items < SETTLED:
        return math.log(derangements(items)) - math.log(derangements(items - 2))
    return math.log(items) + math.log(items - 1)


def gap_bound(largest: int) -> float:
    """f(b) of Theorem 4: how far epsilon can be from the best possible where the rate is below the best one.

    >>> round(gap_bound(10), 6), round(gap_bound(2), 5)
    (0.148007, 1.75023)
    """
    if largest < 2:
        raise InputError(f"largest stratum = {largest}: must hold at least two records")
    # Theorem 4 bounds D(k) by k!/e (1 +- e/(2 k!)); beyond 170! floats end and both factors are 1.
    top = 1 + math.e / 2 / math.factorial(largest - 2) if largest < 170 else 1.0
    bottom = 1 - math.e / 2 / math.factorial(largest) if largest < 170 else 1.0
    return math.log((largest + 1) ** 2 / (largest * (largest - 1)) * top / bottom) / 2


def curve(largest: int, points: int = 120) -> Iterator[tuple[float, float]]:
    """Rates and their epsilon, for a picture: evenly spread in the odds."""
    _check_largest(largest)
    for point in range(points + 1):
        odds = math.exp(-7 + point * 16 / points)
        rate = odds / (1 + odds)
        yield rate, max(math.log(odds), math.log(largest + 1) - math.log(odds)) if largest else 0.0


def _rate(log_odds: float) -> float:
    return 1 / (1 + math.exp(-log_odds)) if log_odds > -700 else math.exp(log_odds)


def _log(number: Fraction) -> float:
    """The natural logarithm, also of what is too large or too small for a float."""
    try:
        return math.log(number)
    except (OverflowError, ValueError):
        return math.log(number.numerator) - math.log(number.denominator)


def _check_largest(largest: int) -> None:
    if largest < 0 or largest == 1:
        raise InputError(
            f"largest stratum = {largest}: must be 0, or at least 2 (one record alone has none to be exchanged with)"
        )
