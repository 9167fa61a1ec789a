"""Probabilities of results: all ways to vote one by one, or the law of the sums of all votes on an integer grid.

Objects. Every vote adds a vector of integers, and the order of the sums says who wins (Definition 5, generalised
scoring rules). Few components of the sums are independent: two for Borda with three candidates, three for rules of
pairwise margins. They are the coordinates of a *grid*; a point of it gives back all sums.

Two engines fill it.

- *Convolution* adds one vote after the other, in positive numbers only. So the probability of a close race keeps its
  digits, however small it is. The cost is (cells of the box) x voters x kinds.
- A *transform* takes the n-th power of the characteristic function of one vote. Its error is absolute, about 1e-16 of
  the largest probability, which is more than the whole of a delta of 1e-30. So it is taken in a window around each
  point that matters, of votes tilted (Esscher 1932) so that this point is typical: P(p) = P_tilted(p) exp(n log M(t) -
  t.p). There the error is relative. Bernstein's inequality says how wide a window holds all but 1e-20.

Invariants. Every point is taken from the window with the least error there, and no probability is taken to be above
Chernoff's bound. Crossings that are less likely than the nearest by exp(41) have no window.

Fractions. With shares as fractions over a common denominator, the convolution runs in integers of any length, and delta
is a fraction (`exact_delta`): the engines are tested against it.

Example: plurality of two, three other voters. The law of how many vote for the first is binomial.

>>> _add_votes([(3, [0.5, 0.5])], np.array([[1], [0]]), np.float64, no_progress).tolist()
[0.125, 0.375, 0.375, 0.125]
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from math import exp, inf, lcm, log, prod, sqrt
from typing import Any

import numpy as np
import scipy.fft
from scipy.special import gammaln

from safemargin.core import BoolArray, FloatArray, IntArray, Progress, no_progress
from safemargin.voting.chances import OutcomeDistribution, Worst, all_counts, from_patterns, gather, ways
from safemargin.voting.election import Crossing, VoterTypes

BLOCK = 200_000
"""Points of the grid that are looked at together."""
MAX_COLUMNS = 130
"""Sums for which a smaller grid is sought."""
MAX_STEPS = 3e8
"""Additions of a convolution: about two seconds."""
MAX_FRACTION_STEPS = 3e7
"""Additions of integers of any length: about ten seconds."""
MAX_WAYS = 2.4e7
"""Ways to vote, times kinds of votes, that are enumerated: about twenty seconds."""
ROUNDING = 1e-16
OUTSIDE = 1e-20
"""Probability of all that lies outside a window, if votes are tilted to its middle."""
NEGLIGIBLE = 41.0
"""Crossings less likely than the nearest by exp of this are omitted."""
MAX_WINDOWS = 8


def log_multinomial(counts: IntArray, weights: FloatArray) -> FloatArray:
    """log of the probability of each row of counts."""
    total = counts.sum(axis=1)
    return np.asarray(gammaln(total + 1) - gammaln(counts + 1).sum(axis=1) + counts @ np.log(weights))


def enumerate_votes(kinds: VoterTypes, progress: Progress = no_progress) -> OutcomeDistribution:
    """Look at every way the others can vote, with each vote of the person added."""
    patterns: dict[bytes, float] = {}
    done, total = 0, ways(kinds.others, len(kinds))
    for counts in all_counts(kinds.others, len(kinds)):
        sums = counts @ kinds.adds + kinds.offset
        results = np.stack([kinds.rule.winners(sums + row) for row in kinds.adds])
        gather(patterns, results, np.exp(log_multinomial(counts, kinds.weights)), kinds.rule.outcomes)
        done += len(counts)
        progress("enumerating", done, total)
    return from_patterns(patterns, kinds.rule.outcomes)


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

    def additions(self, others: int) -> int:
        """Of a convolution of so many votes."""
        return self.cells(others) * max(others, 1) * len(self.steps)


def grid_of(kinds: VoterTypes, *, is_order: bool = True) -> VoteGrid:
    """The smallest grid found: independent columns of what votes add; or else the sums, or the counts of every kind.

    With `is_order` a point says in which order the sums are, all that a winner needs; otherwise the sums themselves.

    Borda with three candidates has three sums and a grid of two dimensions, as the sums of all always add up:

    >>> from safemargin.voting.election import Election, uniform
    >>> from safemargin.voting.rules import rule_named
    >>> borda = rule_named("borda", 3)
    >>> grid = grid_of(Election(borda, 5, uniform(borda)).kinds)
    >>> grid.dimensions, grid.cells(4), grid.steps.tolist()
    (2, 81, [[1, 2], [0, 2], [2, 1], [2, 0], [0, 1], [1, 0]])
    """
    columns = kinds.adds.shape[1]
    grid = None if kinds.rule.needs_counts or columns > MAX_COLUMNS else _independent_grid(kinds, is_order)
    if grid is not None:
        return grid
    if kinds.rule.needs_counts or len(kinds) <= columns:
        return VoteGrid(np.eye(len(kinds), dtype=np.int64), np.zeros_like(kinds.adds[0]), kinds.adds, 1)
    least = kinds.adds.min(axis=0)
    return VoteGrid(kinds.adds - least, least, np.eye(kinds.adds.shape[1], dtype=np.int64), 1)


def _independent_grid(kinds: VoterTypes, is_order: bool) -> VoteGrid | None:
    """A grid with as many dimensions as the sums have rank; none if that is 0 or factors are beyond small numbers."""
    raw = kinds.adds - kinds.adds[:1]
    free = raw - raw[:, :1]  # only the order of sums counts, so one of them may be taken from all
    ranks = [int(np.linalg.matrix_rank(columns.astype(np.float64))) for columns in (raw, free)]
    columns, rank = (free, ranks[1]) if is_order and ranks[1] < ranks[0] else (raw, ranks[0])
    if rank == 0:
        return None
    steps = _independent(columns, rank)
    least = steps.min(axis=0)
    solution = np.linalg.lstsq(steps.astype(np.float64), columns.astype(np.float64), rcond=None)[0]
    scale = _denominator(solution)
    if scale is None:
        return None
    back = np.rint(solution * scale).astype(np.int64)
    assert ((steps @ back) == columns * scale).all()
    base = kinds.adds[0] * scale + least @ back
    return VoteGrid(steps - least, base, back, scale)


def _denominator(values: FloatArray) -> int | None:
    """The least number that makes all values integers, if it is one of a few."""
    for scale in (1, 2, 3, 4, 6, 12, 24, 60, 120, lcm(*range(1, 13))):
        if np.abs(values * scale - np.rint(values * scale)).max(initial=0.0) < 1e-7:
            return scale
    return None


def _independent(columns: IntArray, rank: int) -> IntArray:
    """A basis of the columns among them and their differences, divided as far as possible, with small steps."""
    first, second = np.triu_indices(columns.shape[1], 1)
    pool = np.concatenate([columns, columns[:, first] - columns[:, second]], axis=1)
    pool = np.unique(pool // np.maximum(np.gcd.reduce(pool, axis=0), 1), axis=1)
    spans = pool.max(axis=0) - pool.min(axis=0)
    chosen: list[int] = []
    for column in np.argsort(spans, kind="stable").tolist():
        if len(chosen) == rank:
            break
        if np.linalg.matrix_rank(pool[:, [*chosen, column]].astype(np.float64)) > len(chosen):
            chosen.append(column)
    return pool[:, chosen]


def results_on(kinds: VoterTypes, grid: VoteGrid, points: IntArray) -> IntArray:
    """The result at every point, a row for each vote of the person."""
    sums = points @ grid.back + (kinds.others * grid.base + kinds.offset * grid.scale)
    own = kinds.adds * grid.scale
    return np.stack([kinds.rule.winners(sums + row) for row in own])


def law_of(kinds: VoterTypes, grid: VoteGrid, progress: Progress = no_progress) -> FloatArray:
    """The law of the sums of all others."""
    return np.asarray(_add_votes([(kinds.others, kinds.weights.tolist())], grid.steps, np.float64, progress))


def law_of_groups(groups: Sequence[tuple[int, FloatArray]], grid: VoteGrid, progress: Progress) -> FloatArray:
    """The law of the sums of groups of voters: how many there are, and how likely each kind of vote is in the group."""
    return np.asarray(_add_votes([(size, law.tolist()) for size, law in groups], grid.steps, np.float64, progress))


def _add_votes(groups: Sequence[tuple[int, Sequence[float]]], steps: IntArray, kind: type, progress: Progress) -> Any:
    """The law of the sums of several groups of voters, one vote after the other, in numbers of the given kind.

    `kind` is `float64`, or `object_` for integers of any length, where weights are integers over one denominator.
    """
    others = sum(size for size, _ in groups)
    most = steps.max(axis=0)
    law: Any = np.zeros(tuple(others * int(step) + 1 for step in most), dtype=kind)
    law[(0,) * law.ndim] = 1
    reach = np.ones(law.ndim, dtype=np.int64)
    for done, weights in enumerate(weights for size, weights in groups for _ in range(size)):
        here = tuple(slice(0, size) for size in reach)
        old = law[here].copy()
        law[here] = 0
        for step, weight in zip(steps, weights, strict=True):
            if weight:
                law[tuple(slice(low, low + size) for low, size in zip(step, reach, strict=True))] += weight * old
        reach += most
        progress("adding votes", done, others)
    return law


def _occupied(kinds: VoterTypes, grid: VoteGrid, law: Any) -> Iterator[tuple[IntArray, IntArray]]:
    """Points with a probability above zero, and the result of every vote there, in blocks."""
    held = np.flatnonzero(law.ravel() != 0)
    for start in range(0, len(held), BLOCK):
        cells = held[start : start + BLOCK]
        points = np.stack(np.unravel_index(cells, law.shape), axis=1).astype(np.int64)
        yield cells, results_on(kinds, grid, points)


def convolve(kinds: VoterTypes, grid: VoteGrid, progress: Progress = no_progress) -> OutcomeDistribution:
    """Who wins at each point of the whole law."""
    return chances_from(law_of(kinds, grid, progress), kinds, grid)


def chances_from(law: FloatArray, kinds: VoterTypes, grid: VoteGrid) -> OutcomeDistribution:
    """The winner at every point of a law of the others' sums, for every vote of the person."""
    patterns: dict[bytes, float] = {}
    for cells, results in _occupied(kinds, grid, law):
        gather(patterns, results, law.ravel()[cells], kinds.rule.outcomes)
    return from_patterns(patterns, kinds.rule.outcomes)


