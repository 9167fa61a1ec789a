"""Delta of a winner as a fraction: the law of sums in whole numbers of any length."""

from fractions import Fraction

import numpy as np

from safemargin.voting.election import Kinds
from safemargin.voting.lattice import BLOCK, VoteGrid, exact_law, grid_of, results_on

MOST_STEPS = 3e7


def is_small(kinds: Kinds, grid: VoteGrid) -> bool:
    """Whether it takes seconds, not hours."""
    return float(grid.cells(kinds.others)) * max(kinds.others, 1) * len(kinds) <= MOST_STEPS


def exact_chances(kinds: Kinds) -> list[list[Fraction]]:
    """How likely each result is, for each vote of the person."""
    grid = grid_of(kinds)
    law, whole = exact_law(kinds, grid)
    flat = law.ravel()
    held = np.flatnonzero(flat != 0)
    sums = [[0] * kinds.rule.outcomes for _ in kinds.votes]
    for start in range(0, len(held), BLOCK):
        cells = held[start : start + BLOCK]
        points = np.stack(np.unravel_index(cells, law.shape), axis=1).astype(np.int64)
        for vote, results in enumerate(results_on(kinds, grid, points)):
            for result in np.unique(results).tolist():
                sums[vote][result] += sum(flat[cells[results == result]].tolist())
    return [[Fraction(value, whole) for value in row] for row in sums]


def exact_delta(kinds: Kinds, factor: Fraction = Fraction(1)) -> Fraction:
    """Delta as a fraction; `factor` is exp of epsilon."""
    likely = exact_chances(kinds)
    return max(
        sum((max(p - factor * q, Fraction(0)) for p, q in zip(first, second, strict=True)), Fraction(0))
        for first in likely
        for second in likely
    )
