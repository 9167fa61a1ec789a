"""Averaging: every representation of a count, weighted by how many noisy counts it adds up."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from safemargin.core import FloatArray, InputError, IntArray
from safemargin.noise.attacks.noisy import Layout, Recovered, certainty


@dataclass(frozen=True)
class Means:
    """The cells of one statistic: means of their representations, and what these are worth (in place of k / t^2)."""

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
    sizes = layout.sizes(axes)
    above = layout.above(axes)
    if not above:
        raise InputError(f"no table has the axes {', '.join(axes)} together")
    sums = [block.summed(axes, sizes) for block in above]
    keys = np.unique(np.concatenate([each.keys for each in sums]))
    codes = np.zeros((len(keys), len(axes)), dtype=np.int64)
    precision, weighted = np.zeros(len(keys)), np.zeros(len(keys))
    known, exact = np.zeros(len(keys), dtype=bool), np.zeros(len(keys))
    printed: IntArray | None = None
    for block, each in zip(above, sums, strict=True):
        at = np.searchsorted(keys, each.keys)
        codes[at] = block.codes[each.first][:, [block.axes.index(axis) for axis in axes]]
        free = each.noisy == 0
        exact[at[free]], known[at[free]] = each.values[free], True
        precision[at[~free]] += 1 / each.noisy[~free]
        weighted[at[~free]] += each.values[~free] / each.noisy[~free]
        if block.axes == axes and printed is None and len(each.keys) == len(keys):
            printed = each.values
    with np.errstate(divide="ignore", invalid="ignore"):
        means = np.where(known, exact, weighted / precision)
        ratios = np.where(known, 0.0, 1 / precision)
    return Means(axes, codes, printed, means, ratios)


def averaging(layout: Layout, variance: float, targets: Sequence[Sequence[str]] | None = None) -> list[Recovered]:
    """The nearest whole number to every mean that more than one representation supports, or a longer sum."""
    if targets is None:
        targets = sorted({(), *(block.axes for block in layout.blocks)}, key=lambda axes: (len(axes), axes))
    found = []
    for axes in targets:
        each = averaged(layout, axes)
        value = np.rint(each.means)
        spread = np.sqrt(np.maximum(each.ratios * variance, 1e-12))
        sure = certainty(each.means - value, spread)
        for row in np.flatnonzero(each.ratios > 0).tolist():
            printed = None if each.printed is None else int(each.printed[row])
            cell = layout.cell(each.axes, each.codes[row].tolist())
            found.append(Recovered("averaging", cell, max(0, int(value[row])), float(sure[row]), printed))
    return found
