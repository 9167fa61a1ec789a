"""Whether one guarantee implies another: whatever satisfies the first satisfies the second.

Yes follows from rules for each block. No needs something that satisfies the first guarantee and breaks the second:
publishing the first one's invariants where the second compares data sets that differ in them; noise that uses the
first budget up; noise that the second measure does not bound. Such noise exists where two data sets that agree on all
invariants are finitely far apart, which is taken for granted unless the invariants fix the data. All else is not known.
"""

import math
from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction

from safemargin.core import Amount, Change, Distance, Fixes, Guarantee, Invariant, Measure, Population, Records
from safemargin.guarantees.conversion import tight_epsilon
from safemargin.guarantees.refinement import Determined, Witness, invariants_fixed, unit_factor
from safemargin.guarantees.swap_loss import swap_epsilon

STRENGTH = {Measure.PURE: 3, Measure.ZCDP: 2, Measure.APPROXIMATE: 1, Measure.NONE: 0}
CLOSE = 1e-12
FINITE = (Distance.HAMMING, Distance.ADD_REMOVE, Distance.FROZEN)
"""Distances that are finite between any two data sets of equally many records."""


def implies(first: Guarantee, second: Guarantee) -> Determined:
    """Whether everything that satisfies the first guarantee satisfies the second; None if that is not known."""
    first, second = plain(first), plain(second)
    if is_empty(second):
        return Determined(True, "the other guarantees nothing")
    if first.flavour == second.flavour and first.budget == second.budget and _vary_alike(first, second):
        return Determined(True, "they are the same")
    if is_empty(first):
        return Determined(False, "it guarantees nothing itself")
    if first.budget is None or second.budget is None:
        return Determined(None, "one of the budgets is not known")
    if math.inf in (first.budget, second.budget):
        return Determined(None, "one of the budgets is infinite for the data at hand, and not known for others")
    if not _covers(first.population, second.population):
        return Determined(None, "not known whether it is about all data sets of the other")
    facts = facts_on(second.population, first.population)
    fixed = invariants_fixed(first.invariants, second.invariants, facts)
    if fixed.answer is False and second.change.distance in FINITE and _compared(fixed.witness, second):
        return Determined(False, fixed.why, fixed.witness)
    linked = first.change.unit == second.change.unit or any(
        {first.change.unit, second.change.unit} == {fact.fine, fact.coarse} for fact in facts.nested
    )
    # A Gaussian shift has a small rho and an infinite epsilon: a weaker measure bounds no stronger one (section 5.4).
    if STRENGTH[first.measure] < STRENGTH[second.measure] and first.budget and linked:
        return Determined(False, f"{first.measure} does not bound {second.measure}")
    if fixed.answer is not True:
        return Determined(None, fixed.why)
    return _budgets(first, second, unit_factor(first.change, second.change, facts, second.invariants), facts)


def plain(guarantee: Guarantee) -> Guarantee:
    """The same guarantee; an epsilon at delta 0 is one of pure differential privacy."""
    exact = guarantee.measure is Measure.APPROXIMATE and not guarantee.delta
    return replace(guarantee, measure=Measure.PURE) if exact else guarantee


def _vary_alike(one: Guarantee, other: Guarantee) -> bool:
    """Whether budgets that are equal for the data at hand are for all others: words do not state how they vary."""
    if not one.varies and not other.varies:
        return True
    first, second = ((item.varies, item.rate, item.mechanism, item.rule) for item in (one, other))
    return first == second


def _compared(witness: Witness | None, other: Guarantee) -> bool:
    """Whether the guarantee says anything about two such data sets: an approximate one does if they are one apart."""
    if other.measure is not Measure.APPROXIMATE or not other.invariants:
        return True
    if witness is None or other.change.distance is Distance.ADD_REMOVE:
        return False
    return (Counter(witness.one) - Counter(witness.other)).total() == 1


def is_empty(guarantee: Guarantee) -> bool:
    """Whether anything keeps it: no measure, an infinite budget, or invariants that fix the data themselves."""
    if guarantee.measure is Measure.NONE or (guarantee.budget == math.inf and not guarantee.varies):
        return True
    return is_injective(guarantee.invariants, guarantee.population, guarantee.change)


def reasons_empty(guarantee: Guarantee) -> list[str]:
    """Why a guarantee says nothing; no reason if it says something."""
    if guarantee.measure is Measure.NONE:
        return [f"{guarantee.mechanism}: no budget is guaranteed"]
    reasons = []
    if is_injective(guarantee.invariants, guarantee.population, guarantee.change):
        reasons.append(f"{guarantee.mechanism}: the invariants fix the data themselves, so nothing is protected")
    if guarantee.budget == math.inf:
        reasons.append(f"{guarantee.mechanism}: an infinite budget is no guarantee at all")
    return reasons


