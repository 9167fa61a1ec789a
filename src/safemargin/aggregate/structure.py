"""Quantities of the paper's section 6.4 and appendix B, exact on small cases. No protection rests on them."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, permutations, product
from math import factorial

import numpy as np

from safemargin.aggregate.attacks import permanent
from safemargin.aggregate.mask import Draw, Mask, Masked, draw_permutations, mask_bits
from safemargin.core import BoolArray, FloatArray, InputError, IntArray, system_below

MOST_PERMUTATIONS = 720
"""Of size 6: larger supports are not gone through one by one."""


def candidates(mask: Mask, matrix: IntArray) -> list[tuple[int, ...]]:
    """Permutations that fit under a masked matrix (set L): entries of at least the unit wherever they have a one."""
    size = len(matrix)
    if factorial(size) > MOST_PERMUTATIONS:
        raise InputError(f"{size} rows: candidates are listed for at most 6")
    return [p for p in permutations(range(size)) if all(matrix[row, c] >= mask.unit for row, c in enumerate(p))]


def likely_candidates(mask: Mask, matrix: IntArray) -> dict[tuple[int, ...], int]:
    """Bits that some two decoys explain, with the number of ordered pairs that do (eq. 18 for K = 2)."""
    size = len(matrix)
    every = list(permutations(range(size)))
    if len(every) > MOST_PERMUTATIONS:
        raise InputError(f"{size} rows: pairs of decoys are gone through for at most 6")
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
    """By inclusion and exclusion over determinants (eq. 26, without 1/d!): of identities it is d!.

    >>> mixed_discriminant([np.diag(row) for row in ([1, 2, 3], [4, 5, 6], [7, 8, 10])])
    463
    """
    size = len(matrices)
    total = Fraction(0)
    for number in range(1, size + 1):
        for chosen in combinations(matrices, number):
            total += (-1) ** (size - number) * _determinant(sum(chosen[1:], chosen[0]))
    if total.denominator != 1:
        raise InputError("the matrices must hold whole numbers")
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


def support_size(matrix: IntArray) -> int:
    """Permutations inside the support: its permanent."""
    return permanent((matrix > 0).astype(np.int64))


def feasible_tuples(matrix: IntArray, count: int) -> int:
    """Ordered tuples of permutations of which some positive weights give the matrix.

    The paper counts every tuple inside the support (Prop. 6.10): that is necessary, not sufficient.
    """
    inside = [p for p in permutations(range(len(matrix))) if all(matrix[row, c] > 0 for row, c in enumerate(p))]
    if len(inside) ** count > 100_000:
        raise InputError(f"{len(inside)}^{count} tuples: at most 100,000 are gone through")
    flat = {p: _ones(p) for p in inside}
    return sum(_has_weights([flat[p] for p in chosen], matrix, strict=True) for chosen in product(inside, repeat=count))


def _ones(columns: Sequence[int]) -> FloatArray:
    matrix = np.zeros((len(columns), len(columns)))
    matrix[np.arange(len(columns)), list(columns)] = 1
    return matrix.ravel()


def _has_weights(parts: Sequence[FloatArray], matrix: FloatArray | IntArray, strict: bool) -> bool:
    """Whether weights, all positive if `strict`, make the parts add up to the matrix: maximise the least one."""
    from scipy.optimize import linprog  # slow to import, and few commands need it

    target = np.asarray(matrix, dtype=float).ravel()
    columns = np.stack([*parts, np.zeros_like(target)], axis=1)
    least = np.concatenate([-np.eye(len(parts)), np.ones((len(parts), 1))], axis=1)
    cost = np.zeros(len(parts) + 1)
    cost[-1] = -1
    limits = [(0, None)] * len(parts) + [(None, None)]
    answer = linprog(cost, least, np.zeros(len(parts)), columns, target, bounds=limits)
    if answer.status != 0 or answer.x is None:
        return False
    return bool(not strict or answer.x[-1] > 1e-9)


def hit_rate(bits: int, decoys: int, draws: int, strict: bool = True, draw: Draw = system_below) -> float:
    """Share of random tuples of decoys that can explain the uniform matrix J / 2n (Def. B.8).

    With positive weights only, or (not `strict`) also with weights of zero, which the paper does not distinguish.
    """
    size = 2 * bits
    target = np.full((size, size), 1 / size)
    hits = 0
    for chosen in draw_permutations(draws * decoys, size, draw).reshape(draws, decoys, size):
        hits += _has_weights([_ones(columns) for columns in chosen], target, strict)
    return hits / draws


def interior_rate(mask: Mask, draws: int, draw: Draw = system_below) -> float:
    """Share of masked matrices in which every entry exceeds the unit (Def. B.2): then all candidates are possible."""
    masked: Masked = mask_bits(mask, np.zeros((draws, mask.bits), dtype=np.int64), draw)
    return float(np.mean([(masked.matrix(client) > mask.unit).all() for client in range(draws)]))


def decompose(matrix: IntArray) -> Iterator[tuple[int, tuple[int, ...]]]:
    """A decomposition into weighted permutations (Birkhoff): at most m^2 - 2m + 2 terms (Marcus and Ree)."""
    rest = matrix.copy()
    while rest.max() > 0:
        columns = _matching(rest > 0)
        weight = int(min(rest[row, c] for row, c in enumerate(columns)))
        for row, c in enumerate(columns):
            rest[row, c] -= weight
        yield weight, columns


def _matching(allowed: BoolArray) -> tuple[int, ...]:
    """A perfect matching by augmenting paths; a doubly stochastic matrix always has one."""
    size = len(allowed)
    owner = [-1] * size

    def augment(row: int, seen: set[int]) -> bool:
        for column in np.flatnonzero(allowed[row]).tolist():
            if column in seen:
                continue
            seen.add(column)
            if owner[column] < 0 or augment(owner[column], seen):
                owner[column] = row
                return True
        return False

    for row in range(size):
        if not augment(row, set()):
            raise InputError("the matrix is not doubly stochastic: no permutation fits into it")
    columns = [0] * size
    for column, row in enumerate(owner):
        columns[row] = column
    return tuple(columns)
