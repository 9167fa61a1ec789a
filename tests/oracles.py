"""Reference constructions for tests of guarantees: universes made, moved and compared, and laws of whole mechanisms."""

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, permutations
from typing import Any, TypeVar

import numpy as np

from safemargin.core import FloatArray, Guarantee, InputError, Measure
from safemargin.guarantees.conversion import tight_epsilon
from safemargin.guarantees.exact import Checked, Data, Law, Metric, Output, largest_ratio, log, renyi_metric
from safemargin.guarantees.refinement import classes
from safemargin.guarantees.swap_law import (
    Law as TableLaw,
    Permutation,
    Record,
    Rule,
    Stratum,
    any_move,
    outcomes,
    table,
)
from safemargin.guarantees.swap_loss import derangements, odds_factor, swap_epsilon
from safemargin.swap.check import check
from safemargin.swap.permutation import crossing_rates

Budget = Fraction | float | None
"""As `check` takes it: a fraction is e to the epsilon, a float epsilon, None infinite."""
Margin = Mapping[tuple[Hashable, Hashable], int]
"""Records by stratum and value."""
Member = TypeVar("Member")


def folded(distance: Metric[Data], key: Callable[[Data], Hashable]) -> Metric[Data]:
    """Invariants as part of the distance: infinite between data sets whose `key` differs."""
    return lambda one, other: distance(one, other) if key(one) == key(other) else math.inf


def pure_distance(one: Law[Output], other: Law[Output]) -> float:
    """The largest absolute log ratio of probabilities: over outputs, and so over all events."""
    return max(log(largest_ratio(one, other)[0]), log(largest_ratio(other, one)[0]))


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
    """Whether every universe holds one data set: the invariants disclose everything, and nothing is protected."""
    return all(len(set(members)) <= 1 for members in universes.values())


def product_law(laws: Sequence[Law[Output]]) -> dict[tuple[Output, ...], Fraction]:
    """The law of independent outputs together."""
    found: dict[tuple[Output, ...], Fraction] = {(): Fraction(1)}
    for law in laws:
        found = {(*start, output): a * b for start, a in found.items() for output, b in law.items()}
    return found


def universes_of(
    data: Iterable[Data], universe: Callable[[Data], Iterable[Data]]
) -> dict[frozenset[Data], tuple[Data, ...]]:
    """The universes of a function that gives each data set those it is compared with; each universe once."""
    found: dict[frozenset[Data], tuple[Data, ...]] = {}
    for each in data:
        members = tuple(universe(each))
        found.setdefault(frozenset(members), members)
    return found


def unfold(data: Iterable[Data], distance: Metric[Data]) -> dict[Data, list[Data]]:
    """Invariants moved from the distance into universes: data sets that are finitely far apart, by the first of them.

    Refused where these do not part the domain.
    """
    everything = list(data)
    found: dict[Data, list[Data]] = {}
    home: dict[Data, Data] = {}
    for each in everything:
        for first in found:
            if distance(first, each) < math.inf:
                home[each] = first
                found[first].append(each)
                break
        else:
            home[each] = each
            found[each] = [each]
    for one in everything:
        for other in everything:
            if (distance(one, other) < math.inf) != (home[one] == home[other]):
                raise InputError(
                    f"{one!r} and {other!r}: data sets finitely far apart do not part the domain into universes"
                )
    return found


def carried(
    universes: Mapping[Hashable, Iterable[Data]],
    budgets: Callable[[Hashable], Budget],
    finer: Mapping[Hashable, Iterable[Data]],
) -> dict[Hashable, Budget]:
    """What budgets on universes guarantee on finer ones: the least of those that hold all of one (Proposition 5)."""
    wide = {name: set(members) for name, members in universes.items()}
    found: dict[Hashable, Budget] = {}
    for name, members in finer.items():
        inside = set(members)
        holding = [budgets(each) for each, held in wide.items() if inside <= held]
        if not holding:
            raise InputError(f"universe {name!r}: no universe with a budget holds all of it")
        found[name] = min(holding, key=_size)
    return found


