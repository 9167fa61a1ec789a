"""Cell keys: bounded noise that depends on who is in a cell, so that the same people get the same noise everywhere.

For trying the method out beside others: keys are simulated, one per profile. Each record has a secret key, a uniform
number modulo `KEYS`; the key of a cell is the sum of the keys of its people, and picks the noise.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from safemargin.core import FloatArray, Generator, Guarantee, InputError, IntArray, Table, Tally, frozen
from safemargin.samplers.ptable_design import reference_ptable, request
from safemargin.samplers.ptable_privacy import guarantee
from safemargin.samplers.reference_ptable import reference_chances

KEYS = 2**32
"""Keys are whole numbers below this; sums stay exact for two thousand million cells."""


@dataclass(frozen=True)
class CellKey:
    """Noise of mean zero on whole numbers, never larger than `distance`, of variance at most `variance`.

    For every count the probabilities have the largest entropy among those that leave no count negative and do not fall
    from the left end up to zero: the rule of the R package ptable without its option `js`. A count of zero stays zero.
    Counts of `distance` and more share one law, whose variance is `variance`.
    """

    distance: int = 3
    variance: float = 1.0

    def __post_init__(self) -> None:
        if not 1 <= self.distance <= 20:
            raise InputError(f"distance = {self.distance}: must be from 1 to 20")
        uniform = self.distance * (self.distance + 1) / 3
        if not 0 < self.variance < uniform:
            raise InputError(f"variance = {self.variance}: must be positive and below {uniform:g}")

    @cached_property
    def table(self) -> FloatArray:
        """Probability of the noise `-distance ... distance` (columns) on counts `0 ... distance` (rows)."""
        table = np.zeros((self.distance + 1, 2 * self.distance + 1))
        table[0, self.distance] = 1.0
        for count in range(1, self.distance + 1):
            noise = range(-count, self.distance + 1)
            chances = reference_chances(count, noise, Fraction(str(self.variance)))
            table[count, self.distance - count :] = chances
        return table

    @property
    def mean_size(self) -> float:
        """Expected size of the noise on a count of at least `distance`."""
        return float(self.table[-1] @ abs(np.arange(-self.distance, self.distance + 1)))

    def guarantee(self) -> Guarantee:
        """The promise about one person more or less in a cell, read off the table.

        >>> CellKey(distance=3, variance=1.0).guarantee().delta
        0.00514822
        """
        return guarantee(reference_ptable(request(self.distance, self.variance)))

    def protect(self, counts: IntArray, keys: IntArray) -> IntArray:
        """`counts` with the noise that the keys of their cells pick."""
        ends = np.rint(np.cumsum(self.table, axis=1) * KEYS).astype(np.int64)
        ends[:, -1] = KEYS
        mine = ends[np.minimum(counts, self.distance)]
        return frozen(counts + (keys[..., None] % KEYS >= mine).sum(axis=-1) - self.distance)


def with_keys(table: Table, generator: Generator) -> Table:
    """A table of the same form whose counts are sums of record keys: its margins are the keys of their cells.

    The sum of uniform keys modulo `KEYS` is uniform, and independent for different people, so one number per profile
    and option stands for the keys of everybody there. Sealed elections share no records, so each has keys of its own.
    """
    votes = []
    for tally in table.votes:
        keys = generator.integers(0, KEYS, size=tally.counts.shape, dtype=np.int64)
        votes.append(Tally(tally.axes, tally.codes, frozen(np.where(tally.counts > 0, keys, 0))))
    return Table(table.schema, tuple(votes), table.roll, table.inconsistency)
