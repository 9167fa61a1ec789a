"""Every figure of the paper's calculators to the precision printed there, and parameters that are refused.

Figures: Bach (2020), "Differential privacy and noisy confidentiality concepts for European population statistics".
"""

import itertools
import json
import math

import numpy as np
import pytest

import safemargin.noise
from commands import Ran, Run, in_process
from safemargin.core import InputError, numpy_generator
from safemargin.noise.bounded import true_ranges
from safemargin.noise.calculators import (
    budget,
    chebyshev_success,
    compose,
    epsilon_of,
    gaussian_success,
    reconstruction_limit,
    reidentify,
    reveal_chance,
    reveal_risk,
    simulate,
    tail_chance,
    tuples_needed,
    utility_limit,
    variance_needed,
    variance_of,
    wilson,
)
from safemargin.noise.laws import BoundedNoise, EpsilonNoise, sum_law, truncated_bound, truncated_delta
from safemargin.samplers import bounded_law


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return in_process(monkeypatch, capsys)


FIGURES = {  # what: (worked out, printed, half a unit of its last digit)
    "Eq. 8, n = 1e6, 99 %": (lambda: reconstruction_limit(10**6, 0.99), 0.024, 0.0005),
    "footnote 14, uniform noise, E = 5": (lambda: reveal_chance(5), 20 / 11**3, 1e-15),
    "section 3.2, E = 5, V = 2, order of magnitude": (lambda: math.floor(math.log10(reveal_chance(5, 2))), -7, 0),
    "footnote 35, k/t^2 = 0.1, V = 2": (lambda: gaussian_success(0.1, 2), 0.736, 0.0005),
    "Fig. 2, k/t^2 = 0.0867: V about 3": (lambda: variance_needed(0.0867), 3, 0.5),
    "section 3.3, 0.0118 without SPSN: epsilon": (lambda: epsilon_of(variance_needed(0.0118)), 0.3, 0.05),
    "section 3.3, 0.0867 with SPSN: epsilon": (lambda: epsilon_of(variance_needed(0.0867)), 0.8, 0.05),
    "Fig. 6, next smallest 0.0170: epsilon": (lambda: epsilon_of(variance_needed(0.0170)), 0.37, 0.005),
    "Eq. 16, France": (lambda: utility_limit(37_000, 20), 0.58, 0.005),
    "Eq. 16, Malta": (lambda: utility_limit(68, 20), 0.27, 0.005),
    "footnote 29, chance": (lambda: tail_chance(40, 0.1), 0.0183, 0.00005),
    "footnote 29, counts": (lambda: 11_680 * tail_chance(40, 0.1), 214, 0.5),
    **{
        f"Eq. 14, global epsilon {epsilon}": (
            lambda epsilon=epsilon: math.sqrt(variance_of(budget(epsilon, 0.1))),
            size,
            0.05,
        )
        for epsilon, size in zip((0.25, 0.5, 1, 2, 4, 8), (56.6, 28.3, 14.1, 7.1, 3.5, 1.8), strict=True)
    },
}


@pytest.mark.parametrize("what", FIGURES)
def test_figure(what: str) -> None:
    worked_out, printed, off = FIGURES[what]
    assert abs(worked_out() - printed) <= off


def test_a_wide_bound_is_as_good_as_none() -> None:
    """Section 3.2: for E = 10 and V <= 4 it is practically zero."""
    assert all(reveal_chance(10, variance) < 1e-15 for variance in (1, 2, 3, 4))
    assert tuples_needed(reveal_chance(10, 4)) == 2_133_360_430_490_191
    assert tuples_needed(reveal_chance(60, 0.5)) is None


@pytest.mark.parametrize("bound", [1, 2, 3, 7])
@pytest.mark.parametrize("variance", [None, 0.5])
@pytest.mark.parametrize("parts", [2, 3])
def test_reveal_by_listing_all_noise(bound: int, variance: float | None, parts: int) -> None:
    law = bounded_law(bound, variance)
    values = range(-bound, bound + 1)
    expected = sum(
        math.prod(float(law[value + bound]) for value in noise)
        for noise in itertools.product(values, repeat=parts + 1)
        if abs(sum(noise[:-1]) - noise[-1]) > (parts + 1) * (bound - 1)
    )
    assert reveal_chance(bound, variance, parts) == pytest.approx(expected, rel=1e-12)
    if variance is None and parts == 2:
        assert expected == pytest.approx(20 / (2 * bound + 1) ** 3)


