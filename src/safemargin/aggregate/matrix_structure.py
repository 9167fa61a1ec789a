"""Quantities of the paper's section 6.4 and appendix B, exact on small cases. No protection rests on them."""

from collections.abc import Iterator, Sequence
from itertools import permutations
from math import factorial

import numpy as np

from safemargin.aggregate.attacks import permanent
from safemargin.aggregate.mask import Draw, Mask, Masked, dense, draw_permutations, mask_bits
from safemargin.core import BoolArray, FloatArray, InputError, IntArray, system_below

MOST_PERMUTATIONS = 720
"""Of size 6: larger supports are not gone through one by one."""


def candidates(mask: Mask, matrix: IntArray) -> list[tuple[int, ...]]:
    """Permutations that fit under a masked matrix (set L): entries of at least the unit wherever they have a one."""
    size = len(matrix)
    if factorial(size) > MOST_PERMUTATIONS:
        raise InputError(f"{size} rows: candidates are listed for at most 6")
    return [p for p in permutations(range(size)) if all(matrix[row, c] >= mask.unit for row, c in enumerate(p))]


def support_size(matrix: IntArray) -> int:
    """Permutations inside the support: its permanent."""
    return permanent((matrix > 0).astype(np.int64))


def ones(columns: Sequence[int]) -> FloatArray:
    matrix = np.zeros((len(columns), len(columns)))
    matrix[np.arange(len(columns)), list(columns)] = 1
    return matrix.ravel()


def has_weights(parts: Sequence[FloatArray], matrix: FloatArray | IntArray, strict: bool) -> bool:
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
        hits += has_weights([ones(columns) for columns in chosen], target, strict)
    return hits / draws


def interior_rate(mask: Mask, draws: int, draw: Draw = system_below) -> float:
    """Share of masks whose decoys alone exceed the unit in every entry (Def. B.2: min R > alpha / (1 - alpha), where
    R is the matrix without its true part): then all candidates are possible.
    """
    masked: Masked = mask_bits(mask, np.zeros((draws, mask.bits), dtype=np.int64), draw)
    inside = [
        (masked.matrix(client) - dense(masked.true[client], mask.unit) > mask.unit).all() for client in range(draws)
    ]
    return float(np.mean(inside))


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
    """A perfect matching; a doubly stochastic matrix always has one."""
    from scipy.optimize import linear_sum_assignment  # slow to import, and few commands need it

    rows, columns = linear_sum_assignment(~allowed)
    if not allowed[rows, columns].all():
        raise InputError("the matrix is not doubly stochastic: no permutation fits into it")
    return tuple(columns.tolist())
