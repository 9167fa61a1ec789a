"""Swapping without a guarantee: who is selected, who is paired with whom, and the exact laws of small strata."""

import math
from collections import Counter
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import chi2

from oracles import across_law, check_swapping, swap_law
from safemargin.core import InputError, TooLargeError
from safemargin.guarantees.exact import hamming, universe_loss
from safemargin.guarantees.swap_law import Law, Stratum, stratum, table, universe
from safemargin.guarantees.swap_loss import swap_epsilon
from safemargin.swap.pair_law import targeted_law
from safemargin.swap.pairing import Risk, Traits, draw_order, pair_apart, pair_up, select
from safemargin.swap.permutation import Stratified, crossing_rates, swap_across

pytestmark = pytest.mark.full

RARE = 1e-7
HALF, TENTH = Fraction(1, 2), Fraction(1, 10)


def orders(size: int) -> st.SearchStrategy[list[int]]:
    return st.permutations(range(size))


@given(st.data())
def test_pairs_apart_are_as_many_as_can_be(data: st.DataObject) -> None:
    size = data.draw(st.integers(0, 24))
    group = np.array(data.draw(st.lists(st.integers(0, 2), min_size=size, max_size=size)), dtype=np.int64)
    colour = np.array(data.draw(st.lists(st.integers(0, 3), min_size=size, max_size=size)), dtype=np.int64)
    one, other = pair_apart(group, colour, np.array(data.draw(orders(size)), dtype=np.int64))
    both = np.concatenate([one, other])
    assert len(set(both.tolist())) == len(both)
    assert (group[one] == group[other]).all() and (colour[one] != colour[other]).all()
    for each in set(group.tolist()):
        colours = Counter(colour[group == each].tolist())
        members, most = colours.total(), max(colours.values())
        assert (group[one] == each).sum() == min(members // 2, members - most)


@given(st.data())
def test_pairs_match_and_nobody_who_could_be_paired_is_left(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 30))

    def drawn(most: int) -> np.ndarray:  # type: ignore[type-arg]
        return np.array(data.draw(st.lists(st.integers(0, most), min_size=size, max_size=size)), dtype=np.int64)

    strata, county, tract, block = drawn(1), drawn(1), drawn(1), drawn(2)
    tract += 2 * county
    block += 3 * tract
    selected, fixed = drawn(2) == 0, drawn(4) == 0
    order = np.array(data.draw(orders(size)), dtype=np.int64)
    found = pair_up(strata, [county, tract, block], selected, fixed, drawn(2) / 2, order)
    mine = np.flatnonzero(found.partner >= 0)
    theirs = found.partner[mine]
    assert (found.partner[theirs] == mine).all() and not fixed[mine].any()
    assert (strata[mine] == strata[theirs]).all() and (block[mine] != block[theirs]).all()
    assert (selected[mine] | selected[theirs]).all()
    nearest = np.where(tract[mine] == tract[theirs], 0, np.where(county[mine] == county[theirs], 1, 2))
    assert (found.level[mine] == nearest).all()
    left = np.flatnonzero((found.partner < 0) & ~fixed)
    for seeker in left[selected[left]]:
        assert not ((strata[left] == strata[seeker]) & (block[left] != block[seeker])).any()


def paired(selected: list[int], at_risk: list[float], order: list[int]) -> list[int]:
    """Five households of one stratum: blocks 0, 1, 2 in one tract, 3 in the same county, 4 elsewhere."""
    places = [np.array(level) for level in ([0, 0, 0, 0, 1], [0, 0, 0, 1, 2], [0, 1, 2, 3, 4])]
    chosen = np.isin(np.arange(5), selected)
    nobody = np.zeros(5, dtype=np.bool_)
    same = np.zeros(5, dtype=np.int64)
    return pair_up(same, places, chosen, nobody, np.array(at_risk), np.array(order)).partner.tolist()


@pytest.mark.parametrize("order", [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, 4, 0, 3, 1]])
def test_who_is_preferred(order: list[int]) -> None:
    assert paired([0, 4], [0] * 5, order) == [4, -1, -1, -1, 0]  # one that is selected too, however far
    assert paired([0, 2, 3, 4], [0] * 5, order) == [2, -1, 0, 4, 3]  # the near ones first
    assert paired([0], [0, 0.2, 0.7, 0.9, 0.9], order)[0] == 2  # in the tract, the one most at risk
    assert paired([4], [0.3, 0.2, 0.1, 0.9, 0], order)[4] == 3
    assert paired([], [0] * 5, order) == [-1] * 5


