"""How one axis is published: its groups, which of them are protected and why, and the blocks in which groups cover.

Objects
    category    a value of the axis; a *group* is one or more of them, published as one
    partition   all groups of an axis; flagged groups are noised or suppressed (`AxisPartition`)
    block       groups that belong together, made of smaller blocks: a node of the tree of an axis (`GroupBlock`)
    loss        the worth of every category times the share of the others that it is merged with

Statement
    `blocks` depends on the roll alone: sizes, order, hierarchy, and which groups of other axes hold nearly all of a
    group. So which groups are merged together if one of them must be merged is decided before any answer is seen, and
    a merge discloses that something in the block needed it, not what.

Invariants
    * Groups part the categories: each category is in exactly one. `parted` only ever joins groups.
    * Ordered categories are joined with neighbours only; categories that are `apart` are never in one group.
    * Reasons and groups are ordered by the axis, never by what was merged first: the order of rows must not say why.
    * An axis with one group says nothing; omitting it costs more than any set of flags (`loss`).

Example
    Four groups of 10, 20, 30 and 40 people cover each other two by two, the small ones first:

    >>> import numpy as np
    >>> axis = Axis("ward", ("a", "b", "c", "d"))
    >>> people = np.array([10, 20, 30, 40])
    >>> one = AxisPartition(axis, np.zeros((4, 2), dtype=int), people, tuple(frozenset([name]) for name in "abcd"))
    >>> [sorted(child.whole) for child in blocks(one).children]
    [['a', 'b'], ['c', 'd']]
    >>> [sorted(group) for group in one.parted((frozenset("ab"),), "small").groups]
    [['a', 'b'], ['c'], ['d']]
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType

import numpy as np

from safemargin.core import Axis, BoolArray, Group, IntArray, Limits, Table, label

SENSITIVE = "a sensitive category"


@dataclass(frozen=True)
class AxisPartition:
    """An axis parted into groups; `flagged` groups are noised or suppressed; one group alone says nothing.

    `votes` and `people` are per category, in the order of the axis; `reasons` says in words why a group is not as fine
    as it could be. Values are never changed: every method returns another partition.
    """

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

    def first(self, group: Group) -> int:
        """The place of its first category."""
        return min(self.axis.index[category] for category in group)

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

    def merge(self, first: Group, second: Group, reason: str) -> "AxisPartition":
        """The axis with two groups made one."""
        return self.parted((first | second,), reason)

    def worth(self) -> IntArray:
        """What every category is worth: its people, times its weight."""
        weights = np.array([self.axis.weights.get(name, 1) for name in self.axis.categories], dtype=np.int64)
        worth: IntArray = self.people * weights
        return worth

    def parted(self, groups: tuple[Group, ...], reason: str | Mapping[Group, str]) -> "AxisPartition":
        """The axis with groups joined to larger ones; `reason` is one for all, or one for each.

        Groups that are not part of a larger one stay as they are, with their reasons; a joined group keeps the reasons
        of its parts, each once.
        """
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

    def flag(self, groups: frozenset[Group], reason: str) -> "AxisPartition":
        """The axis with `groups` marked to be noised or suppressed."""
        reasons = self.reasons | {group: self.reasons.get(group, reason) for group in groups}
        return replace(self, flagged=self.flagged | groups, reasons=reasons)

    def collapse(self, reason: str) -> "AxisPartition":
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
        """The places of a group's categories, ascending."""
        return sorted(self.axis.index[category] for category in group)

    def _distance(self, first: Group, second: Group) -> int:
        """How far up the hierarchy two groups meet."""
        paths = [set(self.axis.ancestors(category)) for category in first | second]
        shared = set.intersection(*paths)
        depth = [len(path) for path in paths]
        return max(depth, default=0) - len(shared)


def unmerged_split(table: Table, name: str) -> AxisPartition:
    """The axis as it is: every category by itself."""
    axis = table.schema.axis(name)
    votes, people = table.margin((name,)), table.people((name,))
    by_category = np.zeros((len(axis.categories), votes.counts.shape[1]), dtype=np.int64)
    by_category[votes.codes[:, 0]] = votes.counts
    sizes = np.zeros(len(axis.categories), dtype=np.int64)
    sizes[people.codes[:, 0]] = people.counts[:, 0]
    return AxisPartition(axis, by_category, sizes, tuple(frozenset([category]) for category in axis.categories))


