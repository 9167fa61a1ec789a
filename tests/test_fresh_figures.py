"""Fresh random cases of every paper against code that is written from the paper alone: a sample, or all on request.

With `EVIDENCE=all`: 2,000 strata of swapping, 500 trees of TopDown with movers, 40 laws of noise and 300 instances of
PolyVeil; `tests/voting/test_brute_force.py` has 3,000 elections.
"""

import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, permutations

import numpy as np
import pytest
from scipy.stats import binom

from evidence import seeds
from noise.test_noise_law import every_margin, noisy_table, true_count
from safemargin.aggregate.backends import make_backend
from safemargin.aggregate.block_posterior import block_posterior
from safemargin.aggregate.mask import Mask, mask_bits
from safemargin.aggregate.posterior import posterior
from safemargin.core import Generator, IntArray, numpy_generator
from safemargin.guarantees.exact import hamming, universe_loss
from safemargin.guarantees.swap_law import outcomes, stratum, universe
from safemargin.noise.layout import lay_out
from safemargin.noise.linear import averaging
from safemargin.noise.noise_law import named_law
from safemargin.topdown.design import build_spine
from spines import designed
from topdown import test_movers as movers

pytestmark = pytest.mark.slow

Row = tuple[int, int]


# Swapping: Algorithm 1 of Bailie, Gong and Meng, all draws one by one.


def swapped_law(rows: Sequence[Row], rate: Fraction) -> dict[tuple[Row, ...], Fraction]:
    """Select every record with chance `rate`, again if it is a single one; exchange by a derangement of these."""
    law: dict[tuple[Row, ...], Fraction] = Counter()  # type: ignore[assignment]
    size = len(rows)
    single = size * rate * (1 - rate) ** (size - 1)
    for count in (0, *range(2, size + 1)):
        for chosen in combinations(range(size), count):
            chance = rate**count * (1 - rate) ** (size - count) / (1 - single)
            moves = [m for m in permutations(chosen) if all(a != b for a, b in zip(chosen, m, strict=True))]
            for move in moves:
                after = list(rows)
                for place, source in zip(chosen, move, strict=True):
                    after[place] = (rows[place][0], rows[source][1])
                law[tuple(sorted(after))] += chance / len(moves)
    return law


def tables_with_margins(rows: Sequence[Row]) -> list[tuple[Row, ...]]:
    held, values = [row[0] for row in rows], [row[1] for row in rows]
    return sorted({tuple(sorted(zip(held, order, strict=True))) for order in permutations(values)})


def largest_loss(rows: Sequence[Row], rate: Fraction) -> float:
    laws = {table: swapped_law(table, rate) for table in tables_with_margins(rows)}
    worst = 0.0
    for one, other in permutations(laws, 2):
        apart = sum((Counter(one) - Counter(other)).values())
        for seen in laws[one].keys() | laws[other].keys():
            first, second = laws[one].get(seen, 0), laws[other].get(seen, 0)
            if first and not second:
                return math.inf
            if first and second:
                worst = max(worst, math.log(first / second) / apart)
    return worst


def test_strata() -> None:
    """Laws equal as fractions, losses to 1e-9."""
    compared = 0
    for seed in seeds(50_000, 60, 2_000):
        draw = random.Random(seed)
        size = draw.choice([2, 3, 3, 4, 4, 5])
        held = [draw.randrange(draw.choice([2, 3])) for _ in range(size)]
        values = [draw.randrange(draw.choice([2, 3])) for _ in range(size)]
        rows = tuple(sorted(zip(held, values, strict=True)))
        rate = Fraction(draw.randint(1, 19), 20)
        made = stratum(list(Counter(held).values()), list(Counter(values).values()))
        laws = {data: outcomes(data).law([rate] * size) for data in universe(made)}
        if len(laws) < 2:
            continue
        expected = largest_loss(rows, rate)
        assert universe_loss(laws, hamming).value == pytest.approx(expected, abs=1e-9), (seed, rows, rate)
        own = sorted(swapped_law(tables_with_margins(rows)[0], rate).values())
        assert any(sorted(law.values()) == own for law in laws.values()), (seed, rows, rate)
        compared += 1
    assert compared > 0.6 * len(seeds(50_000, 60, 2_000))


