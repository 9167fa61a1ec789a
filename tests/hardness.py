"""Quantities of the paper's section 6.4 by their definitions, which no command shows."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, permutations, product

import numpy as np

from safemargin.aggregate.mask import Mask
from safemargin.aggregate.matrix_structure import has_weights, ones
from safemargin.core import IntArray


def likely_candidates(mask: Mask, matrix: IntArray) -> dict[tuple[int, ...], int]:
    """Bits that some two decoys explain, with the number of ordered pairs that do (eq. 18 for K = 2)."""
    size = len(matrix)
    every = list(permutations(range(size)))
    explained: dict[tuple[int, ...], int] = {}
    for bits in product((0, 1), repeat=size // 2):
        rest = matrix.copy()
        for bit, value in enumerate(bits):
            rest[2 * bit, 2 * bit + value] -= mask.unit
            rest[2 * bit + 1, 2 * bit + 1 - value] -= mask.unit
        if (rest < 0).any():
            continue
        ways = sum(_is_sum_of_two(rest, first, second) for first in every for second in every)
        if ways:
            explained[bits] = ways
    return explained


def _is_sum_of_two(rest: IntArray, first: Sequence[int], second: Sequence[int]) -> bool:
    """Whether `m P + m' Q` is the matrix for some positive weights."""
    rows = range(len(rest))
    shared = [row for row in rows if first[row] == second[row]]
    covered = {(row, first[row]) for row in rows} | {(row, second[row]) for row in rows}
    if {(int(r), int(c)) for r, c in zip(*np.nonzero(rest), strict=True)} != covered:
        return False
    apart = [row for row in rows if row not in shared]
    if not apart:  # one matrix twice: any split of its weight will do
        return len({int(rest[row, first[row]]) for row in rows}) == 1
    a = {int(rest[row, first[row]]) for row in apart}
    b = {int(rest[row, second[row]]) for row in apart}
    whole = {int(rest[row, first[row]]) for row in shared}
    return len(a) == len(b) == 1 and whole <= {next(iter(a)) + next(iter(b))}


def mixed_discriminant(matrices: Sequence[IntArray]) -> int:
    """By inclusion and exclusion over determinants (eq. 26, without 1/d!): of identities it is d!."""
    size = len(matrices)
    total = Fraction(0)
    for number in range(1, size + 1):
        for chosen in combinations(matrices, number):
            total += (-1) ** (size - number) * _determinant(sum(chosen[1:], chosen[0]))
    return int(total)


def _determinant(matrix: IntArray) -> Fraction:
    """Exact, by elimination with fractions."""
    rows = [[Fraction(int(value)) for value in row] for row in matrix]
    result = Fraction(1)
    for column in range(len(rows)):
        pivot = next((row for row in range(column, len(rows)) if rows[row][column]), None)
        if pivot is None:
            return Fraction(0)
        if pivot != column:
            rows[column], rows[pivot] = rows[pivot], rows[column]
            result = -result
        result *= rows[column][column]
        for row in range(column + 1, len(rows)):
            factor = rows[row][column] / rows[column][column]
            rows[row] = [a - factor * b for a, b in zip(rows[row], rows[column], strict=True)]
    return result


def feasible_tuples(matrix: IntArray, count: int) -> int:
    """Ordered tuples of permutations of which some positive weights give the matrix.

    The paper counts every tuple inside the support (Prop. 6.10): that is necessary, not sufficient.
    """
    inside = [p for p in permutations(range(len(matrix))) if all(matrix[row, c] > 0 for row, c in enumerate(p))]
    flat = {p: ones(p) for p in inside}
    return sum(has_weights([flat[p] for p in chosen], matrix, strict=True) for chosen in product(inside, repeat=count))
