"""The posterior of a bit from its block, against the law of small masks listed one by one, and by its calibration."""

import math
from collections import defaultdict
from itertools import permutations, product

import numpy as np
import pytest
from scipy.stats import beta

from evidence import EVERYTHING
from safemargin.aggregate.attacks import measure_attacks
from safemargin.aggregate.block_posterior import BlockPatterns, block_posterior
from safemargin.aggregate.mask import Mask, mask_bits
from safemargin.core import IntArray

pytestmark = pytest.mark.full


def seeded(seed: int):  # type: ignore[no-untyped-def]
    generator = np.random.default_rng(seed)

    def draw(bound: int, shape: tuple[int, ...]) -> IntArray:
        return generator.integers(0, bound, size=shape)

    return draw


def test_patterns_of_a_block_by_listing_permutations() -> None:
    for bits in (1, 2, 3):
        every = list(permutations(range(2 * bits)))
        both = sum(p[0] == 0 and p[1] == 1 for p in every) / len(every)
        one = sum(p[0] == 0 and p[1] != 1 for p in every) / len(every)
        none = sum(p[0] > 1 and p[1] > 1 for p in every) / len(every)
        found = BlockPatterns.of(bits)
        assert [found.both, found.one, found.none] == pytest.approx([both, one, none])


def test_two_decoys_and_two_bits_listed_one_by_one() -> None:
    """All 576 pairs of permutations with all weights: how often the bit is 1 where a block looks like this.

    The code takes weights as continuous, so a list on a lattice of 60 differs by a few parts in a hundred.
    """
    mask = Mask(2, 2, 12, 72)
    ones: dict[tuple[int, ...], float] = defaultdict(float)
    every: dict[tuple[int, ...], float] = defaultdict(float)
    rest = mask.scale - mask.unit
    patterns = [(p[0] == 0, p[1] == 1, p[0] == 1, p[1] == 0) for p in permutations(range(4))]
    for first, second in product(patterns, repeat=2):
        for weight in range(1, rest):
            base = [weight * a + (rest - weight) * b for a, b in zip(first, second, strict=True)]
            for bit in (0, 1):
                key = tuple(value + mask.unit * (place // 2 == bit) for place, value in enumerate(base))
                every[key] += 1
                ones[key] += bit
    error = weight_of_all = 0.0
    for key, count in every.items():
        matrix = np.zeros((4, 4), dtype=np.int64)
        matrix[0, 0], matrix[1, 1], matrix[0, 1], matrix[1, 0] = key
        error += count * abs(block_posterior(mask, matrix)[0] - ones[key] / count)
        weight_of_all += count
    assert error / weight_of_all < 0.02


def test_one_bit_is_the_closed_form() -> None:
    """n = 1: the weight of the other diagonal is a mixture of Beta laws."""
    decoys, mask = 7, Mask(1, 7)
    rest = mask.scale - mask.unit

    def density(s: float) -> float:
        laws = ((math.comb(decoys, j), j) for j in range(1, decoys))
        return sum(weight * float(beta.pdf(s, j, decoys - j)) for weight, j in laws) if 0 < s < 1 else 0.0

    for share in (0.1, 0.3, 0.45, 0.5, 0.62, 0.9):
        value = round(share * rest) + mask.unit  # off the diagonal
        matrix = np.array([[mask.scale - value, value], [value, mask.scale - value]])
        zero, one = density(value / rest), density((value - mask.unit) / rest)
        assert block_posterior(mask, matrix)[0] == pytest.approx(one / (zero + one), rel=1e-6)


@pytest.mark.parametrize(("bits", "decoys"), [(1, 9), (2, 18), (3, 6), (10, 20)])
def test_the_posterior_is_calibrated(bits: int, decoys: int) -> None:
    """As many bits are right as the posterior says, and none that it excludes. Seeded; five standard errors."""
    mask, draw = Mask(bits, decoys), seeded(7)
    clients = (4_000 if EVERYTHING else 240) // bits
    truth = draw(2, (clients, bits))
    masked = mask_bits(mask, truth, draw)
    chances = np.stack([block_posterior(mask, masked.matrix(client)) for client in range(clients)])
    right = np.where(chances == 0.5, 0.5, (chances > 0.5) == (truth == 1))
    spread = max(0.01, float(right.mean(axis=1).std())) / math.sqrt(clients)
    assert right.mean() == pytest.approx(np.maximum(chances, 1 - chances).mean(), abs=5 * spread)
    assert (truth[chances > 1 - 1e-4] == 1).all() and (truth[chances < 1e-4] == 0).all()


def test_the_attack_is_listed_and_better_than_feasibility() -> None:
    rates = {rate.name: rate.rate or 0 for rate in measure_attacks("full", 6, 10, 60, seed=1)}
    assert rates["posterior of a block"] > rates["feasibility"] - 0.05 and rates["posterior of a block"] > 0.9
