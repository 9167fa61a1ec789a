"""Rules that make guarantees from guarantees: each answer names its rule and keeps what it came from."""

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from safemargin.core import Amount, Change, Distance, Guarantee, InputError, Invariant, Measure, Population, counts
from safemargin.guarantees.conversion import published_epsilon, pure_to_zcdp, tight_epsilon
from safemargin.guarantees.refinement import determined

FACTORS: dict[tuple[Distance, Distance], int] = {
    (Distance.ADD_REMOVE, Distance.HAMMING): 2,
    (Distance.HAMMING, Distance.EXCHANGE): 2,
    (Distance.HAMMING, Distance.FROZEN): 1,
    (Distance.ADD_REMOVE, Distance.EXCHANGE): 4,
    (Distance.ADD_REMOVE, Distance.FROZEN): 2,
}
"""How much larger the first distance can be than the second, where that is bounded for all data sets."""


DERIVED = "post-processing of "
"""Begins the rule of something that is computed from what another mechanism published; its name follows."""


def unit_factor(one: Change, other: Change, facts: Population, fixed: Sequence[Invariant]) -> int | None:
    """How many changes of the first kind one of the second can be; None if that is not bounded or not known.

    Another unit is reached by changed records only: an exchange of persons is none of households. Who is added to a
    household changes its record, which is one removed and one added. A household may change for a larger one, so that
    the persons are not told apart by changed records, unless their number is among what is `fixed`.
    """
    distances = 1 if one.distance is other.distance else FACTORS.get((one.distance, other.distance))
    if distances is None or one.unit == other.unit:
        return distances
    if one.distance not in (Distance.HAMMING, Distance.ADD_REMOVE):
        return None
    for fact in facts.nested:
        if (fact.coarse, fact.fine) == (one.unit, other.unit):
            added = 2 if one.distance is other.distance is Distance.ADD_REMOVE else 1
            return distances * fact.up * added
        if (fact.fine, fact.coarse) == (one.unit, other.unit):
            sized = one.distance is Distance.ADD_REMOVE or determined(counts(f"{one.unit}s"), fixed, facts).answer
            return distances * fact.down if fact.down is not None and sized else None
    return None


def compose(parts: Sequence[Guarantee], mechanism: str) -> Guarantee:
    """The guarantee of publishing all of `parts`, about the same records.

    Each part is first carried to the common refinement of their invariants. Parts that are about other data sets, other
    units or another measure are refused: say which conversion is meant.
    """
    if not parts:
        raise InputError(f"{mechanism}: nothing to compose")
    first = parts[0]
    for part in parts:
        for block, one, other in (
            ("population", part.population.name, first.population.name),
            ("change", str(part.change), str(first.change)),
            ("measure", str(part.measure), str(first.measure)),
        ):
            if one != other:
                raise InputError(
                    f"{mechanism}: {part.mechanism} and {first.mechanism} differ in {block} ({one}; {other}); "
                    "convert one of them first"
                )
        if part.measure is Measure.NONE:
            raise InputError(f"{mechanism}: {part.mechanism} guarantees nothing that could be added")
        source = part.rule.removeprefix(DERIVED)
        if source != part.rule and source not in _mechanisms(parts):
            raise InputError(f"{mechanism}: {part.mechanism} is computed from {source}, which is not counted")
        if part.budget is None:
            raise InputError(f"{mechanism}: the budget of {part.mechanism} is not known, so it cannot be added")
    if (delta := math.fsum(part.delta for part in parts)) >= 1:
        raise InputError(f"{mechanism}: the deltas add up to {delta:g}, which guarantees nothing")
    together = tuple(dict.fromkeys(each for part in parts for each in part.invariants))
    carried = tuple(part if set(part.invariants) == set(together) else refine(part, together) for part in parts)
    return replace(
        first,
        mechanism=mechanism,
        statement="",
        budget=_sum([part.budget for part in parts if part.budget is not None]),
        delta=delta,
        invariants=together,
        varies="; ".join(dict.fromkeys(part.varies for part in parts if part.varies)),
        rule="composition",
        premises=carried,
        remarks=(),
        count=None,
        choice=None,
        rate=None,
    )


