"""Which groups cover each other, so that nobody who runs the rule backwards learns how one of them voted.

The roll alone says which groups belong together: neighbours in the order, in the same area, or of nearly the same size,
two by two, then two such pairs, and so on. A group whose share is outside the limits is published together with the
others of its block, or of the next larger one. Looking at votes for a cheaper partner would tell more: that the partner
was needed. A group at the last count within a limit is treated like one outside, so that to be protected does not mean
to be outside. A block is good enough if other votes with the same sums would have been published the same way, and
leave open how each of its groups voted. Such votes are looked for and tried out; where none are found the block grows.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from safemargin.core import Generator, Group, IntArray, Limits, label, numpy_generator
from safemargin.release.decide.split import Split

SEED = 40_000
TRIES = 60
"""Random votes per group and option that are tried out."""


@dataclass(frozen=True, eq=False)
class GroupBlock:
    """Groups that belong together; `parts` are smaller blocks, none if it is one group."""

    groups: tuple[Group, ...]
    parts: tuple["GroupBlock", ...] = ()


def blocks(one: Split) -> GroupBlock:
    """All groups of an axis in one block, made of smaller ones; a matter of the roll alone."""
    if one.axis.ordered:
        leaves = sorted(one.groups, key=lambda group: min(one.axis.index[category] for category in group))
        return _paired([GroupBlock((group,)) for group in leaves])
    areas: dict[tuple[str, ...], list[GroupBlock]] = {}
    for group in sorted(one.groups, key=lambda each: (one.size(each), label(each, one.axis.categories))):
        areas.setdefault(_area(one, group), []).append(GroupBlock((group,)))
    while len(areas) > 1 or () not in areas:
        deepest = max(areas, key=lambda path: (len(path), path))
        whole = _paired(areas.pop(deepest))
        above = areas.setdefault(deepest[1:], [])
        above.append(whole)
        above.sort(key=lambda block: sum(one.size(group) for group in block.groups))
    return _paired(areas[()])


def _area(one: Split, group: Group) -> tuple[str, ...]:
    """The areas that hold all of a group, from the smallest up."""
    paths = [one.axis.ancestors(category) for category in sorted(group)]
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

    def __init__(self, one: Split, limits: Limits) -> None:
        self.one, self.limits = one, limits
        self.place = {group: code for code, group in enumerate(one.groups)}
        self.people = np.array([one.size(group) for group in one.groups], dtype=np.int64)
        self.whole = blocks(one)
        self._found: dict[tuple[GroupBlock, tuple[int, ...]], bool] = {}

    def published(self, votes: IntArray) -> list[tuple[Group, ...]] | None:
        """The groups, or blocks of them, that would be published for these votes per group; None if nothing would."""
        return self._publish(self.whole, votes)

    def _publish(self, block: GroupBlock, votes: IntArray) -> list[tuple[Group, ...]] | None:
        if not block.parts:
            return [block.groups] if self._regular(block, votes) else None
        below = [self._publish(part, votes) for part in block.parts]
        if all(part is not None for part in below):
            return [groups for part in below if part is not None for groups in part]
        return [block.groups] if self._regular(block, votes) and self._hides(block, votes) else None

    def _codes(self, block: GroupBlock) -> list[int]:
        return [self.place[group] for group in block.groups]

    def _regular(self, block: GroupBlock, votes: IntArray) -> bool:
        codes = self._codes(block)
        counts, people = votes[codes].sum(axis=0)[None, :], self.people[codes].sum(keepdims=True)
        union = frozenset().union(*block.groups)
        apart = len(block.groups) > 1 and any(pair <= union for pair in self.one.axis.apart)
        if apart or not (self.limits.verdicts(counts, counts, people) == 0).all():
            return False
        # at the last count within a limit a group is protected too: that it is does not tell, then, that it is outside
        return len(block.groups) > 1 or not self.limits.last(counts, people).any()

    def _hides(self, block: GroupBlock, votes: IntArray) -> bool:
        """Whether other votes that are published as this block leave open how each group of it voted."""
        codes = self._codes(block)
        sums = votes[codes].sum(axis=0)
        key = (block, tuple(sums.tolist()))
        if key not in self._found:
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
            self._found[key] = hidden
        return self._found[key]

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


def covered(one: Split, limits: Limits) -> list[tuple[Group, ...]] | None:
    """The groups of an axis that may be published by themselves, and those that must cover each other."""
    votes = np.stack([one.counts(group) for group in one.groups])
    return Cover(one, limits).published(votes)
