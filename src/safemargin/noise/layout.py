"""Noisy tables as an onlooker lays them out: cells by axes, and every sum of finer cells beside them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from safemargin.core import BoolArray, FloatArray, Group, InputError, IntArray, PublishedTable, grouped, label, row_keys

OPTION = "option"

ENOUGH = 10
"""Counts beside their parts that are needed to infer anything about the noise."""

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
        first, cell = grouped(keys)
        values, noisy = np.zeros(len(first), dtype=np.int64), np.zeros(len(first), dtype=np.int64)
        np.add.at(values, cell, self.values)
        np.add.at(noisy, cell, self.noised)
        least = np.full(len(first), np.iinfo(np.int64).max)
        np.minimum.at(least, cell, self.values)
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
        blocks: list[NoisyTable] = []
        for block in self.blocks:
            if set(axes) <= set(block.axes) and not any(_same(block, other) for other in blocks):
                blocks.append(block)
        return tuple(blocks)


def _same(block: NoisyTable, other: NoisyTable) -> bool:
    return (
        block.axes == other.axes
        and np.array_equal(block.codes, other.codes)
        and np.array_equal(block.values, other.values)
    )


def lay_out(tables: Sequence[PublishedTable]) -> Layout:
    """The tables that have counts; options are an axis like others. Rows are sorted by cell."""
    names: dict[str, dict[str, int]] = {}
    blocks = []
    for table in tables:
        if not _has_counts(table):
            continue
        columns: dict[str, IntArray] = {}
        listed = [(axis, [*map(label, groups)], codes) for axis, groups, codes in _columns(table)]
        if table.options:
            listed.append((OPTION, list(table.options), table.option))
        for axis, labels, codes in listed:
            known = names.setdefault(axis, {})
            columns[axis] = np.array([known.setdefault(name, len(known)) for name in labels], dtype=np.int64)[codes]
        axes = tuple(sorted(columns))
        codes = np.stack([columns[axis] for axis in axes], axis=1) if axes else np.zeros((len(table.lower), 0), int)
        noised = np.array([status == "noised" for status in table.status]).astype(np.int64)
        # A noised row has no certain interval; what it prints is kept beside it.
        values = table.lower if table.noisy is None else np.where(noised == 1, table.noisy, table.lower)
        # Rows in the order of their cells, so that two tables can be compared as arrays.
        order = np.lexsort(codes.T[::-1]) if axes else np.arange(len(codes))
        blocks.append(NoisyTable(table.name, axes, codes[order], np.asarray(values)[order], noised[order]))
    if not any(block.noised.any() for block in blocks):
        raise InputError("no table has noisy counts: their rows have the status 'noised' and print integers")
    return Layout({axis: tuple(known) for axis, known in names.items()}, tuple(blocks))


def _columns(table: PublishedTable) -> list[tuple[str, tuple[Group, ...], IntArray]]:
    return [(axis, table.groups[a], table.codes[:, a]) for a, axis in enumerate(table.axes)]


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
        keys = row_keys(block.codes, sizes)
        for other in layout.above(block.axes):
            if len(other.axes) == len(block.axes) + 1:
                sums = other.summed(block.axes, sizes)
                nearest = np.minimum(np.searchsorted(sums.keys, keys), len(sums.keys) - 1)
                rows = np.flatnonzero(sums.keys[nearest] == keys)
                cells = nearest[rows]
                yield Tuples(
                    block.values[rows] - sums.values[cells],
                    block.noised[rows],
                    sums.noisy[cells],
                    sums.least[cells],
                )


def estimated_variance(layout: Layout) -> float:
    """Variance of the noise on one count, from the gaps between counts and the sums of their parts.

    A gap has mean zero and as many variances as it has noisy terms. Only large parts are used, if there are enough:
    empty cells have no noise, small counts have less, and a count of the same people as its only part has the same.
    """
    pairs = list(tuples_in(layout))
    terms = 0
    for least in (LARGE, 1):
        gaps = [(pair.gap[fit], pair.terms[fit]) for pair in pairs if (fit := _noisy(pair, least)).any()]
        terms = sum(len(gap) for gap, _ in gaps)
        squares = sum(float((gap.astype(float) ** 2 / often).sum()) for gap, often in gaps)
        if terms >= ENOUGH and squares > 0:
            return squares / terms
    raise InputError(f"{terms} noisy counts stand beside their parts, too few to infer the variance; give it")


def _noisy(tuples: Tuples, least: int) -> BoolArray:
    """Which have noise, and only parts of at least this size."""
    fits: BoolArray = (tuples.terms > 0) & (tuples.least >= least)
    return fits


def certainty(distance: FloatArray, spread: FloatArray) -> FloatArray:
    """How likely the nearest integer is the true one: Gaussian noise of this spread, all integers equally likely."""
    steps = np.arange(-40, 41)  # beyond 40 the terms matter only if nothing is certain anyway
    with np.errstate(under="ignore"):
        # Relative to the nearest integer, whose term is 1: a small spread cannot make all terms vanish.
        weights = np.exp(-0.5 * ((distance[:, None] + steps) ** 2 - distance[:, None] ** 2) / spread[:, None] ** 2)
    chances: FloatArray = 1 / weights.sum(axis=1)
    return chances
