"""Averaging and fitting: means of all representations of a count, and the best linear estimate from all tables.

Averaging takes the likeliest count behind all representations, each with the law of as many noisy counts as it adds up
(`noise_law`). Fitting also takes counts from totals, and
shares what tables have in common. It has three forms, all of them least squares:

- where no two categories of an axis share people, a table is the sum of its effects, each effect is estimated by the
  mean over all tables that print it, and effects are independent of one another;
- where categories are nested and every combination of them is printed once, with all totals, the projection onto
  tables that add up is the product of one projection per axis;
- otherwise, up to `MOST_UNKNOWN` unknown counts, the projection itself, with exact counts as equations.

What is left (effects need complete tables with noise on every count) is left to averaging.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

import numpy as np

from safemargin.core import FloatArray, InputError, IntArray, row_keys
from safemargin.noise.layout import Layout, LayoutBlock, Recovered, certainty
from safemargin.noise.noise_law import AttackLaw, named_law


@dataclass(frozen=True)
class Means:
    """The cells of one statistic: means of their representations, and their variances in units of one count's noise."""

    axes: tuple[str, ...]
    codes: IntArray
    printed: tuple[int | None, ...]
    means: FloatArray
    ratios: FloatArray
    sums: IntArray
    terms: IntArray
    """Sums by row and representation, and how many noisy counts are in each; none where there is no representation."""


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
    wanted = [sorted({code for block in above for code in block.listed(axis)}) for axis in axes]
    pairs = [(block, part) for block in above if (part := layout.summed(block, axes, wanted)) is not None]
    keys = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *(part.keys for _, part in pairs)]))
    codes = np.zeros((len(keys), len(axes)), dtype=np.int64)
    precision, weighted = np.zeros(len(keys)), np.zeros(len(keys))
    known, exact = np.zeros(len(keys), dtype=bool), np.zeros(len(keys))
    printed: list[int | None] = [None] * len(keys)
    sums, terms = (np.zeros((len(keys), len(pairs)), dtype=np.int64) for _ in range(2))
    for number, (block, part) in enumerate(pairs):
        rows = np.searchsorted(keys, part.keys)
        codes[rows] = part.codes
        free = part.noisy == 0  # a sum of exact counts is exact
        exact[rows[free]], known[rows[free]] = part.values[free], True
        # Weights by precision: the variance of a sum is its number of noisy counts.
        precision[rows[~free]] += 1 / part.noisy[~free]
        sums[rows, number], terms[rows, number] = part.values, part.noisy
        weighted[rows[~free]] += part.values[~free] / part.noisy[~free]
        if block.axes == axes:
            for row, shown in zip(np.searchsorted(keys, row_keys(block.codes, sizes)), block.values, strict=True):
                printed[row] = int(shown) if printed[row] is None else printed[row]
    with np.errstate(divide="ignore", invalid="ignore"):
        means = np.where(known, exact, weighted / precision)
        ratios = np.where(known, 0.0, 1 / precision)
    return Means(axes, codes, tuple(printed), means, ratios, sums, terms)


def averaging(
    layout: Layout, variance: float, targets: Sequence[Sequence[str]] | None = None, law: AttackLaw | None = None
) -> list[Recovered]:
    """The likeliest true count behind all representations of every cell, by the law of the noise on each.

    Without a law it is discrete Gaussian noise, which has the largest entropy for its variance.
    """
    law = law or named_law("gaussian", variance)
    if targets is None:
        targets = sorted({(), *(block.axes for block in layout.blocks)}, key=lambda axes: (len(axes), axes))
    recovered = []
    for axes in targets:
        cells = averaged(layout, axes)
        noisy = np.flatnonzero(cells.ratios > 0)
        values, sure = law.posterior(cells.sums[noisy], cells.terms[noisy])
        for row, value, chance in zip(noisy.tolist(), values.tolist(), sure.tolist(), strict=True):
            cell = layout.cell(cells.axes, cells.codes[row].tolist())
            recovered.append(Recovered("averaging", cell, value, chance, cells.printed[row]))
    return recovered


Dense = tuple[FloatArray, float]
"""An array over all categories, and the variance of its entries in units of the noise on one count."""


MOST_UNKNOWN = 1000
"""Unknown counts up to which nested tables are fitted whatever their form; the projection takes a second or two."""


def fitting(layout: Layout, variance: float) -> list[Recovered]:
    """The nearest integer to the best linear estimate of every printed count."""
    if not layout.is_flat(layout.categories):
        nested = project_lattice(layout) or project(layout)
        if nested is not None:
            return _rounded(layout, nested, variance)
    recovered = []
    cache: dict[tuple[str, ...], tuple[Means, Dense | None]] = {}
    for axes in sorted({block.axes for block in layout.blocks}, key=lambda names: (len(names), names)):
        if not layout.is_flat(axes):
            continue  # nested categories have no effects that are independent of one another
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
        means = cache[axes][0]
        printed = dict(zip(row_keys(means.codes, layout.sizes(axes)).tolist(), means.printed, strict=True))
        for number, (guess, chance) in enumerate(zip(value.ravel().tolist(), sure.tolist(), strict=True)):
            cell = layout.cell(axes, [int(code) for code in np.unravel_index(number, value.shape)])
            recovered.append(Recovered("fitting", cell, max(0, int(guess)), chance, printed[number]))
    return recovered


