"""The law of the sums of all others' votes on an integer grid, and who wins at each point of it.

Sums of few independent components live on a grid with few dimensions (two for Borda with three candidates, three for
rules of pairwise margins). Small grids are filled by adding one vote after the other, in positive numbers only, so
that the probability of a close race keeps its digits, however small it is.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import exp, inf, lcm, log, prod
from typing import Any

import numpy as np

from safemargin.core import FloatArray, IntArray, Progress, no_progress
from safemargin.voting.chances import Chances, Worst, from_patterns, gather
from safemargin.voting.election import Kinds

BLOCK = 200_000
"""Points of the grid that are looked at together."""
MAX_COLUMNS = 130
"""Sums for which a smaller grid is sought."""
MAX_FRACTION_STEPS = 3e7
"""Additions of integers of any length: about ten seconds."""


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


def grid_of(kinds: Kinds, *, is_order: bool = True) -> VoteGrid:
    """The smallest grid found: independent columns of what votes add; or else the sums, or the counts of every kind.

    With `is_order` a point says in which order the sums are, all that a winner needs; otherwise the sums themselves.
    """
    columns = kinds.adds.shape[1]
    grid = None if kinds.rule.needs_counts or columns > MAX_COLUMNS else _independent_grid(kinds, is_order)
    if grid is not None:
        return grid
    if kinds.rule.needs_counts or len(kinds) <= columns:
        return VoteGrid(np.eye(len(kinds), dtype=np.int64), np.zeros_like(kinds.adds[0]), kinds.adds, 1)
    least = kinds.adds.min(axis=0)
    return VoteGrid(kinds.adds - least, least, np.eye(kinds.adds.shape[1], dtype=np.int64), 1)


def _independent_grid(kinds: Kinds, is_order: bool) -> VoteGrid | None:
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


def results_on(kinds: Kinds, grid: VoteGrid, points: IntArray) -> IntArray:
    """The result at every point, a row for each vote of the person."""
    sums = points @ grid.back + (kinds.others * grid.base + kinds.offset * grid.scale)
    own = kinds.adds * grid.scale
    return np.stack([kinds.rule.winners(sums + row) for row in own])


def law_of(kinds: Kinds, grid: VoteGrid, progress: Progress = no_progress) -> FloatArray:
    """The law of the sums of all others."""
    return np.asarray(_add_votes([(kinds.others, kinds.weights.tolist())], grid.steps, np.float64, progress))


def law_of_groups(groups: Sequence[tuple[int, FloatArray]], grid: VoteGrid, progress: Progress) -> FloatArray:
    """The law of the sums of groups of voters: how many there are, and how likely each kind of vote is in the group."""
    return np.asarray(_add_votes([(size, law.tolist()) for size, law in groups], grid.steps, np.float64, progress))


def _add_votes(groups: Sequence[tuple[int, Sequence[float]]], steps: IntArray, kind: type, progress: Progress) -> Any:
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


def _occupied(kinds: Kinds, grid: VoteGrid, law: Any) -> Iterator[tuple[IntArray, IntArray]]:
    """Points with a probability above zero, and the result of every vote there, in blocks."""
    held = np.flatnonzero(law.ravel() != 0)
    for start in range(0, len(held), BLOCK):
        cells = held[start : start + BLOCK]
        points = np.stack(np.unravel_index(cells, law.shape), axis=1).astype(np.int64)
        yield cells, results_on(kinds, grid, points)


def convolve(kinds: Kinds, grid: VoteGrid, progress: Progress = no_progress) -> Chances:
    """Who wins at each point of the whole law."""
    return chances_from(law_of(kinds, grid, progress), kinds, grid)


def chances_from(law: FloatArray, kinds: Kinds, grid: VoteGrid) -> Chances:
    """The winner at every point of a law of the others' sums, for every vote of the person."""
    patterns: dict[bytes, float] = {}
    for cells, results in _occupied(kinds, grid, law):
        gather(patterns, results, law.ravel()[cells], kinds.rule.outcomes)
    return from_patterns(patterns, kinds.rule.outcomes)


def is_small(kinds: Kinds, grid: VoteGrid) -> bool:
    """Whether delta as a fraction takes seconds, not hours."""
    return float(grid.cells(kinds.others)) * max(kinds.others, 1) * len(kinds) <= MAX_FRACTION_STEPS


def exact_delta(kinds: Kinds, factor: Fraction = Fraction(1)) -> Fraction:
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


def sums_worst(law: FloatArray, kinds: Kinds, grid: VoteGrid, epsilons: Sequence[float]) -> list[Worst]:
    """Delta at every epsilon of publishing the sums: laws of all sums with each vote, where one exceeds another."""
    shape = tuple(size + int(step) for size, step in zip(law.shape, grid.steps.max(axis=0), strict=True))
    laws = []
    for step in grid.steps:
        shifted = np.zeros(shape)
        shifted[tuple(slice(int(low), int(low) + size) for low, size in zip(step, law.shape, strict=True))] = law
        laws.append(shifted)
    worst = []
    for epsilon in epsilons:
        best, pair = 0.0, (0, min(1, len(kinds) - 1))
        for x, y in ((x, y) for x in range(len(kinds)) for y in range(len(kinds)) if x != y):
            delta = float(np.maximum(laws[x] - exp(epsilon) * laws[y], 0.0).sum())
            best, pair = (delta, (x, y)) if delta > best * (1 + 1e-12) else (best, pair)
        worst.append(Worst(best, log(best) if best else -inf, pair, ()))
    return worst
