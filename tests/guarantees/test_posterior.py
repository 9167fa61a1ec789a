"""The posterior of noised groups against an enumeration of all count vectors, from the definition."""

import math
import random
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import evidence
from safemargin.guarantees import GroupBelief, chances_outside, lot_chance, noise_likelihood, rounded_up


def two_sided(size: int, epsilon: float) -> float:
    """P(|Z| >= size) of two-sided geometric noise, summed term by term."""
    ratio = math.exp(-epsilon)
    inside = sum((1 - ratio) / (1 + ratio) * ratio ** abs(k) for k in range(-size + 1, size))
    return 1 - inside if size > 0 else 1.0


def enumerated(
    sizes: list[list[int]], printed: list[int], total: int, epsilon: float, choice: float | None, room: list[list[int]]
) -> list[float]:
    """Per group the share of weight of vectors in which it has no room left; every vector is looked at."""
    groups = [size for unit in sizes for size in unit]
    weight, outside = 0.0, [0.0] * len(groups)
    for counts in product(*(range(size + 1) for size in groups)):
        if sum(counts) != total:
            continue
        likelihood = math.prod(math.exp(-epsilon * abs(c - p)) for c, p in zip(counts, printed, strict=True))
        place = 0
        for unit in sizes:
            if choice is not None:
                missed = 1.0
                for _ in unit:
                    missed *= 1 - two_sided(room[place][counts[place]], choice)
                    place += 1
                likelihood *= 1 - missed
        weight += likelihood
        for g, count in enumerate(counts):
            outside[g] += likelihood if room[g][count] == 0 else 0.0
    return [each / weight for each in outside]


@pytest.mark.parametrize("seed", evidence.seeds(0, 60, 1_000))
def test_chances_are_those_of_the_enumeration(seed: int) -> None:
    draw = random.Random(seed)
    sizes = [[draw.randint(1, 6) for _ in range(draw.randint(1, 3))] for _ in range(draw.randint(1, 2))]
    flat = [size for unit in sizes for size in unit]
    truth = [draw.randint(0, size) for size in flat]
    epsilon, choice = draw.choice([0.05, 0.5, 2.0]), draw.choice([None, 0.1, 1.0])
    printed = [count + draw.randint(-4, 4) for count in truth]
    low, high = draw.choice([(0, 0), (1, 1), (1, 2)])
    room = [[max(min(c - low, n - high - c) + 1, 0) if n > 2 else 0 for c in range(n + 1)] for n in flat]
    beliefs, place = [], 0
    for unit in sizes:
        row = []
        for size in unit:
            counts, left = np.arange(size + 1), np.array(room[place])
            row.append(
                GroupBelief(
                    0,
                    noise_likelihood(counts, printed[place], epsilon),
                    left == 0,
                    None if choice is None else lot_chance(left, choice),
                )
            )
            place += 1
        beliefs.append(row)
    found = chances_outside(beliefs, sum(truth))
    assert found == pytest.approx(enumerated(sizes, printed, sum(truth), epsilon, choice, room), abs=1e-9)


def test_a_noisy_zero_is_as_probable_as_the_formula_states() -> None:
    """At epsilon 1 a printed 0 of 30 people leaves 0 and 1 outside 5 %: (1 + 1/e) (1 - 1/e) of a geometric law."""
    counts = np.arange(31)
    belief = GroupBelief(0, noise_likelihood(counts, 0, 1.0), (counts < 1.5) | (counts > 28.5))
    assert belief.chance_alone == pytest.approx(1 - math.exp(-2), abs=1e-9)
    assert rounded_up(belief.chance_alone) == "0.865"


def test_a_sum_of_noises_has_the_law_of_the_sum() -> None:
    ratio = math.exp(-0.7)
    single = {k: ratio ** abs(k) for k in range(-60, 61)}
    law = {d: sum(single[k] * single.get(d - k, 0.0) for k in single) for d in range(-8, 9)}
    found = noise_likelihood(np.arange(9), 4, 0.7, summed=2)
    wanted = np.array([law[count - 4] for count in range(9)])
    assert found / found.sum() == pytest.approx(wanted / wanted.sum(), rel=1e-9)


def test_what_cannot_be_is_not_called_safe() -> None:
    belief = GroupBelief(0, np.ones(3), np.array([False] * 3))
    assert chances_outside([[belief, belief]], 99) == [1.0, 1.0]


@pytest.mark.parametrize(("chance", "stated"), [(Fraction(1, 2), "0.500"), (Fraction(5001, 10_000), "0.501")])
def test_chances_are_rounded_up(chance: Fraction, stated: str) -> None:
    assert rounded_up(float(chance)) == stated
