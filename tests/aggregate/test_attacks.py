"""Attack rates as measured in the specification, and attacks against brute force."""

import json
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from evidence import EVERYTHING
from safemargin.aggregate.attacks import deshuffle, feasibility, measure_attacks, permanent, permanent_ranking
from safemargin.aggregate.mask import Mask, mask_bits

EXAMPLE = json.loads((Path(__file__).parent.parent / "vectors" / "polyveil_example.json").read_text())
MASK = Mask(2, 2, EXAMPLE["unit"], EXAMPLE["scale"])


def test_one_assignment_of_the_example_is_valid() -> None:
    values = [24, 28, 13]
    for case in EXAMPLE["assignments"]:
        sums = [(value - noise) / MASK.unit for value, noise in zip(values, case["noise"], strict=True)]
        assert all(s == int(s) and 0 <= s <= 2 for s in sums) == case["valid"]
    assert deshuffle(MASK, np.array(values), np.array([16, 7, 18])).tolist() == EXAMPLE["sums"]


def test_deshuffling_recovers_every_sum_of_200_clients() -> None:
    generator = np.random.default_rng(2)
    mask = Mask(10, 9)
    bits = generator.integers(0, 2, size=(200, 10))
    masked = mask_bits(mask, bits)
    noise = generator.permutation(masked.noise.sum(axis=1))
    assert deshuffle(mask, masked.values.sum(axis=1), noise).tolist() == bits.sum(axis=1).tolist()


def test_a_coarse_lattice_hides_who_is_who() -> None:
    """With one unit per bit many shuffles fit: the paper's probability 1 is a property of fine weights."""
    generator = np.random.default_rng(6)
    recovered = []
    for _ in range(20):
        mask = Mask(10, 9, unit=1, scale=40)
        bits = generator.integers(0, 2, size=(50, 10))
        masked = mask_bits(mask, bits)
        sums = deshuffle(mask, masked.values.sum(axis=1), generator.permutation(masked.noise.sum(axis=1)))
        recovered.append((sums >= 0).mean())
    assert np.mean(recovered) < 0.2


def test_feasibility_reads_the_first_client_of_the_example() -> None:
    assert feasibility(MASK, np.array(EXAMPLE["matrices"][0])).tolist() == [1.0, 0.0]


def test_permanent_by_definition() -> None:
    generator = np.random.default_rng(1)
    for size in range(1, 6):
        matrix = generator.integers(0, 4, size=(size, size))
        by_definition = sum(
            int(np.prod([matrix[row, column] for row, column in enumerate(columns)]))
            for columns in permutations(range(size))
        )
        assert permanent(matrix) == by_definition


def test_permanent_ranking_excludes_impossible_candidates() -> None:
    assert permanent_ranking(MASK, np.array(EXAMPLE["matrices"][0])).tolist() == [1.0, 0.0]


RATES = {  # specification, section 3.5; 200 clients there
    ("threshold", 9): 0.659,
    ("feasibility", 9): 0.935,
    ("zeros", 9): 0.598,
    ("hungarian", 9): 0.05,
    ("threshold", 20): 0.662,
    ("feasibility", 20): 0.884,
    ("zeros", 20): 0.340,
    ("hungarian", 20): 0.06,
}


@pytest.mark.slow
@pytest.mark.parametrize("weights", [9, 20])
def test_rates_on_matrices_are_those_of_the_specification(weights: int) -> None:
    """Seeded, so that there is no false alarm; the tolerance covers the specification's own 200 clients."""
    rates = {rate.name: rate for rate in measure_attacks("full", 10, weights, 200, seed=1)}
    for (name, decoys), expected in RATES.items():
        if decoys == weights:
            assert rates[name].rate == pytest.approx(expected, abs=0.035), name
    assert rates["clustering"].rate is not None and rates["clustering"].rate > 0.99
    assert rates["lattice"].rate == 1.0
    assert rates["de-shuffling"].rate == 1.0
    for rate in rates.values():
        if rate.rate is not None and rate.interval is not None:
            assert rate.interval[0] <= rate.rate <= rate.interval[1]


@pytest.mark.slow
def test_the_full_variant_protects_nothing_at_100_bits() -> None:
    rates = {rate.name: rate.rate for rate in measure_attacks("full", 100, 20, 30 if EVERYTHING else 10, seed=2)}
    assert rates["feasibility"] == pytest.approx(0.992, abs=0.02) and (rates["clustering"] or 0) > 0.995


def test_shares_resist_the_same_inspector() -> None:
    for rate in measure_attacks("shares", 10, 20, 500, seed=3):
        assert rate.interval is not None and rate.interval[0] < 0.5 < rate.interval[1]


def test_an_attack_that_is_not_tried_says_why() -> None:
    ranking = next(rate for rate in measure_attacks("two-layer", 4, 5, 5) if rate.name == "permanent ranking")
    assert ranking.rate is None and "not tried" in ranking.note
