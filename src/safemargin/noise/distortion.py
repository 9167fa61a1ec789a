"""What noise does to small areas: relative errors by size, in one count or in all of an area, and who vanishes.

The study of section 4.2: the frequencies that a law of noise leads to are held against a draw. Draws are for study;
published noise comes from `mechanisms`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from safemargin.core import BoolArray, FloatArray, Generator, InputError, IntArray
from safemargin.samplers.checks import positive, variance_within
from safemargin.samplers.max_entropy import bounded_law

THRESHOLDS = (0.2, 0.5, 1.0)
"""Relative errors that the paper looks at."""

WIDTH, BELOW = 20, 500
"""Of a class of sizes, and where the classes end."""


class StudiedNoise(Protocol):
    """A law of noise on whole numbers that is symmetric about zero."""

    def draw(self, shape: tuple[int, ...], generator: Generator) -> IntArray:
        """Noise to try out."""
        ...

    def beyond(self, size: IntArray) -> FloatArray:
        """Chance of noise of at least `size` (positive) upwards."""
        ...


@dataclass(frozen=True)
class EpsilonNoise:
    """Two-sided geometric noise with an epsilon on every count."""

    epsilon: float

    def __post_init__(self) -> None:
        positive("epsilon", self.epsilon)

    def draw(self, shape: tuple[int, ...], generator: Generator) -> IntArray:
        """The difference of two geometric draws."""
        stop = -math.expm1(-self.epsilon)
        return generator.geometric(stop, shape) - generator.geometric(stop, shape)

    def beyond(self, size: IntArray) -> FloatArray:
        """`exp(-epsilon * size) / (1 + exp(-epsilon))`.

        >>> EpsilonNoise(0.1).beyond(np.array([40])).round(4).tolist()
        [0.0096]
        """
        found: FloatArray = np.exp(-self.epsilon * size) / (1 + math.exp(-self.epsilon))
        return found


@dataclass(frozen=True)
class BoundedNoise:
    """Noise of largest entropy for a variance within a bound."""

    variance: float
    bound: int

    def __post_init__(self) -> None:
        variance_within(self.variance, self.bound)

    def draw(self, shape: tuple[int, ...], generator: Generator) -> IntArray:
        """Independent draws of the law."""
        law = bounded_law(self.bound, self.variance)
        return generator.choice(np.arange(-self.bound, self.bound + 1), p=law, size=shape)

    def beyond(self, size: IntArray) -> FloatArray:
        """Zero beyond the bound.

        >>> BoundedNoise(2.0, 5).beyond(np.array([1, 6])).round(4).tolist()
        [0.359, 0.0]
        """
        upper = bounded_law(self.bound, self.variance)[self.bound :]
        sums = np.append(np.cumsum(upper[::-1])[::-1], 0.0)
        found: FloatArray = sums[np.minimum(size, self.bound + 1)]
        return found


@dataclass(frozen=True)
class Areas:
    """Areas with their true counts: one column per part, the total last."""

    names: tuple[str, ...]
    columns: tuple[str, ...]
    counts: IntArray

    def __post_init__(self) -> None:
        if self.counts.shape != (len(self.names), len(self.columns)):
            raise InputError("areas: one name per row and one column per count")
        parts, total = self.counts[:, :-1].sum(axis=1), self.counts[:, -1]
        if len(self.columns) > 1 and (parts != total).any():
            row = int(np.flatnonzero(parts != total)[0])
            added = f"{' + '.join(self.columns[:-1])} = {parts[row]}"
            raise InputError(f"{self.names[row]}: {added} but {self.columns[-1]} = {total[row]}; the parts must add up")


@dataclass(frozen=True)
class SizeClass:
    """Counts above `low` up to `high`: per threshold, how many are off by at least that share.

    `rough` is the paper's estimate, with the noise of Laplace and the upper end of the class; `expected` takes every
    count by itself, `seen` was drawn.
    """

    low: int
    high: int
    counts: int
    rough: tuple[float, ...]
    expected: tuple[float, ...]
    seen: tuple[int, ...]


@dataclass(frozen=True)
class Gone:
    """An area one of whose counts vanished or became negative."""

    name: str
    column: str
    true: int
    printed: int


@dataclass(frozen=True)
class Distortion:
    """Relative errors of all counts by size (`single`), of areas whose counts are all off the same way (`broadband`, by
    their total), and the counts that are gone, the largest first.
    """

    thresholds: tuple[float, ...]
    single: tuple[SizeClass, ...]
    broadband: tuple[SizeClass, ...]
    gone: tuple[Gone, ...]

    @property
    def vanished(self) -> tuple[Gone, ...]:
        """Counts that print zero."""
        return tuple(one for one in self.gone if one.printed == 0)

    @property
    def negative(self) -> tuple[Gone, ...]:
        """Counts that print less than nobody."""
        return tuple(one for one in self.gone if one.printed < 0)


def distortion(
    areas: Areas,
    printed: IntArray,
    noise: StudiedNoise,
    *,
    thresholds: Sequence[float] = THRESHOLDS,
    width: int = WIDTH,
    below: int = BELOW,
) -> Distortion:
    """What `noise` does to the areas: what its law leads to, and what `printed` counts show."""
    if width < 1 or below < width:
        raise InputError(f"width = {width}, below = {below}: classes have at least one count; the nearest are 1 and up")
    for threshold in thresholds:
        positive("threshold", threshold)
    true = areas.counts
    edges = np.arange(0, below + 1, width)
    need = [np.maximum(1, np.ceil(np.round(threshold * true, 9))).astype(np.int64) for threshold in thresholds]
    off = printed - true
    single_expected = [2 * noise.beyond(size) for size in need]
    single_seen: list[BoolArray] = [np.abs(off) >= size for size in need]
    broad_expected = [2 * noise.beyond(size).prod(axis=1) for size in need]
    broad_seen: list[BoolArray] = [np.all(off >= size, axis=1) | np.all(off <= -size, axis=1) for size in need]
    flat = true.ravel()
    single = _classes(
        flat,
        edges,
        [each.ravel() for each in single_expected],
        [each.ravel() for each in single_seen],
        [_rough(noise, threshold, edges, 1) for threshold in thresholds],
    )
    parts = true.shape[1]
    broadband = _classes(
        true[:, -1],
        edges,
        broad_expected,
        broad_seen,
        [_rough(noise, threshold, edges, parts) for threshold in thresholds],
    )
    return Distortion(tuple(thresholds), single, broadband, _gone(areas, printed))


def _rough(noise: StudiedNoise, threshold: float, edges: IntArray, parts: int) -> FloatArray:
    """Chance per class at its upper end: of one count, or of a total and its equal parts together.

    For noise with an epsilon it is that of Laplace, `exp(-epsilon * threshold * high)` for one count.
    """
    shares = np.array([1.0]) if parts == 1 else np.array([*[1 / (parts - 1)] * (parts - 1), 1.0])
    sizes = threshold * edges[1:, None] * shares
    if isinstance(noise, EpsilonNoise):
        sides: FloatArray = np.exp(-noise.epsilon * sizes) / 2
    else:
        sides = noise.beyond(np.maximum(1, np.ceil(sizes)).astype(np.int64))
    found: FloatArray = 2 * sides.prod(axis=1)
    return found


def _classes(
    sizes: IntArray,
    edges: IntArray,
    expected: Sequence[FloatArray],
    seen: Sequence[BoolArray],
    rough: Sequence[FloatArray],
) -> tuple[SizeClass, ...]:
    found = []
    for place, (low, high) in enumerate(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)):
        mine = (sizes > low) & (sizes <= high)
        counts = int(mine.sum())
        found.append(
            SizeClass(
                low,
                high,
                counts,
                tuple(float(each[place] * counts) for each in rough),
                tuple(float(each[mine].sum()) for each in expected),
                tuple(int(each[mine].sum()) for each in seen),
            )
        )
    return tuple(found)


def _gone(areas: Areas, printed: IntArray) -> tuple[Gone, ...]:
    rows, columns = np.nonzero((areas.counts > 0) & (printed <= 0))
    found = [
        Gone(areas.names[row], areas.columns[at], int(areas.counts[row, at]), int(printed[row, at]))
        for row, at in zip(rows.tolist(), columns.tolist(), strict=True)
    ]
    return tuple(sorted(found, key=lambda one: (-one.true, one.name, one.column)))


def halved(totals: IntArray, generator: Generator) -> IntArray:
    """Two parts of every total, as if everybody were one or the other with equal chance, and the total."""
    first = generator.binomial(totals, 0.5)
    return np.stack([first, totals - first, totals], axis=1)
