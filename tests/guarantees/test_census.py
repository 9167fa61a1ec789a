"""Census budgets from their configuration alone."""

from fractions import Fraction
from pathlib import Path

import pytest

from safemargin.core import Guarantee, InputError
from safemargin.guarantees.census import (
    CEF,
    PERSONS,
    PUERTO_RICO_PERSONS,
    PUERTO_RICO_UNITS,
    UNITS,
    budget,
    census_2020,
    characteristics_2020,
    counterfactual,
    printed_budgets,
    product_guarantee,
    redistricting,
    redistricting_2020,
)
from safemargin.guarantees.census_population import census_file
from safemargin.guarantees.conversion import published_epsilon, tight_epsilon
from safemargin.guarantees.product import CensusLevel, CensusQuery, Product, certificate, read_product
from swap_vectors import (
    PERSON_ATTRIBUTES,
    PERSON_WITHIN,
    PUERTO_RICO_ATTRIBUTES,
    PUERTO_RICO_WITHIN,
    SIGMAS,
    TABLE_3,
    TABLE_5,
    UNIT_TEST_WITHIN,
    UNIT_WITHIN,
)


def printed(found: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 2) for name, value in found.items()}


def leaves(guarantee: Guarantee) -> list[Guarantee]:
    return [leaf for each in guarantee.premises for leaf in leaves(each)] if guarantee.premises else [guarantee]


def test_certificate_of_persons() -> None:
    found = certificate(PERSONS)
    assert PERSONS.rho_squared == Fraction(293764, 114921)
    assert found.epsilon == pytest.approx(17849145 / 1041158, abs=1e-3) and round(found.epsilon, 2) == 17.14
    assert round(found.published, 4) == 17.9002
    assert printed(dict(found.attributes)) == PERSON_ATTRIBUTES
    assert printed(dict(found.within)) == PERSON_WITHIN
    sigmas = {(query.level, query.query): query.sigma for query in PERSONS.asked}
    for place, sigma in SIGMAS.items():
        assert sigmas[place] == pytest.approx(sigma, abs=0.005 if sigma < 10 else 0.05)


def test_certificate_of_units_and_puerto_rico() -> None:
    found = certificate(UNITS)
    assert UNITS.rho_squared == Fraction(11417641, 152349649)
    assert found.epsilon == pytest.approx(1455307 / 588081, abs=1e-3) and round(found.published, 4) == 2.7022
    assert printed(dict(found.within)) == UNIT_WITHIN
    island = certificate(PUERTO_RICO_PERSONS)
    assert PUERTO_RICO_PERSONS.rho_squared == PERSONS.rho_squared and round(island.epsilon, 2) == 17.14
    assert printed(dict(island.attributes)) == PUERTO_RICO_ATTRIBUTES
    assert printed(dict(island.within)) == PUERTO_RICO_WITHIN
    assert PUERTO_RICO_UNITS.rho_squared == UNITS.rho_squared


def test_the_tree_adds_up_exactly() -> None:
    """Persons and units composed: 2.6312 and 17.44, not 17.14 and 2.47 added; every query is a leaf."""
    found = redistricting(census_file("stays"))
    assert redistricting().budget == PERSONS.rho_squared + 4 * UNITS.rho_squared
    assert found.budget == PERSONS.rho_squared + UNITS.rho_squared
    assert round(tight_epsilon(float(found.budget), 1e-10), 2) == 17.44
    below = leaves(found)
    assert sum((Fraction(leaf.budget or 0) for leaf in below), Fraction(0)) == found.budget
    assert len(below) == 10 + 5 * 11 + 6 + 1
    assert all(leaf.rule.startswith(("discrete Gaussian", "invariants are free")) for leaf in below)


def test_published_totals() -> None:
    stayed = census_file("stays")
    assert redistricting_2020(stayed).rho_squared == Fraction("2.63")
    assert characteristics_2020(stayed).rho_squared == Fraction("15.29")
    assert census_2020("stays").rho_squared == Fraction("55.371")
    whole = census_2020()
    persons, households = Fraction("2.56") + Fraction("4.96"), Fraction("0.07") + Fraction("7.70")
    assert characteristics_2020().rho_squared == persons + 4 * households == Fraction("38.6")
    assert whole.rho_squared == Fraction("38.6") + Fraction("19.776") + 4 * (Fraction("17.79") + Fraction("2.515"))
    assert published_epsilon(55.371, 1e-10) == pytest.approx(126.78, abs=0.005)
    assert any("imputation" in remark for remark in whole.remarks)
    rules = {each.rule for each in _all(whole)}
    assert {"composition", "post-processing", "invariants are free (Proposition 1)"} <= rules
    assert all(each.rule != "stated" for each in _all(whole))


def _all(guarantee: Guarantee) -> list[Guarantee]:
    return [guarantee, *(below for each in guarantee.premises for below in _all(each))]


