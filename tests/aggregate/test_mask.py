"""PolyVeil's masks against the paper's worked example and against brute force over all permutations."""

import json
from collections import Counter
from fractions import Fraction
from itertools import combinations, permutations, product
from math import comb
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chisquare

from safemargin.aggregate.mask import (
    Mask,
    Masked,
    crossings,
    dense,
    draw_permutations,
    draw_weights,
    encode,
    mask_bits,
    unmask,
)
from safemargin.core import InputError, IntArray

EXAMPLE = json.loads((Path(__file__).parent.parent / "vectors" / "polyveil_example.json").read_text())


def example() -> Masked:
    mask = Mask(2, 2, EXAMPLE["unit"], EXAMPLE["scale"])
    bits, weights = np.array(EXAMPLE["bits"]), np.array(EXAMPLE["weights"])
    decoys = np.array(EXAMPLE["decoys"]) - 1
    noise = np.einsum("tk,tkj->tj", weights, crossings(decoys))
    return Masked(mask, mask.unit * bits + noise, noise, weights, decoys, encode(bits))


def extraction(matrix: IntArray) -> int:
    """`w^T P y` from its definition (3.8): a dense product."""
    size = len(matrix)
    w, y = np.arange(size) % 2 == 0, np.arange(size) % 2 == 1
    return int(w.astype(int) @ matrix @ y.astype(int))


def test_worked_example_to_the_last_number() -> None:
    masked = example()
    scale = EXAMPLE["scale"]
    assert [Fraction(int(n), scale) for n in masked.noise.sum(axis=1)] == [Fraction(x) for x in EXAMPLE["noise"]]
    assert [Fraction(int(n), scale) for n in masked.values.sum(axis=1)] == [Fraction(x) for x in EXAMPLE["values"]]
    assert [masked.matrix(client).tolist() for client in range(3)] == EXAMPLE["matrices"]
    assert Fraction(int(masked.values.sum()), scale) == Fraction(EXAMPLE["value_sum"])
    assert Fraction(int(masked.noise.sum()), scale) == Fraction(EXAMPLE["noise_sum"])
    marginals = unmask(masked.mask, masked.values.sum(axis=0), masked.noise.sum(axis=0), 3)
    assert marginals.tolist() == EXAMPLE["marginals"] and marginals.sum() == EXAMPLE["total"] == 4
    assert int(np.array(EXAMPLE["weighted"]["weights"]) @ marginals) == EXAMPLE["weighted"]["total"]


def test_floats_do_not_give_the_total() -> None:
    assert ((1.2 + 1.4 + 0.65) - (0.8 + 0.35 + 0.9)) / 0.3 != 4


def test_encoding_is_a_permutation_that_counts_bits() -> None:
    for count in range(1, 7):
        for bits in product((0, 1), repeat=count):
            columns = encode(np.array([bits]))[0]
            assert sorted(columns) == list(range(2 * count))
            assert extraction(dense(columns)) == sum(bits) == crossings(columns[None]).sum()


def crossing_law(bits: int) -> list[Fraction]:
    """Probability that a decoy adds x to the sum: `C(n, x)^2 / C(2n, n)`.

    The paper takes the n entries beside the diagonal for all n^2 that count, and gets a mean of 1/2 where n/2 is right.
    """
    return [Fraction(comb(bits, x) ** 2, comb(2 * bits, bits)) for x in range(bits + 1)]


@pytest.mark.parametrize("bits", [1, 2, 3])
def test_law_of_one_decoy_by_brute_force(bits: int) -> None:
    every = [np.array(columns) for columns in permutations(range(2 * bits))]
    counts = Counter(extraction(dense(columns)) for columns in every)
    assert all(extraction(dense(columns)) == crossings(columns[None]).sum() for columns in every)
    law = crossing_law(bits)
    assert [Fraction(counts[x], len(every)) for x in range(bits + 1)] == law
    mean = sum(x * p for x, p in enumerate(law))
    variance = sum(x * x * p for x, p in enumerate(law)) - mean**2
    assert mean == Fraction(bits, 2) and variance == Fraction(bits**2, 4 * (2 * bits - 1))


@pytest.mark.statistical
def test_permutations_are_uniform() -> None:
    """24 permutations, 48,000 draws from system entropy: a false alarm once in ten million runs."""
    drawn = draw_permutations(48_000, 4)
    counts = Counter(map(tuple, drawn.tolist()))
    assert len(counts) == 24 and chisquare(list(counts.values())).pvalue > 1e-7


