"""Promises as values: read and written, composed, converted, compared."""

import json
import math
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from pathlib import Path

import pytest

from safemargin.account.census import CEF, CENSUS_INVARIANTS, census_2020, counterfactual, measured, tabulated
from safemargin.account.comparing import contrast, is_injective
from safemargin.account.conversion import published_epsilon, rho_squared_for, tight_epsilon
from safemargin.account.refinement import classes, determined, invariants_fixed, split_pair
from safemargin.account.rules import (
    change_distance,
    change_unit,
    compose,
    multiply,
    post_process,
    publish_invariants,
    refine,
    to_approximate,
    to_zcdp,
)
from safemargin.errors import InputError
from safemargin.model.contrast import Standing
from safemargin.model.guarantee import Change, Distance, Guarantee, Measure
from safemargin.model.guarantee_file import document, guarantee_from, read_guarantee
from safemargin.model.universe import Fixes, Invariant, Population, Records, at_least, counts, named

ZCDP = Guarantee("noise", "", Fraction(55371, 1000), (), CEF, Change(Distance.HAMMING, "person"), Measure.ZCDP)


def test_table_4_is_read_as_it_is_written() -> None:
    whole = census_2020()
    for each in (whole, *whole.premises, *tabulated(), *counterfactual()):
        again = guarantee_from(json.loads(json.dumps(document(each))), "x")
        assert again == each
    assert replace(whole, budget=Fraction(1)).flavour == whole.flavour != replace(whole, invariants=()).flavour


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"extra": 1}, "x: unknown key 'extra'"),
        ({"mechanism": 3}, "x: 'mechanism' must be a text"),
        ({"measure": "secret"}, "x: measure = 'secret': must be one of pure, zcdp"),
        ({"budget": {"epsilon": -1}}, "x: budget.epsilon = -1: must not be negative"),
        ({"budget": {"epsilon": "many"}}, "x: budget.epsilon = 'many': is not a number"),
        ({"measure": "zcdp", "budget": {"epsilon": 1}}, "x: budget: a zcdp promise needs 'rho_squared'"),
        ({"measure": "approximate", "budget": {"epsilon": 1}}, "x: budget.delta = 0"),
        ({"invariants": [3]}, r"x: invariants\[0\]: must be an object"),
        ({"invariants": [{"counts": "people", "at_least": 0}]}, r"invariants\[0\].at_least = 0"),
        ({"change": {"distance": "far"}}, "x: change.distance = 'far': must be one of hamming"),
        ({"population": {"determines": [["a"]]}}, "x: population.determines: needs pairs"),
        ({"premises": [{}]}, r"x: premises\[0\]: 'mechanism' must be a text"),
    ],
)
def test_bad_files_are_named(change: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        guarantee_from({"mechanism": "m", "budget": {"epsilon": 1}, **change}, "x")


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    with pytest.raises(InputError, match="there is no such file"):
        read_guarantee(path)
    path.write_text("{")
    with pytest.raises(InputError, match="is not JSON"):
        read_guarantee(path)
    path.write_text(json.dumps({"guarantees": []}))
    with pytest.raises(InputError, match="holds 0 promises"):
        read_guarantee(path)
    path.write_text(json.dumps({"guarantees": [{"mechanism": "noise", "epsilon": 0.5, "invariants": ["tier 0"]}]}))
    assert read_guarantee(path) == Guarantee("noise", "", 0.5, (named("tier 0"),))
    infinite = Guarantee("swap", "", math.inf)
    assert guarantee_from(document(infinite), "x") == infinite


def test_conversions() -> None:
    assert published_epsilon(55.371, 1e-10) == pytest.approx(126.78, abs=0.005)
    assert multiply(ZCDP, 2, "contributor").budget == Fraction(221484, 1000)
    assert published_epsilon(221.484, 1e-10) == pytest.approx(364.31, abs=0.005)
    for rho, epsilon in ((2.63, 18.1938), (12.66, 46.8072), (19.776, 62.4543), (17.79, 58.2686), (2.515, 17.7347)):
        assert published_epsilon(rho, 1e-10) == pytest.approx(epsilon, abs=5e-5)
        assert rho_squared_for(published_epsilon(rho, 1e-10), 1e-10) == pytest.approx(rho)
        assert rho_squared_for(tight_epsilon(rho, 1e-10), 1e-10, tight=True) == pytest.approx(rho, rel=1e-6)
        assert tight_epsilon(rho, 1e-10) < published_epsilon(rho, 1e-10)
    for epsilon in (1e-3, 1e-12, 1e-30):
        assert published_epsilon(rho_squared_for(epsilon, 1e-10), 1e-10) == pytest.approx(epsilon, rel=1e-9)
    assert ZCDP.rho == Fraction("55.371") and ZCDP.epsilon is None
    with pytest.raises(InputError, match="delta = 0"):
        published_epsilon(1.0, 0)
    with pytest.raises(InputError, match="budget = -1"):
        tight_epsilon(-1.0, 0.1)


def test_units() -> None:
    persons = measured("PL persons", "person", Fraction("2.56"))
    assert change_unit(persons, "household").budget == Fraction("25599488002.56")
    households = measured("PL households", "household", Fraction("0.07"))
    assert change_unit(households, "person").budget == Fraction("0.07")
    with pytest.raises(
        InputError, match="nothing is declared about how a person record changes with a business record"
    ):
        change_unit(persons, "business")


def test_rules_refuse_what_they_do_not_cover() -> None:
    persons = measured("persons", "person", Fraction(1))
    with pytest.raises(InputError, match="differ in change"):
        compose([persons, measured("households", "household", Fraction(1))], "both")
    with pytest.raises(InputError, match="differ in measure"):
        compose([persons, replace(persons, measure=Measure.PURE)], "both")
    with pytest.raises(InputError, match="nothing to compose"):
        compose([], "none")
    with pytest.raises(InputError, match="persons promises nothing"):
        compose([replace(persons, budget=None, measure=Measure.NONE)], "none")
    with pytest.raises(InputError, match="the budget of persons is not known"):
        compose([replace(persons, budget=None)], "none")
    with pytest.raises(InputError, match="is not fixed by persons, so it is not free"):
        publish_invariants(persons, CENSUS_INVARIANTS, "invariants")
    with pytest.raises(InputError, match="are not known to fix"):
        refine(replace(persons, invariants=CENSUS_INVARIANTS), [counts("persons")])
    with pytest.raises(InputError, match="says nothing for add_remove"):
        change_distance(persons, Distance.ADD_REMOVE)
    with pytest.raises(InputError, match="does not scale"):
        multiply(to_approximate(persons, 1e-6), 2, "x")


def test_composition_and_post_processing() -> None:
    """Epsilons add, rho squared adds; what is derived from a release costs nothing more."""
    one = Guarantee("swapping", "", 3.0, (counts("persons", "age"),), CEF, Change(Distance.HAMMING, "person"))
    both = compose([one, one], "two runs")
    assert both.epsilon == 6.0 and both.rule == "composition" and both.premises == (one, one)
    assert post_process(both, "profile").epsilon == 6.0
    assert to_zcdp(one).rho == 4.5
    more = compose([one, replace(one, invariants=(counts("persons", "sex"),))], "others")
    assert set(more.invariants) == {counts("persons", "age"), counts("persons", "sex")}
    assert [each.rule for each in more.premises] == ["finer universes (Proposition 5)"] * 2
    assert to_approximate(one, 1e-6).budget == 3.0


def test_refinement_of_invariants() -> None:
    block, county = counts("households", "block"), counts("households", "county")
    assert determined(county, [block], CEF).answer is True
    back = determined(block, [county], CEF)
    assert back.answer is False and back.witness is not None and back.witness.one != back.witness.other
    safetab, phsafe = counts("housing units", "block"), at_least(1, "housing units", "block")
    assert invariants_fixed([safetab, phsafe], CENSUS_INVARIANTS, CEF).answer is True
    assert determined(safetab, [phsafe], CEF).answer is False
    assert determined(at_least(1, "housing units", "state"), [phsafe], CEF).answer is True
    assert determined(named("secret"), [block], CEF).answer is None
    assert determined(block, [named("secret")], CEF).answer is None
    assert determined(counts("persons", "age"), [], CEF).answer is None  # persons are not declared free
    cells = ("a", "b", "c")
    rows = [[1, 1, 0], [0, 1, 1], [1, 0, -1]]
    sums = [Invariant(Fixes.LINEAR, "cells", cells, rows=(tuple(map(Fraction, row)),)) for row in rows]
    assert determined(sums[2], sums[:2], CEF).answer is True
    assert determined(sums[1], sums[:1], CEF).answer is False


def test_witnesses_agree_and_differ() -> None:
    """What the witness says, counted: margins over fewer variables agree, the one in question does not."""
    population = Population("toy", records=(Records("people", free=True),))
    wanted = counts("people", "x", "y", "z")
    given = [counts("people", *pair) for pair in (("x", "y"), ("x", "z"), ("y", "z"))]
    found = determined(wanted, given, population)
    assert found.answer is False and found.witness is not None
    one, other = found.witness.one, found.witness.other
    for left in ((0, 1), (0, 2), (1, 2)):
        assert sorted(tuple(row[n] for n in left) for row in one) == sorted(
            tuple(row[n] for n in left) for row in other
        )
    assert sorted(one) != sorted(other)


def test_swap_invariants_are_never_those_of_the_census() -> None:
    """Three records of state, block within it and type: no roles give universes by state counts alone."""
    records = list(product((0, 1), (0, 1), (0, 1)))  # state, block, type
    data = list(combinations_with_replacement(records, 3))
    assert len(data) == 120

    def margin(x: tuple[tuple[int, ...], ...], by: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
        return tuple(sorted(tuple(record[n] for n in by) for record in x))

    census = classes(data, lambda x: margin(x, (0,)))
    assert len(census) == 4
    roles = []
    for assigned in product("smh", repeat=3):
        swap, match, hold = (tuple(n for n in range(3) if assigned[n] == role) for role in "smh")
        if swap and hold:
            roles.append((swap, match, hold))
    assert len(roles) == 12
    for swap, match, hold in roles:
        found = classes(data, lambda x, m=match, h=hold, s=swap: (margin(x, m + h), margin(x, m + s)))
        assert len(found) in (80, 104)

    def typed(x: tuple[tuple[int, ...], ...]) -> object:
        return margin(x, (0,)), margin(x, (1, 2))

    def swapped(x: tuple[tuple[int, ...], ...]) -> object:
        return margin(x, (0, 2)), margin(x, (0, 1))

    assert split_pair(data, typed, swapped) is not None and split_pair(data, swapped, typed) is not None


def test_swapping_against_the_2020_census() -> None:
    swapping = counterfactual()[0]
    found = contrast(swapping, census_2020())
    standings = [each.standing for each in found.blocks]
    assert standings == [
        Standing.EQUAL,
        Standing.INCOMPARABLE,
        Standing.STRONGER,
        Standing.STRONGER,
        Standing.INCOMPARABLE,
    ]
    assert found.overall is Standing.INCOMPARABLE
    assert "not on one scale" in found.warnings[0]
    back = contrast(census_2020(), swapping)
    assert [each.standing for each in back.blocks][2:4] == [Standing.WEAKER, Standing.WEAKER]


def test_budgets_alone_are_not_ranked() -> None:
    """State at 50 % has 16.42, block group by size at 5 % has 11.37, because it fixes more."""
    promises = {each.mechanism: each for each in counterfactual()}
    state = promises["swapping county within state at 50%"]
    group = promises["swapping block within block group x household size at 5%"]
    assert (round(state.epsilon or 0, 2), round(group.epsilon or 0, 2)) == (16.42, 11.37)
    found = contrast(state, group)
    assert found.block("invariants").standing is Standing.STRONGER
    assert found.block("budget").standing is Standing.WEAKER
    assert found.overall is Standing.INCOMPARABLE and "Do not rank" in found.warnings[0]


def test_one_promise_implies_another() -> None:
    strong = Guarantee("a", "", 1.0, (), CEF, Change(Distance.HAMMING, "household"))
    weak = Guarantee("b", "", Fraction(1, 2), CENSUS_INVARIANTS, CEF, Change(Distance.HAMMING, "person"), Measure.ZCDP)
    found = contrast(strong, weak)
    assert found.overall is Standing.STRONGER and found.block("budget").standing is Standing.EQUAL
    assert contrast(weak, strong).overall is Standing.WEAKER
    assert contrast(strong, strong).overall is Standing.EQUAL
    assert contrast(replace(strong, budget=2.0), strong).overall is Standing.WEAKER
    assert contrast(replace(strong, population=Population("other")), strong).overall is Standing.UNKNOWN
    inside = Population("part", part_of=(CEF.name,))
    assert contrast(strong, replace(strong, population=inside)).block("population").standing is Standing.STRONGER
    shown = to_approximate(weak, 1e-6)
    assert contrast(weak, shown).overall is Standing.STRONGER or contrast(weak, shown).overall is Standing.EQUAL
    opaque = replace(strong, invariants=(named("something"),))
    assert contrast(opaque, replace(strong, invariants=(named("else"),))).overall is Standing.UNKNOWN


def test_nothing_left_to_protect_is_said() -> None:
    people = Population("p", records=(Records("people", ("age", "sex"), True),))
    fixed = Guarantee("a", "", 0.0, (counts("people", "sex", "age"),), people)
    assert is_injective(fixed.invariants, people) and not is_injective((counts("people", "sex"),), people)
    assert any("nothing is protected" in words for words in contrast(fixed, fixed).warnings)
    loose = replace(fixed, budget=math.inf, invariants=())
    assert any("no promise at all" in words for words in contrast(loose, fixed).warnings)
