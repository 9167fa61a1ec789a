"""The paper's figures, and the exact law beside them."""

import itertools
import math

import numpy as np
import pytest
from scipy.special import betaln

from safemargin.aggregate.mask import Mask, mask_bits
from safemargin.aggregate.privacy_figures import (
    NoiseLaw,
    Setting,
    approximate_shuffling_delta,
    cost_bits,
    exact_pair_delta,
    gaussian_delta,
    gaussian_epsilon,
    paper_curves,
    paper_figures,
    paper_full_figures,
    shuffling_epsilon,
    unsound_shuffling,
)
from safemargin.aggregate.shuffled import gaussian_pair_delta, pair_delta
from safemargin.core import FloatArray, InputError

pytestmark = pytest.mark.full

EPSILONS_79 = {2: 17.04, 5: 13.64, 9: 13.10, 10: 13.14, 20: 14.48, 50: 19.81, 100: 27.87, 500: 76.14, 1000: 125.48}
RENYI = {2: (8.434, 3.967), 5: (5.702, 6.502), 9: (4.504, 9.010), 20: (3.351, 14.25), 50: (2.487, 24.84)}
GAUSSIAN = {7.0: 1.160e-5, 7.5: 2.621e-6, 7.8: 1.021e-6, 8.0: 5.337e-7, 9.0: 1.615e-8}
EXACT = {(100, 7): 0.405, (100, 9): 0.454, (100, 20): 0.732, (10, 20): 2.506, (10, 50): 4.639}
ATOMS = {(100, 2): 7.95e-2, (100, 5): 7.15e-5, (100, 7): 7.6e-7, (100, 9): 8.5e-9, (10, 9): 7.2e-5}


def test_paper_figures_are_reproduced() -> None:
    for weights, epsilon in EPSILONS_79.items():
        assert paper_figures(Setting(100, weights))["epsilon_eq_79"] == pytest.approx(epsilon, abs=0.006)
    assert paper_figures(Setting(100, 2))["epsilon_eq_77"] == pytest.approx(196.05, abs=0.01)
    assert min(EPSILONS_79, key=lambda weights: paper_figures(Setting(100, weights))["epsilon_eq_79"]) == 9
    for weights, (order, epsilon) in RENYI.items():
        figures = paper_figures(Setting(100, weights))
        assert figures["renyi_order"] == pytest.approx(order, abs=0.001)
        assert figures["renyi_epsilon"] == pytest.approx(epsilon, abs=0.006)
    thousand = paper_figures(Setting(100, 1000))
    assert thousand["mmse_eq_87"] == pytest.approx(0.7605, abs=2e-4)
    assert thousand["mmse_eq_88"] == pytest.approx(0.7613, abs=2e-4)


def test_paper_full_figures_are_reproduced() -> None:
    figures = paper_full_figures(100)
    assert figures["weights"] == 39_602
    assert figures["slope"] == pytest.approx(5.7465e9, rel=1e-4)
    assert figures["alpha"] == pytest.approx(1.392e-10, rel=1e-3)
    assert figures["signal_to_noise_entry"] == pytest.approx(3.928e-7, rel=1e-3)
    assert figures["epsilon_at_visible_signal"] == pytest.approx(2.04e6, rel=2e-3)


def test_gaussian_delta_and_its_inverse() -> None:
    for epsilon, delta in GAUSSIAN.items():
        assert gaussian_delta(epsilon, 1.5) == pytest.approx(delta, rel=1e-3)
    assert gaussian_epsilon(1e-6, 1.5) == pytest.approx(7.8066, abs=1e-4)
    assert gaussian_epsilon(0.9, 0.1) == 0.0


def test_unsound_and_sound_shuffling() -> None:
    for clients, epsilon in ((100, 0.886), (1000, 0.372), (10_000, 0.133)):
        assert unsound_shuffling(7.83, clients, 1e-6) == pytest.approx(epsilon, abs=0.001)
    assert unsound_shuffling(math.inf, 1000, 1e-6) == pytest.approx(unsound_shuffling(20, 1000, 1e-6), abs=1e-6)
    assert shuffling_epsilon(7.8, 1000, 1e-6) is None
    small = shuffling_epsilon(1.0, 10**6, 1e-6)
    assert small is not None and small < 0.05
    assert approximate_shuffling_delta(0.37, 7.8, 1000, 1e-6, 1e-6) > 1e-3


