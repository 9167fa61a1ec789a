"""Tables of noise probabilities: for every count, how likely each change of it is."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

import numpy as np

from safemargin.core import FloatArray, InputError, IntArray
from safemargin.samplers.checks import at_least

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
    parts: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.noise) != len(self.parts) or not self.noise:
            raise InputError(f"count {self.count}: give a probability for each of its noise values")
        if any(a >= b for a, b in pairwise(self.noise)):
            raise InputError(f"count {self.count}: the noise must ascend, without a value twice")
        if self.count + self.noise[0] < 0:
            raise InputError(f"count {self.count}: noise {self.noise[0]} makes it negative")
        if any(part < 0 for part in self.parts):
            raise InputError(f"count {self.count}: a probability is negative")
        if self.total <= 0:
            raise InputError(f"count {self.count}: the probabilities add up to 0; they must add up to 1")

    @property
    def total(self) -> int:
        """What the parts add up to: probability one."""
        return sum(self.parts)

    @property
    def mean(self) -> Fraction:
        """Expected noise; 0 if the law is unbiased."""
        return Fraction(sum(v * part for v, part in zip(self.noise, self.parts, strict=True)), self.total)

    @property
    def variance(self) -> Fraction:
        """Expected squared distance of the noise from its mean."""
        square = Fraction(sum(v * v * part for v, part in zip(self.noise, self.parts, strict=True)), self.total)
        return square - self.mean**2

    @property
    def mean_size(self) -> float:
        """Expected absolute value of the noise."""
        return sum(abs(v) * part for v, part in zip(self.noise, self.parts, strict=True)) / self.total

    @property
    def probabilities(self) -> tuple[float, ...]:
        """Probability of each noise value."""
        return tuple(part / self.total for part in self.parts)

    @property
    def printed(self) -> Mapping[int, Fraction]:
        """Probability of each number that may be printed for this count."""
        return {
            self.count + v: Fraction(part, self.total) for v, part in zip(self.noise, self.parts, strict=True) if part
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
        return max(abs(v) for row in self.rows for v, part in zip(row.noise, row.parts, strict=True) if part)

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
        return row if row.count == count else Law(count, row.noise, row.parts)

    @cached_property
    def matrix(self) -> FloatArray:
        """Probability of the noise `-bound ... bound` (columns) on every row."""
        chances = np.zeros((len(self.rows), 2 * self.bound + 1))
        for row in self.rows:
            for v, part in zip(row.noise, row.parts, strict=True):
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
