"""How one axis is protected: merge what is small, then what voted nearly alike; or suppress or noise it.

Objects
    regular     a block with kappa people or more and all shares within the strict limits: it may be published
    cut         blocks that part the axis, each published as one group
    cover       a group that is suppressed beside another, so that its count does not follow from a sum

Statement
    The roll alone says which groups cover each other: neighbours in the order, in the same area, or of nearly the same
    size, two by two, then two such pairs, and so on. A group whose share is outside the strict limits is published
    together with the others of its block, or of the next larger one. Looking at votes for a cheaper partner would
    disclose more: that the partner was needed.

    `cut` is monotone: forcing a block, or making one irregular, only ever moves the cut up. So whatever decides that
    more
    is merged (a single group, a difference, all tables together) moves it up the same tree, and every release could
    also
    come from shares of single groups. That is how an onlooker who knows the rule is answered (`rerun.py`).

Invariants
    * `hidden_by_roll`, `kinds_of` and `by_size` read the roll only; what they do discloses nothing about answers.
    * Suppressed groups are never one alone: the total less the others would be its count.
    * If suppression would take every group, the axis is omitted.
"""

from collections.abc import Collection, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from types import MappingProxyType

import numpy as np

from safemargin.core import Group, IntArray, Limits, Table, group_sums
from safemargin.release.rule.coarsen import Merging, coarsen
from safemargin.release.rule.hide import is_regular, next_cover, suppressed
from safemargin.release.rule.split import SENSITIVE, AxisPartition, GroupBlock, blocks, group_codes

Forced = Mapping[Group, str]
"""Blocks of an axis that are published as one although smaller ones are regular, each with the reason."""


NEARLY_ALL = 9, 10
"""Groups with so many of their people in one group of another axis are of a kind: its total nearly is their sum."""


FEW_GROUPS = 8
"""Groups of an axis below which two of them say more merged than suppressed: little else would be left."""


def suppresses_single(split: AxisPartition) -> bool:
    """Whether `auto` suppresses single groups of an axis: many, without an order or areas. Reads the roll only."""
    return len(split.groups) >= FEW_GROUPS and not split.axis.ordered and split.axis.hierarchy is None


