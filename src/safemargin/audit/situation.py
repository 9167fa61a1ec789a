"""What an attack starts from: a release, an onlooker, and the intervals that follow."""

from dataclasses import dataclass

from safemargin.bounds.system import complete_total
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
        for table in (*self.release.tables, *self.onlooker.facts):
            for name, total in zip(table.options or ("",), complete_total(table) or (), strict=False):
                found.setdefault(name, total)
        return found

    def sizes(self, table: PublishedTable) -> dict[tuple[int, ...], int] | None:
        """People per cell of a table, if a roll the onlooker holds tells them."""
        for roll in self.onlooker.roll:
            if roll.is_exact and set(roll.axes) >= set(table.axes):
                return _sizes(roll, table)
        return None


def _sizes(roll: PublishedTable, table: PublishedTable) -> dict[tuple[int, ...], int]:
    columns = [roll.axes.index(axis) for axis in table.axes]
    home = [{name: g for g, group in enumerate(groups) for name in group} for groups in table.groups]
    group_of = [
        [home[a].get(next(iter(group)), -1) for group in roll.groups[column]] for a, column in enumerate(columns)
    ]
    found: dict[tuple[int, ...], int] = {}
    codes = roll.codes[:, columns].tolist()
    for code, people in zip(codes, roll.lower.tolist(), strict=True):
        key = tuple(group_of[a][c] for a, c in enumerate(code))
        found[key] = found.get(key, 0) + people
    return found
