"""The verifier against brute-forced losses: Theorem 1 holds in every case, variants of swapping break it."""

import math
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, permutations, product

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from oracles import (
    check_swapping,
    discrete_gaussian,
    distinguished_pair,
    fold,
    folded,
    is_trivial,
    neighbours,
    product_law,
    pure_distance,
    renyi_distance,
    swap_law,
)
from safemargin.core import InputError, TooLargeError
from safemargin.guarantees.exact import (
    Holds,
    check_laws,
    frozen_hamming,
    hamming,
    per_unit,
    renyi_metric,
    universe_loss,
)
from safemargin.guarantees.refinement import classes
from safemargin.guarantees.swap_law import (
    Stratum,
    different_records,
    exchanged,
    nearby,
    outcomes,
    stratum,
    universe as tables_of,
)
from safemargin.guarantees.swap_loss import hardest, lower_bound, odds_factor
from swap_vectors import EXACT, RATES

pytestmark = pytest.mark.full

near = cache(hamming)


def margins(text: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    held, swapped = (tuple(map(int, side.split(","))) for side in text.split("|"))
    return held, swapped


@pytest.mark.parametrize("text", EXACT)
def test_exact_losses_and_theorem_1(text: str) -> None:
    """14 universes at 7 rates: the brute-forced losses, and the guarantee kept wherever it is finite (84 cases)."""
    number, expected = EXACT[text]
    data = tables_of(stratum(*margins(text)))
    assert len(data) == number and neighbours({"u": data}, near) == 0
    found = {each: outcomes(each) for each in data}
    for rate, loss in zip(map(Fraction, RATES), expected, strict=True):
        laws = {each: found[each].law([rate] * len(each)) for each in data}
        assert all(sum(law.values()) == 1 for law in laws.values())
        factor = odds_factor(rate, len(data[0]))
        checked = check_laws(laws, {"u": data}, near, lambda _, factor=factor: factor)
        assert checked.verdict in (Holds.HOLDS, Holds.TIGHT)
        assert checked.losses["u"].value == pytest.approx(loss, abs=6e-6)


def test_a_rate_of_zero_loses_everything() -> None:
    data = tables_of(stratum((2, 1), (2, 1)))
    assert universe_loss({each: swap_law(each, Fraction(0)) for each in data}, hamming).value == math.inf


def test_lower_bound_is_attained() -> None:
    """Margins (1,1,2,2): half the log of 265/9 less the log odds, which no guarantee for six records can undercut."""
    rate = Fraction(1, 10)
    found, guaranteed, exact = check_swapping((1, 1, 2, 2), (1, 1, 2, 2), rate)
    assert exact == pytest.approx(math.log(265 / 9) / 2 + math.log(9), abs=1e-12)
    assert exact == pytest.approx(lower_bound(rate, 6), abs=1e-12) and exact < guaranteed
    assert found.losses["stratum"].neighbours == 0
    assert hardest(rate, 6) == (1, 1, 2, 2)
    _, _, four = check_swapping((1, 1, 1, 1), (1, 1, 1, 1), rate)
    assert four == pytest.approx(math.log(9) / 2 + math.log(9), abs=1e-12)


@pytest.mark.parametrize("rate", ["0.01", "0.1", "0.5", "0.7", "0.9", "0.99"])
@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_the_hardest_data_lose_the_lower_bound(size: int, rate: str) -> None:
    """At least; and the guarantee is kept there."""
    values = hardest(Fraction(rate), size) or (1,) * size
    assert sum(values) == size and hardest(Fraction(1, 10), 10**6) == (1, 1, 499_999, 499_999)
    _, guaranteed, exact = check_swapping(values, values, Fraction(rate))
    assert guaranteed is not None and lower_bound(Fraction(rate), size) - 1e-12 <= exact <= guaranteed + 1e-12


@pytest.mark.parametrize("rate", ["0.01", "0.1", "0.5"])
def test_one_pair_of_seven_records_loses_the_lower_bound(rate: str) -> None:
    """The two values that occur once exchanged, which is as much as can be gone through with seven."""
    often = hardest(Fraction(rate), 7)
    assert often is not None
    one = stratum(often, often)
    laws = [swap_law(each, Fraction(rate)) for each in (one, exchanged(one, (1, 0, 2, 3, 4, 5, 6)))]
    assert pure_distance(*laws) / 2 == pytest.approx(lower_bound(Fraction(rate), 7), abs=1e-12)


def test_tight_by_fractions() -> None:
    found, guaranteed, exact = check_swapping((1, 1), (1, 1), Fraction(9, 10))
    assert found.verdict is Holds.TIGHT and exact == pytest.approx(guaranteed) == pytest.approx(math.log(9))
    data = tables_of(stratum((1, 1), (1, 1)))
    laws = {each: swap_law(each, Fraction(9, 10)) for each in data}
    almost = Fraction(9) - Fraction(1, 10**12)
    assert check_laws(laws, {"u": data}, hamming, lambda _: almost).verdict is Holds.VIOLATED
    assert check_laws(laws, {"u": data}, hamming, lambda _: Fraction(9) + Fraction(1, 10**12)).verdict is Holds.HOLDS


@pytest.mark.parametrize(
    ("text", "rate", "loss"),
    [
        ("2,1|2,1", "0.9", 3.39561),
        ("2,2|2,2", "0.9", 4.20979),
        ("2,1,1|2,1,1", "0.9", 3.77572),
        ("2,1|2,1", "1", math.inf),
    ],
)
def test_without_vacuous_swaps_the_theorem_fails(text: str, rate: str, loss: float) -> None:
    found, guaranteed, exact = check_swapping(*margins(text), Fraction(rate), "no-vacuous")
    assert exact == pytest.approx(loss, abs=6e-6)
    assert guaranteed == math.inf or (found.verdict is Holds.VIOLATED and exact > guaranteed)


@pytest.mark.parametrize("variant", ["pairs", "one-swap"])
def test_naive_swapping_loses_everything(variant: str) -> None:
    found, _, exact = check_swapping((1, 1, 1), (1, 1, 1), Fraction(1, 2), variant)
    assert (found.verdict, exact) == (Holds.VIOLATED, math.inf)
    assert found.worst is not None and found.worst.pair is not None and found.worst.pair.ratio is None


def test_a_draw_that_cannot_end_is_refused() -> None:
    with pytest.raises(InputError, match="never end"):
        swap_law(stratum((2, 1), (2, 1)), Fraction(1), different_records)
    assert sum(outcomes(stratum((2, 1), (2, 1)), visible=True).law([Fraction(1, 2)] * 3).values()) == 1
    with pytest.raises(TooLargeError, match="8 records have 40,320 permutations"):
        check_swapping((8,), (8,), Fraction(1, 2))
    with pytest.raises(InputError, match="fewer than two"):
        check_swapping((1,), (1,), Fraction(1, 2))


def test_rates_by_record_and_frozen_records() -> None:
    """Records that are never selected: infinite by plain distance, like the rest alone if they are not to differ."""
    data = tables_of(stratum((1, 1, 1, 1), (1, 1, 1, 1)))
    by_held = {each: outcomes(each).law([Fraction(1 + held, 10) for held, _ in each]) for each in data}
    assert universe_loss(by_held, near).value == pytest.approx(2.89037, abs=6e-6)
    half = Fraction(1, 2)
    laws = {each: outcomes(each).law([Fraction(0) if held == 0 else half for held, _ in each]) for each in data}
    assert universe_loss(laws, near).value == math.inf
    frozen = frozen_hamming(lambda record: isinstance(record, tuple) and record[0] == 0)
    assert universe_loss(laws, frozen).value == pytest.approx(0.34657, abs=6e-6)


def test_rates_by_cell() -> None:
    """A rate of 0.1 for records whose two values agree, and 0.4 for the others."""
    data = tables_of(stratum((1, 1, 1, 1), (1, 1, 1, 1)))
    low, high = Fraction(1, 10), Fraction(4, 10)
    laws = {each: outcomes(each).law([low if held == place else high for held, place in each]) for each in data}
    assert universe_loss(laws, near).value == pytest.approx(3.02020, abs=6e-6)


def test_rates_and_imputed_records_by_held_value() -> None:
    ones, half = (1, 1, 1, 1), Fraction(1, 2)
    found, guaranteed, exact = check_swapping(ones, ones, [Fraction(n, 10) for n in (1, 2, 3, 4)])
    assert guaranteed is None and found.verdict is Holds.HOLDS and exact == pytest.approx(2.89037, abs=6e-6)
    _, _, never = check_swapping(ones, ones, [Fraction(0), half, half, half])
    assert never == math.inf
    found, guaranteed, exact = check_swapping(ones, ones, half, imputed=(0,))
    assert exact == pytest.approx(0.34657, abs=6e-6) and guaranteed == pytest.approx(math.log(4))
    assert check_swapping(ones, ones, half)[2] == pytest.approx(1.09861, abs=6e-6)
    assert exact == pytest.approx(check_swapping((1, 1, 1), (1, 1, 1), half)[2])
    for rates, imputed, message in (
        ([half], (), "1 rates for 4 held values"),
        (half, (4,), "imputed value 4"),
    ):
        with pytest.raises(InputError, match=message):
            check_swapping(ones, ones, rates, imputed=imputed)
    with pytest.raises(InputError, match="has the same rate for all records"):
        check_swapping(ones, ones, half, "one-swap", imputed=(0,))


def test_weighted_permutations() -> None:
    """Law by hand on three places in a row: neighbours exchange twice as often as the ends in cycles, and so on."""
    records = stratum((1, 1, 1), (1, 1, 1))
    rate = Fraction(1, 3)
    law = outcomes(records, weight=nearby).law([rate] * 3)
    plain = swap_law(records, rate)
    assert sum(law.values()) == 1
    for move in permutations(range(3)):
        moved = [place for place in range(3) if move[place] != place]
        alike = [other for other in permutations(range(3)) if [p for p in range(3) if other[p] != p] == moved]
        share = Fraction(nearby(records, move), sum(nearby(records, other) for other in alike))
        assert law[exchanged(records, move)] == plain[exchanged(records, move)] * share * len(alike)
    assert outcomes(records, weight=lambda *_: 7).law([rate] * 3) == plain
    four = (1, 1, 1, 1)
    assert check_swapping(four, four, Fraction(1, 10), "nearby")[2] > check_swapping(four, four, Fraction(1, 10))[2]


@pytest.mark.parametrize("rate", ["0", "1/10", "1/2", "9/10", "1"])
@pytest.mark.parametrize("without", ["held", "swapped"])
def test_without_an_invariant_everything_is_lost(without: str, rate: str) -> None:
    found, _, exact = check_swapping((1, 1), (1, 1), Fraction(rate), without=without)
    assert exact == math.inf and found.losses["stratum"].size == 4
    with pytest.raises(InputError, match="must be held or swapped"):
        check_swapping((1, 1), (1, 1), Fraction(rate), without="both")


def test_order_of_the_input() -> None:
    """The law of the table does not depend on it (Lemma 4); publishing it loses everything, between equal data."""
    records = stratum((2, 1, 1), (1, 2, 1))
    rate = Fraction(3, 10)
    for order in permutations(records):
        assert outcomes(order).law([rate] * 4) == swap_law(records, rate)
    found, _, exact = check_swapping((1, 1, 1), (1, 1, 1), Fraction(1, 2), "ordered")
    assert (found.verdict, exact) == (Holds.VIOLATED, math.inf)
    alike = {order: outcomes(order, shown=tuple).law([rate] * 3) for order in permutations(stratum((1,) * 3, (1,) * 3))}
    lost = universe_loss(alike, hamming).pair
    assert lost is not None and (lost.distance, lost.ratio) == (0, None)


@pytest.mark.parametrize("rate", ["0", "1"])
def test_rates_without_a_guarantee(rate: str) -> None:
    """Rates of 0 and 1 lose everything on three different records; at 1, universes with repeated values need not."""
    _, guaranteed, exact = check_swapping((1, 1, 1), (1, 1, 1), Fraction(rate))
    assert guaranteed == exact == math.inf
    _, guaranteed, exact = check_swapping((2, 2), (2, 2), Fraction(rate))
    assert guaranteed == math.inf and exact == pytest.approx(math.log(2) if rate == "1" else math.inf)


def test_work_that_would_take_minutes_is_refused() -> None:
    with pytest.raises(TooLargeError, match="5,040 data sets have 5,040 permutations each"):
        check_swapping((1,) * 7, (1,) * 7, Fraction(1, 2))
    with pytest.raises(TooLargeError, match="data sets have 120 permutations"):
        check_swapping((1,) * 5, (1,) * 5, Fraction(1, 2), "ordered")


def test_strata_combine_by_maximum() -> None:
    one, two = tables_of(stratum((1, 1), (1, 1))), tables_of(stratum((2, 1), (2, 1)))
    for rate in map(Fraction, ("0.1", "0.5", "0.9")):
        single = [universe_loss({each: swap_law(each, rate) for each in data}, hamming).value for data in (one, two)]
        laws = {(a, b): product_law([swap_law(a, rate), swap_law(b, rate)]) for a in one for b in two}
        both = universe_loss(laws, lambda x, y: hamming(x[0], y[0]) + hamming(x[1], y[1]))
        assert both.value == pytest.approx(max(single), abs=1e-12)


def test_dropping_an_invariant_costs_everything() -> None:
    data: list[Stratum] = [((0, 0), (1, 1)), ((0, 0), (1, 0))]
    laws = {each: swap_law(each, Fraction(1, 2)) for each in data}
    assert universe_loss(laws, hamming).value == math.inf


def test_order_of_records_gives_all_away() -> None:
    """Two orders of the same data are at distance nothing, so anything that distinguishes them loses everything."""
    laws = {("a", "b"): {"ab": Fraction(1)}, ("b", "a"): {"ba": Fraction(1)}}
    assert universe_loss(laws, hamming).value == math.inf


def test_products_with_infinity() -> None:
    assert per_unit(math.inf, math.inf) == 0 and per_unit(0.0, 0.0) == 0 and per_unit(0.1, 0.0) == math.inf


def test_indicator_universes_and_injective_invariants() -> None:
    """At least one housing unit per block: universes by the vector of 0 and 1."""
    data = [(a, b) for a in range(3) for b in range(3)]
    found = classes(data, lambda x: tuple(int(count >= 1) for count in x))
    assert sorted(found) == [(0, 0), (0, 1), (1, 0), (1, 1)] and sum(map(len, found.values())) == 9
    assert is_trivial(classes(data, lambda x: x)) and not is_trivial(found)


def test_invariants_in_the_distance_say_the_same() -> None:
    """A thousand random mechanisms: the verdict does not depend on where the invariants stand."""
    generator = np.random.default_rng(5)
    for _ in range(1_000):
        data = list(range(4))
        raw = (
            generator.integers(0 if generator.random() < 0.2 else 1, 5, size=(4, 3))
            + np.eye(3, dtype=int)[[0, 1, 2, 0]]
        )
        laws = {n: {o: Fraction(int(w), int(row.sum())) for o, w in enumerate(row)} for n, row in enumerate(raw)}
        universes = classes(data, lambda n: n % 2)
        budget = Fraction(int(generator.integers(1, 5)))

        def apart(one: int, other: int) -> float:
            return abs(one - other)

        whole, moved = fold(universes, apart, lambda _, budget=budget: budget)
        one = check_laws(laws, universes, apart, lambda _, budget=budget: budget)
        other = check_laws(laws, whole, moved, lambda _, budget=budget: budget)
        assert one.verdict is other.verdict
    with pytest.raises(InputError, match="varies over universes"):
        fold(universes, apart, lambda name: Fraction(1) if name else Fraction(2))
    assert folded(apart, lambda n: n % 2)(0, 1) == math.inf


laws_of = st.lists(st.integers(1, 9), min_size=3, max_size=3).map(
    lambda w: {n: Fraction(each, sum(w)) for n, each in enumerate(w)}
)


@settings(max_examples=20)
@given(laws_of, laws_of, laws_of)
def test_measures_are_metrics(one: dict[int, Fraction], two: dict[int, Fraction], three: dict[int, Fraction]) -> None:
    for measure in (pure_distance, renyi_distance):
        assert measure(one, three) <= measure(one, two) + measure(two, three) + 1e-7
        assert measure(one, two) == pytest.approx(measure(two, one))
    assert renyi_distance(one, two) <= pure_distance(one, two) / math.sqrt(2) + 1e-7
    events = [[n for n in range(3) if mask >> n & 1] for mask in range(1, 8)]
    ratios = [sum(one[n] for n in event) / sum(two[n] for n in event) for event in events]
    assert pure_distance(one, two) == pytest.approx(max(abs(math.log(ratio)) for ratio in ratios))


@pytest.mark.parametrize("variance", [0.05, 4.0])
@pytest.mark.parametrize("shift", [1, 2])
def test_renyi_metric_of_discrete_gaussians(variance: float, shift: int) -> None:
    one, other = (discrete_gaussian(variance, at, 600) for at in (0, shift))
    assert renyi_metric(one, other) == pytest.approx(shift / math.sqrt(2 * variance), abs=1e-9)


def test_histogram_noise_in_rho_squared() -> None:
    """Two states and two values, three people, variance 2: rho squared is a half."""
    one, other = (discrete_gaussian(2.0, at, 300) for at in (0, 1))
    assert 2 * renyi_metric(one, other) ** 2 == pytest.approx(0.5)


def test_monotone_in_refinement() -> None:
    """Proposition 3: finer universes never lose more."""
    generator = np.random.default_rng(3)
    for _ in range(200):
        raw = generator.integers(1, 9, size=(6, 3))
        laws = {n: {o: Fraction(int(w), int(row.sum())) for o, w in enumerate(row)} for n, row in enumerate(raw)}
        whole = universe_loss(laws, lambda a, b: abs(a - b)).value
        for members in classes(range(6), lambda n: n // 2).values():
            part = universe_loss({n: laws[n] for n in members}, lambda a, b: abs(a - b)).value
            assert part <= whole + 1e-12


def test_an_invariant_is_free_or_costs_everything() -> None:
    """Proposition 1, on three people in two states with two values: 80 neighbours differ in the count of a state."""
    people = list(product((0, 1), (0, 1)))
    data = list(combinations_with_replacement(people, 3))

    def states(x: tuple[tuple[int, int], ...]) -> int:
        return sum(state for state, _ in x)

    everything = {"all": data}
    assert sum(hamming(a, b) == 1 and states(a) != states(b) for a in data for b in data) == 80
    pair = distinguished_pair(everything, hamming, states)
    assert pair is not None and states(pair[0]) != states(pair[1])
    exact = {each: {states(each): Fraction(1)} for each in data}
    assert universe_loss(exact, hamming).value == math.inf
    fixed = classes(data, states)
    assert distinguished_pair(fixed, hamming, states) is None
    assert all(universe_loss({x: exact[x] for x in members}, hamming).value == 0 for members in fixed.values())


def test_budgets_carry_to_finer_universes() -> None:
    """Proposition 5 on random mechanisms: what holds on universes holds on parts of them."""
    generator = np.random.default_rng(9)
    for _ in range(200):
        raw = generator.integers(1, 9, size=(6, 3))
        laws = {n: {o: Fraction(int(w), int(row.sum())) for o, w in enumerate(row)} for n, row in enumerate(raw)}
        coarse, fine = classes(range(6), lambda n: n // 3), classes(range(6), lambda n: (n // 3, n % 2))
        budgets = {
            name: universe_loss({n: laws[n] for n in m}, lambda a, b: abs(a - b)).value for name, m in coarse.items()
        }
        found = check_laws(laws, fine, lambda a, b: abs(a - b), lambda name, budgets=budgets: budgets[name[0]])
        assert found.verdict in (Holds.HOLDS, Holds.TIGHT)