@pytest.mark.parametrize(("bound", "variance"), [(1, 0.1), (2, 2.0), (5, 2.0), (10, 4.0), (50, 200.0), (5, 1e-6)])
def test_the_law_has_its_variance(bound: int, variance: float) -> None:
    law, values = bounded_law(bound, variance), np.arange(-bound, bound + 1)
    assert law.sum() == pytest.approx(1)
    assert law @ values**2 == pytest.approx(variance, rel=1e-9)
    assert (np.diff(law[: bound + 1]) >= 0).all() and law == pytest.approx(law[::-1])


def test_sums_of_noise() -> None:
    assert sum_law(bounded_law(1), 3)[0] == pytest.approx(1 / 27)


def test_tuples_and_risk_fit_together() -> None:
    for chance in (0.3, 1e-3, 1e-9):
        needed = tuples_needed(chance, 0.68)
        assert needed is not None
        assert reveal_risk(chance, needed) >= 0.68 - 1e-12 > reveal_risk(chance, needed - 1) - 1e-9
    assert (reveal_risk(1.0, 1), reveal_risk(1.0, 0), tuples_needed(1.0)) == (1.0, 0.0, 1)


def test_exploit_by_listing_all_noise() -> None:
    rng = numpy_generator(5)
    for _ in range(200):
        parts, bound = int(rng.integers(2, 4)), int(rng.integers(0, 4))
        true = rng.integers(0, 6, size=parts)
        noise = rng.integers(-bound, bound + 1, size=parts + 1)
        counts, total = (true + noise[:-1]).tolist(), int(true.sum() + noise[-1])
        possible = [
            (*cells, sum(cells))
            for cells in itertools.product(*(range(max(0, c - bound), c + bound + 1) for c in counts))
            if abs(sum(cells) - total) <= bound
        ]
        ranges = true_ranges(counts, total, bound)
        assert ranges == tuple((min(values), max(values)) for values in zip(*possible, strict=True))
        disclosed = safemargin.noise.exploit(counts, total, bound).value
        assert disclosed == (list(possible[0]) if len(set(possible)) == 1 else None)


def test_the_example_of_a_margin_exploit() -> None:
    assert true_ranges([3, 2], 11, 2) == ((5, 5), (4, 4), (9, 9))


def test_simulated_means_as_in_footnote_35() -> None:
    """The paper finds 741 (E = 10) and 725 (E = 5) of 1,000; whole sums make the exact chance 73.1 %, not 73.6 %."""
    for bound, printed in ((10, 741), (5, 725)):
        many = simulate(1000, 100, BoundedNoise(2.0, bound), samples=200_000, generator=numpy_generator(bound))
        low, high = wilson(many, 200_000, 5)
        exact = math.erf(49.5 / math.sqrt(2 * 2000))
        assert low < exact < high, "five deviations: fails by chance once in a million runs"
        spread = math.sqrt(1000 * exact * (1 - exact))
        assert abs(printed - 1000 * exact) < 2 * spread, "the paper's samples are within two deviations too"
        assert abs(exact - gaussian_success(0.1, 2.0)) < 0.006


def test_simulated_means_with_an_epsilon() -> None:
    """Footnote 20: Laplace noise averages like Gaussian noise of its variance; so does geometric noise."""
    for epsilon in (0.3, 0.8):
        found = simulate(118, 100, EpsilonNoise(epsilon), samples=100_000, generator=numpy_generator(1))
        low, high = wilson(found, 100_000, 5)
        variance = 2 * math.exp(-epsilon) / math.expm1(-epsilon) ** 2
        assert low - 0.006 < gaussian_success(0.0118, variance) < high + 0.006
        assert abs(found / 100_000 - gaussian_success(0.0118, variance_of(epsilon))) < 0.02


def test_chebyshev_is_below() -> None:
    for ratio in (0.001, 0.01, 0.1, 0.5):
        for spread in (0.5, 2, 8):
            assert chebyshev_success(ratio, spread) <= gaussian_success(ratio, spread)


def test_limits_are_inverse_to_each_other() -> None:
    assert gaussian_success(0.05, variance_needed(0.05, 0.9)) == pytest.approx(0.9)
    assert 500 * tail_chance(12, utility_limit(500, 12)) == pytest.approx(1 - 0.68)
    assert epsilon_of(variance_of(0.3)) == pytest.approx(0.3)
    assert compose(1, 0.3) == pytest.approx(math.sqrt(variance_of(0.3)))
    assert compose(2775, 1) == pytest.approx(3924.4, rel=1e-4) and budget(8) == pytest.approx(0.9)
    assert reidentify(0.5, 0.5) == 0.25
    assert wilson(0, 10)[0] == pytest.approx(0, abs=1e-12)


