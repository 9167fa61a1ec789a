"""TopDown's parts: budget, noise, least squares, and integer tables that keep every constraint."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from scipy.stats import chisquare

from safemargin.core import InputError, IntArray, numpy_generator
from safemargin.samplers import DiscreteGaussian
from safemargin.topdown import siblings as rounding
from safemargin.topdown.attributes import Attributes, Grouping, MarginQuery
from safemargin.topdown.design import (
    MAX_COUNT,
    Design,
    MarginLimit,
    Measurements,
    WeightedLimit,
    build_spine,
    check_truth,
    combine_limits,
)
from safemargin.topdown.feasibility import reachable_levels, reachable_sets
from safemargin.topdown.guarantee import summarise
from safemargin.topdown.least_squares import fit
from safemargin.topdown.measure import add_noise
from safemargin.topdown.siblings import (
    Infeasible,
    SiblingMatrices,
    SiblingProblem,
    nonnegative_estimate,
    round_to_integers,
)
from safemargin.topdown.tables import solve_tables
from spines import (
    DETAILED,
    GROUPED,
    KINDS,
    SPLIT,
    TOTAL,
    dense_fit,
    designed,
    exact_counts,
    people,
    rounded_noise,
    summing,
    uneven_spine,
)

pytestmark = pytest.mark.full

ALARM = 1e-8
"""False-alarm rate of one statistical check; each test makes fewer than a hundred, so it alarms below 1e-6."""

SEX_AGE = KINDS.query("sex*age")


def solved(design: Design, measured: Measurements) -> list[IntArray]:
    return solve_tables(design, combine_limits(design, measured.exact), fit(design, measured))


def test_parts_that_lie_in_two_areas_are_refused() -> None:
    with pytest.raises(InputError, match="is not a tree: county 'Orange' lies in 'CA' and in 'FL'"):
        build_spine(["land", "state", "county"], "land", [("CA", "Orange"), ("FL", "Orange")])
    with pytest.raises(InputError, match="an area of 'CA' has no county"):
        build_spine(["land", "state", "county"], "land", [("CA", "")])


def test_a_spine_lies_in_order_whatever_the_order_of_its_rows() -> None:
    paths = [("b", "b2"), ("a", "a1"), ("b", "b1"), ("c", "c1")]
    spine = build_spine(["land", "state", "town"], "land", paths)
    assert spine.names == (("land",), ("a", "b", "c"), ("a1", "b1", "b2", "c1"))
    assert [each.tolist() for each in spine.counts(np.array([[1], [2], [3], [4]]))] == [
        [[10]],
        [[1], [5], [4]],
        [[1], [2], [3], [4]],
    ]


def test_shares_must_add_up_to_one() -> None:
    with pytest.raises(InputError, match=r"budget.queries of land: the shares add up to 5/4 \(1.25\), not to 1"):
        designed(uneven_spine(), split={"total": "3/4", "detailed": "1/2"})
    with pytest.raises(InputError, match="a share is negative"):
        designed(uneven_spine(), split={"total": "-1/2", "detailed": "3/2"})
    with pytest.raises(InputError, match="give the query 'detailed' a share"):
        designed(uneven_spine(), split={"total": "1"})


@pytest.mark.parametrize(("rho", "said"), [("1e400", "too small"), ("1e-300", "too large")])
def test_noise_that_cannot_be_drawn_is_refused(rho: str, said: str) -> None:
    with pytest.raises(InputError, match=f"budget: land: total: noise of variance .* is {said} to be drawn"):
        designed(uneven_spine(), rho=Fraction(rho))


def test_variances_spend_the_budget_to_the_last_fraction() -> None:
    design = designed(uneven_spine(), rho=Fraction(339, 542))
    spent = sum(1 / variance for level in range(4) for variance in design.measured(level).values())
    assert spent == Fraction(339, 542)


def test_sigmas_of_the_census_follow_from_its_shares() -> None:
    """US persons of the 2020 redistricting file: rationals of the signed certificate and the production configuration
    (uscensusbureau/DAS_2020_Redistricting_Production_Code). `hhinstlevels` puts households, institutions and others
    together.
    """
    kinds = Attributes(
        ("hhgq", "votingage", "hispanic", "cenrace"),
        tuple(tuple(map(str, range(size))) for size in (8, 2, 2, 63)),
        (Grouping("hhinstlevels", 0, ("household", "institution", "other"), (0, 1, 1, 1, 1, 2, 2, 2)),),
    )
    titles = ["total", "cenrace", "hispanic", "votingage", "hhinstlevels", "hhgq", "hispanic*cenrace"]
    titles += ["votingage*cenrace", "votingage*hispanic", "votingage*hispanic*cenrace", "detailed"]
    parts = [
        [0, 52, 26, 26, 26, 26, 130, 130, 26, 442, 3213],
        [3773, 6, 6, 6, 6, 6, 12, 12, 6, 34, 230],
        [3126, 10, 10, 10, 10, 10, 28, 28, 10, 101, 754],
        [1567, 8, 5, 5, 5, 5, 1933, 20, 5, 67, 482],
        [1705, 3, 3, 3, 3, 3, 1055, 9, 3, 24, 1288],
        [5, 9, 5, 5, 5, 5, 21, 21, 5, 71, 3945],
    ]
    names = ["us", "state", "county", "tract", "group", "block"]
    design = Design(
        build_spine(names, "us", [tuple(names[1:])]),
        kinds,
        1 / Fraction(339, 542) ** 2,
        1e-10,
        tuple(Fraction(share, 4099) for share in (104, 1440, 447, 687, 1256, 165)),
        tuple(
            {kinds.query(title): Fraction(part, sum(row)) for title, part in zip(titles, row, strict=True)}
            for row in parts
        ),
        ((0, MarginQuery(())),),
        np.zeros(2016, dtype=bool),
        (),
        (),
        (kinds.detailed,),
    )
    assert design.rho_squared == Fraction(293764, 114921)
    summary = summarise(design, False)
    assert summary["epsilon"] == pytest.approx(17.9002, abs=5e-5)
    assert summary["epsilon_by_losses"] == pytest.approx(16.48, abs=5e-3), "as of `guarantee census`"

    def sigma(level: int, title: str) -> float:
        return math.sqrt(design.measured(level)[kinds.query(title)])

    stated = {(1, "total"): 1.10, (2, "total"): 2.17, (3, "total"): 2.47, (4, "total"): 1.75, (5, "total"): 89.2}
    stated |= {(5, "detailed"): 3.18, (3, "hispanic*cenrace"): 2.23, (4, "hispanic*cenrace"): 2.23}
    for (level, title), value in stated.items():
        assert sigma(level, title) == pytest.approx(value, rel=0.005)
    spent = sum(1 / variance for level in range(6) for variance in design.measured(level).values())
    assert spent == design.rho_squared
    noisy = tuple({query: np.ones((1, kinds.cells(query))) for query in design.measured(level)} for level in range(6))
    found = fit(design, Measurements(noisy, {(0, MarginQuery(())): np.array([[2016]])}))  # type: ignore[arg-type]
    errors = [float(found.standard_error(5, kinds.query(title)).max()) for title in ("hhgq", "hhinstlevels")]
    assert found.estimate(5).sum() == pytest.approx(2016) and errors[1] < errors[0]


def test_moving_a_person_changes_every_margin_by_at_most_two_in_squares() -> None:
    """By listing all data sets of three people in two states with two attributes of two values."""
    kinds = Attributes(("state", "a", "b"), (("0", "1"),) * 3)
    records = list(product(range(2), repeat=3))
    queries = [MarginQuery(axes) for axes in ((), (0,), (1,), (0, 1), (1, 2), (0, 1, 2))]
    counted = {}
    for data in combinations_with_replacement(range(8), 3):
        table = np.bincount(data, minlength=8)[None, :]
        counted[data] = [kinds.margin(table, query)[0] for query in queries]
    worst = [0] * len(queries)
    for one, other in product(counted, repeat=2):
        moved = sum(abs(np.bincount(one, minlength=8) - np.bincount(other, minlength=8))) // 2
        for place, (left, right) in enumerate(zip(counted[one], counted[other], strict=True)):
            square = int(((left - right) ** 2).sum())
            assert square <= 2 * moved**2, (records, one, other)
            if moved == 1:
                worst[place] = max(worst[place], square)
    assert worst == [0, 2, 2, 2, 2, 2]


@pytest.mark.parametrize("variance", [Fraction(1, 20), Fraction(2), Fraction(114921, 293764 * 7), Fraction(10**6, 3)])
def test_opendp_proves_no_more_loss_than_is_charged(variance: Fraction) -> None:
    proved = float(DiscreteGaussian(variance).measurement.map(math.sqrt(2)))  # type: ignore[no-untyped-call]
    assert proved == pytest.approx(float(1 / variance), rel=1e-12)
    assert proved <= float(1 / variance) * (1 + 1e-14)


@pytest.mark.statistical
@pytest.mark.parametrize("variance", [Fraction(1, 3), Fraction(5)])
def test_noise_is_discrete_gaussian(variance: Fraction) -> None:
    """Chi-square against the exact law; false alarms below 1e-6."""
    draws = 60_000
    noise = add_noise(np.full(draws, 1000), variance) - 1000
    span = np.arange(-60, 61)
    law = np.exp(-(span**2) / (2 * float(variance)))
    law /= law.sum()
    edge = max(value for value in range(1, 60) if law[span >= value].sum() * draws >= 50)  # tails count together
    places = np.clip(np.arange(-60, 61), -edge, edge)
    observed = [int((np.clip(noise, -edge, edge) == value).sum()) for value in range(-edge, edge + 1)]
    expected = [float(law[places == value].sum()) * draws for value in range(-edge, edge + 1)]
    assert min(expected) >= 50 and chisquare(observed, expected).pvalue > ALARM


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "exact",
    [((0, "total"),), ((0, "total"), (1, "total"), (2, "sex")), ((0, "sex*age"), (3, "tenure")), ((3, "total"),)],
)
def test_estimates_are_those_of_dense_least_squares(seed: int, exact: tuple[tuple[int, str], ...]) -> None:
    spine = uneven_spine(seed, depth=3)
    design = designed(spine, exact, split={"total": "1/8", "sex*age": "1/4", "tenure": "1/8", "detailed": "1/2"})
    measured = rounded_noise(design, people(spine, seed), seed)
    found = fit(design, measured)
    best, covariance, sums = dense_fit(design, measured)
    for level in range(len(spine.levels)):
        assert found.estimate(level) == pytest.approx(sums[level] @ best, abs=1e-6)
        for query in (TOTAL, SEX_AGE, KINDS.query("tenure"), DETAILED):
            rows = np.kron(sums[level], summing(query))
            error = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", rows, covariance, rows), 0))
            assert found.standard_error(level, query).reshape(-1) == pytest.approx(error, abs=1e-5)


def test_levels_without_a_share_are_estimated_from_their_parts() -> None:
    spine = uneven_spine(2)
    design = designed(spine)
    part = replace(design, shares=(Fraction(0), Fraction(1, 2), Fraction(0), Fraction(1, 2)))
    measured = rounded_noise(part, people(spine, 2), 2)
    assert measured.noisy[0] == measured.noisy[2] == {}
    best, _, sums = dense_fit(part, measured)
    assert fit(part, measured).estimate(2) == pytest.approx(sums[2] @ best, abs=1e-6)


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("kinds", "exact", "split"),
    [
        (KINDS, ((0, "total"),), SPLIT),
        (GROUPED, ((0, "total"), (1, "helped")), {"voting": "1/4", "sex*helped": "1/4", "detailed": "1/2"}),
    ],
    ids=["margins", "groups"],
)
def test_estimates_are_unbiased_and_as_precise_as_they_say(
    kinds: Attributes, exact: tuple[tuple[int, str], ...], split: dict[str, str]
) -> None:
    """Means of 300 draws, and mean squares, lie within seven standard errors of their own; false alarms below 1e-6.

    For the means these are known; for the squares they are taken from the draws, whose means are nearly normal.
    """
    spine, rho = uneven_spine(3, depth=2), Fraction(4)
    design = designed(spine, exact, rho=rho, split=split, kinds=kinds)
    counts, draws = people(spine, 3, kinds=kinds), 300
    asked = [
        {query: (kinds.margin(counts[level], query), each) for query, each in design.measured(level).items()}
        for level in range(3)
    ]
    true, errors = exact_counts(design, counts), []
    for _ in range(draws):
        noisy = tuple({query: add_noise(*each) for query, each in level.items()} for level in asked)
        found = fit(design, Measurements(noisy, true))
        errors.append(found.estimate(2) - counts[2])
    stated = found.standard_error(2, kinds.detailed)
    assert len(stated) * stated.shape[1] < 1000
    assert np.abs(np.mean(errors, axis=0) / stated).max() < 7 / math.sqrt(draws)
    squares = [float(((error / stated) ** 2).mean()) for error in errors]
    assert abs(np.mean(squares) - 1) < 7 * float(np.std(squares)) / math.sqrt(draws) < 0.2


@pytest.mark.parametrize("seed", range(6))
def test_whole_tables_keep_everything(seed: int) -> None:
    spine = uneven_spine(seed)
    counts = people(spine, seed)
    counts = spine.counts(counts[-1] * (np.arange(12) != 5))  # nobody is (f, old, rent)
    tenure = KINDS.query("tenure")
    held = KINDS.margin(counts[-1], tenure)
    bound = MarginLimit(tenure, np.minimum(held, 1), np.where(held == 0, 0, MAX_COUNT))
    exact = ((0, "total"), (1, "sex"))
    design = designed(spine, exact, bounds=((3, bound),), impossible=[5], passes=("sex*tenure", "detailed"))
    measured = rounded_noise(design, counts, seed)
    check_truth(design, counts)
    tables = solved(design, measured)
    for level, table in enumerate(tables):
        assert table.min() >= 0 and not table[:, 5].any()
        if level:
            assert (spine.sums(level, table) == tables[level - 1]).all()
    sex = KINDS.query("sex")
    assert (KINDS.margin(tables[1], sex) == KINDS.margin(counts[1], sex)).all()
    assert (tables[0].sum() == counts[0].sum()).all()
    mine = KINDS.margin(tables[3], tenure)
    assert (mine >= bound.low).all() and (mine <= bound.high).all()


@pytest.mark.parametrize("seed", range(12))
def test_totals_and_bounds_that_cross_never_leave_parts_without_a_solution(seed: int) -> None:
    """Blocks with exact totals of which most hold nobody of some kinds, at much noise: what tracts may hold of a set of
    kinds then follows from all their blocks together.
    """
    spine = uneven_spine(seed)
    kinds = KINDS.query("age")
    counts = people(spine, seed, mean=1.0)
    some = numpy_generator(seed).random((len(spine.names[-1]), 3)) < 0.5
    counts = spine.counts(counts[-1] * some[:, KINDS.cell_of(kinds, DETAILED)])
    bound = MarginLimit(kinds, np.zeros(some.shape, dtype=np.int64), np.where(some, MAX_COUNT, 0))
    exact = ((0, "total"), (3, "total"))
    design = designed(spine, exact, rho=Fraction(1, 50), bounds=((3, bound),), passes=("age", "detailed"))
    measured = rounded_noise(design, counts, seed)
    constraints = combine_limits(design, measured.exact)
    assert any(each is not None for each in reachable_levels(design, constraints))
    tables = solved(design, measured)
    assert (tables[3].sum(axis=1) == counts[3].sum(axis=1)).all()
    assert not KINDS.margin(tables[3], kinds)[~some].any()
    assert (spine.sums(3, tables[3]) == tables[2]).all()


@pytest.mark.parametrize("seed", range(5))
def test_reach_is_what_parts_attain(seed: int) -> None:
    """By listing all integer counts of two parts with limits of three cells and of their sum, and of the area above."""
    random = numpy_generator(seed)
    spine = build_spine(["land", "town"], "land", [("a",), ("b",)])
    low = random.integers(0, 2, (2, 3))
    high = low + random.integers(0, 3, (2, 3))
    least = np.minimum(low.sum(axis=1) + random.integers(0, 2, 2), high.sum(axis=1))[:, None]
    most = np.minimum(least + random.integers(0, 2, (2, 1)), high.sum(axis=1)[:, None])
    top = high.sum(axis=0)[None, :] - random.integers(0, 2, (1, 3))
    cell = MarginQuery((1,))
    parts = [MarginLimit(cell, low, high), MarginLimit(MarginQuery(()), least, most)]
    above = [MarginLimit(cell, np.zeros((1, 3), dtype=np.int64), top)]
    attained = {
        tuple(map(sum, zip(*pair, strict=True)))
        for pair in product(
            *(
                [
                    cells
                    for cells in product(*(range(a, b + 1) for a, b in zip(low[part], high[part], strict=True)))
                    if least[part, 0] <= sum(cells) <= most[part, 0]
                ]
                for part in range(2)
            )
        )
    }
    attained = {cells for cells in attained if all(a <= b for a, b in zip(cells, top[0], strict=True))}
    found = reachable_sets(spine, cell, 3, [above, parts])[0]
    allowed = {
        cells
        for cells in product(*(range(int(each) + 1) for each in top[0]))
        if found is None or _holds(found, np.array(cells))
    }
    assert attained == allowed


def _holds(found: WeightedLimit, cells: IntArray) -> bool:
    sums = found.weights @ cells
    return bool((sums >= found.low[0]).all() and (sums <= found.high[0]).all())


@pytest.mark.parametrize("seed", range(3))
def test_exact_margins_that_cross_are_kept_too(seed: int) -> None:
    """Sex and age of every region: not nested, so integer tables take an integer program."""
    spine = uneven_spine(seed, depth=2)
    counts = people(spine, seed, mean=20.0)
    design = designed(spine, ((0, "total"), (1, "sex"), (1, "age")))
    tables = solved(design, rounded_noise(design, counts, seed))
    for title in ("sex", "age"):
        query = KINDS.query(title)
        assert (KINDS.margin(tables[1], query) == KINDS.margin(counts[1], query)).all()
    assert (spine.sums(2, tables[2]) == tables[1]).all()


def test_tables_agree_with_what_was_published_before() -> None:
    spine = uneven_spine(4)
    counts = people(spine, 4)
    first = solved(designed(spine), rounded_noise(designed(spine), counts, 1))
    earlier = tuple((level, MarginLimit(SEX_AGE, kept, kept)) for level, kept in enumerate(map(_sex_age, first)))
    design = designed(spine, earlier=earlier, passes=("sex*age", "detailed"))
    second = solved(design, rounded_noise(design, counts, 2))
    for one, other in zip(first, second, strict=True):
        assert (_sex_age(one) == _sex_age(other)).all()
    assert any((one != other).any() for one, other in zip(first, second, strict=True))


def _sex_age(table: IntArray) -> IntArray:
    return KINDS.margin(table, SEX_AGE)


def test_without_noise_the_truth_comes_out() -> None:
    spine = uneven_spine(5)
    design, counts = designed(spine, rho=Fraction(10**10)), people(spine, 5)
    measured = rounded_noise(design, counts, 5)
    for table, true in zip(solved(design, measured), counts, strict=True):
        assert (table == true).all()


@pytest.mark.parametrize("rho", ["1e-7", "1e-9", "1e-11"])
@pytest.mark.parametrize("exact", [((0, "total"),), ((0, "total"), (2, "sex"), (2, "age"))])
def test_tables_of_few_people_are_found_among_any_noise(rho: str, exact: tuple[tuple[int, str], ...]) -> None:
    """Noise of up to a million beside a few hundred people."""
    for seed in range(3):
        spine = uneven_spine(seed, depth=2)
        design, counts = designed(spine, exact, rho=Fraction(rho) * 2), people(spine, seed)
        measured = rounded_noise(design, counts, seed)
        tables = solved(design, measured)
        for (level, query), values in measured.exact.items():
            assert (KINDS.margin(tables[level], query) == values).all()
        assert all((spine.sums(level, tables[level]) == tables[level - 1]).all() for level in (1, 2))
        assert min(int(table.min()) for table in tables) >= 0


@pytest.mark.parametrize("scale", [10**8, 10**11])
@pytest.mark.parametrize("exact", [((0, "total"),), ((0, "total"), (2, "sex"), (2, "age"))])
def test_large_counts_lose_no_people(scale: int, exact: tuple[tuple[int, str], ...]) -> None:
    """Baseline counts of nobody, which become negative and are moved."""
    spine, random = uneven_spine(3), numpy_generator(4)
    leaf = (random.gamma(0.5, 1, (len(spine.names[-1]), 12)) * scale).astype(np.int64)
    counts = spine.counts(leaf * (random.random(leaf.shape) < 0.6))
    design = designed(spine, exact)
    measured = rounded_noise(design, counts, 1)
    tables = solved(design, measured)
    for (level, query), values in measured.exact.items():
        assert (KINDS.margin(tables[level], query) == values).all()
    for level, (table, true) in enumerate(zip(tables, counts, strict=True)):
        assert table.min() >= 0 and np.abs(table - true).max() < 50
        assert not level or (spine.sums(level, table) == tables[level - 1]).all()


def test_constraints_that_contradict_each_other_are_named() -> None:
    spine = build_spine(["land", "town"], "land", [("a",), ("b",)])
    counts = spine.counts(np.ones((2, 12), dtype=np.int64))
    crowded = MarginLimit(TOTAL, np.array([[20], [20]]), np.array([[MAX_COUNT], [MAX_COUNT]]))
    design = designed(spine, bounds=((1, crowded),))
    with pytest.raises(InputError, match="land 'land': all people: at least 40 and at most 24"):
        combine_limits(design, exact_counts(design, counts))
    sex = KINDS.query("sex")
    few = MarginLimit(sex, np.zeros((2, 2), dtype=np.int64), np.array([[3, 3], [MAX_COUNT, MAX_COUNT]]))
    design = designed(spine, exact=((0, "total"), (1, "total")), bounds=((1, few),))
    with pytest.raises(InputError, match="town 'a': all people: at least 12 and at most 6 .*its sex counts"):
        combine_limits(design, exact_counts(design, counts))


def test_bounds_that_are_not_true_of_the_data_are_refused() -> None:
    spine = build_spine(["land", "town"], "land", [("a",), ("b",)])
    counts = spine.counts(np.ones((2, 12), dtype=np.int64))
    wrong = MarginLimit(TOTAL, np.array([[0], [0]]), np.array([[MAX_COUNT], [11]]))
    design = designed(spine, bounds=((1, wrong),))
    with pytest.raises(InputError, match="bounds: town 'b': all people: the data are not in 0 to 11"):
        check_truth(design, counts)
    design = designed(spine, impossible=[0])
    with pytest.raises(InputError, match="zeros: sex f, age young, tenure own is stated as impossible, but town 'a'"):
        check_truth(design, counts)


def small_family(seed: int) -> SiblingProblem:
    """Two parts of an area with the counts of sex and tenure, and known totals."""
    random = numpy_generator(seed)
    kinds = Attributes(("sex", "tenure"), (("f", "m"), ("own", "rent")))
    true = random.poisson(2, size=(2, 4)).astype(np.int64)
    totals = true.sum(axis=1, keepdims=True)
    target = true + random.normal(0, 1.5, true.shape)
    forms = SiblingMatrices(kinds, kinds.detailed)
    weights = {kinds.detailed: np.ones((2, 4))}
    return forms.problem(
        true.sum(axis=0), [MarginLimit(MarginQuery(()), totals, totals)], (), np.zeros(4, bool), target, weights
    )


@pytest.mark.parametrize("many", [0, 20_000], ids=["interior points", "simplex"])
@pytest.mark.parametrize("seed", range(20))
def test_whole_counts_are_the_nearest_that_keep_all(seed: int, many: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against listing all neighbours of the real solution."""
    monkeypatch.setattr(rounding, "MANY", many)
    family = small_family(seed)
    values = nonnegative_estimate(family)
    assert family.is_met(values)
    found = round_to_integers(family, values)
    floor = np.floor(values + 1e-7)
    best = min(
        np.abs(floor + np.array(step) - values).sum()
        for step in product((0, 1), repeat=8)
        if (family.matrix @ (floor + np.array(step)) == family.least).all()
    )
    assert np.abs(found - values).sum() == pytest.approx(best, abs=1e-5)


