"""The generalised shuttle: bounds of a cell from the 2 x 2 x ... table of itself against all else.

For each cell every axis is collapsed to the cell's category and the rest. The margins of that small table follow from
the published ones, and integer propagation in it sees what row sums over many cells do not. All cells are done at once.
"""

from itertools import combinations

import numpy as np

from safemargin.bounds.grid import Face, Grid
from safemargin.core import UNBOUNDED, IntArray

MOST_CELLS = 1_000_000
ROUNDS = 30


def collapse(grid: Grid, low: IntArray, high: IntArray) -> tuple[IntArray, IntArray]:
    """Tighten intervals of one option (one per profile); valid for every table with these margins."""
    count = len(grid.shape)
    patterns = 2**count
    if count < 2 or len(low) * patterns > MOST_CELLS:
        return low, high
    lower = np.zeros((len(low), patterns), dtype=np.int64)
    upper = np.full((len(low), patterns), UNBOUNDED, dtype=np.int64)
    lower[:, 0], upper[:, 0] = low, high
    rows = [row for face in grid.faces for row in _rows(grid, face, count)]
    for _ in range(ROUNDS):
        changed = False
        for members, value in rows:
            spare = value - lower[:, members].sum(axis=1)
            surplus = np.minimum(upper[:, members], UNBOUNDED).sum(axis=1) - value
            top = np.minimum(upper[:, members], lower[:, members] + spare[:, None])
            bottom = np.maximum(lower[:, members], upper[:, members] - surplus[:, None])
            changed |= bool((top < upper[:, members]).any() or (bottom > lower[:, members]).any())
            upper[:, members], lower[:, members] = top, bottom
        if not changed:
            break
    return lower[:, 0], upper[:, 0]


def _rows(grid: Grid, face: Face, count: int) -> list[tuple[list[int], IntArray]]:
    """Rows of the collapsed tables for one face: which patterns of "rest" add up to which margin.

    Bit `a` of a pattern says that axis `a` is at the rest. The margin with some axes at the rest follows from those
    with the cell's own categories by inclusion and exclusion.
    """
    axes = sorted(face)
    own = {
        frozenset(part): grid.margin(frozenset(part)) for k in range(len(axes) + 1) for part in combinations(axes, k)
    }
    outside = [axis for axis in range(count) if axis not in face]
    rows = []
    for size in range(len(axes) + 1):
        for rest in combinations(axes, size):
            value = np.zeros(len(grid.known.codes), dtype=np.int64)
            for k in range(size + 1):
                for part in combinations(rest, k):
                    value += (-1) ** k * own[(face - frozenset(rest)) | frozenset(part)]
            base = sum(1 << axis for axis in rest)
            members = [
                base + sum(1 << axis for axis in free)
                for k in range(len(outside) + 1)
                for free in combinations(outside, k)
            ]
            rows.append((members, value))
    return rows
