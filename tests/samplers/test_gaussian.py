"""Discrete Gaussian noise: its law, its guarantee, and what it refuses."""

import inspect
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare

from safemargin.core import InputError, epsilon_of
from safemargin.samplers.gaussian import DiscreteGaussian, vector_gaussian

ALARM = 1e-8
"""False-alarm rate of one statistical check; the tests here make fewer than a hundred, so they alarm below 1e-6."""

DRAWS = 50_000
COUNTS = np.full(DRAWS, 1000)


@pytest.mark.statistical
@pytest.mark.parametrize("scale", [0.5, 1.0, 3.18, 10.0])
def test_discrete_gaussian_noise_follows_the_law(scale: float) -> None:
    """Chi-square over all values, rare ones together; false alarms below 1e-6."""
    mechanism = DiscreteGaussian(scale)
    noise = np.array(vector_gaussian(Fraction(scale) ** 2)(COUNTS.tolist())) - 1000
    edge = math.ceil(8 * scale)
    assert abs(noise).max() <= edge, "beyond eight standard deviations: probability below 1e-9"
    check(noise, [mechanism.law(k) for k in range(-edge, edge + 1)], edge)


def check(noise: np.ndarray, law: list[float], edge: int) -> None:
    seen = np.bincount(noise + edge, minlength=2 * edge + 1)
    expected = DRAWS * np.array(law)
    often = expected >= 50
    observed = [*seen[often], seen[~often].sum()]
    wanted = [*expected[often], DRAWS - expected[often].sum()]
    if wanted[-1] < 1:
        assert observed[-1] <= 20
        observed, wanted = observed[:-1], wanted[:-1]
    assert chisquare(observed, np.array(wanted) * sum(observed) / sum(wanted)).pvalue > ALARM


def test_zero_concentrated_privacy() -> None:
    """Figures of the 2020 census: rho 2.556226 is epsilon 17.14, and with 0.074944 more 17.44, at delta 1e-10."""
    assert epsilon_of(293764 / 114921, 1e-10) == pytest.approx(17849145 / 1041158, abs=5e-3)
    assert epsilon_of(293764 / 114921 + 11417641 / 152349649, 1e-10) == pytest.approx(17.44, abs=5e-3)
    assert DiscreteGaussian(10.0).variance == pytest.approx(100, rel=1e-9)
    assert vector_gaussian(Fraction(4)).map(1.0) == pytest.approx(0.125, rel=1e-9)  # type: ignore[no-untyped-call]


@pytest.mark.parametrize(("scale", "delta"), [(1.0, 1e-6), (3.0, 1e-4)])
def test_the_epsilon_of_the_discrete_gaussian_holds(scale: float, delta: float) -> None:
    mechanism = DiscreteGaussian(scale)
    epsilon = epsilon_of(1 / (2 * scale**2), delta)
    factor = math.exp(epsilon)
    values = range(-60, 61)
    assert math.fsum(max(0.0, mechanism.law(k) - factor * mechanism.law(k - 1)) for k in values) <= delta


@pytest.mark.parametrize("value", [0.0, -1.0, math.inf, math.nan])
def test_the_scale_must_be_positive_and_finite(value: float) -> None:
    with pytest.raises(InputError, match="must be positive and finite"):
        DiscreteGaussian(value)


def test_other_bad_parameters() -> None:
    assert list(inspect.signature(vector_gaussian).parameters) == ["variance"], "no seed can be given"
    with pytest.raises(InputError, match="delta = 1"):
        epsilon_of(1.0, 1.0)
    with pytest.raises(InputError, match="rho = 0"):
        epsilon_of(0, 0.1)
