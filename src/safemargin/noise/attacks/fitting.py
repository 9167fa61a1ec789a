"""Fitting: the best linear estimate of every count from all tables together.

Beyond averaging it takes counts from totals, and shares what tables have in common. A table is the sum of its effects;
each effect is estimated by the mean over all tables that print it, and effects are independent of one another. So it
takes complete tables with noise on every count; others are left to averaging.
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from safemargin.core import FloatArray, IntArray, row_keys
from safemargin.noise.attacks.averaging import Means, averaged
from safemargin.noise.attacks.noisy import Layout, Recovered, certainty


def fitting(layout: Layout, variance: float) -> list[Recovered]:
    """The nearest whole number to the best linear estimate of every printed count."""
    found = []
    cache: dict[tuple[str, ...], tuple[FloatArray, float] | None] = {}
    for axes in sorted({block.axes for block in layout.blocks}, key=lambda each: (len(each), each)):
        subsets = [each for size in range(len(axes) + 1) for each in combinations(axes, size)]
        for each in subsets:
            if each not in cache:
                cache[each] = _complete(layout, averaged(layout, each))
        fitted = _fitted(layout, axes, {each: cache[each] for each in subsets})
        if fitted is None:
            continue
        estimates, ratio = fitted
        value = np.rint(estimates)
        spread = np.full(value.size, np.sqrt(ratio * variance))
        sure = certainty((estimates - value).ravel(), spread)
        printed = _printed(averaged(layout, axes), layout.sizes(axes))
        for place, (guess, chance) in enumerate(zip(value.ravel().tolist(), sure.tolist(), strict=True)):
            cell = layout.cell(axes, [int(code) for code in np.unravel_index(place, value.shape)])
            shown = None if printed is None else int(printed[place])
            found.append(Recovered("fitting", cell, max(0, int(guess)), chance, shown))
    return found


def _complete(layout: Layout, means: Means) -> tuple[FloatArray, float] | None:
    """Means as an array over all categories, and what each is worth, if all are there and worth the same."""
    sizes = layout.sizes(means.axes)
    if len(means.means) != int(np.prod(sizes)) or np.ptp(means.ratios) > 1e-9:
        return None
    dense = np.zeros(len(means.means))
    dense[row_keys(means.codes, sizes)] = means.means
    return dense.reshape(sizes), float(means.ratios[0])


def _fitted(
    layout: Layout, axes: Sequence[str], known: dict[tuple[str, ...], tuple[FloatArray, float] | None]
) -> tuple[FloatArray, float] | None:
    """The sum of all effects of a table, and the variance of that in units of the noise on one count."""
    sizes = dict(zip(axes, layout.sizes(axes), strict=True))
    estimate, ratio = np.zeros(tuple(sizes.values())), 0.0
    for chosen, found in known.items():
        if found is None:
            return None
        effect, worth = found
        for place in range(len(chosen)):
            effect = effect - effect.mean(axis=place, keepdims=True)
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
