"""Guarantees as values: read and written, composed, converted, compared."""

import json
import math
import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from pathlib import Path

import pytest

import safemargin
from oracles import distinguished_pair, split_pair, to_approximate
from safemargin.core import (
    Change,
    Distance,
    Fixes,
    Guarantee,
    InputError,
    Invariant,
    Measure,
    Nested,
    Population,
    Records,
    at_least,
    counts,
    named,
)
from safemargin.guarantees.census import (
    CEF,
    CENSUS_INVARIANTS,
    census_2020,
    characteristics_2020,
    counterfactual,
    measured,
    tabulated,
)
from safemargin.guarantees.census_population import census_file
from safemargin.guarantees.compare import Standing, beside, compare
from safemargin.guarantees.conversion import published_epsilon, rho_squared_for, tight_epsilon
from safemargin.guarantees.exact import Holds, check_laws, hamming
from safemargin.guarantees.guarantee_file import document, guarantee_from, read_guarantee
from safemargin.guarantees.implication import Swapping, is_injective, least_epsilon, swap_implies
from safemargin.guarantees.refinement import classes, determined, invariants_fixed
from safemargin.guarantees.report import compose as compose_sources
from safemargin.guarantees.rules import (
    change_unit,
    compose_parts,
    derive,
    post_process,
    publish_invariants,
    refine,
    scaled,
    to_zcdp,
)
from safemargin.guarantees.swap_loss import odds_factor, swap_epsilon

Census = tuple[tuple[int, ...], ...]
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
        ({"extra": 1}, "x: extra: unknown key"),
        ({"mechanism": 3}, "x: mechanism = 3: must be text"),
        ({"measure": "secret"}, "x: measure = 'secret': must be 'pure', 'zcdp'"),
        ({"budget": {"epsilon": -1}}, "x: budget.epsilon = -1: must not be negative"),
        ({"budget": {"epsilon": "many"}}, "x: budget.epsilon = 'many': must be a number"),
        ({"measure": "zcdp", "budget": {"epsilon": 1}}, "x: budget: a zcdp guarantee needs 'rho_squared'"),
        ({"measure": "approximate", "budget": {"epsilon": 1}}, "x: budget.delta = 0"),
        ({"invariants": [3]}, r"x: invariants\[0\] = 3: must be a section with keys"),
        ({"invariants": [{"counts": "people", "at_least": 0}]}, r"invariants\[0\]: at_least = 0: must be at least 1"),
        ({"change": {"distance": "far"}}, "x: change.distance = 'far': must be 'hamming'"),
        ({"population": {"determines": [["a"]]}}, r"x: population.determines\[0\]\[1\] is missing"),
        ({"premises": [{}]}, r"x: premises\[0\].mechanism is missing"),
        ({"change": {"distnace": "hamming"}}, "x: change.distnace: unknown key"),
        ({"budget": {"epsilon": 1, "rho": 1}}, "x: budget.rho: unknown key"),
        ({"change": {"distance": "hamming", "unit": ""}}, "x: change.unit"),
        ({"change": {"distance": "hamming", "unit": " "}}, "x: change.unit"),
        ({"epsilon": 2}, r"x: budget.epsilon = 1: another number \(2\) stands beside it"),
        (
            {"population": {"records": [{"kind": "a", "free": "no"}]}},
            r"x: population.records\[0\].free = 'no': must be true",
        ),
        ({"invariants": [{"counts": "people", "at_least": True}]}, r"at_least = true: must be a whole number"),
        ({"budget": {"epsilon": 10**400}}, "x: budget.epsilon = 1000.*: is larger than 1e300"),
        ({"budget": {"epsilon": "1e999999999"}}, "x: budget.epsilon = '1e999999999': must be a number"),
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
    with pytest.raises(InputError, match="holds 0 guarantees"):
        read_guarantee(path)
    path.write_text(json.dumps({"guarantees": [{"mechanism": "noise", "epsilon": 0.5, "invariants": ["the total"]}]}))
    assert read_guarantee(path) == Guarantee("noise", "", 0.5, (named("the total"),))
    infinite = Guarantee("swap", "", math.inf)
    assert guarantee_from(document(infinite), "x") == infinite