COMMANDS = {
    "reconstruct --people 1000000 --confidence 0.99": 0.02367,
    "reveal --bound 5 --variance 2": 1.5217e-07,
    "reveal --bound 5": 20 / 11**3,
    "average --kt2 0.1 --variance 2": 0.7364,
    "average --k 1000 --t 100 --variance 2 --samples 0": 0.7364,
    "average --kt2 0.0118 --epsilon 0.3": 0.67114,
    "variance --kt2 0.0867": 2.9157,
    "utility --areas 37000 --error 20": 0.5829,
    "tail --epsilon 0.1 --count 80 --relative 0.5 --counts 11680": 0.018316,
    "tail --epsilon 0.1 --error 40": 0.018316,
    "truncated --epsilon 0.5 --bound 12": 0.00060823,
    "truncated --epsilon 0.5 --delta 0.008": 7,
    "truncated --epsilon 0.5 --delta 0.008 --law laplace": 7.4543,
}


@pytest.mark.parametrize("command", COMMANDS)
def test_command_prints_its_figure(run: Run, command: str) -> None:
    document = run("noise", *command.split(), "--json").document
    assert document["value"] == pytest.approx(COMMANDS[command], rel=1e-4)
    assert isinstance(document["inputs"], dict)
    assert run("noise", *command.split()).code == 0


def test_exploit_command(run: Run) -> None:
    ran: Ran = run("noise", "exploit", "--counts", "3,2", "--total", "11", "--bound", "2", "--json")
    assert json.loads(ran.out)["value"] == [5, 4, 9]
    assert (
        run("noise", "exploit", "--counts", "3,2", "--total", "9", "--bound", "2", "--json").document["value"] is None
    )


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("reveal --bound 5 --variance 12", "must be at most 10, as of uniform noise within 5; the nearest is 10"),
        ("reveal --bound 0 --variance 1", "bound = 0: must be from 1 to 1000; the nearest is 1"),
        ("reveal --bound 3 --variance 0", "variance = 0: must be positive and finite, e.g. 0.001"),
        ("reveal --bound 3 --variance nan", "variance = nan: must be positive and finite, e.g. 0.001"),
        ("reveal --bound 3 --parts 1", "parts = 1: must be from 2 to 1000; the nearest is 2"),
        ("reveal --bound 3 --confidence 1", "confidence = 1: must be above 0 and below 1"),
        ("utility --areas 0", "areas = 0: must be at least 1"),
        ("utility --areas 5 --error 0", "error = 0: must be positive and finite, e.g. 0.001"),
        ("tail --epsilon 0 --error 3", "epsilon = 0: must be positive and finite, e.g. 0.001"),
        ("tail --epsilon 1", "give error, or count with relative"),
        ("tail --epsilon 1 --error 3 --count 4", "give error alone"),
        ("truncated --epsilon -1 --bound 3", "epsilon = -1: must be positive and finite, e.g. 0.001"),
        ("truncated --epsilon inf --bound 3", "must be positive and finite, e.g. 1000000"),
        ("truncated --epsilon 1 --bound 2.5", "bound = 2.5: geometric noise has an integer bound"),
        ("truncated --epsilon 1", "give one of bound and delta"),
        ("truncated --epsilon 1 --delta 0", "delta = 0: must be above 0"),
        ("truncated --epsilon 1 --bound 3 --change 0", "change = 0: must be at least 1"),
        ("average --kt2 0.1", "give one of variance and epsilon"),
        ("average --variance 2", "give kt2 alone, or k with t"),
        ("average --kt2 0 --variance 2", "kt2 = 0: must be positive and finite, e.g. 0.001"),
        ("average --k 3 --t 9 --variance 2", "adds up at least one count"),
        ("average --kt2 0.1 --variance 2 --bound 1", "the nearest is 0.666666"),
        ("average --k 10000000000000000 --t 1000 --variance 2", "k = 10000000000000000: must be from 1 to"),
        ("average --kt2 0.1 --variance 2 --seed -1", "seed = -1: must not be negative; the nearest is 0"),
        ("average --kt2 0.1 --variance 2 --samples -1", "samples = -1: must be from 1"),
        ("reveal --bound 4 --variance 6.66667", "the nearest is 6.666666"),
        ("reveal --bound 4 --parts 1001", "the nearest is 1000"),
        ("tail --epsilon 1 --error 3 --counts -5", "counts = -5: must be at least 0; the nearest is 0"),
        ("variance --kt2 -1", "kt2 = -1: must be positive and finite, e.g. 0.001"),
        ("reconstruct --people 1", "people = 1: must be at least 2"),
        ("exploit --counts 3,x --total 11 --bound 2", "'3,x': must be integers between commas"),
        ("exploit --counts 3 --total 11 --bound 2", "give at least two"),
        ("exploit --counts 3,2 --total 12 --bound 2", "the nearest bound is 3"),
    ],
)
def test_bad_parameters_are_refused(run: Run, command: str, said: str) -> None:
    ran = run("noise", *command.split())
    assert ran.code == 2
    assert said in ran.err and ran.err.count("\n") == 1


