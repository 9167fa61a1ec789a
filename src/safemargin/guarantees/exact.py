"""The true loss of a mechanism on a small domain, and whether a guarantee about it holds, is tight or is broken.

All pairs of data sets in a universe are looked at, not only neighbours: where invariants leave none, any guarantee
would hold. Probabilities are fractions. Logarithms only sort the pairs; which of two close pairs loses more, and
whether one keeps a guarantee, is decided by comparing fractions.
"""

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Generic, TypeVar

import numpy as np

from safemargin.core import FloatArray, InputError

Data = TypeVar("Data", bound=Hashable)
Output = TypeVar("Output", bound=Hashable)
Law = Mapping[Output, Fraction]
Metric = Callable[[Data, Data], float]

CLOSE = 1e-9
"""How near to its limit, or to another pair, a pair is compared in fractions."""

FINE = 1_000
"""Largest denominator of a distance that fractions are raised to."""


class Holds(StrEnum):
    """What was found about a guarantee."""

    HOLDS = "holds"
    TIGHT = "tight"
    VIOLATED = "violated"


@dataclass(frozen=True)
class Pair(Generic[Data, Output]):
    """Two data sets `distance` apart, and an output `ratio` times as likely from the first (None: infinitely)."""

    one: Data
    other: Data
    output: Output
    ratio: Fraction | None
    distance: float

    @property
    def loss(self) -> float:
        """Log ratio per unit of distance."""
        return per_unit(log(self.ratio), self.distance)


@dataclass(frozen=True)
class Loss(Generic[Data, Output]):
    """The largest loss in a universe of `size` data sets, and where; none where nothing is lost.

    `neighbours` are ordered pairs at distance one; without any, a look at neighbours would show nothing.
    """

    size: int
    value: float
    pair: Pair[Data, Output] | None
    neighbours: int = 0


@dataclass(frozen=True)
class Checked(Generic[Data, Output]):
    """Whether a guarantee holds in every universe; `worst` is the one that comes nearest to its limit or breaks it."""

    verdict: Holds
    losses: Mapping[Hashable, Loss[Data, Output]]
    worst: Loss[Data, Output] | None
    allowed: float


def log(ratio: Fraction | None) -> float:
    """The natural logarithm, also of what is too large for a float or too near to 1; of None, infinity.

    >>> log(Fraction(10**400)) > 921, log(1 + Fraction(1, 10**20)), log(None)
    (True, 1e-20, inf)
    """
    if ratio is None:
        return math.inf
    if abs(ratio - 1) < Fraction(1, 2):
        return math.log1p(ratio - 1)
    return math.log(ratio.numerator) - math.log(ratio.denominator)


def per_unit(loss: float, distance: float) -> float:
    """Loss per unit of distance: anything lost at distance 0 is infinite, nothing counts at infinite distance.

    >>> per_unit(0.0, 0), per_unit(1.0, 0), per_unit(math.inf, math.inf), per_unit(1.0, 2)
    (0.0, inf, 0.0, 0.5)
    """
    if loss <= 0 or distance == math.inf:
        return 0.0
    return math.inf if distance == 0 else loss / distance


def allowance(budget: float, distance: float) -> float:
    """What a budget allows at a distance; nothing at an infinite budget is still no statement.

    >>> allowance(0.0, math.inf), allowance(math.inf, 0.0), allowance(2.0, 3.0)
    (inf, inf, 6.0)
    """
    return math.inf if math.inf in (budget, distance) else budget * distance


def hamming(one: Sequence[Hashable], other: Sequence[Hashable]) -> float:
    """Records to be changed, order aside; infinite between data sets of different size.

    >>> hamming("aab", "bca"), hamming("ab", "ba"), hamming("a", "ab")
    (1, 0, inf)
    """
    if len(one) != len(other):
        return math.inf
    return sum((Counter(one) - Counter(other)).values())


def frozen_hamming(imputed: Callable[[Hashable], bool]) -> Metric[tuple[Hashable, ...]]:
    """As `hamming`, but infinite where records that were imputed differ."""

    def distance(one: tuple[Hashable, ...], other: tuple[Hashable, ...]) -> float:
        if Counter(filter(imputed, one)) != Counter(filter(imputed, other)):
            return math.inf
        return hamming(one, other)

    return distance


def folded(distance: Metric[Data], key: Callable[[Data], Hashable]) -> Metric[Data]:
    """Invariants as part of the distance: infinite between data sets whose `key` differs."""
    return lambda one, other: distance(one, other) if key(one) == key(other) else math.inf


def largest_ratio(one: Law[Output], other: Law[Output]) -> tuple[Fraction | None, tuple[Output, ...]]:
    """The largest ratio of probabilities of one output, and that output; None if the second law never gives it.

    There is no output where no ratio is above 1.
    """
    best = Fraction(1)
    where: tuple[Output, ...] = ()
    for output, chance in one.items():
        if not chance:
            continue
        base = other.get(output)
        if not base:
            return None, (output,)
        if chance > best * base:
            best, where = chance / base, (output,)
    return best, where


