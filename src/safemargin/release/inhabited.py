"""A population without the categories that nobody has."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from safemargin.core import Axis, Hierarchy, IntArray, Table, Tally, frozen


def inhabited(table: Table) -> Table:
    """The table without categories that nobody on the roll has: they are no groups to merge or to publish."""
    kept: dict[str, IntArray] = {}
    for axis in table.schema.axes:
        roll = table.people((axis.name,))
        kept[axis.name] = np.sort(roll.codes[roll.counts[:, 0] > 0, 0])
    if all(len(kept[axis.name]) == len(axis.categories) for axis in table.schema.axes):
        return table

    def recoded(tally: Tally) -> Tally:
        rows = np.ones(len(tally.codes), dtype=bool)
        for column, name in enumerate(tally.axes):
            rows &= np.isin(tally.codes[:, column], kept[name])
        columns = [np.searchsorted(kept[name], tally.codes[rows, c]) for c, name in enumerate(tally.axes)]
        codes = np.stack(columns, axis=1) if columns else tally.codes[rows]
        return Tally(tally.axes, frozen(codes, len(tally.axes)), frozen(tally.counts[rows], tally.counts.shape[1]))

    axes = tuple(_narrowed(axis, kept[axis.name].tolist()) for axis in table.schema.axes)
    votes, rolls = tuple(map(recoded, table.votes)), tuple(map(recoded, table.roll))
    return replace(table, schema=replace(table.schema, axes=axes), votes=votes, roll=rolls)


def _narrowed(axis: Axis, codes: Sequence[int]) -> Axis:
    """The axis with some of its categories."""
    names = tuple(axis.categories[code] for code in codes)
    trees = axis.hierarchy.trees if axis.hierarchy else ()
    return replace(
        axis,
        categories=names,
        hierarchy=Hierarchy.from_parents(axis.name, names, *trees) if any(trees) else None,
        apart=frozenset(pair for pair in axis.apart if pair <= set(names)),
        weights={name: worth for name, worth in axis.weights.items() if name in names},
    )
