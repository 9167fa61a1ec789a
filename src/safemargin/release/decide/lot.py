"""Which groups are noised: drawn by lot near the limits, so that an epsilon covers the choice as well.

That a group is noised because its share is outside the limits would tell, beside the noisy count, on which side of a
limit it is. So every group is moved towards the nearest limit by a number of answers drawn from the law of the noise,
and noised if that carries it over. A group outside is always noised, and one within by `k` answers with a chance that
falls by `exp(-epsilon)` with each of them: exchanging two answers changes the odds of the choice by `exp(2 * epsilon)`.
Groups are noised in units, at least two together, that depend on the roll alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from safemargin.core import Group, Limits, label
from safemargin.release.decide.cover import GroupBlock, blocks
from safemargin.release.decide.split import Split
from safemargin.samplers.geometric import Geometric

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
            self._drawn[axis, group] = abs(int(Geometric(self.epsilon).protect(np.zeros(1, dtype=np.int64))[0]))
        return self._drawn[axis, group]


def drawn(one: Split, limits: Limits, reach: Reach) -> list[Unit]:
    """The units of an axis in which some group is carried over a limit."""
    name = one.axis.name
    return [unit for unit in units(one) if any(reach(name, group) >= room(one, group, limits) for group in unit)]


def units(one: Split) -> list[Unit]:
    """The groups of an axis two by two, or a few more; a matter of the roll alone.

    No group has more than three quarters of the people of its unit, if that can be: else it alone could carry the
    unit, of which the sum may be known, out of the limits.
    """
    found: list[Unit] = []
    left: Unit = ()
    for unit in _units(one, blocks(one)):
        left = (*left, *unit)
        sizes = [one.size(group) for group in left]
        if 4 * max(sizes) <= 3 * sum(sizes):
            found.append(left)
            left = ()
    if left:
        found = [*found[:-1], (*(found[-1] if found else ()), *left)]
    return found


def room(one: Split, group: Group, limits: Limits) -> int:
    """How many answers have to change until a group is outside the limits; 0 if it is."""
    if not one.regular(group, limits):
        return 0
    counts, people = one.counts(group)[None, :], np.array([one.size(group)])
    spare = np.minimum(counts - limits.least(people), limits.most(people) - counts)[0]
    judged = ~np.array(limits.told or (False,) * len(spare))
    return int(spare[judged].min(initial=int(people[0]))) + 1


def _units(one: Split, block: GroupBlock) -> list[Unit]:
    if not block.parts:
        return [block.groups]
    found = [unit for part in block.parts for unit in _units(one, part)]
    alone = [unit for unit in found if len(unit) == 1]
    found = [unit for unit in found if len(unit) > 1]
    if len(alone) > 1 or not found:
        return [*found, tuple(group for unit in alone for group in unit)]
    if alone:  # a single group joins the smallest of the others
        smallest = min(found, key=lambda unit: _rank(one, unit))
        found[found.index(smallest)] = (*smallest, *alone[0])
    return found


def _rank(one: Split, unit: Sequence[Group]) -> tuple[int, str]:
    return sum(one.size(group) for group in unit), label(frozenset().union(*unit), one.axis.categories)
