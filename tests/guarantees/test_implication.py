"""What one guarantee says about another: no answer contradicts others, and no words decide."""

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product

import numpy as np
import pytest

from safemargin.core import (
    BoolArray,
    Change,
    Distance,
    Fixes,
    Guarantee,
    Invariant,
    Measure,
    Nested,
    Population,
    Records,
    at_least,
    counts,
    numpy_generator,
)
from safemargin.guarantees.compare import Standing, compare
from safemargin.guarantees.implication import implies

TOWN = Population(
    "town",
    ("country",),
    (Records("persons", ("state", "county", "age", "sex"), True), Records("households", ("county", "size"), True)),
    (("county", "state"),),
    (Nested("person", "household", 1, 5),),
)
PERSON = Change(Distance.HAMMING, "person")
PURE = Guarantee("noise", "", 1.0, (), TOWN, PERSON)
AT_DELTA = replace(PURE, measure=Measure.APPROXIMATE, delta=1e-6)
RHO = replace(PURE, measure=Measure.ZCDP)


def test_an_epsilon_at_delta_zero_is_pure() -> None:
    assert compare(PURE, replace(AT_DELTA, delta=0.0)).overall is Standing.EQUAL
    assert compare(replace(AT_DELTA, delta=0.0, budget=0.5), PURE).overall is Standing.STRONGER
    assert implies(RHO, replace(AT_DELTA, delta=0.0)).answer is False


@pytest.mark.parametrize("other", [PURE, AT_DELTA, RHO], ids=lambda each: each.measure)
def test_an_infinite_budget_is_compared_with_anything(other: Guarantee) -> None:
    for one in (PURE, AT_DELTA, RHO):
        endless = replace(one, budget=math.inf)
        assert compare(endless, other).overall is compare(endless, RHO).overall is Standing.WEAKER
        assert implies(other, replace(endless, varies="the largest stratum")).answer is None


def test_budgets_that_vary_are_not_alike_by_their_words() -> None:
    """Two functions of the data can agree at one place, and be described alike."""
    one = replace(PURE, varies="depends on the data")
    assert implies(one, one).answer is True
    assert implies(one, replace(one, mechanism="other noise")).answer is None
    assert compare(one, replace(one, mechanism="other noise")).overall is Standing.UNKNOWN


def test_approximate_guarantees_are_about_one_change() -> None:
    """One changed record keeps two margins only if it keeps the table of both: publishing that breaks nothing."""
    table = replace(AT_DELTA, invariants=(counts("persons", "age", "county"),))
    margins = replace(AT_DELTA, invariants=(counts("persons", "age"), counts("persons", "county")))
    assert implies(table, margins).answer is None
    pure = [replace(each, measure=Measure.PURE, delta=0.0) for each in (table, margins)]
    assert implies(*pure).answer is False
    assert implies(table, AT_DELTA).answer is False
    by_age, by_sex = (replace(AT_DELTA, invariants=(counts("persons", name),)) for name in ("age", "sex"))
    assert compare(by_age, by_sex).overall is Standing.INCOMPARABLE


def test_units_that_nothing_links_are_not_compared_by_their_measures() -> None:
    """If persons have no part in households, no guarantee about these lets any output differ with a person."""
    alone = replace(TOWN, nested=())
    households = replace(RHO, population=alone, change=Change(Distance.HAMMING, "household"))
    assert implies(households, replace(PURE, population=alone)).answer is None
    assert implies(replace(households, population=TOWN), PURE).answer is False