def test_conversions() -> None:
    assert published_epsilon(55.371, 1e-10) == pytest.approx(126.78, abs=0.005)
    assert scaled(ZCDP, 2) == Fraction(221484, 1000)
    assert published_epsilon(221.484, 1e-10) == pytest.approx(364.31, abs=0.005)
    for rho, epsilon in ((2.63, 18.1938), (12.66, 46.8072), (19.776, 62.4543), (17.79, 58.2686), (2.515, 17.7347)):
        assert published_epsilon(rho, 1e-10) == pytest.approx(epsilon, abs=5e-5)
        assert rho_squared_for(published_epsilon(rho, 1e-10), 1e-10) == pytest.approx(rho)
        assert tight_epsilon(rho, 1e-10) < published_epsilon(rho, 1e-10)
    for epsilon in (1e-3, 1e-12, 1e-30):
        assert published_epsilon(rho_squared_for(epsilon, 1e-10), 1e-10) == pytest.approx(epsilon, rel=1e-9)
    assert ZCDP.rho_squared == Fraction("55.371") and ZCDP.epsilon is None
    with pytest.raises(InputError, match="delta = 0"):
        published_epsilon(1.0, 0)
    with pytest.raises(InputError, match="budget = -1"):
        tight_epsilon(-1.0, 0.1)


def test_units() -> None:
    persons = measured("PL persons", "person", Fraction("2.56"), CENSUS_INVARIANTS)
    assert change_unit(persons, "household").budget == Fraction("25599488002.56")
    with pytest.raises(InputError, match="the number of persons is not among the invariants"):
        change_unit(replace(persons, invariants=()), "household")
    households = measured("PL households", "household", Fraction("0.07"))
    assert change_unit(households, "person").budget == 4 * Fraction("0.07")  # somebody moves
    stayed = replace(households, population=census_file("stays"))
    assert change_unit(stayed, "person").budget == Fraction("0.07")
    with pytest.raises(
        InputError, match="nothing is declared about how a person record changes with a business record"
    ):
        change_unit(persons, "business")


def test_rules_refuse_what_they_do_not_cover() -> None:
    persons = measured("persons", "person", Fraction(1))
    with pytest.raises(InputError, match="differ in change"):
        compose_parts([persons, measured("households", "household", Fraction(1))], "both")
    with pytest.raises(InputError, match="differ in measure"):
        compose_parts([persons, replace(persons, measure=Measure.PURE)], "both")
    with pytest.raises(InputError, match="nothing to compose"):
        compose_parts([], "none")
    with pytest.raises(InputError, match="persons guarantees nothing"):
        compose_parts([replace(persons, budget=None, measure=Measure.NONE)], "none")
    with pytest.raises(InputError, match="the budget of persons is not known"):
        compose_parts([replace(persons, budget=None)], "none")
    with pytest.raises(InputError, match="is not fixed by persons, so it is not free"):
        publish_invariants(persons, CENSUS_INVARIANTS, "invariants")
    with pytest.raises(InputError, match="are not known to fix"):
        refine(replace(persons, invariants=CENSUS_INVARIANTS), [counts("persons")])
    with pytest.raises(InputError, match="does not scale"):
        scaled(to_approximate(persons, 1e-6), 2)


def test_composition_and_post_processing() -> None:
    """Epsilons add, rho squared adds; what is derived from a release costs nothing more."""
    one = Guarantee("swapping", "", 3.0, (counts("persons", "age"),), CEF, Change(Distance.HAMMING, "person"))
    both = compose_parts([one, one], "two runs")
    assert both.epsilon == 6.0 and both.rule == "composition" and both.premises == (one, one)
    assert post_process(both, "profile").epsilon == 6.0
    assert to_zcdp(one).rho_squared == 4.5
    more = compose_parts([one, replace(one, invariants=(counts("persons", "sex"),))], "others")
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
    assert determined(sums[1], sums[:1], CEF).answer is None, "nothing says that any table is possible"
    anything = Population("tables", records=(Records("cells", free=True),))
    found = determined(sums[1], sums[:1], anything)
    assert found.answer is False and found.witness is not None
    assert {found.witness.one, found.witness.other} == {(("a",),), (("b",),)}, "as many records, another sum"
    whole = replace(sums[0], rows=((Fraction(1),) * 3,))
    assert determined(whole, sums[:1], anything).answer is None, "changes may keep the number of records"
    assert determined(replace(sums[2], of="others"), sums[:2], anything).answer is None, "sums of something else"


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
    found = compare(swapping, census_2020())
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
    back = compare(census_2020(), swapping)
    assert [each.standing for each in back.blocks][2:4] == [Standing.WEAKER, Standing.WEAKER]


