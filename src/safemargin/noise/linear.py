"""Averaging and fitting: means of all representations of a count, and the best linear estimate from all tables.

Averaging weights every representation by how many noisy counts it adds up. Fitting also takes counts from totals, and
shares what tables have in common: a table is the sum of its effects, each effect is estimated by the mean over all
tables that print it, and effects are independent of one another. Fitting needs complete tables with noise
on every count; others are left to averaging.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from safemargin.core import FloatArray, InputError, IntArray, row_keys
from safemargin.noise.layout import Layout, Recovered, certainty


@dataclass(frozen=True)
class Means:
    """The cells of one statistic: means of their representations, and their variances in units of one count's noise."""

    axes: tuple[str, ...]
    codes: IntArray
    printed: IntArray | None
    means: FloatArray
    ratios: FloatArray


def averaged(layout: Layout, axes: Sequence[str]) -> Means:
    """Weighted means of all representations of every cell over `axes`."""
    axes = tuple(sorted(axes))
    unknown = next((axis for axis in axes if axis not in layout.categories), None)
    if unknown is not None:
        raise InputError(f"there is no axis {unknown!r}; there are {', '.join(layout.categories) or 'none'}")
    # A representation is a table at least as fine, summed over its other axes.
    sizes = layout.sizes(axes)
    above = layout.above(axes)
    if not above:
        raise InputError(f"no table has the axes {', '.join(axes)} together")
    sums = [block.summed(axes, sizes) for block in above]
    keys = np.unique(np.concatenate([part.keys for part in sums]))
    codes = np.zeros((len(keys), len(axes)), dtype=np.int64)
    precision, weighted = np.zeros(len(keys)), np.zeros(len(keys))
    known, exact = np.zeros(len(keys), dtype=bool), np.zeros(len(keys))
    printed: IntArray | None = None
    for block, part in zip(above, sums, strict=True):
        rows = np.searchsorted(keys, part.keys)
        codes[rows] = block.codes[part.first][:, [block.axes.index(axis) for axis in axes]]
        free = part.noisy == 0  # a sum of exact counts is exact
        exact[rows[free]], known[rows[free]] = part.values[free], True
        # Weights by precision: the variance of a sum is its number of noisy counts.
        precision[rows[~free]] += 1 / part.noisy[~free]
        weighted[rows[~free]] += part.values[~free] / part.noisy[~free]
        if block.axes == axes and printed is None and len(part.keys) == len(keys):
            printed = part.values
    with np.errstate(divide="ignore", invalid="ignore"):
        means = np.where(known, exact, weighted / precision)
        ratios = np.where(known, 0.0, 1 / precision)
    return Means(axes, codes, printed, means, ratios)


def averaging(layout: Layout, variance: float, targets: Sequence[Sequence[str]] | None = None) -> list[Recovered]:
    """The nearest integer to every mean that more than one representation supports, or a longer sum."""
    if targets is None:
        targets = sorted({(), *(block.axes for block in layout.blocks)}, key=lambda axes: (len(axes), axes))
    recovered = []
    for axes in targets:
        cells = averaged(layout, axes)
        value = np.rint(cells.means)
        spread = np.sqrt(np.maximum(cells.ratios * variance, 1e-12))  # exact means have no spread to divide by
        sure = certainty(cells.means - value, spread)
        for row in np.flatnonzero(cells.ratios > 0).tolist():
            printed = None if cells.printed is None else int(cells.printed[row])
            cell = layout.cell(cells.axes, cells.codes[row].tolist())
            recovered.append(Recovered("averaging", cell, max(0, int(value[row])), float(sure[row]), printed))
    return recovered


Dense = tuple[FloatArray, float]
"""An array over all categories, and the variance of its entries in units of the noise on one count."""


def fitting(layout: Layout, variance: float) -> list[Recovered]:
    """The nearest integer to the best linear estimate of every printed count."""
    recovered = []
    cache: dict[tuple[str, ...], tuple[Means, Dense | None]] = {}
    for axes in sorted({block.axes for block in layout.blocks}, key=lambda names: (len(names), names)):
        subsets = [chosen for size in range(len(axes) + 1) for chosen in combinations(axes, size)]
        for chosen in subsets:
            if chosen not in cache:
                means = averaged(layout, chosen)
                cache[chosen] = means, _complete(layout, means)
        fitted = _fitted(layout, axes, {chosen: cache[chosen][1] for chosen in subsets})
        if fitted is None:
            continue
        estimates, ratio = fitted
        value = np.rint(estimates)
        sure = certainty((estimates - value).ravel(), np.full(value.size, np.sqrt(ratio * variance)))
        printed = _printed(cache[axes][0], layout.sizes(axes))
        for number, (guess, chance) in enumerate(zip(value.ravel().tolist(), sure.tolist(), strict=True)):
            cell = layout.cell(axes, [int(code) for code in np.unravel_index(number, value.shape)])
            shown = None if printed is None else int(printed[number])
            recovered.append(Recovered("fitting", cell, max(0, int(guess)), chance, shown))
    return recovered


def _complete(layout: Layout, means: Means) -> Dense | None:
    """Means as an array over all categories, if all are there and have the same variance."""
    sizes = layout.sizes(means.axes)
    # Effects are independent only in balanced tables.
    if len(means.means) != int(np.prod(sizes)) or np.ptp(means.ratios) > 1e-9:
        return None
    dense = np.zeros(len(means.means))
    dense[row_keys(means.codes, sizes)] = means.means
    return dense.reshape(sizes), float(means.ratios[0])


def _fitted(layout: Layout, axes: Sequence[str], known: Mapping[tuple[str, ...], Dense | None]) -> Dense | None:
    """The sum of all effects of a table."""
    sizes = dict(zip(axes, layout.sizes(axes), strict=True))
    estimate, ratio = np.zeros(tuple(sizes.values())), 0.0
    for chosen, dense in known.items():
        if dense is None:
            return None
        effect, worth = dense
        # An effect is what is left of a margin when its own margins are taken out (analysis of variance).
        for axis in range(len(chosen)):
            effect = effect - effect.mean(axis=axis, keepdims=True)
        share = float(np.prod([1.0 / sizes[axis] for axis in axes if axis not in chosen]))
        shape = [sizes[axis] if axis in chosen else 1 for axis in axes]
        estimate = estimate + share * effect.reshape(shape)
        ratio += worth * share**2 * float(np.prod([1 - 1 / sizes[axis] for axis in chosen]))
    return (estimate, ratio) if ratio > 0 else None


def _printed(means: Means, sizes: Sequence[int]) -> IntArray | None:
    """What is printed in every cell, in the order of an array."""
    if means.printed is None:
        return None
    dense = np.zeros(len(means.printed), dtype=np.int64)
    dense[row_keys(means.codes, sizes)] = means.printed
    return dense
