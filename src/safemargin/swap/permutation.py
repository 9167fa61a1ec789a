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

from safemargin.core import BoolArray, InputError, IntArray, Tally, TooLargeError, system_choices, system_words

CHUNK = 1 << 22
"""Records for which choices are drawn at a time."""
LARGE = 1 << 15
"""Records of a stratum that is permuted by itself; smaller ones are done together."""
TOGETHER = 1 << 22
"""Small strata that are permuted at a time: their numbers take 22 bits of a word, which leaves 42 random ones."""
MOST_DRAWS = 1_000
"""Exchanges of a stratum that are drawn where those that change nothing are not allowed."""


class Stratified(Tally):
    """Counted records, ordered by stratum: a tally over the stratum and the code of the swapped value.

    What is held may differ between rows with the same swapped value.
    """

    @classmethod
    def of(cls, stratum: IntArray, swapped: IntArray, counts: IntArray) -> "Stratified":
        """From one array for each; strata must be in order."""
        if not len(stratum) == len(swapped) == len(counts):
            raise InputError("cells: strata, swapped values and counts differ in number")
        if (np.diff(stratum) < 0).any() or (counts < 1).any():
            raise InputError("cells: must be ordered by stratum, with counts from 1 up")
        # Transposed, so that every column lies in one piece of memory.
        return cls(("stratum", "swapped"), np.array([stratum, swapped], dtype=np.int64).T, counts[:, None])

    @property
    def stratum(self) -> IntArray:
        """The stratum of every row."""
        return self.codes[:, 0]

    @property
    def swapped(self) -> IntArray:
        """The swapped value of every row."""
        return self.codes[:, 1]

    @property
    def numbers(self) -> IntArray:
        """The records of every row."""
        return self.counts[:, 0]

    def some(self, rows: IntArray) -> "Stratified":
        """The rows with these numbers, which must be in order."""
        return Stratified.of(self.stratum[rows], self.swapped[rows], self.numbers[rows])


@dataclass(frozen=True)
class CellRates:
    """Rates that differ between rows: the different ones, ascending, and which of them a row has."""

    values: tuple[Fraction, ...]
    of_row: IntArray

    def some(self, rows: IntArray) -> "CellRates":
        """The rates of some rows."""
        return CellRates(self.values, self.of_row[rows])


Rates = Fraction | CellRates


@dataclass(frozen=True)
class Strata:
    """How the records divide: `largest` is the size of the largest stratum with two different records, or 0."""

    records: int
    number: int
    single: int
    largest: int
    exchanging: int
    """As `largest`, but of strata in which two swapped values occur: an exchange in any other changes nothing."""
    most: int = 0
    """Records of the largest stratum with two records, alike or not."""


@dataclass(frozen=True)
class Exchange:
    """Which records were selected, by cell, and which swapped value each of them got."""

    cell: IntArray
    swapped: IntArray
    redrawn: int
    """Selections of exactly one record, which were drawn again."""
    slot: IntArray | None = None
    """Which of the records of its cell each selected one is, counted from 0, as `swap` draws them."""


def strata(cells: Stratified, varies: Callable[[IntArray], bool] | None = None) -> Strata:
    """The sizes that decide what swapping guarantees. They follow from the invariants, so they may be published.

    `varies` states whether two of some cells, which make a stratum, differ; without it, different cells do.
    """
    first, sizes = _sizes(cells)
    if not len(first):
        return Strata(0, 0, 0, 0, 0)
    # Two swapped values occur where the least and the largest code differ: one pass, no sets.
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
    most = int(sizes[sizes > 1].max(initial=0))
    return Strata(int(sizes.sum()), len(first), int((sizes == 1).sum()), largest, exchanging, most)


def swap(cells: Stratified, rate: Rates) -> Exchange:
    """Select, and exchange the swapped values of the selected by a random permutation that moves all of them."""
    for value in rate.values if isinstance(rate, CellRates) else (rate,):
        if not 0 <= value <= 1:
            raise InputError(f"rate = {value}: must lie between 0 and 1")
    _, sizes = _sizes(cells)
    ends = np.cumsum(sizes)
    # Records are numbered in the order of their strata: only the numbers of selected ones are held.
    picked, redrawn = _select(sizes, ends, _chooser(cells, rate))
    bounds = np.searchsorted(picked, ends)
    order = derange(np.diff(bounds, prepend=0))  # step 4 of Algorithm 1: every selected record moves, no other does
    alone = len(cells.numbers) == (int(ends[-1]) if len(ends) else 0)  # one record per row
    cell = picked if alone else np.searchsorted(np.cumsum(cells.numbers), picked, side="right")
    starts = np.cumsum(cells.numbers) - cells.numbers
    return Exchange(cell, cells.swapped[cell[order]], redrawn, picked - starts[cell])


