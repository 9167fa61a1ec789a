"""The exact loss of swapping a small stratum and then adding geometric noise to every count of the swapped table.

Noise z on a count has probability (1 - a) / (1 + a) a^|z| with a = e^-noise. Beyond the range that a count has over all
tables, one step more multiplies every probability by a, whatever the table: no ratio changes, so that the ratios inside
the ranges are all that there are, and the supremum over infinitely many outputs is a maximum over finitely many.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from safemargin.core import FloatArray, InputError, IntArray, TooLargeError
from safemargin.guarantees import Law, Stratum

LEAST_NOISE, MOST_NOISE = 0.001, 10.0
"""Epsilon per count."""
LEAST_CHANCE = 1e-200
"""Of a table: times e^-140, the most that noise takes off, it is still a normal floating-point number."""
MOST_TERMS = 1_500_000_000
"""Data sets times tables times noised tables: a few seconds."""
PART = 4_000_000
"""Numbers that are held at once, about."""
ERROR = 1e-11
"""Of a log ratio: both probabilities are sums of at most 5,040 positive terms with four roundings each and one of an
exponent up to 140, and the two logarithms are below 700: less than 2 (5,040 + 150) 2^-53 + 4 * 700 * 2^-53 < 2e-12."""


@dataclass(frozen=True)
class Noised:
    """The largest loss per record with noise of epsilon `noise` per count, and where it arises.

    `output` is a noised table as counts of (held value, swapped value); its `ratio` is how many times as likely it is
    from `one` as from `other`. `alone` is the loss of swapping without the noise.
    """

    noise: float
    loss: float
    alone: float
    one: Stratum
    other: Stratum
    output: tuple[tuple[int, int, int], ...]
    ratio: float
    distance: float

    @property
    def noise_alone(self) -> float:
        """What the noise loses on a table that was not swapped: one record changes two counts by one (Lemma 2)."""
        return 2 * self.noise


def noise_of(value: str | float | Fraction) -> float:
    """The epsilon of the noise on one count.

    >>> noise_of("1/2")
    0.5
    """
    try:
        noise = float(Fraction(value))
    except (ValueError, OverflowError, ZeroDivisionError):
        noise = math.nan
    if not LEAST_NOISE <= noise <= MOST_NOISE:
        raise InputError(f"noise = {value}: must be the epsilon of one count, from {LEAST_NOISE:g} to {MOST_NOISE:g}")
    return noise


def noised(laws: dict[Stratum, Law], distances: Sequence[Sequence[float]], noise: float, alone: float) -> Noised | None:
    """The largest loss over all ordered pairs of data sets and all noised tables; None where nothing is compared.

    `distances` are between the data sets, in the order of `laws`.
    """
    data, tables = list(laws), sorted({end for law in laws.values() for end in law})
    cells = sorted({record for end in tables for record in end})
    counts = np.array([[Counter(end)[cell] for cell in cells] for end in tables], dtype=np.int64)
    varies = np.flatnonzero(counts.min(axis=0) < counts.max(axis=0))
    shown = counts[:, varies]
    chances = _chances(laws, tables)
    apart = np.array(distances, dtype=np.float64)
    np.fill_diagonal(apart, math.inf)
    best, where = 0.0, None
    for outputs in _boxes(shown, len(data)):
        # Only differences of distances count, and none is above 2 * 7 records: the largest term is then 1.
        steps = np.abs(outputs[None, :, :] - shown[:, None, :]).sum(axis=2)
        logs = np.log(chances @ np.exp(-noise * (steps - steps.min(axis=0))))
        for row in range(len(data)):
            gaps = logs[row] - logs
            losses = gaps.max(axis=1) / apart[row]
            other = int(losses.argmax())
            if losses[other] > best:
                place = int(gaps[other].argmax())
                best, where = float(losses[other]), (row, other, outputs[place], float(gaps[other, place]))
    if where is None:
        return None
    row, other, output, gap = where
    found = counts[0].copy()
    found[varies] = output
    listed = tuple((*cell, int(count)) for cell, count in zip(cells, found.tolist(), strict=True))
    return Noised(noise, best, alone, data[row], data[other], listed, math.exp(gap), float(apart[row, other]))


def _chances(laws: dict[Stratum, Law], tables: Sequence[Stratum]) -> FloatArray:
    """Probability of every table, by data set."""
    chances = np.array([[float(law.get(end, 0)) for end in tables] for law in laws.values()])
    least = min(chance for law in laws.values() for chance in law.values() if chance)
    if least < LEAST_CHANCE:
        raise TooLargeError("noise: at this rate some tables are so rare that floating-point numbers end; take another")
    return chances


def _boxes(counts: IntArray, data_sets: int) -> Iterator[IntArray]:
    """All tables whose counts are in the ranges of these, in parts."""
    low, sizes = counts.min(axis=0), np.ptp(counts, axis=0) + 1
    many = math.prod(sizes.tolist())
    if data_sets * many * len(counts) > MOST_TERMS:
        raise TooLargeError(
            f"noise: {data_sets:,} data sets, {len(counts):,} tables and {many:,} noised ones are too many to compare: "
            "take fewer records, or fewer different values"
        )
    if not len(sizes):
        return  # one table only: nothing is lost
    step = max(PART // counts.size, 1)
    for start in range(0, many, step):
        numbers = np.arange(start, min(start + step, many))
        yield low + np.stack(np.unravel_index(numbers, tuple(sizes.tolist())), axis=1)
