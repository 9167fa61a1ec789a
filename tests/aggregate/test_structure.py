"""The paper's hardness quantities against their definitions, and where its counts are wrong."""

import json
from pathlib import Path

import numpy as np
import pytest

from hardness import feasible_tuples, likely_candidates, mixed_discriminant
from safemargin.aggregate.api import structure
from safemargin.aggregate.attacks import permanent
from safemargin.aggregate.mask import Mask, mask_bits
from safemargin.aggregate.matrix_structure import (
    candidates,
    decompose,
    hit_rate,
    interior_rate,
    support_size,
)
from safemargin.core import InputError, IntArray

EXAMPLE = json.loads((Path(__file__).parent.parent / "vectors" / "polyveil_example.json").read_text())
MASK = Mask(2, 2, EXAMPLE["unit"], EXAMPLE["scale"])
MATRICES = [np.array(matrix) for matrix in EXAMPLE["matrices"]]


def seeded(seed: int):  # type: ignore[no-untyped-def]
    generator = np.random.default_rng(seed)
    return lambda bound, shape: generator.integers(0, bound, size=shape)


def test_candidates_of_the_example() -> None:
    assert [len(candidates(MASK, matrix)) for matrix in MATRICES] == [2, 9, 9]
    with pytest.raises(InputError, match="at most 6"):
        candidates(MASK, np.ones((8, 8), dtype=np.int64))


def test_likelihood_of_the_example() -> None:
    """Clients 1 and 3 have one explanation, the truth; client 2 has four, because one weight equals the unit."""
    explained = [likely_candidates(MASK, matrix) for matrix in MATRICES]
    assert set(explained[0]) == {(1, 0)} and explained[0][1, 0] == 2
    assert set(explained[2]) == {(0, 1)}
    assert len(explained[1]) == 4


def test_mixed_discriminants() -> None:
    rows = [[1, 2, 3], [4, 5, 6], [7, 8, 10]]
    assert mixed_discriminant([np.diag(row) for row in rows]) == permanent(np.array(rows)) == 463
    assert mixed_discriminant([np.eye(4, dtype=np.int64)] * 4) == 24


def example_6_11() -> IntArray:
    """The paper's matrix in tenths: a support of four permutations."""
    return np.array([[4, 6, 0, 0], [6, 4, 0, 0], [0, 0, 3, 7], [0, 0, 7, 3]])


def test_feasible_tuples_are_fewer_than_the_paper_counts() -> None:
    """Example 6.11: 4^3 = 64 tuples lie in the support, 12 of them are feasible; 96 of 256 with four decoys."""
    matrix = example_6_11()
    assert support_size(matrix) == 4
    assert [feasible_tuples(matrix, count) for count in (2, 3, 4)] == [0, 12, 96]


def test_decomposition_is_exact_and_short() -> None:
    generator = np.random.default_rng(3)
    for _ in range(10):
        bits = int(generator.integers(1, 5))
        mask = Mask(bits, int(generator.integers(2, 8)))
        matrix = mask_bits(mask, generator.integers(0, 2, size=(1, bits)), seeded(int(generator.integers(99)))).matrix(
            0
        )
        size, terms = len(matrix), list(decompose(matrix))
        total = np.zeros_like(matrix)
        for weight, columns in terms:
            total[np.arange(size), list(columns)] += weight
        assert (total == matrix).all() and len(terms) <= size**2 - 2 * size + 2
    with pytest.raises(InputError, match="not doubly stochastic"):
        list(decompose(np.array([[1, 1], [0, 0]])))


def test_interior_condition() -> None:
    """At n = 10, K = 20 no matrix is interior, though the paper calls these parameters typical."""
    assert interior_rate(Mask(10, 20), 40, seeded(1)) == 0.0


def test_structure_in_one_report() -> None:
    report = structure(bits=2, weights=6, draws=20)
    assert report.values["permutations in the support"] <= 24
    assert report.values["terms of a Birkhoff decomposition"] <= report.values["most terms (Marcus and Ree)"] == 10
    assert "hit rate, positive weights" in report.to_text()


@pytest.mark.slow
def test_interior_condition_with_many_decoys() -> None:
    assert interior_rate(Mask(10, 2000), 20, seeded(1)) > 0.9


@pytest.mark.slow
def test_hit_rates() -> None:
    """J/4 with positive weights: .081 at 18 decoys and .841 at 36; weights of zero allowed: .82 at 18."""
    assert hit_rate(2, 18, 400, draw=seeded(2)) == pytest.approx(0.081, abs=0.05)
    assert hit_rate(2, 36, 300, draw=seeded(3)) == pytest.approx(0.841, abs=0.08)
    assert hit_rate(2, 18, 300, strict=False, draw=seeded(4)) == pytest.approx(0.82, abs=0.08)