def is_injective(invariants: tuple[Invariant, ...], population: Population, change: Change) -> bool:
    """Whether the invariants fix the data themselves, so that nothing is left to protect.

    That is known only if the records that change, and those that invariants count, are declared with their variables:
    a kind of record that nobody declared may differ in anything. Answers that are exchanged are no records.
    """
    if any(item.fixes is Fixes.EVERYTHING for item in invariants):
        return True
    counted = {item.of for item in invariants if item.fixes in (Fixes.COUNTS, Fixes.AT_LEAST, Fixes.LINEAR)}
    declared = {item.kind for item in population.records}
    names = {change.unit, f"{change.unit}s", *(["people"] if change.unit == "person" else [])}
    if not counted <= declared or (change.distance is not Distance.EXCHANGE and not names & declared):
        return False
    return bool(population.records) and all(
        any(
            invariant.fixes is Fixes.COUNTS
            and invariant.of == item.kind
            and bool(item.variables)
            and set(item.variables) <= population.closure(invariant.by)
            for invariant in invariants
        )
        for item in population.records
    )


def facts_on(inner: Population, outer: Population) -> Population:
    """What is declared about the data sets of the first population, and what the second says that holds there too.

    Dependencies carry to a part of a population. That records differ freely does not, unless it is the same one.
    """
    # A part of a population keeps its functional dependencies; that records differ freely may fail in it.
    same = inner.name == outer.name
    free = {kind_facts.kind for kind_facts in (*inner.records, *(outer.records if same else ())) if kind_facts.free}
    variables = {kind_facts.kind: kind_facts.variables for kind_facts in (*outer.records, *inner.records)}
    return Population(
        inner.name,
        inner.part_of,
        tuple(Records(kind, named, kind in free) for kind, named in variables.items()),
        tuple(dict.fromkeys((*inner.determines, *outer.determines))),
        tuple(dict.fromkeys((*inner.nested, *outer.nested))),
        inner.limits,
    )


def facts_between(one: Population, other: Population) -> Population:
    """What is declared about the data sets that both are about, whichever is named first.

    Where neither is part of the other, nothing is known of which records differ freely there.
    """
    if one.name == other.name or one.name in other.part_of:
        return facts_on(other, one)
    facts = facts_on(one, other)
    if other.name in one.part_of:
        return facts
    return replace(facts, records=tuple(replace(kind_facts, free=False) for kind_facts in facts.records))


def brought(first: Guarantee, second: Guarantee, factor: int) -> Amount | None:
    """A budget that the first guarantee implies in the measure of the second, for changes `factor` times as large."""
    if first.budget is None or second.budget is None:
        return None
    budget, kind = first.budget, (first.measure, second.measure)
    if budget == math.inf:
        return math.inf
    if budget == 0 and first.measure is not Measure.APPROXIMATE:
        return budget
    match kind:
        case (Measure.PURE, Measure.PURE):
            return budget * factor
        case (Measure.ZCDP, Measure.ZCDP):
            return budget * factor**2
        case (Measure.PURE, Measure.ZCDP):
            return (budget * factor) ** 2 / 2  # Bun and Steinke 2016, Proposition 1.4
        case (Measure.PURE, Measure.APPROXIMATE):
            return least_epsilon(float(budget * factor), 0.0, second.delta)
        case (Measure.ZCDP, Measure.APPROXIMATE):
            return tight_epsilon(float(budget * factor**2), second.delta)
        case (Measure.APPROXIMATE, Measure.APPROXIMATE) if factor == 1:
            return least_epsilon(float(budget), first.delta, second.delta)
    return None


def least_epsilon(epsilon: float, delta: float, wanted: float) -> float | None:
    """The least epsilon at the delta `wanted` that (epsilon, delta) implies; None if there is none.

    Randomised response loses most of all that keep (epsilon, delta): Kairouz, Oh and Viswanath (2015).

    >>> least_epsilon(1.0, 0.0, 0.0), round(least_epsilon(1.0, 0.0, 0.1), 4), least_epsilon(1.0, 0.2, 0.1)
    (1.0, 0.8529, None)
    """
    if wanted < delta:
        return None
    # Randomised response with the extra outcome of probability delta dominates (Kairouz et al., Theorem 3.1).
    share = (wanted - delta) / (1 - delta)
    left = -math.expm1(math.log1p(math.exp(-epsilon)) + math.log(share)) if share else 1.0
    return max(0.0, epsilon + math.log(left)) if left > 0 else 0.0


