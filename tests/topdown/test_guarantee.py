"""Epsilon of a TopDown release from the losses of all its counts."""

import math
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from safemargin.guarantees.conversion import published_epsilon, tight_epsilon
from safemargin.guarantees.guarantee_file import document, guarantee_from
from safemargin.topdown.attributes import Attributes, Grouping
from safemargin.topdown.design import Design, build_spine
from safemargin.topdown.guarantee import compose_earlier, derive_guarantee, summarise
from spines import designed

pytestmark = pytest.mark.full

TOWNS = build_spine(["land", "town"], "land", [("a",), ("b",)])
KINDS = Attributes(
    ("sex", "age"),
    (("f", "m"), ("young", "mid", "old")),
    (Grouping("voting", 1, ("no", "yes"), (0, 1, 1)),),
)
EVERY = [
    np.bincount(cells, minlength=12).reshape(2, 6).astype(np.int64)
    for cells in combinations_with_replacement(range(12), 2)
]
"""All tables of two people in two towns with six cells each."""


def moved_counts(design: Design, one: int, other: int) -> tuple[float, ...] | None:
    """Noise variances of the counts in which two tables differ, if they agree on all that is exact."""
    both = TOWNS.counts(EVERY[one]), TOWNS.counts(EVERY[other])
    found: list[float] = []
    for level, (mine, theirs) in enumerate(zip(*both, strict=True)):
        apart = mine - theirs
        if any(KINDS.margin(apart, query).any() for place, query in design.exact if place == level):
            return None
        for query, variance in design.measured(level).items():
            steps = np.abs(KINDS.margin(apart, query))
            assert steps.max() <= 1 and steps.sum() <= 2
            found += [float(variance)] * int(steps.sum())
    return tuple(sorted(found))


def delta_of(moved: tuple[float, ...], epsilon: float) -> float:
    """By going through all noise; equal losses are put together."""
    losses, chances = np.zeros(1), np.ones(1)
    for variance in moved:
        reach = math.ceil(14 * math.sqrt(variance)) + 4
        noise = np.arange(-reach, reach + 1)
        law = np.exp(-(noise**2) / (2 * variance))
        every = np.add.outer(losses, (1 - 2 * noise) / (2 * variance)).ravel()
        losses, place = np.unique(every.round(9), return_inverse=True)
        chances = np.bincount(place, np.multiply.outer(chances, law / law.sum()).ravel())
    over = losses > epsilon
    return float(chances[over] @ -np.expm1(epsilon - losses[over]))


@pytest.mark.parametrize("rho", ["1/3", "2", "30"])
@pytest.mark.parametrize(
    ("split", "exact", "most"),
    [
        ({"voting": "1/3", "detailed": "2/3"}, ((0, "total"),), 8),
        ({"sex": "1/4", "sex*voting": "1/4", "detailed": "1/2"}, ((0, "total"), (0, "sex")), 10),
        ({"total": "1/4", "voting": "1/4", "detailed": "1/2"}, ((0, "total"), (1, "voting")), 4),
    ],
)
def test_epsilon_by_losses_holds_for_all_neighbours(
    rho: str, split: dict[str, str], exact: tuple[tuple[int, str], ...], most: int
) -> None:
    """Over all tables that differ in one record and agree on what is exact. Where every query moves, it is attained."""
    design = designed(TOWNS, exact, rho=Fraction(rho), split=split, kinds=KINDS)
    summary = summarise(design, False)
    epsilon, delta = summary["epsilon_by_losses"], design.delta
    assert isinstance(epsilon, float) and epsilon <= tight_epsilon(float(design.rho_squared), delta)
    pairs = [
        (one, other)
        for one, other in product(range(len(EVERY)), repeat=2)
        if np.abs(EVERY[one] - EVERY[other]).sum() == 2
    ]
    cases = {case for case in (moved_counts(design, *pair) for pair in pairs) if case is not None}
    assert max(map(len, cases)) == most
    deltas = {case: delta_of(case, epsilon) for case in cases}
    assert max(deltas.values()) <= delta
    if most == sum(design.moved.values()):
        assert max(delta_of(case, epsilon * (1 - 2e-3)) for case in cases) > delta


def test_every_exact_count_is_named() -> None:
    exact = ((0, "total"), (0, "sex*voting"), (1, "total"), (1, "age"))
    design = designed(TOWNS, exact, kinds=KINDS, split={"detailed": "1"})
    stated = summarise(design, True)["invariants"]
    assert stated == [
        "number of all people", "sex*voting of all people", "total of every town", "age of every town",
        "which areas of level town have people",
    ]  # fmt: skip


def test_noise_of_any_size_has_an_epsilon() -> None:
    """From noise that is nearly never there to noise of a variance that cannot be listed."""
    for rho in ("1e12", "5000", "1e-11"):
        design = designed(TOWNS, rho=Fraction(rho) / 4, kinds=KINDS, split={"detailed": "1"})
        summary = summarise(design, False)
        epsilon, loose = summary["epsilon_by_losses"], summary["epsilon"]
        assert isinstance(epsilon, float) and isinstance(loose, float)
        assert 0 < epsilon <= loose == published_epsilon(float(design.rho_squared), design.delta)


def test_earlier_releases_are_not_omitted() -> None:
    """What the losses of this release give stands beside the epsilon of all together, which is larger."""
    design = designed(TOWNS, kinds=KINDS, split={"detailed": "1"})
    alone = summarise(design, False)
    both = summarise(design, False, compose_earlier(design, False, [derive_guarantee(design, False)]))
    assert both["epsilon_by_losses"] == alone["epsilon_by_losses"]
    assert both["with_earlier"] == {"rho_squared": "1", "epsilon": published_epsilon(1.0, design.delta)}


@pytest.mark.parametrize("areas_from_data", [True, False])
def test_the_guarantee_follows_by_rules(areas_from_data: bool) -> None:
    """Budgets are fractions that add up to rho, every node names its rule, and a file says the same."""
    exact = ((0, "total"), (0, "sex*voting"), (1, "age"))
    design = designed(TOWNS, exact, rho=Fraction(104, 4099), split={"sex": "1/3", "detailed": "2/3"}, kinds=KINDS)
    guarantee = derive_guarantee(design, areas_from_data)
    assert guarantee_from(document(guarantee), "guarantee") == guarantee
    assert (guarantee.rule, guarantee.budget, guarantee.measure) == ("post-processing", Fraction(104, 4099), "zcdp")
    (measured,) = guarantee.premises
    assert measured.rule == "composition" and len(measured.premises) == 5
    *noisy, free = measured.premises
    variances = [variance for level in range(2) for variance in design.measured(level).values()]
    assert [each.budget for each in noisy] == [1 / variance for variance in variances]
    assert sum(1 / variance for variance in variances) == guarantee.budget
    assert (free.budget, free.rule) == (0, "invariants are free (Proposition 1)")
    assert all(each.rule.startswith("discrete Gaussian noise") for each in noisy)
    assert {each.flavour for each in (guarantee, measured, *noisy, free)} == {guarantee.flavour}
    assert guarantee.population.determines == (("age", "voting"),)
