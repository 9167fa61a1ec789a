"""The posterior of a whole matrix against all masks of small lattices listed one by one, and by its calibration."""

import math
from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import combinations, permutations, product

import numpy as np
import pytest

from evidence import EVERYTHING
from safemargin.aggregate.attacks import measure_attacks
from safemargin.aggregate.mask import Mask, mask_bits
from safemargin.aggregate.matrix_posterior import count_masks, masks_of_weights, posterior_of_matrix
from safemargin.core import InputError, IntArray

Flat = tuple[int, ...]


@cache
def all_masks(size: int, decoys: int, total: int) -> Counter[Flat]:
    """From the definition: what every tuple of permutations with positive weights adds up to, and how often."""
    if decoys == 0:
        return Counter({(0,) * size**2: 1} if total == 0 else {})
    found: Counter[Flat] = Counter()
    for weight in range(1, total - decoys + 2):
        before = all_masks(size, decoys - 1, total - weight)
        for p in permutations(range(size)):
            places = [size * row + column for row, column in enumerate(p)]
            for matrix, ways in before.items():
                raised = list(matrix)
                for place in places:
                    raised[place] += weight
                found[tuple(raised)] += ways
    return found


def true_matrix(bits: tuple[int, ...], unit: int) -> IntArray:
    matrix = np.zeros((2 * len(bits), 2 * len(bits)), dtype=np.int64)
    for bit, value in enumerate(bits):
        matrix[2 * bit, 2 * bit + value] = matrix[2 * bit + 1, 2 * bit + 1 - value] = unit
    return matrix