@dataclass(frozen=True)
class LinearFit:
    """Estimates of the rows of tables, and their variances in units of one count's noise."""

    blocks: tuple[LayoutBlock, ...]
    estimates: tuple[FloatArray, ...]
    ratios: tuple[FloatArray, ...]


def _rounded(layout: Layout, fit: LinearFit, variance: float) -> list[Recovered]:
    recovered: dict[tuple[tuple[str, str], ...], Recovered] = {}
    for block, estimates, ratios in zip(fit.blocks, fit.estimates, fit.ratios, strict=True):
        value = np.rint(estimates)
        sure = certainty(estimates - value, np.sqrt(np.maximum(ratios * variance, 1e-12)))
        for row in np.flatnonzero(block.noised).tolist():
            cell = layout.cell(block.axes, block.codes[row].tolist())
            guess = Recovered("fitting", cell, max(0, int(value[row])), float(sure[row]), int(block.values[row]))
            recovered.setdefault(cell, guess)
    return list(recovered.values())


def project_lattice(layout: Layout) -> LinearFit | None:
    """Least squares where every combination of categories, totals among them, is printed once and with noise.

    The counts are then the product of one membership matrix per axis with those of single categories, so that the
    projection onto its range is the product of the projections of each axis, and so is its diagonal.
    """
    blocks = layout.above(())
    axes = tuple(layout.categories)
    # A node is a category, or -1 where an axis is summed over.
    nodes = []
    for axis in axes:
        total = [-1] if any(axis not in block.axes for block in blocks) else []
        nodes.append([*total, *sorted({code for block in blocks if axis in block.axes for code in block.listed(axis)})])
    shape = tuple(map(len, nodes))
    if sum(len(block.codes) for block in blocks) != prod(shape) or not all(block.noised.all() for block in blocks):
        return None
    places = []
    for block in blocks:
        columns = [
            np.searchsorted(own, block.codes[:, block.axes.index(axis)] if axis in block.axes else [-1])
            for axis, own in zip(axes, nodes, strict=True)
        ]
        places.append(tuple(np.broadcast_to(column, len(block.codes)) for column in columns))
    values, filled = np.zeros(shape), np.zeros(shape, dtype=bool)
    for block, node in zip(blocks, places, strict=True):
        values[node], filled[node] = block.values, True
    if not filled.all():
        return None
    ratios = np.ones(shape)
    for a, (axis, own) in enumerate(zip(axes, nodes, strict=True)):
        names = sorted(layout.everybody(axis))
        groups = [frozenset(names) if code < 0 else layout.members[axis][code] for code in own]
        matrix = np.array([[name in group for name in names] for group in groups], dtype=float)
        hat = matrix @ np.linalg.pinv(matrix)
        values = np.moveaxis(np.tensordot(hat, values, axes=(1, a)), 0, a)
        ratios = ratios * np.diag(hat).reshape([-1 if b == a else 1 for b in range(len(axes))])
    return LinearFit(blocks, tuple(values[node] for node in places), tuple(ratios[node] for node in places))


def project(layout: Layout) -> LinearFit | None:
    """Least squares with the counts of single categories as unknowns, if there are not too many of them."""
    blocks = layout.above(())
    axes = tuple(layout.categories)
    names = [sorted(layout.everybody(axis)) for axis in axes]
    shape = tuple(map(len, names))
    if prod(shape) > MOST_UNKNOWN or sum(len(block.codes) for block in blocks) > 4 * MOST_UNKNOWN:
        return None
    inside = {
        axis: np.array([[name in group for name in own] for group in layout.members[axis]])
        for axis, own in zip(axes, names, strict=True)
    }
    occupied, designs = np.ones(shape, dtype=bool), []
    for block in blocks:
        design = np.ones((len(block.codes), *shape), dtype=bool)
        listed = np.ones(shape, dtype=bool)
        for a, axis in enumerate(axes):
            if axis in block.axes:
                across = [-1 if b == a else 1 for b in range(len(axes))]
                member = inside[axis][block.codes[:, block.axes.index(axis)]]
                design &= member.reshape([len(block.codes), *across])
                listed = listed & member.any(axis=0).reshape(across)
        # Listed categories without a row together hold nobody.
        occupied &= ~listed | design.any(axis=0)
        designs.append(design)
    matrix = np.concatenate(designs)[:, occupied].astype(float)
    printed = np.concatenate([block.values for block in blocks]).astype(float)
    noisy = np.concatenate([block.noised for block in blocks]) == 1
    estimates, ratios = printed.copy(), np.zeros(len(printed))
    # Exact counts are equations: tables are one that fulfils them plus anything that changes none of them.
    _, sizes, rotation = np.linalg.svd(matrix[~noisy], full_matrices=True)
    free = rotation[int((sizes > 1e-9).sum()) :].T
    start = matrix[noisy] @ np.linalg.lstsq(matrix[~noisy], printed[~noisy], rcond=None)[0]
    basis, sizes, _ = np.linalg.svd(matrix[noisy] @ free, full_matrices=False)
    basis = basis[:, : int((sizes > 1e-9).sum())]
    estimates[noisy] = start + basis @ (basis.T @ (printed[noisy] - start))
    ratios[noisy] = (basis**2).sum(axis=1)
    ends = np.cumsum([len(block.codes) for block in blocks])[:-1]
    return LinearFit(blocks, tuple(np.split(estimates, ends)), tuple(np.split(ratios, ends)))


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