def test_budgets_alone_are_not_ranked() -> None:
    """State at 50 % has 16.42, block group by size at 5 % has 11.37, because it fixes more."""
    guarantees = {each.mechanism: each for each in counterfactual()}
    state = guarantees["swapping county within state at 50%"]
    group = guarantees["swapping block within block group x household size at 5%"]
    assert (round(state.epsilon or 0, 2), round(group.epsilon or 0, 2)) == (16.42, 11.37)
    found = compare(state, group)
    assert found.block("invariants").standing is Standing.STRONGER
    assert found.block("budget").standing is Standing.WEAKER
    assert found.overall is Standing.INCOMPARABLE and "Do not rank" in found.warnings[0]


def test_one_guarantee_implies_another() -> None:
    strong = Guarantee("a", "", 1.0, (), CEF, Change(Distance.HAMMING, "household"))
    # One person is two households, so epsilon 1 per household is 2 per person, and rho² 2.
    weak = Guarantee("b", "", Fraction(2), CENSUS_INVARIANTS, CEF, Change(Distance.HAMMING, "person"), Measure.ZCDP)
    found = compare(strong, weak)
    assert found.overall is Standing.STRONGER and found.block("budget").standing is Standing.EQUAL
    assert compare(weak, strong).overall is Standing.WEAKER
    assert compare(strong, strong).overall is Standing.EQUAL
    assert compare(replace(strong, budget=2.0), strong).overall is Standing.WEAKER
    assert compare(replace(strong, population=Population("other")), strong).overall is Standing.UNKNOWN
    inside = Population("part", part_of=(CEF.name,))
    assert compare(strong, replace(strong, population=inside)).block("population").standing is Standing.STRONGER
    shown = to_approximate(weak, 1e-6)
    assert compare(weak, shown).overall is Standing.STRONGER
    opaque = replace(strong, invariants=(named("something"),))
    assert compare(opaque, replace(strong, invariants=(named("else"),))).overall is Standing.UNKNOWN


def test_a_kind_of_record_that_is_not_declared_is_not_fixed() -> None:
    """All tables of persons are fixed, but a household may have anything that the population does not mention."""
    persons = Population("p", records=(Records("persons", ("age", "sex"), True),))
    fixed = (counts("persons", "sex", "age"),)
    of_persons = Guarantee("a", "", 1.0, fixed, persons, Change(Distance.HAMMING, "person"))
    of_households = replace(of_persons, change=Change(Distance.HAMMING, "household"))
    assert "nothing is protected" in compose_sources([of_persons]).to_text()
    assert "nothing is protected" not in compose_sources([of_households]).to_text()
    assert compare(of_households, of_households).warnings == ()
    # An invariant about households makes them part of the data, declared or not.
    both = replace(of_persons, invariants=(*fixed, counts("households", "block")))
    assert not any("nothing is protected" in words for words in compare(both, both).warnings)


def test_parts_about_a_unit_are_not_converted_to_it_again() -> None:
    """By hand: persons are 10 a household, rho² grows with the square, and households are counted as they are."""
    about = Population("p", nested=(Nested("person", "household", up=1, down=10),))
    fixed = (counts("persons"),)
    person = Guarantee("a", "", Fraction(2), fixed, about, Change(Distance.HAMMING, "person"), Measure.ZCDP)
    household = replace(person, mechanism="b", budget=Fraction(3), change=Change(Distance.HAMMING, "household"))
    assert compose_sources([person, household], unit="household").guarantee.budget == 2 * 10**2 + 3
    together = compose_sources([person, household], unit="person").guarantee
    assert together.budget == 5 and compose_sources([together], unit="household").guarantee.budget == 2 * 10**2 + 3
    published = post_process(together, "tables")
    again = compose_sources([published, replace(household, mechanism="c")], unit="household").guarantee
    assert again.budget == 2 * 10**2 + 3 + 3
    assert again.change == household.change and again.invariants == fixed


