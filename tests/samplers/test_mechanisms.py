"""Geometric and discrete Gaussian noise, by both samplers: laws, guarantees, and what they refuse."""

import inspect
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binomtest, chisquare

from safemargin.core import InputError, epsilon_of
from safemargin.samplers import SAMPLERS, DiscreteGaussian, Geometric

pytestmark = pytest.mark.full

ALARM = 1e-8
"""False-alarm rate of one statistical check; each test makes fewer than a hundred, so it alarms below 1e-6."""


def law(epsilon: float, k: int) -> float:
    q = math.exp(-epsilon)
    return (1 - q) / (1 + q) * q ** abs(k)


def proved_loss(mechanism: Geometric, distance: int) -> float:
    return float(mechanism.measurement.map(distance))  # type: ignore[no-untyped-call]


@pytest.mark.statistical
@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.5])
def test_noise_follows_the_law(epsilon: float, sampler: str) -> None:
    """Chi-square over the values expected at least 50 times and two tails; false alarms below 1e-6."""
    draws = 100_000
    noise = Geometric(epsilon).protect(np.full(draws, 1000), sampler) - 1000
    edge = 0
    while draws * law(epsilon, edge + 1) >= 50:
        edge += 1
    centre = [law(epsilon, k) for k in range(-edge, edge + 1)]
    tail = (1 - sum(centre)) / 2
    seen = [np.sum(noise == k) for k in range(-edge, edge + 1)]
    observed = np.array([np.sum(noise < -edge), *seen, np.sum(noise > edge)])
    expected = draws * np.array([tail, *centre, tail])
    assert chisquare(observed, expected).pvalue > ALARM


@pytest.mark.statistical
def test_entries_are_independent() -> None:
    """The noise of neighbours has equal signs as often as independence says; false alarms below 1e-6."""
    pairs = Geometric(1.0).protect(np.zeros((50_000, 2), dtype=np.int64))
    zero = law(1.0, 0)
    equal = zero**2 + 2 * ((1 - zero) / 2) ** 2
    agree = int(np.sum(np.sign(pairs[:, 0]) == np.sign(pairs[:, 1])))
    assert binomtest(agree, len(pairs), equal).pvalue > ALARM


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 0.3, 0.7, 1.0, math.pi, 20.0])
def test_opendp_proves_no_more_loss_than_guaranteed(epsilon: float) -> None:
    mechanism = Geometric(epsilon)
    assert proved_loss(mechanism, 1) <= epsilon
    assert proved_loss(mechanism, 1) == pytest.approx(epsilon, rel=1e-12)
    stated = mechanism.guarantee(sensitivity=4).epsilon
    assert stated is not None
    assert proved_loss(mechanism, 4) <= stated * (1 + 1e-12)


def test_shape_is_kept_and_the_input_is_not_touched() -> None:
    counts = np.arange(12).reshape(3, 4)
    protected = Geometric(50.0).protect(counts)
    assert protected.shape == (3, 4) and protected.dtype == np.int64
    assert (protected == counts).all(), "at epsilon 50 any noise on twelve counts has probability below 1e-20"
    assert (counts == np.arange(12).reshape(3, 4)).all()
    assert Geometric(1.0).protect(np.zeros((0, 2), dtype=np.int64)).shape == (0, 2)


def test_no_call_can_repeat_the_noise() -> None:
    assert list(inspect.signature(Geometric.protect).parameters) == ["self", "counts", "sampler"], "no seed"
    zeros = np.zeros(200, dtype=np.int64)
    first, second = Geometric(0.1).protect(zeros), Geometric(0.1).protect(zeros)
    assert (first != second).any(), "200 equal draws at epsilon 0.1 have probability below 1e-300"


def test_variance_is_that_of_the_law() -> None:
    exact = sum(k * k * law(0.7, k) for k in range(-400, 401))
    assert Geometric(0.7).variance == pytest.approx(exact, rel=1e-12)


def test_guarantee_in_words() -> None:
    plain = Geometric(0.5).guarantee(sensitivity=2)
    assert plain.epsilon == 1.0 and plain.invariants == ()
    assert "epsilon 0.5" in plain.statement and "exp(1)" in plain.statement
    bound = Geometric(0.5).guarantee(sensitivity=4, invariants=("the total per option",))
    assert bound.epsilon == 2.0 and tuple(map(str, bound.invariants)) == ("the total per option",)
    assert bound.statement.endswith("what is exact: the total per option.")
    with pytest.raises(InputError, match="sensitivity = 0"):
        Geometric(0.5).guarantee(sensitivity=0)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.inf, math.nan, 5e-324])
