"""`fitted` against iterative proportional fitting, written here from its definition."""

import math
from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest

from brute import published
from cases import Town, margin, partition, rolls, town, turnout
from safemargin.bounds.bound import infer
from safemargin.bounds.exposure import Exposure
from safemargin.core import Onlooker, PublishedTable

pytestmark = pytest.mark.full

ROUNDS = 1_500


class NotConverged(Exception):
    """Proportional fitting is slower than any power where effects are infinite; such a case shows nothing."""


def fit_proportionally(place: Town, tables: Sequence[PublishedTable]) -> np.ndarray:
    """The maximum-entropy counts per profile and option, people without an option last.

    Every table of the whole population starts with equal shares, and is multiplied for each fact in turn so that it
    holds. Of a range, the factor brings the sum to its nearer end, or takes back as much of earlier factors as the
    range allows (Lent and Censor 1991, for entropy): facts that do not bind end without a factor.
    """
    profiles = list(place.people)
    people = np.array([place.people[profile] for profile in profiles], dtype=float)
    count = len(place.options)
    counts = np.repeat(people[:, None] / (count + 1), count + 1, axis=1)
    numbers = np.arange(counts.size).reshape(counts.shape)
    facts: list[tuple[np.ndarray, int, int]] = []
    for table in tables:
        columns = [place.axes.index(axis) for axis in table.axes]
        for codes in np.unique(table.codes, axis=0):
            groups = [table.groups[a][code] for a, code in enumerate(codes)]
            inside = np.array([all(p[c] in group for c, group in zip(columns, groups, strict=True)) for p in profiles])
            rows = np.flatnonzero((table.codes == codes).all(axis=1))
            for row in rows:
                chosen = slice(0, count) if table.option[row] < 0 else int(table.option[row])
                facts.append((numbers[inside, chosen].ravel(), int(table.lower[row]), int(table.upper[row])))
            if len(rows) == count and table.is_exact:  # then the people without an option are known, too
                left = int(people[inside].sum()) - int(table.lower[rows].sum())
                facts.append((numbers[inside, count], left, left))
    flat, factors = counts.ravel(), np.zeros(len(facts))
    for _ in range(ROUNDS):
        before, factors_before = flat.copy(), factors.copy()
        for number, (members, least, most) in enumerate(facts):
            total = float(flat[members].sum())
            if total == 0:
                continue
            if least == most:
                flat[members] *= least / total
                continue
            low = math.log(least / total) if least else -math.inf
            factor = sorted((factors[number], low, math.log(most / total)))[1]
            flat[members] *= math.exp(factor)
            factors[number] -= factor
        counts *= (people / counts.sum(axis=1))[:, None]
        # A table can stand still while a factor of a range is taken back step by step: it has not come to its end.
        if np.abs(flat - before).max() < 1e-11 and np.abs(factors - factors_before).max() < 1e-11:
            return counts
    raise NotConverged


def shares_apart(place: Town, exposure: Exposure, expected: np.ndarray) -> float:
    """The largest difference between a fitted and an expected share of a profile."""
    assert exposure.fitted is not None and exposure.cells.axes == place.axes
    row_of = {tuple(exposure.cells.cell(row).values()): row for row in range(len(exposure.cells))}
    largest = 0.0
    for number, (profile, people) in enumerate(place.people.items()):
        gap = exposure.fitted[row_of[profile]] - expected[number, : len(place.options)]
        largest = max(largest, float(np.abs(gap).max()) / people)
    return largest


def square(people: list[list[int]], rows: list[int], columns: list[int]) -> Exposure:
    """Two axes of two categories, with so many people in each cell and so many `yes` by row and column; else `no`."""
    sizes = np.array(people)
    tables = []
    for axis, counts, total in (("p", rows, sizes.sum(axis=1)), ("q", columns, sizes.sum(axis=0))):
        entries = [
            ((f"{axis}{i}",), option, n)
            for i in range(2)
            for option, n in (("yes", counts[i]), ("no", int(total[i]) - counts[i]))
        ]
        tables.append(published(axis, (axis,), entries, options=("yes", "no")))
    cells = [((f"p{i}", f"q{j}"), None, int(sizes[i, j])) for i, j in product(range(2), range(2))]
    return infer(tables, Onlooker(roll=(published("roll", ("p", "q"), cells, measure="people"),)))


def test_two_options_have_the_logistic_form() -> None:
    fitted = square([[100, 100], [100, 100]], [95, 5], [95, 5]).fitted
    assert fitted is not None
    shares = fitted[:, 0].reshape(2, 2) / 100
    # Main effects only: the odds ratio is 1.
    odds = shares / (1 - shares)
    assert odds[0, 0] * odds[1, 1] == pytest.approx(odds[0, 1] * odds[1, 0], rel=1e-6)
    assert shares.sum(axis=1) == pytest.approx([0.95, 0.05], abs=1e-9)
    assert shares[1, 1] == pytest.approx(0.0003028, abs=1e-6)
    assert fitted.sum(axis=1) == pytest.approx([100] * 4)