def test_the_census_per_household() -> None:
    """15.29 less 7.7 of households, 19.776 for persons; redistricting data have households of their own."""
    whole = compose_sources([census_2020()], unit="household").guarantee
    assert whole.budget is not None and float(whole.budget) == pytest.approx(2.7295e11, rel=1e-4)


def test_remarks_name_the_measure_of_their_guarantee() -> None:
    census = safemargin.guarantee.census()
    whole, swapping = census.whole, census.swapping
    remarks = {guarantee.measure: " ".join(guarantee.remarks) for guarantee in (whole, *swapping)}
    assert "rho" in remarks[Measure.ZCDP] and "rho" not in remarks[Measure.PURE]
    assert "k times the epsilon" in remarks[Measure.PURE]


def test_nothing_left_to_protect_is_said() -> None:
    people = Population("p", records=(Records("people", ("age", "sex"), True),))
    fixed = Guarantee("a", "", 0.0, (counts("people", "sex", "age"),), people)
    assert is_injective(fixed.invariants, people, fixed.change)
    assert not is_injective((counts("people", "sex"),), people, fixed.change)
    assert any("nothing is protected" in words for words in compare(fixed, fixed).warnings)
    loose = replace(fixed, budget=math.inf, invariants=())
    assert any("no guarantee at all" in words for words in compare(loose, fixed).warnings)


PEOPLE = Population(
    "people",
    records=(Records("persons", ("age", "sex"), True),),
    nested=(Nested("person", "household", up=1, down=3),),
)
PLAIN = Guarantee("m", "", 1.0, (), PEOPLE, Change(Distance.HAMMING, "person"))


def overall(one: Guarantee, other: Guarantee) -> Standing:
    found = compare(one, other).overall
    turned = {Standing.STRONGER: Standing.WEAKER, Standing.WEAKER: Standing.STRONGER}
    assert compare(other, one).overall is turned.get(found, found)
    return found


def per(distance: Distance, unit: str) -> Guarantee:
    return replace(PLAIN, change=Change(distance, unit))


def test_units_of_changes() -> None:
    """Who is added to a household changes its record: one removed and one added. Exchanges do not carry over."""
    households, persons = per(Distance.ADD_REMOVE, "household"), per(Distance.ADD_REMOVE, "person")
    assert change_unit(households, "person").budget == 2.0 and change_unit(persons, "household").budget == 3.0
    assert overall(households, persons) is Standing.UNKNOWN
    assert overall(households, replace(persons, budget=2.0)) is Standing.STRONGER
    for kind in (Distance.EXCHANGE, Distance.FROZEN):
        assert overall(per(kind, "household"), per(kind, "person")) is Standing.UNKNOWN
        with pytest.raises(InputError, match="says nothing about a person"):
            change_unit(per(kind, "household"), "person")
    small, whole = replace(PLAIN, budget=Fraction(1, 3)), per(Distance.HAMMING, "household")
    assert compare(small, whole).down.answer is None, "a household may change for a larger one"
    small, whole = (replace(each, invariants=(counts("persons"),)) for each in (small, whole))
    assert overall(small, whole) is Standing.STRONGER, "three people lose at most 1"
    assert overall(replace(small, budget=0.34), whole) is Standing.UNKNOWN


def test_guarantees_of_nothing() -> None:
    """An infinite budget, none at all, and invariants that disclose everything are implied by whatever there is."""
    empty = [
        replace(PLAIN, budget=math.inf),
        replace(PLAIN, budget=None, measure=Measure.NONE),
        replace(PLAIN, budget=0.0, invariants=(Invariant(Fixes.EVERYTHING, "data"),)),
        replace(PLAIN, budget=0.0, invariants=(counts("persons", "sex", "age"),)),
    ]
    for each in empty:
        assert overall(PLAIN, each) is Standing.STRONGER and compare(PLAIN, each).warnings
        assert all(overall(each, other) is Standing.EQUAL for other in empty)


