"""Permutation swapping of counted records: within each stratum, a random part of them exchanges its swapped values.

Records that agree in everything are alike, so they are kept as cells with a count; only selected ones are ever listed.
The selection is drawn exactly at the rate, the permutation exactly uniformly among those that move every selected
record and no other. Both come from system entropy, and no seed can be given.

Probabilistic unit matching leaves the stratum at times: a selected record exchanges within its stratum, but with
probability `alpha` among all records of the wide stratum that were selected to do so. Its budget is not known: Theorem
1 is about permutations within strata only.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from safemargin.core import InputError, IntArray, system_choices, system_words

CHUNK = 1 << 22
"""Records for which choices are drawn at a time."""
LARGE = 1 << 15
"""Records of a stratum that is permuted by itself; smaller ones are done together."""
TOGETHER = 1 << 22
"""Small strata that are permuted at a time: their numbers take 22 bits of a word, which leaves 42 random ones."""


@dataclass(frozen=True)
class StratumCells:
    """Counted records, ordered by stratum: the stratum, the code of the swapped value, and how many there are.

    What is held may differ between cells with the same swapped value.
    """

    stratum: IntArray
    swapped: IntArray
    counts: IntArray

    def __post_init__(self) -> None:
        if not len(self.stratum) == len(self.swapped) == len(self.counts):
            raise InputError("cells: strata, swapped values and counts differ in number")
        if (np.diff(self.stratum) < 0).any() or (self.counts < 1).any():
            raise InputError("cells: must be ordered by stratum, with counts from 1 up")


@dataclass(frozen=True)
class Strata:
    """How the records divide: `largest` is the size of the largest stratum with two different records, or 0."""

    records: int
    number: int
    single: int
    largest: int
    exchanging: int
    """As `largest`, but of strata in which two swapped values occur: an exchange in any other changes nothing."""


@dataclass(frozen=True)
class Exchange:
    """Which records were selected, by cell, and which swapped value each of them got."""

    cell: IntArray
    swapped: IntArray
    redrawn: int
    """Selections of exactly one record, which were drawn again."""


def strata(cells: StratumCells, varies: Callable[[IntArray], bool] | None = None) -> Strata:
    """The sizes that decide what swapping guarantees. They follow from the invariants, so they may be published.

    `varies` states whether two of some cells, which make a stratum, differ; without it, different cells do.
    """
    first, sizes = _sizes(cells)
    if not len(first):
        return Strata(0, 0, 0, 0, 0)
    low, high = np.minimum.reduceat(cells.swapped, first), np.maximum.reduceat(cells.swapped, first)
    kinds = np.diff(first, append=len(cells.stratum))
    exchanging = int(sizes[low < high].max(initial=0))
    largest = int(sizes[kinds > 1].max(initial=0))
    if varies is not None:
        largest = exchanging  # two swapped values are two records; only larger strata have to be looked at
        for stratum in np.argsort(-sizes, kind="stable"):
            if sizes[stratum] <= largest or sizes[stratum] < 2:
                break
            if varies(np.arange(first[stratum], first[stratum] + kinds[stratum])):
                largest = int(sizes[stratum])
    return Strata(int(sizes.sum()), len(first), int((sizes == 1).sum()), largest, exchanging)


def swap(cells: StratumCells, rate: Fraction) -> Exchange:
    """Select, and exchange the swapped values of the selected by a random permutation that moves all of them."""
    if not 0 <= rate <= 1:
        raise InputError(f"rate = {rate}: must lie between 0 and 1")
    _, sizes = _sizes(cells)
    ends = np.cumsum(sizes)
    picked, redrawn = _select(sizes, ends, rate)
    bounds = np.searchsorted(picked, ends)
    order = derange(np.diff(bounds, prepend=0))  # step 4 of Algorithm 1: every selected record moves, no other does
    alone = len(cells.counts) == (int(ends[-1]) if len(ends) else 0)  # one record per cell
    cell = picked if alone else np.searchsorted(np.cumsum(cells.counts), picked, side="right")
    return Exchange(cell, cells.swapped[cell[order]], redrawn)


@dataclass(frozen=True)
class CrossExchange:
    """The whole exchange, and how many of its records were selected to leave their stratum."""

    exchange: Exchange
    across: int


def crossing_rates(rate: Fraction, alpha: Fraction) -> tuple[Fraction, Fraction]:
    """The rate of leaving the stratum, and that of an exchange within it among those that do not.

    >>> crossing_rates(Fraction(1, 2), Fraction(1, 5))
    (Fraction(1, 10), Fraction(4, 9))
    """
    if not 0 < rate < 1:
        raise InputError(f"rate = {rate}: must lie between 0 and 1")
    if not 0 < alpha <= 1:
        raise InputError(f"alpha = {alpha}: must be above 0 and at most 1; without it, use swap")
    across = rate * alpha  # those who leave; the rest of the rate is conditional on not leaving
    return across, (rate - across) / (1 - across)


def swap_across(cells: StratumCells, wide: IntArray, rate: Fraction, alpha: Fraction) -> CrossExchange:
    """Exchange across strata first, then within them among all other records. `wide` strata are unions of strata."""
    if len(wide) != len(cells.stratum) or (np.diff(wide) < 0).any():
        raise InputError("cells: must be ordered by wide strata too")
    leaving, within = crossing_rates(rate, alpha)
    far = swap(StratumCells(wide, cells.swapped, cells.counts), leaving)
    left = cells.counts - np.bincount(far.cell, minlength=len(cells.counts))
    here = np.flatnonzero(left)
    near = swap(StratumCells(cells.stratum[here], cells.swapped[here], left[here]), within)
    exchange = Exchange(
        np.concatenate([far.cell, here[near.cell]]),
        np.concatenate([far.swapped, near.swapped]),
        far.redrawn + near.redrawn,
    )
    return CrossExchange(exchange, len(far.cell))


def derange(sizes: IntArray) -> IntArray:
    """For blocks of places one after the other: where each place gets its value from, never from itself.

    Uniform among all such permutations of each block: a block with a value in its place is drawn again as a whole.
    """
    if (sizes == 1).any():
        raise InputError("a block of one place has no permutation that moves it")
    total = int(sizes.sum())
    source = np.arange(total, dtype=np.int64)
    starts = np.cumsum(sizes) - sizes
    for block in np.flatnonzero(sizes > LARGE):
        places = slice(int(starts[block]), int(starts[block] + sizes[block]))
        source[places] = starts[block] + _derange_one(int(sizes[block]))
    small = np.flatnonzero((sizes > 1) & (sizes <= LARGE))
    for first in range(0, len(small), TOGETHER):
        _derange_many(source, starts, sizes, small[first : first + TOGETHER])
    return source


def _derange_one(size: int) -> IntArray:
    here = np.arange(size)
    while True:
        keys = system_words(size)
        order = np.argsort(keys)
        if (order == here).any():  # a random permutation is a derangement with probability 1/e: 2.7 draws on average
            continue
        ordered = keys[order]
        if (ordered[1:] != ordered[:-1]).all():  # equal keys would leave the order to the sorting
            return order.astype(np.int64)


def _derange_many(source: IntArray, starts: IntArray, sizes: IntArray, waiting: IntArray) -> None:
    while len(waiting):
        lengths = sizes[waiting]
        block = np.repeat(np.arange(len(waiting), dtype=np.uint64), lengths)
        first = np.cumsum(lengths) - lengths
        places = _ranges(starts[waiting], lengths)
        # Block number in front of random bits: one sort shuffles all blocks, each within itself.
        keys = (block << np.uint64(42)) | (system_words(len(places)) >> np.uint64(22))
        order = np.argsort(keys)
        ordered = keys[order]
        bad = order == np.arange(len(order))
        bad[1:] |= ordered[1:] == ordered[:-1]
        again = np.logical_or.reduceat(bad, first)
        done = np.repeat(~again, lengths)
        source[places[done]] = places[order[done]]
        waiting = waiting[again]


def _select(sizes: IntArray, ends: IntArray, rate: Fraction) -> tuple[IntArray, int]:
    """Numbers of the selected records, ascending, and how many selections were drawn again."""
    total = int(ends[-1]) if len(ends) else 0
    parts_drawn = []
    for start in range(0, total, CHUNK):
        chosen = system_choices(rate, min(CHUNK, total - start))
        parts_drawn.append(np.flatnonzero(chosen).astype(np.int64) + start)
    picked = np.concatenate(parts_drawn) if parts_drawn else np.empty(0, dtype=np.int64)
    per = np.diff(np.searchsorted(picked, ends), prepend=0)
    lonely = np.flatnonzero(per == 1)  # step 3 of Algorithm 1: a selection of one is drawn again
    if not len(lonely):
        return picked, 0
    keep = np.repeat(per != 1, per)
    parts = [picked[keep]]
    redrawn = 0
    waiting = lonely[sizes[lonely] > 1]
    while len(waiting):
        redrawn += len(waiting)
        lengths = sizes[waiting]
        places = _ranges(ends[waiting] - lengths, lengths)
        chosen = system_choices(rate, len(places))
        per = np.add.reduceat(chosen.astype(np.int64), np.cumsum(lengths) - lengths)
        parts.append(places[chosen & np.repeat(per != 1, lengths)])
        waiting = waiting[per == 1]
    return np.sort(np.concatenate(parts), kind="stable"), redrawn


def _ranges(starts: IntArray, lengths: IntArray) -> IntArray:
    """The numbers of all ranges, one after the other."""
    shift = np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)
    numbers: IntArray = np.arange(len(shift), dtype=np.int64) + shift
    return numbers


def _sizes(cells: StratumCells) -> tuple[IntArray, IntArray]:
    """The first cell of each stratum, and the records in it."""
    if not len(cells.stratum):
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    first = np.flatnonzero(np.diff(cells.stratum, prepend=cells.stratum[0] - 1))
    return first, np.add.reduceat(cells.counts, first)