def varying_pair(
    laws: Mapping[Data, Law[Output]], universes: Mapping[Hashable, Iterable[Data]], distance: Metric[Data]
) -> tuple[Data, Data] | None:
    """Two data sets of one universe, finitely far apart, whose outputs follow different laws.

    With any, no budget of nothing holds there (Proposition 2). None if the output discloses nothing within universes.
    """
    for members in universes.values():
        listed = list(members)
        for one in listed:
            for other in listed:
                if largest_ratio(laws[one], laws[other])[1] and distance(one, other) < math.inf:
                    return one, other
    return None


def _size(budget: Budget) -> float:
    if budget is None:
        return math.inf
    return math.log(budget) if isinstance(budget, Fraction) else budget


def renyi_distance(one: Law[Output], other: Law[Output]) -> float:
    """The metric between two exact laws."""
    outputs = list(dict.fromkeys([*one, *other]))
    return renyi_metric(_logs(one, outputs), _logs(other, outputs))


def discrete_gaussian(variance: float, shift: int, reach: int) -> FloatArray:
    """Log probabilities of discrete Gaussian noise around `shift`, on the whole numbers up to `reach` from 0."""
    places = np.arange(-reach, reach + 1, dtype=np.float64) - shift
    logs = -(places**2) / (2 * variance)
    return np.asarray(logs - math.log(float(np.exp(logs).sum())), dtype=np.float64)


def _logs(law: Mapping[Output, Fraction], outputs: list[Output]) -> FloatArray:
    chances = [law.get(output, Fraction(0)) for output in outputs]
    return np.array([math.log(c.numerator) - math.log(c.denominator) if c else -math.inf for c in chances])


def split_pair(
    data: Iterable[Member], fine: Callable[[Member], Hashable], coarse: Callable[[Member], Hashable]
) -> tuple[Member, Member] | None:
    """Two data sets that agree on `fine` and not on `coarse`: the witness that `fine` does not determine it."""
    for members in classes(data, fine).values():
        for each in members[1:]:
            if coarse(each) != coarse(members[0]):
                return members[0], each
    return None


@dataclass(frozen=True)
class SwapBudget:
    """What swapping at `rate` guarantees in a universe, which its two margins name."""

    rate: Fraction

    def factor(self, held: Margin, swapped: Margin) -> Fraction | None:
        """e to the epsilon, exactly; None if it is infinite."""
        return odds_factor(self.rate, largest_stratum(held, swapped))

    def epsilon(self, held: Margin, swapped: Margin) -> float:
        """Epsilon of Theorem 1."""
        return swap_epsilon(self.rate, largest_stratum(held, swapped))


def largest_stratum(held: Margin, swapped: Margin) -> int:
    """The largest stratum with two different records, from records by stratum and held, or swapped, value."""
    strata = list(dict.fromkeys(stratum for stratum, _ in (*held, *swapped)))
    return largest_of_margins(
        [[count for (stratum, _), count in held.items() if stratum == each] for each in strata],
        [[count for (stratum, _), count in swapped.items() if stratum == each] for each in strata],
    )


def margins_of(records: Iterable[Sequence[Hashable]]) -> tuple[Margin, Margin]:
    """The two tables that name the universe of records of stratum, held and swapped value."""
    rows = list(records)
    held = Counter((stratum, value) for stratum, value, _ in rows)
    swapped = Counter((stratum, value) for stratum, _, value in rows)
    return held, swapped


def largest_of_margins(held: Sequence[Sequence[int]], swapped: Sequence[Sequence[int]]) -> int:
    """The largest stratum with two different records, from the counts of values by stratum alone."""
    largest = 0
    for ours, theirs in zip(held, swapped, strict=True):
        if sum(ours) != sum(theirs):
            raise InputError(f"a stratum has {sum(ours)} held and {sum(theirs)} swapped values; they must be as many")
        if sum(count > 0 for count in ours) > 1 or sum(count > 0 for count in theirs) > 1:
            largest = max(largest, sum(ours))
    return largest