def test_measures_are_not_ranked_by_loose_bounds() -> None:
    """Epsilon 2 gives rho squared 2 by the rule and less in truth: neither yes nor no to 1.8, no to 1.5."""
    two = replace(PLAIN, budget=2.0)
    rho = [replace(PLAIN, budget=budget, measure=Measure.ZCDP) for budget in (2.0, 1.8, 1.5)]
    assert [overall(two, each) for each in rho] == [Standing.STRONGER, Standing.UNKNOWN, Standing.INCOMPARABLE]
    at = {delta: replace(PLAIN, budget=0.9, measure=Measure.APPROXIMATE, delta=delta) for delta in (0.01, 0.1)}
    assert overall(PLAIN, at[0.1]) is Standing.STRONGER, "a tenth of the cases makes up for 0.1 of epsilon"
    assert overall(PLAIN, at[0.01]) is Standing.INCOMPARABLE
    assert overall(at[0.01], at[0.1]) is Standing.STRONGER
    assert overall(at[0.1], replace(at[0.01], budget=2.0)) is Standing.INCOMPARABLE
    assert overall(replace(PLAIN, budget=0.0, measure=Measure.ZCDP), PLAIN) is Standing.STRONGER


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("delta", [0.0, 0.05, 0.3])
@pytest.mark.parametrize("wanted", [0.05, 0.3, 0.6])
def test_least_epsilon(epsilon: float, delta: float, wanted: float) -> None:
    """Of randomised response that discloses the answer with probability delta, by its largest excess over an event."""
    odds = math.exp(epsilon)
    truth = [delta, (1 - delta) * odds / (1 + odds), (1 - delta) / (1 + odds), 0.0]
    lie = truth[::-1]
    found = least_epsilon(epsilon, delta, wanted)
    if wanted < delta:
        assert found is None
        return
    assert found is not None

    def excess(at: float) -> float:
        return sum(max(p - math.exp(at) * q, 0.0) for p, q in zip(truth, lie, strict=True))

    assert excess(found) <= wanted + 1e-12 and (found == 0 or excess(found - 1e-6) > wanted)


def test_fractions_are_compared_exactly() -> None:
    one = replace(PLAIN, budget=Fraction(1))
    assert overall(replace(PLAIN, budget=1 + Fraction(1, 10**18)), one) is Standing.WEAKER
    squared = replace(one, budget=Fraction(1, 2) - Fraction(1, 10**18), measure=Measure.ZCDP)
    assert compare(one, squared).down.answer is None, "the rule gives a half"


def test_populations_without_a_name_are_not_taken_for_the_same() -> None:
    one = replace(PLAIN, population=Population())
    assert overall(one, one) is Standing.EQUAL and overall(one, replace(one, budget=2.0)) is Standing.UNKNOWN
    inside = Population("part", part_of=("people",), records=(Records("persons"),))
    part = replace(PLAIN, population=inside)
    assert overall(PLAIN, part) is Standing.STRONGER
    fixed = replace(PLAIN, invariants=(counts("persons", "age"),))
    assert compare(fixed, part).down.answer is None, "what differs freely outside may be fixed inside"


def test_budgets_of_swapping_are_compared_as_functions() -> None:
    """Not by the data at hand: the same rate guarantees the same, whatever the largest stratum was."""
    fixed = counts("persons", "area", "age"), counts("persons", "area", "street")

    def swapping(rate: str, largest: int) -> Guarantee:
        return replace(
            PLAIN,
            budget=swap_epsilon(Fraction(rate), largest),
            invariants=fixed,
            varies=f"rate {rate}, largest {largest}",
            rate=Fraction(rate),
            population=Population("people", records=(Records("persons", ("area", "age", "street"), True),)),
        )

    assert overall(swapping("1/20", 10), swapping("1/20", 1_000)) is Standing.EQUAL
    assert overall(swapping("1/2", 1_000), swapping("1/20", 10)) is Standing.STRONGER
    assert overall(swapping("9/10", 10), swapping("1/2", 10)) is Standing.INCOMPARABLE, "by the size of the stratum"
    constant = replace(swapping("1/20", 10), budget=1.0, varies="", rate=None)
    assert overall(constant, swapping("1/20", 10)) is Standing.STRONGER
    assert overall(replace(constant, budget=50.0), swapping("1/20", 10)) is Standing.INCOMPARABLE
    words = [replace(PLAIN, budget=budget, varies=f"{budget}") for budget in (1.0, 2.0)]
    assert overall(*words) is Standing.UNKNOWN
    again = guarantee_from(json.loads(json.dumps(document(swapping("1/20", 10)))), "x")
    assert again.rate == Fraction(1, 20)
    with pytest.raises(InputError, match="x: rate = 2: must lie between 0 and 1"):
        guarantee_from({"mechanism": "m", "rate": 2}, "x")


