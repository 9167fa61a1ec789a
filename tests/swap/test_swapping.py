"""Permutation swapping: what it guarantees in figures, and that what is drawn has exactly that law."""

import math
import re
import sys
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import chi2

from oracles import largest_of_margins, path, permutation_chance, swap_law
from safemargin.core import InputError, system_choices
from safemargin.guarantees.exact import hamming
from safemargin.guarantees.swap_law import exchanged, outcomes, stratum, table, universe
from safemargin.guarantees.swap_loss import (
    best_rate,
    curve,
    derangements,
    gap_bound,
    lower_bound,
    moved,
    rate_of,
    rates_for,
    swap_epsilon,
)
from safemargin.swap.permutation import LARGE, Stratified, derange, strata, swap
from swap_vectors import EXACT, RATES, TABLE_2, TABLE_2_LARGEST, TABLE_5

RARE = 1e-7


def test_published_epsilons() -> None:
    for rate, epsilon in TABLE_2.items():
        assert swap_epsilon(Fraction(rate), TABLE_2_LARGEST) == pytest.approx(epsilon, abs=0.0051)
    for largest, (low, high) in TABLE_5.items():
        assert (round(swap_epsilon(0.05, largest), 2), round(swap_epsilon(0.5, largest), 2)) == (low, high)
    assert swap_epsilon(0.04, 3_650_000) == pytest.approx(18.29, abs=0.005)
    assert swap_epsilon(0.02, 3_650_000) == pytest.approx(19.00, abs=0.005)


def test_all_branches() -> None:
    assert swap_epsilon(0, 0) == swap_epsilon(1, 0) == swap_epsilon(0.3, 0) == 0
    assert swap_epsilon(0, 5) == swap_epsilon(1, 5) == math.inf
    for largest in (2, 10, 10**6):
        best, least = best_rate(largest)
        assert swap_epsilon(0.5, largest) == pytest.approx(math.log(largest + 1))
        assert swap_epsilon(best, largest) == pytest.approx(least, abs=1e-9)
        assert least == pytest.approx(math.log(largest + 1) / 2)
        assert min(epsilon for _, epsilon in curve(largest)) >= least - 1e-12
    assert best_rate(10**6) == pytest.approx((0.999001, 6.90776), abs=5e-6)
    assert best_rate(2) == pytest.approx((0.63397, 0.54931), abs=5e-6)
    with pytest.raises(InputError, match="largest stratum = 1: must be 0, or at least 2"):
        swap_epsilon(0.5, 1)
    with pytest.raises(InputError, match="rate = 1.5: must lie between 0 and 1"):
        rate_of("1.5")
    with pytest.raises(InputError, match="rate = often: is not a number"):
        rate_of("often")


@given(st.integers(2, 10**7), st.floats(1.0, 8.0))
def test_both_rates_have_the_epsilon(largest: int, more: float) -> None:
    _, least = best_rate(largest)
    low, high = rates_for(least * more, largest)
    assert low <= high
    for rate in (low, high):
        if rate < 1 - 1e-9:
            odds = rate / (1 - rate)
            assert max(math.log(odds), math.log(largest + 1) - math.log(odds)) == pytest.approx(least * more, rel=1e-6)


def test_no_rate_below_the_least_epsilon() -> None:
    with pytest.raises(
        InputError, match="epsilon = 1: with a largest stratum of 10 records no rate has less than 1.198"
    ):
        rates_for(1.0, 10)
    with pytest.raises(InputError, match="every rate has epsilon 0"):
        rates_for(1.0, 0)
    for text in ("nan", "inf"):
        with pytest.raises(InputError, match=f"epsilon = {text}: must be a number"):
            rates_for(float(text), 10)


@given(st.integers(2, 10**9))
def test_the_least_epsilon_is_not_refused_however_it_is_rounded(largest: int) -> None:
    for least in (math.log(largest + 1) / 2, math.log(math.sqrt(largest + 1)), 0.5 * math.log1p(largest)):
        low, high = rates_for(least, largest)
        assert low == pytest.approx(high, abs=1e-9) == pytest.approx(best_rate(largest)[0], abs=1e-9)
    least = best_rate(largest)[1]
    with pytest.raises(InputError, match="no rate has less than") as refused:
        rates_for(least * (1 - 1e-10), largest)
    asked, stated = re.findall(r"epsilon = (\S+): .* less than (\S+)$", str(refused.value))[0]
    assert float(asked) < float(stated)


def test_numbers_beyond_floats() -> None:
    assert rates_for(800.0, 10) == (0.0, 1.0)
    assert swap_epsilon(Fraction(1, 10**400), 10) == pytest.approx(math.log(11) + 400 * math.log(10))
    assert swap_epsilon(1 - Fraction(1, 10**22), 2) == pytest.approx(22 * math.log(10))
    assert swap_epsilon(1 - Fraction(1, 10**22), 2) - lower_bound(1 - Fraction(1, 10**22), 2) == pytest.approx(
        0, abs=1e-9
    )
    for size in (39, 40, 41, 10**7, 10**35, 10**700):
        lower = lower_bound(Fraction(1, 2), size)
        assert lower == pytest.approx((math.log(size) + math.log(size - 1)) / 2, rel=1e-12)
        assert swap_epsilon(Fraction(1, 2), size) - lower == pytest.approx(
            1.5 / size if size < 10**300 else 0, abs=1e-3
        )