@pytest.mark.parametrize(
    ("bits", "decoys", "unit", "scale"),
    [(1, 2, 3, 12), (1, 5, 2, 11), (2, 2, 2, 12), (2, 3, 1, 6), (2, 4, 1, 6), (2, 5, 1, 7)],
)
def test_every_mask_listed(bits: int, decoys: int, unit: int, scale: int) -> None:
    """Exact fractions on coarse lattices, where many masks coincide: weights repeat, and entries have many reasons."""
    mask, size = Mask(bits, decoys, unit, scale), 2 * bits
    every, candidates = all_masks(size, decoys, scale - unit), list(product((0, 1), repeat=bits))
    ordered = sorted(every)
    for number, rest in enumerate(ordered[:: 1 if EVERYTHING else max(1, len(ordered) // 60)]):
        matrix = np.array(rest).reshape(size, size) + true_matrix(candidates[number % len(candidates)], unit)
        ways = {each: every[tuple((matrix - true_matrix(each, unit)).ravel().tolist())] for each in candidates}
        listed = {each: Fraction(count, sum(ways.values())) for each, count in ways.items()}
        assert posterior_of_matrix(mask, matrix) == listed, matrix


def test_three_bits_with_two_decoys_by_subtracting_every_permutation() -> None:
    generator = np.random.default_rng(3)
    mask, every = Mask(3, 2, 2, 9), np.array(list(permutations(range(6))))
    masks = np.eye(6, dtype=np.int64)[every]
    for truth in product((0, 1), repeat=3):
        weight = int(generator.integers(1, 7))
        first, second = masks[generator.integers(0, 720, 2)]
        matrix = true_matrix(truth, 2) + weight * first + (7 - weight) * second
        ways = {}
        for each in product((0, 1), repeat=3):
            rest = matrix - true_matrix(each, 2)
            ways[each] = sum(
                int(((left == 0) | (left == 7 - own)).all(axis=(1, 2)).sum())  # lines add up to 7 - own: a permutation
                for own in range(1, 7)
                for left in [rest - own * masks]
            )
        total = sum(ways.values())
        assert posterior_of_matrix(mask, matrix) == {each: Fraction(count, total) for each, count in ways.items()}


def test_masks_are_counted_one_by_one() -> None:
    for decoys, total in ((1, 4), (3, 5), (4, 5), (5, 6)):
        listed = all_masks(4, decoys, total)
        assert listed.total() == 24**decoys * math.comb(total - 1, decoys - 1)
        for matrix in sorted(listed)[:: max(1, len(listed) // 40)]:
            assert count_masks(np.array(matrix).reshape(4, 4), decoys) == listed[matrix]
    assert count_masks(np.full((4, 4), 1), 3) == 0, "three permutations cover 12 of 16 entries (Ex. 6.11)"


def test_a_line_of_weights_is_summed_without_listing_it() -> None:
    """`e + (12)(34) = (12) + (34)`: weights move along a line; a million of them are summed at once."""
    for scale in (4, 9, 40):
        rest = np.kron(np.eye(2, dtype=np.int64), np.array([[scale, scale + 1], [scale + 1, scale]]))
        # Weights of the four permutations: e has s, and rows give the others; each is cut into parts by `decoys`.
        for decoys in (4, 5):
            by_listing = sum(masks_of_weights([s, scale - s, scale - s, s + 1], decoys) for s in range(1, scale)) + sum(
                masks_of_weights([weight for weight in weights if weight], decoys)
                for weights in ([0, scale, scale, 1], [scale, 0, 0, scale + 1])
            )
            assert count_masks(rest, decoys) == by_listing
    rest = np.kron(np.eye(2, dtype=np.int64), np.array([[10**6, 10**6], [10**6, 10**6]]))
    assert count_masks(rest, 4) > 24 * (10**6 - 1)


def test_five_permutations_have_at_most_one_relation() -> None:
    """At most four points of 0 and 1 lie in an affine plane; here all sets of five of size 4 that hold the identity."""
    every = [np.eye(4)[list(p)].ravel() for p in permutations(range(4))]
    first, others = every[0], every[1:]
    sets = np.array([[first, *chosen] for chosen in combinations(others, 4)])
    assert np.linalg.matrix_rank(sets).min() >= 4


def test_the_worked_example_of_the_paper() -> None:
    """Section 4.7: clients 1 and 3 are read for certain; all four candidates tie for client 2."""
    mask = Mask(2, 2, 6, 20)
    matrices = {
        (1, 0): [[0, 10, 10, 0], [20, 0, 0, 0], [0, 0, 6, 14], [0, 10, 4, 6]],
        (0, 1): [[6, 7, 7, 0], [7, 6, 0, 7], [7, 0, 7, 6], [0, 7, 6, 7]],
    }
    for bits, matrix in matrices.items():
        assert posterior_of_matrix(mask, np.array(matrix))[bits] == 1
    second = posterior_of_matrix(mask, np.array([[6, 6, 0, 8], [6, 6, 8, 0], [0, 8, 6, 6], [8, 0, 6, 6]]))
    assert set(second.values()) == {Fraction(1, 4)}


@pytest.mark.parametrize(("bits", "decoys"), [(2, 2), (2, 5), (3, 4)])
def test_the_posterior_is_calibrated(bits: int, decoys: int) -> None:
    """As many clients are right as the posterior says, at the paper's parameters. Seeded; five standard errors."""
    generator = np.random.default_rng(11)

    def draw(bound: int, shape: tuple[int, ...]) -> IntArray:
        return generator.integers(0, bound, size=shape)

    mask, clients = Mask(bits, decoys), 2_000 if EVERYTHING else 60
    truth = draw(2, (clients, bits))
    masked = mask_bits(mask, truth, draw)
    stated, given = [], []
    for client in range(clients):
        chances = posterior_of_matrix(mask, masked.matrix(client))
        given.append(chances[tuple(truth[client].tolist())])
        stated.append(sum(chance**2 for chance in chances.values()))  # the mean of what the truth is given
    assert min(given) > 0
    spread = max(0.02, float(np.std([float(g - s) for g, s in zip(given, stated, strict=True)]))) / math.sqrt(clients)
    assert float(np.mean([float(g) for g in given])) == pytest.approx(float(sum(stated)) / clients, abs=5 * spread)


def test_the_attack_is_measured_beside_blocks_and_guessing() -> None:
    rates = {rate.name: rate for rate in measure_attacks("two-layer", 2, 5, 120, seed=1)}
    exact, blocks = rates["whole matrix, exact"].rate or 0, rates["whole matrix, blocks"].rate or 0
    assert exact > blocks + 0.02 and blocks > 0.8 and rates["whole matrix, guessing"].rate == 0.25
    assert exact >= (rates["whole matrix, heuristic"].rate or 0)


def test_beyond_small_sizes_the_heuristic_is_labelled() -> None:
    rates = {rate.name: rate for rate in measure_attacks("two-layer", 10, 20, 20, seed=1)}
    assert rates["whole matrix, exact"].rate is None and "not tried" in rates["whole matrix, exact"].note
    assert (rates["whole matrix, heuristic"].rate or 0) > (rates["whole matrix, blocks"].rate or 0) + 0.1
    assert "no bound" in rates["whole matrix, heuristic"].note


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(InputError, match="exact up to 3 bits and 5 decoys"):
        posterior_of_matrix(Mask(4, 2), np.eye(8, dtype=np.int64))
    with pytest.raises(InputError, match="honest client"):
        posterior_of_matrix(Mask(1, 2, 1, 4), np.array([[4, 0], [1, 3]]))
