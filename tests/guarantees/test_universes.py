"""Universes and distances: made, moved into each other, and the propositions about them on random mechanisms."""

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from oracles import (
    SwapBudget,
    carried,
    distinguished_pair,
    fold,
    largest_stratum,
    margins_of,
    neighbours,
    renyi_distance,
    swap_law,
    unfold,
    universes_of,
    varying_pair,
)
from safemargin.core import InputError
from safemargin.guarantees.exact import Holds, check_laws, frozen_hamming, hamming, universe_loss, zcdp_loss
from safemargin.guarantees.refinement import classes
from safemargin.guarantees.swap_loss import odds_factor, swap_epsilon

pytestmark = pytest.mark.full

Laws = dict[int, dict[int, Fraction]]


def random_laws(generator: np.random.Generator, data: int, outputs: int) -> Laws:
    found: Laws = {}
    for n in range(data):
        weights = generator.integers(0 if generator.random() < 0.2 else 1, 6, size=outputs)
        weights[generator.integers(outputs)] += 1
        found[n] = {o: Fraction(int(w), int(weights.sum())) for o, w in enumerate(weights)}
        if n and generator.random() < 0.3:
            found[n] = found[n - 1]
    return found


def gap(one: int, other: int) -> float:
    return abs(one - other)


def test_margins_as_invariants_give_all_tables_with_these_margins() -> None:
    """Example 1: tables of 2 x 3 counts up to 2. The universes part them; each is the class of its margins."""
    tables = list(product(range(3), repeat=6))

    def margins(t: tuple[int, ...]) -> tuple[int, ...]:
        return (*(sum(t[n : n + 3]) for n in (0, 3)), *(t[n] + t[n + 3] for n in range(3)))

    found = classes(tables, margins)
    assert sum(map(len, found.values())) == len(tables) and len(set().union(*map(set, found.values()))) == len(tables)
    for (top, bottom, *columns), members in found.items():
        listed = {
            (*row, *(c - r for c, r in zip(columns, row, strict=True)))
            for row in product(range(3), repeat=3)
            if sum(row) == top and all(0 <= c - r <= 2 for c, r in zip(columns, row, strict=True))
        }
        assert set(members) == listed and sum(columns) == top + bottom


def test_universe_functions_need_not_part_the_domain() -> None:
    near = universes_of(range(5), lambda x: [y for y in range(5) if gap(x, y) <= 1])
    assert [list(each) for each in near.values()] == [[0, 1], [0, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4]]
    laws = {n: {0: Fraction(1, 2 + n), 1: Fraction(1 + n, 2 + n)} for n in range(5)}
    found = check_laws(laws, near, gap, lambda _: Fraction(3, 2))
    assert found.verdict is Holds.TIGHT and set(found.losses) == set(near)
    with pytest.raises(InputError, match="overlap"):
        fold(near, gap, lambda _: Fraction(3, 2))
    with pytest.raises(InputError, match="there is no law of the output for 7"):
        check_laws(laws, {"u": [1, 7]}, gap, lambda _: Fraction(2))


def test_invariants_move_into_the_distance_and_back() -> None:
    """A thousand random mechanisms and partitions: the same universes come back, and the same verdict."""
    generator = np.random.default_rng(21)
    seen = Counter[Holds]()
    for _ in range(1_000):
        size = int(generator.integers(2, 6))
        laws = random_laws(generator, size, 3)
        labels = generator.integers(0, 3, size=size)
        universes = classes(range(size), lambda n, labels=labels: int(labels[n]))
        budget = Fraction(int(generator.integers(2, 9)), 2)

        def allowed(_: object, budget: Fraction = budget) -> Fraction:
            return budget

        whole, moved = fold(universes, gap, allowed)
        back = unfold(whole["everything"], moved)
        assert sorted(map(sorted, back.values())) == sorted(map(sorted, universes.values()))
        verdicts = {
            check_laws(laws, *form, allowed).verdict for form in ((universes, gap), (whole, moved), (back, moved))
        }
        assert len(verdicts) == 1
        seen.update(verdicts)
    assert len(seen) == 3, seen
    with pytest.raises(InputError, match="the budget varies"):
        fold({0: [0], 1: [1]}, gap, lambda name: Fraction(2 + (name == 1)))
    with pytest.raises(InputError, match="do not part the domain"):
        unfold(range(3), lambda a, b: gap(a, b) if gap(a, b) < 2 else math.inf)


records = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2)), max_size=6)


@given(records, records)
def test_distance_of_records_is_half_that_of_tables(one: list[tuple[int, int]], other: list[tuple[int, int]]) -> None:
    """Lemma 2; infinite for unequal sizes, nothing for another order; infinite where imputed records differ."""
    assert hamming(one, one[::-1]) == 0
    frozen = frozen_hamming(lambda record: record[0] == 1)  # type: ignore[index]
    if len(one) != len(other):
        assert hamming(one, other) == frozen(tuple(one), tuple(other)) == math.inf
        return
    a, b = Counter(one), Counter(other)
    assert 2 * hamming(one, other) == sum(abs(a[cell] - b[cell]) for cell in {*a, *b})
    imputed = [sorted(each for each in data if each[0] == 1) for data in (one, other)]
    assert frozen(tuple(one), tuple(other)) == (hamming(one, other) if imputed[0] == imputed[1] else math.inf)


def test_neighbours_inside_universes() -> None:
    """Bounded privacy has neighbours; under the invariants of swapping nobody has any."""
    data = list(combinations_with_replacement(product((0, 1), (0, 1)), 3))
    assert neighbours({"all": data}, hamming) == 10 * 12, "two records in common, and any two different ones"
    held = classes(data, lambda x: (sorted(r[0] for r in x).__str__(), sorted(r[1] for r in x).__str__()))
    assert max(map(len, held.values())) > 1 and neighbours(held, hamming) == 0


@settings(max_examples=60)
@given(st.data())
def test_budget_of_swapping_from_margins_and_from_records(draw: st.DataObject) -> None:
    """The budget is a function of the universe: its two tables give what the records give."""
    rows = draw.draw(st.lists(st.tuples(*[st.integers(0, 2)] * 3), max_size=12))
    strata: dict[int, set[tuple[int, int]]] = {}
    sizes = Counter(m for m, _, _ in rows)
    for m, h, s in rows:
        strata.setdefault(m, set()).add((h, s))
    largest = max((sizes[m] for m, kinds in strata.items() if len(kinds) > 1), default=0)
    rate = draw.draw(st.fractions(Fraction(1, 20), Fraction(19, 20)))
    held, swapped = margins_of(rows)
    assert largest_stratum(held, swapped) == largest
    assert SwapBudget(rate).epsilon(held, swapped) == swap_epsilon(rate, largest)
    odds = rate / (1 - rate)
    assert SwapBudget(rate).factor(held, swapped) == (max(odds, (largest + 1) / odds) if largest else 1)


@pytest.mark.parametrize("text", ["1/10", "1/2", "9/10"])
def test_swapping_keeps_its_budget_in_every_universe(text: str) -> None:
    """Three records in two strata, 120 data sets: the guarantee ranges over all values of the invariants, not one."""
    rate = Fraction(text)
    data = list(combinations_with_replacement(product((0, 1), repeat=3), 3))

    def law(rows: tuple[tuple[int, ...], ...]) -> dict[object, Fraction]:
        strata = [tuple(sorted((h, s) for m, h, s in rows if m == each)) for each in (0, 1)]
        laws = [swap_law(each, rate) if len(each) > 1 else {each: Fraction(1)} for each in strata]
        return {(a, b): p * q for a, p in laws[0].items() for b, q in laws[1].items()}

    universes = classes(data, lambda x: tuple(frozenset(margin.items()) for margin in margins_of(x)))
    assert len(universes) == 104
    budget = SwapBudget(rate)
    found = check_laws(
        {x: law(x) for x in data}, universes, hamming, lambda key: budget.factor(*(dict(each) for each in key))
    )
    assert found.verdict is not Holds.VIOLATED
    assert {budget.factor(*margins_of(x)) for x in data} == {1, *(odds_factor(rate, b) for b in (2, 3))}
    assert check_laws({x: law(x) for x in data}, universes, hamming, lambda _: Fraction(1)).verdict is Holds.VIOLATED