def permutation_chance(moved: int, size: int, rate: Fraction) -> Fraction:
    """Probability of one permutation of `size` records that moves `moved` of them (appendix E of the paper)."""
    if moved == 1 or moved > size:
        return Fraction(0)
    redrawn = 1 - size * rate * (1 - rate) ** (size - 1)
    return rate**moved * (1 - rate) ** (size - moved) / (redrawn * derangements(moved))


def path(one: Stratum, other: Stratum) -> Permutation:
    """A permutation that leads from one table to the other of its universe and moves as few records as can be.

    Lemma 5 of the paper: it moves exactly as many as the tables are apart.
    """
    if sorted(h for h, _ in one) != sorted(h for h, _ in other) or sorted(s for _, s in one) != sorted(
        s for _, s in other
    ):
        raise InputError("the two tables do not have the same margins")
    left = list(other)
    moving = []
    for place, record in enumerate(one):
        if record in left:
            left.remove(record)
        else:
            moving.append(place)
    move = list(range(len(one)))
    waiting = list(moving)
    for place in moving:  # every record that has to change gets a value that its held value has in the other table
        target = next(record for record in left if record[0] == one[place][0])
        left.remove(target)
        source = next(each for each in waiting if one[each][1] == target[1])
        waiting.remove(source)
        move[place] = source
    return tuple(move)


def across_law(records: Stratum, strata: Sequence[int], rate: Fraction, alpha: Fraction) -> TableLaw:
    """The law of the table after swapping across strata; `strata` gives the stratum of each held value."""
    leaving, within = crossing_rates(rate, alpha)
    size = len(records)
    if size < 2:
        return {table(records): Fraction(1)}
    found: TableLaw = {}
    for moved in (0, *range(2, size + 1)):
        each = permutation_chance(moved, size, leaving)
        for far in combinations(range(size), moved):
            rest = _within([records[n] for n in range(size) if n not in far], strata, within)
            for order in permutations(far):
                if any(a == b for a, b in zip(far, order, strict=True)):
                    continue
                gone = [(records[a][0], records[b][1]) for a, b in zip(far, order, strict=True)]
                for end, chance in rest.items():
                    whole = table([*gone, *end])
                    found[whole] = found.get(whole, Fraction(0)) + each * chance
    return found


def swap_law(records: Stratum, rate: Fraction, rule: Rule = any_move) -> TableLaw:
    """The law of the published table of one stratum."""
    if len(records) < 2:
        return {table(records): Fraction(1)}
    return outcomes(records, rule).law([rate] * len(records))


def _within(records: Sequence[Record], strata: Sequence[int], rate: Fraction) -> TableLaw:
    """The law of permutation swapping of several strata."""
    found: TableLaw = {(): Fraction(1)}
    for stratum in sorted({strata[kind] for kind, _ in records}):
        mine = table([record for record in records if strata[record[0]] == stratum])
        law = swap_law(mine, rate)
        after: TableLaw = {}
        for start, chance in found.items():
            for end, more in law.items():
                whole = table([*start, *end])
                after[whole] = after.get(whole, Fraction(0)) + chance * more
        found = after
    return found


def check_swapping(
    held: Sequence[int], swapped: Sequence[int], rate: Any, variant: str = "permutation", **options: Any
) -> tuple[Checked[Any, Any], float | None, float]:
    """What is found for the universe with these margins, the epsilon of Theorem 1, and the exact loss."""
    found = check(held, swapped, rate, variant=variant, **options)
    return found.checked, found.claimed, found.loss


def to_approximate(source: Guarantee, delta: float) -> Guarantee:
    """A guarantee shown as epsilon at a delta."""
    budget = math.inf if source.budget is None else float(source.budget)
    if source.measure is Measure.ZCDP and budget < math.inf:
        budget = tight_epsilon(budget, delta)
    return replace(source, budget=budget, measure=Measure.APPROXIMATE, delta=delta, rule="shown", premises=(source,))
