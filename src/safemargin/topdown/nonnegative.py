"""Least squares without negative counts, by Clarabel."""

import math
from dataclasses import replace

import numpy as np
from scipy import sparse

from safemargin.core import FloatArray, InputError
from safemargin.topdown.design import MOST
from safemargin.topdown.family import AreaFamily

FAR = 1e5
"""People from the target to a limit that is looked at only if it is broken."""

GOOD = ("Solved", "AlmostSolved", "InsufficientProgress")


class Infeasible(InputError):
    """No counts satisfy all constraints of a family."""


def nonnegative(family: AreaFamily) -> FloatArray:
    """The values nearest to the target that satisfy everything, in real numbers.

    The solver is asked for the way from the target, which is short, so that large counts lose no digits; limits further
    away are left out at first. Targets are rounded to parts of a person whose sums are exact, so that equations do not
    contradict each other.
    """
    if not len(family.target):
        raise Infeasible("no counts satisfy all constraints, because none is left")
    parts = 2.0 ** min(20, 50 - math.ceil(math.log2(1 + np.abs(family.target).sum())))
    family = replace(family, target=np.rint(family.target * parts) / parts)
    moved = family.target + _way(family, FAR)
    sums = family.matrix @ moved
    if (moved < -1).any() or (sums < family.least - 1).any() or (sums > family.most + 1).any():
        moved = family.target + _way(family, np.inf)
    values: FloatArray = np.maximum(moved, 0.0)
    return values


def _way(family: AreaFamily, far: float) -> FloatArray:
    """The shortest way to where all limits hold that are no further away."""
    size = len(family.target)
    scale = family.weight.max()
    weights, ties = [family.weight / scale], []
    width = size + sum(len(weight) for _, weight, _ in family.also)
    place = size
    for matrix, weight, _ in family.also:  # one more variable for every sum that should stay where it is
        weights.append(weight / scale)
        shift = sparse.csr_array(
            (np.ones(len(weight)), (np.arange(len(weight)), np.arange(place, place + len(weight)))),
            shape=(len(weight), width),
        )
        ties.append(_wide(matrix, width) - shift)
        place += len(weight)
    fixed, above, below = family.least == family.most, family.most < MOST, family.least > 0
    every = _wide(sparse.eye_array(size, format="csr"), width)
    rows, now = _wide(family.matrix, width), family.matrix @ family.target
    above, below = above & ~fixed & (family.most - now < far), below & ~fixed & (now - family.least < far)
    some = ~family.empty & (family.target < far)
    equal = [rows[fixed], every[family.empty], *ties]
    inequalities = [rows[above], -rows[below], -every[some]]
    zeros = sum(block.shape[0] for block in equal)
    right = [
        (family.least - now)[fixed],
        -family.target[family.empty],
        *(-far for _, _, far in family.also),
        (family.most - now)[above],
        (now - family.least)[below],
        family.target[some],
    ]
    limited = sparse.csc_array(sparse.vstack([*equal, *inequalities]))
    return _shortest(np.concatenate(weights), limited, np.concatenate(right), zeros)[:size]


def _shortest(weights: FloatArray, matrix: sparse.csc_array, right: FloatArray, zeros: int) -> FloatArray:
    """The least `x` by weighted squares with `matrix x <= right`, in the first rows with equality.

    A long way among small limits may look as if there was none; it is then measured in units of its own length.
    """
    import clarabel

    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    cones = [clarabel.ZeroConeT(zeros), clarabel.NonnegativeConeT(len(right) - zeros)]
    squares, nothing = sparse.diags_array(weights, format="csc"), np.zeros(len(weights))
    for unit in (1.0, 1.0 + float(np.abs(right).max(initial=0.0))):
        solution = clarabel.DefaultSolver(squares, nothing, matrix, right / unit, cones, settings).solve()
        if str(solution.status) in GOOD:
            return np.asarray(solution.x, dtype=np.float64) * unit
    raise Infeasible(f"no counts satisfy all constraints ({solution.status})")


def _wide(matrix: sparse.csr_array, width: int) -> sparse.csr_array:
    """The same rows with further columns that are empty."""
    return sparse.csr_array((matrix.data, matrix.indices, matrix.indptr), shape=(matrix.shape[0], width))
