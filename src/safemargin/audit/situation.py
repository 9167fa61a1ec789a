"""What an attack starts from: a release, an onlooker, and the intervals that follow."""

from dataclasses import dataclass

import numpy as np

from safemargin.bounds.exposure import Exposure
from safemargin.bounds.system import complete, complete_total, layers, seen_in
from safemargin.core import IntArray, Limits, Onlooker, Publication, PublishedTable, group_sums, row_keys


@dataclass(frozen=True)
class Situation:
    """One onlooker in front of one release; `slack` is how far sealed totals may be apart."""

    release: Publication
    onlooker: Onlooker
    exposure: Exposure
    limits: Limits
    slack: int = 0

    def totals(self) -> dict[str, int]:
        """Exact totals per option that some complete table states."""
        found: dict[str, int] = {}
        facts = (*self.release.tables, *complete(self.onlooker))
        seen = seen_in((*facts, *self.onlooker.roll))
        for table in facts:
            for name, total in zip(table.options or ("",), complete_total(table, seen) or (), strict=False):
                found.setdefault(name, total)
        return found

    def verdicts(self, option: str, lower: IntArray, upper: IntArray, people: IntArray) -> IntArray:
        """Codes into `VERDICTS` for intervals of one option."""
        at = self.exposure.options.index(option) if option else 0
        limits = self.limits
        alone = Limits((limits.floors[at],), (limits.ceilings[at],), limits.kappa, limits.tau, limits.told[at : at + 1])
        return alone.verdicts(lower[:, None], upper[:, None], people)[:, 0]

    def sizes(self, table: PublishedTable) -> dict[tuple[int, ...], int] | None:
        """People per cell of a table, if a roll the onlooker holds tells them."""
        for roll in self.onlooker.roll:
            if roll.is_exact and set(roll.axes) >= set(table.axes) and (found := _sizes(roll, table)) is not None:
                return found
        return None


def _sizes(roll: PublishedTable, table: PublishedTable) -> dict[tuple[int, ...], int] | None:
    """People per cell, counted in each group that holds them: groups may overlap. None if the roll does not tell.

    A roll whose own groups overlap is read from rows that are disjoint and leave nobody out.
    """
    rows = _disjoint(roll)
    if rows is None:
        return None
    codes = np.zeros((len(rows), 0), dtype=np.int64)
    for a, axis in enumerate(table.axes):
        at = roll.axes.index(axis)
        homes = []
        for known in roll.groups[at]:
            touched = [g for g, group in enumerate(table.groups[a]) if group & known]
            if any(not known <= table.groups[a][g] for g in touched):
                return None  # some of these people are in the group, and the roll does not say how many
            homes.append(touched or [-1])
        flat, many = np.array([g for home in homes for g in home]), np.array([len(home) for home in homes])
        mine = roll.codes[rows, at]
        times = many[mine]
        nth = np.arange(int(times.sum())) - np.repeat(np.cumsum(times) - times, times)
        here = flat[np.repeat((np.cumsum(many) - many)[mine], times) + nth]
        rows, codes = np.repeat(rows, times), np.column_stack([np.repeat(codes, times, axis=0), here])
    people = roll.lower[rows][:, None]
    first, sums = group_sums(row_keys(codes + 1, [len(groups) + 1 for groups in table.groups]), people)
    return dict(zip(map(tuple, codes[first].tolist()), sums[:, 0].tolist(), strict=True))


def _disjoint(roll: PublishedTable) -> IntArray | None:
    """Rows of a roll that count everybody once."""
    everybody = [frozenset().union(*groups) for groups in roll.groups]
    for layer in layers(roll):
        if all(set(groups) == whole for groups, whole in zip(layer.groups, everybody, strict=True)):
            return layer.rows
    return None
