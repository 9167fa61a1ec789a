"""Groups of categories as TopDown's queries, constraints and columns."""

from fractions import Fraction

import numpy as np
import pytest

from safemargin.errors import InputError
from safemargin.mechanisms.topdown.basis import Basis
from safemargin.mechanisms.topdown.least_squares import fit
from safemargin.model.attributes import Query
from safemargin.model.design import Design
from spines import GROUPED, dense_fit, designed, people, rounded_noise, summing, uneven_spine

SPLIT = {"total": "1/8", "voting": "1/8", "sex*helped": "1/8", "voting*housed": "1/8", "tenure": "1/8"}
SPLIT |= {"detailed": "3/8"}
TITLES = ["total", "sex", "voting", "helped", "housed", "age", "sex*voting", "helped*tenure", "voting*housed"]
TITLES += ["sex*helped*housed", "age*tenure", "detailed"]
QUERIES = {title: GROUPED.query(title) for title in TITLES}


def test_margins_are_named_and_summed() -> None:
    table = np.arange(30).reshape(1, 30)
    for title, query in QUERIES.items():
        assert GROUPED.title(query) == title
        assert (GROUPED.margin(table, query) == table @ summing(query, GROUPED).T.astype(np.int64)).all()
    assert GROUPED.labels(QUERIES["sex*voting"], 3) == "sex m, voting major"
    with pytest.raises(InputError, match=r"query 'age\*voting': must be .*, each once"):
        GROUPED.query("age*voting")


@pytest.mark.parametrize("one", TITLES)
def test_margins_are_ordered_by_what_they_determine(one: str) -> None:
    """Against the ranks of matrices: a margin determines another if its rows span those of the other."""

    def rank(*queries: Query) -> int:
        return int(np.linalg.matrix_rank(np.vstack([summing(query, GROUPED) for query in queries])))

    mine, table = QUERIES[one], np.arange(30).reshape(1, 30) ** 2
    for theirs in QUERIES.values():
        assert (mine <= theirs) == (rank(theirs) == rank(mine, theirs))
        both, either = mine & theirs, mine | theirs
        assert both <= mine and both <= theirs and mine <= either and theirs <= either
        assert all(query <= both for query in QUERIES.values() if query <= mine and query <= theirs)
        assert all(either <= query for query in QUERIES.values() if mine <= query and theirs <= query)
        if mine <= theirs:
            wide = GROUPED.margin(table, theirs)
            summed = np.bincount(GROUPED.groups(mine, theirs), wide[0], GROUPED.cells(mine))
            assert (summed == GROUPED.margin(table, mine)[0]).all()
            assert (GROUPED.margin(wide, mine, theirs) == GROUPED.margin(table, mine)).all()


def test_coordinates_lose_nothing() -> None:
    basis = Basis(GROUPED)
    values = np.arange(60.0).reshape(2, 30) ** 1.5
    coordinates = [each for each in basis.forward(values, GROUPED.detailed) if each is not None]
    assert basis.back(coordinates) == pytest.approx(values)
    assert sum(each[0].size for each in coordinates) == 30
    assert sum(float((each**2).sum()) for each in coordinates) == pytest.approx(float((values**2).sum()))
    assert basis.counts == (1, 4, 2), "only adult and mature are always in the same group"


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "exact",
    [
        ((0, "total"),),
        ((0, "total"), (1, "voting"), (2, "housed")),
        ((0, "sex*helped"), (2, "voting")),
        ((1, "helped*housed"), (1, "voting"), (2, "total")),
        ((1, "voting"), (1, "helped"), (1, "tenure")),
    ],
)
def test_estimates_are_those_of_dense_least_squares(seed: int, exact: tuple[tuple[int, str], ...]) -> None:
    spine = uneven_spine(seed, depth=2)
    check(designed(spine, exact, split=SPLIT, kinds=GROUPED), seed)


@pytest.mark.parametrize("tiny", [Fraction(1, 10**7), Fraction(1, 10**4)])
def test_shares_of_very_different_size_lose_no_digits(tiny: Fraction) -> None:
    spine = uneven_spine(2, depth=2)
    split = {"voting": str(tiny), "helped": "1/4", "housed": str(tiny), "detailed": str(Fraction(3, 4) - 2 * tiny)}
    check(designed(spine, ((0, "total"), (1, "helped")), split=split, kinds=GROUPED), 2)


def check(design: Design, seed: int) -> None:
    """Estimates and standard errors of every query against dense algebra."""
    measured = rounded_noise(design, people(design.spine, seed, kinds=GROUPED), seed)
    found = fit(design, measured)
    best, covariance, sums = dense_fit(design, measured)
    for level in range(len(design.spine.levels)):
        assert found.estimate(level) == pytest.approx(sums[level] @ best, abs=1e-6)
        for query in QUERIES.values():
            rows = np.kron(sums[level], summing(query, GROUPED))
            error = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", rows, covariance, rows), 0))
            assert found.standard_error(level, query).reshape(-1) == pytest.approx(error, abs=2e-5)
