"""Which groups of an axis are noised: drawn by lot near the limits, so that an epsilon covers the choice as well.

Objects
    room k      how many answers have to change until a group is outside the limits; 0 if it is outside
    reach R     the size of a draw of two-sided geometric noise with epsilon: P(R >= k) falls by exp(-epsilon) per k
    unit        groups that are noised together or not at all; a matter of the roll alone

Statement
    A unit is noised if R >= k for one of its groups. Exchanging two answers changes k by at most one in at most two
    groups, so the odds of every choice change by at most exp(2 * epsilon): the choice is 2 epsilon-private, and its
    cost is part of the guarantee that is printed.

    That a group is noised because its share is outside the limits would disclose, beside its noisy count, on which side
    of a limit it is. So every group is moved towards the nearest limit by its reach, and noised if that carries it
    over:
    one outside is always noised, and one within by k answers with a chance that falls by exp(-epsilon) with each.

Invariants
    * Every group draws once per rule, from system entropy (`RandomisedSelection`): a second look must not redraw.
    * `rooms` counts the last regular count as inside, as the limits do.
    * Which groups form a unit never depends on answers.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

import numpy as np

from safemargin.core import Group, IntArray, Limits, label
from safemargin.release.rule.split import SENSITIVE, AxisPartition, GroupBlock, blocks
from safemargin.samplers import Geometric

LOT = "drawn by lot, so that nobody can infer which groups needed noise"
Unit = tuple[Group, ...]
"""Groups that are noised together or not at all."""


Reach = Callable[[str, Group], int]
"""How many answers a group of an axis is moved."""


@dataclass(frozen=True)
class RandomisedSelection:
    """Draws a reach for every group, once: a group that is looked at again has the same."""

    epsilon: float
    _drawn: dict[tuple[str, Group], int] = field(default_factory=dict, compare=False)

    def __call__(self, axis: str, group: Group) -> int:
        """How far a group is moved; fresh from system entropy."""
        if (axis, group) not in self._drawn:
            # The chance that the size of two-sided noise reaches k falls by at most exp(epsilon) with each k.
            self._drawn[axis, group] = abs(int(Geometric(self.epsilon).protect(np.zeros(1, dtype=np.int64))[0]))
        return self._drawn[axis, group]


def drawn(split: AxisPartition, limits: Limits, reach: Reach, always: Collection[Group] = ()) -> list[Unit]:
    """The units of an axis in which some group is carried over a limit, or is noised `always`.

    One such group is enough for its whole unit: else the sum of the others, less the exact ones, would be its count.
    """
    name = split.axis.name
    return [
        unit
        for unit in units(split)
        if any(_holds(group, always) or reach(name, group) >= room(split, group, limits) for group in unit)
    ]


def _holds(group: Group, always: Collection[Group]) -> bool:
    """Whether a group contains one that is noised always."""
    return any(part <= group for part in always)


def units(split: AxisPartition) -> list[Unit]:
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


def room(split: AxisPartition, group: Group, limits: Limits) -> int:
    """How many answers have to change until a group is outside the limits; 0 if it is."""
    return int(rooms(split.counts(group)[None, :], np.array([split.size(group)]), limits)[0])


def rooms(counts: IntArray, people: IntArray, limits: Limits) -> IntArray:
    """The same for groups of so many `people` each, with counts per option.

    With 5 % and 30 people, 2 to 28 of them may choose an option: 15 are 14 answers away from 29. One is outside
    already. Of 50 people 3 is the last count within, one answer away:

    >>> from safemargin.core import Target
    >>> limits = Target(beta=0.05, kappa=30).limits((133, 167), 300, ("yes", "no"))
    >>> rooms(np.array([[15, 15], [1, 29], [3, 47]]), np.array([30, 30, 50]), limits).tolist()
    [14, 0, 1]
    """
    regular = (limits.verdicts(counts, counts, people) == 0).all(axis=1)
    columns = limits.columns(counts)
    spare = np.minimum(columns - limits.least(people), limits.most(people) - columns)
    judged = ~np.array(limits.unchosen or (False,) * spare.shape[1])
    fewest = np.minimum(spare[:, judged].min(axis=1, initial=np.iinfo(np.int64).max), people)
    # One more than the spare answers: at the last count within a limit a group is still regular.
    return np.where(regular, fewest + 1, 0)


def _units(split: AxisPartition, block: GroupBlock) -> list[Unit]:
    """Pairs of groups from the tree of blocks; a single group joins the smallest pair, several join each other."""
    if not block.children:
        return [block.groups]
    pairs = [unit for part in block.children for unit in _units(split, part)]
    alone = [unit for unit in pairs if len(unit) == 1]
    pairs = [unit for unit in pairs if len(unit) > 1]
    if len(alone) > 1 or not pairs:
        return [*pairs, tuple(group for unit in alone for group in unit)]
    if alone:  # a single group joins the smallest of the others
        smallest = min(pairs, key=lambda unit: _rank(split, unit))
        pairs[pairs.index(smallest)] = (*smallest, *alone[0])
    return pairs


def _rank(split: AxisPartition, unit: Sequence[Group]) -> tuple[int, str]:
    """The order of units: by people, then by name."""
    return sum(split.size(group) for group in unit), label(frozenset().union(*unit), split.axis.categories)


def by_lot(split: AxisPartition, limits: Limits, reach: Reach, always: Collection[Group] = ()) -> AxisPartition:
    """Mark groups to be noised: those outside the limits, others near them by lot, and those of the same units."""
    units_drawn = drawn(split, limits, reach, always) if split.is_published else []
    chosen = frozenset(group for unit in units_drawn for group in unit)
    if not chosen:
        return split
    bad = frozenset(group for group in chosen if not split.regular(group, limits))
    split = split.flag(frozenset(group for group in chosen if _holds(group, always)), f"{SENSITIVE}; noised")
    return split.flag(bad, "a share beyond a limit; noised").flag(chosen, f"{LOT}; noised")