def test_epsilon_must_be_positive_and_finite(epsilon: float) -> None:
    with pytest.raises(InputError, match="must be positive and finite"):
        Geometric(epsilon)


DRAWS = 50_000
COUNTS = np.full(DRAWS, 1000)


@pytest.mark.statistical
@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("scale", [0.5, 1.0, 3.18, 10.0])
def test_discrete_gaussian_noise_follows_the_law(scale: float, sampler: str) -> None:
    """Chi-square over all values, rare ones together; false alarms below 1e-6."""
    mechanism = DiscreteGaussian(Fraction(scale) ** 2)
    noise = mechanism.protect(COUNTS, sampler) - 1000
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
    """Figures of the 2020 census: rho² 2.556226 is epsilon 17.14, and with 0.074944 more 17.44, at delta 1e-10."""
    assert epsilon_of(293764 / 114921, 1e-10) == pytest.approx(17849145 / 1041158, abs=5e-3)
    assert epsilon_of(293764 / 114921 + 11417641 / 152349649, 1e-10) == pytest.approx(17.44, abs=5e-3)
    assert DiscreteGaussian(Fraction(100)).variance == pytest.approx(100, rel=1e-9)
    assert DiscreteGaussian(Fraction(4)).measurement.map(1.0) == pytest.approx(0.125, rel=1e-9)  # type: ignore[no-untyped-call]


@pytest.mark.parametrize(("scale", "delta"), [(1.0, 1e-6), (3.0, 1e-4)])
def test_the_epsilon_of_the_discrete_gaussian_holds(scale: float, delta: float) -> None:
    mechanism = DiscreteGaussian(Fraction(scale) ** 2)
    epsilon = epsilon_of(1 / (2 * scale**2), delta)
    factor = math.exp(epsilon)
    values = range(-60, 61)
    assert math.fsum(max(0.0, mechanism.law(k) - factor * mechanism.law(k - 1)) for k in values) <= delta


@pytest.mark.parametrize("value", [0.0, -1.0, math.inf, math.nan])
def test_the_parameter_must_be_positive_and_finite(value: float) -> None:
    with pytest.raises(InputError, match="must be positive and finite"):
        DiscreteGaussian(value)  # type: ignore[arg-type]


def test_other_bad_parameters() -> None:
    with pytest.raises(InputError, match="sampler = 'dice': must be one of inversion, opendp"):
        Geometric(1.0).protect(np.zeros(1, dtype=np.int64), "dice")
    with pytest.raises(InputError, match="delta = 1"):
        epsilon_of(1.0, 1.0)
    with pytest.raises(InputError, match="rho_squared = 0"):
        epsilon_of(0, 0.1)


def test_the_sampler_can_be_chosen_for_all_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAFEMARGIN_SAMPLER", "dice")
    with pytest.raises(InputError, match="sampler = 'dice'"):
        DiscreteGaussian(Fraction(4)).protect(np.zeros(1, dtype=np.int64))


def test_wide_noise_is_left_to_opendp() -> None:
    """Thresholds of noise that is this wide would take seconds; the variance is right within five deviations."""
    wide = Geometric(1e-4)
    assert not wide.exact_law.is_small and Geometric(0.01).exact_law.is_small
    assert not DiscreteGaussian(Fraction(10**9)).exact_law.is_small
    noise = wide.protect(np.zeros(2000, dtype=np.int64))
    assert float((noise**2).mean()) == pytest.approx(wide.variance, rel=5 * math.sqrt(5 / 2000))


@pytest.mark.statistical
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_bounded_noise_is_the_law_within_the_bound(sampler: str) -> None:
    """Chi-square against the law divided by its mass within the bound; false alarms below 1e-6."""
    for noise, weight in (
        (Geometric(0.5, bound=3), lambda k: math.exp(-0.5 * abs(k))),
        (DiscreteGaussian(Fraction(4), bound=3), lambda k: math.exp(-(k**2) / 8)),
    ):
        drawn = noise.protect(np.zeros(DRAWS, dtype=np.int64), sampler)
        whole = sum(map(weight, range(-3, 4)))
        check(drawn, [weight(k) / whole for k in range(-3, 4)], 3)
