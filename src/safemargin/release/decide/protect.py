"""How one axis is protected: merge what is small, then what voted nearly alike; or suppress or noise it.

The roll alone says which groups cover each other: neighbours in the order, in the same area, or of nearly the same
size, two by two, then two such pairs, and so on. A group whose share is outside the strict limits is published
together with the others of its block, or of the next larger one. Looking at votes for a cheaper partner would disclose
more: that the partner was needed.

Which groups are noised is drawn by lot near the limits, so that an epsilon covers the choice as well. That a group is
noised because its share is outside the limits would disclose, beside the noisy count, on which side of a limit it is.
So every group is moved towards the nearest limit by a number of answers drawn from the law of the noise, and noised if
that carries it over. A group outside is always noised, and one within by `k` answers with a chance that falls by
`exp(-epsilon)` with each of them: exchanging two answers changes the odds of the choice by `exp(2 * epsilon)`.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from safemargin.core import Group, IntArray, Limits, label
from safemargin.release.decide.coarsen import coarsen
from safemargin.release.decide.split import Split
from safemargin.samplers import Geometric

Forced = Mapping[Group, str]
"""Blocks of an axis that are published as one although smaller ones are regular, each with the reason."""


@dataclass(frozen=True, eq=False)
class GroupBlock:
    """Groups that belong together; `parts` are smaller blocks, none if it is one group."""

    groups: tuple[Group, ...]
    parts: tuple["GroupBlock", ...] = ()

    @cached_property
    def whole(self) -> Group:
        """All categories of the block."""
        return frozenset().union(*self.groups)


def blocks(split: Split) -> GroupBlock:
    """All groups of an axis in one block, made of smaller ones; a matter of the roll alone."""
    if split.axis.ordered:
        leaves = sorted(split.groups, key=lambda group: min(split.axis.index[category] for category in group))
        return _paired([GroupBlock((group,)) for group in leaves])
    areas: dict[tuple[str, ...], list[GroupBlock]] = {}
    for group in sorted(split.groups, key=lambda part: (split.size(part), label(part, split.axis.categories))):
        areas.setdefault(_area(split, group), []).append(GroupBlock((group,)))
    while len(areas) > 1 or () not in areas:
        deepest = max(areas, key=lambda path: (len(path), path))
        whole = _paired(areas.pop(deepest))
        above = areas.setdefault(deepest[1:], [])
        above.append(whole)
        above.sort(key=lambda block: sum(split.size(group) for group in block.groups))
    return _paired(areas[()])


def _area(split: Split, group: Group) -> tuple[str, ...]:
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
    if len(parts) == 3:  # the first two may still cover each other
        parts = (_joined(parts[:2]), parts[2])
    return GroupBlock(tuple(group for part in parts for group in part.groups), tuple(parts))


class Cover:
    """How one axis is published: a cut through its tree of blocks, for the votes that were cast or for any others.

    `split` has the groups that the roll alone leaves, `limits` are the strict ones of decisions. Whatever decides that
    more is merged, a single group, a difference or all tables together, moves the cut up the same tree. So every
    release could also come from shares of single groups, which is how an onlooker who knows the rule is answered.
    """

    def __init__(self, split: Split, limits: Limits) -> None:
        self.split, self.limits = split, limits
        self.tree = blocks(split)
        self.parents: dict[Group, GroupBlock] = {}
        waiting = [self.tree]
        while waiting:
            block = waiting.pop()
            self.parents |= {part.whole: block for part in block.parts}
            waiting += block.parts

    def with_votes(self, votes: IntArray) -> "Cover":
        """The same axis with other votes per category."""
        other = copy(self)
        other.split = replace(self.split, votes=votes)
        return other

    def cut(self, forced: Collection[Group] = ()) -> tuple[GroupBlock, ...]:
        """The blocks that are published: the smallest that are regular and not inside a `forced` one.

        The whole tree as one block stands for an axis that is omitted.
        """
        return self._cut(self.tree, forced) or (self.tree,)

    def _cut(self, block: GroupBlock, forced: Collection[Group]) -> tuple[GroupBlock, ...] | None:
        if block.parts and block.whole not in forced:
            below = [self._cut(part, forced) for part in block.parts]
            if all(part is not None for part in below):
                return tuple(leaf for part in below if part is not None for leaf in part)
        return (block,) if self.is_regular(block) else None

    def is_regular(self, block: GroupBlock) -> bool:
        """Whether a block may be published as one: large enough, within the strict limits, nothing that is apart."""
        apart = bool(block.parts) and any(pair <= block.whole for pair in self.split.axis.apart)
        return not apart and self.split.regular(block.whole, self.limits)

    def published(self, forced: Forced) -> Split:
        """The axis with blocks merged; `forced` gives the reason of those that more than their own shares ask for."""
        split, cut = self.split, self.cut(forced)
        if cut == (self.tree,) and self.tree.parts:
            return split.collapse(forced.get(self.tree.whole, f"{ALIKE}, and merging does not hide it"))
        for block in cut:
            if block.parts:
                why = [reason for group, reason in forced.items() if group <= block.whole] or [ALIKE]
                split = split.parted((block.whole,), "; ".join(dict.fromkeys(why)))
        return split

    def merged_by_force(self, forced: Forced) -> Split:
        """The axis with nothing merged but the `forced` blocks."""
        split = self.split
        for group, reason in forced.items():
            if not any(group < other for other in forced):
                split = split.collapse(reason) if group == self.tree.whole else split.parted((group,), reason)
        return split

    def hidden(self, forced: Forced, word: str) -> Split:
        """The axis with the groups of merged blocks flagged instead: what they add up to is all that is known."""
        split, cut = self.split, self.cut(forced)
        if cut == (self.tree,) and self.tree.parts:
            return split.collapse(forced.get(self.tree.whole, f"{ALIKE}, and no other group covers it"))
        hidden = frozenset(group for block in cut if block.parts for group in block.groups)
        bad = frozenset(group for group in hidden if not split.regular(group, self.limits))
        return split.flag(bad, f"{ALIKE}; {word}").flag(hidden, f"{COVER}; {word}") if hidden else split

    def merged_blocks(self, split: Split) -> list[GroupBlock]:
        """The blocks whose parts are not published, as everybody can see: the largest that are merged or hidden."""
        shown = {group for group in split.groups if group not in split.flagged} if split.is_published else set()
        merged, waiting = [], [self.tree]
        while waiting:
            block = waiting.pop()
            if block.parts and (block.whole in shown or not any(group <= block.whole for group in shown)):
                merged.append(block)
            else:
                waiting += block.parts
        return merged


Reach = Callable[[str, Group], int]
"""How many answers a group of an axis is moved."""

Unit = tuple[Group, ...]
"""Groups that are noised together or not at all."""


@dataclass(frozen=True)
class Lot:
    """Draws a reach for every group, once: a group that is looked at again has the same."""

    epsilon: float
    _drawn: dict[tuple[str, Group], int] = field(default_factory=dict, compare=False)

    def __call__(self, axis: str, group: Group) -> int:
        """How far a group is moved; fresh from system entropy."""
        if (axis, group) not in self._drawn:
            # The chance that the size of two-sided noise reaches k falls by at most exp(epsilon) with each k.
            self._drawn[axis, group] = abs(int(Geometric(self.epsilon).protect(np.zeros(1, dtype=np.int64))[0]))
        return self._drawn[axis, group]


def drawn(split: Split, limits: Limits, reach: Reach) -> list[Unit]:
    """The units of an axis in which some group is carried over a limit."""
    name = split.axis.name
    return [unit for unit in units(split) if any(reach(name, group) >= room(split, group, limits) for group in unit)]


def units(split: Split) -> list[Unit]:
    """The groups of an axis two by two, or a few more; a matter of the roll alone.

    No group has more than three quarters of the people of its unit, if that can be: else it alone could carry the
    unit, of which the sum may be known, out of the limits.
    """
    grouped: list[Unit] = []
    left: Unit = ()
    for unit in _units(split, blocks(split)):
        left = (*left, *unit)
        sizes = [split.size(group) for group in left]
        if 4 * max(sizes) <= 3 * sum(sizes):
            grouped.append(left)
            left = ()
    if left:
        grouped = [*grouped[:-1], (*(grouped[-1] if grouped else ()), *left)]
    return grouped


def room(split: Split, group: Group, limits: Limits) -> int:
    """How many answers have to change until a group is outside the limits; 0 if it is."""
    if not split.regular(group, limits):
        return 0
    counts, people = split.counts(group)[None, :], np.array([split.size(group)])
    spare = np.minimum(counts - limits.least(people), limits.most(people) - counts)[0]
    judged = ~np.array(limits.unchosen or (False,) * len(spare))
    # One more than the spare answers: at the last count within a limit a group is still regular.
    return int(spare[judged].min(initial=int(people[0]))) + 1


def _units(split: Split, block: GroupBlock) -> list[Unit]:
    if not block.parts:
        return [block.groups]
    pairs = [unit for part in block.parts for unit in _units(split, part)]
    alone = [unit for unit in pairs if len(unit) == 1]
    pairs = [unit for unit in pairs if len(unit) > 1]
    if len(alone) > 1 or not pairs:
        return [*pairs, tuple(group for unit in alone for group in unit)]
    if alone:  # a single group joins the smallest of the others
        smallest = min(pairs, key=lambda unit: _rank(split, unit))
        pairs[pairs.index(smallest)] = (*smallest, *alone[0])
    return pairs


def _rank(split: Split, unit: Sequence[Group]) -> tuple[int, str]:
    return sum(split.size(group) for group in unit), label(frozenset().union(*unit), split.axis.categories)


SMALL = "fewer than {kappa} people"
ALIKE = "a share beyond a limit, or one answer short of it"
LOT = "drawn by lot, so that nobody can infer which groups needed noise"
COVER = "covers a group whose count could be inferred by subtraction"


def by_size(split: Split, kappa: int) -> Split:
    """Merge until every group has `kappa` people; looks at the roll only, so it discloses nothing."""
    if not split.is_published:
        return split
    merging = coarsen(split.merging(lambda people, votes: people >= kappa))
    return split.parted(merging.groups, SMALL.format(kappa=kappa))


def by_lot(split: Split, limits: Limits, reach: Reach) -> Split:
    """Mark groups to be noised: those outside the limits, others near them by lot, and those of the same units."""
    chosen = frozenset(group for unit in drawn(split, limits, reach) for group in unit) if split.is_published else None
    if not chosen:
        return split
    bad = frozenset(group for group in chosen if not split.regular(group, limits))
    return split.flag(bad, "a share beyond a limit; noised").flag(chosen, f"{LOT}; noised")
