"""Targeted swapping in pairs, after what is public about the 2010 census: who stands out is likely to be moved.

Each selected household changes places with one that agrees on everything matched and lives in another block: with one
that is selected too if there is one, near before far, and else with the one most at risk. Pairs do not overlap, so many
tables cannot be reached, and nothing is guaranteed; this is for comparison. How likely a household was to be selected
in 2010 is not public: the rule in `chance` is ours, and has the direction that is public.

Which pairs are formed follows from one random order of all households. The law of a small stratum (`pair_law`) goes
through all orders with this same code.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from safemargin.core import InputError, IntArray, row_keys, system_choices, system_words

Bools = NDArray[np.bool_]
Order = NDArray[np.uint64] | IntArray

WHOLE = 1000
"""Shares of what was imputed are counted in thousandths."""
TURNS = 4
"""How often the households that still look for a partner are held against what is left nearby."""


@dataclass(frozen=True)
class Risk:
    """What makes a household likely to be selected.

    `rate` is for one that nothing is special about. In a block of fewer than `small` households it is larger in
    proportion, for one with a value that no other of its block has `rare` times as large.
    """

    rate: Fraction
    small: int = 10
    rare: int = 2

    def __post_init__(self) -> None:
        if not 0 <= self.rate <= 1:
            raise InputError(f"rate = {self.rate}: must lie between 0 and 1")
        if self.small < 0 or self.rare < 1:
            raise InputError(f"small = {self.small}, rare = {self.rare}: must be at least 0 and 1")

    def chance(self, size: int, unique: bool, rare: bool, around: int, own: int) -> Fraction:
        """Probability to be selected, in a block of `size` of which `around` thousandths were imputed.

        Households that are unique are always selected, and those imputed as a whole (`own` thousandths) never.

        >>> risk = Risk(Fraction(1, 50))
        >>> [str(risk.chance(*each)) for each in ((20, False, False, 0, 0), (5, False, False, 0, 0))]
        ['1/50', '1/25']
        >>> [str(risk.chance(20, *each)) for each in ((False, True, 500, 0), (True, True, 0, 0), (True, True, 0, 1000))]
        ['1/50', '1', '0']
        """
        if own >= WHOLE:
            return Fraction(0)
        if unique:
            return Fraction(1)
        # Imputed parts need no protection: the chance falls with their share, in the record and around it.
        left = Fraction(WHOLE - own, WHOLE) * Fraction(WHOLE - min(around, WHOLE - 1), WHOLE)
        crowd = Fraction(self.small, size) if 0 < size < self.small else 1
        # Directions as in appendix C; the factors themselves are ours.
        return min(Fraction(1), self.rate * crowd * (self.rare if rare else 1) * left)


@dataclass(frozen=True)
class Traits:
    """What is known about the risk of each household; shares in thousandths."""

    size: IntArray
    unique: Bools
    rare: Bools
    around: IntArray
    own: IntArray

    @property
    def imputed(self) -> Bools:
        """Those imputed as a whole: they are never moved."""
        found: Bools = self.own >= WHOLE
        return found


@dataclass(frozen=True)
class Selection:
    """Who was selected, and the probability with which each household was to be."""

    selected: Bools
    chance: NDArray[np.float64]


@dataclass(frozen=True)
class HouseholdPairs:
    """The partner of every household, or -1, and the narrowest area that both live in (0 is just above the block)."""

    partner: IntArray
    level: IntArray


def select(traits: Traits, risk: Risk) -> Selection:
    """Draw every household by its risk; each probability is exact."""
    parts = (np.minimum(traits.size, max(risk.small, 1)), traits.unique, traits.rare, traits.around, traits.own)
    sizes = (max(risk.small, 1) + 1, 2, 2, WHOLE + 1, WHOLE + 1)
    kinds = np.stack(parts, axis=1).astype(np.int64)
    classes, first, which = np.unique(row_keys(kinds, sizes), return_index=True, return_inverse=True)
    chances = [
        risk.chance(size, bool(unique), bool(rare), *shares) for size, unique, rare, *shares in kinds[first].tolist()
    ]
    members = np.argsort(which, kind="stable")
    numbers = np.bincount(which, minlength=len(classes))
    ends = np.cumsum(numbers)
    selected = np.zeros(len(which), dtype=np.bool_)
    for start, end, chance in zip(ends - numbers, ends, chances, strict=True):
        selected[members[start:end]] = system_choices(chance, int(end - start))
    return Selection(selected, np.array([float(probability) for probability in chances])[which])


def capped(selection: Selection, area: IntArray, most: Fraction, order: Order) -> Selection:
    """At most this share of the households of every area: those most at risk stay selected.

    >>> every = Selection(np.ones(5, dtype=np.bool_), np.array([0.1, 0.3, 0.2, 1.0, 0.1]))
    >>> capped(every, np.array([0, 0, 0, 0, 1]), Fraction(1, 2), np.arange(5)).selected.tolist()
    [False, True, False, True, False]
    """
    if most >= 1:
        return selection
    chosen = np.flatnonzero(selection.selected)
    # Within each area those most at risk come first; the random order settles ties.
    chosen = chosen[np.lexsort((order[chosen], -selection.chance[chosen], area[chosen]))]
    rank, _ = _ranks(area[chosen])
    room = np.bincount(area) * most.numerator // most.denominator
    selected = np.zeros(len(area), dtype=np.bool_)
    selected[chosen[rank < room[area[chosen]]]] = True
    return Selection(selected, selection.chance)


def draw_order(count: int) -> Order:
    """A random order, from the operating system."""
    return system_words(count)


def pair_up(
    strata: IntArray,
    places: Sequence[IntArray],
    selected: Bools,
    fixed: Bools,
    at_risk: NDArray[np.float64],
    order: Order,
) -> HouseholdPairs:
    """Disjoint pairs within strata, each of a selected household and one in another block.

    `places` are the areas from wide to narrow, the last one the block. `fixed` households are never moved. Ties are
    settled by `order`.
    """
    block = places[-1]
    partner = np.full(len(strata), -1, dtype=np.int64)
    areas: list[IntArray] = [*reversed(places[:-1]), np.zeros(len(strata), dtype=np.int64)]

    def join(one: IntArray, other: IntArray) -> None:
        partner[one], partner[other] = other, one

    seeking = selected & ~fixed
    # Two selected households first, near before far; then a selected one with one most at risk, near before far.
    for area in areas:
        seekers = np.flatnonzero(seeking & (partner < 0))
        first, second = pair_apart(_grouped(strata[seekers], area[seekers]), block[seekers], order[seekers])
        join(seekers[first], seekers[second])
    for area in areas:
        seekers, theirs = np.flatnonzero(seeking & (partner < 0)), np.flatnonzero(~selected & ~fixed & (partner < 0))
        groups = _grouped(strata, area)
        theirs = theirs[np.isin(groups[theirs], groups[seekers])]
        for turn in range(TURNS):
            join(*_offered(groups, block, at_risk, order, seekers, theirs, turn))
            seekers, theirs = seekers[partner[seekers] < 0], theirs[partner[theirs] < 0]
    join(*_whoever(strata, block, at_risk, order, seekers, theirs))
    level = np.full(len(strata), -1, dtype=np.int64)
    moved = np.flatnonzero(partner >= 0)
    for number in reversed(range(len(areas))):
        level[moved[areas[number][moved] == areas[number][partner[moved]]]] = number
    return HouseholdPairs(partner, level)


def pair_apart(group: IntArray, colour: IntArray, order: Order) -> tuple[IntArray, IntArray]:
    """Pairs of the same group and different colours, as many as there can be; `order` settles which.

    >>> one, other = pair_apart(np.array([0, 0, 0, 1, 1]), np.array([5, 5, 6, 7, 7]), np.arange(5))
    >>> one.tolist(), other.tolist()
    ([0], [2])
    """
    ordered = np.lexsort((order, group))
    rank, _ = _ranks(group[ordered])
    left = np.flatnonzero(rank[:-1] % 2 == 0) if len(ordered) else np.empty(0, dtype=np.int64)
    left = left[group[ordered[left]] == group[ordered[left + 1]]]
    first, second = ordered[left], ordered[left + 1]
    good = colour[first] != colour[second]
    first, second = first[good], second[good]
    # Random neighbours first, as most of them differ; only the rest needs the sorted second round.
    rest = _without(len(group), first, second)
    more, partners = _half_a_turn(group[rest], colour[rest], order[rest])
    first, second = np.concatenate([first, rest[more]]), np.concatenate([second, rest[partners]])
    return _broken_up(group, colour, order, first, second)


def _half_a_turn(group: IntArray, colour: IntArray, order: Order) -> tuple[IntArray, IntArray]:
    """Members sorted by colour are held against those further on by at least the number of any colour.

    No pair has one colour then, and who is left in a group has the same colour, or is one.
    """
    if not len(group):
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    ordered = np.lexsort((order, colour, group))
    new = np.ones(len(ordered), dtype=np.bool_)
    new[1:] = (np.diff(group[ordered]) != 0) | (np.diff(colour[ordered]) != 0)
    starts = np.flatnonzero(new)
    lengths = np.diff(starts, append=len(ordered))
    # Colours come in the order of their first member, so that labels of blocks have no say.
    foremost = np.repeat(order[ordered[starts]], lengths)
    longest = np.repeat(lengths, lengths)
    again = np.lexsort((order[ordered], foremost, group[ordered]))
    ordered, longest = ordered[again], longest[again]
    rank, size = _ranks(group[ordered])
    heads = np.flatnonzero(rank == 0)
    # Half the group, or the largest colour where that is more: nobody meets its own colour.
    step = np.repeat(np.maximum(np.maximum.reduceat(longest, heads), (size[heads] + 1) // 2), size[heads])
    # Shifted by the longest run of a colour, no member meets its own colour.
    left = np.flatnonzero(rank + step < size)
    return ordered[left], ordered[left + step[left]]


def _broken_up(
    group: IntArray, colour: IntArray, order: Order, members: IntArray, partners: IntArray
) -> tuple[IntArray, IntArray]:
    """Where two members of one colour are left and a pair has others: each of its members gets one of the two."""
    left = _without(len(group), members, partners)
    if len(left) < 2 or not len(members):
        return members, partners
    left = left[np.lexsort((order[left], group[left]))]
    rank, size = _ranks(group[left])
    heads = left[rank == 0]
    position = np.searchsorted(group[heads], group[members])
    inside = np.minimum(position, len(heads) - 1)
    met = group[heads[inside]] == group[members]
    tone = colour[heads[inside]]
    open_ = np.flatnonzero(met & (colour[members] != tone) & (colour[partners] != tone))
    open_ = open_[np.lexsort((order[members[open_]], group[members[open_]]))]
    turn, _ = _ranks(group[members[open_]])
    starts = np.flatnonzero(rank == 0)
    first = starts[inside[open_]] + 2 * turn
    enough = 2 * turn + 1 < size[starts[inside[open_]]]
    broken, first = open_[enough], first[enough]
    kept = np.ones(len(members), dtype=np.bool_)
    kept[broken] = False
    ours = np.concatenate([members[kept], members[broken], partners[broken]])
    theirs = np.concatenate([partners[kept], left[first], left[first + 1]])
    return ours, theirs


def _offered(
    groups: IntArray,
    block: IntArray,
    at_risk: NDArray[np.float64],
    order: Order,
    seekers: IntArray,
    theirs: IntArray,
    turn: int,
) -> tuple[IntArray, IntArray]:
    """The first who seek with those most at risk of the same group, `turn` places on; not within a block."""
    seekers = seekers[np.lexsort((order[seekers], groups[seekers]))]
    theirs = theirs[np.lexsort((order[theirs], -at_risk[theirs], groups[theirs]))]
    if not len(seekers) or not len(theirs):
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    # The n-th who seeks is offered the n-th most at risk, moved on by the turn.
    rank, _ = _ranks(groups[seekers])
    first = np.searchsorted(groups[theirs], groups[seekers])
    number = np.searchsorted(groups[theirs], groups[seekers], side="right") - first
    held = rank < number
    seekers, rank, first, number = seekers[held], rank[held], first[held], number[held]
    other = theirs[first + (rank + turn) % number]
    apart = block[seekers] != block[other]
    return seekers[apart], other[apart]


def _whoever(
    strata: IntArray,
    block: IntArray,
    at_risk: NDArray[np.float64],
    order: Order,
    seekers: IntArray,
    theirs: IntArray,
) -> tuple[IntArray, IntArray]:
    """For the few who still seek, one by one: whoever is left of the stratum in another block."""
    theirs = theirs[np.isin(strata[theirs], strata[seekers])]
    theirs = theirs[np.lexsort((order[theirs], -at_risk[theirs]))]
    left: dict[int, dict[int, deque[int]]] = {}
    for member, stratum, home in zip(theirs.tolist(), strata[theirs].tolist(), block[theirs].tolist(), strict=True):
        left.setdefault(stratum, {}).setdefault(home, deque()).append(member)
    first, second = [], []
    for member in seekers[np.argsort(order[seekers], kind="stable")].tolist():
        homes = left.get(int(strata[member]), {})
        home = next((home for home in homes if home != block[member]), None)
        if home is not None:
            first.append(member)
            second.append(homes[home].popleft())
            if not homes[home]:
                del homes[home]
    return np.array(first, dtype=np.int64), np.array(second, dtype=np.int64)


def _grouped(strata: IntArray, area: IntArray) -> IntArray:
    """One number for each stratum in each area."""
    numbers: IntArray = strata * (int(area.max(initial=0)) + 1) + area
    return numbers


def _without(count: int, *taken: IntArray) -> IntArray:
    left = np.ones(count, dtype=np.bool_)
    for members in taken:
        left[members] = False
    return np.flatnonzero(left)


def _ranks(group: IntArray) -> tuple[IntArray, IntArray]:
    """For groups in order: the place of each member in its group, and how many there are."""
    if not len(group):
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    starts = np.flatnonzero(np.diff(group, prepend=group[0] - 1))
    sizes = np.diff(starts, append=len(group))
    rank: IntArray = np.arange(len(group)) - np.repeat(starts, sizes)
    return rank, np.repeat(sizes, sizes)
