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
    """The values nearest to the target that satisfy everything, in real numbers."""
    import clarabel

    size = len(family.target)
    scale = family.weight.max()
    weights, targets, ties = [family.weight / scale], [family.target], []
    width = size + sum(len(weight) for _, weight in family.also)
    place = size
    for matrix, weight in family.also:  # one more variable for every sum that should stay where it is
        weights.append(weight / scale)
        targets.append(matrix @ family.target)
        shift = sparse.csr_array(
            (np.ones(len(weight)), (np.arange(len(weight)), np.arange(place, place + len(weight)))),
            shape=(len(weight), width),
        )
        ties.append(_wide(matrix, width) - shift)
        place += len(weight)
    fixed, above, below = family.least == family.most, family.most < MOST, family.least > 0
    above, below = above & ~fixed, below & ~fixed
    every = _wide(sparse.eye_array(size, format="csr"), width)
    rows = _wide(family.matrix, width)
    equal = [rows[fixed], every[family.empty], *ties]
    inequalities = [rows[above], -rows[below], -every[~family.empty]]
    zeros = sum(block.shape[0] for block in equal)
    least, most = family.least.astype(np.float64), family.most.astype(np.float64)
    right = [least[fixed], np.zeros(zeros - int(fixed.sum())), most[above], -least[below]]
    right.append(np.zeros(int((~family.empty).sum())))
    weight = np.concatenate(weights)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    solution = clarabel.DefaultSolver(
        sparse.diags_array(weight, format="csc"),
        -weight * np.concatenate(targets),
        sparse.csc_array(sparse.vstack([*equal, *inequalities])),
        np.concatenate(right),
        [clarabel.ZeroConeT(zeros), clarabel.NonnegativeConeT(sum(block.shape[0] for block in inequalities))],
        settings,
    ).solve()
    if str(solution.status) not in GOOD:
        raise Infeasible(f"no counts satisfy all constraints ({solution.status})")
    values: FloatArray = np.maximum(np.asarray(solution.x[:size]), 0.0)
    return values


def _wide(matrix: sparse.csr_array, width: int) -> sparse.csr_array:
    """The same rows with further columns that are empty."""
    return sparse.csr_array((matrix.data, matrix.indices, matrix.indptr), shape=(matrix.shape[0], width))