def test_cells_that_facts_leave_no_choice_are_fitted_exactly() -> None:
    # The example of `test_exhaustive`: nobody is in cell (2, 2), so the facts leave cell (1, 1) nobody's yes.
    sizes = [[100, 100], [100, 0]]
    fitted = square(sizes, [50, 50], [50, 50]).fitted
    assert fitted is not None and fitted[:, 0] == pytest.approx([0, 50, 50], abs=1e-9)
    fitted = square(sizes, [150, 50], [150, 50]).fitted
    assert fitted is not None and fitted[:, 0] == pytest.approx([100, 50, 50], abs=1e-9)


def random_case(seed: int, axes: int, options: int) -> tuple[Town, list[PublishedTable]]:
    """A town with empty profiles and unequal cells, and its margins: some merged, some of two axes."""
    rng = np.random.default_rng([seed, axes, options])
    place = town(
        rng,
        axes=axes,
        options=options,
        people=int(rng.choice([60, 400, 3_000])),
        fill=float(rng.choice([0.6, 1.0])),
        covering=bool(seed % 2) and options > 1,
        most_categories=4,
        most_per_profile=int(rng.choice([20, 1_000])),
    )
    tables = [margin(place, ())]
    for axis, categories in zip(place.axes, place.categories, strict=True):
        tables.append(margin(place, (axis,), groups=[partition(rng, categories, 0.3 * (seed % 3 == 0))]))
    if seed % 4 == 0 and axes > 2:
        tables.append(margin(place, place.axes[:2]))
    return place, tables


@pytest.mark.parametrize("options", [1, 2, 3])
@pytest.mark.parametrize("axes", [2, 3])
def test_margins_are_fitted_as_proportional_fitting_does(axes: int, options: int) -> None:
    compared = 0
    for seed in range(12):
        place, tables = random_case(seed, axes, options)
        try:
            expected = fit_proportionally(place, tables)
        except NotConverged:
            continue
        exposure = infer(tables, Onlooker(roll=rolls(place, "joint")), sharp=False)
        assert shares_apart(place, exposure, expected) < 1e-6, seed
        compared += 1
    assert compared >= 8


@pytest.mark.parametrize("options", [1, 2, 3])
def test_ranges_bind_only_where_the_fit_would_leave_them(options: int) -> None:
    compared = 0
    for seed in range(12):
        place, _ = random_case(seed, 2, options)
        rng = np.random.default_rng([seed, options, 5])
        tables = [margin(place, (axis,), rng=rng, hide=0.2, widen=0.6) for axis in place.axes]
        try:
            expected = fit_proportionally(place, tables)
        except NotConverged:
            continue
        exposure = infer(tables, Onlooker(roll=rolls(place, "joint")), sharp=False)
        assert shares_apart(place, exposure, expected) < 1e-6, seed
        compared += 1
    assert compared >= 4


def test_turnout_beside_the_answers_is_fitted() -> None:
    for seed in range(8):
        place, _ = random_case(2 * seed, 2, 2)
        tables = [margin(place, ()), margin(place, place.axes[:1]), turnout(place, place.axes[1:])]
        expected = fit_proportionally(place, tables)
        exposure = infer(tables, Onlooker(roll=rolls(place, "joint")), sharp=False)
        assert shares_apart(place, exposure, expected) < 1e-6, seed


def test_an_option_that_a_table_does_not_list_is_not_expected() -> None:
    rows = [(("p0", "q0"), "A", 30), (("p0", "q0"), "B", 20), (("p0", "q1"), "B", 50), (("p1", "q0"), "A", 40)]
    tables = [published("votes", ("p", "q"), [*rows, (("p1", "q1"), "B", 10)], options=("A", "B"))]
    cells = [((f"p{i}", f"q{j}"), None, 90) for i, j in product(range(2), range(2))]
    fitted = infer(tables, Onlooker(roll=(published("roll", ("p", "q"), cells, measure="people"),))).fitted
    assert fitted is not None and fitted == pytest.approx(np.array([[30, 20], [0, 50], [40, 0], [0, 10]]), abs=1e-6)


def test_cells_of_fewer_axes_add_up_the_same_fit() -> None:
    place, tables = random_case(1, 3, 2)
    onlooker = Onlooker(roll=rolls(place, "joint"))
    whole, part = infer(tables, onlooker, sharp=False), infer(tables, onlooker, target=place.axes[:2], sharp=False)
    assert whole.fitted is not None and part.fitted is not None
    for row in range(len(part.cells)):
        inside = [part.cells.cell(row).items() <= whole.cells.cell(r).items() for r in range(len(whole.cells))]
        assert part.fitted[row] == pytest.approx(whole.fitted[np.array(inside)].sum(axis=0), abs=1e-5)