def exact_delta(kinds: VoterTypes, factor: Fraction = Fraction(1)) -> Fraction:
    """Delta as a fraction, from the law in integers of any length; `factor` is exp of epsilon."""
    grid = grid_of(kinds)
    scale = lcm(*(share.denominator for share in kinds.shares))
    weights = [int(share * scale) for share in kinds.shares]
    law = _add_votes([(kinds.others, weights)], grid.steps, np.object_, no_progress)
    sums = [[0] * kinds.rule.outcomes for _ in kinds.votes]
    for cells, results in _occupied(kinds, grid, law):
        for vote, row in enumerate(results):
            for result in np.unique(row).tolist():
                sums[vote][result] += sum(law.ravel()[cells[row == result]].tolist())
    gaps = (sum(max(p - factor * q, Fraction(0)) for p, q in zip(x, y, strict=True)) for x in sums for y in sums)
    return Fraction(max(gaps), scale**kinds.others)


def sums_worst(law: FloatArray, steps: IntArray, epsilons: Sequence[float]) -> list[Worst]:
    """Delta at every epsilon of publishing the sums: where the law with one vote exceeds that with another."""
    shape = tuple(size + int(step) for size, step in zip(law.shape, steps.max(axis=0), strict=True))
    laws = []
    for step in steps:
        shifted = np.zeros(shape)
        shifted[tuple(slice(int(low), int(low) + size) for low, size in zip(step, law.shape, strict=True))] = law
        laws.append(shifted)
    worst = []
    for epsilon in epsilons:
        best, pair = 0.0, (0, min(1, len(steps) - 1))
        for x, y in permutations(range(len(steps)), 2):
            delta = float(np.maximum(laws[x] - exp(epsilon) * laws[y], 0.0).sum())
            best, pair = (delta, (x, y)) if delta > best * (1 + 1e-12) else (best, pair)
        worst.append(Worst(best, log(best) if best else -inf, pair, ()))
    return worst


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


def tilt_to(kinds: VoterTypes, grid: VoteGrid, shares: FloatArray) -> tuple[FloatArray, float]:
    """How votes must be tilted along the grid to have these shares, and the log of their mass then."""
    logs = np.log(shares / kinds.weights)
    design = np.column_stack([grid.steps, np.ones(len(grid.steps))]).astype(np.float64)
    tilt: FloatArray = np.asarray(np.linalg.lstsq(design, logs, rcond=None)[0][:-1], dtype=np.float64)
    tilted = np.log(kinds.weights) + grid.steps @ tilt
    return tilt, float(np.log(np.exp(tilted - tilted.max()).sum()) + tilted.max())


def window_around(kinds: VoterTypes, grid: VoteGrid, shares: FloatArray) -> Window:
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


def transform(kinds: VoterTypes, grid: VoteGrid, ties: Sequence[Crossing], progress: Progress) -> OutcomeDistribution:
    """Probabilities from windows around the belief and around the nearest shares at which the result changes."""
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