def _budgets(first: Guarantee, second: Guarantee, factor: int | None, facts: Population) -> Determined:
    """Whether the first budget is small enough, where all else carries over."""
    if factor is None:
        return Determined(None, "not known how the changes hang together")
    if first.varies and second.varies:
        return _both_vary(first, second, facts)
    # Conversions between measures are bounds: too large a result proves nothing, a small one does.
    ours = brought(first, second, factor)
    theirs = second.budget or 0.0
    shown = "" if ours is None else f"{float(ours):.6g} against {float(theirs):.6g}"
    exact = first.change == second.change and first.measure is second.measure and first.delta == second.delta
    if ours is None and _lost_by_response(first, second, theirs):
        return Determined(False, f"what happens with probability {first.delta:g} exceeds {second.amount}")
    if ours is None:
        return Determined(None, "no rule brings it into the measure of the other")
    if first.varies:
        lost = swapping_of(first) is not None and _compared(None, second)
        if lost or (exact and not within(ours, theirs)):
            return Determined(False, f"there are data for which it guarantees less than {second.amount}")
        return Determined(None, "not known how much it guarantees for other data")
    if second.varies:
        swapping = swapping_of(second)
        # Two different records are the smallest stratum that varies: no universe has a smaller budget at this rate.
        least = 0.0 if swapping is None else swap_epsilon(swapping.rate, 2)
        if within(ours, least):
            return Determined(True, f"{float(ours):.6g} is at most what the other guarantees for any data")
        if exact and not within(ours, theirs):
            return Determined(False, f"{shown} for the data at hand")
        return Determined(None, "not known how much the other guarantees for other data")
    if within(ours, theirs):
        return Determined(True, f"{shown} in one flavour")
    if exact and first.measure is not Measure.APPROXIMATE or _lost_by_response(first, second, theirs):
        return Determined(False, f"noise that uses its budget up exceeds {second.amount}")
    return Determined(None, f"{shown} in one flavour, of which the first may be too large a bound")


def _both_vary(first: Guarantee, second: Guarantee, facts: Population) -> Determined:
    ours, theirs = swapping_of(first), swapping_of(second)
    if ours is None or theirs is None or first.change != second.change:
        return Determined(None, "both budgets depend on the data: those at hand do not show how they compare")
    return swap_implies(ours, theirs, facts)


def _lost_by_response(first: Guarantee, second: Guarantee, most: Amount) -> bool:
    """Whether randomised response about one data set satisfies the first guarantee and breaks the second.

    It needs a pair at distance one, so it is only looked at where there are no invariants.
    """
    if first.change != second.change or first.invariants or second.invariants or first.budget is None:
        return False
    if (first.measure, second.measure) == (Measure.PURE, Measure.ZCDP):
        epsilon = float(first.budget)
        # KL divergence of randomised response, the least rho squared that it needs.
        return not within(epsilon * math.tanh(epsilon / 2), most)
    return second.measure is Measure.APPROXIMATE and first.measure is not Measure.ZCDP


def within(amount: Amount, limit: Amount) -> bool:
    """Whether an amount keeps to a limit; exactly if both are fractions, else but for rounding."""
    if isinstance(amount, Fraction) and isinstance(limit, Fraction):
        return amount <= limit
    return float(amount) <= float(limit) * (1 + CLOSE)


def _covers(one: Population, other: Population) -> bool:
    named = one.name != "" and one.name in (other.name, *other.part_of)
    return named and admits(one, other)


def admits(one: Population, other: Population) -> bool:
    """Whether every value of counts that the second population admits is one that the first admits."""
    return all(any(limit.covers(inner) for inner in other.limits) for limit in one.limits)


@dataclass(frozen=True)
class Swapping:
    """A guarantee of swapping: its rate, the variables that part the strata, and all variables of a record."""

    rate: Fraction
    match: frozenset[str]
    variables: frozenset[str]

    @property
    def odds(self) -> Fraction:
        """Of being selected."""
        return self.rate / (1 - self.rate)


def swapping_of(guarantee: Guarantee) -> Swapping | None:
    """What a guarantee says about swapping, if it is one of swapping: two tables that share the strata."""
    tables = [item for item in guarantee.invariants if item.fixes is Fixes.COUNTS]
    if guarantee.rate is None or not 0 < guarantee.rate < 1 or guarantee.measure is not Measure.PURE:
        return None
    if len(tables) != 2 or len(guarantee.invariants) != 2 or tables[0].of != tables[1].of:
        return None
    # The two tables of Proposition 4 share what is matched.
    first, second = (frozenset(item.by) for item in tables)
    return Swapping(guarantee.rate, first & second, first | second)


def swap_implies(first: Swapping, second: Swapping, facts: Population) -> Determined:
    """Whether the first budget is at most the second for all data, of which the second fixes more, or as much.

    For a largest stratum of b records the factor is the larger of o and (b + 1) / o at odds o; b is at least 2.
    """
    ours, theirs = facts.closure(tuple(first.match)), facts.closure(tuple(second.match))
    if ours < theirs:
        return Determined(False, "its strata are wider, and can be as large as one likes")
    if ours != theirs or facts.closure(tuple(first.variables)) != facts.closure(tuple(second.variables)):
        return Determined(None, "not known how the strata of the two hang together")
    if first.rate == second.rate:
        return Determined(True, "the same rate in the same strata")
    # b is at least 2, so (b + 1) / o starts at 3 / o: larger odds win everywhere if o1 <= 3 / o2.
    if first.odds > second.odds and first.odds * second.odds <= 3:
        return Determined(True, "for any largest stratum, the budget at its rate is the smaller one")
    if first.odds < second.odds:
        return Determined(False, "where the largest stratum is large, the lower rate has the larger budget")
    return Determined(False, "where the largest stratum holds two records, the higher rate has the larger budget")
