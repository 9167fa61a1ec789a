"""Which of two guarantees is the stronger one: the first, if whatever satisfies it satisfies the second.

Each block is compared for itself; budgets only where all other blocks point one way, after the guarantee with stronger
blocks was brought into the flavour of the other. Otherwise they are numbers on different scales, and the answer is a
refusal to rank them. What holds over all is decided by implication, each way round.
"""

import math

from safemargin.core import Guarantee, Measure, Population
from safemargin.guarantees.contrast import Block, Contrast, Implication, Standing
from safemargin.guarantees.implication import STRENGTH, brought, facts_between, implies, is_injective, plain, within
from safemargin.guarantees.refinement import Determined, invariants_fixed
from safemargin.guarantees.rules import unit_factor

ATLEAST = (Standing.EQUAL, Standing.STRONGER)
ATMOST = (Standing.EQUAL, Standing.WEAKER)


def contrast(one: Guarantee, other: Guarantee) -> Contrast:
    """Two guarantees block by block, and as a whole."""
    one, other = plain(one), plain(other)
    facts = facts_between(one.population, other.population)
    blocks = [
        _population(one, other),
        _multiverse(one, other, facts),
        _change(one, other, facts),
        _measure(one, other),
    ]
    blocks.append(_budget(one, other, blocks, facts))
    down, up = (Implication(each.answer, each.why) for each in (implies(one, other), implies(other, one)))
    return Contrast(one, other, tuple(blocks), _overall(down, up), tuple(_warnings(one, other, blocks)), down, up)


def _population(one: Guarantee, other: Guarantee) -> Block:
    mine, theirs = one.population, other.population
    if not mine.name and not theirs.name and one != other:
        standing, why = Standing.UNKNOWN, "neither says which data sets it is about"
    elif mine.name == theirs.name:
        standing, why = Standing.EQUAL, "the same data sets"
    elif mine.name and mine.name in theirs.part_of:
        standing, why = Standing.STRONGER, f"{theirs.name} is part of {mine.name}"
    elif theirs.name and theirs.name in mine.part_of:
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
    standing, why = _reach(one, other, facts)
    return Block("change", str(one.change), str(other.change), standing, why)


def _reach(first: Guarantee, second: Guarantee, facts: Population) -> tuple[Standing, str]:
    one, other = first.change, second.change
    if one == other:
        return Standing.EQUAL, "the same change"
    down = unit_factor(one, other, facts, second.invariants)
    up = unit_factor(other, one, facts, first.invariants)
    if down == up == 1:
        return Standing.EQUAL, "each is at most one of the other"
    if down is not None and down <= 1:
        return Standing.STRONGER, f"every change of the second kind is at most one of the first ({other.unit})"
    if up is not None and up <= 1:
        return Standing.WEAKER, f"every change of the first kind is at most one of the second ({one.unit})"
    if down is not None and up is None:
        return Standing.STRONGER, f"a change of the second kind is at most {down} of the first"
    if up is not None and down is None:
        return Standing.WEAKER, f"a change of the first kind is at most {up} of the second"
    if down is not None and up is not None:
        return Standing.UNKNOWN, f"changes of one kind are up to {down} and {up} of the other"
    return Standing.UNKNOWN, "nothing is declared about how these changes hang together"


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
            return block(Standing.UNKNOWN, "one of them guarantees no budget")
        if each.budget is None:
            return block(Standing.UNKNOWN, f"the budget of {each.mechanism} is not known")
    standings = [each.standing for each in blocks]
    if all(each in ATLEAST for each in standings):
        strong, weak, turned = one, other, False
    elif all(each in ATMOST for each in standings):
        strong, weak, turned = other, one, True
    elif Standing.UNKNOWN in standings and Standing.INCOMPARABLE not in standings:
        return block(Standing.UNKNOWN, "not known whether the budgets are on one scale")
    else:
        return block(Standing.INCOMPARABLE, "the budgets are on different scales")
    factor = unit_factor(strong.change, weak.change, facts, weak.invariants)
    found = None if factor is None else brought(strong, weak, factor)
    if found is None or weak.budget is None:
        return block(Standing.UNKNOWN, "no rule brings one into the flavour of the other")
    limit = weak.budget
    where = f"in one flavour{', for the data at hand' if one.varies or other.varies else ''}"
    if within(found, limit) and within(limit, found):
        return block(Standing.EQUAL, f"the same amount {where}")
    exact = factor == 1 and strong.measure is weak.measure and strong.delta == weak.delta
    if found > limit and not exact:
        loose = f"a bound of {float(found):.6g}, perhaps too large, against {float(limit):.6g} {where}"
        return block(Standing.UNKNOWN, loose)
    mine, theirs = (limit, found) if turned else (found, limit)
    words = f"{float(mine):.6g} against {float(theirs):.6g} {where}"
    return block(Standing.STRONGER if mine < theirs else Standing.WEAKER, words)


def _overall(down: Implication, up: Implication) -> Standing:
    """From whether the first implies the second, and the second the first."""
    if down.answer and up.answer:
        return Standing.EQUAL
    if down.answer or up.answer:
        return Standing.STRONGER if down.answer else Standing.WEAKER
    unproved = down.answer is None or up.answer is None
    return Standing.UNKNOWN if unproved else Standing.INCOMPARABLE


def _warnings(one: Guarantee, other: Guarantee, blocks: list[Block]) -> list[str]:
    found = []
    differing = [each.name for each in blocks[:4] if each.standing is not Standing.EQUAL]
    if differing and one.budget is not None and other.budget is not None:
        found.append(
            f"{one.amount} and {other.amount} are not on one scale: the guarantees differ in {', '.join(differing)}. "
            "Do not rank them by these numbers."
        )
    for each in (one, other) if one != other else (one,):
        found += empty(each)
    return found


def empty(guarantee: Guarantee) -> list[str]:
    """What makes a guarantee say nothing, in words."""
    if guarantee.measure is Measure.NONE:
        return [f"{guarantee.mechanism}: no budget is guaranteed"]
    found = []
    if is_injective(guarantee.invariants, guarantee.population):
        found.append(f"{guarantee.mechanism}: the invariants fix the data themselves, so nothing is protected")
    if guarantee.budget == math.inf:
        found.append(f"{guarantee.mechanism}: an infinite budget is no guarantee at all")
    return found


def _listed(guarantee: Guarantee) -> str:
    return "; ".join(map(str, guarantee.invariants)) or "none"
