"""Compare a claimed guarantee with a small mechanism whose laws are listed: it holds, is tight or is violated."""

import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from safemargin.core import Distance, Fixes, InputError, Invariant, Measure, TooLargeError
from safemargin.guarantees.exact import Holds, Loss, Metric, check, frozen_hamming, hamming, universe_loss
from safemargin.guarantees.mechanism_file import Mechanism, Record
from safemargin.guarantees.refinement import classes
from safemargin.guarantees.renyi import zcdp_loss

CLOSE = 1e-9
MOST_PAIRS = {Measure.PURE: 200_000, Measure.ZCDP: 3_000}
"""About half a minute."""


@dataclass(frozen=True)
class Verified:
    """What was found: the loss of every universe (epsilon, or rho squared), and the pair that loses most.

    Without a budget to hold against, there is no verdict.
    """

    mechanism: Mechanism
    verdict: Holds | None
    losses: Mapping[str, Loss[str, str]]
    rho_squared: Mapping[str, float]
    worst: str
    pair: tuple[str, str] | None

    @property
    def loss(self) -> float:
        """The largest loss of all universes, in the measure of the guarantee."""
        return self.in_measure(self.worst)

    def in_measure(self, universe: str) -> float:
        """The loss of one universe in the measure of the guarantee."""
        return self.rho_squared[universe] if self.rho_squared else self.losses[universe].value

    @property
    def is_trivial(self) -> bool:
        """Whether every universe holds one data set, so that nothing is protected."""
        return all(loss.size < 2 for loss in self.losses.values())


def check_mechanism(mechanism: Mechanism) -> Verified:
    """Compute the exact loss of a mechanism in every universe, and hold its guarantee against it.

    In rho squared, the supremum over orders is searched: what is found violated is, what holds does so numerically.
    """
    guarantee = mechanism.guarantee
    if guarantee.measure not in (Measure.PURE, Measure.ZCDP):
        raise InputError(f"guarantee: measure = {guarantee.measure}: only pure and zcdp guarantees are checked")
    universes = _universes(mechanism)
    pairs = sum(len(members) * (len(members) - 1) // 2 for members in universes.values())
    if pairs > MOST_PAIRS[guarantee.measure]:
        raise TooLargeError(f"{pairs:,} pairs of data sets to compare; at most {MOST_PAIRS[guarantee.measure]:,} are")
    apart = _distance(mechanism)
    if guarantee.measure is Measure.PURE:
        budget = None if guarantee.budget is None else float(guarantee.budget)
        found = check(mechanism.laws, universes, apart, lambda _: budget)
        losses = {str(name): loss for name, loss in found.losses.items()}
        worst = max(losses, key=lambda name: losses[name].value)
        pair = losses[worst].pair
        told = None if pair is None else (pair.one, pair.other)
        return Verified(mechanism, None if budget is None else found.verdict, losses, {}, worst, told)
    laws = {str(name): {each: mechanism.laws[each] for each in members} for name, members in universes.items()}
    losses = {name: universe_loss(each, apart) for name, each in laws.items()}
    squared = {name: zcdp_loss(each, apart) for name, each in laws.items()}
    worst = max(squared, key=lambda name: squared[name][0])
    rho = {name: value for name, (value, _) in squared.items()}
    return Verified(mechanism, _verdict(rho[worst], guarantee.budget), losses, rho, worst, squared[worst][1])


def _verdict(loss: float, budget: Fraction | float | None) -> Holds | None:
    if budget is None:
        return None
    if budget == math.inf or loss < float(budget) * (1 - CLOSE) - CLOSE:
        return Holds.HOLDS
    return Holds.VIOLATED if loss > float(budget) * (1 + CLOSE) + CLOSE else Holds.TIGHT


def _universes(mechanism: Mechanism) -> dict[Hashable, tuple[str, ...]]:
    if mechanism.universes is not None:
        return dict(mechanism.universes.items())
    values = [_statistic(each, mechanism.variables) for each in mechanism.guarantee.invariants]

    def key(name: str) -> Hashable:
        return tuple(value(mechanism.data[name]) for value in values)

    return dict((members[0], tuple(members)) for members in classes(mechanism.data, key).values())


def _statistic(
    invariant: Invariant, variables: tuple[str, ...]
) -> Callable[[tuple[Record, ...]], frozenset[tuple[Hashable, int]]]:
    """The value of an invariant; counts of every kind of record are counts of the records of the file."""
    if invariant.fixes not in (Fixes.COUNTS, Fixes.AT_LEAST):
        raise InputError(f"guarantee: {invariant}: cannot be computed from records; list the universes instead")
    if missing := next((name for name in invariant.by if name not in variables), None):
        raise InputError(f"guarantee: {invariant}: there is no variable {missing!r}; they are {', '.join(variables)}")
    places = [variables.index(name) for name in invariant.by]
    least = invariant.least if invariant.fixes is Fixes.AT_LEAST else None

    def value(records: tuple[Record, ...]) -> frozenset[tuple[Hashable, int]]:
        found = Counter(tuple(record[place] for place in places) for record in records)
        if least is None:
            return frozenset(found.items())
        return frozenset((cell, 1) for cell, count in found.items() if count >= least)

    return value


def _distance(mechanism: Mechanism) -> Metric[str]:
    kind, data = mechanism.guarantee.change.distance, mechanism.data
    if kind is Distance.HAMMING:
        return lambda one, other: hamming(data[one], data[other])
    if kind is Distance.ADD_REMOVE:
        return lambda one, other: float(
            (Counter(data[one]) - Counter(data[other])).total() + (Counter(data[other]) - Counter(data[one])).total()
        )
    if kind is Distance.FROZEN and IMPUTED in mechanism.variables:
        place = mechanism.variables.index(IMPUTED)
        frozen = frozen_hamming(lambda record: isinstance(record, tuple) and record[place] == "yes")
        return lambda one, other: frozen(data[one], data[other])
    if kind is Distance.FROZEN:
        raise InputError(f"guarantee: change.distance = frozen: needs a variable {IMPUTED!r} that is 'yes' or 'no'")
    raise InputError(f"guarantee: change.distance = {kind}: must be hamming, add_remove or frozen")


IMPUTED = "imputed"
"""The variable that marks imputed records."""