@pytest.mark.slow
def test_rates_of_swapping_over_all_strata() -> None:
    """What is said of two rates holds for every largest stratum up to 600, or fails at one of them where denied."""
    rates = [Fraction(n, 24) for n in range(1, 24)]
    for one, other in product(rates, rates):
        ours, theirs = (Swapping(rate, frozenset({"area"}), frozenset({"area", "age"})) for rate in (one, other))
        below = [odds_factor(one, b) <= odds_factor(other, b) for b in range(2, 600)]  # type: ignore[operator]
        assert swap_implies(ours, theirs, PEOPLE).answer is all(below)
    wider = Swapping(Fraction(1, 2), frozenset(), frozenset({"area", "age"}))
    assert swap_implies(wider, ours, PEOPLE).answer is False and swap_implies(ours, wider, PEOPLE).answer is None


def test_what_is_derived_costs_nothing_beside_its_source() -> None:
    whole = census_2020()
    derived = [each for each in whole.premises if each.rule.startswith("post-processing of")]
    assert len(derived) == 5 and all(each.budget == 0 for each in derived)
    rest = [each for each in whole.premises if each not in derived]
    assert compose_parts(rest, "x").budget == whole.budget == Fraction("139.596")
    profile = derive(ZCDP, "profile")
    assert compose_parts([ZCDP, profile], "both").budget == ZCDP.budget
    with pytest.raises(InputError, match="profile is computed from noise, which is not counted"):
        compose_parts([profile], "alone")
    shown = to_approximate(ZCDP, 0.6)
    assert compose_parts([shown, derive(shown, "profile")], "both").delta == 0.6
    with pytest.raises(InputError, match=r"the deltas add up to 1\.2"):
        compose_parts([shown, shown], "both")
    again = compose_parts([shown, derive(shown, "profile")], "both")
    assert guarantee_from(document(again), "x") == again


def test_households_are_not_added_to_persons_without_a_fact() -> None:
    """The ledger takes a household budget for persons only if the population says how the two hang together."""
    safetab = tabulated()[1]
    undeclared = replace(safetab, population=replace(CEF, nested=()))
    with pytest.raises(InputError, match="differ in change"):
        compose_parts([characteristics_2020(), undeclared], "2020")
    with pytest.raises(InputError, match="nothing is declared"):
        change_unit(undeclared, "person")
    twice = replace(safetab, population=replace(CEF, nested=(Nested("person", "household", up=2),)))
    assert change_unit(twice, "person").budget == 4 * Fraction("17.79")


@pytest.mark.parametrize("dropped", CENSUS_INVARIANTS, ids=str)
def test_a_dropped_invariant_is_no_longer_free(dropped: Invariant) -> None:
    """TopDown reads what it keeps exact: under universes that leave one of these open, the claim is refused."""
    rest = tuple(each for each in CENSUS_INVARIANTS if each != dropped)
    like = replace(characteristics_2020(), invariants=rest)
    with pytest.raises(InputError, match="so it is not free"):
        publish_invariants(like, CENSUS_INVARIANTS, "invariants")
    assert publish_invariants(like, rest, "invariants").budget == 0


def test_a_dropped_invariant_costs_everything() -> None:
    """A toy census, two persons in two states, units and quarters in two blocks: for each invariant a pair shows it."""
    data = list(product(product((0, 1), repeat=2), product((0, 1), repeat=2), product((0, 1), repeat=2)))
    statistics = [lambda x: sum(x[0]), lambda x: x[1], lambda x: x[2]]

    def persons(one: Census, other: Census) -> float:
        return hamming(one[0], other[0])

    laws = {x: {tuple(each(x) for each in statistics): Fraction(1)} for x in data}
    whole = classes(data, lambda x: tuple(each(x) for each in statistics))
    assert check_laws(laws, whole, persons, lambda _: Fraction(1)).verdict is Holds.TIGHT
    for dropped in statistics:
        rest = [each for each in statistics if each is not dropped]
        universes = classes(data, lambda x, rest=rest: tuple(each(x) for each in rest))
        pair = distinguished_pair(universes, persons, dropped)
        assert pair is not None and dropped(pair[0]) != dropped(pair[1])
        found = check_laws(laws, universes, persons, lambda _: 1e6)
        assert found.verdict is Holds.VIOLATED and found.worst is not None and found.worst.value == math.inf


