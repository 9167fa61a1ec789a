"""How one axis is to be published: its groups, which of them are protected, and why."""

from dataclasses import dataclass, field, replace

import numpy as np

from safemargin.model.arrays import BoolArray, IntArray
from safemargin.model.domain import Axis
from safemargin.model.published import Group, label
from safemargin.model.table import Table
from safemargin.model.target import Limits


@dataclass(frozen=True)
class Split:
    """An axis parted into groups; `flagged` groups are noised or withheld; one group alone says nothing."""

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
            at = sorted(self.groups, key=lambda one: min(self.axis.index[c] for c in one)).index(group)
            ranked = sorted(self.groups, key=lambda one: min(self.axis.index[c] for c in one))
            others = [ranked[place] for place in (at - 1, at + 1) if 0 <= place < len(ranked)]
        if self.axis.parents and others:
            distance = {other: self._distance(group, other) for other in others}
            others = [other for other in others if distance[other] == min(distance.values())]
        return sorted(others, key=lambda other: (self.size(other), label(other, self.axis.categories)))

    def merge(self, first: Group, second: Group, reason: str) -> "Split":
        """The axis with two groups made one."""
        merged = first | second
        groups = tuple(merged if one == first else one for one in self.groups if one != second)
        earlier = [why for one in (first, second) if one in self.reasons for why in self.reasons[one].split("; ")]
        words = "; ".join(dict.fromkeys([*earlier, reason]))
        reasons = {one: why for one, why in self.reasons.items() if one not in (first, second)} | {merged: words}
        return replace(self, groups=groups, reasons=reasons, flagged=self.flagged - {first, second})

    def flag(self, groups: frozenset[Group], reason: str) -> "Split":
        """The axis with `groups` marked to be noised or withheld."""
        reasons = self.reasons | {one: self.reasons.get(one, reason) for one in groups}
        return replace(self, flagged=self.flagged | groups, reasons=reasons)

    def collapse(self, reason: str) -> "Split":
        """The axis not published at all."""
        whole = frozenset(self.axis.categories)
        return replace(self, groups=(whole,), reasons={whole: reason}, flagged=frozenset())

    def loss(self) -> int:
        """People whose group is not published by itself; an axis that says nothing costs half as much again."""
        if not self.is_published:
            return int(self.people.sum()) * 3 // 2
        return sum(self.size(group) for group in self.groups if len(group) > 1 or group in self.flagged)

    def _codes(self, group: Group) -> list[int]:
        return sorted(self.axis.index[category] for category in group)

    def _distance(self, first: Group, second: Group) -> int:
        """How far up the hierarchy two groups meet."""
        paths = [set(self.axis.ancestors(category)) for category in first | second]
        shared = set.intersection(*paths)
        depth = [len(path) for path in paths]
        return max(depth, default=0) - len(shared)


def split(table: Table, name: str) -> Split:
    """The axis as it is: every category by itself."""
    axis = table.schema.axis(name)
    votes, people = table.margin((name,)), table.people((name,))
    by_category = np.zeros((len(axis.categories), votes.counts.shape[1]), dtype=np.int64)
    by_category[votes.codes[:, 0]] = votes.counts
    sizes = np.zeros(len(axis.categories), dtype=np.int64)
    sizes[people.codes[:, 0]] = people.counts[:, 0]
    return Split(axis, by_category, sizes, tuple(frozenset([category]) for category in axis.categories))


def irregular(one: Split, limits: Limits) -> BoolArray:
    """Per group whether its exact count is outside the target."""
    return np.array([not one.regular(group, limits) for group in one.groups])
