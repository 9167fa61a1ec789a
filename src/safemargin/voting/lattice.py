"""The law of the sums of all others' votes on a grid of whole numbers, and who wins at each point of it.

Sums of few independent components live on a grid with few dimensions (two for Borda with three candidates, three for
rules of pairwise margins). Small grids are filled by adding one vote after the other; large ones by powers of a Fourier
transform, in a window around each place that matters, with votes tilted so that this place is typical. Either way the
chance of a close race keeps its digits, however small it is.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import lcm, log, prod, sqrt
from typing import Any

import numpy as np
import scipy.fft

from safemargin.core import BoolArray, FloatArray, IntArray, Progress, no_progress
from safemargin.voting.chances import Chances, from_patterns, gather
from safemargin.voting.crossings import crossings
from safemargin.voting.election import Kinds

BLOCK = 200_000
ROUNDING = 1e-16
LEFT_OUT = 1e-20
"""Chance of all that lies outside a window, if votes are tilted to its middle."""
NEGLIGIBLE = 41.0
"""Crossings less likely than the nearest by exp of this are left out."""


@dataclass(frozen=True, eq=False)
class VoteGrid:
    """Steps of every kind of vote on the grid, and how a point gives back the sums of the rule.

    The sums of `n` votes at `point` are `n * base + point @ back`, up to a common factor and a common summand.
    """

    steps: IntArray
    base: IntArray
    back: IntArray
    scale: int

    @property
    def dimensions(self) -> int:
        """How many."""
        return int(self.steps.shape[1])

    def cells(self, others: int) -> int:
        """Points of the box that so many votes can reach."""
        return prod(others * int(most) + 1 for most in self.steps.max(axis=0, initial=0))


def grid_of(kinds: Kinds) -> VoteGrid:
    """The smallest grid found: independent columns of what votes add."""
    raw = kinds.adds - kinds.adds[:1]
    free = raw - raw[:, :1]
    ranks = [int(np.linalg.matrix_rank(columns.astype(np.float64))) for columns in (raw, free)]
    columns, rank = (free, ranks[1]) if ranks[1] < ranks[0] else (raw, ranks[0])
    steps = _independent(columns, rank)
    least = steps.min(axis=0)
    solution = np.linalg.lstsq(steps.astype(np.float64), columns.astype(np.float64), rcond=None)[0]
    scale = _denominator(solution)
    back = np.rint(solution * scale).astype(np.int64)
    assert ((steps @ back) == columns * scale).all()
    base = kinds.adds[0] * scale + least @ back
    return VoteGrid(steps - least, base, back, scale)


def _denominator(values: FloatArray) -> int:
    """The least number that makes all values whole."""
    for scale in (1, 2, 3, 4, 6, 12, 24, 60, 120, lcm(*range(1, 13))):
        if np.abs(values * scale - np.rint(values * scale)).max(initial=0.0) < 1e-7:
            return scale
    raise ArithmeticError("the sums of the rule lie on no grid")


def _independent(columns: IntArray, rank: int) -> IntArray:
    """A basis of the columns among them and their differences, divided as far as possible, with small steps."""
    first, second = np.triu_indices(columns.shape[1], 1)
    pool = np.concatenate([columns, columns[:, first] - columns[:, second]], axis=1)
    pool = np.unique(pool // np.maximum(np.gcd.reduce(pool, axis=0), 1), axis=1)
    spans = pool.max(axis=0) - pool.min(axis=0)
    chosen: list[int] = []
    for place in np.argsort(spans, kind="stable").tolist():
        if len(chosen) == rank:
            break
        if np.linalg.matrix_rank(pool[:, [*chosen, place]].astype(np.float64)) > len(chosen):
            chosen.append(place)
    return pool[:, chosen]


def results_on(kinds: Kinds, grid: VoteGrid, points: IntArray) -> IntArray:
    """The result at every point, a row for each vote of the person."""
    sums = points @ grid.back + (kinds.others * grid.base + kinds.offset * grid.scale)
    own = kinds.adds * grid.scale
    return np.stack([kinds.rule.winners(sums + row) for row in own])


def law_of(kinds: Kinds, grid: VoteGrid, progress: Progress) -> FloatArray:
    """The law of the sums of all others: add one vote after the other, positive numbers only."""
    return np.asarray(_added(kinds.others, grid.steps, kinds.weights.tolist(), np.float64, progress))


def exact_law(kinds: Kinds, grid: VoteGrid) -> tuple[Any, int]:
    """The same in whole numbers, to be divided by the second value."""
    whole = lcm(*(share.denominator for share in kinds.shares))
    weights = [int(share * whole) for share in kinds.shares]
    return _added(kinds.others, grid.steps, weights, np.object_, no_progress), whole**kinds.others


def _added(others: int, steps: IntArray, weights: Sequence[float], kind: type, progress: Progress) -> Any:
    most = steps.max(axis=0)
    law: Any = np.zeros(tuple(others * int(each) + 1 for each in most), dtype=kind)
    law[(0,) * law.ndim] = 1
    reach = np.ones(law.ndim, dtype=np.int64)
    for done in range(others):
        here = tuple(slice(0, size) for size in reach)
        old = law[here].copy()
        law[here] = 0
        for step, weight in zip(steps, weights, strict=True):
            law[tuple(slice(at, at + size) for at, size in zip(step, reach, strict=True))] += weight * old
        reach += most
        progress("computing", done, others)
    return law


def convolved(kinds: Kinds, grid: VoteGrid, progress: Progress) -> Chances:
    """Who wins at each point of the whole law."""
    law = law_of(kinds, grid, progress)
    shape = law.shape
    flat = law.ravel()
    found: dict[bytes, float] = {}
    held = np.flatnonzero(flat)
    for start in range(0, len(held), BLOCK):
        cells = held[start : start + BLOCK]
        points = np.stack(np.unravel_index(cells, shape), axis=1).astype(np.int64)
        gather(found, results_on(kinds, grid, points), flat[cells])
    return from_patterns(found, kinds.rule.outcomes)


@dataclass(frozen=True, eq=False)
class Window:
    """Part of the grid around the mean of tilted votes: its law there, and the factor back to the untilted law."""

    low: IntArray
    law: FloatArray
    tilt: FloatArray
    constant: float
    rounding: float

    def log_factor(self, points: IntArray) -> FloatArray:
        """log of untilted over tilted chances."""
        factor: FloatArray = self.constant - points @ self.tilt
        return factor

    def is_inside(self, points: IntArray) -> BoolArray:
        """Which points lie in the window."""
        found: BoolArray = ((points >= self.low) & (points < self.low + np.array(self.law.shape))).all(axis=1)
        return found

    def log_error(self, points: IntArray) -> FloatArray:
        """log of the rounding error of an untilted chance; infinite outside."""
        return np.where(self.is_inside(points), self.log_factor(points) + log(self.rounding), np.inf)

    def log_most(self, points: IntArray) -> FloatArray:
        """A bound on the log of an untilted chance: Chernoff's, and what all points outside have together."""
        outside = log(LEFT_OUT * 2 * self.law.ndim)
        return self.log_factor(points) + np.where(self.is_inside(points), 0.0, outside)


