"""Which of two promises is the stronger one: the first, if whatever keeps it keeps the second.

Budgets are compared only where all other blocks point one way, after the first promise was brought into the flavour of
the second. Otherwise they are numbers on different scales, and the answer is a refusal to rank them.
"""

from safemargin.account.refinement import Determined, invariants_fixed
from safemargin.account.rules import FACTORS, change_distance, change_unit, to_approximate, to_zcdp
from safemargin.errors import InputError
from safemargin.model.contrast import Block, Contrast, Standing
from safemargin.model.guarantee import Change, Guarantee, Measure
from safemargin.model.universe import Fixes, Invariant, Population

STRENGTH = {Measure.PURE: 3, Measure.ZCDP: 2, Measure.APPROXIMATE: 1, Measure.NONE: 0}
ATLEAST = (Standing.EQUAL, Standing.STRONGER)
ATMOST = (Standing.EQUAL, Standing.WEAKER)
CLOSE = 1e-12


def contrast(one: Guarantee, other: Guarantee) -> Contrast:
    """Two promises block by block, and as a whole."""
    facts = _facts(one.population, other.population)
    blocks = [
        _population(one, other),
        _multiverse(one, other, facts),
        _change(one, other, facts),
        _measure(one, other),
    ]
    blocks.append(_budget(one, other, blocks, facts))
    return Contrast(one, other, tuple(blocks), _overall(blocks), tuple(_warnings(one, other, blocks)))


def is_injective(invariants: tuple[Invariant, ...], population: Population) -> bool:
    """Whether the invariants fix the data themselves, so that nothing is left to protect."""
    if any(each.fixes is Fixes.EVERYTHING for each in invariants):
        return True
    known = [each for each in population.records if each.variables]
    return bool(known) and all(
        any(
            invariant.fixes is Fixes.COUNTS
            and invariant.of == each.kind
            and set(each.variables) <= population.closure(invariant.by)
            for invariant in invariants
        )
        for each in known
    )


def _facts(one: Population, other: Population) -> Population:
    """What both populations declare, together."""
    kinds = {each.kind: each for each in (*other.records, *one.records)}
    return Population(
        one.name,
        (),
        tuple(kinds.values()),
        tuple(dict.fromkeys((*one.determines, *other.determines))),
        tuple(dict.fromkeys((*one.nested, *other.nested))),
    )


def _population(one: Guarantee, other: Guarantee) -> Block:
    mine, theirs = one.population, other.population
    if mine.name == theirs.name:
        standing, why = Standing.EQUAL, "the same data sets"
    elif mine.name in theirs.part_of:
        standing, why = Standing.STRONGER, f"{theirs.name} is part of {mine.name}"
    elif theirs.name in mine.part_of:
        standing, why = Standing.WEAKER, f"{mine.name} is part of {theirs.name}"
    else:
        standing, why = Standing.UNKNOWN, "nothing is declared about how these data sets hang together"
    return Block("population", mine.name or "not named", theirs.name or "not named", standing, why)


def _multiverse(one: Guarantee, other: Guarantee, facts: Population) -> Block:
    down = invariants_fixed(one.invariants, other.invariants, facts)
    up = invariants_fixed(other.invariants, one.invariants, facts)
    standing, why = _direction(down, up)
    return Block("invariants", _listed(one), _listed(other), standing, why)


def _direction(down: Determined, up: Determined) -> tuple[Standing, str]:
    """From whether the second's invariants fix the first's, and the first's the second's."""
    match down.answer, up.answer:
        case True, True:
            return Standing.EQUAL, "each fixes the other's invariants"
        case True, _:
            return Standing.STRONGER, f"it fixes less: {down.why}"
        case _, True:
            return Standing.WEAKER, f"it fixes more: {up.why}"
        case False, False:
            return Standing.INCOMPARABLE, f"{down.why}; {up.why}"
    return Standing.UNKNOWN, (down if down.answer is None else up).why


def _change(one: Guarantee, other: Guarantee, facts: Population) -> Block:
    standing, why = _reach(one.change, other.change, facts)
    return Block("change", str(one.change), str(other.change), standing, why)


def _reach(one: Change, other: Change, facts: Population) -> tuple[Standing, str]:
    if one == other:
        return Standing.EQUAL, "the same change"
    down = _factor(one, other, facts)
    up = _factor(other, one, facts)
    if down is not None and down <= 1:
        return Standing.STRONGER, f"every change of the second kind is at most one of the first ({other.unit})"
    if up is not None and up <= 1:
        return Standing.WEAKER, f"every change of the first kind is at most one of the second ({one.unit})"
    if down is not None and up is None:
        return Standing.STRONGER, f"a change of the second kind is at most {down} of the first"
    if up is not None and down is None:
        return Standing.WEAKER, f"a change of the first kind is at most {up} of the second"
    if down is not None and up is not None:
        return Standing.INCOMPARABLE, f"changes of one kind are up to {down} and {up} of the other"
    return Standing.UNKNOWN, "nothing is declared about how these changes hang together"