@pytest.mark.slow
def test_propositions_on_random_mechanisms() -> None:
    """Two thousand random mechanisms on random universes: Propositions 1, 2, 3 and 5, Lemma 1."""
    generator = np.random.default_rng(31)
    seen = Counter[str]()
    for _ in range(2_000):
        size = int(generator.integers(3, 7))
        laws = random_laws(generator, size, 3)
        coarse_of, more = generator.integers(0, 2, size=size), generator.integers(0, 2, size=size)
        coarse = classes(range(size), lambda n, c=coarse_of: int(c[n]))
        fine = classes(range(size), lambda n, c=coarse_of, m=more: (int(c[n]), int(m[n])))
        far = generator.choice([1, 2, math.inf], size=(size, size), p=[0.6, 0.3, 0.1])
        far = np.maximum(far, far.T)
        np.fill_diagonal(far, 0)

        def apart(a: int, b: int, far: object = far) -> float:
            return float(far[a, b])  # type: ignore[index]

        losses = {name: universe_loss({n: laws[n] for n in members}, apart) for name, members in coarse.items()}
        parts = {name: universe_loss({n: laws[n] for n in members}, apart) for name, members in fine.items()}
        assert all(parts[name].value <= losses[name[0]].value for name in parts)  # Proposition 3
        budgets = carried(coarse, lambda name, losses=losses: losses[name].value, fine)
        assert check_laws(laws, fine, apart, budgets.__getitem__).verdict is not Holds.VIOLATED  # Proposition 5
        pair = varying_pair(laws, coarse, apart)
        assert (pair is None) == all(loss.value == 0 for loss in losses.values())  # Proposition 2
        seen["varies"] += pair is not None
        statistic = generator.integers(0, 2, size=size)
        exact = {n: {int(statistic[n]): Fraction(1)} for n in range(size)}
        stated = distinguished_pair(coarse, apart, lambda n, s=statistic: int(s[n]))
        worst = max(universe_loss({n: exact[n] for n in members}, apart).value for members in coarse.values())
        assert worst == (0 if stated is None else math.inf)  # Proposition 1, both halves
        seen["stated"] += stated is not None
        own = classes(range(size), lambda n, s=statistic: int(s[n]))
        assert distinguished_pair(own, apart, lambda n, s=statistic: int(s[n])) is None
    assert 200 < seen["stated"] < 1_900 and 1_000 < seen["varies"] < 2_000, seen
    with pytest.raises(InputError, match="no universe with a budget holds all of it"):
        carried({"a": [1]}, lambda _: 1.0, {"b": [1, 2]})


def test_composition_of_independent_releases() -> None:
    """Losses of two releases together: at most the sum in epsilon, and in rho squared."""
    generator = np.random.default_rng(8)
    for _ in range(20):
        one, other = random_laws(generator, 3, 3), random_laws(generator, 3, 2)
        both = {n: {(a, b): p * q for a, p in one[n].items() for b, q in other[n].items()} for n in one}
        pure = [universe_loss(laws, gap).value for laws in (one, other)]
        assert universe_loss(both, gap).value <= sum(pure) * (1 + 1e-12)
        rho = [zcdp_loss(laws, gap)[0] for laws in (one, other)]
        assert zcdp_loss(both, gap)[0] <= sum(rho) * (1 + 1e-9) + 1e-12
        assert zcdp_loss(one, gap)[0] <= pure[0] ** 2 / 2 * (1 + 1e-9) + 1e-12


def test_renyi_triangle_and_all_events() -> None:
    """Random triples, some with outputs that never come; the largest log ratio over all 2^6 events."""
    generator = np.random.default_rng(4)
    for _ in range(150):
        one, two, three = random_laws(generator, 3, int(generator.integers(2, 7))).values()
        assert renyi_distance(one, three) <= renyi_distance(one, two) + renyi_distance(two, three) + 1e-9
    for _ in range(60):
        one, two = random_laws(generator, 2, 6).values()
        best = 0.0
        for mask in range(1, 64):
            p, q = (sum(law[n] for n in range(6) if mask >> n & 1) for law in (one, two))
            if p or q:
                best = max(best, abs(math.log(p / q)) if p and q else math.inf)
        found = universe_loss({1: one, 2: two}, lambda a, b: 1.0).value
        assert found == best or found == pytest.approx(best, abs=1e-12)
