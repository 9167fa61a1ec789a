"""Tables of noise probabilities: for every count, how likely each change of it is."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

import numpy as np

from safemargin.core import FloatArray, InputError, IntArray


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
    def probabilities(self) -> tuple[float, ...]:
        """Probability of each noise value."""
        return tuple(part / self.total for part in self.parts)

    @property
    def printed(self) -> Mapping[int, Fraction]:
        """Probability of each number that may stand in the table for this count."""
        return {
            self.count + v: Fraction(part, self.total) for v, part in zip(self.noise, self.parts, strict=True) if part
        }


@dataclass(frozen=True)
class PTable:
    """One law for every count from 0 on; counts beyond the last row use the last `repeat` rows again in turn."""

    rows: tuple[Law, ...]
    repeat: int = 1

    def __post_init__(self) -> None:
        for place, row in enumerate(self.rows):
            if row.count != place:
                raise InputError(f"the p-table has no row for a count of {place}; give all counts from 0 on")
        if not 1 <= self.repeat <= len(self.rows):
            raise InputError(f"repeat = {self.repeat}: from 1 to the {len(self.rows)} rows there are")

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

    def places(self, counts: IntArray) -> IntArray:
        """The row of each count."""
        beyond = self.last + 1 - self.repeat + (counts - self.last - 1) % self.repeat
        return np.where(counts <= self.last, counts, beyond)

    def law(self, count: int) -> Law:
        """The noise on `count`."""
        row = self.rows[int(self.places(np.array([count]))[0])]
        return row if row.count == count else Law(count, row.noise, row.parts)

    @cached_property
    def matrix(self) -> FloatArray:
        """Probability of the noise `-bound ... bound` (columns) on every row."""
        found = np.zeros((len(self.rows), 2 * self.bound + 1))
        for place, row in enumerate(self.rows):
            for v, part in zip(row.noise, row.parts, strict=True):
                if part:
                    found[place, v + self.bound] = part / row.total
        found.setflags(write=False)
        return found


@dataclass(frozen=True, eq=False)
class KeyTable:
    """A p-table spelt out for whole-number keys: the noise of every count from 0 on (rows) and every key (columns)."""

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
