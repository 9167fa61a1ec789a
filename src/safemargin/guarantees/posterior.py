"""How probable it is that a group lies outside the limits, for somebody who sees noised counts and knows their law.

Objects: groups with counts `c_1, ..., c_m` of people who chose within one secret. The prior is uniform over all vectors
of counts that keep to the bounds of every group and add up to the exact `total`, which exact counts leave of the
published total. The likelihood of a vector is the product over groups of the chance of what is printed. Where a lot
chose *units* of groups, it also has, for every unit, the chance `1 - prod (1 - p_g(c_g))` that some group of it was
drawn; `p_g(c)` is the chance that a group with count `c` is.

The posterior of one group follows from sums over chains (forward and backward sums of a hidden Markov model; Rabiner
1989, Sec. III.A): the state is the sum of the groups so far, and whether one of this unit was drawn. All terms are
positive, so that nothing cancels.

Example: two groups of two people, of whom two chose yes together; nothing is printed. The vectors (0, 2), (1, 1) and
(2, 0) are equally probable, and unanimous is the first group in two of them.

>>> group = GroupBelief(0, np.ones(3), np.array([True, False, True]))
>>> [round(chance, 3) for chance in chances_outside([[group, group]], 2)]
[0.667, 0.667]
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from safemargin.core import BoolArray, FloatArray, IntArray

FAR = 60.0
"""Counts are considered as far as their likelihood is `e^-FAR` of the largest: less is not seen in three digits."""
LONGEST = 100_000
"""The longest tail of noise that is written out; beyond it, it falls by `e^-epsilon` with each count."""
LEAST = 1e-12
"""What the chance of something is at least that is not impossible."""
LONG = 50_000_000
"""Products beyond which convolutions are taken by Fourier transforms."""


@dataclass(frozen=True, eq=False)
class GroupBelief:
    """What is known of one group: the `likelihood` of every count from `least` on, and which counts are `outside`.

    `drawn` is the chance, by count, that the group is drawn by lot; without it, whatever was chosen says nothing.
    """

    least: int
    likelihood: FloatArray
    outside: BoolArray
    drawn: FloatArray | None = None

    @property
    def chance_alone(self) -> float:
        """The posterior where nothing ties the group to others."""
        return _share(self.likelihood, self.outside)


def noise_likelihood(counts: IntArray, printed: int, epsilon: float, summed: int = 1) -> FloatArray:
    """How probable it is, up to a factor, that `printed` comes from each of `counts`.

    The noise is the sum of `summed` independent two-sided geometric ones, `P(Z = k) ~ exp(-epsilon |k|)`.
    """
    away = abs(counts - printed).astype(float)
    if summed == 1:
        return np.asarray(np.exp(-epsilon * (away - away.min(initial=math.inf))), dtype=float)
    reach = min(math.ceil(FAR / epsilon), LONGEST) + 1
    single = np.exp(-epsilon * abs(np.arange(-reach, reach + 1)))
    law = single
    for _ in range(summed - 1):
        law = convolved(law, single)[reach:-reach]  # tails beyond the reach weigh e^-FAR
    middle = len(law) // 2
    likelihood = law[np.minimum(away, reach).astype(np.int64) + middle]
    return np.asarray(likelihood * np.exp(-epsilon * np.maximum(away - reach, 0.0)), dtype=float)


def lot_chance(room: IntArray, epsilon: float) -> FloatArray:
    """The chance that a group is drawn which `room` answers separate from the limits, with `|Z| >= room`.

    `Z` is two-sided geometric noise of `epsilon`; a group outside (`room` 0) is always drawn.
    """
    ratio = math.exp(-epsilon)
    return np.where(room <= 0, 1.0, 2 * ratio ** np.maximum(room, 1) / (1 + ratio))


def trimmed(group: GroupBelief) -> GroupBelief:
    """The group without the counts at either end that are next to impossible."""
    kept = np.flatnonzero(group.likelihood > math.exp(-FAR) * group.likelihood.max(initial=0.0))
    if not len(kept):
        return group
    inside = slice(int(kept[0]), int(kept[-1]) + 1)
    drawn = None if group.drawn is None else group.drawn[inside]
    return GroupBelief(group.least + inside.start, group.likelihood[inside], group.outside[inside], drawn)


def chances_outside(units: Sequence[Sequence[GroupBelief]], total: int) -> list[float]:
    """Per group, in order, the posterior that it lies outside; 1 where no counts agree with what is known."""
    groups = [(trimmed(group), place == len(unit) - 1) for unit in units for place, group in enumerate(unit)]
    laws = [_laws(group) for group, _ in groups]
    forward = [_START]
    for law, (group, ends) in zip(laws, groups, strict=True):
        forward.append(_step(forward[-1], law, group.least, ends))
    # From behind, a unit is entered with whatever state its last group has to leave: drawn.
    backward = [_Ahead((0, np.ones(1)), (0, np.ones(1)))]
    for law, (group, ends) in zip(laws[::-1], groups[::-1], strict=True):
        backward.append(_back(backward[-1], law, group.least, ends))
    backward.reverse()
    found = [
        _share(_marginal(forward[g], law, group, ends, backward[g + 1], total), group.outside)
        for g, (law, (group, ends)) in enumerate(zip(laws, groups, strict=True))
    ]
    # What was trimmed is not impossible: its chance is stated as the least one above 0.
    possible = [bool((group.likelihood > 0)[group.outside].any()) for unit in units for group in unit]
    return [max(chance, LEAST) if can else chance for chance, can in zip(found, possible, strict=True)]


Sums = tuple[int, FloatArray]
"""Weights of sums, from the first number on."""


@dataclass(frozen=True, eq=False)
class _Ahead:
    """Weights of sums where no group of the unit was drawn yet, and where one was."""

    none: Sums
    some: Sums


_START = _Ahead((0, np.ones(1)), (0, np.zeros(1)))


@dataclass(frozen=True, eq=False)
class _Law:
    """Weights of the counts of a group: not drawn, drawn, and either."""

    spared: FloatArray
    drawn: FloatArray
    either: FloatArray


def _laws(group: GroupBelief) -> _Law:
    drawn = np.ones(len(group.likelihood)) if group.drawn is None else group.drawn
    return _Law(group.likelihood * (1 - drawn), group.likelihood * drawn, group.likelihood)


def _step(before: _Ahead, law: _Law, least: int, ends: bool) -> _Ahead:
    none = before.none[0] + least, convolved(before.none[1], law.spared)
    some = _plus(
        (before.none[0] + least, convolved(before.none[1], law.drawn)),
        (before.some[0] + least, convolved(before.some[1], law.either)),
    )
    after = _Ahead(some, (0, np.zeros(1))) if ends else _Ahead(none, some)
    return _scaled(after)


def _back(after: _Ahead, law: _Law, least: int, ends: bool) -> _Ahead:
    """Weights of the sum of this group and those behind it, by the state before it."""
    none, some = _behind(after, ends)
    nothing = 0.0 if none is None else 1.0
    none = some if none is None else none
    spared = none[0] + least, nothing * convolved(none[1], law.spared)
    drawn = some[0] + least, convolved(some[1], law.drawn)
    return _scaled(_Ahead(_plus(spared, drawn), (some[0] + least, convolved(some[1], law.either))))


def _behind(after: _Ahead, ends: bool) -> tuple[Sums | None, Sums]:
    """What follows if no group of the unit was drawn (nothing can, at its end), and if one was."""
    return (None, after.none) if ends else (after.none, after.some)


def _marginal(before: _Ahead, law: _Law, group: GroupBelief, ends: bool, after: _Ahead, total: int) -> FloatArray:
    none, some = _behind(after, ends)
    counts = np.arange(group.least, group.least + len(group.likelihood))
    weight = law.drawn * _at(before.none, some, total - counts) + law.either * _at(before.some, some, total - counts)
    return weight if none is None else weight + law.spared * _at(before.none, none, total - counts)


def _at(first: Sums, second: Sums, sums: IntArray) -> FloatArray:
    """The weights of two sums together at these places."""
    both, start = convolved(first[1], second[1]), first[0] + second[0]
    inside = (sums >= start) & (sums < start + len(both))
    return np.where(inside, both[np.clip(sums - start, 0, len(both) - 1)], 0.0)


def _plus(first: Sums, second: Sums) -> Sums:
    start = min(first[0], second[0])
    both = np.zeros(max(first[0] + len(first[1]), second[0] + len(second[1])) - start)
    for offset, weights in (first, second):
        both[offset - start : offset - start + len(weights)] += weights
    return start, both


def _scaled(ahead: _Ahead) -> _Ahead:
    """The same up to a factor, so that products of many small chances stay numbers."""
    largest = max(ahead.none[1].max(initial=0.0), ahead.some[1].max(initial=0.0)) or 1.0
    return _Ahead((ahead.none[0], ahead.none[1] / largest), (ahead.some[0], ahead.some[1] / largest))


def convolved(first: FloatArray, second: FloatArray) -> FloatArray:
    """The weights of sums of two independent counts."""
    if len(first) * len(second) <= LONG:
        return np.convolve(first, second)
    size = len(first) + len(second) - 1
    spectrum = np.fft.rfft(first, size) * np.fft.rfft(second, size)
    return np.maximum(np.fft.irfft(spectrum, size), 0.0)  # rounding may leave a hair below 0


def _share(weights: FloatArray, outside: BoolArray) -> float:
    everything = float(weights.sum())
    return float(weights[outside].sum()) / everything if everything > 0 else 1.0


def rounded_up(chance: float) -> str:
    """A chance as it is stated: rounded up to three digits; what is above by a rounding error only is not.

    >>> rounded_up(0.8641), rounded_up(0.5), rounded_up(1e-20), rounded_up(0.0), rounded_up(1.0)
    ('0.865', '0.500', '0.001', '0.000', '1.000')
    """
    return f"{min(max(math.ceil(chance * 1000 - 1e-9), int(chance > 0)), 1000) / 1000:.3f}"