def kinds_of(table: Table, splits: Sequence[AxisPartition]) -> list[dict[Group, str]]:
    """Per axis, and per group of it, the groups of other axes that hold nearly all of its people."""
    names = table.schema.names
    if not table.knows_composition:
        return [{} for _ in names]
    roll = table.people(names)
    people = roll.counts[:, 0]
    codes = [group_codes(split)[roll.codes[:, axis]] for axis, split in enumerate(splits)]
    kinds: list[dict[Group, str]] = []
    for axis, split in enumerate(splits):
        sizes = np.bincount(codes[axis], people, minlength=len(split.groups))
        labels: list[list[str]] = [[] for _ in split.groups]
        for other, inner in enumerate(codes):
            if other == axis:
                continue
            both = codes[axis] * len(splits[other].groups) + inner
            first, sums = group_sums(both, roll.counts)
            pairs, inside = both[first], sums[:, 0]
            for pair in pairs[
                NEARLY_ALL[1] * inside >= NEARLY_ALL[0] * sizes[pairs // len(splits[other].groups)]
            ].tolist():
                place, most = divmod(pair, len(splits[other].groups))
                labels[place] = [*labels[place], f"{names[other]} {most}"]
        kinds.append({group: "; ".join(parts) for group, parts in zip(split.groups, labels, strict=True) if parts})
    return kinds


def hidden_by_roll(table: Table, splits: Sequence[AxisPartition], axis: int, kappa: int) -> frozenset[Group]:
    """Groups of an axis to suppress because others would disclose the sum over fewer than `kappa` people.

    Where some groups of the axis lie wholly in one slice of another, that slice less these groups is the sum of the
    few people who are left: provisional ballots that were counted in their precinct, beside a precinct of provisional
    ballots. The smallest of these groups is suppressed, with the smallest one that can exchange people with those who
    are left. All of this reads the roll only.
    """
    roll = table.people(table.schema.names)
    people, own = roll.counts[:, 0], group_codes(splits[axis])[roll.codes[:, axis]]
    groups = splits[axis].groups
    sizes = np.bincount(own, people, minlength=len(groups))
    hidden: set[int] = set()
    for other, split in enumerate(splits):
        if other == axis or not split.is_published:
            continue
        slices = group_codes(split)[roll.codes[:, other]]
        first, last = np.full(len(groups), len(split.groups)), np.full(len(groups), -1)
        np.minimum.at(first, own, slices)
        np.maximum.at(last, own, slices)
        inside = first == last
        whole = np.bincount(slices, people, minlength=len(split.groups))
        rest = whole - np.bincount(first[inside], sizes[inside], minlength=len(split.groups))
        for place in np.flatnonzero((rest > 0) & (rest < kappa) & (rest < whole)).tolist():
            contained = np.flatnonzero(inside & (first == place))
            straddling = np.unique(own[(slices == place) & ~inside[own]])
            shared = np.isin(slices, slices[np.isin(own, straddling)]) & (slices != place)
            partners = np.setdiff1d(own[shared], contained)
            if len(contained) and len(partners):
                hidden |= {min(many.tolist(), key=lambda code: (sizes[code], code)) for many in (contained, partners)}
    return frozenset(groups[code] for code in hidden) if len(hidden) < len(groups) else frozenset()


def sensitive_groups(split: AxisPartition, sensitive: frozenset[tuple[str, str]]) -> frozenset[Group]:
    """The groups of an axis that hold a sensitive category."""
    named = {category for axis, category in sensitive if axis == split.axis.name}
    return frozenset(group for group in split.groups if group & named)


def add_complementary_suppression(split: AxisPartition, hidden: frozenset[Group]) -> frozenset[Group]:
    """Groups to suppress, never one alone: the total less the others would be its count. Reads the roll only.

    The partner is chosen as covers are (`hide.next_cover`): the smallest group with at least a third as many people.
    """
    others = sorted((g for g in split.groups if g not in hidden), key=lambda g: (split.size(g), sorted(g)))
    if len(hidden) != 1 or not others:
        return hidden
    sizes = np.array([split.size(group) for group in others])
    return hidden | {others[next_cover(sizes, split.size(*hidden))]}


class AxisCoarsening:
    """How one axis is published: a cut through its tree of blocks, for the votes that were cast or for any others.

    `split` has the groups that the roll alone leaves, `limits` are the strict ones of decisions. Whatever decides that
    more is merged, a single group, a difference or all tables together, moves the cut up the same tree. So every
    release could also come from shares of single groups, which is how an onlooker who knows the rule is answered.
    With `hides`, the groups of a block are suppressed one by one instead of merged; `always` are groups that the roll
    alone suppresses, such as the `sensitive` ones.
    """

    def __init__(
        self,
        split: AxisPartition,
        limits: Limits,
        kinds: Mapping[Group, str] = MappingProxyType({}),
        hides: bool = False,
        always: Collection[Group] = (),
        sensitive: frozenset[Group] = frozenset(),
    ) -> None:
        self.split, self.limits, self.hides, self.always = split, limits, hides, frozenset(always)
        self._kinds, self._sensitive = kinds, sensitive
        self.tree = blocks(split, kinds)
        self.parents: dict[Group, GroupBlock] = {}
        self._nodes: list[GroupBlock] = []  # children before parents
        waiting = [self.tree]
        while waiting:
            block = waiting.pop()
            self._nodes.append(block)
            self.parents |= {part.whole: block for part in block.children}
            waiting += block.children
        self._nodes.reverse()
        order = {group: number for number, group in enumerate(self.tree.groups)}
        # A block holds neighbours in the order of the tree, so its counts are a difference of two running sums.
        self._ends = np.array([(order[node.groups[0]], len(node.groups)) for node in self._nodes]).cumsum(axis=1)
        leaf_of = np.zeros(len(split.axis.categories), dtype=np.int64)
        for group, number in order.items():
            leaf_of[[split.axis.index[category] for category in group]] = number
        self._order = np.argsort(leaf_of, kind="stable")
        self._starts = np.searchsorted(leaf_of[self._order], np.arange(len(order) + 1))
        pairs = split.axis.apart
        self._apart = np.array(
            [
                bool(node.children) and any(pair <= node.whole for pair in pairs) if pairs else False
                for node in self._nodes
            ]
        )

    def with_votes(self, votes: IntArray) -> "AxisCoarsening":
        """The same axis with other votes per category: the tree is shared, what follows from votes is dropped."""
        other = copy(self)
        other.split = replace(self.split, votes=votes)
        for kept in ("_before", "_leaves", "_regular"):
            other.__dict__.pop(kept, None)
        return other

    @cached_property
    def _before(self) -> IntArray:
        """People and votes of all groups before each, in the order of the tree."""
        rows = np.column_stack([self.split.people, self.split.votes])[self._order]
        return np.concatenate([np.zeros_like(rows[:1]), rows.cumsum(axis=0)])[self._starts]

    @cached_property
    def _regular(self) -> dict[Group, bool]:
        """Per block whether it may be published: large enough, within the strict limits, nothing that is apart."""
        sums = self._before[self._ends[:, 1]] - self._before[self._ends[:, 0]]
        inside = is_regular(sums[:, 1:], sums[:, 0], self.limits) & ~self._apart
        return {node.whole: ok for node, ok in zip(self._nodes, inside.tolist(), strict=True)}

    def cut(self, forced: Collection[Group] = ()) -> tuple[GroupBlock, ...]:
        """The blocks that are published: the smallest that are regular and not inside a `forced` one.

        Bottom up: a block can be parted if all of its children can be published or parted. The whole tree as one block
        stands for an axis that is omitted.
        """
        regular, parted = self._regular, {}
        possible: dict[Group, bool] = {}
        for node in self._nodes:
            below = (
                bool(node.children) and node.whole not in forced and all(possible[part.whole] for part in node.children)
            )
            parted[node.whole], possible[node.whole] = below, below or regular[node.whole]
        cut, waiting = [], [self.tree]
        while waiting:
            block = waiting.pop()
            if parted[block.whole]:
                waiting += block.children[::-1]
            else:
                cut.append(block)
        return tuple(cut)

    def published(self, forced: Forced) -> AxisPartition:
        """The axis as it is published; `forced` gives the reason of blocks that more than their own shares ask for."""
        return self._hidden(forced) if self.hides else self.merged(forced)

    def merged(self, forced: Forced) -> AxisPartition:
        """The axis with blocks merged: those of the cut, each with its reasons; omitted where the cut is the whole
        tree.
        """
        split, cut = self.split, self.cut(forced)
        if cut == (self.tree,) and self.tree.children:
            return split.collapse(forced.get(self.tree.whole, f"{ALIKE}, and merging does not hide it"))
        whys = {}
        for block in cut:
            if block.children:
                whys[block.whole] = [why for group, why in forced.items() if group <= block.whole] or [ALIKE]
        return split.parted(tuple(whys), {group: "; ".join(dict.fromkeys(why)) for group, why in whys.items()})

    def merged_by_force(self, forced: Forced) -> AxisPartition:
        """The axis with nothing merged but the `forced` blocks."""
        outer = {group: why for group, why in forced.items() if not any(group < other for other in forced)}
        if self.tree.whole in outer:
            return self.split.collapse(outer[self.tree.whole])
        return self.split.parted(tuple(outer), outer)

    def _hidden(self, forced: Forced) -> AxisPartition:
        """The axis with single groups suppressed: what they add up to is all that is known of them."""
        hidden = self.hidden(forced)
        if len(hidden) == len(self.tree.groups):
            return self.split.collapse(forced.get(self.tree.whole, f"{ALIKE}, and no other group covers it"))
        bad = frozenset(group for group in hidden if not self._regular[group])
        asked = {group: why for group in hidden - bad for outer, why in forced.items() if group <= outer}
        split = self.split
        for why in dict.fromkeys(asked.values()):
            split = split.flag(frozenset(group for group in asked if asked[group] == why), f"{why}; suppressed")
        for why, groups in {SENSITIVE: self._sensitive, ALIKE: bad, STRUCTURE: self.always, COVER: hidden}.items():
            split = split.flag(groups, f"{why}; suppressed") if groups else split
        return split

    def hidden(self, forced: Collection[Group]) -> frozenset[Group]:
        """The groups to suppress: outside the limits, inside a `forced` block, or covers of these.

        Covers are chosen by size and kind only (`hide.suppressed`).
        """
        groups, asked = self.tree.groups, frozenset().union(*forced)
        if self.tree.whole in forced:
            return frozenset(groups)
        bad = [code for code, group in enumerate(groups) if not self._regular[group] or group <= asked]
        always = frozenset(code for code, group in enumerate(groups) if group in self.always)
        if not bad and not always:
            return frozenset()
        kinds = [self._kinds.get(group, "") for group in groups]
        sums = self._leaves
        return frozenset(groups[c] for c in suppressed(sums[:, 0], sums[:, 1:], bad, kinds, always, self.limits))

    @cached_property
    def _leaves(self) -> IntArray:
        """People and votes of every group, in the order of the tree."""
        return np.diff(self._before, axis=0)

    def steps(self, members: Group, forced: Collection[Group]) -> list[Group]:
        """Blocks to publish as one, or to suppress, that would protect the groups of an exposed cell better.

        Merging: the next larger block around each group of the cell that is published, at most two. Suppressing: the
        groups of the cell that are still shown, and one more cover among those of their kind.
        """
        if not self.hides:
            held = [block.whole for block in self.cut(forced) if block.whole & members][:2]
            return [self.parents[group].whole for group in held if group in self.parents]
        hidden = self.hidden(forced)
        held = [group for group in self.tree.groups if group & members]
        chosen = [group for group in held if group not in hidden][:2]
        for kind in dict.fromkeys(self._kinds.get(group, "") for group in held):  # one more to cover what is suppressed
            same = [group for group in self.tree.groups if self._kinds.get(group, "") == kind]
            left = sorted((g for g in same if g not in hidden), key=lambda g: (self.split.size(g), g in chosen))
            if left:
                people = sum(self.split.size(group) for group in same if group in hidden)
                chosen.append(left[next_cover(np.array([self.split.size(group) for group in left]), people)])
        return list(dict.fromkeys(chosen))

    def merged_blocks(self, split: AxisPartition) -> list[GroupBlock]:
        """The blocks whose parts are not published, as everybody can see: the largest that are merged or hidden.

        What the roll alone hides is no matter of answers.
        """
        if self.hides and split.is_published:
            pools: dict[str, list[Group]] = {}
            for group in self.tree.groups:
                if group in split.flagged and group not in self.always:
                    pools.setdefault(self._kinds.get(group, ""), []).append(group)
            return [GroupBlock(tuple(pool), tuple(GroupBlock((g,)) for g in pool)) for pool in pools.values()]
        shown = {group for group in split.groups if group not in split.flagged} if split.is_published else set()
        merged, waiting = [], [self.tree]
        while waiting:
            block = waiting.pop()
            if block.children and (block.whole in shown or not any(group <= block.whole for group in shown)):
                merged.append(block)
            else:
                waiting += block.children
        return merged


SMALL = "fewer than {kappa} people"
ALIKE = "a share beyond a limit, or in the guard band before it"
STRUCTURE = "without it, the people of a few combinations could be inferred by subtraction"
COVER = "covers a group whose count could be inferred by subtraction"


def by_size(split: AxisPartition, kappa: int) -> AxisPartition:
    """Merge until every group has `kappa` people; looks at the roll only, so it discloses nothing.

    >>> from safemargin.core import table_of
    >>> from safemargin.release.rule.split import unmerged_split
    >>> table = table_of({"ward": ("a", "b", "c", "d")}, [[30, 20], [20, 30], [3, 7], [9, 11]], [50, 50, 10, 20])
    >>> merged = by_size(unmerged_split(table, "ward"), 30)
    >>> [sorted(group) for group in merged.groups], list(merged.reasons.values())
    ([['a'], ['b'], ['c', 'd']], ['fewer than 30 people'])
    """
    if not split.is_published:
        return split
    axis, reason = split.axis, SMALL.format(kappa=kappa)
    problem = Merging(
        axis, split.people, split.votes, split.worth(), lambda people, votes: people >= kappa, split.groups, axis.apart
    )
    groups = coarsen(problem).groups
    return split.parted(groups, reason) if groups else split.collapse(f"{reason}, and no merge helps")
