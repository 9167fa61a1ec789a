"""The law of sums on a large grid, by powers of a Fourier transform.

The transform's error is absolute, about 1e-16 of the largest probability. So it is taken in a window around each point
that matters, of votes tilted (Esscher 1932) so that this point is typical: there the error is relative.
"""

from dataclasses import dataclass
from math import log, sqrt
from typing import Any

import numpy as np
import scipy.fft

from safemargin.core import BoolArray, FloatArray, IntArray, Progress
from safemargin.voting.chances import Chances, from_patterns, gather
from safemargin.voting.convolution import BLOCK, VoteGrid, results_on
from safemargin.voting.crossings import crossings
from safemargin.voting.election import Kinds

ROUNDING = 1e-16
OUTSIDE = 1e-20
"""Probability of all that lies outside a window, if votes are tilted to its middle."""
NEGLIGIBLE = 41.0
"""Crossings less likely than the nearest by exp of this are omitted."""
MAX_WINDOWS = 8


@dataclass(frozen=True, eq=False)
class Window:
    """Part of the grid around the mean of tilted votes: its law there, and the factor back to the untilted law."""

    low: IntArray
    law: FloatArray
    tilt: FloatArray
    constant: float
    rounding: float

    def log_factor(self, points: IntArray) -> FloatArray:
        """log of untilted over tilted probabilities."""
        return np.asarray(self.constant - points @ self.tilt)

    def is_inside(self, points: IntArray) -> BoolArray:
        """Which points lie in the window."""
        return np.asarray(((points >= self.low) & (points < self.low + np.array(self.law.shape))).all(axis=1))

    def log_error(self, points: IntArray) -> FloatArray:
        """log of the rounding error of an untilted probability; infinite outside."""
        return np.where(self.is_inside(points), self.log_factor(points) + log(self.rounding), np.inf)

    def log_most(self, points: IntArray) -> FloatArray:
        """A bound on the log of an untilted probability: Chernoff's, and what all points outside have together."""
        outside = log(OUTSIDE * 2 * self.law.ndim)
        return self.log_factor(points) + np.where(self.is_inside(points), 0.0, outside)


def tilt_to(kinds: Kinds, grid: VoteGrid, shares: FloatArray) -> tuple[FloatArray, float]:
    """How votes must be tilted along the grid to have these shares, and the log of their mass then."""
    logs = np.log(shares / kinds.weights)
    design = np.column_stack([grid.steps, np.ones(len(grid.steps))]).astype(np.float64)
    tilt: FloatArray = np.asarray(np.linalg.lstsq(design, logs, rcond=None)[0][:-1], dtype=np.float64)
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
    tail = -log(OUTSIDE)
    half = np.sqrt(2 * spread * tail) + 2 * tail * most / 3 + 1  # Bernstein's inequality, for each dimension
    low = np.maximum(np.floor(mean - half), 0).astype(np.int64)
    high = np.minimum(np.ceil(mean + half), others * most).astype(np.int64)
    size = high - low + 1
    period = [scipy.fft.next_fast_len(int(length), real=True) for length in size]
    kernel = np.zeros(period)
    np.add.at(kernel, tuple((steps % np.array(period)).T), chances)
    power: Any = scipy.fft.rfftn(kernel) ** others
    law = np.asarray(scipy.fft.irfftn(power, s=period, overwrite_x=True))
    back = [-(int(start) % length) for start, length in zip(low, period, strict=True)]
    law = np.roll(law, back, axis=tuple(range(len(period))))  # the transform is periodic: turn the window to its place
    # errors of a transform grow with log of its size, those of a power with its exponent; both on the mean square
    rounding = ROUNDING * sqrt(float((law**2).sum())) * (4 + log(law.size) + others / sqrt(law.size))
    return Window(low, law[tuple(slice(0, int(length)) for length in size)], tilt, others * mass, rounding)


def transform(kinds: Kinds, grid: VoteGrid, progress: Progress) -> Chances:
    """Probabilities from windows around the belief and around the nearest shares at which the result changes."""
    ties = crossings(kinds)
    nearest = ties[0].rate if ties else 0.0
    likely = [c.shares for c in ties if c.rate > 0 and kinds.others * (c.rate - nearest) < NEGLIGIBLE]
    windows = [window_around(kinds, grid, shares) for shares in (kinds.weights, *likely[:MAX_WINDOWS])]
    tilts = [tilt_to(kinds, grid, crossing.shares) for crossing in ties]
    shift = -kinds.others * nearest
    patterns: dict[bytes, float] = {}
    slack = 0.0
    for number, window in enumerate(windows):
        flat = window.law.ravel()
        held = np.flatnonzero(flat > window.rounding * 1e-3)
        for start in range(0, len(held), BLOCK):
            cells = held[start : start + BLOCK]
            points = np.stack(np.unravel_index(cells, window.law.shape), axis=1).astype(np.int64) + window.low
            errors = np.stack([other.log_error(points) for other in windows])
            own = np.argmin(errors, axis=0) == number  # every point is taken from the window that knows it best
            cells, points = cells[own], points[own]
            chernoff = [kinds.others * mass - points @ tilt for tilt, mass in tilts]
            most = np.min([*chernoff, *(other.log_most(points) for other in windows)], axis=0)
            error = np.minimum(errors[number, own], most)
            logs = np.minimum(np.log(flat[cells]) + window.log_factor(points), most)
            weights = np.exp(np.minimum(logs - shift, 700.0))
            pivotal = gather(patterns, results_on(kinds, grid, points), weights, kinds.rule.outcomes)
            slack += float(np.exp(np.minimum(error[pivotal] - shift, 700.0)).sum())
            progress("transforming", start + len(cells), len(held))
    return from_patterns(patterns, kinds.rule.outcomes, shift, slack)