def swap_visibly(cells: Stratified, held: IntArray, rate: Rates) -> Exchange:
    """As `swap`, but a stratum whose table an exchange leaves as it was is drawn again as a whole.

    `held` numbers what every row holds. Strata with one held or one swapped value have one table only and stay.
    """
    first, _ = _sizes(cells)
    varies = [np.minimum.reduceat(code, first) < np.maximum.reduceat(code, first) for code in (held, cells.swapped)]
    open_strata = np.repeat(varies[0] & varies[1], np.diff(first, append=len(held)))
    waiting, kept, redrawn = np.flatnonzero(open_strata), [Exchange(*(np.empty(0, dtype=np.int64),) * 2, 0)], 0
    for _ in range(MOST_DRAWS):
        drawn = swap(cells.some(waiting), rate.some(waiting) if isinstance(rate, CellRates) else rate)
        cell, stratum = waiting[drawn.cell], cells.stratum[waiting[drawn.cell]]
        again = np.isin(cells.stratum[waiting], _unchanged(stratum, held[cell], cells.swapped[cell], drawn.swapped))
        done = ~np.isin(stratum, cells.stratum[waiting[again]])
        kept.append(Exchange(cell[done], drawn.swapped[done], drawn.redrawn))
        redrawn += len(np.unique(cells.stratum[waiting[again]]))
        waiting = waiting[again]
        if not len(waiting):
            return Exchange(
                np.concatenate([part.cell for part in kept]),
                np.concatenate([part.swapped for part in kept]),
                redrawn + sum(part.redrawn for part in kept),
            )
    raise TooLargeError(
        f"vacuous: in {len(np.unique(cells.stratum[waiting])):,} strata nearly every exchange leaves the table as it "
        "is; match on fewer columns, or allow exchanges that change nothing"
    )


def _unchanged(stratum: IntArray, held: IntArray, before: IntArray, after: IntArray) -> IntArray:
    """Strata, of those with selected records, whose table is the same with the values before and after."""
    if not len(stratum):
        return stratum
    old, new = (np.lexsort((values, held, stratum)) for values in (before, after))
    # Equal tables list equal pairs of held and swapped value once both are sorted; strata and held values are alike.
    differs = (held[old] != held[new]) | (before[old] != after[new])
    first = np.flatnonzero(np.diff(stratum[old], prepend=-1))
    return stratum[old][first[~np.logical_or.reduceat(differs, first)]]


def _chooser(cells: Stratified, rate: Rates) -> Callable[[IntArray], BoolArray]:
    """Draws whether each record, by its place in the order of all, is selected."""
    if not isinstance(rate, CellRates):
        return lambda places: system_choices(rate, len(places))
    # Equal records share a row, so the rate of a row is repeated for each of them.
    of_record = np.repeat(rate.of_row, cells.numbers)

    def choose(places: IntArray) -> BoolArray:
        chosen, kind = np.zeros(len(places), dtype=np.bool_), of_record[places]
        for number, value in enumerate(rate.values):
            here = np.flatnonzero(kind == number)
            chosen[here] = system_choices(value, len(here))
        return chosen

    return choose


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


def swap_across(cells: Stratified, wide: IntArray, rate: Fraction, alpha: Fraction) -> CrossExchange:
    """Exchange across strata first, then within them among all other records. `wide` strata are unions of strata."""
    if len(wide) != len(cells.stratum) or (np.diff(wide) < 0).any():
        raise InputError("cells: must be ordered by wide strata too")
    leaving, within = crossing_rates(rate, alpha)
    far = swap(Stratified.of(wide, cells.swapped, cells.numbers), leaving)
    left = cells.numbers - np.bincount(far.cell, minlength=len(cells.numbers))
    here = np.flatnonzero(left)
    near = swap(Stratified.of(cells.stratum[here], cells.swapped[here], left[here]), within)
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
        # A block with one value in its place, or with two equal keys, is drawn again as a whole: uniform.
        again = np.logical_or.reduceat(bad, first)
        done = np.repeat(~again, lengths)
        source[places[done]] = places[order[done]]
        waiting = waiting[again]


def _select(sizes: IntArray, ends: IntArray, choose: Callable[[IntArray], BoolArray]) -> tuple[IntArray, int]:
    """Numbers of the selected records, ascending, and how many selections were drawn again."""
    total = int(ends[-1]) if len(ends) else 0
    parts_drawn = []
    for start in range(0, total, CHUNK):
        chosen = choose(np.arange(start, min(start + CHUNK, total)))
        parts_drawn.append(np.flatnonzero(chosen).astype(np.int64) + start)
    picked = np.concatenate(parts_drawn) if parts_drawn else np.empty(0, dtype=np.int64)
    per = np.diff(np.searchsorted(picked, ends), prepend=0)
    lonely = np.flatnonzero(per == 1)  # step 3 of Algorithm 1: a selection of one is drawn again
    if not len(lonely):
        return picked, 0
    # Drawing a lone selection again, not dropping it, is what Eq. E.5 needs for k = 0.
    keep = np.repeat(per != 1, per)
    parts = [picked[keep]]
    redrawn = 0
    waiting = lonely[sizes[lonely] > 1]
    while len(waiting):
        redrawn += len(waiting)
        lengths = sizes[waiting]
        places = _ranges(ends[waiting] - lengths, lengths)
        chosen = choose(places)
        per = np.add.reduceat(chosen.astype(np.int64), np.cumsum(lengths) - lengths)
        parts.append(places[chosen & np.repeat(per != 1, lengths)])
        waiting = waiting[per == 1]
    return np.sort(np.concatenate(parts), kind="stable"), redrawn


def _ranges(starts: IntArray, lengths: IntArray) -> IntArray:
    """The numbers of all ranges, one after the other."""
    # One arange for all ranges, moved to the start of each: no loop over strata.
    shift = np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)
    numbers: IntArray = np.arange(len(shift), dtype=np.int64) + shift
    return numbers


def _sizes(cells: Stratified) -> tuple[IntArray, IntArray]:
    """The first cell of each stratum, and the records in it."""
    if not len(cells.stratum):
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    first = np.flatnonzero(np.diff(cells.stratum, prepend=cells.stratum[0] - 1))
    return first, np.add.reduceat(cells.numbers, first)
