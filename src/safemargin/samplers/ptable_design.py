"""p-tables by largest entropy: mean zero, a bound, a variance, no negative count, and no small count if asked."""

import math
from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from safemargin.core import InputError, exact_number
from safemargin.samplers.checks import at_least
from safemargin.samplers.max_entropy import attainable, largest_entropy, reference_chances
from safemargin.samplers.ptable import Law, PTable

MOST = 200
"""Largest bound."""

DECIMALS = 9
"""Digits after the point that a variance may have."""

DIGITS = 10**8
"""The reference package rounds probabilities to this denominator."""


@dataclass(frozen=True)
class Missed:
    """A count whose noise does not have the requested variance, and the variance that it has.

    Either no noise on this count has it, or the reference falls short of it (`by_reference`).
    """

    count: int
    asked: Fraction
    nearest: Fraction
    by_reference: bool = False

    def __str__(self) -> str:
        if self.by_reference:
            return f"count {self.count}: the reference has variance {float(self.nearest):.6f}, not {shown(self.asked)}"
        return f"count {self.count}: variance {shown(self.asked)} is not attainable, nearest is {shown(self.nearest)}"


@dataclass(frozen=True)
class Request:
    """Noise never larger than `bound`, of this variance, after which no number from 1 to `js` is printed."""

    bound: int
    variance: Fraction
    js: int = 0

    def __post_init__(self) -> None:
        at_least("bound", self.bound, 1, MOST)
        at_least("js", self.js, 0, self.bound)  # with more, a count of 1 could not go up
        uniform = Fraction(self.bound * (self.bound + 1), 3)
        if self.variance <= 0:
            raise InputError(f"variance = {shown(self.variance)}: must be positive; the largest is {shown(uniform)}")
        if self.variance > uniform:
            raise InputError(
                f"variance = {shown(self.variance)}: must be at most {shown(uniform)}, as of uniform noise within "
                f"{self.bound}; the nearest is {shown(uniform)}"
            )

    @property
    def last(self) -> int:
        """The smallest count whose noise is not restricted: all larger ones share its row."""
        return self.bound if self.js == 0 else self.bound + self.js + 1

    def noise(self, count: int) -> tuple[int, ...]:
        """What may be added to `count`.

        >>> Request(3, Fraction(1), js=1).noise(2)
        (-2, 0, 1, 2, 3)
        """
        if count == 0:
            return (0,)
        numbers = range(max(count - self.bound, 0), count + self.bound + 1)
        return tuple(x - count for x in numbers if not 1 <= x <= self.js)


def request(bound: int, variance: float | str | Fraction, js: int = 0) -> Request:
    """A request whose variance is the decimal or quotient that was written.

    >>> request(2, 1.05).variance, request(4, "20/3").variance
    (Fraction(21, 20), Fraction(20, 3))
    """
    try:
        exact = variance if isinstance(variance, Fraction) else exact_number(str(variance))
        float(exact)
    except (ValueError, OverflowError):
        raise InputError(f"variance = {variance!r}: must be a positive number") from None
    if isinstance(variance, Fraction) or ("/" in str(variance) and exact.denominator < 10**DECIMALS):
        return Request(bound, exact, js)
    if exact != round(exact, DECIMALS):
        # More digits would give weights too large to write out; the value in the message must itself be accepted.
        step = Fraction(1, 10**DECIMALS)
        most = Fraction(max(bound, 1) * (max(bound, 1) + 1), 3) // step * step
        nearest = max(min(round(exact, DECIMALS), most), step)
        raise InputError(f"variance = {variance}: has more than {DECIMALS} decimals; the nearest is {shown(nearest)}")
    return Request(bound, exact, js)


def ptable(wanted: Request) -> tuple[PTable, tuple[Missed, ...]]:
    """The table with exactly the requested variance on every count that can have it, the nearest on others.

    Means are exactly zero. The counts that cannot have it are listed.
    """
    rows, missed = [Law(0, (0,), (1,))], []
    for count in range(1, wanted.last + 1):
        noise = wanted.noise(count)
        least, most = attainable(noise)
        nearest = min(max(wanted.variance, least), most)
        if nearest != wanted.variance:
            missed.append(Missed(count, wanted.variance, nearest))
        rows.append(_law(count, largest_entropy(noise, nearest)))
    return PTable(tuple(rows)), tuple(missed)


def reference_ptable(wanted: Request, free: Collection[int] = ()) -> PTable:
    """The table of the R package ptable 1.0.0, whose variance may fall short of the requested one.

    `free` are the counts for which its option `mono` is off.
    """
    rows = [Law(0, (0,), (1,))]
    for count in range(1, wanted.last + 1):
        noise = wanted.noise(count)
        chances = reference_chances(count, noise, wanted.variance, count not in free)
        # The package rounds the ends of the intervals of keys, not the probabilities: errors do not add up.
        ends = np.rint(np.cumsum(chances) * DIGITS).astype(np.int64)
        ends[-1] = DIGITS
        rows.append(Law(count, noise, tuple(np.diff(ends, prepend=0).tolist())))
    return PTable(tuple(rows))


def fallen_short(table: PTable, wanted: Request) -> tuple[Missed, ...]:
    """The counts whose variance is not the requested one, apart from rounding."""
    return tuple(
        Missed(row.count, wanted.variance, row.variance, by_reference=True)
        for row in table.rows[1:]
        if abs(row.variance - wanted.variance) > Fraction(1, 10**5)
    )


def without_js(table: PTable) -> PTable | None:
    """The table with the bound and the variance of this one's last row under which small counts are printed.

    None if this one prints them too, or if its last row has no noise, or more than such a table can.
    """
    variance = table.rows[-1].variance
    most = Fraction(table.bound * (table.bound + 1), 3)
    if not table.js or not 1 <= table.bound <= MOST or not 0 < variance < most * (1 + Fraction(1, 10**6)):
        return None
    return ptable(Request(table.bound, min(variance, most)))[0]


def shown(value: Fraction) -> str:
    """A fraction as a short decimal, or as a quotient where it has none."""
    if Fraction(round(value * 10**DECIMALS), 10**DECIMALS) == value:
        return f"{float(value):.{DECIMALS}f}".rstrip("0").rstrip(".")
    return f"{value.numerator}/{value.denominator}"


def _law(count: int, law: dict[int, Fraction]) -> Law:
    noise = tuple(sorted(v for v, chance in law.items() if chance))
    total = math.lcm(*(law[v].denominator for v in noise))
    return Law(count, noise, tuple(int(law[v] * total) for v in noise))