def _factor(one: Change, other: Change, facts: Population) -> int | None:
    """How many changes of the first kind one of the second can be; None if that is not bounded or not known."""
    distances = 1 if one.distance is other.distance else FACTORS.get((one.distance, other.distance))
    units: int | None = 1 if one.unit == other.unit else None
    for fact in facts.nested:
        if (fact.coarse, fact.fine) == (one.unit, other.unit):
            units = fact.up
        elif (fact.fine, fact.coarse) == (one.unit, other.unit):
            units = fact.down
    return None if distances is None or units is None else distances * units


def _measure(one: Guarantee, other: Guarantee) -> Block:
    mine, theirs = STRENGTH[one.measure], STRENGTH[other.measure]
    if mine == theirs:
        standing, why = Standing.EQUAL, "the same measure"
        if one.delta != other.delta:
            standing = Standing.STRONGER if one.delta < other.delta else Standing.WEAKER
            why = "the smaller delta"
    else:
        strong, weak = (one.measure, other.measure) if mine > theirs else (other.measure, one.measure)
        standing = Standing.STRONGER if mine > theirs else Standing.WEAKER
        why = f"{strong} bounds {weak}, and not the other way round"
    return Block("measure", str(one.measure), str(other.measure), standing, why)


def _budget(one: Guarantee, other: Guarantee, blocks: list[Block], facts: Population) -> Block:
    def block(standing: Standing, why: str) -> Block:
        return Block("budget", one.amount, other.amount, standing, why)

    for each in (one, other):
        if each.measure is Measure.NONE:
            return block(Standing.UNKNOWN, "one of them promises no budget")
        if each.budget is None:
            return block(Standing.UNKNOWN, f"the budget of {each.mechanism} is not known")
    assert one.budget is not None and other.budget is not None
    standings = [each.standing for each in blocks]
    mine: float | None
    theirs: float | None
    if all(each in ATLEAST for each in standings):
        mine, theirs = _brought(one, other, facts), float(other.budget)
    elif all(each in ATMOST for each in standings):
        theirs, mine = _brought(other, one, facts), float(one.budget)
    elif Standing.UNKNOWN in standings and Standing.INCOMPARABLE not in standings:
        return block(Standing.UNKNOWN, "not known whether the budgets are on one scale")
    else:
        return block(Standing.INCOMPARABLE, "the budgets are on different scales")
    if mine is None or theirs is None:
        return block(Standing.UNKNOWN, "no rule brings one into the flavour of the other")
    if mine == theirs or abs(mine - theirs) <= CLOSE * max(min(mine, theirs), 1):  # one of them may be infinite
        return block(Standing.EQUAL, "the same amount in one flavour")
    standing = Standing.STRONGER if mine < theirs else Standing.WEAKER
    return block(standing, f"{mine:.6g} against {theirs:.6g} in one flavour")


def _brought(strong: Guarantee, weak: Guarantee, facts: Population) -> float | None:
    """The budget of the first promise in the flavour of the second."""
    try:
        moved = Guarantee(strong.mechanism, "", strong.budget, (), facts, strong.change, strong.measure, strong.delta)
        if weak.measure is Measure.ZCDP and moved.measure is Measure.PURE:
            moved = to_zcdp(moved)
        moved = change_unit(change_distance(moved, weak.change.distance), weak.change.unit)
        if weak.measure is Measure.APPROXIMATE and moved.measure is not Measure.APPROXIMATE:
            moved = to_approximate(moved, weak.delta)
    except InputError:
        return None
    return None if moved.budget is None else float(moved.budget)


def _overall(blocks: list[Block]) -> Standing:
    found = {each.standing for each in blocks}
    if Standing.INCOMPARABLE in found or {Standing.STRONGER, Standing.WEAKER} <= found:
        return Standing.INCOMPARABLE
    if Standing.UNKNOWN in found:
        return Standing.UNKNOWN
    return next(iter(found - {Standing.EQUAL}), Standing.EQUAL)


def _warnings(one: Guarantee, other: Guarantee, blocks: list[Block]) -> list[str]:
    found = []
    differing = [each.name for each in blocks[:4] if each.standing is not Standing.EQUAL]
    if differing and one.budget is not None and other.budget is not None:
        found.append(
            f"{one.amount} and {other.amount} are not on one scale: the promises differ in {', '.join(differing)}. "
            "Do not rank them by these numbers."
        )
    for each in (one, other):
        if is_injective(each.invariants, each.population):
            found.append(f"{each.mechanism}: the invariants fix the data themselves, so nothing is protected")
        if each.budget is not None and float(each.budget) == float("inf"):
            found.append(f"{each.mechanism}: an infinite budget is no promise at all")
    return found


def _listed(guarantee: Guarantee) -> str:
    return "; ".join(map(str, guarantee.invariants)) or "none"
