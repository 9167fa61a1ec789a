"""Guesses by averaging under twelve laws of noise: as many are right as the printed confidence says."""

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from safemargin.core import Generator, InputError, IntArray, PublishedTable, frozen, numpy_generator
from safemargin.noise.attack import attack
from safemargin.noise.layout import Recovered, lay_out
from safemargin.noise.linear import averaging, fitting
from safemargin.noise.noise_law import LAWS, AttackLaw, likely_law, named_law
from safemargin.noise.weighted_law import NoiseWeights, likeliest

pytestmark = pytest.mark.full

TWELVE = {
    "geometric 0.4": (
        "geometric",
        lambda r, s: r.geometric(1 - math.exp(-0.4), s) - r.geometric(1 - math.exp(-0.4), s),
    ),
    "geometric 1.2": (
        "geometric",
        lambda r, s: r.geometric(1 - math.exp(-1.2), s) - r.geometric(1 - math.exp(-1.2), s),
    ),
    "geometric 2": ("geometric", lambda r, s: r.geometric(1 - math.exp(-2), s) - r.geometric(1 - math.exp(-2), s)),
    "laplace 0.7": ("laplace", lambda r, s: np.rint(r.laplace(0, 1 / 0.7, s)).astype(np.int64)),
    "laplace 1.5": ("laplace", lambda r, s: np.rint(r.laplace(0, 1 / 1.5, s)).astype(np.int64)),
    "uniform 1": ("uniform", lambda r, s: r.integers(-1, 2, s)),
    "uniform 2": ("uniform", lambda r, s: r.integers(-2, 3, s)),
    "uniform 4": ("uniform", lambda r, s: r.integers(-4, 5, s)),
    "gaussian 1": ("gaussian", lambda r, s: discrete(r, s, np.exp(-(np.arange(-12, 13) ** 2) / 2))),
    "gaussian 4": ("gaussian", lambda r, s: discrete(r, s, np.exp(-(np.arange(-24, 25) ** 2) / 8))),
    "within 3": ("entropy", lambda r, s: discrete(r, s, np.exp(-0.2 * np.arange(-3, 4) ** 2.0))),
    "within 2": ("entropy", lambda r, s: discrete(r, s, np.exp(-0.6 * np.arange(-2, 3) ** 2.0))),
}
"""Name of the law, and a way to draw it that is not that of the code under test."""


def discrete(random: Generator, shape: tuple[int, ...], weights: np.ndarray) -> IntArray:
    reach = len(weights) // 2
    return random.choice(np.arange(-reach, reach + 1), p=weights / weights.sum(), size=shape).astype(np.int64)


def every_margin(axes: str) -> list[str]:
    return ["".join(chosen) for size in range(len(axes) + 1) for chosen in itertools.combinations(axes, size)]


def noisy_table(name: str, axes: str, printed: IntArray) -> PublishedTable:
    """All cells of an array of noisy counts."""
    groups = [[frozenset([f"{axis}{n}"]) for n in range(size)] for axis, size in zip(axes, printed.shape, strict=True)]
    codes = np.stack(np.unravel_index(np.arange(printed.size), printed.shape), axis=1) if axes else np.zeros((1, 0))
    return PublishedTable(
        name,
        tuple(axes),
        tuple(map(tuple, groups)),
        frozen(codes.astype(np.int64), len(axes)),
        (),
        frozen(np.full(printed.size, -1)),
        frozen(np.zeros(printed.size)),
        frozen(np.full(printed.size, 2**53)),
        ("noised",) * printed.size,
        noisy=frozen(printed.ravel()),
    )


def true_count(truth: dict[str, IntArray], one: Recovered) -> int:
    kept = "".join(axis for axis, _ in one.cell)
    return int(truth[kept][tuple(int(name.removeprefix(axis)) for axis, name in one.cell)])


def variance_of(case: str) -> float:
    """From many draws: the laws of this file are drawn, not computed."""
    return float((TWELVE[case][1](numpy_generator(99), (400_000,)).astype(float) ** 2).mean())


def releases(case: str, seed: int) -> tuple[list[PublishedTable], dict[str, IntArray]]:
    """Every margin of a table of large counts, with fresh noise on each, and the truth."""
    random = numpy_generator(seed)
    joint = random.integers(60, 200, size=(5, 4, 3))
    tables, truth = [], {}
    for kept in every_margin("abc"):
        true = joint.sum(axis=tuple(at for at, axis in enumerate("abc") if axis not in kept))
        truth[kept] = true
        tables.append(noisy_table(kept or "total", kept, true + TWELVE[case][1](random, true.shape)))
    return tables, truth


def within(expected: list[float], right: int) -> bool:
    """Five and a half standard deviations of a sum of coins, and one: a false alarm in 2.6e7 runs."""
    return abs(right - sum(expected)) <= 5.5 * math.sqrt(sum(p * (1 - p) for p in expected)) + 1


@pytest.mark.statistical
@pytest.mark.parametrize("case", TWELVE)
@pytest.mark.parametrize("given", [True, False], ids=["law given", "law inferred"])
def test_as_many_guesses_are_right_as_expected(case: str, given: bool) -> None:
    """False alarms: below 1e-6 for all cases together. The law is either given or the likeliest."""
    variance, bound = variance_of(case), {"uniform": 0, "entropy": 0}.get(TWELVE[case][0])
    edge = int(case.split()[-1]) if bound == 0 else None
    expected, right = [], 0
    for seed in range(20):
        tables, truth = releases(case, seed)
        layout = lay_out(tables)
        law = named_law(TWELVE[case][0], variance, edge) if given else likely_law(layout, variance)
        # Counts of different statistics share noisy counts, so one statistic is judged per release.
        for one in averaging(layout, variance, [("a", "b")], law):
            expected.append(one.confidence)
            right += one.value == true_count(truth, one)
    assert len(expected) == 400 and within(expected, right)