def pure_distance(one: Law[Output], other: Law[Output]) -> float:
    """The largest absolute log ratio of probabilities: over outputs, and so over all events."""
    return max(log(largest_ratio(one, other)[0]), log(largest_ratio(other, one)[0]))


def universe_loss(laws: Mapping[Data, Law[Output]], distance: Metric[Data]) -> Loss[Data, Output]:
    """The largest loss over all pairs of the data sets of one universe, each way round."""
    _check_laws(laws)
    data = list(laws)
    outputs, logs = _logs(laws)
    gaps = _gaps(logs)
    best: Pair[Data, Output] | None = None
    least, near = -math.inf, 0
    for row, one in enumerate(data):
        for column in range(row + 1, len(data)):
            other = data[column]
            ways = distance(one, other), distance(other, one)
            near += ways.count(1)
            apart = min(ways)
            if math.inf in (apart, least) or laws[one] == laws[other]:
                continue
            for first, second in ((row, column), (column, row)):
                gap = float(gaps[first, second])
                if per_unit(gap, apart) < least and gap > CLOSE:
                    continue
                telling = _telling(logs[first], logs[second], gap)
                found = _pair(laws, data[first], data[second], apart, [outputs[place] for place in telling])
                if found is not None and (best is None or _exceeds(found, best)):
                    best, least = found, found.loss - CLOSE
    return Loss(len(data), 0.0 if best is None else best.loss, best, near)


def check(
    laws: Mapping[Data, Law[Output]],
    universes: Mapping[Hashable, Iterable[Data]],
    distance: Metric[Data],
    allowed: Callable[[Hashable], Fraction | float | None],
) -> Checked[Data, Output]:
    """Hold a guarantee against the laws of a mechanism.

    `allowed` gives the budget of a universe: a fraction is the factor e^epsilon, exactly; a float is epsilon, to nine
    digits; None is infinite. Universes may overlap. The guarantee is tight if some pair reaches its limit.
    """
    found: dict[Hashable, Loss[Data, Output]] = {}
    verdict, worst, limit = Holds.HOLDS, None, math.inf
    nearest = -math.inf
    for name, members in universes.items():
        budget = _sensible(allowed(name), name)
        loss = universe_loss(_members(laws, members, name), distance)
        found[name] = loss
        most = _epsilon(budget)
        state = _state(loss, budget)
        margin = math.inf if most == math.inf and loss.value == math.inf else loss.value - most
        rank = {Holds.HOLDS: 0, Holds.TIGHT: 1, Holds.VIOLATED: 2}
        if worst is None or rank[state] > rank[verdict] or (state is verdict and margin > nearest):
            verdict, worst, limit, nearest = state, loss, most, margin
    return Checked(verdict, found, worst, limit)


def fold(
    universes: Mapping[Hashable, Iterable[Data]],
    distance: Metric[Data],
    allowed: Callable[[Hashable], Fraction | float | None],
) -> tuple[dict[Hashable, list[Data]], Metric[Data]]:
    """Invariants moved from the multiverse into the distance: one universe of everything.

    Only one budget is left then, so it is refused where the budget varies, or where universes overlap.
    """
    if len({allowed(name) for name in universes}) > 1:
        raise InputError("the budget varies over universes, so the invariants cannot be moved into the distance")
    home: dict[Data, Hashable] = {}
    for name, members in universes.items():
        for each in members:
            if home.setdefault(each, name) != name:
                raise InputError("universes overlap, so the invariants cannot be moved into the distance")
    return {"everything": list(home)}, folded(distance, home.__getitem__)


def neighbours(universes: Mapping[Hashable, Iterable[Data]], distance: Metric[Data]) -> int:
    """Ordered pairs of data sets at distance one inside universes; without any, a look at neighbours shows nothing."""
    groups = [list(members) for members in universes.values()]
    return sum(distance(one, other) == 1 for members in groups for one in members for other in members)


def distinguished_pair(
    universes: Mapping[Hashable, Iterable[Data]], distance: Metric[Data], statistic: Callable[[Data], Hashable]
) -> tuple[Data, Data] | None:
    """Two data sets of one universe, finitely far apart, that a statistic distinguishes.

    Publishing it exactly has an infinite loss there (Proposition 1). None if the universes fix it, and it is free.
    """
    for members in universes.values():
        data = list(members)
        for one in data:
            for other in data:
                if statistic(one) != statistic(other) and distance(one, other) < math.inf:
                    return one, other
    return None


def is_trivial(universes: Mapping[Hashable, Iterable[Data]]) -> bool:
    """Whether every universe holds one data set: the invariants tell everything, and nothing is protected."""
    return all(len(set(members)) <= 1 for members in universes.values())