def drawn_pair_delta(mu: float, clients: int, epsilon: float, draws: int) -> tuple[float, float]:
    """By drawing what a shuffler shows: the mean of exp(mu x - mu^2 / 2), where one client moved; with its error."""
    values = np.random.default_rng(1).standard_normal((draws, clients))
    values[:, 0] += mu
    gains = np.maximum(0.0, 1 - math.exp(epsilon) / np.exp(mu * values - mu * mu / 2).mean(axis=1))
    return float(gains.mean()), float(gains.std() / math.sqrt(draws))


def test_one_pair_of_inputs_refutes_the_unsound_bound() -> None:
    """Seeded. The paper claims delta 1e-6 at epsilon 0.37 with 1,000 clients; one pair has 1.6e-4, with K = 20 .028."""
    assert gaussian_pair_delta(1.5, 1000, 0.37) == pytest.approx(1.6e-4, rel=0.03)
    for mu, clients in ((1.5, 100), (2 * math.sqrt(20) / 4 * 400 / 399, 1000)):
        drawn, error = drawn_pair_delta(mu, clients, 0.37, 3_000)
        found = gaussian_pair_delta(mu, clients, 0.37)
        assert drawn - 5 * error < found * 1.05 and found < drawn + 5 * error


def test_delta_of_a_shuffled_pair_by_listing_what_is_seen() -> None:
    """Every multiset that three clients can show under both inputs, from the definition of delta."""
    generator = np.random.default_rng(2)
    for clients in (2, 3, 4):
        usual, moved = generator.dirichlet(np.ones(4), size=2)
        usual = np.append(usual * 0.9, 0.0)  # a tenth is atoms of its own, and the last value only the other law has
        moved = np.append(moved * 0.7, 0.2)
        before: dict[tuple[int, ...], float] = {}
        after: dict[tuple[int, ...], float] = {}
        one, other = np.append(usual, [0.1, 0.0]), np.append(moved, [0.0, 0.1])
        for seen in itertools.product(range(7), repeat=clients):
            key = tuple(sorted(seen))
            rest = float(np.prod([one[value] for value in seen[1:]]))
            before[key] = before.get(key, 0.0) + float(one[seen[0]]) * rest
            after[key] = after.get(key, 0.0) + float(other[seen[0]]) * rest
        for epsilon in (0.0, 0.4, 1.0):
            exact = sum(max(0.0, after[key] - math.exp(epsilon) * before[key]) for key in after)
            found = pair_delta(usual, moved, 0.1, clients, epsilon)
            assert exact * 0.98 - 1e-9 <= found <= exact + 1e-9


def test_delta_after_shuffling_by_the_exact_law() -> None:
    """At n = 1 a quarter of the values is certain; at n = 100, K = 9 nothing beyond the atoms can be shown."""
    one = NoiseLaw(Setting(1, 9))
    drawn, error = drawn_exact_pair(100, 0.886, 20_000)
    assert exact_pair_delta(one, 100, 0.886) == pytest.approx(drawn, abs=5 * error + 0.01)
    assert exact_pair_delta(one, 100, 0.886) > 0.25


