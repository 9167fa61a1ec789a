"""What an attack starts from, and what it reports."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from safemargin.bounds import Exposure, complete, complete_total, disjoint_cell_sets, seen_in
from safemargin.core import IntArray, Limits, Onlooker, Publication, PublishedTable, group_sums, row_keys


@dataclass(frozen=True)
class Finding:
    """One cell that one attack discloses."""

    attack: str
    cell: dict[str, str] = field(hash=False)
    option: str | None
    people: int | None
    lower: int
    upper: int
    words: str


@dataclass(frozen=True)
class Attempt:
    """One attack: what it looked at, what it found, how many people that exposes."""

    attack: str
    summary: str
    looked_at: int
    findings: tuple[Finding, ...] = ()
    people_exposed: int = 0
    tally: Mapping[str, int] = field(default_factory=dict, hash=False)
    """Findings by kind, where the summary counts several kinds."""


def people_in(findings: Sequence[Finding]) -> int:
    """People in cells that do not overlap, each cell counted once."""
    return sum({str(finding.cell): finding.people or 0 for finding in findings}.values())


@dataclass(frozen=True)
class Situation:
    """One onlooker in front of one release; `slack` is how far sealed totals may be apart.

    Groups of up to `small` people are too small to be printed.
    """

    release: Publication
    onlooker: Onlooker
    exposure: Exposure
    limits: Limits
    slack: int = 0
    small: int = 0

    def totals(self) -> dict[str, int]:
        """Exact totals per option that some complete table states."""
        totals: dict[str, int] = {}
        facts = (*self.release.tables, *complete(self.onlooker))
        seen = seen_in((*facts, *self.onlooker.roll))
        for table in facts:
            for name, total in zip(table.options or ("",), complete_total(table, seen) or (), strict=False):
                totals.setdefault(name, total)
        return totals

    def verdicts(self, option: str, lower: IntArray, upper: IntArray, people: IntArray) -> IntArray:
        """Codes into `VERDICTS` for intervals of one option."""
        o = self.exposure.options.index(option) if option else 0
        limits = self.limits
        alone = Limits((limits.floors[o],), (limits.ceilings[o],), limits.kappa, limits.tau, limits.unchosen[o : o + 1])
        alone = replace(alone, fewest=limits.fewest[o : o + 1])
        return alone.verdicts(lower[:, None], upper[:, None], people)[:, 0]

    def sizes(self, table: PublishedTable) -> dict[tuple[int, ...], int] | None:
        """People per cell of a table, if a roll of the onlooker says so."""
        for roll in self.onlooker.roll:
            if roll.is_exact and set(roll.axes) >= set(table.axes) and (sizes := _sizes(roll, table)) is not None:
                return sizes
        return None

    def category_sizes(self, axis: str) -> dict[str, int] | None:
        """People per category of an axis, if a roll says so."""
        for roll in self.onlooker.roll:
            if roll.is_exact and axis in roll.axes:
                column = roll.axes.index(axis)
                sums = np.bincount(roll.codes[:, column], roll.lower, minlength=len(roll.groups[column]))
                if all(len(group) == 1 for group in roll.groups[column]):
                    return {next(iter(group)): int(sums[g]) for g, group in enumerate(roll.groups[column])}
        return None


def _sizes(roll: PublishedTable, table: PublishedTable) -> dict[tuple[int, ...], int] | None:
    """People per cell, counted in each group that holds them: groups may overlap. None if the roll does not say.

    A roll whose own groups overlap is read from rows that are disjoint and hold everybody.
    """
    rows = _disjoint(roll)
    if rows is None:
        return None
    codes = np.zeros((len(rows), 0), dtype=np.int64)
    for a, axis in enumerate(table.axes):
        column = roll.axes.index(axis)
        homes = []
        for known in roll.groups[column]:
            touched = [g for g, group in enumerate(table.groups[a]) if group & known]
            if any(not known <= table.groups[a][g] for g in touched):
                return None  # some of these people are in the group, and the roll does not say how many
            homes.append(touched or [-1])
        flat, many = np.array([g for home in homes for g in home]), np.array([len(home) for home in homes])
        held = roll.codes[rows, column]
        times = many[held]
        # a row that lies in several groups is repeated for each of them
        nth = np.arange(int(times.sum())) - np.repeat(np.cumsum(times) - times, times)
        here = flat[np.repeat((np.cumsum(many) - many)[held], times) + nth]
        rows, codes = np.repeat(rows, times), np.column_stack([np.repeat(codes, times, axis=0), here])
    people = roll.lower[rows][:, None]
    first, sums = group_sums(row_keys(codes + 1, [len(groups) + 1 for groups in table.groups]), people)
    return dict(zip(map(tuple, codes[first].tolist()), sums[:, 0].tolist(), strict=True))


def _disjoint(roll: PublishedTable) -> IntArray | None:
    """Rows of a roll that count everybody once."""
    everybody = [frozenset().union(*groups) for groups in roll.groups]
    for layer in disjoint_cell_sets(roll):
        if all(set(groups) == whole for groups, whole in zip(layer.groups, everybody, strict=True)):
            return layer.rows
    return None
