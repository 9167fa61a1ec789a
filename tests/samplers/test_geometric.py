"""Two-sided geometric noise: its law, its guarantee, and what it refuses."""

import inspect
import math

import numpy as np
import pytest
from scipy.stats import binomtest, chisquare

from safemargin.core import InputError
from safemargin.samplers.geometric import Geometric

ALARM = 1e-8
"""False-alarm rate of one statistical check; each test makes fewer than a hundred, so it alarms below 1e-6."""


def law(epsilon: float, k: int) -> float:
    q = math.exp(-epsilon)
    return (1 - q) / (1 + q) * q ** abs(k)


def proved_loss(mechanism: Geometric, distance: int) -> float:
    return float(mechanism.measurement.map(distance))  # type: ignore[no-untyped-call]


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.5])
def test_noise_follows_the_law(epsilon: float) -> None:
    """Chi-square over the values expected at least 50 times and two tails; false alarms below 1e-6."""
    draws = 100_000
    noise = Geometric(epsilon).protect(np.full(draws, 1000)) - 1000
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
    assert list(inspect.signature(Geometric.protect).parameters) == ["self", "counts"]
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
