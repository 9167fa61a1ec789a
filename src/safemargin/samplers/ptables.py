"""Tables of noise probabilities: for every count, how likely each change of it is.

They are made by largest entropy: mean zero, a bound, a variance, no negative count, and no small count if asked.
"""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

import numpy as np

from safemargin.core import FloatArray, InputError, IntArray, exact_number
from safemargin.samplers.checks import at_least
from safemargin.samplers.max_entropy import attainable, largest_entropy, reference_chances

ONS_LAST, ONS_REPEAT = 750, 250
"""ONS tables end at a count of 750; larger counts use the rows from 501 on again."""


@dataclass(frozen=True)
class Law:
    """The noise on one count: values in ascending order, each with so many parts of `total`.

    >>> Law(1, (-1, 2), (2, 1)).variance
    Fraction(2, 1)
    """

    count: int
    noise: tuple[int, ...]
    weights: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.noise) != len(self.weights) or not self.noise:
            raise InputError(f"count {self.count}: give a probability for each of its noise values")
        if any(a >= b for a, b in pairwise(self.noise)):
            raise InputError(f"count {self.count}: the noise must ascend, without a value twice")
        if self.count + self.noise[0] < 0:
            raise InputError(f"count {self.count}: noise {self.noise[0]} makes it negative")
        if any(part < 0 for part in self.weights):
            raise InputError(f"count {self.count}: a probability is negative")
        if self.total <= 0:
            raise InputError(f"count {self.count}: the probabilities add up to 0; they must add up to 1")

    @property
    def total(self) -> int:
        """What the parts add up to: probability one."""
        return sum(self.weights)

    @property
    def mean(self) -> Fraction:
        """Expected noise; 0 if the law is unbiased."""
        return Fraction(sum(v * part for v, part in zip(self.noise, self.weights, strict=True)), self.total)

    @property
    def variance(self) -> Fraction:
        """Expected squared distance of the noise from its mean."""
        square = Fraction(sum(v * v * part for v, part in zip(self.noise, self.weights, strict=True)), self.total)
        return square - self.mean**2

    @property
    def mean_size(self) -> float:
        """Expected absolute value of the noise."""
        return sum(abs(v) * part for v, part in zip(self.noise, self.weights, strict=True)) / self.total

    @property
    def probabilities(self) -> tuple[float, ...]:
        """Probability of each noise value."""
        return tuple(part / self.total for part in self.weights)

    @property
    def printed(self) -> Mapping[int, Fraction]:
        """Probability of each number that may be printed for this count."""
        return {
            self.count + v: Fraction(part, self.total) for v, part in zip(self.noise, self.weights, strict=True) if part
        }


@dataclass(frozen=True)
class PTable:
    """One law for every count from 0 on; counts beyond the last row use the last `repeat` rows again in turn."""

    rows: tuple[Law, ...]
    repeat: int = 1

    def __post_init__(self) -> None:
        for count, row in enumerate(self.rows):
            if row.count != count:
                raise InputError(f"the p-table has no row for a count of {count}; give all counts from 0 on")
        at_least("repeat", self.repeat, 1, len(self.rows))

    @property
    def last(self) -> int:
        """The largest count with a row of its own."""
        return len(self.rows) - 1

    @cached_property
    def bound(self) -> int:
        """The largest size of the noise."""
        return max(abs(v) for row in self.rows for v, part in zip(row.noise, row.weights, strict=True) if part)

    @cached_property
    def js(self) -> int:
        """No number from 1 to this one is ever printed.

        >>> PTable((Law(0, (0,), (1,)), Law(1, (-1, 2), (2, 1)))).js
        2
        """
        return min((x for row in self.rows for x in row.printed if x > 0), default=1) - 1

    def row_numbers(self, counts: IntArray) -> IntArray:
        """The row of each count."""
        beyond = self.last + 1 - self.repeat + (counts - self.last - 1) % self.repeat
        return np.where(counts <= self.last, counts, beyond)

    def law(self, count: int) -> Law:
        """The noise on `count`."""
        row = self.rows[int(self.row_numbers(np.array([count]))[0])]
        return row if row.count == count else Law(count, row.noise, row.weights)

    @cached_property
    def matrix(self) -> FloatArray:
        """Probability of the noise `-bound ... bound` (columns) on every row."""
        chances = np.zeros((len(self.rows), 2 * self.bound + 1))
        for row in self.rows:
            for v, part in zip(row.noise, row.weights, strict=True):
                if part:
                    chances[row.count, v + self.bound] = part / row.total
        chances.setflags(write=False)
        return chances


@dataclass(frozen=True, eq=False)
class KeyTable:
    """A p-table for integer keys, as the ONS writes it: the noise of every count from 0 on (rows) and key (columns)."""

    values: IntArray
    repeat: int = 1

    @property
    def modulus(self) -> int:
        """Keys are from 0 to one less."""
        return int(self.values.shape[1])

    @cached_property
    def table(self) -> PTable:
        """The laws, if keys are uniform."""
        rows = []
        for count, row in enumerate(self.values):
            noise, parts = np.unique(row, return_counts=True)
            rows.append(Law(count, tuple(noise.tolist()), tuple(parts.tolist())))
        return PTable(tuple(rows), self.repeat)


def key_table(table: PTable, modulus: int = 256, last: int = ONS_LAST) -> KeyTable:
    """The table with probabilities rounded to keys: every row keeps mean zero, its variance changes a little."""
    at_least("modulus", modulus, 2, 2**16)
    at_least("last", last, table.last)
    values = np.zeros((last + 1, modulus), dtype=np.int64)
    for row in table.rows:
        values[row.count] = np.repeat(row.noise, apportioned(row, modulus))
    values[table.last + 1 :] = values[table.last]
    values.setflags(write=False)
    return KeyTable(values, ONS_REPEAT if last == ONS_LAST else 1)


def apportioned(row: Law, modulus: int) -> list[int]:
    """Keys for every noise value, as near to the law as integers of mean zero are.

    >>> apportioned(Law(1, (-1, 0, 1), (1, 1, 1)), 256)
    [85, 86, 85]
    """
    exact = [modulus * chance for chance in row.probabilities]
    keys = [int(value) for value in exact]
    # Largest remainders first (Hamilton's method); this may leave a bias, which single moves then remove.
    behind = sorted(range(len(keys)), key=lambda column: keys[column] - exact[column])
    for column in behind[: modulus - sum(keys)]:
        keys[column] += 1
    bias = sum(v * n for v, n in zip(row.noise, keys, strict=True))
    while bias:
        _, source, goal = min(_moves(row.noise, keys, exact, bias), default=(0.0, -1, -1))
        if source < 0:
            raise InputError(
                f"count {row.count}: no {modulus} keys give noise of mean 0 near this law; use another modulus"
            )
        keys[source] -= 1
        keys[goal] += 1
        bias += row.noise[goal] - row.noise[source]
    return keys


def _moves(noise: tuple[int, ...], keys: list[int], exact: list[float], bias: int) -> list[tuple[float, int, int]]:
    """Ways to move one key that bring the bias nearer to zero: cost per unit of bias, from where, to where."""
    moves = []
    for source in range(len(noise)):
        for goal in range(len(noise)):
            shift = noise[goal] - noise[source]
            # A move past zero could go back and forth for ever.
            if keys[source] and shift * bias < 0 and abs(shift) <= abs(bias):
                cost = (keys[goal] - exact[goal]) - (keys[source] - exact[source]) + 1
                moves.append((cost / abs(shift), source, goal))
    return moves


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