@pytest.mark.parametrize("seed", range(10))
def test_nonnegative_values_are_the_nearest(seed: int) -> None:
    """No move that keeps all sums comes nearer: the gradient is along the constraints or into the negative."""
    family = small_family(seed)
    values = nonnegative_estimate(family)
    gap = np.linalg.norm(values - family.target)
    turn = np.array([1.0, -1, 0, 0, -1, 1, 0, 0])
    swaps = [np.roll(turn.reshape(2, 4), shift, axis=1).reshape(-1) for shift in range(4)]
    for swap in (*swaps, *(-one for one in swaps)):
        step = values + 1e-3 * swap
        if step.min() >= 0:
            assert np.linalg.norm(step - family.target) >= gap - 1e-6


@pytest.mark.parametrize("seed", range(5))
def test_leaving_out_what_must_be_zero_changes_nothing(seed: int) -> None:
    """An area has nobody in two of twelve cells; a margin that should stay put pulls at the others."""
    random = numpy_generator(seed)
    true = random.poisson(2, size=(3, 12)).astype(np.int64)
    true[:, [2, 7]] = 0
    target = true + random.normal(0, 1.5, true.shape)
    totals = true.sum(axis=1, keepdims=True)
    weights = {DETAILED: np.ones((3, 12)), SEX_AGE: np.full((3, 6), 5.0)}
    family = SiblingMatrices(KINDS, DETAILED).problem(
        true.sum(axis=0), [MarginLimit(TOTAL, totals, totals)], (), np.zeros(12, dtype=bool), target, weights
    )
    gone = np.tile(true.sum(axis=0) == 0, 3)
    assert nonnegative_estimate(family)[~gone] == pytest.approx(nonnegative_estimate(family.without(gone)), abs=1e-5)


