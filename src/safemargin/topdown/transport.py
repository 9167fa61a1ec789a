"""The nearest counts of sibling areas without negative ones, for many areas at once.

Objects
    x[a, c]     counts of part a and cell c, wanted near target t[a, c] with weight w[a, c], in [low, high]
    above[c]    what the parts of one area add up to, cell by cell
    sums[a, g]  what the cells of group g add up to in part a: exactly where softness s = 0, else at a price

Problem
    minimise    sum w (x - t)^2 / 2 + sum (group sum - sums)^2 / (2 s)
    subject to  low <= x <= high,  sum_a x[a, c] = above[c],  group sum = sums where s = 0.

Statement
    The dual has one multiplier per group and part (`row_multipliers`) and one per cell and area above
    (`column_multipliers`). For given multipliers the best counts are t + (row + column) / w, cut off at the ends of
    their intervals, so the dual is concave and piecewise quadratic, with gradient "what each sum misses". Newton's
    method on it ends after finitely many steps (Cominetti, Mascarenhas and Silva, "A Newton's method for the
    continuous quadratic knapsack problem", 2014, for one row; Armijo steps here).

What callers may rely on
    * Returned counts satisfy every sum to 1e-8 plus 1e-14 of its size, and are then the optimum (strong duality).
    * None: Newton did not end, or a group is too large. The caller solves the same problem as a quadratic program.

Example
    Two parts should hold 5 in a cell and together hold 8, with equal weights: each gives up one. A part that would
    become negative stays at zero, and the other takes the rest:

    >>> cell = lambda *values: np.array([[float(value)] for value in values])
    >>> def parts(target, above):
    ...     free, one = np.full((2, 1), 1e12), np.ones((2, 1))
    ...     where = np.zeros(1, dtype=np.int64)
    ...     return TransportProblem(target, one, 0 * one, np.inf * one, where, np.array([[above]]), where, target, free)
    >>> nearest_counts(parts(cell(5, 5), 8)).round(6).ravel().tolist()
    [4.0, 4.0]
    >>> nearest_counts(parts(cell(9, -3), 4)).round(6).ravel().tolist()
    [4.0, 0.0]
"""

from dataclasses import dataclass

import numpy as np

from safemargin.core import FloatArray, IntArray

STEPS, HALVINGS = 60, 20
EXACT, RELATIVE = 1e-8, 1e-14  # sums that agree up to this, and this share of their size, are met
ENOUGH = 1e-4  # share of the expected gain that a step must bring (Armijo)
LEAST_SLOPE = 0.05  # of a sum whose counts are all at an end: as if a twentieth of a count could move
RIDGE = 1e-7  # rows up and columns down by the same amount change nothing: the smallest such step is taken
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
        """The largest amount by which any sum is missed."""
        return max(float(np.abs(self.rows).max(initial=0.0)), float(np.abs(self.missing).max(initial=0.0)))


class _Newton:
    """Newton's method on the dual of many independent problems at once, one per area above.

    `slope` is how far a count moves per unit of multiplier. Steps of different areas above have lengths of their own,
    as their problems share nothing.
    """

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

    def at(self, row_multipliers: FloatArray, column_multipliers: FloatArray) -> "_Point":
        """Counts and dual function of a point."""
        problem = self.problem
        force = row_multipliers[:, problem.groups] + column_multipliers[self.parent]
        counts = np.clip(problem.target + force * self.slope, problem.low, problem.high)
        rows = problem.sums - counts @ self.members - row_multipliers * problem.softness
        missing = problem.above - self.columns(counts)
        moved = counts - problem.target
        inner = (0.5 * problem.weight * moved**2 - force * counts).sum(axis=1)
        outer = (row_multipliers * (problem.sums - 0.5 * row_multipliers * problem.softness)).sum(axis=1)
        last = (column_multipliers * problem.above).sum(axis=1)
        rounding = ROUNDING * (1 + self.columns(np.abs(inner) + np.abs(outer)) + np.abs(last))
        return _Point(counts, rows, missing, self.columns(inner + outer) + last, rounding)

    def direction(self, point: _Point) -> tuple[FloatArray, FloatArray]:
        """The Newton step: groups are eliminated, so one small system per group and area above is left."""
        problem, counts, rows, missing = self.problem, point.counts, point.rows, point.missing
        free = np.where((counts > problem.low) & (counts < problem.high), self.slope, 0.0)
        curve = np.maximum(free @ self.members + problem.softness, self.least_row)
        reduced = missing - self.columns(free * (rows / curve)[:, problem.groups])
        column_multipliers = np.empty_like(missing)
        diagonal = np.maximum(self.columns(free), self.least_column)
        for group, cells in enumerate(self.inside):
            part = free[:, cells]
            matrix = -self.columns(part[:, :, None] * (part / curve[:, group, None])[:, None, :])
            index = np.arange(len(cells))
            matrix[:, index, index] += diagonal[:, cells] * (1 + RIDGE)
            column_multipliers[:, cells] = np.linalg.solve(matrix, reduced[:, cells, None])[:, :, 0]
        row_multipliers = (rows - (free * column_multipliers[self.parent]) @ self.members) / curve
        return row_multipliers, column_multipliers


def nearest_counts(problem: TransportProblem) -> FloatArray | None:
    """The counts with the least sum of weighted squares from the target; None if they were not found.

    Armijo's rule per area above: a step is halved until it brings a share of the gain that its slope predicts.
    """
    newton = _Newton(problem)
    if max(map(len, newton.inside)) > MAX_GROUP:
        return None
    row_multipliers, column_multipliers = np.zeros_like(problem.sums), np.zeros(problem.above.shape)
    point = newton.at(row_multipliers, column_multipliers)
    exact = EXACT + RELATIVE * float(np.abs(problem.above).max(initial=0))
    for _ in range(STEPS):
        if point.miss <= exact:
            return point.counts
        row_steps, column_steps = newton.direction(point)
        gain = newton.columns((point.rows * row_steps).sum(axis=1)) + (point.missing * column_steps).sum(axis=1)
        length = np.ones(len(gain))
        for _ in range(HALVINGS):
            longer = (
                row_multipliers + length[newton.parent][:, None] * row_steps,
                column_multipliers + length[:, None] * column_steps,
            )
            further = newton.at(*longer)
            # Rounding errors of the dual function hide the gain of the last steps.
            bad = further.value < point.value + ENOUGH * length * gain - point.rounding
            if not bad.any():
                break
            length = np.where(bad, length / 2, length)
        (row_multipliers, column_multipliers), point = longer, further
        if not np.isfinite(point.value).all():
            break
    return None
