"""Least squares without negative counts, by Clarabel."""

import numpy as np
from scipy import sparse

from safemargin.errors import InputError
from safemargin.mechanisms.topdown.family import Family
from safemargin.model.arrays import FloatArray
from safemargin.model.design import MOST

GOOD = ("Solved", "AlmostSolved", "InsufficientProgress")


class Infeasible(InputError):
    """No counts satisfy all constraints of a family."""


def nonnegative(family: Family) -> FloatArray:
    """The values nearest to the target that satisfy everything, in real numbers.

    The solver is asked for the way from the target, which is short, so that large counts lose no digits.
    """
    import clarabel

    size = len(family.target)
    if not size:
        raise Infeasible("no counts satisfy all constraints, because none is left")
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
    above, below = above & ~fixed, below & ~fixed
    every = _wide(sparse.eye_array(size, format="csr"), width)
    rows, now = _wide(family.matrix, width), family.matrix @ family.target
    equal = [rows[fixed], every[family.empty], *ties]
    inequalities = [rows[above], -rows[below], -every[~family.empty]]
    zeros = sum(block.shape[0] for block in equal)
    right = [
        (family.least - now)[fixed],
        -family.target[family.empty],
        *(-far for _, _, far in family.also),
        (family.most - now)[above],
        (now - family.least)[below],
        family.target[~family.empty],
    ]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    solution = clarabel.DefaultSolver(
        sparse.diags_array(np.concatenate(weights), format="csc"),
        np.zeros(width),
        sparse.csc_array(sparse.vstack([*equal, *inequalities])),
        np.concatenate(right),
        [clarabel.ZeroConeT(zeros), clarabel.NonnegativeConeT(sum(block.shape[0] for block in inequalities))],
        settings,
    ).solve()
    if str(solution.status) not in GOOD:
        raise Infeasible(f"no counts satisfy all constraints ({solution.status})")
    values: FloatArray = np.maximum(family.target + np.asarray(solution.x[:size]), 0.0)
    return values


def _wide(matrix: sparse.csr_array, width: int) -> sparse.csr_array:
    """The same rows with further columns that are empty."""
    return sparse.csr_array((matrix.data, matrix.indices, matrix.indptr), shape=(matrix.shape[0], width))
