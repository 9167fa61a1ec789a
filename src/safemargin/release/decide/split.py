"""How axes are to be published, alone or crossed: their groups, which of them are protected, and why."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from safemargin.core import Axis, BoolArray, Group, IntArray, Limits, PublishedTable, Table, label, printed
from safemargin.release.decide.coarsen import Allowed, Merging


@dataclass(frozen=True)
class Split:
    """An axis parted into groups; `flagged` groups are noised or suppressed; one group alone says nothing."""

    axis: Axis
    votes: IntArray
    people: IntArray
    groups: tuple[Group, ...]
    flagged: frozenset[Group] = frozenset()
    reasons: dict[Group, str] = field(default_factory=dict, hash=False)

    @property
    def is_published(self) -> bool:
        """Whether anything but the total would be said about this axis."""
        return len(self.groups) > 1

    @property
    def is_noised(self) -> bool:
        """Whether every count of the axis is noised, at an epsilon of its own."""
        return self.axis.epsilon is not None and self.is_published

    def counts(self, group: Group) -> IntArray:
        """Votes per option of a group."""
        total: IntArray = self.votes[self._codes(group)].sum(axis=0)
        return total

    def size(self, group: Group) -> int:
        """People of a group."""
        return int(self.people[self._codes(group)].sum())

    def regular(self, group: Group, limits: Limits) -> bool:
        """Whether the exact count of a group is contained: large enough and within the limits."""
        counts = self.counts(group)[None, :]
        return bool((limits.verdicts(counts, counts, np.array([self.size(group)])) == 0).all())

    def partners(self, group: Group) -> list[Group]:
        """Groups that `group` may be merged with, the closest relatives first, then the smallest."""
        others = [other for other in self.groups if other != group]
        if self.axis.ordered:
            # Ordered categories (age bands) are merged with neighbours only: a gap in a band would not be a band.
            ranked = sorted(self.groups, key=lambda part: min(self.axis.index[category] for category in part))
            position = ranked.index(group)
            others = [*ranked[max(position - 1, 0) : position], *ranked[position + 1 : position + 2]]
        others = [other for other in others if not any(pair <= group | other for pair in self.axis.apart)]
        if self.axis.parents and others:
            distance = {other: self._distance(group, other) for other in others}
            others = [other for other in others if distance[other] == min(distance.values())]
        return sorted(others, key=lambda other: (self.size(other), label(other, self.axis.categories)))

    def merge(self, first: Group, second: Group, reason: str) -> "Split":
        """The axis with two groups made one."""
        return self.parted((first | second,), reason)

    def merging(self, allowed: Allowed) -> Merging:
        """How to merge on until every group is allowed, as a problem."""
        return Merging(self.axis, self.people, self.votes, self.worth(), allowed, self.groups, self.axis.apart)

    def worth(self) -> IntArray:
        """What every category is worth: its people, times its weight."""
        weights = np.array([self.axis.weights.get(name, 1) for name in self.axis.categories], dtype=np.int64)
        worth: IntArray = self.people * weights
        return worth

    def parted(self, groups: tuple[Group, ...], reason: str | Mapping[Group, str]) -> "Split":
        """The axis with groups joined to larger ones; `reason` is one for all, or one for each."""
        home = {category: group for group in groups for category in group}
        inside: dict[Group, list[Group]] = {}
        for part in self.groups:
            inside.setdefault(home.get(next(iter(part)), part), []).append(part)
        reasons = {group: why for group, why in self.reasons.items() if group in inside}
        flagged = frozenset(group for group in self.flagged if group in inside)
        for group, parts in inside.items():
            if len(parts) > 1:
                earlier = [why for part in parts for why in self.reasons.get(part, "").split("; ") if why]
                why = reason if isinstance(reason, str) else reason[group]
                reasons[group] = "; ".join(dict.fromkeys([*earlier, *why.split("; ")]))
        # In the order of the axis, whatever was merged first: the order of rows must not disclose why.
        joined = tuple(sorted(inside, key=lambda group: min(map(self.axis.index.__getitem__, group))))
        return replace(self, groups=joined, reasons=reasons, flagged=flagged)

    def flag(self, groups: frozenset[Group], reason: str) -> "Split":
        """The axis with `groups` marked to be noised or suppressed."""
        reasons = self.reasons | {group: self.reasons.get(group, reason) for group in groups}
        return replace(self, flagged=self.flagged | groups, reasons=reasons)

    def collapse(self, reason: str) -> "Split":
        """The axis not published at all."""
        whole = frozenset(self.axis.categories)
        return replace(self, groups=(whole,), reasons={whole: reason}, flagged=frozenset())

    def loss(self) -> Fraction:
        """What the public misses: the worth of each category times the share of the others it is merged with.

        A flagged group is lost whole, and an axis that says nothing costs half as much again.
        """
        worth, others = self.worth(), max(len(self.axis.categories) - 1, 1)
        if not self.is_published:
            # More than any set of flags costs: an axis is omitted last.
            return Fraction(int(worth.sum()) * 3, 2)
        lost = [
            int(worth[self._codes(group)].sum()) * (others if group in self.flagged else len(group) - 1)
            for group in self.groups
        ]
        return Fraction(sum(lost), others)

    def _codes(self, group: Group) -> list[int]:
        return sorted(self.axis.index[category] for category in group)

    def _distance(self, first: Group, second: Group) -> int:
        """How far up the hierarchy two groups meet."""
        paths = [set(self.axis.ancestors(category)) for category in first | second]
        shared = set.intersection(*paths)
        depth = [len(path) for path in paths]
        return max(depth, default=0) - len(shared)


def unmerged_split(table: Table, name: str) -> Split:
    """The axis as it is: every category by itself."""
    axis = table.schema.axis(name)
    votes, people = table.margin((name,)), table.people((name,))
    by_category = np.zeros((len(axis.categories), votes.counts.shape[1]), dtype=np.int64)
    by_category[votes.codes[:, 0]] = votes.counts
    sizes = np.zeros(len(axis.categories), dtype=np.int64)
    sizes[people.codes[:, 0]] = people.counts[:, 0]
    return Split(axis, by_category, sizes, tuple(frozenset([category]) for category in axis.categories))


def irregular(split: Split, limits: Limits) -> BoolArray:
    """Per group whether its exact count is outside the target."""
    return np.array([not split.regular(group, limits) for group in split.groups])


def population(table: Table) -> int:
    """Everybody on the roll."""
    return int(table.people(()).counts.sum()) if table.roll else int(table.totals.sum())


def slack_of(table: Table) -> int:
    """How many votes a published count may be off."""
    return table.inconsistency.slack(int(table.totals.sum()))


def covers_everybody(table: Table) -> bool:
    """Whether the options cover everybody on the roll."""
    return int(table.totals.sum()) == population(table)


@dataclass(frozen=True)
class Version:
    """Some axes crossed: how each is parted, with votes and people per cell as arrays over the groups.

    `hidden` says which cells are suppressed, if any are.
    """

    splits: tuple[Split, ...]
    counts: IntArray
    people: IntArray
    hidden: BoolArray | None = None

    @property
    def axes(self) -> tuple[str, ...]:
        """Names of the axes."""
        return tuple(split.axis.name for split in self.splits)

    @property
    def groups(self) -> tuple[tuple[Group, ...], ...]:
        """How each axis is parted."""
        return tuple(split.groups for split in self.splits)

    @property
    def partitions(self) -> Mapping[str, tuple[Group, ...]]:
        """The same by axis."""
        return dict(zip(self.axes, self.groups, strict=True))

    @property
    def cells(self) -> int:
        """Cells that have people and are shown."""
        return int(((self.people > 0) & ~self.hidden).sum() if self.hidden is not None else (self.people > 0).sum())

    @property
    def hidden_cells(self) -> tuple[tuple[Group, ...], ...]:
        """The cells with people that are suppressed, by their groups."""
        if self.hidden is None:
            return ()
        places = np.argwhere(self.hidden & (self.people > 0)).tolist()
        return tuple(tuple(groups[code] for groups, code in zip(self.groups, place, strict=True)) for place in places)

    def table(self, table: Table) -> PublishedTable:
        """The table that would be published."""
        return printed(table, self.axes, self.partitions, self.hidden_cells)

    def irregular(self, limits: Limits) -> BoolArray:
        """Cells with people that may not be printed as they are: not contained in the limits, or all of one mind.

        The strict limits are meant: a missing table then does not disclose that one of its cells is outside the target.
        """
        flat, size = self.counts.reshape(-1, self.counts.shape[-1]), self.people.ravel()
        bad = (limits.strict.verdicts(flat, flat, size) != 0).any(axis=1)
        answered, most = flat.sum(axis=1), flat.max(axis=1)
        # If all who answered chose alike, the cell discloses them, even if silence keeps the share within the limits.
        alike = (most == size) | ((most == answered) & (answered > 0) if flat.shape[1] > 1 else answered == 0)
        return np.asarray((bad | alike) & (size > 0)).reshape(self.people.shape)

    def merged(self, axis: int, first: Group, second: Group) -> "Version":
        """The version with two groups of an axis made one."""
        merged = self.splits[axis].merge(first, second, "")
        target = np.array([group_place(merged.groups, group) for group in self.splits[axis].groups])
        splits = tuple(merged if a == axis else split for a, split in enumerate(self.splits))
        return Version(
            splits,
            _added(self.counts, axis, target, len(merged.groups)),
            _added(self.people, axis, target, len(merged.groups)),
        )

    def cell(self, position: Sequence[int]) -> dict[str, str]:
        """The labels of one cell."""
        return {
            split.axis.name: label(split.groups[code], split.axis.categories)
            for split, code in zip(self.splits, position, strict=True)
        }


def crossed_version(table: Table, splits: Sequence[Split]) -> Version:
    """Axes crossed as they are published by themselves."""
    names = tuple(split.axis.name for split in splits)
    shape = [len(split.groups) for split in splits]
    lookups = [np.array([group_place(split.groups, frozenset([c])) for c in split.axis.categories]) for split in splits]
    votes, roll = table.margin(names), table.people(names)
    counts = np.zeros((*shape, votes.counts.shape[1]), dtype=np.int64)
    people = np.zeros(shape, dtype=np.int64)
    np.add.at(counts, tuple(lookup[votes.codes[:, a]] for a, lookup in enumerate(lookups)), votes.counts)
    np.add.at(people, tuple(lookup[roll.codes[:, a]] for a, lookup in enumerate(lookups)), roll.counts[:, 0])
    return Version(tuple(splits), counts, people)


def group_place(groups: Sequence[Group], part: Group) -> int:
    """Which of the groups holds a part."""
    return next(position for position, group in enumerate(groups) if part <= group)


def group_codes(split: Split) -> IntArray:
    """Per category the position of its group."""
    codes = np.zeros(len(split.axis.categories), dtype=np.int64)
    for position, group in enumerate(split.groups):
        codes[[split.axis.index[category] for category in group]] = position
    return codes


def _added(values: IntArray, axis: int, target: IntArray, count: int) -> IntArray:
    """Slices along an axis added up where they have the same target."""
    moved = np.moveaxis(values, axis, 0)
    total = np.zeros((count, *moved.shape[1:]), dtype=np.int64)
    np.add.at(total, target, moved)
    return np.moveaxis(total, 0, axis)