MIRRORED = {Standing.STRONGER: Standing.WEAKER, Standing.WEAKER: Standing.STRONGER}


def some_guarantee(draw: random.Random) -> Guarantee:
    """Any guarantee about homes, a part of them, or something else."""
    places = {"determines": [["block", "county"], ["county", "state"]]}
    homes = {"kind": "households", "variables": ["state", "county", "block", "tenure"], "free": True}
    nested = [{"fine": "person", "coarse": "household", "up": 1, "down": 9}]
    populations = [
        {"name": "homes", **places, "nested": nested},
        {"name": "homes", **places, "records": [homes]},
        {"name": "ours", "part_of": ["homes"], **places, "records": [homes] * draw.randrange(2)},
        "other",
        "",
    ]
    tables: list[dict[str, object]] = [
        {"counts": kind, "by": by}
        for kind, by in (
            ("households", ["state"]),
            ("households", ["county"]),
            ("households", ["block"]),
            ("persons", ["state"]),
            ("households", []),
            ("households", ["county", "tenure"]),
        )
    ]
    tables.append({**tables[2], "at_least": 1})
    measure, amount = draw.choice(["pure", "zcdp", "approximate"]), draw.choice([0, "1/2", 1, 2, "5/2", "infinite"])
    budget = {"rho_squared": amount} if measure == "zcdp" else {"epsilon": amount}
    entry = {
        "mechanism": "noise",
        "population": draw.choice(populations),
        "invariants": draw.sample(tables, draw.randrange(4)),
        "change": {
            "distance": draw.choice(["hamming", "add_remove"]),
            "unit": draw.choice(["person", "household"]),
        },
        "measure": measure,
        "budget": {**budget, **({"delta": draw.choice([1e-10, 1e-6])} if measure == "approximate" else {})},
    }
    return guarantee_from(entry, "guarantee")


def test_the_other_way_round_everything_is_mirrored() -> None:
    """Random guarantees: both orders say the same, each equals itself, and every document is JSON and read again."""
    draw = random.Random(6)
    guarantees = [some_guarantee(draw) for _ in range(300)]
    for one in guarantees:
        assert compare(one, one).overall is Standing.EQUAL
        assert guarantee_from(json.loads(json.dumps(document(one), allow_nan=False)), "guarantee") == one
    seen: Counter[Standing] = Counter()
    for _ in range(3_000):
        one, other = draw.sample(guarantees, 2)
        there, back = compare(one, other), compare(other, one)
        ours, theirs = ([each.overall, *(block.standing for block in each.blocks)] for each in (there, back))
        assert theirs == [MIRRORED.get(standing, standing) for standing in ours]
        seen[there.overall] += 1
    assert min(seen[each] for each in (Standing.STRONGER, Standing.WEAKER, Standing.INCOMPARABLE)) > 30, seen


def test_any_guarantees_stand_side_by_side() -> None:
    draw = random.Random(8)
    guarantees = [some_guarantee(draw) for _ in range(40)]
    assert any(each.measure is Measure.ZCDP and each.budget == math.inf for each in guarantees)
    json.dumps(beside(guarantees, delta=1e-10).to_json(), allow_nan=False)
    for each in guarantees:
        if each.measure is not Measure.APPROXIMATE:
            assert (to_approximate(each, 1e-10).budget == math.inf) is (each.budget == math.inf)


def test_implications_chain() -> None:
    """If one implies another and that a third, it is never said that the first does not imply the third."""
    draw = random.Random(7)
    guarantees = [some_guarantee(draw) for _ in range(70)]
    standing = [[compare(one, other).overall for other in guarantees] for one in guarantees]
    implied = [[each in (Standing.EQUAL, Standing.STRONGER) for each in row] for row in standing]
    refuted = sum(each in (Standing.WEAKER, Standing.INCOMPARABLE) for row in standing for each in row)
    assert sum(map(sum, implied)) > 2 * len(guarantees) and refuted > 2 * len(guarantees)
    for one, another in ((i, j) for i, row in enumerate(implied) for j, yes in enumerate(row) if yes):
        for third in (k for k, yes in enumerate(implied[another]) if yes):
            assert standing[one][third] not in (Standing.WEAKER, Standing.INCOMPARABLE)
