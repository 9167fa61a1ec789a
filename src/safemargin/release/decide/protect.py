"""How one axis is protected: merge what is small, then what voted nearly alike; or suppress or noise it.

The roll alone says which groups cover each other: neighbours in the order, in the same area, or of nearly the same
size, two by two, then two such pairs, and so on. A group whose share is outside the limits is published together with
the others of its block, or of the next larger one. Looking at votes for a cheaper partner would disclose more: that the
partner was needed. A group at the last count within a limit is treated like one outside, so that to be protected does
not mean to be outside. A block is good enough if other votes with the same sums would have been published the same way,
and leave open how each of its groups voted. Such votes are searched and tried out; if none are found, the block grows.

Which groups are noised is drawn by lot near the limits, so that an epsilon covers the choice as well. That a group is
noised because its share is outside the limits would disclose, beside the noisy count, on which side of a limit it is.
So every group is moved towards the nearest limit by a number of answers drawn from the law of the noise, and noised if
that carries it over. A group outside is always noised, and one within by `k` answers with a chance that falls by
`exp(-epsilon)` with each of them: exchanging two answers changes the odds of the choice by `exp(2 * epsilon)`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from safemargin.core import Generator, Group, IntArray, Limits, label, numpy_generator
from safemargin.release.decide.coarsen import coarsen
from safemargin.release.decide.split import Split
from safemargin.samplers import Geometric

SEED = 40_000
TRIES = 60
"""Random votes per group and option that are tried out."""


@dataclass(frozen=True, eq=False)
class GroupBlock:
    """Groups that belong together; `parts` are smaller blocks, none if it is one group."""

    groups: tuple[Group, ...]
    parts: tuple["GroupBlock", ...] = ()


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
    return GroupBlock(tuple(group for part in parts for group in part.groups), tuple(parts))


class Cover:
    """The rule for one axis, for the votes that were cast and for any others."""

    def __init__(self, split: Split, limits: Limits) -> None:
        self.split, self.limits = split, limits
        self.code_of = {group: code for code, group in enumerate(split.groups)}
        self.people = np.array([split.size(group) for group in split.groups], dtype=np.int64)
        self.whole = blocks(split)
        self._hidden: dict[tuple[GroupBlock, tuple[int, ...]], bool] = {}

    def published(self, votes: IntArray) -> list[tuple[Group, ...]] | None:
        """The groups, or blocks of them, that would be published for these votes per group; None if nothing would."""
        return self._publish(self.whole, votes)

    def _publish(self, block: GroupBlock, votes: IntArray) -> list[tuple[Group, ...]] | None:
        if not block.parts:
            return [block.groups] if self._regular(block, votes) else None
        # A block is published as one only if some part of it cannot be: parts that can stay as fine as they are.
        below = [self._publish(part, votes) for part in block.parts]
        if all(part is not None for part in below):
            return [groups for part in below if part is not None for groups in part]
        return [block.groups] if self._regular(block, votes) and self._hides(block, votes) else None

    def _codes(self, block: GroupBlock) -> list[int]:
        return [self.code_of[group] for group in block.groups]

    def _regular(self, block: GroupBlock, votes: IntArray) -> bool:
        codes = self._codes(block)
        counts, people = votes[codes].sum(axis=0)[None, :], self.people[codes].sum(keepdims=True)
        union = frozenset().union(*block.groups)
        apart = len(block.groups) > 1 and any(pair <= union for pair in self.split.axis.apart)
        if apart or not (self.limits.verdicts(counts, counts, people) == 0).all():
            return False
        # At the last count within a limit a group is protected too: being protected then does not disclose that it
        # is outside.
        return len(block.groups) > 1 or not self.limits.last(counts, people).any()

    def _hides(self, block: GroupBlock, votes: IntArray) -> bool:
        """Whether other votes that are published as this block leave open how each group of it voted."""
        codes = self._codes(block)
        sums = votes[codes].sum(axis=0)
        key = (block, tuple(sums.tolist()))
        if key not in self._hidden:
            # The answer depends on what the public sees of the block (its sums), never on the votes inside: else the
            # decision would disclose them to an onlooker who knows the rule.
            people = self.people[codes]
            lower, upper = votes[codes] * 0 + people[:, None], votes[codes] * 0
            hidden = False
            for other in self._others(block, sums):
                if hidden:
                    break
                trial = votes.copy()
                trial[codes] = other
                if not all(self._publish(part, trial) is not None for part in block.parts):
                    lower, upper = np.minimum(lower, other), np.maximum(upper, other)
                    hidden = not (self.limits.verdicts(lower, upper, people) == 2).any()  # no witness yet: disclosed
            self._hidden[key] = hidden
        return self._hidden[key]

    def _others(self, block: GroupBlock, sums: IntArray) -> Iterator[IntArray]:
        """Votes with the same sums: each group in turn as much for, or against, an option as can be, the rest mixed."""
        generator = numpy_generator(SEED)
        people = self.people[self._codes(block)]
        silent = int(people.sum()) - int(sums.sum())
        pool = np.append(sums, silent)
        for _ in range(TRIES):
            for group in range(len(people)):
                for option in range(len(sums)):
                    for most in (True, False):
                        yield _dealt(pool, people, group, option, most, generator)[:, :-1]


def _dealt(pool: IntArray, people: IntArray, first: int, option: int, most: bool, generator: Generator) -> IntArray:
    """Answers dealt out to groups at random, but that one group gets as many, or as few, of an option as can be."""
    left = pool.copy()
    dealt = np.zeros((len(people), len(pool)), dtype=np.int64)
    others = int(left.sum()) - int(left[option])
    size = int(people[first])
    count = min(size, int(left[option])) if most else max(0, size - others)
    dealt[first, option] = count
    rest = left.copy()
    rest[option] = 0
    dealt[first] += generator.multivariate_hypergeometric(rest, size - count, method="marginals")
    left -= dealt[first]
    for group in range(len(people)):
        if group != first:
            dealt[group] = generator.multivariate_hypergeometric(left, int(people[group]), method="marginals")
            left -= dealt[group]
    return dealt


def covered(split: Split, limits: Limits) -> list[tuple[Group, ...]] | None:
    """The groups of an axis that may be published by themselves, and those that must cover each other."""
    votes = np.stack([split.counts(group) for group in split.groups])
    return Cover(split, limits).published(votes)


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


def by_rate(split: Split, limits: Limits) -> Split:
    """Merge groups whose share is outside the limits with those that cover them, until all are regular."""
    if not split.is_published:
        return split
    parts = covered(split, limits)
    if parts is None:
        return split.collapse(f"{ALIKE}, and merging does not hide it")
    return split.parted(tuple(frozenset().union(*part) for part in parts), ALIKE)


def by_lot(split: Split, limits: Limits, reach: Reach) -> Split:
    """Mark groups to be noised: those outside the limits, others near them by lot, and those of the same units."""
    chosen = frozenset(group for unit in drawn(split, limits, reach) for group in unit) if split.is_published else None
    if not chosen:
        return split
    bad = frozenset(group for group in chosen if not split.regular(group, limits))
    return split.flag(bad, "a share beyond a limit; noised").flag(chosen, f"{LOT}; noised")


def flag(split: Split, limits: Limits, word: str) -> Split:
    """Mark irregular groups to be suppressed, with those that cover them.

    The groups of an axis add up to the exact total, so a single protected one would follow by subtraction.
    """
    # Remark 3 of the paper: suppression has to look at all groups of the axis at once.
    parts = covered(split, limits) if split.is_published else [split.groups]
    if parts is None:
        return split.collapse(f"{ALIKE}, and no other group covers it")
    hidden = frozenset(group for part in parts if len(part) > 1 for group in part)
    bad = frozenset(group for group in hidden if not split.regular(group, limits))
    return split.flag(bad, f"{ALIKE}; {word}").flag(hidden, f"{COVER}; {word}") if hidden else split