def test_a_family_without_a_solution_is_refused() -> None:
    family = small_family(1)
    more = family.least + (np.arange(len(family.least)) == 0)
    with pytest.raises(Infeasible, match="no counts satisfy all constraints"):
        nonnegative_estimate(replace(family, least=more, most=more))
    with pytest.raises(Infeasible, match="no integer counts satisfy all constraints"):
        round_to_integers(replace(family, least=more, most=more), np.maximum(family.target, 0))


@pytest.mark.statistical
def test_standard_errors_hold_where_noise_is_mostly_zero() -> None:
    """With a variance parameter of a quarter, a seventh of the variance is missing; false alarms below 1e-6."""
    spine = uneven_spine(1, depth=1)
    split = {"total": "1/2", "detailed": "1/2"}
    design, counts, draws = designed(spine, rho=Fraction(16), split=split), people(spine, 3), 400
    asked = [
        {query: (KINDS.margin(counts[level], query), each) for query, each in design.measured(level).items()}
        for level in range(2)
    ]
    true, errors = exact_counts(design, counts), []
    for _ in range(draws):
        noisy = tuple({query: add_noise(*each) for query, each in level.items()} for level in asked)
        found = fit(design, Measurements(noisy, true))
        errors.append(found.estimate(1) - counts[1])
    stated = found.standard_error(1, DETAILED)  # of the design, whatever was drawn
    squares = [float(((error / stated) ** 2).mean()) for error in errors]
    assert design.measured(1)[DETAILED] == Fraction(1, 4)
    assert abs(np.mean(squares) - 1) < 6 * float(np.std(squares)) / math.sqrt(draws)
