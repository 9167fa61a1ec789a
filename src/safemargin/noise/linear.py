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

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from math import prod

import numpy as np

from safemargin.core import FloatArray, InputError, IntArray, row_keys
from safemargin.noise.layout import Layout, LayoutBlock, Recovered
from safemargin.noise.noise_law import AttackLaw, named_law
from safemargin.noise.weighted_law import NoiseWeights, likeliest


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
    tables: tuple[int, ...]
    """The number of the table of every representation."""


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
    number_of = {id(block): number for number, block in enumerate(layout.blocks)}
    tables = tuple(number_of[id(block)] for block, _ in pairs)
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
    return Means(axes, codes, tuple(printed), means, ratios, sums, terms, tables)


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


def fitting(layout: Layout, variance: float, law: AttackLaw | None = None) -> list[Recovered]:
    """The likeliest count behind the best linear estimate of every printed one, by the law of the noise left in it."""
    law = law or named_law("gaussian", variance)
    if not layout.is_flat(layout.categories):
        nested = project_lattice(layout) or project(layout)
        if nested is not None:
            return _likeliest_rows(layout, nested, law)
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
        weights = _weights(layout, axes, {chosen: cache[chosen][0] for chosen in subsets})
        values, sure = likeliest(law, fitted[0].ravel(), weights)
        means = cache[axes][0]
        printed = dict(zip(row_keys(means.codes, layout.sizes(axes)).tolist(), means.printed, strict=True))
        for number, (guess, chance) in enumerate(zip(values.tolist(), sure.tolist(), strict=True)):
            cell = layout.cell(axes, [int(code) for code in np.unravel_index(number, fitted[0].shape)])
            recovered.append(Recovered("fitting", cell, guess, chance, printed[number]))
    return recovered


@dataclass(frozen=True)
class LinearFit:
    """Estimates of the rows of tables, and how every noisy count weighs in them."""

    blocks: tuple[LayoutBlock, ...]
    estimates: tuple[FloatArray, ...]
    weights: Callable[[int, int], NoiseWeights]
    """By the number of the table and its row."""


def _likeliest_rows(layout: Layout, fit: LinearFit, law: AttackLaw) -> list[Recovered]:
    alike: dict[bytes, tuple[NoiseWeights, list[tuple[int, int]]]] = {}
    seen = set()
    for number, block in enumerate(fit.blocks):
        for row in np.flatnonzero(block.noised).tolist():
            cell = layout.cell(block.axes, block.codes[row].tolist())
            if cell not in seen:  # a table that is printed twice says the same of a count both times
                seen.add(cell)
                weights = fit.weights(number, row)
                alike.setdefault(weights.key, (weights, []))[1].append((number, row))
    recovered = {}
    for weights, places in alike.values():  # rows with equal weights have one law
        values, sure = likeliest(law, np.array([fit.estimates[number][row] for number, row in places]), weights)
        for (number, row), guess, chance in zip(places, values.tolist(), sure.tolist(), strict=True):
            block = fit.blocks[number]
            cell = layout.cell(block.axes, block.codes[row].tolist())
            recovered[number, row] = Recovered("fitting", cell, guess, chance, int(block.values[row]))
    return [recovered[place] for place in sorted(recovered)]


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
    hats = []
    for a, (axis, own) in enumerate(zip(axes, nodes, strict=True)):
        names = sorted(layout.everybody(axis))
        groups = [frozenset(names) if code < 0 else layout.members[axis][code] for code in own]
        matrix = np.array([[name in group for name in names] for group in groups], dtype=float)
        hat = matrix @ np.linalg.pinv(matrix)
        values = np.moveaxis(np.tensordot(hat, values, axes=(1, a)), 0, a)
        hats.append([NoiseWeights.of(row) for row in hat])

    def weights(number: int, row: int) -> NoiseWeights:
        own = [hat[int(column[row])] for hat, column in zip(hats, places[number], strict=True)]
        return reduce(NoiseWeights.times_each, own, NoiseWeights.of(np.ones(1)))

    return LinearFit(blocks, tuple(values[node] for node in places), weights)


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
    estimates = printed.copy()
    # Exact counts are equations: tables are one that fulfils them plus anything that changes none of them.
    _, sizes, rotation = np.linalg.svd(matrix[~noisy], full_matrices=True)
    free = rotation[int((sizes > 1e-9).sum()) :].T
    start = matrix[noisy] @ np.linalg.lstsq(matrix[~noisy], printed[~noisy], rcond=None)[0]
    basis, sizes, _ = np.linalg.svd(matrix[noisy] @ free, full_matrices=False)
    basis = basis[:, : int((sizes > 1e-9).sum())]
    estimates[noisy] = start + basis @ (basis.T @ (printed[noisy] - start))
    ends = np.cumsum([0, *(len(block.codes) for block in blocks)])
    place = np.cumsum(noisy) - 1

    def weights(number: int, row: int) -> NoiseWeights:
        return NoiseWeights.of(basis @ basis[place[ends[number] + row]])

    return LinearFit(blocks, tuple(np.split(estimates, ends[1:-1])), weights)


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


def _weights(layout: Layout, axes: Sequence[str], means: Mapping[tuple[str, ...], Means]) -> NoiseWeights:
    """How noisy counts weigh in the sum of all effects of a cell: by their table, and the axes on which both agree."""
    sizes = dict(zip(layout.categories, layout.sizes(tuple(layout.categories)), strict=True))
    shares: dict[int, dict[tuple[str, ...], float]] = {}
    for chosen, effect in means.items():
        if effect.ratios[0] > 0:
            spread = float(effect.ratios[0]) / prod(sizes[axis] for axis in axes if axis not in chosen)
            for table, terms in zip(effect.tables, effect.terms[0].tolist(), strict=True):
                shares.setdefault(table, {})[chosen] = spread / terms if terms else 0.0
    values, times = [], []
    for table, by_effect in shares.items():
        common = [axis for axis in layout.blocks[table].axes if axis in axes]
        others = prod(sizes[axis] for axis in layout.blocks[table].axes if axis not in axes)
        for agreed in (set(some) for size in range(len(common) + 1) for some in combinations(common, size)):
            effects = ((share, [(axis in agreed) - 1 / sizes[axis] for axis in of]) for of, share in by_effect.items())
            values.append(sum(share * prod(signs) for share, signs in effects))
            times.append(others * prod(sizes[axis] - 1 for axis in common if axis not in agreed))
    return NoiseWeights.of(np.array(values), np.array(times, dtype=np.int64))