def test_the_exact_posterior_is_that_of_the_definition() -> None:
    """Against all noise of all prints, one by one."""
    for name, seed in itertools.product(("uniform", "entropy"), range(6)):
        random = numpy_generator(seed)
        law = named_law(name, 0.9, 2)
        chances = dict(zip(range(-2, 3), law.chances.tolist(), strict=True))
        truth, terms = int(random.integers(0, 6)), [1, 2, 3]
        sums = [truth + int(random.choice(np.arange(-2, 3), p=law.chances, size=n).sum()) for n in terms]
        weights = {}
        for count in range(30):
            parts = []
            for shown, often in zip(sums, terms, strict=True):
                noises = itertools.product(chances, repeat=often)
                parts.append(sum(math.prod(chances[x] for x in each) for each in noises if count + sum(each) == shown))
            weights[count] = math.prod(parts)
        value, sure = law.posterior([sums], [terms])
        best = max(weights.values())
        assert weights[int(value[0])] == pytest.approx(best) and sure[0] == pytest.approx(best / sum(weights.values()))


def test_figures_of_geometric_and_uniform_noise() -> None:
    """What was Gaussian: 590 of 1,500 expected with geometric noise, 795 right; 363 with uniform noise, 284 right."""
    for case in ("geometric 1.2", "uniform 2"):
        variance = variance_of(case)
        law = named_law(TWELVE[case][0], variance, 2 if "uniform" in case else None)
        normal = named_law("gaussian", variance)
        exact, gaussian, right = [], [], 0
        for seed in range(40):
            tables, truth = releases(case, 100 + seed)
            layout = lay_out(tables)
            for one, other in zip(
                averaging(layout, variance, [("a", "b", "c")], law),
                averaging(layout, variance, [("a", "b", "c")], normal),
                strict=True,
            ):
                exact.append(one.confidence)
                gaussian.append(other.confidence)
                right += one.value == true_count(truth, one)
        assert within(exact, right) and not within(gaussian, right)


def test_laws_are_those_of_their_name() -> None:
    for name in LAWS:
        law = named_law(name, 2.0, 2 if name == "uniform" else 5 if name == "entropy" else None)
        assert law.variance == pytest.approx(2.0, rel=1e-6) and law.chances.sum() == pytest.approx(1)
    tables, _ = releases("uniform 2", 5)
    assert attack(tables, variance=2.0).law == "uniform"
    with pytest.raises(InputError, match="law = 'cauchy'"):
        named_law("cauchy", 1.0)
    with pytest.raises(InputError, match="give the bound"):
        named_law("entropy", 1.0)
    impossible = AttackLaw("uniform", np.full(3, 1 / 3))
    assert impossible.posterior([[5, 9]], [[1, 1]])[1].tolist() == [0.0]


def fitted(cases: Sequence[str], seeds: range, law_of: Callable[[str], AttackLaw]) -> tuple[list[float], int]:
    """The confidence of one fitted count per release, whose noise is independent of that of others, and how many are
    right."""
    sure, right = [], 0
    for case, seed in itertools.product(cases, seeds):
        tables, truth = releases(case, seed)
        found = [one for one in fitting(lay_out(tables), 1.0, law_of(case)) if len(one.cell) == 3]
        for one in found[:: len(found) // 4]:
            sure.append(one.confidence)
            right += one.value == true_count(truth, one)
    return sure, right


@pytest.mark.statistical
def test_fitted_counts_are_as_often_right_as_their_law_says() -> None:
    """False alarms: 1e-8. A Gaussian of the same variance expected 5 % too few with geometric and Laplace noise."""
    laws = {case: named_law(TWELVE[case][0], variance_of(case), edge_of(case)) for case in TWELVE}
    for kind in ("geometric", "laplace", "uniform", "within"):
        cases = [case for case in TWELVE if case.startswith(kind)]
        expected, right = fitted(cases, range(900, 920), laws.__getitem__)
        assert within(expected, right), (kind, sum(expected), right)


def edge_of(case: str) -> int | None:
    return int(case.split()[-1]) if TWELVE[case][0] in ("uniform", "entropy") else None


@pytest.mark.parametrize("name", LAWS)
def test_the_law_of_a_weighted_sum_is_that_of_the_definition(name: str) -> None:
    """Weights that are multiples of an eighth, by adding up all noise; the chance of every count, and of the best."""
    random = numpy_generator(len(name))
    law = named_law(name, 1.4, {"uniform": 2, "entropy": 3}.get(name))
    reach = len(law.chances) // 2
    for _ in range(6):
        weights = random.integers(-6, 7, size=int(random.integers(2, 7)))
        weights[0] = max(abs(weights[0]), 1)
        sums = np.ones(1)
        for weight in weights.tolist():
            spaced = np.zeros(2 * reach * abs(weight) + 1)
            spaced[:: max(abs(weight), 1)] = law.chances if weight else 1.0
            sums = np.convolve(sums, spaced)
        middle = len(sums) // 2
        likely = np.flatnonzero(sums > 1e-4 * sums.max()) - middle
        for noise in random.choice(likely, size=5).tolist():
            others = np.arange(noise % 8 - 8 * (middle // 8 + 1), middle + 1, 8)
            inside = others[np.abs(others) <= middle]
            expected = sums[inside + middle].max() / sums[inside + middle].sum()
            found = likeliest(law, np.array([1000 + noise / 8]), NoiseWeights.of(weights / 8))[1]
            assert found[0] == pytest.approx(expected, abs=0.004), (name, weights, noise)
