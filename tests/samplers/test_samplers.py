"""Laplace, truncated and discrete Gaussian noise: their laws, their promises, and what they refuse."""

import inspect
import math

import numpy as np
import pytest
from scipy.stats import chisquare, kstest

from safemargin.core.errors import InputError
from safemargin.core.guarantee import epsilon_of
from safemargin.samplers.gaussian import DiscreteGaussian
from safemargin.samplers.laplace import Laplace
from safemargin.samplers.truncated import TruncatedGeometric, TruncatedLaplace

ALARM = 1e-8
"""False-alarm rate of one statistical check; the tests here make fewer than a hundred, so they alarm below 1e-6."""

DRAWS = 50_000
COUNTS = np.full(DRAWS, 1000)


@pytest.mark.statistical
@pytest.mark.parametrize(("epsilon", "bound"), [(0.3, 3), (0.5, 12), (1.5, 7), (2.0, 1)])
def test_truncated_geometric_noise_follows_the_law(epsilon: float, bound: int) -> None:
    """Chi-square over all values, rare ones together; false alarms below 1e-6."""
    mechanism = TruncatedGeometric(epsilon, bound)
    noise = mechanism.protect(COUNTS) - 1000
    assert abs(noise).max() <= bound
    check(noise, [mechanism.law(k) for k in range(-bound, bound + 1)], bound)


@pytest.mark.statistical
@pytest.mark.parametrize("scale", [0.5, 1.0, 3.18, 10.0])
def test_discrete_gaussian_noise_follows_the_law(scale: float) -> None:
    """Chi-square over all values, rare ones together; false alarms below 1e-6."""
    mechanism = DiscreteGaussian(scale)
    noise = mechanism.protect(COUNTS) - 1000
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


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", [0.2, 1.0])
def test_real_noise_follows_the_law(epsilon: float) -> None:
    """Kolmogorov-Smirnov for Laplace noise and its truncation; false alarms below 1e-6."""
    few = COUNTS[:15_000]
    noise = Laplace(epsilon).protect(few) - 1000
    assert kstest(noise, "laplace", args=(0, 1 / epsilon)).pvalue > ALARM
    truncated = TruncatedLaplace(epsilon, 5.0)
    noise = truncated.protect(few) - 1000
    assert abs(noise).max() <= 5
    assert kstest(noise, np.vectorize(truncated.cumulative)).pvalue > ALARM


@pytest.mark.parametrize(("epsilon", "bound"), [(0.5, 7), (1.5, 12), (0.1, 2)])
@pytest.mark.parametrize("shift", [1, 2, 5, 40])
def test_delta_of_truncated_noise_is_that_of_the_definition(epsilon: float, bound: int, shift: int) -> None:
    mechanism = TruncatedGeometric(epsilon, bound)
    values = range(-bound, bound + shift + 1)
    assert math.fsum(mechanism.law(k) for k in values) == pytest.approx(1, abs=1e-12)
    factor = math.exp(shift * epsilon)
    excess = math.fsum(max(0.0, mechanism.law(k) - factor * mechanism.law(k - shift)) for k in values)
    assert mechanism.delta(shift) == pytest.approx(excess, rel=1e-9)
    promise = mechanism.guarantee(shift)
    assert promise.epsilon == shift * epsilon and promise.delta == mechanism.delta(shift)
    assert mechanism.variance == pytest.approx(math.fsum(k * k * mechanism.law(k) for k in values))


def test_delta_of_truncated_laplace_noise_is_the_mass_at_the_edge() -> None:
    mechanism = TruncatedLaplace(0.5, 7.0)
    mass = math.exp(-0.5 * 6) - math.exp(-0.5 * 7)
    assert mechanism.delta() == pytest.approx(mass / (2 * (1 - math.exp(-3.5))))
    assert mechanism.delta(14.0) == 1.0 and mechanism.guarantee(2).delta == mechanism.delta(2)
    assert mechanism.cumulative(-7) == 0 and mechanism.cumulative(7) == 1 and mechanism.cumulative(0) == 0.5


def test_several_counts_lose_no_more_than_one() -> None:
    """A change spread over counts adds deltas of smaller shifts, whose sum is at most that of the whole shift."""
    mechanism = TruncatedGeometric(0.7, 6)
    for shift in range(2, 6):
        assert mechanism.delta(shift) >= mechanism.delta(shift - 1) + mechanism.delta(1) - 1e-15


def test_zero_concentrated_privacy() -> None:
    """Figures of the 2020 census: rho 2.556226 is epsilon 17.14, and with 0.074944 more 17.44, at delta 1e-10."""
    assert epsilon_of(293764 / 114921, 1e-10) == pytest.approx(17849145 / 1041158, abs=5e-3)
    assert epsilon_of(293764 / 114921 + 11417641 / 152349649, 1e-10) == pytest.approx(17.44, abs=5e-3)
    promise = DiscreteGaussian(2.0).guarantee(squares=2, delta=1e-6)
    assert promise.rho == 0.25 and promise.delta == 1e-6 and promise.epsilon == epsilon_of(0.25, 1e-6)
    assert DiscreteGaussian(10.0).variance == pytest.approx(100, rel=1e-9)
    assert DiscreteGaussian(2.0).measurement.map(1) == pytest.approx(0.125, rel=1e-9)  # type: ignore[no-untyped-call]


@pytest.mark.parametrize(("scale", "delta"), [(1.0, 1e-6), (3.0, 1e-4)])
def test_the_epsilon_of_the_discrete_gaussian_holds(scale: float, delta: float) -> None:
    mechanism = DiscreteGaussian(scale)
    epsilon = mechanism.guarantee(1, delta).epsilon
    assert epsilon is not None
    factor = math.exp(epsilon)
    values = range(-60, 61)
    assert math.fsum(max(0.0, mechanism.law(k) - factor * mechanism.law(k - 1)) for k in values) <= delta


def test_laplace_in_words() -> None:
    assert Laplace(0.5).guarantee(2).epsilon == 1.0 and Laplace(0.5).mean_size == 2.0
    assert Laplace(2.0).density(0.0) == 1.0
    assert Laplace(0.5).measurement.map(1.0) == pytest.approx(0.5, rel=1e-9)  # type: ignore[no-untyped-call]


@pytest.mark.parametrize("value", [0.0, -1.0, math.inf, math.nan])
def test_parameters_must_be_positive_and_finite(value: float) -> None:
    for make in (Laplace, DiscreteGaussian, lambda x: TruncatedGeometric(x, 3), lambda x: TruncatedLaplace(x, 3)):
        with pytest.raises(InputError, match="must be positive and finite"):
            make(value)
    with pytest.raises(InputError, match="bound"):
        TruncatedLaplace(1.0, value)


def test_other_bad_parameters() -> None:
    with pytest.raises(InputError, match="bound = 0.*nearest is 1"):
        TruncatedGeometric(1.0, 0)
    for mechanism in (Laplace(1.0), TruncatedGeometric(1.0, 3), TruncatedLaplace(1.0, 3.0), DiscreteGaussian(1.0)):
        with pytest.raises(InputError, match="nearest is 1"):
            mechanism.guarantee(0)
        assert list(inspect.signature(mechanism.protect).parameters) == ["counts"], "no seed can be given"
        assert mechanism.protect(np.zeros((2, 3), dtype=np.int64)).shape == (2, 3)
    with pytest.raises(InputError, match="delta = 1"):
        epsilon_of(1.0, 1.0)
    with pytest.raises(InputError, match="rho = 0"):
        epsilon_of(0, 0.1)
