"""Rules that make guarantees from guarantees: each result names its rule and keeps what it came from."""

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from safemargin.core import Amount, Distance, Guarantee, InputError, Invariant, Measure
from safemargin.guarantees.refinement import determined, unit_factor

COMPOSITION, POST_PROCESSING, FINER = "composition", "post-processing", "finer universes (Proposition 5)"
UNITS = "one {} record changes at most"
"""Begins the rule of a guarantee that was converted to another unit, which is named in it."""
DERIVED = "post-processing of "
"""Begins the rule of something that is computed from what another mechanism published; its name follows."""


def _derived(source: Guarantee, rule: str, **changes: Any) -> Guarantee:
    """A guarantee that follows from `source` by a rule. What was said about `source` alone does not carry over."""
    return replace(
        source, **{"statement": "", "rule": rule, "premises": (source,), "remarks": (), "rate": None, **changes}
    )


def _free(like: Guarantee, mechanism: str, rule: str) -> Guarantee:
    """A publication in the flavour of `like` that costs nothing."""
    nothing = {"budget": Fraction(0), "delta": 0.0, "varies": "", "premises": (), "count": None, "choice": None}
    return _derived(like, rule, mechanism=mechanism, **nothing)


def compose_parts(parts: Sequence[Guarantee], mechanism: str) -> Guarantee:
    """The guarantee of publishing all of `parts`, about the same records.

    Each part is first carried to the common refinement of their invariants. Parts that are about other data sets, other
    units or another measure are refused: say which conversion is meant.
    """
    if not parts:
        raise InputError(f"{mechanism}: nothing to compose")
    first = parts[0]
    for part in parts:
        _check_part(part, parts, mechanism)
    # Epsilon and delta add (Dwork and Roth, Theorem 3.16), rho squared adds (Bun and Steinke 2016, Lemma 1.7).
    if (delta := math.fsum(part.delta for part in parts)) >= 1:
        raise InputError(f"{mechanism}: the deltas add up to {delta:g}, which guarantees nothing")
    # Proposition 5: every part also holds on the common refinement, where all can be added.
    together = tuple(dict.fromkeys(invariant for part in parts for invariant in part.invariants))
    carried = tuple(part if set(part.invariants) == set(together) else refine(part, together) for part in parts)
    return _derived(
        first,
        COMPOSITION,
        mechanism=mechanism,
        budget=_sum([part.budget for part in parts if part.budget is not None]),
        delta=delta,
        invariants=together,
        varies="; ".join(dict.fromkeys(part.varies for part in parts if part.varies)),
        premises=carried,
        count=None,
        choice=None,
    )


def _check_part(part: Guarantee, parts: Sequence[Guarantee], mechanism: str) -> None:
    first = parts[0]
    for block, ours, theirs in (
        ("population", part.population.name, first.population.name),
        ("change", str(part.change), str(first.change)),
        ("measure", str(part.measure), str(first.measure)),
    ):
        if ours != theirs:
            raise InputError(
                f"{mechanism}: {part.mechanism} and {first.mechanism} differ in {block} ({ours}; {theirs}); "
                "convert one of them first"
            )
    if part.measure is Measure.NONE:
        raise InputError(f"{mechanism}: {part.mechanism} guarantees nothing that could be added")
    source = part.rule.removeprefix(DERIVED)
    if source != part.rule and source not in _mechanisms(parts):
        raise InputError(f"{mechanism}: {part.mechanism} is computed from {source}, which is not counted")
    if part.budget is None:
        raise InputError(f"{mechanism}: the budget of {part.mechanism} is not known, so it cannot be added")


def post_process(source: Guarantee, mechanism: str) -> Guarantee:
    """The same guarantee for whatever is computed from what `source` published, and from nothing else."""
    return _derived(source, POST_PROCESSING, mechanism=mechanism, rate=source.rate)


def derive(source: Guarantee, mechanism: str) -> Guarantee:
    """What it costs to publish, beside `source`, something computed from what it published alone: nothing."""
    return _free(source, mechanism, f"{DERIVED}{source.mechanism}")


def chained(first: Guarantee, then: Guarantee) -> Guarantee:
    """The guarantee of a protection on top of another of a different flavour, as noise on a table of swapped records.

    The second one hides some of what the first one kept exact; what both guarantee without these invariants is an open
    question (Bailie, Gong and Meng, section 6). Among data that agree on them, the guarantee of the first is kept: the
    second reads its output only.
    """
    # Post-processing of the first one, among data that agree on what it kept exact.
    kept = f"What {first.mechanism} guaranteed is kept ({first.amount}, among data that agree on its invariants)."
    return _derived(
        first,
        "none: what protections of different flavours guarantee one after the other is open",
        mechanism=f"{first.mechanism}, then {then.mechanism}",
        statement=f"{then.mechanism[:1].upper()}{then.mechanism[1:]} was applied to what {first.mechanism} gave. What "
        "the two guarantee together is not known.",
        budget=None,
        invariants=(),
        varies="",
        premises=(first, then),
        remarks=() if first.budget is None or math.isinf(first.budget) else (kept,),
    )


