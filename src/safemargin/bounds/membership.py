"""Which cells of a table a profile lies in, when merged categories may overlap."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np

from safemargin.core import Group, IntArray, Onlooker, PublishedTable, row_keys


@dataclass(frozen=True)
class Layer:
    """Rows of a table whose cells do not overlap, with the group that each category falls in, per axis."""

    rows: IntArray
    groups: tuple[Mapping[str, int], ...]


def layers(table: PublishedTable) -> Iterator[Layer]:
    """The rows of `table` in as few sets of disjoint cells as a greedy pass finds: one, unless groups overlap."""
    levels = [_levels(groups) for groups in table.groups]
    depth = [max(level, default=0) + 1 for level in levels]
    for combination in product(*(range(d) for d in depth)):
        keep = np.ones(len(table.lower), dtype=bool)
        for a, wanted in enumerate(combination):
            keep &= np.array(levels[a], dtype=np.int64)[table.codes[:, a]] == wanted
        if keep.any():
            groups = tuple(
                {name: g for g, group in enumerate(table.groups[a]) if levels[a][g] == wanted for name in group}
                for a, wanted in enumerate(combination)
            )
            yield Layer(np.flatnonzero(keep), groups)


def _levels(groups: tuple[Group, ...]) -> list[int]:
    taken: list[set[str]] = []
    levels: list[int] = []
    for group in groups:
        level = next((place for place, used in enumerate(taken) if not used & group), len(taken))
        if level == len(taken):
            taken.append(set())
        taken[level] |= group
        levels.append(level)
    return levels


def has_gaps(table: PublishedTable) -> bool:
    """Whether some combination of the categories that a table lists has no row."""
    cells = row_keys(table.codes, [len(groups) for groups in table.groups])
    combinations = math.prod(len(groups) for groups in table.groups)
    return any(len(np.unique(cells[table.option == option])) < combinations for option in np.unique(table.option))


def complete(onlooker: Onlooker) -> tuple[PublishedTable, ...]:
    """The facts of an onlooker that speak about everybody: of what the others leave out, nothing is known."""
    return tuple(fact for fact in onlooker.facts if not has_gaps(fact))