def drawn_exact_pair(clients: int, epsilon: float, draws: int) -> tuple[float, float]:
    """n = 1, K = 9 from the closed form: 2^-9 atoms at 0 and 1, and Beta laws; a shift by 1/3."""
    generator = np.random.default_rng(3)
    counts = generator.binomial(9, 0.5, size=(draws, clients))
    inside = generator.beta(np.maximum(counts, 1), np.maximum(9 - counts, 1))
    noise = np.where((counts == 0) | (counts == 9), counts / 9, inside)
    noise[:, 0] += 1 / 3

    def density(y: FloatArray) -> FloatArray:
        safe = np.clip(y, 1e-12, 1 - 1e-12)
        total = sum(
            math.comb(9, j) * 2.0**-9 * np.exp((j - 1) * np.log(safe) + (8 - j) * np.log(1 - safe) - betaln(j, 9 - j))
            for j in range(1, 9)
        )
        return np.asarray(np.where((y > 0) & (y < 1), total, 0.0))

    usual, moved = density(noise), density(noise - 1 / 3)
    atoms = np.isclose(noise, 1 / 3) | np.isclose(noise, 4 / 3)  # of the client that moved
    certain = atoms[:, 0] | (usual[:, 0] == 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(usual > 0, moved / usual, 0.0)
    gains = np.where(certain, 1.0, np.maximum(0.0, 1 - math.exp(epsilon) / np.maximum(ratio.mean(axis=1), 1e-300)))
    return float(gains.mean()), float(gains.std() / math.sqrt(draws))


@pytest.mark.parametrize(("bits", "weights"), ATOMS)
def test_atoms_are_a_floor_under_delta(bits: int, weights: int) -> None:
    assert Setting(bits, weights).atoms == pytest.approx(ATOMS[bits, weights], rel=0.01)


def test_atoms_leave_no_epsilon() -> None:
    assert NoiseLaw(Setting(10, 9), points=200).epsilon(1e-6) is None


@pytest.mark.parametrize(("bits", "weights"), [(10, 20), (10, 50)])
def test_exact_epsilon_of_ten_bits(bits: int, weights: int) -> None:
    law = NoiseLaw(Setting(bits, weights))
    assert law.mass + law.setting.atoms == pytest.approx(1, abs=1e-6)
    assert law.epsilon(1e-6) == pytest.approx(EXACT[bits, weights], abs=0.002)


@pytest.mark.slow
@pytest.mark.parametrize(("bits", "weights"), [(100, 7), (100, 9), (100, 20)])
def test_exact_epsilon_of_a_hundred_bits(bits: int, weights: int) -> None:
    law = NoiseLaw(Setting(bits, weights))
    assert law.epsilon(1e-6) == pytest.approx(EXACT[bits, weights], abs=0.001)


def test_density_of_one_bit_in_closed_form() -> None:
    """For n = 1 the noise is a sum of Beta laws: `C(K, j) 2^-K Beta(j, K - j)`, and atoms at 0 and 1 of 2^-K each."""
    weights = 6
    law = NoiseLaw(Setting(1, weights))
    inside = (law.grid > 0.02) & (law.grid < 0.98)
    y = law.grid[inside]
    expected = sum(
        math.comb(weights, j)
        * 2.0**-weights
        * np.exp((j - 1) * np.log(y) + (weights - j - 1) * np.log(1 - y) - betaln(j, weights - j))
        for j in range(1, weights)
    )
    assert law.density[inside] == pytest.approx(expected, rel=1e-4)
    assert law.setting.atoms == pytest.approx(2 * 2.0**-weights)


def test_exact_law_against_simulated_clients() -> None:
    """Seeded: mean and variance of the noise of 20,000 clients, n = 10, K = 9."""
    generator = np.random.default_rng(8)
    mask = Mask(10, 9)
    zeros = np.zeros((20_000, 10), dtype=np.int64)
    masked = mask_bits(mask, zeros, lambda bound, shape: generator.integers(0, bound, size=shape))
    noise = masked.noise.sum(axis=1) / (mask.scale - mask.unit)
    assert noise.mean() == pytest.approx(5, abs=0.02)
    assert noise.var() == pytest.approx(100 / (4 * 19) * 2 / 10, rel=0.05)
    law = NoiseLaw(Setting(10, 9))
    below = float(law.density[law.grid < 4.7].sum() * law.step)
    assert (noise < 4.7).mean() == pytest.approx(below, abs=0.015)


def test_figure_6() -> None:
    rows = paper_curves(100, most=50)
    assert min(rows, key=lambda row: row[1])[0] == 9 and len(rows) == 49


def test_costs() -> None:
    assert list(cost_bits(100, 1000).values()) == [2_560_000, 128, 34, 2_000]


def test_bad_parameters_are_refused() -> None:
    with pytest.raises(InputError, match="delta"):
        Setting(10, 9, 0.0)
    with pytest.raises(InputError, match="at least 1 bit and 2 weights"):
        Setting(10, 1)