# TopDown of persons and households: no change of one person costs more than is claimed.


def test_trees_with_movers(monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in seeds(60_000, 12, 500):
        draw = random.Random(seed)
        tracts = tuple(sorted(f"t{draw.randrange(2)}" for _ in range(draw.choice([2, 3]))))
        monkeypatch.setattr(movers, "TRACTS", tracts)
        paths = [(tract, f"b{number}") for number, tract in enumerate(tracts)]
        spine = build_spine(movers.LEVELS, "land", paths)
        titles = draw.sample(["size", "tenure", "detailed", "total"], draw.randint(1, 3))
        titles = titles if "detailed" in titles else [*titles, "detailed"]
        parts = [draw.randint(1, 4) for _ in titles]
        split = {title: f"{part}/{sum(parts)}" for title, part in zip(titles, parts, strict=True)}
        levels = [draw.randint(1, 5) for _ in movers.LEVELS]
        shares = tuple(Fraction(level, sum(levels)) for level in levels)
        exact = draw.choice([((0, "total"),), ((0, "total"), (2, "total"))])
        passes = ("detailed",)
        homes = designed(spine, exact, Fraction(1), split, kinds=movers.HOMES, passes=passes)
        homes = replace(homes, unit="household", shares=shares)
        people = designed(spine, ((0, "total"),), Fraction(1), {"detailed": "1"}, kinds=movers.PEOPLE, passes=passes)
        limit = movers.claimed(homes, replace(people, shares=shares))
        fixed = {("block", "total"): Fraction(1, 2)} if len(exact) > 1 else {}
        kinds = [
            (block, tenure, sexes)
            for block in range(len(tracts))
            for tenure in ("own", "rent")
            for size in (1, 2, 3)
            for sexes in combinations_with_replacement("fm", size)
        ]
        land = tuple(sorted(draw.choice(kinds) for _ in range(2)))
        home_variances = movers.variances_of(homes)
        person_variances = movers.variances_of(replace(people, shares=shares))
        for other in set(movers.one_person_changes(land, len(tracts), 3)):
            if fixed and movers.budget_of(land, other, fixed, "household"):
                continue
            cost = movers.budget_of(land, other, home_variances, "household")
            assert cost + movers.budget_of(land, other, person_variances, "person") <= limit, (seed, land, other)


# Noise: as many guesses by averaging are right as is printed.


def drawn_law(draw: random.Random) -> tuple[str, np.ndarray]:
    """A law by its chances on -60 to 60, from the definition of its name."""
    place = np.arange(-60, 61)
    name = draw.choice(["geometric", "laplace", "uniform", "gaussian"])
    size = draw.uniform(0.4, 2.2)
    if name == "uniform":
        chances = (np.abs(place) <= draw.randint(1, 5)).astype(float)
    elif name == "gaussian":
        chances = np.exp(-(place**2) / (2 * (2.5 / size) ** 2))
    elif name == "geometric":
        chances = np.exp(-size * np.abs(place))
    else:  # rounded Laplace noise

        def below(x: np.ndarray) -> np.ndarray:
            return np.where(x < 0, np.exp(size * np.minimum(x, 0)) / 2, 1 - np.exp(-size * np.maximum(x, 0)) / 2)

        chances = below(place + 0.5) - below(place - 0.5)
    return name, chances / chances.sum()


def noisy_release(random_bits: Generator, chances: np.ndarray) -> tuple[list[object], dict[str, IntArray]]:
    joint = random_bits.integers(60, 200, size=(5, 4, 3))
    tables, truth = [], {}
    for kept in every_margin("abc"):
        true = joint.sum(axis=tuple(at for at, axis in enumerate("abc") if axis not in kept))
        truth[kept] = true
        noise = random_bits.choice(np.arange(-60, 61), p=chances, size=true.shape)
        tables.append(noisy_table(kept or "total", kept, true + noise))
    return tables, truth


@pytest.mark.statistical
def test_laws_of_noise() -> None:
    """Within the binomial interval of what is printed; a false alarm of all 40 in 1e6 runs (Chernoff, both sides)."""
    for seed in seeds(70_000, 4, 40):
        name, chances = drawn_law(random.Random(seed))
        variance = float(chances @ np.arange(-60, 61) ** 2)
        edge = int((chances > 0).sum() // 2) if name == "uniform" else None
        law = named_law(name, variance, edge)
        expected: list[float] = []
        right = 0
        bits = numpy_generator(seed)
        for _ in range(12):
            tables, truth = noisy_release(bits, chances)
            for one in averaging(lay_out(tables), variance, [("a", "b")], law):  # type: ignore[arg-type]
                expected.append(one.confidence)
                right += one.value == true_count(truth, one)
        spread = math.sqrt(sum(p * (1 - p) for p in expected))
        assert abs(right - sum(expected)) <= 5.8 * spread + 1, (seed, name, right, sum(expected))


# PolyVeil: totals, the law of one masked number, and posteriors.


def seeded(seed: int) -> Callable[[int, tuple[int, ...]], IntArray]:
    bits = numpy_generator(seed)
    return lambda bound, shape: bits.integers(0, bound, size=shape)


def test_polyveil_instances() -> None:
    """Exact totals by every variant; posteriors of sums and blocks add up to as many right guesses as they say."""
    said: list[float] = []
    right = 0.0
    for seed in seeds(80_000, 20, 300):
        draw = random.Random(seed)
        questions, clients, decoys = draw.randint(1, 4), draw.randint(3, 8), draw.randint(2, 12)
        values = np.array([[draw.randrange(2) for _ in range(questions)] for _ in range(clients)])
        for name in ("polyveil", "polyveil-compressed", "polyveil-two-layer", "polyveil-shuffled"):
            backend = make_backend(name, questions, clients)
            totals = backend.add_up([values], clients, lambda *_: None).tolist()
            assert totals == [sum(row[place] for row in values.tolist()) for place in range(questions)]
        scalar = make_backend("polyveil-scalar", questions, clients)
        assert scalar.add_up([values], clients, lambda *_: None).tolist() == [int(values.sum())]
        mask, bits = Mask(questions, decoys), seeded(seed)
        masked = mask_bits(mask, values, bits)
        for client in range(clients):
            matrix = masked.matrix(client)
            # the matrix is what the definition says: rows and columns add up, and the true part is in it
            assert set(matrix.sum(axis=0)) | set(matrix.sum(axis=1)) == {mask.scale}
            chances = block_posterior(mask, matrix)
            truth = values[client]
            said.append(float(np.maximum(chances[0], 1 - chances[0])))
            right += 0.5 if chances[0] == 0.5 else float((chances[0] > 0.5) == (truth[0] == 1))
        sums = posterior(mask, masked.values.sum(axis=1))
        assert np.allclose(sums.sum(axis=1), 1)
    low, high = binom.interval(1 - 1e-6, len(said), sum(said) / len(said))
    assert low - 1 <= right <= high + 1


def test_a_wrong_law_of_swapping_would_be_noticed() -> None:
    """Another rate gives another loss."""
    data = universe(stratum((2, 1), (2, 1)))
    wrong = universe_loss({each: outcomes(each).law([Fraction(1, 3)] * 3) for each in data}, hamming)
    assert wrong.value != pytest.approx(largest_loss(((0, 0), (0, 1), (1, 0)), Fraction(1, 2)), abs=1e-6)