def test_lower_bounds() -> None:
    small = {2: 1.75023, 3: 1.04799, 4: 0.65540, 5: 0.40168, 6: 0.27380, 7: 0.21637, 8: 0.18551, 9: 0.16439}
    expected = {**small, 10: 0.148007, 11: 0.13467, 20: 0.07444, 50: 0.02990}
    assert {size: round(gap_bound(size), 6 if size == 10 else 5) for size in expected} == expected
    gaps = {2: 1.09861, 4: 0.51083, 5: 0.24624, 6: 0.25466, 7: 0.20899, 8: 0.18478, 9: 0.16422, 10: 0.14799}
    for size, gap in gaps.items():
        assert swap_epsilon(0.01, size) - lower_bound(0.01, size) == pytest.approx(gap, abs=5e-6)
    assert (
        swap_epsilon(0.9, 3) - lower_bound(0.9, 3) == pytest.approx(0)
        and swap_epsilon(0.1, 3) - lower_bound(0.1, 3) > 0
    )
    for place, rate in enumerate(RATES[:-1]):  # guarded, and what three different records lose
        assert lower_bound(Fraction(rate), 3) == pytest.approx(EXACT["1,1,1|1,1,1"][1][place], abs=5e-6)
    for k in range(60):  # Lemma 6
        for less in range(k + 1):
            if less != k - 1:
                assert derangements(k) <= (k + 1) ** less * derangements(k - less)


def test_chance_of_being_moved() -> None:
    """With the redrawn selections, which the printed formula omits."""
    for size in (2, 3, 4, 5):
        for rate in map(Fraction, ("0.1", "0.5", "0.9")):
            found = outcomes(stratum((1,) * size, (1,) * size))
            by_hand = sum(
                permutation_chance(len(moving), size, rate) * sum(ends.values())
                for moving, ends in found.by_moved.items()
                if 0 in moving
            )
            assert moved(rate, size) == pytest.approx(float(by_hand), abs=1e-12)
    assert moved(0.5, 1) == 0
    for size in (2, 5, 1000):  # pairs, nearly always
        assert moved(1e-12, size) == pytest.approx((size - 1) * 1e-24, rel=1e-6)
    assert moved(1, 10) == 1 and moved(0, 10) == 0


def test_law_depends_on_the_number_moved_only() -> None:
    records = stratum((1, 1, 1, 1), (1, 1, 1, 1))
    rate = Fraction(3, 10)
    law = swap_law(records, rate)
    assert sum(law.values()) == 1
    assert law[records] == permutation_chance(0, 4, rate)
    assert law[exchanged(records, (1, 0, 2, 3))] == permutation_chance(2, 4, rate)
    assert (
        law[exchanged(records, (1, 2, 3, 0))] == permutation_chance(4, 4, rate) == law[exchanged(records, (1, 0, 3, 2))]
    )
    assert swap_law(table([(0, 0)]), Fraction(1)) == {((0, 0),): Fraction(1)}


@pytest.mark.parametrize("margins", [((2, 1), (2, 1)), ((1, 1, 2), (2, 1, 1)), ((2, 2, 1), (1, 2, 2))])
def test_path_between_tables_moves_as_many_as_they_are_apart(margins: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    """Lemma 5; and Lemma 7: no permutation leads further than it moves."""
    data = universe(stratum(*margins))
    for one in data:
        for other in data:
            move = path(one, other)
            moving = sum(place != to for place, to in enumerate(move))
            assert exchanged(one, move) == other and moving == hamming(one, other) != 1
    with pytest.raises(InputError, match="do not have the same margins"):
        path(((0, 0),), ((0, 1),))


def counted(stratum_of: list[int], swapped: list[int], counts: list[int] | None = None) -> Stratified:
    n = len(swapped)
    return Stratified.of(*(np.array(each, dtype=np.int64) for each in (stratum_of, swapped, counts or [1] * n)))


def test_strata() -> None:
    found = strata(counted([0, 1, 1, 2, 3, 3], [0, 0, 0, 5, 1, 2], [1, 2, 3, 9, 1, 1]))
    assert (found.records, found.number, found.single, found.largest, found.exchanging) == (17, 4, 1, 5, 2)
    assert strata(counted([], [])).largest == 0
    assert strata(counted([4, 4], [1, 1]), lambda _: False).largest == 0
    assert strata(counted([4, 4, 5, 5, 5], [1, 2, 1, 1, 1]), lambda places: places.tolist() == [2, 3, 4]).largest == 3
    with pytest.raises(InputError, match="ordered by stratum"):
        counted([1, 0], [0, 0])


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=12))
def test_budget_from_margins_is_that_from_records(records: list[tuple[int, int, int]]) -> None:
    """Epsilon is a function of the invariants, so it may be published with them."""
    cells = sorted(Counter(records).items())
    found = strata(counted([m for (m, _, _), _ in cells], [s for (_, _, s), _ in cells], [n for _, n in cells]))
    present = sorted({m for m, _, _ in records})
    held, swapped = (
        [[sum(r[0] == m and r[place] == value for r in records) for value in range(3)] for m in present]
        for place in (1, 2)
    )
    assert found.largest == largest_of_margins(held, swapped) != 1


