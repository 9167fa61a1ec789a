"""Differencing: what is left of a category when a narrower one is taken from it, or one release from another."""

from dataclasses import replace

import numpy as np

from safemargin.core import JOINER, InputError, row_keys
from safemargin.noise.layout import Layout, LayoutBlock, Recovered
from safemargin.noise.noise_law import AttackLaw, named_law

BOTH = 2
"""Noisy counts in the difference of a count that changed: before and now."""


def nested(layout: Layout, variance: float, law: AttackLaw | None = None) -> list[Recovered]:
    """Counts of what categories hold beyond others, printed for the same people: of nested ones, as a district in a
    region, and of areas that only overlap, as a town and the squares of a grid inside it, or around it.
    """
    law = law or named_law("gaussian", variance)
    best: dict[tuple[tuple[str, str], ...], Recovered] = {}
    for wide in layout.blocks:
        for narrow in layout.blocks:
            if wide.axes == narrow.axes and wide is not narrow:
                for axis in range(len(wide.axes)):
                    for recovered in _subtracted(layout, wide, narrow, axis, law):
                        if recovered.cell not in best or best[recovered.cell].confidence < recovered.confidence:
                            best[recovered.cell] = recovered
    return list(best.values())


def _subtracted(layout: Layout, wide: LayoutBlock, narrow: LayoutBlock, axis: int, law: AttackLaw) -> list[Recovered]:
    """What is between a category of one table and categories of another with the same axes.

    These are single ones inside it, all of those inside it, or all of those that it meets.
    """
    axes, members = wide.axes, layout.members[wide.axes[axis]]
    listed = narrow.listed(axes[axis])
    shown = {members[code] for code in (*listed, *wide.listed(axes[axis]))}
    others = [a for a in range(len(axes)) if a != axis]
    sizes = layout.sizes([axes[a] for a in others])
    keys = row_keys(narrow.codes[:, others], sizes).tolist()
    rows = {(key, code): row for row, (key, code) in enumerate(zip(keys, narrow.codes[:, axis].tolist(), strict=True))}
    recovered = []
    for row, key in enumerate(row_keys(wide.codes[:, others], sizes).tolist()):
        whole = members[wide.codes[row, axis]]
        inner = [code for code in listed if members[code] <= whole]
        outer = [code for code in listed if members[code] & whole]
        for parts in {*((code,) for code in inner), tuple(inner), tuple(outer)}:
            union = frozenset[str]().union(*(members[code] for code in parts))
            matched = [rows.get((key, code)) for code in parts]
            left = whole - union or union - whole
            # The categories must lie on one side, and what is left must not be the sum of others that are printed.
            printed = frozenset[str]().union(*(names for names in shown if names <= left))
            if not parts or None in matched or not (union < whole or whole < union) or left == printed:
                continue
            places = [place for place in matched if place is not None]
            sign = 1 if union < whole else -1
            value = sign * int(wide.values[row] - narrow.values[places].sum())
            noisy = int(wide.noised[row] + narrow.noised[places].sum())
            if noisy:  # the difference of exact counts is the business of audit
                labels = dict(layout.cell(axes, wide.codes[row].tolist()))
                labels[axes[axis]] = JOINER.join(sorted(left))
                (guess,), (sure,) = law.posterior([[value]], [[noisy]])
                recovered.append(Recovered("differencing", tuple(labels.items()), int(guess), float(sure)))
    return recovered


def changes(now: Layout, before: Layout, law: AttackLaw) -> list[Recovered]:
    """How many people every printed count gained or lost since an earlier release with the same cells.

    Where the same participants have the same noise, counts that did not change print the same and add no noise to a
    difference; with new noise nearly every count does. A cell that one representation shows to have changed holds a
    changed count in all of them, even where the noise makes up for it.
    """
    if now.categories != before.categories:
        raise InputError("the releases have different categories; differencing needs the same cells in both")
    blocks = [gain for block in now.blocks if (gain := _difference(block, before)) is not None]
    if not blocks:
        raise InputError("the releases share no table with the same cells")
    layout = replace(now, blocks=tuple(blocks))
    return [recovered for block in blocks for recovered in _gains(layout, block, law)]


def _difference(block: LayoutBlock, before: Layout) -> LayoutBlock | None:
    """What a table gained since it was printed before, with the noise of rows that print another count."""
    for other in before.blocks:
        if other.axes == block.axes and np.array_equal(other.codes, block.codes):
            # Equal printed counts most likely are the same people with the same noise: their difference has none.
            gain = block.values - other.values
            return replace(block, values=gain, noised=(gain != 0) * (block.noised + other.noised))
    return None


def _gains(layout: Layout, block: LayoutBlock, law: AttackLaw) -> list[Recovered]:
    """The gain of every cell of one table that some representation shows to have changed."""
    sizes = layout.sizes(block.axes)
    keys = row_keys(block.codes, sizes)
    order = np.argsort(keys)
    wanted = [block.listed(axis) for axis in block.axes]
    finer = [other for other in layout.blocks if set(block.axes) <= set(other.axes)]
    sums = [part for other in finer if (part := layout.summed(other, block.axes, wanted)) is not None]
    # First which cells changed at all, by any representation; then their gains, by all.
    changed = np.zeros(len(keys), dtype=bool)
    for part in sums:
        changed |= np.isin(keys, part.keys[part.noisy > 0])
    gains, terms = (np.zeros((len(keys), len(sums)), dtype=np.int64) for _ in range(2))
    for number, part in enumerate(sums):
        places = np.minimum(np.searchsorted(keys[order], part.keys), len(keys) - 1)
        shown = keys[order][places] == part.keys
        rows = order[places[shown]]
        # A sum that prints the same may hide a change by its noise: it counts as one noisy difference.
        gains[rows, number], terms[rows, number] = part.values[shown], np.maximum(part.noisy[shown], BOTH)
    rows = np.flatnonzero(changed)
    values, sure = law.posterior(gains[rows], terms[rows], signed=True)
    return [
        Recovered(
            "differencing",
            layout.cell(block.axes, block.codes[row].tolist()),
            gain,
            chance,
            int(block.values[row]),
        )
        for row, gain, chance in zip(rows.tolist(), values.tolist(), sure.tolist(), strict=True)
    ]