def test_table_3_needs_the_unrounded_budgets() -> None:
    found = printed_budgets()
    assert len(found) == len(TABLE_3)
    for row in found:
        rho, epsilon, recomputed, low, high = TABLE_3[row["product"], row["unit"]]
        assert (row["rho_squared_printed"], row["epsilon_printed"]) == (rho, epsilon)
        assert row["epsilon"] == pytest.approx(recomputed, abs=5e-5)
        ends = row["rho_squared_between"]
        assert ends == [pytest.approx(low, abs=5e-6), pytest.approx(high, abs=5e-6)]
        inside = published_epsilon(sum(ends) / 2, 1e-10)
        assert round(inside, 2) == epsilon and abs(row["epsilon"] - epsilon) < (0.1 if rho < 1 else 0.02)
    assert sum(round(row["epsilon"], 2) == row["epsilon_printed"] for row in found) == 1
    for product, unit in ((UNITS, "household"), (PERSONS, "person")):
        _, epsilon, _, low, high = TABLE_3["Redistricting Data", unit]
        assert low <= product.rho_squared <= high
        assert round(published_epsilon(float(product.rho_squared), 1e-10), 2) == epsilon
    assert round(published_epsilon(0.07, 1e-10), 2) == 2.61
    together = sum(published_epsilon(rho, 1e-10) for rho in (0.07494, 2.55623, 7.70, 4.96))
    assert together == pytest.approx(81.27, abs=0.02)
    assert published_epsilon(15.29, 1e-10) == pytest.approx(52.83, abs=0.02)


def test_unit_test_of_the_census_code() -> None:
    one = (CensusQuery("all", frozenset(), Fraction(1)),)
    shares = (44, 44, 44, 44, 127, 721)
    levels = tuple(
        CensusLevel(level.name, Fraction(share, 1024), one) for level, share in zip(PERSONS.levels, shares, strict=True)
    )
    product = Product("test", "person", Fraction(343, 256), levels)
    for level, (loose, tight) in UNIT_TEST_WITHIN.items():
        rho = float(product.within_budget(level))
        assert published_epsilon(rho, 1e-10) == pytest.approx(loose, abs=1e-12)
        assert tight_epsilon(rho, 1e-10) == pytest.approx(tight, abs=1e-7)


def test_table_5() -> None:
    found = [each.epsilon or 0.0 for each in counterfactual()]
    expected = [row[column] for column in (0, 1) for row in TABLE_5.values()]
    assert [round(epsilon, 2) for epsilon in found] == expected


def test_shares_must_sum_to_one() -> None:
    one = (CensusQuery("all", frozenset(), Fraction(1)),)
    with pytest.raises(InputError, match="p: levels: shares sum to 3/4, not to 1"):
        Product("p", "person", Fraction(1), (CensusLevel("a", Fraction(3, 4), one),))
    with pytest.raises(InputError, match="p: queries of a: shares sum to 1/2"):
        half = (CensusQuery("all", frozenset(), Fraction(1, 2)),)
        Product("p", "person", Fraction(1), (CensusLevel("a", Fraction(1), half),))


PLAN = """
name = "survey"
scale = "3/2"
[queries]
total = []
age = ["age"]
[[levels]]
name = "country"
share = "1/4"
queries = { age = 1 }
[[levels]]
name = "region"
share = 0.75
queries = { total = "1/3", age = "2/3" }
"""


def test_a_plan_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(PLAN)
    product = read_product(path)
    assert product.rho_squared == Fraction(4, 9) == product_guarantee(product, CEF).budget
    assert product.attribute_budget("age") == Fraction(4, 9) * Fraction(3, 4)
    assert {query.query: query.variance for query in product.asked if query.level == "region"} == {
        "total": Fraction(9, 4) * 4,
        "age": Fraction(9, 4) * 2,
    }
    path.write_text(PLAN.replace("{ age = 1 }", "{ age = 1, total = 0 }"))
    assert len(product_guarantee(read_product(path), CEF).premises[0].premises) == 1
    assert "not asked" in budget(path).to_text() and ("country", "total") not in {
        (query.level, query.query) for query in read_product(path).asked
    }


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('share = "1/4"', 'share = "1/5"', "survey: levels: shares sum to 19/20, not to 1"),
        ('"2/3"', '"2/5"', "queries of region: shares sum to 11/15"),
        ('scale = "3/2"', "", "plan.toml: scale is missing"),
        ('share = "1/4"', 'share = "-1/4"', "survey: levels: share -1/4: must not be negative"),
        ('scale = "3/2"', 'scale = "1e-200"', r"survey: scale = 1e-200: must lie between 1e-9 and 1e9"),
        ('scale = "3/2"', 'scale = "0"', r"plan\.toml: survey: scale = 0: must be positive"),
        ("share = 0.75", 'share = "most"', r"levels\[1\].share = 'most'"),
        ("{ age = 1 }", "{ sex = 1 }", r"levels\[0\].queries: 'sex' is not among the queries"),
        ('age = ["age"]', 'age = "age"', "queries.age = 'age': must be a list"),
        ('name = "survey"', "colour = 1", "colour: unknown key"),
        ('name = "survey"', "name = ", "is not valid TOML"),
    ],
)
def test_bad_plans_are_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(PLAN.replace(old, new, 1))
    with pytest.raises(InputError, match=message):
        read_product(path)
