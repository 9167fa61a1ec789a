"""Tables near a linear optimum, mended by sets of changes until every margin holds: for systems of many axes.

How many axes that can do follows from the roll alone (`within_reach`): so does which axes are published at all.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from safemargin.bounds.birthday import Birthday, Keys, Sets, cheapest
from safemargin.bounds.effort import EFFORT
from safemargin.bounds.reach import direction, wanted_changes
from safemargin.bounds.rounding import Rounder
from safemargin.bounds.search import Level, open_cells
from safemargin.bounds.solver import Program
from safemargin.bounds.system import System
from safemargin.core import FloatArray, Generator, IntArray, distinct, numpy_generator


def can_mend(rounder: Rounder) -> bool:
    """Whether so many blocks of slices are published, every one of them exactly, that few profiles have a neighbour."""
    exact = rounder.possible and bool((rounder.least == rounder.most).all())
    if not exact or len(rounder.exchanges.tops) < EFFORT.birthday_blocks:
        return False
    blocks = rounder.known.blocks[list(rounder.exchanges.tops)]
    numbers = numpy_generator(0).integers(0, 2**64, size=rounder.known.slices.shape[0] + 1, dtype=np.uint64)
    return not _have_neighbours(numbers[blocks])


class Mender:
    """Changes integer counts until every exact margin holds; what it prepares depends on public facts only."""

    def __init__(self, rounder: Rounder, generator: Generator) -> None:
        self.rounder, self.generator, self.known = rounder, generator, rounder.known
        self.blocks = self.known.blocks[list(rounder.exchanges.tops)]
        slices = self.known.slices.shape[0]
        # A profile in no slice of a block has the last place, whose number is 0: it changes no margin there.
        self.numbers = generator.integers(0, 2**64, size=slices + 1, dtype=np.uint64)
        self.numbers[slices] = 0
        self.keys = self.numbers[self.blocks]

    def mend(self, counts: IntArray) -> IntArray | None:
        """Integer values of all variables that satisfy every fact, near `counts` (with the rest last); or none."""
        matrix = counts.copy()
        for option in range(self.known.free):
            if not self._mend_option(matrix, option):
                return None
        result: IntArray = matrix[:, : self.known.free].ravel()
        # The keys are sums modulo 2^64, so they agree by chance too: addition decides.
        return result if self.known.admits(result) else None

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
                self._apply(matrix, option, Sets(found.taken[:1], found.dropped[:1]))
                return True
        return False

    def _missing(self, matrix: IntArray, option: int) -> IntArray:
        """Votes that every slice lacks."""
        sums: IntArray = self.known.slices @ matrix[:, option]
        return self.rounder.least[:, option] - sums

    def _open(self, matrix: IntArray, option: int) -> tuple[IntArray, IntArray]:
        """Profiles in which somebody can take up the option, and those in which somebody can drop it."""
        low, high = self.rounder.exchanges.low[:, option], self.rounder.exchanges.high[:, option]
        own = matrix[:, option]
        return np.flatnonzero((matrix[:, -1] > 0) & (own < high)), np.flatnonzero(own > low)

    def _apply(self, matrix: IntArray, option: int, changes: Sets) -> None:
        for profiles, votes in ((changes.taken, 1), (changes.dropped, -1)):
            np.add.at(matrix[:, option], profiles.ravel(), votes)
            np.add.at(matrix[:, -1], profiles.ravel(), -votes)

    def _reduced(self, matrix: IntArray, option: int, missing: IntArray) -> IntArray:
        """Exchange single answers as long as that brings the margins nearer; what is then missing."""
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
            pair = Sets(some[0][[[first]]], some[1][[[second]]])
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
    known: System,
    checked: list[Level],
    rounder: Rounder,
    program: Program,
    take: Callable[[IntArray], None],
    generator: Generator,
) -> None:
    """Take tables near linear optima, each time towards what is still open."""
    mender, idle = Mender(rounder, generator), 0
    for _ in range(EFFORT.birthday_tables):
        before = open_cells(checked)
        if not before or idle > EFFORT.birthday_idle:
            return
        # A little of everything beside what is wanted: else cells that nobody asks for stay where they are.
        want = direction(known, wanted_changes(known, checked, generator))
        values = program.vertex(want + 0.1 * generator.standard_normal(known.size))
        counts = mender.mend(rounder.near(values))
        if counts is not None:
            take(counts)
        idle = idle + 1 if open_cells(checked) == before else 0


def table_by_mending(rounder: Rounder, program: Program, generator: Generator) -> IntArray | None:
    """An integer table near a random vertex; none if no set of changes was found."""
    values = program.vertex(generator.standard_normal(rounder.known.size))
    return Mender(rounder, generator).mend(rounder.near(values))


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
    """Whether for most profiles another one agrees in all blocks but one."""
    total = keys.sum(axis=0, dtype=np.uint64)
    paired = np.zeros(len(total), dtype=bool)
    for block in keys:
        _, place, number = np.unique(total - block, return_inverse=True, return_counts=True)
        paired |= number[place] > 1
    return bool(paired.mean() > EFFORT.birthday_neighbours)