def publish_invariants(like: Guarantee, invariants: Sequence[Invariant], mechanism: str) -> Guarantee:
    """Publishing fixed statistics costs nothing (Proposition 1); refused if the guarantee does not fix them."""
    for invariant in invariants:
        if determined(invariant, like.invariants, like.population).answer is not True:
            raise InputError(f"{mechanism}: {invariant} is not fixed by {like.mechanism}, so it is not free")
    return _free(like, mechanism, "invariants are free (Proposition 1)")


def refine(source: Guarantee, invariants: Sequence[Invariant]) -> Guarantee:
    """The guarantee on finer universes: among data sets that agree on more, it still holds (Proposition 5)."""
    wanted = tuple(dict.fromkeys(invariants))
    for invariant in source.invariants:
        if determined(invariant, wanted, source.population).answer is not True:
            raise InputError(f"{source.mechanism}: the finer invariants are not known to fix {invariant}")
    return _derived(source, FINER, invariants=wanted)


def change_unit(source: Guarantee, unit: str) -> Guarantee:
    """The guarantee for another unit of record, by what the population declares about how they are nested."""
    if unit == source.change.unit:
        return source
    # A factor on the whole would also multiply parts that are about this unit already.
    by_parts = _change_unit_of_parts(source, unit)
    try:
        whole = _change_unit(source, unit)
    except InputError:
        if by_parts is None:
            raise
        return by_parts
    # Parts that are about this unit already need no factor, so the sum over parts is never the larger one.
    smaller = by_parts is not None and (by_parts.budget or 0) < (whole.budget or 0)
    return by_parts if by_parts is not None and smaller else whole


def _change_unit_of_parts(source: Guarantee, unit: str) -> Guarantee | None:
    """The same derivation with every part converted for itself; none if a step of it is not a rule from here."""
    if not source.premises:
        return None
    try:
        premises = [change_unit(premise, unit) for premise in source.premises]
        if source.rule == COMPOSITION:
            return replace(compose_parts(premises, source.mechanism), invariants=source.invariants)
        if source.rule == POST_PROCESSING:
            return replace(post_process(premises[0], source.mechanism), invariants=source.invariants)
        if source.rule == FINER:
            return refine(premises[0], source.invariants)
    except InputError:
        return None
    # A guarantee that was converted from this unit is there as its premise.
    former = premises[0]
    converted = source.rule.startswith(UNITS.format(source.change.unit)) and source.premises[0].change.unit == unit
    return former if converted else None


def convert_unit(source: Guarantee, unit: str, budget: Amount, most: str) -> Guarantee:
    """The guarantee for another unit with a budget that was computed for this mechanism; `most` says what changes."""
    rule = f"{UNITS.format(unit)} {most}"
    return _derived(source, rule, budget=budget, change=replace(source.change, unit=unit))


def _change_unit(source: Guarantee, unit: str) -> Guarantee:
    change = replace(source.change, unit=unit)
    factor = unit_factor(source.change, change, source.population, source.invariants)
    if factor is not None:
        most = "one record" if factor == 1 else f"{factor:,} records"
        return _derived(
            source,
            f"{UNITS.format(unit)} {most} of a {source.change.unit}",
            budget=scaled(source, factor),
            change=change,
        )
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


def to_zcdp(source: Guarantee) -> Guarantee:
    """A pure guarantee as zCDP: rho squared is epsilon²/2 (Bun and Steinke 2016, Proposition 1.4)."""
    if source.measure is Measure.ZCDP:
        return source
    if source.measure is not Measure.PURE or source.budget is None:
        raise InputError(f"{source.mechanism}: only a pure guarantee gives a zero-concentrated one")
    return _derived(source, "pure to zCDP", budget=source.budget * source.budget / 2, measure=Measure.ZCDP)


def scaled(source: Guarantee, times: int) -> Amount | None:
    """The budget for changes `times` as large: epsilon grows with them, rho squared with their square (section 5.2)."""
    if source.budget is None:
        return None
    if source.measure is Measure.APPROXIMATE and times > 1:
        raise InputError(f"{source.mechanism}: convert to epsilon at a delta last; it does not scale with changes")
    # Group privacy: D_MULT and D_NoR are metrics, so rho grows linearly along a path, rho squared as its square.
    return source.budget * (times**2 if source.measure is Measure.ZCDP else times)


def _mechanisms(parts: Sequence[Guarantee]) -> set[str]:
    """Of all parts and of what they rest on, but for what is derived."""
    names = {part.mechanism for part in parts if not part.rule.startswith(DERIVED)}
    return names.union(*(_mechanisms(part.premises) for part in parts))


def _sum(budgets: Sequence[Amount]) -> Amount:
    if all(isinstance(budget, Fraction) for budget in budgets):
        return sum((Fraction(budget) for budget in budgets), Fraction(0))
    return math.fsum(float(budget) for budget in budgets)