def test_risk_has_the_public_direction() -> None:
    risk = Risk(TENTH)
    for smaller, larger in pairwise(range(1, 15)):
        assert risk.chance(smaller, False, False, 0, 0) >= risk.chance(larger, False, False, 0, 0) >= TENTH
    assert risk.chance(20, False, True, 0, 0) == 2 * risk.chance(20, False, False, 0, 0)
    assert risk.chance(20, False, False, 300, 0) == Fraction(7, 100) == risk.chance(20, False, False, 0, 300)
    assert risk.chance(20, False, False, 1000, 999) > 0  # only what is imputed as a whole is never selected
    assert risk.chance(1, False, True, 0, 0) == 1
    with pytest.raises(InputError, match="rate = 3/2"):
        Risk(Fraction(3, 2))
    with pytest.raises(InputError, match="small = -1"):
        Risk(TENTH, -1)


def traits(size: int) -> Traits:
    number = np.arange(size)
    return Traits(
        np.full(size, 20), number % 10 == 0, number % 3 == 0, np.zeros(size, dtype=np.int64), (number % 4 == 0) * 1000
    )


def test_unique_households_are_selected_always_and_imputed_ones_never() -> None:
    these = traits(4_000)
    for _ in range(5):
        found = select(these, Risk(Fraction(1, 50)))
        assert found.selected[these.unique & ~these.imputed].all() and not found.selected[these.imputed].any()
        rest = ~these.unique & ~these.imputed
        assert set(found.chance[rest & these.rare]) == {0.04} and set(found.chance[rest & ~these.rare]) == {0.02}
        assert 0 < found.selected[rest].sum() < rest.sum()
    assert select(these, Risk(Fraction(1))).selected.sum() == (~these.imputed).sum()
    empty = traits(0)
    assert not len(select(empty, Risk(TENTH)).selected)


@pytest.mark.parametrize("rate", [TENTH, HALF, Fraction(1)])
@pytest.mark.parametrize("margins", [((1, 1), (1, 1)), ((1, 1, 1), (1, 1, 1)), ((2, 1), (2, 1)), ((2, 2), (2, 2))])
def test_targeted_pairs_have_an_infinite_loss(margins: tuple[tuple[int, ...], ...], rate: Fraction) -> None:
    found, guaranteed, exact = check_swapping(*margins, rate, "targeted")
    assert exact == math.inf and found.worst is not None and (rate == 1 or found.verdict == "violated")
    pair = found.worst.pair
    assert pair is not None and pair.ratio is None
    assert targeted_law(pair.one, rate)[pair.output] > 0 and pair.output not in targeted_law(pair.other, rate)
    assert guaranteed == swap_epsilon(rate, sum(margins[0]))


def test_targeted_law_by_hand() -> None:
    """Three households in three blocks, selected at a half each: one pair, if any is selected."""
    start = stratum((1, 1, 1), (1, 1, 1))
    law = targeted_law(start, HALF, unique=False)
    assert law[start] == Fraction(1, 8) and sum(law.values()) == 1
    others = [end for end in law if end != start]
    assert {law[end] for end in others} == {Fraction(7, 24)} and len(others) == 3
    assert ((0, 1), (1, 2), (2, 0)) not in law
    near = targeted_law(start, HALF, areas=((0,), (0,), (1,)))  # blocks 0 and 1 lie together, all are selected
    assert near == {((0, 1), (1, 0), (2, 2)): 1}
    assert targeted_law(((0, 0), (0, 0)), HALF) == {((0, 0), (0, 0)): 1}  # nobody in another block
    assert targeted_law(((0, 0),), HALF) == {((0, 0),): 1}


def test_small_block_counts_in_the_law() -> None:
    start = stratum((2, 2), (2, 2))
    assert targeted_law(start, TENTH, small=20) == targeted_law(start, Fraction(1))


def test_laws_refuse_what_they_cannot_list() -> None:
    with pytest.raises(TooLargeError, match="6 records have 46,080 selections and orders"):
        targeted_law(stratum((3, 3), (3, 3)), TENTH)
    with pytest.raises(InputError, match="as many wider areas"):
        targeted_law(stratum((1, 1), (1, 1)), TENTH, areas=((0,),))
    with pytest.raises(InputError, match="alpha = 0"):
        crossing_rates(HALF, Fraction(0))
    with pytest.raises(InputError, match="rate = 1"):
        across_law(stratum((1, 1), (1, 1)), (0, 1), Fraction(1), HALF)
    with pytest.raises(InputError, match="ordered by wide strata"):
        ones = np.ones(2, dtype=np.int64)
        swap_across(Stratified.of(np.array([0, 1]), ones, ones), np.array([1, 0]), HALF, HALF)