def test_bounds_that_fit_are_the_nearest() -> None:
    with pytest.raises(InputError, match="the nearest bound is 4"):
        true_ranges([-4, 2], 0, 1)
    assert true_ranges([-4, 2], 0, 4)[0][0] == 0


@pytest.mark.parametrize(
    ("command", "chance"),
    [
        ("--kt2 1e-300 --variance 2", 1.0),
        ("--kt2 1e-20 --variance 2", 1.0),
        ("--kt2 1e300 --variance 2", 0.0),
        ("--kt2 0.1 --variance 1e9", math.erf(0.5 / math.sqrt(2e8))),
    ],
)
def test_what_is_too_large_to_simulate_has_a_chance_still(run: Run, command: str, chance: float) -> None:
    document = run("noise", "average", *command.split(), "--json").document
    assert document["value"] == pytest.approx(chance, abs=1e-12)
    assert document["details"]["simulated"] is None  # type: ignore[index]


def test_many_parts_are_added_up_fast() -> None:
    assert reveal_chance(1, 0.5, 8) < reveal_chance(1, 0.5, 1000) < 1
    sums = sum_law(bounded_law(2, 1.5), 41)
    assert reveal_chance(2, 1.5, 40) == pytest.approx(sums[:41].sum() + sums[-41:].sum(), rel=1e-9)


@pytest.mark.parametrize(("epsilon", "bound"), [(0.5, 7), (1.5, 12), (0.1, 2)])
@pytest.mark.parametrize("change", [1, 2, 5, 40])
def test_delta_of_truncated_noise_is_that_of_the_definition(epsilon: float, bound: int, change: int) -> None:
    """The excess of one law over `exp(change * epsilon)` times the shifted one."""
    weights = {k: math.exp(-epsilon * abs(k)) for k in range(-bound, bound + 1)}
    law = {k: weight / math.fsum(weights.values()) for k, weight in weights.items()}
    factor = math.exp(change * epsilon)
    excess = math.fsum(max(0.0, p - factor * law.get(k - change, 0.0)) for k, p in law.items())
    assert truncated_delta(epsilon, bound, change) == pytest.approx(excess, rel=1e-9)


def test_delta_of_truncated_laplace_noise_is_the_mass_at_the_edge() -> None:
    mass = math.exp(-0.5 * 6) - math.exp(-0.5 * 7)
    assert truncated_delta(0.5, 7.0, law="laplace") == pytest.approx(mass / (2 * (1 - math.exp(-3.5))))
    assert truncated_delta(0.5, 7.0, 14, law="laplace") == 1.0
    assert truncated_delta(0.5, 7.0, 7, law="laplace") == pytest.approx(0.5)


def test_several_counts_lose_no_more_than_one() -> None:
    """A change spread over counts adds deltas of smaller changes, whose sum is at most that of the whole change."""
    for change in range(2, 6):
        parts = truncated_delta(0.7, 6, change - 1) + truncated_delta(0.7, 6)
        assert truncated_delta(0.7, 6, change) >= parts - 1e-15


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.5])
@pytest.mark.parametrize("delta", [1e-9, 2e-5, 0.008, 0.3, 0.9])
@pytest.mark.parametrize("change", [1, 2, 5])
def test_the_bound_for_a_delta_is_the_smallest(epsilon: float, delta: float, change: int) -> None:
    bound = truncated_bound(epsilon, delta, change)
    assert truncated_delta(epsilon, bound, change) <= delta
    assert bound == 1 or truncated_delta(epsilon, bound - 1, change) > delta
    real = truncated_bound(epsilon, delta, change, law="laplace")
    assert truncated_delta(epsilon, real, change, law="laplace") == pytest.approx(delta, rel=1e-9)


def test_figures_of_functions_without_a_command_are_checked() -> None:
    for call, said in (
        (lambda: compose(3, math.inf), "must be positive and finite, e.g. 1000000"),
        (lambda: budget(1, 0), "share = 0: must be above 0"),
        (lambda: reidentify(2, 0), "reconstructed = 2: must be from 0 to 1; the nearest is 1"),
    ):
        with pytest.raises(InputError, match=said):
            call()
