"""p-tables: exact moments, largest entropy, the reference package's numbers, and what is refused."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.optimize import LinearConstraint, minimize

from cell_key_vectors import PTABLES
from safemargin.core import InputError, Measure, numpy_generator
from safemargin.samplers.keys_together import together_delta
from safemargin.samplers.max_entropy import attainable, largest_entropy
from safemargin.samplers.privacy import delta_at, epsilon_at, guarantee, readings
from safemargin.samplers.ptables import (
    KeyTable,
    Law,
    PTable,
    Request,
    apportioned,
    key_table,
    ptable,
    reference_ptable,
    request,
)

NEAR = 2e-6
"""How far the reference package is from the optimum of its own problem."""


def chances(row: Law) -> dict[int, float]:
    return dict(zip(row.noise, row.probabilities, strict=True))


@pytest.mark.parametrize("setting", PTABLES, ids=str)
def test_the_compatible_mode_has_the_numbers_of_the_reference(setting: tuple[int, str, int]) -> None:
    bound, variance, js = setting
    table = reference_ptable(request(bound, variance, js), free=[3] if setting == (2, "1.05", 1) else [])
    expected = PTABLES[setting]
    assert [row.count for row in table.rows] == list(expected)
    for row in table.rows:
        assert list(row.noise) == list(expected[row.count])
        assert chances(row) == pytest.approx(expected[row.count], abs=5e-7)


@pytest.mark.parametrize("setting", PTABLES, ids=str)
def test_the_exact_mode_agrees_wherever_the_reference_meets_its_variance(setting: tuple[int, str, int]) -> None:
    bound, variance, js = setting
    table, missed = ptable(request(bound, variance, js))
    assert missed == ()
    agreeing = 0
    for row in table.rows[1:]:
        theirs = PTABLES[setting][row.count]
        assert row.variance == Fraction(variance) and row.mean == 0
        neighbours = zip(row.noise[:-1], row.noise[1:], strict=True)
        if abs(sum(v * v * p for v, p in theirs.items()) - float(variance)) < 1e-6 and not any(
            b <= 0 and abs(theirs[a] - theirs[b]) < 1e-6 < theirs[b] for a, b in neighbours
        ):
            assert chances(row) == pytest.approx(theirs, abs=NEAR)
            agreeing += 1
    assert agreeing >= bound - 1


def test_the_count_at_which_the_reference_falls_short() -> None:
    wanted = request(5, 2)
    assert float(reference_ptable(wanted).rows[1].variance) == pytest.approx(1.302474, abs=1e-6)
    table, missed = ptable(wanted)
    assert not missed and {row.variance for row in table.rows[1:]} == {2}


def test_a_setting_at_the_boundary_at_which_the_reference_fails() -> None:
    table, missed = ptable(request(5, 2, js=2))
    assert not missed and {row.variance for row in table.rows[1:]} == {2} and table.js == 2
    assert table.rows[1] == Law(1, (-1, 2), (2, 1)) and table.rows[2] == Law(2, (-2, 1), (1, 2))
    with pytest.raises(InputError, match="count 1: the reference needs a variance above 2"):
        reference_ptable(request(5, 2, js=2))


settings_of_tables = st.integers(1, 12).flatmap(
    lambda bound: st.tuples(
        st.just(bound), st.integers(1, 1000 * bound * (bound + 1) // 3), st.integers(0, min(bound, 4))
    )
)


@given(settings_of_tables)
def test_moments_are_exact_and_what_cannot_be_met_is_said(setting: tuple[int, int, int]) -> None:
    bound, thousandths, js = setting
    wanted = Request(bound, Fraction(thousandths, 1000), js)
    table, missed = ptable(wanted)
    reported = {each.count: each.nearest for each in missed}
    for row in table.rows[1:]:
        least, most = attainable(wanted.noise(row.count))
        assert row.mean == 0
        assert row.variance == reported.get(row.count, wanted.variance)
        assert set(row.noise) <= set(wanted.noise(row.count))
        if row.count in reported:
            assert not least <= wanted.variance <= most
            assert row.variance in (least, most)
    assert all(x == 0 or x > js for row in table.rows for x in row.printed)


@pytest.mark.parametrize(("count", "bound", "variance", "js"), [(1, 4, 2, 0), (2, 5, 2, 1), (3, 3, 1, 0), (4, 3, 3, 2)])
def test_no_law_with_these_moments_has_more_entropy(count: int, bound: int, variance: int, js: int) -> None:
    """Against a general solver started from the law itself and from elsewhere."""
    noise = np.array(Request(bound, Fraction(variance), js).noise(count), dtype=float)
    law = largest_entropy([int(v) for v in noise], Fraction(variance))
    mine = -math.fsum(float(p) * math.log(p) for p in law.values())
    found = minimize(
        lambda p: float(p @ np.log(p)),
        np.full(len(noise), 1 / len(noise)),
        jac=lambda p: np.log(p) + 1,
        bounds=[(1e-12, 1)] * len(noise),
        constraints=[LinearConstraint(np.stack([noise**0, noise, noise**2]), [1, 0, variance], [1, 0, variance])],
        method="SLSQP",
        tol=1e-14,
        options={"maxiter": 500},
    )
    assert mine >= -found.fun - 1e-9


def test_a_law_outside_what_is_attainable_is_refused() -> None:
    with pytest.raises(InputError, match="variance = 6: is not attainable, nearest is 5"):
        largest_entropy((-1, 2, 3, 4, 5), Fraction(6))


@pytest.mark.parametrize("gap", ["0.00000000000000001", "0.000000001", "0.0001", "0.5"])
def test_near_the_ends_of_what_is_attainable(gap: str) -> None:
    for variance in (2 + Fraction(gap), 5 - Fraction(gap)):
        law = largest_entropy((-1, 2, 3, 4, 5), variance)
        assert sum(v * v * p for v, p in law.items()) == variance and min(law.values()) > 0


@pytest.mark.parametrize(
    ("bound", "variance", "js", "words"),
    [
        (5, "11", 0, "variance = 11: must be at most 10, .* nearest is 10"),
        (4, "7", 0, "must be at most 20/3, .* nearest is 20/3"),
        (5, "0", 0, "variance = 0: must be positive; the largest is 10"),
        (5, "-1", 0, "must be positive"),
        (5, "nan", 0, "must be a positive number"),
        (5, "two", 0, "variance = 'two'"),
        (5, "1e99999999", 0, "variance = '1e99999999': must be a positive number"),
        (5, "1/0", 0, "variance = '1/0': must be a positive number"),
        (5, "1e400", 0, "must be a positive number"),
        (5, "2.0000000001", 0, "more than 9 decimals; the nearest is 2"),
        (5, "1e-10", 0, "more than 9 decimals; the nearest is 0.000000001"),
        (4, "6.66666666666", 0, "more than 9 decimals; the nearest is 6.666666666$"),
        (5, "2", 6, "js = 6: must be from 0 to 5; the nearest is 5"),
        (5, "2", -1, "js = -1: must be from 0 to 5; the nearest is 0"),
        (0, "2", 0, "bound = 0: must be from 1 to 200; the nearest is 1"),
        (201, "2", 0, "nearest is 200"),
    ],
)
def test_what_makes_no_sense_is_refused(bound: int, variance: str, js: int, words: str) -> None:
    with pytest.raises(InputError, match=words):
        request(bound, variance, js)


def test_the_nearest_variance_can_be_written() -> None:
    table, _ = ptable(request(4, "20/3"))
    assert table.rows[-1].probabilities == pytest.approx([1 / 9] * 9, abs=1e-12)
    assert request(4, "6.666666666").variance < Fraction(20, 3)


@pytest.mark.parametrize("variance", [math.nan, math.inf])
def test_a_variance_must_be_a_number(variance: float) -> None:
    with pytest.raises(InputError, match="must be a positive number"):
        request(5, variance)


def test_what_is_not_attainable_is_reported() -> None:
    _, missed = ptable(request(5, 6))
    assert [str(each) for each in missed] == ["count 1: variance 6 is not attainable, nearest is 5"]
    _, missed = ptable(request(5, 1, js=2))
    assert [(each.count, each.nearest) for each in missed] == [(1, 2), (2, 2)]


def brute_delta(table: PTable, epsilon: float, top: int) -> float:
    """The definition: the largest excess of any set of results, over all neighbours."""
    worst = 0.0
    for count in range(1, top):
        for one, other in ((count, count + 1), (count + 1, count)):
            here, there = table.law(one).printed, table.law(other).printed
            chosen = [x for x in here if float(here[x]) > math.exp(epsilon) * float(there.get(x, 0))]
            worst = max(worst, sum(float(here[x]) - math.exp(epsilon) * float(there.get(x, 0)) for x in chosen))
    return worst


@pytest.mark.parametrize(("bound", "variance", "js"), [(5, 2, 0), (5, 3, 2), (5, 2, 1)])
def test_epsilon_and_delta_are_those_of_the_definition(bound: int, variance: int, js: int) -> None:
    table, _ = ptable(request(bound, variance, js))
    for epsilon in (0.0, 0.5, 1.0, 3.0):
        assert delta_at(table, epsilon) == pytest.approx(brute_delta(table, epsilon, 30), abs=1e-12)
    pairs = readings(table)
    edge = float(max(each.delta for each in pairs[1:]))
    assert delta_at(table, max(each.epsilon for each in pairs[1:])) == pytest.approx(edge, abs=1e-12)
    single = guarantee(table)
    assert single.epsilon == max(each.epsilon for each in pairs[1:]) and single.delta == edge
    twice = guarantee(table, cells=2)
    assert (
        twice.epsilon is None
        and twice.measure is Measure.NONE
        and "nothing is guaranteed for all of them together" in twice.statement
    )
    loss = epsilon_at(table, 0.1)
    assert loss is not None and delta_at(table, loss) <= 0.1 < delta_at(table, loss - 1e-6)


def test_the_price_of_forbidding_small_counts() -> None:
    losses = [epsilon_at(ptable(request(5, 2, js))[0], 0.01) for js in (0, 1, 2)]
    assert losses[0] == pytest.approx(1.516, abs=1e-3) and losses[1] == pytest.approx(1.791, abs=1e-3)
    assert losses[2] is None, "a count of 3 becomes 0 or stays, a count of 2 never becomes 3 or 0 with the same odds"


def test_an_empty_cell_gives_itself_away() -> None:
    table, _ = ptable(request(5, 2))
    zero = readings(table)[0]
    assert float(zero.delta) == pytest.approx(1 - table.rows[1].probabilities[0])


@pytest.mark.parametrize("words", ["epsilon", "delta", "cells"])
def test_privacy_parameters_must_make_sense(words: str) -> None:
    table, _ = ptable(request(2, 1))
    with pytest.raises(InputError, match=words):
        {
            "epsilon": lambda: delta_at(table, -1.0),
            "delta": lambda: epsilon_at(table, 1.5),
            "cells": lambda: guarantee(table, cells=0),
        }[words]()


@given(st.integers(1, 8), st.integers(0, 2), st.sampled_from([256, 4096]))
def test_tables_for_whole_number_keys_stay_unbiased(bound: int, js: int, modulus: int) -> None:
    wanted = Request(bound, Fraction(bound * (bound + 1), 4), min(js, bound))
    try:
        table = key_table(ptable(wanted)[0], modulus, last=40)
    except InputError as error:
        assert "keys give noise of mean 0" in str(error)
        return
    for row in table.table.rows:
        assert row.mean == 0 and row.total * (modulus // row.total) == modulus
    assert table.values.shape == (41, modulus)


def test_whole_number_keys_are_near_the_law() -> None:
    table, _ = ptable(request(5, 2))
    rounded = key_table(table)
    assert isinstance(rounded, KeyTable) and rounded.repeat == 250
    for mine, exact in zip(rounded.table.rows, table.rows, strict=False):
        keys = dict(zip(mine.noise, mine.weights, strict=True))
        for v, p in chances(exact).items():
            assert abs(keys.get(v, 0) - 256 * p) < 2
    with pytest.raises(InputError, match="count 1: no 256 keys give noise of mean 0"):
        apportioned(Law(1, (-1, 2), (2, 1)), 256)
    assert apportioned(Law(1, (-1, 2), (2, 1)), 3 * 64) == [128, 64]
    with pytest.raises(InputError, match="modulus = 1"):
        key_table(table, 1)
    with pytest.raises(InputError, match="last = 3"):
        key_table(table, 256, last=3)


@pytest.mark.parametrize(
    ("count", "noise", "parts", "words"),
    [
        (1, (), (), "give a probability"),
        (1, (0, 0), (1, 1), "must ascend"),
        (1, (-2, 2), (1, 1), "makes it negative"),
        (1, (0, 1), (2, -1), "is negative"),
        (1, (0,), (0,), "add up to 0"),
    ],
)
def test_a_law_is_a_law(count: int, noise: tuple[int, ...], parts: tuple[int, ...], words: str) -> None:
    with pytest.raises(InputError, match=words):
        Law(count, noise, parts)


def test_a_table_has_all_counts() -> None:
    with pytest.raises(InputError, match="no row for a count of 1"):
        PTable((Law(0, (0,), (1,)), Law(2, (0,), (1,))))
    with pytest.raises(InputError, match="repeat"):
        PTable((Law(0, (0,), (1,)),), repeat=2)


@given(settings_of_tables, st.integers(1, 20))
def test_rows_are_exponentials_of_quadratics(setting: tuple[int, int, int], count: int) -> None:
    """What makes the entropy largest; three points fix the quadratic, the others must lie on it."""
    bound, thousandths, js = setting
    wanted = Request(bound, Fraction(thousandths, 1000), js)
    noise = wanted.noise(count)
    least, most = attainable(noise)
    if not least < wanted.variance < most:
        return
    law = {v: float(p) for v, p in largest_entropy(noise, wanted.variance).items() if p > Fraction(1, 10**7)}
    if len(law) > 3:
        values = np.array(list(law))
        logs = np.log(list(law.values()))
        near = np.polynomial.Polynomial.fit(values, logs, 2, w=np.sqrt(list(law.values())))
        assert abs(near(values) - logs).max() < 1e-6


@pytest.mark.parametrize(
    ("bound", "variance", "js", "count"),
    [(5, "2.9", 1, 4), (8, "3", 2, 3), (4, "5.5", 3, 2), (6, "13.9", 0, 2), (7, "4", 1, 9)],
)
def test_the_compatible_mode_solves_the_problem_of_the_reference(
    bound: int, variance: str, js: int, count: int
) -> None:
    """Against a general solver: at most this variance, at least 1e-8 each, not falling up to zero."""
    noise = np.array(request(bound, variance, js).noise(count))
    rows = [np.eye(len(noise))[k + 1] - np.eye(len(noise))[k] for k in range(len(noise) - 1) if noise[k + 1] <= 0]
    found = minimize(
        lambda p: float(p @ np.log(np.maximum(p, 1e-12))),
        np.exp(-(noise**2) / 2) / np.exp(-(noise**2) / 2).sum(),
        jac=lambda p: np.log(np.maximum(p, 1e-12)) + 1,
        bounds=[(1e-8, 1)] * len(noise),
        constraints=[
            LinearConstraint(np.stack([noise**0, noise]).astype(float), [1, 0], [1, 0]),
            LinearConstraint(noise[None].astype(float) ** 2, -np.inf, float(variance)),
            *([LinearConstraint(np.array(rows), 0, np.inf)] if rows else []),
        ],
        method="SLSQP",
        tol=1e-15,
        options={"maxiter": 1000},
    )
    row = reference_ptable(request(bound, variance, js)).rows[count]
    assert row.probabilities == pytest.approx(found.x, abs=1e-5)


def area_by_squares(table: PTable, counts: tuple[int, int]) -> dict[tuple[int, ...], Fraction]:
    """What two cells and their total print, by going through keys: steps of 1/12, and halves where sums turn over."""
    found: dict[tuple[int, ...], Fraction] = {}

    def noise(count: int, step: int) -> int:
        law = table.law(count)
        ends = np.cumsum(law.weights) * 12 // law.total
        return law.noise[int(np.searchsorted(ends, step, side="right"))]

    for x, y, carry in product(range(12), range(12), range(2)):
        steps = (x, y, (x + y + carry) % 12)
        both = (*counts, sum(counts))
        printed = tuple(count + noise(count, step) for count, step in zip(both, steps, strict=True))
        found[printed] = found.get(printed, Fraction(0)) + Fraction(1, 288)
    return found


def test_two_counts_and_their_total_by_going_through_keys() -> None:
    """Rows in twelfths: every square of keys lies in one interval each, and a diagonal halves it."""
    for seed in range(12):
        random = numpy_generator(seed)
        rows = [Law(0, (0,), (12,))]
        for count in range(1, 5):
            low = min(count, 2)
            cuts = np.sort(random.integers(0, 13, size=low + 2))
            parts = np.diff(np.concatenate([[0], cuts, [12]]))
            rows.append(Law(count, tuple(range(-low, 3)), tuple(parts.tolist())))
        table = PTable(tuple(rows))
        counts = (int(random.integers(1, 6)), int(random.integers(1, 6)))
        for epsilon in (0.0, 0.7):
            here, worst = area_by_squares(table, counts), 0.0
            for more in ((counts[0] + 1, counts[1]), (counts[0], counts[1] + 1)):
                there = area_by_squares(table, more)
                for one, other in ((here, there), (there, here)):
                    excess = [float(p) - math.exp(epsilon) * float(other.get(x, 0)) for x, p in one.items()]
                    worst = max(worst, sum(max(0.0, part) for part in excess))
            assert together_delta(table, counts, epsilon) == pytest.approx(worst, abs=1e-12)


def test_a_total_beside_two_counts_costs_more_than_one_count() -> None:
    table, _ = ptable(request(5, 2))
    for epsilon in (0.5, 1.0, 2.0):
        both = together_delta(table, (40, 30), epsilon)
        assert delta_at(table, epsilon) < both < 1
    assert together_delta(table, (40, 0), 2.0) > 0.9  # somebody in an empty cell changes which keys agree
