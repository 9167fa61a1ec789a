"""Noisy tables as an attacker lays them out: cells by axes, and every sum of finer cells beside them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from safemargin.core import BoolArray, FloatArray, InputError, IntArray, PublishedTable, grouped, label, row_keys

OPTION = "option"

ENOUGH = 10
"""Counts beside their parts from which anything about the noise is concluded."""

LARGE = 10
"""Counts from here on have noise that does not depend on them, and are surely of several people."""


@dataclass(frozen=True)
class Recovered:
    """A true count that an attack arrives at, and how sure it is of it."""

    attack: str
    cell: tuple[tuple[str, str], ...]
    value: int
    confidence: float
    printed: int | None = None

    @property
    def labels(self) -> dict[str, str]:
        """The cell by axis."""
        return dict(self.cell)


@dataclass(frozen=True)
class NoisyTable:
    """One table: axes in alphabetical order, a row of codes per cell, what is printed, and which rows are noisy."""

    name: str
    axes: tuple[str, ...]
    codes: IntArray
    values: IntArray
    noised: IntArray

    def summed(self, axes: Sequence[str], sizes: Sequence[int]) -> "Sums":
        """The cells over fewer `axes`."""
        keys = row_keys(self.codes[:, [self.axes.index(axis) for axis in axes]], sizes)
        first, place = grouped(keys)
        values, noisy = np.zeros(len(first), dtype=np.int64), np.zeros(len(first), dtype=np.int64)
        np.add.at(values, place, self.values)
        np.add.at(noisy, place, self.noised)
        least = np.full(len(first), np.iinfo(np.int64).max)
        np.minimum.at(least, place, self.values)
        return Sums(keys[first], first, values, noisy, least)


@dataclass(frozen=True)
class Sums:
    """Cells over fewer axes: keys, first rows, sums, how many noisy counts are in them, and the least one."""

    keys: IntArray
    first: IntArray
    values: IntArray
    noisy: IntArray
    least: IntArray


@dataclass(frozen=True)
class Layout:
    """All tables with one list of categories per axis."""

    categories: dict[str, tuple[str, ...]]
    blocks: tuple[NoisyTable, ...]

    def sizes(self, axes: Sequence[str]) -> list[int]:
        """How many categories each axis has."""
        return [len(self.categories[axis]) for axis in axes]

    def cell(self, axes: Sequence[str], codes: Sequence[int]) -> tuple[tuple[str, str], ...]:
        """A cell by its labels."""
        return tuple((axis, self.categories[axis][code]) for axis, code in zip(axes, codes, strict=True))

    def above(self, axes: Sequence[str]) -> tuple[NoisyTable, ...]:
        """Tables that are at least as fine; one printed twice with the same noise is one."""
        found: list[NoisyTable] = []
        for block in self.blocks:
            if set(axes) <= set(block.axes) and not any(_same(block, other) for other in found):
                found.append(block)
        return tuple(found)


def _same(one: NoisyTable, other: NoisyTable) -> bool:
    return (
        one.axes == other.axes
        and one.codes.shape == other.codes.shape
        and bool((one.codes == other.codes).all() and (one.values == other.values).all())
    )


def laid_out(tables: Sequence[PublishedTable]) -> Layout:
    """The tables that have counts; options are an axis like others. Rows are sorted by cell."""
    names: dict[str, dict[str, int]] = {}
    blocks = []
    for table in tables:
        if not _has_counts(table):
            continue
        columns: dict[str, IntArray] = {}
        for at, axis in enumerate(table.axes):
            known = names.setdefault(axis, {})
            places = [known.setdefault(label(group), len(known)) for group in table.groups[at]]
            columns[axis] = np.array(places, dtype=np.int64)[table.codes[:, at]]
        if table.options:
            known = names.setdefault(OPTION, {})
            places = [known.setdefault(option, len(known)) for option in table.options]
            columns[OPTION] = np.array(places, dtype=np.int64)[table.option]
        axes = tuple(sorted(columns))
        codes = np.stack([columns[axis] for axis in axes], axis=1) if axes else np.zeros((len(table.lower), 0), int)
        noised = np.array([status == "noised" for status in table.status]).astype(np.int64)
        values = table.lower if table.noisy is None else np.where(noised == 1, table.noisy, table.lower)
        order = np.lexsort(codes.T[::-1]) if axes else np.arange(len(codes))
        blocks.append(NoisyTable(table.name, axes, codes[order], np.asarray(values)[order], noised[order]))
    if not any(block.noised.any() for block in blocks):
        raise InputError("no table has noisy counts: their rows have the status 'noised' and print whole numbers")
    return Layout({axis: tuple(known) for axis, known in names.items()}, tuple(blocks))


def _has_counts(table: PublishedTable) -> bool:
    """Whether every row prints a count, noisy or exact."""
    fits = all(
        status == "noised" or low == high
        for status, low, high in zip(table.status, table.lower.tolist(), table.upper.tolist(), strict=True)
    )
    return fits and ("noised" not in table.status or table.noisy is not None)


@dataclass(frozen=True)
class Tuples:
    """Counts of one table beside their parts in a table with one axis more.

    `gap` is the count less the sum of its parts; `whole` and `parts` say how many of them are noisy.
    """

    gap: IntArray
    whole: IntArray
    parts: IntArray
    least: IntArray

    @property
    def terms(self) -> IntArray:
        """How many noisy counts each has."""
        return self.whole + self.parts


def tuples_in(layout: Layout) -> Iterator[Tuples]:
    """Every table beside every other with exactly one axis more."""
    for block in layout.blocks:
        sizes = layout.sizes(block.axes)
        mine = row_keys(block.codes, sizes)
        for other in layout.above(block.axes):
            if len(other.axes) == len(block.axes) + 1:
                found = other.summed(block.axes, sizes)
                at, here = _matched(found.keys, mine)
                rows = np.flatnonzero(here)
                yield Tuples(
                    block.values[rows] - found.values[at[rows]],
                    block.noised[rows],
                    found.noisy[at[rows]],
                    found.least[at[rows]],
                )


def _matched(keys: IntArray, wanted: IntArray) -> tuple[IntArray, BoolArray]:
    """Where each wanted key stands among sorted `keys`, and whether it does."""
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return at, keys[at] == wanted


def estimated_variance(layout: Layout) -> float:
    """Variance of the noise on one count: squares of gaps between counts and the sums of their parts add up variances.

    Only large parts are looked at, if there are enough: where nobody stays nobody, small counts have less noise, and a
    count of the same people as its only part has the same.
    """
    found = list(tuples_in(layout))
    for least in (LARGE, 1):
        chosen = [(each.gap[fit], each.terms[fit]) for each in found if (fit := _noisy(each, least)).any()]
        terms = sum(len(gap) for gap, _ in chosen)
        squares = sum(float((gap.astype(float) ** 2 / often).sum()) for gap, often in chosen)
        if terms >= ENOUGH and squares > 0:
            return squares / terms
    raise InputError(
        f"{terms} noisy counts stand beside their parts, too few to tell the variance of the noise; give it"
    )


def _noisy(tuples: Tuples, least: int) -> BoolArray:
    """Which have noise, and only parts of at least this size."""
    found: BoolArray = (tuples.terms > 0) & (tuples.least >= least)
    return found


def certainty(distance: FloatArray, spread: FloatArray) -> FloatArray:
    """How likely the nearest whole number is the true one: Gaussian noise of this spread, all whole numbers alike."""
    steps = np.arange(-40, 41)
    with np.errstate(under="ignore"):
        weights = np.exp(-0.5 * ((distance[:, None] + steps) ** 2 - distance[:, None] ** 2) / spread[:, None] ** 2)
    found: FloatArray = 1 / weights.sum(axis=1)
    return found
