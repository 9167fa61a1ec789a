"""Newton's method for the nearest counts, against a general optimiser on the definition."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

from safemargin.core import FloatArray, numpy_generator
from safemargin.topdown.siblings import FREE
from safemargin.topdown.transport import TransportProblem, nearest_counts

STARTS, AREAS, CELLS = np.array([0, 2, 3]), 6, 4
GROUPS = np.array([0, 0, 1, 0])


def problem(seed: int, shape: str) -> TransportProblem:
    """Three areas of 2, 1 and 3 parts; true counts satisfy everything."""
    random = numpy_generator(seed)
    true = random.poisson(random.gamma(0.6, 4, (AREAS, CELLS))).astype(np.int64)
    target = true + random.normal(0, 2, true.shape)
    sums = np.stack([true[:, GROUPS == group].sum(axis=1) for group in (0, 1)], axis=1).astype(np.float64)
    softness = np.zeros(sums.shape)
    if shape != "fixed sums":
        softness = np.full(sums.shape, FREE) if shape == "free sums" else random.gamma(2, 1, sums.shape)
        sums = sums + random.normal(0, 2, sums.shape)
    low = np.maximum(true - random.integers(0, 3, true.shape), 0) * (random.random(true.shape) < 0.3)
    high = np.where(random.random(true.shape) < 0.3, true + random.integers(0, 3, true.shape), np.inf)
    weight = random.gamma(3, 0.3, true.shape)
    above = np.add.reduceat(true, STARTS, axis=0)
    return TransportProblem(target, weight, low.astype(np.float64), high, STARTS, above, GROUPS, sums, softness)


def is_nearest(given: TransportProblem, counts: FloatArray) -> bool:
    """From the definition: all sums agree, and no feasible counts lie in a direction in which the price falls."""
    members = np.stack([GROUPS == 0, GROUPS == 1]).astype(np.float64)
    columns = np.kron(np.repeat(np.eye(3), [2, 1, 3], axis=1), np.eye(CELLS))
    equal, right = columns, given.above.reshape(-1)
    slope = given.weight * (counts - given.target)
    if (given.softness > 0).all():
        slope = slope + ((counts @ members.T - given.sums) / given.softness)[:, GROUPS]
    else:
        equal = np.vstack([columns, np.kron(np.eye(AREAS), members)])
        right = np.concatenate([right, given.sums.reshape(-1)])
    ends = np.stack([given.low.reshape(-1), given.high.reshape(-1)], axis=1)
    best = linprog(slope.reshape(-1), A_eq=equal, b_eq=right, bounds=ends)
    inside = (counts >= given.low).all() and (counts <= given.high).all()
    agree = np.abs(equal @ counts.reshape(-1) - right).max() < 1e-6
    return bool(inside and agree and best.success and (slope * counts).sum() <= best.fun + 1e-5)


@pytest.mark.parametrize("shape", ["fixed sums", "soft sums", "free sums"])
@pytest.mark.parametrize("seed", range(20))
def test_counts_are_the_nearest(seed: int, shape: str) -> None:
    given = problem(seed, shape)
    if shape == "fixed sums":  # some counts are zero because the area above has none, as in the second pass
        given = replace(given, low=np.zeros_like(given.low), high=np.where(given.high == 0, 0.0, np.inf))
    counts = nearest_counts(given)
    assert counts is not None and is_nearest(given, counts)
    assert not is_nearest(given, counts + np.where(np.arange(AREAS) == 3, 1e-2, 0.0)[:, None])


def test_tight_intervals_beside_fixed_sums_are_solved_or_given_up() -> None:
    found = [(given, nearest_counts(given)) for given in (problem(seed, "fixed sums") for seed in range(20))]
    assert all(counts is None or is_nearest(given, counts) for given, counts in found)
    assert sum(counts is not None for _, counts in found) >= 10


def test_problems_without_a_solution_end() -> None:
    """Sums by group and by cell that contradict each other: the caller solves them otherwise."""
    given = problem(0, "fixed sums")
    assert nearest_counts(replace(given, sums=given.sums + 1)) is None