@pytest.mark.parametrize("margins", [((1, 1, 1), (1, 1, 1)), ((2, 1, 1), (2, 1, 1)), ((2, 2), (2, 2))])
def test_law_across_strata(margins: tuple[tuple[int, ...], ...]) -> None:
    """Where everybody leaves it is permutation swapping of one wide stratum; every table can be reached."""
    start = stratum(*margins)
    strata = tuple(n % 2 for n in range(len(margins[0])))
    assert across_law(start, strata, TENTH, Fraction(1)) == swap_law(start, TENTH)
    law = across_law(start, strata, HALF, TENTH)
    assert sum(law.values()) == 1 and set(law) == set(universe(start))


def test_the_theorem_does_not_hold_across_strata() -> None:
    """Exact losses at a rate of a half, by going through all permutations; those of alpha = 1 are the known ones."""
    margins = (1, 1, 1), (1, 1, 1)
    for alpha, expected in ((TENTH, 4.36429), (HALF, 1.41069), (Fraction(1), 0.34657)):
        laws = {each: across_law(each, (0, 0, 1), HALF, alpha) for each in universe(stratum(*margins))}
        assert universe_loss(laws, hamming).value == pytest.approx(expected, abs=5e-6)
    assert swap_epsilon(HALF, 3) == pytest.approx(math.log(4))


def assert_follows(found: Counter[Stratum], law: Law) -> None:
    assert set(found) <= set(law)
    draws = found.total()
    expected = {end: float(chance) * draws for end, chance in law.items()}
    statistic = sum((found[end] - number) ** 2 / number for end, number in expected.items())
    assert chi2.sf(statistic, len(law) - 1) > RARE


@pytest.mark.statistical
@pytest.mark.parametrize("unique", [False, True])
def test_drawn_pairs_follow_the_law(unique: bool) -> None:
    """Many copies of a stratum of four households in three blocks and two tracts."""
    copies, rate = 60_000, Fraction(3, 10)
    start: Stratum = ((0, 0), (0, 0), (1, 1), (2, 2))
    areas = ((0,), (0,), (1,))
    held, block = (np.tile(np.array(part), copies) for part in zip(*start, strict=True))
    tract = np.array([area[0] for area in areas])[block]
    strata = np.repeat(np.arange(copies), len(start))
    alone = np.tile(np.array([False, False, True, True]), copies)
    none = np.zeros(len(held), dtype=np.int64)
    these = Traits(none + 20, alone & unique, none > 0, none, none)
    chosen = select(these, Risk(rate))
    found = pair_up(strata, [tract, block], chosen.selected, these.imputed, chosen.chance, draw_order(len(held)))
    to = np.where(found.partner < 0, np.arange(len(held)), found.partner)
    ends = Counter(
        table(list(zip(kinds, homes, strict=True)))
        for kinds, homes in zip(held.reshape(copies, -1).tolist(), block[to].reshape(copies, -1).tolist(), strict=True)
    )
    assert_follows(ends, targeted_law(start, rate, unique, areas))


@pytest.mark.statistical
def test_drawn_exchanges_across_strata_follow_the_law() -> None:
    copies, rate, alpha = 60_000, HALF, Fraction(2, 5)
    start: Stratum = ((0, 0), (0, 1), (1, 1), (1, 2))
    kinds = np.tile(np.array([kind for kind, _ in start]), copies)
    swapped = np.tile(np.array([value for _, value in start]), copies)
    wide = np.repeat(np.arange(copies), len(start))
    cells = Stratified.of(2 * wide + kinds, swapped, np.ones(len(kinds), dtype=np.int64))
    found = swap_across(cells, wide, rate, alpha)
    after = swapped.copy()
    after[found.exchange.cell] = found.exchange.swapped
    assert len(np.unique(found.exchange.cell)) == len(found.exchange.cell) > found.across > 0
    ends = Counter(table(list(zip([0, 0, 1, 1], homes, strict=True))) for homes in after.reshape(copies, -1).tolist())
    assert_follows(ends, across_law(start, (0, 1), rate, alpha))
