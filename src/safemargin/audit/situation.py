"""What an attack starts from: a release, an onlooker, and the intervals that follow."""

from dataclasses import dataclass

import numpy as np

from safemargin.bounds.membership import complete
from safemargin.bounds.system import complete_total, seen_in
from safemargin.model.arrays import IntArray, group_sums, row_keys
from safemargin.model.exposure import Exposure
from safemargin.model.onlooker import Onlooker
from safemargin.model.published import PublishedTable
from safemargin.model.release import Release
from safemargin.model.target import Limits


@dataclass(frozen=True)
class Situation:
    """One onlooker in front of one release; `slack` is how far sealed totals may be apart."""

    release: Release
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
            if roll.is_exact and set(roll.axes) >= set(table.axes):
                return _sizes(roll, table)
        return None


def _sizes(roll: PublishedTable, table: PublishedTable) -> dict[tuple[int, ...], int]:
    columns = []
    for a, axis in enumerate(table.axes):
        at = roll.axes.index(axis)
        home = {name: g for g, group in enumerate(table.groups[a]) for name in group}
        lookup = np.array([home.get(next(iter(group)), -1) for group in roll.groups[at]], dtype=np.int64)
        columns.append(lookup[roll.codes[:, at]])
    codes = np.stack(columns, axis=1) if columns else np.zeros((len(roll.lower), 0), dtype=np.int64)
    first, sums = group_sums(row_keys(codes + 1, [len(groups) + 1 for groups in table.groups]), roll.lower[:, None])
    return dict(zip(map(tuple, codes[first].tolist()), sums[:, 0].tolist(), strict=True))
