"""Composition, means within another distance, zeros without noise: each against its definition."""

import itertools
import math

import pytest
from scipy.stats import binom

from safemargin.core import InputError
from safemargin.noise import average, composition, exploit, truncated
from safemargin.noise.composition import advanced_epsilon


@pytest.mark.parametrize(("outputs", "epsilon"), [(10, 0.1), (100, 0.1), (400, 0.05), (60, 0.5), (5, 1.0)])
def test_randomised_response_keeps_to_the_law(outputs: int, epsilon: float) -> None:
    """Its exact delta after many outputs: among all pure mechanisms it loses most (Kairouz, Oh and Viswanath 2015)."""
    delta = 1e-5
    together = advanced_epsilon(outputs, epsilon, delta)
    assert together <= outputs * epsilon
    true = math.exp(epsilon) / (1 + math.exp(epsilon))
    exact = 0.0
    for kept in range(outputs + 1):
        one, other = binom.pmf(kept, outputs, true), binom.pmf(kept, outputs, 1 - true)
        exact += max(0.0, one - math.exp(together) * other)
    assert exact <= delta


def test_shares_of_an_epsilon_keep_to_it() -> None:
    found = composition(2775, 1.0, 1e-9)
    one = found.details["epsilon_each"]
    assert advanced_epsilon(2775, float(str(one)), 1e-9) == pytest.approx(1.0, rel=1e-9)
    assert found.details["deviation_by_sum"] == pytest.approx(3924.44, abs=0.01)
    large, small = (composition(n, 1.0, 1e-6).details["deviation_by_root"] for n in (40_000, 10_000))
    assert float(str(large)) / float(str(small)) == pytest.approx(2, rel=0.01)  # the square root of four
    assert composition(1, 0.7, 1e-6).details["epsilon_each"] == 0.7
    with pytest.raises(InputError, match="must be below 1 / people"):
        composition(10, 1.0, 1e-3, people=5_000)


def test_zeros_without_noise_by_listing_true_counts() -> None:
    """All true counts whose noise is within the bound, where counts of nobody have none."""
    for counts, total, bound in (((3, 0), 8, 5), ((1, 0, 2), 4, 2), ((2, 2), 3, 1), ((0, 0), 1, 1)):
        fits = [
            true
            for true in itertools.product(range(20), repeat=len(counts))
            if all(abs(t - c) <= bound and (t > 0 or c == 0) for t, c in zip(true, counts, strict=True))
            and abs(sum(true) - total) <= bound
        ]
        expected = [[min(t[i] for t in fits), max(t[i] for t in fits)] for i in range(len(counts))]
        expected.append([min(map(sum, fits)), max(map(sum, fits))])
        assert exploit(counts, total, bound, zeros=True).details["intervals"] == expected
    assert exploit([3, 0], 8, 5).details["intervals"] != exploit([3, 0], 8, 5, zeros=True).details["intervals"]


def test_means_within_another_distance() -> None:
    """The chance that a Gaussian of variance 0.2 stays within 1, a bound for every law, and a histogram of 21 cells."""
    found = average(kt2=0.1, variance=2, within=1.0, cells=21, samples=4_000)
    assert found.value == pytest.approx(math.erf(1 / math.sqrt(0.4)))
    assert found.details["chebyshev"] == pytest.approx(0.8)
    assert found.details["all_cells"] == pytest.approx(float(str(found.value)) ** 21)
    simulated = found.details["simulated"]
    assert isinstance(simulated, dict) and simulated["rate"] == pytest.approx(float(str(found.value)), abs=0.03)


def test_delta_above_one_in_the_people_is_said() -> None:
    assert "1 in 5,000" in truncated(0.5, bound=12, people=5_000).sentence
    assert "1 in 500" not in truncated(0.5, bound=12, people=500).sentence