def irregular(split: AxisPartition, limits: Limits) -> BoolArray:
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


def group_codes(split: AxisPartition) -> IntArray:
    """Per category the position of its group."""
    codes = np.zeros(len(split.axis.categories), dtype=np.int64)
    for position, group in enumerate(split.groups):
        codes[[split.axis.index[category] for category in group]] = position
    return codes


@dataclass(frozen=True, eq=False)
class GroupBlock:
    """Groups that belong together; `children` are smaller blocks, none if it is one group.

    Children part the groups. A block is compared by identity: trees are made once per axis.
    """

    groups: tuple[Group, ...]
    children: tuple["GroupBlock", ...] = ()

    @cached_property
    def whole(self) -> Group:
        """All categories of the block."""
        return frozenset().union(*self.groups)


def blocks(split: AxisPartition, kinds: Mapping[Group, str] = MappingProxyType({})) -> GroupBlock:
    """All groups of an axis in one block, made of smaller ones; a matter of the roll alone.

    `kinds` says of every group where most of its people are on other axes: groups of one kind cover each other first.
    If all early voters are at six sites, the total of early voters discloses a site that a site of another kind covers.
    Groups of kept categories are blocks by themselves below the whole: what others need does not touch them.
    """
    alone = [group for group in split.groups if group <= split.axis.kept]
    if alone and len(split.groups) > 1:
        return _with_kept(split, kinds, frozenset(alone))
    if split.axis.ordered:
        leaves = sorted(split.groups, key=split.first)
        return _paired([GroupBlock((group,)) for group in leaves])
    areas: dict[tuple[str, ...], list[GroupBlock]] = {}
    sizes = {group: split.size(group) for group in split.groups}
    for group in sorted(split.groups, key=lambda part: (sizes[part], label(part, split.axis.categories))):
        path = _area(split, group) if split.axis.parents else (kinds[group],) if group in kinds else ()
        areas.setdefault(path, []).append(GroupBlock((group,)))
    while len(areas) > 1 or () not in areas:
        deepest = max(areas, key=lambda path: (len(path), path))
        whole = _paired(areas.pop(deepest))
        above = areas.setdefault(deepest[1:], [])
        above.append(whole)
        above.sort(key=lambda block: sum(sizes[group] for group in block.groups))
    return _paired(areas[()])


def _with_kept(split: AxisPartition, kinds: Mapping[Group, str], alone: frozenset[Group]) -> GroupBlock:
    """The whole with kept groups right below it; in an ordered axis they part the others, which stay neighbours."""
    runs: list[list[Group]] = [[]]
    for group in sorted(split.groups, key=split.first):
        if group in alone:
            runs += [[group], []]
        elif split.axis.ordered:
            runs[-1].append(group)
        else:
            runs[0].append(group)
    axis = replace(split.axis, apart=frozenset())
    parts = [blocks(replace(split, axis=axis, groups=tuple(run)), kinds) for run in runs if run]
    return GroupBlock(tuple(group for part in parts for group in part.groups), tuple(parts))


def _area(split: AxisPartition, group: Group) -> tuple[str, ...]:
    """The areas that hold all of a group, from the smallest up."""
    paths = [split.axis.ancestors(category) for category in sorted(group)]
    return tuple(area for area in paths[0] if all(area in path for path in paths))


def _paired(parts: Sequence[GroupBlock]) -> GroupBlock:
    """Two by two until one block is left; the last three together if the number is odd."""
    level = list(parts)
    while len(level) > 1:
        ends = [*range(2, len(level) - 1, 2), len(level)]
        level = [_joined(level[start:end]) for start, end in zip([0, *ends], ends, strict=False)]
    return level[0]


def _joined(parts: Sequence[GroupBlock]) -> GroupBlock:
    """Two or three blocks as one; of three, the first two may still cover each other."""
    if len(parts) == 3:  # the first two may still cover each other
        parts = (_joined(parts[:2]), parts[2])
    return GroupBlock(tuple(group for part in parts for group in part.groups), tuple(parts))
