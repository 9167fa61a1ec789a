"""Epsilon from the distribution of losses: never below what all outcomes give, and hardly above."""

import math

import numpy as np
import pytest

from safemargin.core import FloatArray, InputError
from safemargin.guarantees.census import PERSONS
from safemargin.guarantees.conversion import loss_epsilon, tight_epsilon


def delta_of(moved: dict[float, int], epsilon: float) -> float:
    """Delta by going through all noise on all counts."""
    losses, chances = np.zeros(1), np.ones(1)
    for variance, times in moved.items():
        reach = math.ceil(14 * math.sqrt(variance)) + 4
        noise = np.arange(-reach, reach + 1)
        law = np.exp(-(noise**2) / (2 * variance))
        law /= law.sum()
        for _ in range(times):
            losses = np.add.outer(losses, (1 - 2 * noise) / (2 * variance)).ravel()
            chances = np.multiply.outer(chances, law).ravel()
    over = losses > epsilon
    return float(chances[over] @ -np.expm1(epsilon - losses[over]))


@pytest.mark.parametrize(
    ("moved", "delta"),
    [
        ({0.05: 1}, 1e-3),
        ({0.1: 2}, 1e-6),
        ({0.5: 2}, 1e-6),
        ({1.0: 2}, 1e-10),
        ({0.3: 1, 2.0: 1}, 1e-8),
        ({0.7: 2, 3.5: 1}, 1e-5),
        ({100.0: 2}, 1e-6),
        ({40.0: 1, 900.0: 1}, 1e-9),
    ],
)
def test_epsilon_is_that_of_all_outcomes(moved: dict[float, int], delta: float) -> None:
    rho = sum(times / (2 * variance) for variance, times in moved.items())
    found = loss_epsilon(moved, delta)
    assert delta_of(moved, found) <= delta
    assert delta_of(moved, found * (1 - 1e-3)) > delta
    assert found <= tight_epsilon(rho, delta)


@pytest.mark.parametrize(("variance", "times", "delta"), [(0.04, 1200, 1e-2), (3.0, 1500, 1e-15), (90.0, 1000, 1e-6)])
def test_many_counts_are_never_understated(variance: float, times: int, delta: float) -> None:
    """All noise on all counts is one sum of noise: convolved directly, which adds nothing but positive numbers."""
    reach = math.ceil(math.sqrt(400 * variance)) + 1
    law = np.exp(-(np.arange(-reach, reach + 1.0) ** 2) / (2 * variance))
    each, whole, left = law / law.sum(), np.ones(1), times
    while left:
        whole = _trimmed(np.convolve(whole, each)) if left % 2 else whole
        left //= 2
        each = _trimmed(np.convolve(each, each)) if left else each
    losses = times / (2 * variance) + (np.arange(len(whole)) - len(whole) // 2) / variance
    found = loss_epsilon({variance: times}, delta)
    over = losses > found
    assert float(whole[over] @ -np.expm1(found - losses[over])) <= delta


def _trimmed(law: FloatArray) -> FloatArray:
    """Without what hardly ever happens, to both sides alike."""
    cut = int(np.flatnonzero(law > 1e-80)[0])
    return law[cut : len(law) - cut]


@pytest.mark.parametrize("variance", [1e3, 1e6])
def test_much_noise_is_not_left_to_rho(variance: float) -> None:
    rho = 1 / (2 * variance)
    assert delta_of({variance: 1}, loss_epsilon({variance: 1}, 1e-10)) <= 1e-10
    assert loss_epsilon({variance: 1}, 1e-10) < 0.97 * tight_epsilon(rho, 1e-10)


def test_noise_too_wide_to_list_is_bounded_by_rho() -> None:
    assert loss_epsilon({1e15: 3}, 1e-10) == tight_epsilon(1.5e-15, 1e-10)


def test_census_figure() -> None:
    """dp-accounting finds 16.47 for continuous noise, and at most 16.60 is proved for this noise elsewhere."""
    assert sum(PERSONS.moved.values()) == 130
    assert 16.46 < loss_epsilon(PERSONS.moved, 1e-10) < 16.50
    assert loss_epsilon(PERSONS.moved, 1e-10, points=1 << 16) >= loss_epsilon(PERSONS.moved, 1e-10)


@pytest.mark.parametrize("moved", [{}, {0.0: 1}, {1.0: 0}])
def test_bad_noise_is_refused(moved: dict[float, int]) -> None:
    with pytest.raises(InputError, match="losses: name the noise variance"):
        loss_epsilon(moved, 1e-6)