@pytest.mark.statistical
def test_weights_are_uniform_over_compositions() -> None:
    """All 28 ways to write 9 as three positive numbers, 56,000 draws: a false alarm once in ten million runs."""
    mask = Mask(1, 3, unit=3, scale=12)
    drawn = draw_weights(mask, 56_000)
    assert (drawn.sum(axis=1) == 9).all() and (drawn >= 1).all()
    counts = Counter(map(tuple, drawn.tolist()))
    assert len(counts) == 28 and chisquare(list(counts.values())).pvalue > 1e-7


def test_masked_matrices_are_doubly_stochastic_and_sums_exact() -> None:
    generator = np.random.default_rng(5)
    for _ in range(30):
        n, clients, decoys = (int(x) for x in generator.integers([1, 3, 2], [8, 12, 9]))
        mask = Mask(n, decoys)
        bits = generator.integers(0, 2, size=(clients, n))
        masked = mask_bits(mask, bits)
        for client in range(clients):
            matrix = masked.matrix(client)
            assert matrix.min() >= 0 and {*matrix.sum(axis=0).tolist(), *matrix.sum(axis=1).tolist()} == {mask.scale}
            assert (matrix[0::2, 1::2].sum(axis=1) == masked.values[client]).all()
            assert extraction(matrix) == masked.values[client].sum()
        totals = unmask(mask, masked.values.sum(axis=0), masked.noise.sum(axis=0), clients)
        assert (totals == bits.sum(axis=0)).all()


def test_a_large_sum_is_exact() -> None:
    generator = np.random.default_rng(7)
    bits = generator.integers(0, 2, size=(300, 40))
    masked = mask_bits(Mask(40, 5), bits)
    assert (
        unmask(masked.mask, masked.values.sum(axis=0), masked.noise.sum(axis=0), 300).tolist()
        == bits.sum(axis=0).tolist()
    )


def test_tampering_is_noticed_unless_it_is_a_multiple_of_the_unit() -> None:
    masked = example()
    values, noise = masked.values.sum(axis=0), masked.noise.sum(axis=0)
    for shift in range(1, 6):
        with pytest.raises(InputError, match="do not fit together"):
            unmask(masked.mask, values, noise + shift, 3)
    moved = unmask(masked.mask, values, noise - masked.mask.unit, 3)
    assert (moved == np.array(EXAMPLE["marginals"]) + 1).all()
    with pytest.raises(InputError, match="cannot come from 3 clients"):
        unmask(masked.mask, values, noise - 9 * masked.mask.unit, 3)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ((0, 2), "bits = 0"),
        ((2, 1), "weights = 1"),
        ((2, 2, 20, 20), "unit = 20"),
        ((2, 9, 2, 11), "scale = 11"),
    ],
)
def test_parameters_without_protection_are_refused(arguments: tuple[int, ...], match: str) -> None:
    with pytest.raises(InputError, match=match):
        Mask(*arguments)


def test_sums_beyond_63_bits_are_refused() -> None:
    with pytest.raises(InputError, match="may pass 2\\^63"):
        Mask(100, 2, unit=2**40).check_total(10**6)


def test_server_view_depends_on_the_total_only() -> None:
    """The law of (F, H) by enumeration: n = 2, two decoys, scale 8, unit 2, two clients (Theorem 6.2)."""
    one_client: Counter[int] = Counter()
    law = crossing_law(2)
    for (x, p), (y, q), cut in product(enumerate(law), enumerate(law), range(1, 6)):
        one_client[cut * x + (6 - cut) * y] += p * q / 5  # type: ignore[assignment]

    def view(sums: tuple[int, int]) -> dict[tuple[int, int], Fraction]:
        joint: dict[tuple[int, int], Fraction] = {}
        for (a, p), (b, q) in product(one_client.items(), repeat=2):
            key = (2 * sum(sums) + a + b, a + b)
            joint[key] = joint.get(key, Fraction(0)) + Fraction(p) * Fraction(q)
        return joint

    assert view((2, 0)) == view((1, 1)) == view((0, 2)) != view((2, 1))
    assert sum(view((1, 1)).values()) == 1


def test_candidate_sets_of_the_example() -> None:
    """Permutations whose ones sit on entries of at least the unit (set L of the paper): 2, 9 and 9 of 24."""
    sizes = []
    for matrix in map(np.array, EXAMPLE["matrices"]):
        fits = [p for p in permutations(range(4)) if all(matrix[row, column] >= 6 for row, column in enumerate(p))]
        sizes.append(len(fits))
    assert sizes == [2, 9, 9]
    assert len(list(combinations(range(4), 2))) == 6