def test_strata_of_one_are_left_alone() -> None:
    cells = counted([0, 1, 1], [7, 8, 9])
    found = swap(cells, Fraction(1))
    assert found.cell.tolist() == [1, 2] and found.swapped.tolist() == [9, 8]
    assert len(swap(cells, Fraction(0)).cell) == 0
    with pytest.raises(InputError, match="rate = 2"):
        swap(cells, Fraction(2))


def test_derangements_leave_nothing_in_place() -> None:
    sizes = np.array([2, 0, 3, LARGE + 5, 7], dtype=np.int64)
    order = derange(sizes)
    ends = np.cumsum(sizes)
    assert not (order == np.arange(len(order))).any()
    for start, end in zip(ends - sizes, ends, strict=True):
        assert sorted(order[start:end]) == list(range(start, end))
    with pytest.raises(InputError, match="block of one"):
        derange(np.array([1]))


def chance(seen: Counter[tuple[object, ...]], law: dict[tuple[object, ...], float]) -> float:
    """Probability of counts at least as far from the law as these."""
    assert set(seen) <= set(law)
    number = sum(seen.values())
    far = sum((seen[key] - number * p) ** 2 / (number * p) for key, p in law.items())
    return float(chi2.sf(far, len(law) - 1))


@pytest.mark.statistical
def test_draws_follow_the_exact_law() -> None:
    """200,000 strata of four records at a rate of 0.3: seven tables."""
    number, rate = 200_000, Fraction(3, 10)
    held, swapped = np.array([0, 0, 1, 2]), np.array([0, 1, 1, 2])
    cells = Stratified.of(
        np.repeat(np.arange(number), 4), np.tile(swapped, number), np.ones(4 * number, dtype=np.int64)
    )
    found = swap(cells, rate)
    after = cells.swapped.copy()
    after[found.cell] = found.swapped
    seen = Counter(table(list(zip(held.tolist(), row, strict=True))) for row in after.reshape(-1, 4).tolist())
    law = swap_law(table(list(zip(held.tolist(), swapped.tolist(), strict=True))), rate)
    assert len(law) == 7 and found.redrawn > 0
    assert chance(Counter(dict(seen)), {key: float(p) for key, p in law.items()}) > RARE


@pytest.mark.statistical
def test_every_record_of_a_cell_is_as_likely_to_be_selected() -> None:
    """Engines that order the records of a cell by themselves move the ones in `slot`."""
    cells = Stratified.of(np.repeat(np.arange(40_000), 2), np.tile([0, 1], 40_000), np.full(80_000, 3))
    found = swap(cells, Fraction(1, 3))
    assert found.slot is not None and set(found.slot.tolist()) == {0, 1, 2}
    places = found.cell * 3 + found.slot
    assert len(np.unique(places)) == len(places)  # nobody is selected twice
    seen = Counter(found.slot.tolist())
    assert chance(seen, dict.fromkeys(range(3), 1 / 3)) > RARE  # conservative: draws are negatively correlated


@pytest.mark.statistical
@pytest.mark.parametrize("large", [LARGE, 1])  # blocks together, and each by itself
def test_derangements_are_uniform(large: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # By module: `safemargin.swap` is the public function for names with dots.
    monkeypatch.setattr(sys.modules["safemargin.swap.permutation"], "LARGE", large)
    seen = Counter(map(tuple, (derange(np.full(30_000, 4)) % 4).reshape(-1, 4).tolist()))
    assert len(seen) == derangements(4) == 9
    assert chance(Counter(dict(seen)), {key: 1 / 9 for key in seen}) > RARE


def test_choices_are_decided_by_as_many_words_as_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A third is 0x55555555 and so on in binary: who draws that is decided by the next word, and so on."""
    third = 0x55555555
    words = [[third - 1, third, third, third, third + 1], [third - 1, third + 1, third], [third - 1]]
    fed = iter(words)
    monkeypatch.setattr("os.urandom", lambda size: np.array(next(fed), dtype=np.uint32).tobytes())
    assert system_choices(Fraction(1, 3), 5).tolist() == [True, True, False, True, False]
    assert next(fed, None) is None


@pytest.mark.statistical
def test_choices_have_the_rate() -> None:
    for rate in (Fraction(1, 3), Fraction(1, 1000), Fraction(9, 10)):
        number = 400_000
        chosen = int(system_choices(rate, number).sum())
        spread = math.sqrt(number * float(rate * (1 - rate)))
        assert abs(chosen - number * float(rate)) <= 6 * spread + 3