def product_law(laws: Sequence[Law[Output]]) -> dict[tuple[Output, ...], Fraction]:
    """The law of independent outputs together."""
    found: dict[tuple[Output, ...], Fraction] = {(): Fraction(1)}
    for law in laws:
        found = {(*start, output): a * b for start, a in found.items() for output, b in law.items()}
    return found


def _logs(laws: Mapping[Data, Law[Output]]) -> tuple[list[Output], FloatArray]:
    """All outputs, and the logarithm of the probability of each, by data set."""
    outputs = {output: n for n, output in enumerate(dict.fromkeys(o for law in laws.values() for o in law))}
    logs = np.full((len(laws), len(outputs)), -np.inf)
    for row, law in enumerate(laws.values()):
        for output, chance in law.items():
            if chance:
                logs[row, outputs[output]] = math.log(chance.numerator) - math.log(chance.denominator)
    return list(outputs), logs


def _gaps(logs: FloatArray) -> FloatArray:
    """Largest log ratio of every ordered pair of laws."""
    with np.errstate(invalid="ignore"):
        found = [np.where(np.isneginf(row), -np.inf, row - logs).max(axis=1) for row in logs]
    return np.array(found)


def _telling(one: FloatArray, other: FloatArray, gap: float) -> Sequence[int]:
    """Outputs whose ratio may be the largest one: all that come near to it."""
    if gap <= CLOSE:
        return range(len(one))
    with np.errstate(invalid="ignore"):
        return [int(place) for place in np.flatnonzero(one - other >= gap - CLOSE)]


def _pair(
    laws: Mapping[Data, Law[Output]], one: Data, other: Data, distance: float, outputs: Sequence[Output]
) -> Pair[Data, Output] | None:
    mine = {output: laws[one].get(output, Fraction(0)) for output in outputs}
    ratio, where = largest_ratio(mine, laws[other])
    return Pair(one, other, where[0], ratio, distance) if where else None


def _exceeds(one: Pair[Data, Output], other: Pair[Data, Output]) -> bool:
    """Whether the first pair loses more per unit of distance; by fractions where it is close."""
    mine, theirs = one.loss, other.loss
    if mine == theirs == math.inf or abs(mine - theirs) > CLOSE:
        return mine > theirs
    ours, apart = _exponent(one.distance), _exponent(other.distance)
    if one.ratio is None or other.ratio is None or ours is None or apart is None:
        return mine > theirs
    return _power(one.ratio, apart * ours.denominator * apart.denominator) > _power(
        other.ratio, ours * ours.denominator * apart.denominator
    )


def _exponent(distance: float) -> Fraction | None:
    found = Fraction(distance)
    return found if found.denominator <= FINE else None


def _power(ratio: Fraction, exponent: Fraction) -> Fraction:
    return ratio ** int(exponent)


def _check_laws(laws: Mapping[Data, Law[Output]]) -> None:
    for data, law in laws.items():
        if sum(law.values()) != 1 or min(law.values()) < 0:
            raise InputError(f"law of {data!r}: probabilities must not be negative, and sum to 1")


def _members(
    laws: Mapping[Data, Law[Output]], members: Iterable[Data], universe: Hashable
) -> Mapping[Data, Law[Output]]:
    found = list(members)
    for each in found:
        if each not in laws:
            raise InputError(f"universe {universe!r}: nothing is said about the output for {each!r}")
    return {each: laws[each] for each in found}


def _sensible(budget: Fraction | float | None, universe: Hashable) -> Fraction | float | None:
    if budget is not None and not budget >= (1 if isinstance(budget, Fraction) else 0):
        raise InputError(
            f"universe {universe!r}: budget {budget}: must be a fraction from 1 up (e to the epsilon), "
            "a float from 0 up (epsilon) or None"
        )
    return budget


def _epsilon(budget: Fraction | float | None) -> float:
    return log(budget) if budget is None or isinstance(budget, Fraction) else float(budget)


def _state(loss: Loss[Data, Output], budget: Fraction | float | None) -> Holds:
    most, pair = _epsilon(budget), loss.pair
    if most == math.inf:
        return Holds.HOLDS
    if pair is None:
        return Holds.TIGHT if most == 0 else Holds.HOLDS
    if abs(loss.value - most) > CLOSE:
        return Holds.VIOLATED if loss.value > most else Holds.HOLDS
    apart = _exponent(pair.distance)
    if not isinstance(budget, Fraction) or apart is None or pair.ratio is None:
        return Holds.TIGHT
    reached, limit = _power(pair.ratio, Fraction(apart.denominator)), _power(budget, Fraction(apart.numerator))
    return Holds.VIOLATED if reached > limit else Holds.TIGHT if reached == limit else Holds.HOLDS
