"""Integer tables where nearly every profile is one person: many axes.

There, hardly two profiles differ in one axis only, so no exchange of two pairs keeps every margin. A vertex of the
linear program has few fractions; rounding them misses a few margins by a few votes. Sets of people who change their
answer make up for that: lists of such sets are joined so that the margins of some axes hold, then those of more, each
time with twice as many people (Wagner, A generalized birthday problem, CRYPTO 2002). A set is compared by sums of
random 64-bit numbers, one per slice; whether a table satisfies every fact is then checked by addition.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

from safemargin.bounds.effort import EFFORT
from safemargin.core import FloatArray, Generator, IntArray

Keys = NDArray[np.uint64]
"""Sums of random numbers modulo 2^64."""


@dataclass(frozen=True)
class Sets:
    """One set of changes per row: profiles in which a person takes up an option, and those in which one drops it."""

    taken: IntArray
    dropped: IntArray

    def keys(self, of_profile: Keys) -> Keys:
        """The sum over the changes of every set."""
        total = np.zeros(len(self.taken), dtype=np.uint64)
        for column in self.taken.T:
            total += of_profile[column]
        for column in self.dropped.T:
            total -= of_profile[column]
        return total

    def joined(self, other: "Sets", first: IntArray, second: IntArray) -> "Sets":
        """Sets of this list and of the other in one, without those that would change a profile twice."""
        once = np.ones(len(first), dtype=bool)
        for mine, others in ((self.taken, other.taken), (self.dropped, other.dropped)):
            for a, b in product(mine.T, others.T):
                once &= a[first] != b[second]
        first, second = first[once], second[once]
        return Sets(
            np.concatenate([self.taken[first], other.taken[second]], axis=1),
            np.concatenate([self.dropped[first], other.dropped[second]], axis=1),
        )


@dataclass(frozen=True)
class JoinChances:
    """Per level and block, how often two sets of a level together change no margin of the block, or mend it (`goal`).

    At level 0, one side are people who take up the option and the other those who drop it.
    """

    none: tuple[FloatArray, ...]
    goal: tuple[FloatArray, ...]


@dataclass(frozen=True)
class Joins:
    """Which blocks are compared at every level, with lists of `size` sets; `expected` are the sets found at the end."""

    size: int
    blocks: tuple[tuple[int, ...], ...]
    expected: float

    @property
    def cost(self) -> int:
        """Entries of the longest lists."""
        return self.size << len(self.blocks)


class Birthday:
    """Sets of changes between one option and the rest, with one key per block and profile."""

    def __init__(self, keys: Keys, taking: IntArray, dropping: IntArray, goal: Keys, generator: Generator) -> None:
        self.keys, self.taking, self.dropping, self.goal, self.generator = keys, taking, dropping, goal, generator

    def search(self, most: int, expected: float = EFFORT.birthday_expected) -> Sets:
        """Sets that add up to the goal in every block, with lists of at most `most`; none if that is out of reach.

        Lists are as short as so many `expected` sets allow.
        """
        nothing = Sets(np.zeros((0, 1), dtype=np.int64), np.zeros((0, 1), dtype=np.int64))
        joins = (
            cheapest(self.chances, len(self.taking), len(self.dropping), most, expected) if self._can_change else None
        )
        if joins is None:
            return nothing
        neutral = Sets(self.taking[:, None], np.zeros((len(self.taking), 0), dtype=np.int64))
        mending = other = Sets(np.zeros((len(self.dropping), 0), dtype=np.int64), self.dropping[:, None])
        for level, blocks in enumerate(joins.blocks):
            mending = self._join(neutral, mending, blocks, joins.size, mends=True)
            if level < len(joins.blocks) - 1:
                neutral = self._join(neutral, neutral if level else other, blocks, joins.size, mends=False)
        return mending

    @property
    def _can_change(self) -> bool:
        return len(self.taking) > 0 and len(self.dropping) > 0

    def _join(self, first: Sets, second: Sets, blocks: Sequence[int], most: int, mends: bool) -> Sets:
        """Pairs of sets that change no margin of these blocks, or mend them; at most so many, drawn at random."""
        of_profile = self.keys[list(blocks)].sum(axis=0, dtype=np.uint64)
        wanted = self.goal[list(blocks)].sum(dtype=np.uint64) if mends else np.uint64(0)
        sought, have = first.keys(of_profile), wanted - second.keys(of_profile)
        order = np.argsort(have, kind="stable")
        ranked = have[order]
        start = np.searchsorted(ranked, sought, side="left")
        ends = np.cumsum(np.searchsorted(ranked, sought, side="right") - start)
        total = int(ends[-1]) if len(ends) else 0
        # A list joined with itself finds every pair twice; one of both is omitted below.
        itself = second is first
        chosen = self._some(total, most * (1 + itself))
        row = np.searchsorted(ends, chosen, side="right")
        column = order[start[row] + chosen - np.r_[0, ends][row]]
        if itself:
            row, column = row[row < column], column[row < column]
        return first.joined(second, row, column)

    def _some(self, total: int, most: int) -> IntArray:
        """At most so many of the first whole numbers, ascending."""
        if total <= most:
            return np.arange(total)
        return np.unique(self.generator.integers(0, total, size=most))

    @cached_property
    def chances(self) -> JoinChances:
        """Estimated from random sets; how blocks go together is not looked at."""
        count, draw = EFFORT.birthday_sample, self.generator
        none, goal = [], []
        for level in range(EFFORT.birthday_levels):
            people = 1 << max(level - 1, 0)
            taken, dropped = (draw.choice(some, size=(count, people)) for some in (self.taking, self.dropping))
            neutral, mended = [], []
            for keys, wanted in zip(self.keys, self.goal, strict=True):
                gained, lost = keys[taken].sum(axis=1, dtype=np.uint64), keys[dropped].sum(axis=1, dtype=np.uint64)
                first, second = (gained, lost) if level == 0 else (gained - lost, lost - gained)
                neutral.append(_matches(first, second, level > 0))
                mended.append(_matches(first, second + wanted, level > 0 and not wanted))
            none.append(np.array(neutral))
            goal.append(np.array(mended))
        return JoinChances(tuple(none), tuple(goal))


def _matches(first: Keys, second: Keys, same: bool) -> float:
    """The share of pairs that are equal; where both lists are the `same`, without the pairs of one with itself."""
    values, number = np.unique(first, return_counts=True)
    ranked = np.sort(second)
    there = np.searchsorted(ranked, values, side="right") - np.searchsorted(ranked, values, side="left")
    pairs = float((number * there).sum()) - (len(first) if same else 0)
    return max(pairs, 1e-3) / len(first) ** 2


def cheapest(
    chances: JoinChances, taking: int, dropping: int, most: int, expected: float = EFFORT.birthday_expected
) -> Joins | None:
    """The shortest lists and fewest levels that can be expected to lead to enough sets."""
    found: list[Joins] = []
    for levels in range(2, EFFORT.birthday_levels + 1):
        size = EFFORT.birthday_least
        while size <= most:
            joins = _assigned(chances, (taking, dropping), size, levels)
            if joins.expected >= expected:
                found.append(joins)
                break
            size *= 2
    return min(found, key=lambda joins: joins.cost, default=None)


def _assigned(chances: JoinChances, sides: tuple[int, int], size: int, levels: int) -> Joins:
    """Blocks to the earliest level whose lists stay long enough, those first that need not be mended."""
    left, chosen = list(range(len(chances.none[0]))), []
    neutral = mending = float(sides[0]) * sides[1]
    for level in range(levels - 1):
        none, goal = chances.none[level], chances.goal[level]
        here: list[int] = []
        for block in sorted(left, key=lambda block: (-goal[block] / none[block], none[block])):
            if neutral * none[block] >= size:
                neutral, mending = neutral * none[block], mending * goal[block]
                here.append(block)
        left = [block for block in left if block not in here]
        chosen.append(tuple(here))
        neutral, mending = min(neutral, float(size)), min(mending, float(size))
        # Two sets of so many profiles out of all share none: about exp(-m^2 / n) on either side.
        apart = float(np.exp(-(4.0**level) * sum(1 / side for side in sides)))
        neutral, mending = apart * neutral**2 / 2, apart * neutral * mending
    return Joins(size, (*chosen, tuple(left)), mending * float(np.prod(chances.goal[levels - 1][left])))