def tilt_to(kinds: Kinds, grid: VoteGrid, shares: FloatArray) -> tuple[FloatArray, float]:
    """How votes must be tilted along the grid to have these shares, and the log of their mass then."""
    lean = np.log(shares / kinds.weights)
    design = np.column_stack([grid.steps, np.ones(len(grid.steps))]).astype(np.float64)
    tilt: FloatArray = np.asarray(np.linalg.lstsq(design, lean, rcond=None)[0][:-1], dtype=np.float64)
    tilted = np.log(kinds.weights) + grid.steps @ tilt
    return tilt, float(np.log(np.exp(tilted - tilted.max()).sum()) + tilted.max())


def window_around(kinds: Kinds, grid: VoteGrid, shares: FloatArray) -> Window:
    """The window in which votes with these shares, a tilt of the believed ones, almost surely sum."""
    others, steps = kinds.others, grid.steps
    tilt, mass = tilt_to(kinds, grid, shares)
    chances = np.exp(np.log(kinds.weights) + steps @ tilt - mass)
    mean = others * (chances @ steps)
    spread = others * (chances @ (steps - chances @ steps) ** 2)
    most = steps.max(axis=0)
    tail = -log(LEFT_OUT)
    half = np.sqrt(2 * spread * tail) + 2 * tail * most / 3 + 1  # Bernstein
    low = np.maximum(np.floor(mean - half), 0).astype(np.int64)
    high = np.minimum(np.ceil(mean + half), others * most).astype(np.int64)
    size = high - low + 1
    period = [scipy.fft.next_fast_len(int(each), real=True) for each in size]
    kernel = np.zeros(period)
    np.add.at(kernel, tuple((steps % np.array(period)).T), chances)
    power: Any = scipy.fft.rfftn(kernel) ** others
    law = np.asarray(scipy.fft.irfftn(power, s=period, overwrite_x=True))
    law = np.roll(
        law, [-(int(at) % each) for at, each in zip(low, period, strict=True)], axis=tuple(range(len(period)))
    )
    rounding = ROUNDING * sqrt(float((law**2).sum())) * (4 + log(law.size) + others / sqrt(law.size))
    return Window(low, law[tuple(slice(0, int(each)) for each in size)], tilt, others * mass, rounding)


def transformed(kinds: Kinds, grid: VoteGrid, progress: Progress) -> Chances:
    """By Fourier transforms in windows: around the belief, and around the nearest places where the result changes."""
    places = [kinds.weights]
    found_at = crossings(kinds)
    nearest = found_at[0].rate if found_at else 0.0
    places += [c.shares for c in found_at if c.rate > 0 and kinds.others * (c.rate - nearest) < NEGLIGIBLE][:8]
    windows = [window_around(kinds, grid, place) for place in places]
    tilts = [tilt_to(kinds, grid, crossing.shares) for crossing in found_at]
    shift = -kinds.others * nearest
    found: dict[bytes, float] = {}
    slack = 0.0
    for number, window in enumerate(windows):
        shape = window.law.shape
        flat = window.law.ravel()
        held = np.flatnonzero(flat > window.rounding * 1e-3)
        for start in range(0, len(held), BLOCK):
            cells = held[start : start + BLOCK]
            points = np.stack(np.unravel_index(cells, shape), axis=1).astype(np.int64) + window.low
            errors = np.stack([each.log_error(points) for each in windows])
            mine = np.argmin(errors, axis=0) == number
            cells, points = cells[mine], points[mine]
            chernoff = [kinds.others * mass - points @ tilt for tilt, mass in tilts]
            most = np.min([*chernoff, *(each.log_most(points) for each in windows)], axis=0)
            error = np.minimum(errors[number, mine], most)
            results = results_on(kinds, grid, points)
            logs = np.minimum(np.log(flat[cells]) + window.log_factor(points), most)
            weights = np.exp(np.minimum(logs - shift, 700.0))
            pivotal = gather(found, results, weights)
            slack += float(np.exp(np.minimum(error[pivotal] - shift, 700.0)).sum())
            progress("computing", start + len(cells), len(held))
    return from_patterns(found, kinds.rule.outcomes, shift, slack)