def post_process(source: Guarantee, mechanism: str) -> Guarantee:
    """The same guarantee for whatever is computed from what `source` published, and from nothing else."""
    return replace(source, mechanism=mechanism, statement="", rule="post-processing", premises=(source,), remarks=())


def derive(source: Guarantee, mechanism: str) -> Guarantee:
    """What it costs to publish, beside `source`, something computed from what it published alone: nothing."""
    nothing = Fraction(0)
    return replace(
        source,
        mechanism=mechanism,
        statement="",
        budget=nothing,
        delta=0.0,
        varies="",
        rule=f"{DERIVED}{source.mechanism}",
        premises=(),
        remarks=(),
        count=None,
        choice=None,
        rate=None,
    )


def chained(first: Guarantee, then: Guarantee) -> Guarantee:
    """The guarantee of a protection on top of another of a different flavour, as noise on a table of swapped records.

    The second one hides some of what the first one kept exact; what both guarantee without these invariants is an open
    question. Among data that agree on them, the guarantee of the first is kept: the second looks at its output only.
    """
    kept = f"What {first.mechanism} guaranteed is kept ({first.amount}, among data that agree on its invariants)."
    return replace(
        first,
        mechanism=f"{first.mechanism}, then {then.mechanism}",
        statement=f"{then.mechanism[:1].upper()}{then.mechanism[1:]} was applied to what {first.mechanism} gave. What "
        "the two guarantee together is not known.",
        budget=None,
        invariants=(),
        varies="",
        rule="none: what protections of different flavours guarantee one after the other is open",
        premises=(first, then),
        remarks=() if first.budget is None or math.isinf(first.budget) else (kept,),
        rate=None,
    )


def publish_invariants(like: Guarantee, invariants: Sequence[Invariant], mechanism: str) -> Guarantee:
    """Publishing statistics that are fixed costs nothing; refused if the guarantee does not fix them."""
    for each in invariants:
        if determined(each, like.invariants, like.population).answer is not True:
            raise InputError(f"{mechanism}: {each} is not fixed by {like.mechanism}, so it is not free")
    rule = "invariants are free (Proposition 1)"
    budget = Fraction(0)
    return replace(
        like,
        mechanism=mechanism,
        statement="",
        budget=budget,
        delta=0.0,
        rule=rule,
        premises=(),
        varies="",
        remarks=(),
        rate=None,
    )


def refine(source: Guarantee, invariants: Sequence[Invariant]) -> Guarantee:
    """The guarantee on finer universes: among data sets that agree on more, it still holds (Proposition 5)."""
    wanted = tuple(dict.fromkeys(invariants))
    for each in source.invariants:
        if determined(each, wanted, source.population).answer is not True:
            raise InputError(f"{source.mechanism}: the finer invariants are not known to fix {each}")
    rule = "finer universes (Proposition 5)"
    return replace(source, statement="", invariants=wanted, rule=rule, premises=(source,), remarks=(), rate=None)


def multiply(source: Guarantee, times: int, unit: str) -> Guarantee:
    """The guarantee to a `unit` whose data stand in up to `times` records."""
    if times < 1:
        raise InputError(f"{source.mechanism}: a unit stands in at least one record, not {times}")
    return replace(
        source,
        statement="",
        budget=scaled(source, times),
        change=replace(source.change, unit=unit),
        rule=f"units that stand in up to {times:,} records",
        premises=(source,),
        remarks=(),
        rate=None,
    )


