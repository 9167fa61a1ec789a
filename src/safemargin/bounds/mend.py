"""Integer tables where nearly every profile is one person: many axes.

Objects
    matrix      counts per profile and option that miss some margins by a few votes
    change      one person of a profile takes up the option in question, or drops it, against the rest
    key[b][e]   a random 64-bit number for the slice of profile e in block b; sums are taken modulo 2^64
    goal[b]     the sum of what the slices of block b lack, each times its number

Why
    There, hardly two profiles differ in one axis only, so no exchange of two pairs keeps every margin. A vertex of the
    linear program has few fractions; rounding them misses a few margins by a few votes. Sets of people who change their
    answer make up for that.

Statement
    A set of changes mends block b if the numbers of the profiles that take up the option, less those that drop it, add
    up to goal[b]; conversely a set with that sum mends b but for a chance of 2^-64. So a set is wanted whose sums equal
    all goals at once: a generalised birthday problem (Wagner, CRYPTO 2002). Lists of sets are joined so that the sums
    of
    some blocks agree, then those of more, each time with twice as many people.

What callers may rely on
    * `MarginRepair.mend` returns a table that passed `System.admits`, or nothing.
    * How many axes this can do follows from the roll alone (`within_reach`); so does which axes are published at all.
    * Random numbers are drawn from a seeded generator: the same input gives the same table.

Example
    A list of 2^11 neutral sets meets one of 2^11 sets that mend in about 2^22 pairs; a block of four slices lets one in
    four through. With 11 such blocks about one pair remains.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

from safemargin.bounds.cells import Level, coefficients_of_variables, open_cells, wanted_changes
from safemargin.bounds.effort import EFFORT
from safemargin.bounds.exchange import Exchanges
from safemargin.bounds.solver import Program
from safemargin.bounds.system import SliceRanges, System
from safemargin.core import FloatArray, Generator, IntArray, distinct, numpy_generator

Keys = NDArray[np.uint64]
"""Sums of random numbers modulo 2^64."""


@dataclass(frozen=True)
class ChangeSets:
    """One set of changes per row: profiles in which a person takes up an option, and those in which one drops it.

    Every row of `taken` and `dropped` has as many profiles; no profile occurs twice on one side.
    """

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

    def joined(self, other: "ChangeSets", first: IntArray, second: IntArray) -> "ChangeSets":
        """Sets of this list and of the other in one, without those that would change a profile twice."""
        once = np.ones(len(first), dtype=bool)
        for mine, others in ((self.taken, other.taken), (self.dropped, other.dropped)):
            for a, b in product(mine.T, others.T):
                once &= a[first] != b[second]
        first, second = first[once], second[once]
        return ChangeSets(
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
class JoinSchedule:
    """Which blocks are compared at every level, with lists of `size` sets; `expected` are the sets found at the end.

    At the last level the remaining blocks are all compared at once.
    """

    size: int
    blocks: tuple[tuple[int, ...], ...]
    expected: float

    @property
    def cost(self) -> int:
        """Entries of the longest lists."""
        return self.size << len(self.blocks)


class Birthday:
    """Sets of changes between one option and the rest, with one key per block and profile.

    `taking` are profiles in which somebody can take up the option, `dropping` those in which somebody can drop it.
    """

    def __init__(self, keys: Keys, taking: IntArray, dropping: IntArray, goal: Keys, generator: Generator) -> None:
        self.keys, self.taking, self.dropping, self.goal, self.generator = keys, taking, dropping, goal, generator

    def search(self, most: int, expected: float = EFFORT.birthday_expected) -> ChangeSets:
        """Sets that add up to the goal in every block, with lists of at most `most`; none if that is out of reach.

        Lists are as short as so many `expected` sets allow.
        """
        nothing = ChangeSets(np.zeros((0, 1), dtype=np.int64), np.zeros((0, 1), dtype=np.int64))
        joins = (
            cheapest(self.chances, len(self.taking), len(self.dropping), most, expected)
            if len(self.taking) and len(self.dropping)
            else None
        )
        if joins is None:
            return nothing
        neutral = ChangeSets(self.taking[:, None], np.zeros((len(self.taking), 0), dtype=np.int64))
        mending = other = ChangeSets(np.zeros((len(self.dropping), 0), dtype=np.int64), self.dropping[:, None])
        for level, blocks in enumerate(joins.blocks):
            mending = self._join(neutral, mending, blocks, joins.size, mends=True)
            if level < len(joins.blocks) - 1:
                neutral = self._join(neutral, neutral if level else other, blocks, joins.size, mends=False)
        return mending

    def _join(self, first: ChangeSets, second: ChangeSets, blocks: Sequence[int], most: int, mends: bool) -> ChangeSets:
        """Pairs of sets that change no margin of these blocks, or mend them; at most so many, drawn at random.

        Both lists are compared by the sum of the keys of all `blocks`: one sorted search instead of one per block.
        """
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
) -> JoinSchedule | None:
    """The shortest lists and fewest levels that can be expected to lead to enough sets."""
    best: list[JoinSchedule] = []
    for levels in range(2, EFFORT.birthday_levels + 1):
        size = EFFORT.birthday_least
        while size <= most:
            joins = _assigned(chances, (taking, dropping), size, levels)
            if joins.expected >= expected:
                best.append(joins)
                break
            size *= 2
    return min(best, key=lambda joins: joins.cost, default=None)


def _assigned(chances: JoinChances, sides: tuple[int, int], size: int, levels: int) -> JoinSchedule:
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
    return JoinSchedule(size, (*chosen, tuple(left)), mending * float(np.prod(chances.goal[levels - 1][left])))


def can_mend(ranges: SliceRanges, exchanges: Exchanges) -> bool:
    """Whether so many blocks of slices are published, every one of them exactly, that few profiles have a neighbour.

    A neighbour differs in one block only, so that the two could exchange answers. With many blocks (a cycle per earlier
    release) there are hardly any, and rounding by exchanges finds no table; mending by sets of people does. Neighbours
    are found by hashing: one random number per slice, fixed seed; a wrong answer costs time only.
    """
    exact = ranges.stated and bool((ranges.least == ranges.most).all())
    if not exact or len(exchanges.tops) < EFFORT.birthday_blocks:
        return False
    numbers = numpy_generator(0).integers(0, 2**64, size=exchanges.slices + 1, dtype=np.uint64)
    return not _have_neighbours(numbers[exchanges.blocks[list(exchanges.tops)]])


class MarginRepair:
    """Changes integer counts until every slice has its exact `sums`; what it prepares depends on public facts only."""

    def __init__(self, system: System, exchanges: Exchanges, sums: IntArray, generator: Generator) -> None:
        self.system, self.exchanges, self.sums, self.generator = system, exchanges, sums, generator
        self.blocks, slices = system.blocks[list(exchanges.tops)], exchanges.slices
        # A profile in no slice of a block has the last place, whose number is 0: it changes no margin there.
        self.numbers = generator.integers(0, 2**64, size=slices + 1, dtype=np.uint64)
        self.numbers[slices] = 0
        self.keys = self.numbers[self.blocks]

    def mend(self, counts: IntArray) -> IntArray | None:
        """Integer values of all variables that satisfy every fact, near `counts` (with the rest last); or none."""
        matrix = counts.copy()
        for option in range(self.system.n_free_options):
            if not self._mend_option(matrix, option):
                return None
        result: IntArray = matrix[:, : self.system.n_free_options].ravel()
        # The keys are sums modulo 2^64, so they agree by chance too: addition decides.
        return result if self.system.admits(result) else None

    def _mend_option(self, matrix: IntArray, option: int) -> bool:
        """Let people change between an option and the rest until its margins hold; false if no set of changes does."""
        missing = self._missing(matrix, option)
        missing = self._reduced(matrix, option, missing)
        if not missing.any():
            return True
        goal = np.zeros(len(self.blocks), dtype=np.uint64)
        for block, codes in enumerate(self.blocks):
            inside = distinct(codes[codes >= 0])
            goal[block] = (missing[inside].astype(np.uint64) * self.numbers[inside]).sum(dtype=np.uint64)
        taking, dropping = self._open(matrix, option)
        birthday = Birthday(self.keys, taking, dropping, goal, self.generator)
        # Blocks that go together make estimates too high: the second time with lists for more sets.
        for expected in (EFFORT.birthday_expected, 8 * EFFORT.birthday_expected):
            found = birthday.search(EFFORT.birthday_most, expected)
            if len(found.taken):
                self._apply(matrix, option, ChangeSets(found.taken[:1], found.dropped[:1]))
                return True
        return False

    def _missing(self, matrix: IntArray, option: int) -> IntArray:
        """Votes that every slice lacks."""
        sums: IntArray = self.system.slices @ matrix[:, option]
        return self.sums[:, option] - sums

    def _open(self, matrix: IntArray, option: int) -> tuple[IntArray, IntArray]:
        """Profiles in which somebody can take up the option, and those in which somebody can drop it."""
        low, high = self.exchanges.low[:, option], self.exchanges.high[:, option]
        own = matrix[:, option]
        return np.flatnonzero((matrix[:, -1] > 0) & (own < high)), np.flatnonzero(own > low)

    def _apply(self, matrix: IntArray, option: int, changes: ChangeSets) -> None:
        """Let these people change their answer, in `matrix`."""
        for profiles, votes in ((changes.taken, 1), (changes.dropped, -1)):
            np.add.at(matrix[:, option], profiles.ravel(), votes)
            np.add.at(matrix[:, -1], profiles.ravel(), -votes)

    def _reduced(self, matrix: IntArray, option: int, missing: IntArray) -> IntArray:
        """Change single pairs of answers as long as that brings the margins nearer; returns what every slice still
        lacks.

        A greedy descent on the squared distance of all margins, over pairs of a few profiles that can take up the
        option and a few that can drop it. Changes `matrix`; profiles are used once.
        """
        some = [self.generator.permutation(side)[: EFFORT.birthday_pairs] for side in self._open(matrix, option)]
        if not all(map(len, some)):
            return missing
        taking, dropping = (self._places(side) for side in some)
        # The squared distance of the margins that a pair changes: places of either side less twice those of both.
        apart = taking.sum(axis=1)[:, None] + dropping.sum(axis=1)[None, :] - 2 * (taking @ dropping.T)
        while missing.any():
            gain = 2 * ((taking @ missing)[:, None] - (dropping @ missing)[None, :]) - apart
            first, second = np.unravel_index(int(gain.argmax()), gain.shape)
            if gain[first, second] <= 0:
                break
            pair = ChangeSets(some[0][[[first]]], some[1][[[second]]])
            self._apply(matrix, option, pair)
            apart[first], apart[:, second] = np.inf, np.inf  # once each: both sides were drawn before
            missing = self._missing(matrix, option)
        return missing

    def _places(self, profiles: IntArray) -> FloatArray:
        """Which slices profiles lie in, as rows of ones."""
        places = np.zeros((len(profiles), len(self.numbers)))
        for codes in self.blocks[:, profiles]:
            places[np.arange(len(profiles)), codes] = 1.0
        return places[:, :-1]


def attain_by_mending(
    mender: MarginRepair,
    checked: list[Level],
    near: Callable[[FloatArray], IntArray],
    program: Program,
    take: Callable[[IntArray], None],
) -> None:
    """Take tables `near` linear optima, each time towards what is still open.

    `near` rounds values to integers per profile; the vertex of a random objective has few fractions to round.
    """
    system, generator, idle = mender.system, mender.generator, 0
    for _ in range(EFFORT.birthday_tables):
        before = open_cells(checked)
        if not before or idle > EFFORT.birthday_idle:
            return
        # A little of everything beside what is wanted: else cells that nobody asks for stay where they are.
        want = coefficients_of_variables(wanted_changes(checked, generator), system.reference)
        values = program.vertex(want + 0.1 * generator.standard_normal(system.size))
        counts = mender.mend(near(values))
        if counts is not None:
            take(counts)
        idle = idle + 1 if open_cells(checked) == before else 0


def within_reach(blocks: IntArray, generator: Generator) -> list[int]:
    """Blocks (rows: the slice of every profile) for which tables can be expected to be found, the first ones first.

    Looks at the roll only. Few blocks, wide ones, and profiles that mostly have a neighbour in all blocks but one are
    left to other methods.
    """
    everything, sizes = list(range(len(blocks))), [len(distinct(block)) for block in blocks]
    if len(blocks) <= EFFORT.plain_blocks or sum(sizes) > EFFORT.dense_slices:
        return everything
    numbers = [generator.integers(0, 2**64, size=int(block.max()) + 1, dtype=np.uint64) for block in blocks]
    keys = np.stack([number[block] for number, block in zip(numbers, blocks, strict=True)])
    if _have_neighbours(keys):
        return everything
    profiles, kept = np.arange(keys.shape[1]), list[int]()
    # About half of the margins miss by a vote after rounding and single exchanges, in any two slices.
    goal = np.zeros(len(keys), dtype=np.uint64)
    for block in everything[::2]:
        first, second = generator.choice(distinct(blocks[block]), size=(2, 1))
        goal[[block]] = numbers[block][first] - numbers[block][second]  # arrays: they wrap at 2^64 without a warning
    chances = Birthday(keys, profiles, profiles, goal, generator).chances
    for block in everything:
        trial = [*kept, block]
        some = replace(chances, none=tuple(c[trial] for c in chances.none), goal=tuple(c[trial] for c in chances.goal))
        # Half of the profiles on either side, and lists of a quarter: what tables need differs from what the roll says.
        if cheapest(some, len(profiles) // 2, len(profiles) // 2, EFFORT.birthday_most // 4) is not None:
            kept.append(block)
    return kept


def _have_neighbours(keys: Keys) -> bool:
    """Whether for most profiles there is another that lies in the same slices of all blocks but one.

    Then exchanges of two pairs suffice, and nothing here is needed. `keys` are random numbers of slices, so equal sums
    stand for equal slices.
    """
    total = keys.sum(axis=0, dtype=np.uint64)
    paired = np.zeros(len(total), dtype=bool)
    for block in keys:
        _, place, number = np.unique(total - block, return_inverse=True, return_counts=True)
        paired |= number[place] > 1
    return bool(paired.mean() > EFFORT.birthday_neighbours)
