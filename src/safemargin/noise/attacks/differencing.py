"""Differencing: what is left of a category when a narrower one is taken from it, or one release from another."""

from dataclasses import replace

import numpy as np

from safemargin.core import JOINER, InputError, row_keys
from safemargin.noise.attacks.noisy import Layout, NoisyTable, Recovered, certainty

BOTH = 2
"""Noisy counts in the difference of one that changed: then and now."""


def nested(layout: Layout, variance: float) -> list[Recovered]:
    """Counts of what a merged category holds beyond a narrower one that is printed for the same people."""
    found: dict[tuple[tuple[str, str], ...], Recovered] = {}
    for wide in layout.blocks:
        for narrow in layout.blocks:
            if wide.axes == narrow.axes:
                for at in range(len(wide.axes)):
                    for one in _taken(layout, wide, narrow, at, variance):
                        if one.cell not in found or found[one.cell].confidence < one.confidence:
                            found[one.cell] = one
    return list(found.values())


def _taken(layout: Layout, wide: NoisyTable, narrow: NoisyTable, at: int, variance: float) -> list[Recovered]:
    """What the categories of axis `at` in one table leave of wider ones in another with the same axes."""
    axes = wide.axes
    names = layout.categories[axes[at]]
    members = [frozenset(name.split(JOINER)) for name in names]
    merged = np.flatnonzero(np.array([len(each) > 1 for each in members])[wide.codes[:, at]])
    if not len(merged):
        return []
    others = [place for place in range(len(axes)) if place != at]
    sizes = layout.sizes([axes[place] for place in others])
    keys = row_keys(narrow.codes[:, others], sizes).tolist()
    rows = {(key, code): row for row, (key, code) in enumerate(zip(keys, narrow.codes[:, at].tolist(), strict=True))}
    found = []
    for row, key in zip(merged.tolist(), row_keys(wide.codes[merged][:, others], sizes).tolist(), strict=True):
        whole = members[wide.codes[row, at]]
        for code, part in enumerate(members):
            match = rows.get((key, code))
            if match is not None and part < whole:
                left = int(wide.values[row] - narrow.values[match])
                noisy = int(wide.noised[row] + narrow.noised[match])
                if noisy:
                    labels = dict(layout.cell(axes, wide.codes[row].tolist()))
                    labels[axes[at]] = JOINER.join(sorted(whole - part))
                    spread = np.sqrt(np.array([variance * noisy]))
                    sure = float(certainty(np.zeros(1), spread)[0])
                    found.append(Recovered("differencing", tuple(labels.items()), max(0, left), sure))
    return found


def changes(now: Layout, before: Layout, variance: float) -> list[Recovered]:
    """How many people every printed count gained or lost since an earlier release with the same cells.

    Where the same participants have the same noise, counts that did not change print the same and add no noise to a
    difference; with new noise nearly every count does. A cell that one representation shows to have changed holds a
    changed count in all of them, even where the noise makes up for it.
    """
    if now.categories != before.categories:
        raise InputError("the releases have different categories; differencing needs the same cells in both")
    blocks = [found for block in now.blocks if (found := _difference(block, before)) is not None]
    if not blocks:
        raise InputError("the releases share no table with the same cells")
    layout = Layout(now.categories, tuple(blocks))
    return [one for block in blocks for one in _gains(layout, block, variance)]


def _difference(block: NoisyTable, before: Layout) -> NoisyTable | None:
    """What a table gained since it was printed before, with the noise of rows that print another count."""
    for other in before.blocks:
        if other.axes == block.axes and np.array_equal(other.codes, block.codes):
            apart = block.values - other.values
            return replace(block, values=apart, noised=(apart != 0) * (block.noised + other.noised))
    return None


def _gains(layout: Layout, block: NoisyTable, variance: float) -> list[Recovered]:
    """The gain of every cell of one table that some representation shows to have changed."""
    sizes = layout.sizes(block.axes)
    mine = row_keys(block.codes, sizes)
    order = np.argsort(mine)
    means, precision = np.zeros(len(mine)), np.zeros(len(mine))
    sums = [each.summed(block.axes, sizes) for each in layout.blocks if set(block.axes) <= set(each.axes)]
    changed = np.zeros(len(mine), dtype=bool)
    for each in sums:
        changed |= np.isin(mine, each.keys[each.noisy > 0])
    for each in sums:
        at = order[np.searchsorted(mine[order], each.keys)]
        worth = 1 / np.maximum(each.noisy, BOTH)
        means[at] += each.values * worth
        precision[at] += worth
    found = []
    rows = np.flatnonzero(changed)
    value = np.rint(means[rows] / precision[rows])
    sure = certainty(means[rows] / precision[rows] - value, np.sqrt(variance / precision[rows]))
    for row, gain, chance in zip(rows.tolist(), value.tolist(), sure.tolist(), strict=True):
        cell = layout.cell(block.axes, block.codes[row].tolist())
        found.append(Recovered("differencing", cell, int(gain), chance, int(block.values[row])))
    return found
