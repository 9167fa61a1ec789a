"""The nearest counts of sibling areas without negative ones, for many areas at once.

Most sibling problems have one shape: the counts of a cell add up to that of the area above, counts lie in intervals,
and in each area sums of one family of disjoint groups of cells are fixed, or should stay near those of the target. The
dual of this least-squares problem has one unknown per group and area (`pull`) and one per cell and area above (`push`);
counts are the target plus both, divided by the weight, cut off at the ends of their intervals. It is concave and
piecewise quadratic, so Newton's method on it ends after a few steps (Cominetti, Mascarenhas and Silva, "A Newton's
method for the continuous quadratic knapsack problem", 2014, for one row). Where all sums agree, the counts are the
optimum, which is verified; where it does not end, the caller solves a quadratic program.
"""

from dataclasses import dataclass

import numpy as np

from safemargin.core import FloatArray, IntArray

STEPS, HALVINGS = 60, 20
EXACT, RELATIVE = 1e-8, 1e-14  # sums that agree up to this, and this share of their size, are met
ENOUGH = 1e-4  # share of the expected gain that a step must bring (Armijo)
LEAST_SLOPE = 0.05  # of a sum whose counts are all at an end: as if a twentieth of a count could move
RIDGE = 1e-7  # pulls up and pushes down by the same amount change nothing: the smallest such step is taken
ROUNDING = 1e-13  # of the terms of the dual function
MAX_GROUP = 64  # counts of a group up to which dense matrices of their products are cheap


@dataclass(frozen=True)
class TransportProblem:
    """Counts near `target`, from `low` to `high`, by area (rows) and cell.

    The cells of the areas from `starts[i]` on add up to `above[i]`. Cells of group `groups[cell]` add up to `sums` in
    each area: exactly where `softness` is 0, otherwise at the price of the squared difference over twice the softness.
    """

    target: FloatArray
    weight: FloatArray
    low: FloatArray
    high: FloatArray
    starts: IntArray
    above: IntArray
    groups: IntArray
    sums: FloatArray
    softness: FloatArray


@dataclass(frozen=True)
class _Point:
    """Counts, what their sums miss by group and by cell (the gradient), and by area above the dual function."""

    counts: FloatArray
    rows: FloatArray
    missing: FloatArray
    value: FloatArray
    rounding: FloatArray

    @property
    def miss(self) -> float:
        return max(float(np.abs(self.rows).max(initial=0.0)), float(np.abs(self.missing).max(initial=0.0)))


class _Newton:
    def __init__(self, problem: TransportProblem) -> None:
        self.problem, self.slope = problem, 1.0 / problem.weight
        areas, cells = problem.target.shape
        self.members = (problem.groups[:, None] == np.arange(problem.sums.shape[1])).astype(np.float64)
        self.parent = np.repeat(np.arange(len(problem.starts)), np.diff(problem.starts, append=areas))
        self.inside = [np.flatnonzero(problem.groups == group) for group in range(problem.sums.shape[1])]
        self.least_row = LEAST_SLOPE * self.slope.mean(axis=1, keepdims=True)
        self.least_column = LEAST_SLOPE * np.minimum.reduceat(self.slope.mean(axis=1), problem.starts)[:, None]

    def columns(self, values: FloatArray) -> FloatArray:
        """Sums over the parts of each area above."""
        return np.asarray(np.add.reduceat(values, self.problem.starts, axis=0), dtype=np.float64)

    def at(self, pull: FloatArray, push: FloatArray) -> "_Point":
        """Counts and dual function of a point."""
        problem = self.problem
        force = pull[:, problem.groups] + push[self.parent]
        counts = np.clip(problem.target + force * self.slope, problem.low, problem.high)
        rows = problem.sums - counts @ self.members - pull * problem.softness
        missing = problem.above - self.columns(counts)
        moved = counts - problem.target
        inner = (0.5 * problem.weight * moved**2 - force * counts).sum(axis=1)
        outer = (pull * (problem.sums - 0.5 * pull * problem.softness)).sum(axis=1)
        last = (push * problem.above).sum(axis=1)
        rounding = ROUNDING * (1 + self.columns(np.abs(inner) + np.abs(outer)) + np.abs(last))
        return _Point(counts, rows, missing, self.columns(inner + outer) + last, rounding)

    def direction(self, point: _Point) -> tuple[FloatArray, FloatArray]:
        """The Newton step: groups are eliminated, so one small system per group and area above is left."""
        problem, counts, rows, missing = self.problem, point.counts, point.rows, point.missing
        free = np.where((counts > problem.low) & (counts < problem.high), self.slope, 0.0)
        curve = np.maximum(free @ self.members + problem.softness, self.least_row)
        reduced = missing - self.columns(free * (rows / curve)[:, problem.groups])
        push = np.empty_like(missing)
        diagonal = np.maximum(self.columns(free), self.least_column)
        for group, cells in enumerate(self.inside):
            part = free[:, cells]
            matrix = -self.columns(part[:, :, None] * (part / curve[:, group, None])[:, None, :])
            index = np.arange(len(cells))
            matrix[:, index, index] += diagonal[:, cells] * (1 + RIDGE)
            push[:, cells] = np.linalg.solve(matrix, reduced[:, cells, None])[:, :, 0]
        pull = (rows - (free * push[self.parent]) @ self.members) / curve
        return pull, push


def nearest_counts(problem: TransportProblem) -> FloatArray | None:
    """The counts with the least sum of weighted squares from the target; None if they were not found."""
    newton = _Newton(problem)
    if max(map(len, newton.inside)) > MAX_GROUP:
        return None
    pull, push = np.zeros_like(problem.sums), np.zeros(problem.above.shape)
    point = newton.at(pull, push)
    exact = EXACT + RELATIVE * float(np.abs(problem.above).max(initial=0))
    for _ in range(STEPS):
        if point.miss <= exact:
            return point.counts
        pulls, pushes = newton.direction(point)
        gain = newton.columns((point.rows * pulls).sum(axis=1)) + (point.missing * pushes).sum(axis=1)
        length = np.ones(len(gain))
        for _ in range(HALVINGS):
            longer = pull + length[newton.parent][:, None] * pulls, push + length[:, None] * pushes
            further = newton.at(*longer)
            # Rounding errors of the dual function hide the gain of the last steps.
            bad = further.value < point.value + ENOUGH * length * gain - point.rounding
            if not bad.any():
                break
            length = np.where(bad, length / 2, length)
        (pull, push), point = longer, further
        if not np.isfinite(point.value).all():
            break
    return None