def change_unit(source: Guarantee, unit: str) -> Guarantee:
    """The guarantee for another unit of record, by what the population declares about how they hang together."""
    if unit == source.change.unit:
        return source
    factor = unit_factor(source.change, replace(source.change, unit=unit), source.population, source.invariants)
    if factor is not None:
        most = "one record" if factor == 1 else f"{factor:,} records"
        rule = f"one {unit} record changes at most {most} of a {source.change.unit}"
        return replace(multiply(source, factor, unit), rule=rule)
    if source.change.distance not in (Distance.HAMMING, Distance.ADD_REMOVE):
        raise InputError(f"{source.mechanism}: a guarantee per {source.change} says nothing about a {unit}")
    if any((fact.fine, fact.coarse) == (source.change.unit, unit) and fact.down for fact in source.population.nested):
        raise InputError(
            f"{source.mechanism}: the number of {source.change.unit}s is not among the invariants, and a {unit} that "
            "changes may change it"
        )
    raise InputError(
        f"{source.mechanism}: nothing is declared about how a {source.change.unit} record changes with a {unit} record"
    )


def change_distance(source: Guarantee, distance: Distance) -> Guarantee:
    """The guarantee for another way to count changes."""
    if distance is source.change.distance:
        return source
    factor = FACTORS.get((source.change.distance, distance))
    if factor is None:
        raise InputError(f"{source.mechanism}: a {source.change.distance} guarantee says nothing for {distance}")
    return replace(
        source,
        statement="",
        budget=scaled(source, factor),
        change=Change(distance, source.change.unit),
        rule=f"{distance} distance (factor {factor})",
        premises=(source,),
        remarks=(),
        rate=None,
    )


def to_zcdp(source: Guarantee) -> Guarantee:
    """A pure guarantee as a zero-concentrated one."""
    if source.measure is Measure.ZCDP:
        return source
    if source.measure is not Measure.PURE or source.budget is None:
        raise InputError(f"{source.mechanism}: only a pure guarantee gives a zero-concentrated one")
    exact = isinstance(source.budget, Fraction)
    budget: Amount = source.budget * source.budget / 2 if exact else pure_to_zcdp(float(source.budget))
    measure, rule = Measure.ZCDP, "pure to zCDP"
    return replace(
        source, statement="", budget=budget, measure=measure, rule=rule, premises=(source,), remarks=(), rate=None
    )


def to_approximate(source: Guarantee, delta: float, tight: bool = True) -> Guarantee:
    """A guarantee shown as epsilon at a delta; to be done last, as such epsilons do not add up well."""
    if source.budget is None or source.measure not in (Measure.PURE, Measure.ZCDP):
        raise InputError(f"{source.mechanism}: only pure and zero-concentrated guarantees are converted")
    if not 0 < delta < 1:
        raise InputError(f"delta = {delta}: must lie between 0 and 1")
    budget, rule = float(source.budget), "pure to approximate"
    if source.measure is Measure.ZCDP:
        convert = tight_epsilon if tight else published_epsilon
        budget = convert(budget, delta) if budget < math.inf else budget
        rule = f"zCDP to approximate ({'Canonne, Kamath and Steinke' if tight else 'Bun and Steinke'})"
    return replace(
        source,
        statement="",
        budget=budget,
        measure=Measure.APPROXIMATE,
        delta=delta,
        rule=rule,
        premises=(source,),
        remarks=(),
        rate=None,
    )


def scaled(source: Guarantee, times: int) -> Amount | None:
    """The budget for changes `times` as large: epsilon grows as they do, rho squared with their square."""
    if source.budget is None:
        return None
    if source.measure is Measure.APPROXIMATE and times > 1:
        raise InputError(f"{source.mechanism}: convert to epsilon at a delta last; it does not scale with changes")
    return source.budget * (times**2 if source.measure is Measure.ZCDP else times)


def _mechanisms(parts: Sequence[Guarantee]) -> set[str]:
    """Of all parts and of what they rest on, but for what is derived."""
    found = {part.mechanism for part in parts if not part.rule.startswith(DERIVED)}
    return found.union(*(_mechanisms(part.premises) for part in parts))


def _sum(budgets: Sequence[Amount]) -> Amount:
    if all(isinstance(each, Fraction) for each in budgets):
        return sum((Fraction(each) for each in budgets), Fraction(0))
    return math.fsum(float(each) for each in budgets)