def test_no_answer_contradicts_two_others() -> None:
    """If the first implies the second and that the third, the first is never said not to imply the third."""
    choose = numpy_generator(5).integers
    budgets: list[Fraction | float] = [Fraction(0), Fraction(1, 2), Fraction(1), 0.3, 2.0, math.inf]
    tables: list[tuple[Invariant, ...]] = [
        (),
        (counts("persons"),),
        (counts("persons", "state"),),
        (counts("persons", "county"),),
        (counts("persons", "age"), counts("persons", "county")),
        (counts("persons", "age", "county"),),
        (at_least(1, "persons", "county"),),
        (at_least(3, "persons", "county"), counts("households")),
        (counts("persons", "state", "county", "age", "sex"), counts("households", "county", "size")),
    ]
    changes = [Change(distance, unit) for distance, unit in product(Distance, ("person", "household"))]
    flavours = [(Measure.PURE, 0.0), (Measure.ZCDP, 0.0), *((Measure.APPROXIMATE, d) for d in (0.0, 1e-6, 0.2))]
    guarantees = []
    for _ in range(110):
        measure, delta = flavours[choose(len(flavours))]
        guarantees.append(
            Guarantee(
                "noise",
                "",
                budgets[choose(len(budgets))],
                tables[choose(len(tables))],
                TOWN,
                changes[choose(len(changes))],
                measure,
                delta,
                varies="size" if choose(6) == 0 else "",
            )
        )
    answers = [[implies(one, other).answer for other in guarantees] for one in guarantees]
    yes = [[place for place, answer in enumerate(row) if answer] for row in answers]
    assert all(answers[place][place] for place in range(len(guarantees)))
    given = Counter(answer for row in answers for answer in row)
    assert given[True] > 1_000 and given[False] > 1_000
    wrong = [
        (guarantees[one], guarantees[two], guarantees[three])
        for one in range(len(guarantees))
        for two in yes[one]
        for three in yes[two]
        if answers[one][three] is False
    ]
    assert not wrong, wrong[0]


@pytest.mark.slow
def test_answers_are_those_of_all_pairs_of_data_sets() -> None:
    """Up to seven persons in three counties of two states: one guarantee implies another if and only if it bounds every
    pair of data sets that the other bounds, at least as well."""
    columns = {"state": 0, "county": 1, "age": 2}
    cells = [("s", "c", "young"), ("s", "c", "old"), ("s", "d", "young"), ("s", "d", "old"), ("t", "e", "young")]
    data = [rows for size in range(8) for rows in combinations_with_replacement(cells, size)]
    counted = np.array([[rows.count(cell) for cell in cells] for rows in data])
    added = np.abs(counted[:, None] - counted[None]).sum(axis=-1).astype(np.float64)
    sizes = counted.sum(axis=1)
    apart = {
        Distance.ADD_REMOVE: added,
        Distance.HAMMING: np.where(sizes[:, None] == sizes[None], added / 2, np.inf),
    }

    def agree(invariants: tuple[Invariant, ...]) -> BoolArray:
        found: BoolArray = np.ones(added.shape, dtype=np.bool_)
        for each in invariants:
            least = each.least if each.fixes is Fixes.AT_LEAST else 1
            shown = [Counter(tuple(row[columns[name]] for name in each.by) for row in rows) for rows in data]
            values = [
                frozenset(
                    (cell, number if each.fixes is Fixes.COUNTS else 1)
                    for cell, number in one.items()
                    if number >= least
                )
                for one in shown
            ]
            names = {value: place for place, value in enumerate(dict.fromkeys(values))}
            code = np.array([names[value] for value in values])
            found &= code[:, None] == code[None]
        return found

    some = [
        *(counts("persons", *by) for by in ((), ("state",), ("county",), ("age",), ("age", "state"))),
        *(at_least(1, "persons", by) for by in ("county", "state")),
        at_least(2, "persons", "state"),
    ]
    universes = [(), *((each,) for each in some), *combinations(some, 2)]
    population = Population("town", (), (Records("persons", ("state", "county", "age"), True),), (("county", "state"),))
    choose = numpy_generator(3).integers
    answered = Counter[bool | None]()
    for turn in range(90):
        measure = (Measure.PURE, Measure.ZCDP)[turn % 2]
        ours, theirs = universes[choose(len(universes))], universes[choose(len(universes))]
        theirs = tuple(dict.fromkeys((*ours, *theirs))) if choose(2) else theirs
        pair = [
            Guarantee(
                "noise", "", Fraction(int(4 ** choose(3))), fixed, population, Change(distance, "person"), measure
            )
            for fixed, distance in zip((ours, theirs), (list(apart)[choose(2)] for _ in range(2)), strict=True)
        ]
        scale = [float(each.budget or 0) ** (1 if measure is Measure.PURE else 0.5) for each in pair]
        one, other = (rate * apart[each.change.distance] for rate, each in zip(scale, pair, strict=True))
        bounded = agree(theirs) & np.isfinite(other)
        holds = not (bounded & (np.where(agree(ours), one, np.inf) > other + 1e-9)).any()
        answer = implies(*pair).answer
        answered[answer] += 1
        assert answer is None or answer == holds, (pair, answer)
    assert min(answered[True], answered[False]) > 15
