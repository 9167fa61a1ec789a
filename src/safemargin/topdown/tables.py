"""Integer tables, level by level from the widest down; every constraint holds exactly.

Invariant
    When a level is solved, its tables are integers without negatives, add up to the level above, and satisfy every
    exact margin, bound and zero of their level. So do all tables when the last level is solved.

Method
    The parts of one area are one problem (`siblings.py`), and parts of different areas do not touch each other, so
    many are solved in one program. Margins are fixed in passes, coarse ones first, as in the census: each pass keeps
    the sums of the one before.

    Counts of an area may leave its parts without a solution if constraints of several margins cross. The area is then
    *marked* and solved again, with its siblings, so that its parts have a solution; if there is none, the area above
    is marked too, and so on. At worst everything is one integer program, so tables are found whenever there are any.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import or_
from typing import Protocol

import numpy as np

from safemargin.core import BoolArray, FloatArray, InputError, IntArray, TooLargeError
from safemargin.topdown.attributes import MarginQuery
from safemargin.topdown.design import Area, Design, LevelLimits, MarginLimit, WeightedLimit, limits_within
from safemargin.topdown.feasibility import look_ahead, marked_below, reachable_levels
from safemargin.topdown.siblings import (
    ONE_AREA,
    Infeasible,
    SiblingMatrices,
    SiblingProblem,
    nonnegative_estimate,
    round_to_integers,
)
from safemargin.topdown.transport import TransportProblem, nearest_counts

# Counts of sibling areas that are solved in one program: their parts do not touch each other, and small programs cost
# more to set up than to solve.
BATCH = 6_000


class Estimates(Protocol):
    """What tables should be near: by level, counts and their standard errors.

    `LeastSquaresFit` is one; a release without noise has another, to see whether any tables exist.
    """

    def estimate(self, level: int) -> FloatArray:
        """Of every count."""

    def given(self, level: int, above: IntArray) -> FloatArray:
        """Of every count, given the counts one level up."""

    def standard_error(self, level: int, query: MarginQuery) -> FloatArray:
        """Of every count of a margin."""


@dataclass(frozen=True)
class MarginPass:
    """One margin of all areas of a level: target, constraints and weights.

    `rows` and `weighted` are the constraints that this pass is the first to see; `above` the sums that parts keep.
    """

    margin: MarginQuery
    matrices: SiblingMatrices
    target: FloatArray
    rows: list[MarginLimit]
    weighted: list[WeightedLimit]
    weights: dict[MarginQuery, FloatArray]
    above: IntArray | None
    empty: BoolArray


@dataclass(frozen=True)
class LevelProblem:
    """A level before it is solved. `above` are the counts one level up, `limits` those of all levels.

    `reachable` are sums that the parts of an area can attain.
    """

    design: Design
    limits: Sequence[LevelLimits]
    reachable: WeightedLimit | None
    fit: Estimates
    level: int
    above: IntArray | None

    @property
    def parents(self) -> int:
        """Number of areas one level up."""
        return 1 if self.above is None else len(self.above)

    def siblings(self, parents: range) -> range:
        """The parts of areas one level up that are next to each other."""
        if self.above is None:
            return range(1)
        parts = self.design.spine.children
        return range(parts(self.level - 1, parents[0]).start, parts(self.level - 1, parents[-1]).stop)

    def batches(self, together: bool) -> list[range]:
        """Ranges of areas one level up to solve in one program each: one by one, or as many as have `BATCH` counts.

        Parts of different areas share no constraint, so batches change speed only. After a failure areas are solved one
        by one, to find which of them has no solution.
        """
        if not together or self.above is None:
            return [range(parent, parent + 1) for parent in range(self.parents)]
        ends = np.append(self.design.spine.starts[self.level][1:], len(self.design.spine.names[self.level]))
        ranges, first = list[range](), 0
        while first < self.parents:
            before = ends[first - 1] if first else 0
            last = int(np.searchsorted(ends, before + BATCH // self.above.shape[1], side="right"))
            ranges.append(range(first, max(last, first + 1)))
            first = ranges[-1].stop
        return ranges

    def solve(self, parents: range, marks: frozenset[Area] = frozenset()) -> IntArray:
        """Integer counts of the parts of areas, one margin after the other; marked parts must be divisible further.

        If the passes of the design fail, everything that is constrained is solved at once, then the rest.
        """
        if not any((self.level, area) in marks for area in self.siblings(parents)):
            try:
                return self._solve_passes(parents, self._passes, None)
            except Infeasible:
                if len(parents) > 1:
                    raise
        return self._solve_passes(parents, self._sure_passes, marks)

    def name(self, parent: int) -> str:
        """Sibling areas in words."""
        return "the root" if self.above is None else f"the parts of {self.design.spine.name(self.level - 1, parent)}"

    @cached_property
    def _estimate(self) -> FloatArray:
        """What the counts of this level should be near, given the counts above."""
        return self.fit.estimate(0) if self.above is None else self.fit.given(self.level, self.above)

    @cached_property
    def _passes(self) -> list[MarginPass]:
        """The passes of the design, coarse margins first."""
        return self._prepare(self.design.passes)

    @cached_property
    def _sure_passes(self) -> list[MarginPass]:
        """Two passes that cannot fail after the first: all that is constrained on any level, then everything."""
        # The first pass holds all that is constrained on any level. What is left is a transport problem, whose vertices
        # are integer, so the second pass cannot fail.
        queries = [*(query for here in self.limits for query in here), *(w.query for _, w in self.design.weighted)]
        constrained = reduce(or_, queries, MarginQuery(()))
        return self._prepare(dict.fromkeys((constrained, self.design.attributes.detailed)))

    def _prepare(self, margins: Iterable[MarginQuery]) -> list[MarginPass]:
        """The passes over these margins, with all that areas of the level share.

        Margins come coarse first, each containing the one before (`Design` checks that): a pass omits the constraints
        that the pass before has met. Arrays have a row per area; `_solve_passes` cuts out the areas it solves.
        """
        attributes, passes = self.design.attributes, []
        before: MarginQuery | None = None
        possible = (~self.design.impossible)[None, :].astype(np.int64)
        weighted = [limit for level, limit in self.design.weighted if level == self.level]
        weighted += [] if self.reachable is None else [self.reachable]
        for margin in margins:
            rows = limits_within(attributes, self.limits[self.level], margin)
            sums = [limit for limit in weighted if limit.query <= margin]
            passes.append(
                MarginPass(
                    margin,
                    SiblingMatrices(attributes, margin),
                    attributes.margin(self._estimate, margin),
                    [row for row in rows if before is None or not row.query <= before],
                    [limit for limit in sums if before is None or not limit.query <= before],
                    self._weights(margin, before),
                    None if self.above is None else attributes.margin(self.above, margin),
                    attributes.margin(possible, margin)[0] == 0,
                )
            )
            before = margin
        return passes

    def _solve_passes(self, parents: range, passes: list[MarginPass], marks: frozenset[Area] | None) -> IntArray:
        """Integer counts of the parts of areas: each pass keeps the sums of the one before exactly.

        Targets are moved by what the earlier pass changed; cells that are empty in the area above are empty in its
        parts.
        """
        attributes, areas = self.design.attributes, self.siblings(parents)
        part = slice(areas.start, areas.stop)
        starts = ONE_AREA
        if self.above is not None:
            starts = self.design.spine.starts[self.level][parents.start : parents.stop] - areas.start
        before: tuple[MarginQuery, IntArray] | None = None
        for step in passes:
            target = step.target[part]
            rows = [row.of_areas(part) for row in step.rows]
            if before is not None:
                # Spread what the earlier pass changed evenly, so that the target agrees with the counts fixed there.
                query, counts = before
                cells = attributes.cell_of(query, step.margin)
                missing = counts - attributes.margin(target, query, step.margin)
                target = target + missing[:, cells] / np.bincount(cells)[cells]
                rows.append(MarginLimit(query, counts, counts))
            above, gone = None, np.broadcast_to(step.empty, target.shape)
            if step.above is not None:
                # Cells that are empty in the area above are empty in its parts: large sparse tables stay small.
                above = step.above[parents.start : parents.stop]
                gone = gone | np.repeat(above == 0, np.diff(starts, append=len(areas)), axis=0)
            weighted = [limit.of_areas(part) for limit in step.weighted]
            weights = {query: weight[part] for query, weight in step.weights.items()}
            problem = step.matrices.problem(above, rows, weighted, step.empty, target, weights, starts)
            transport = None
            if above is not None and not weighted:
                transport = step.matrices.transport(above, rows, gone, target, weights, starts)
            ahead = marks if before is None else None
            counts = self._solve_margin(problem, transport, gone.reshape(-1), step.margin, areas, ahead)
            before = step.margin, counts.reshape(len(areas), -1)
        assert before is not None
        return before[1]

    def _solve_margin(
        self,
        problem: SiblingProblem,
        transport: TransportProblem | None,
        gone: BoolArray,
        margin: MarginQuery,
        areas: range,
        marks: frozenset[Area] | None,
    ) -> IntArray:
        """Integer counts of one margin; `gone` marks those that are zero because the area above has none.

        With `marks`, only the integer program may decide that there are none.
        """
        counts = np.zeros(len(gone), dtype=np.int64)
        ahead = look_ahead(self.design, self.limits, margin, self.level, areas, ~gone, marks) if marks else None
        if gone.all() and problem.least.max(initial=0) <= 0 and ahead is None:
            return counts
        rest = problem.without(gone)
        values = np.maximum(rest.target, 0.0)  # rounding errors only, if all constraints are met
        if not problem.is_met(problem.target):
            nearest = None if transport is None else nearest_counts(transport)
            try:
                values = nonnegative_estimate(rest) if nearest is None else nearest.reshape(-1)[~gone]
            except Infeasible:
                if marks is None:
                    raise
        counts[~gone] = round_to_integers(rest, values, ahead)
        return counts

    def _weights(self, margin: MarginQuery, before: MarginQuery | None) -> dict[MarginQuery, FloatArray]:
        """The weight of each count of a margin by area: its precision. Margins solved before have none."""
        attributes, level = self.design.attributes, self.level
        # Weights are inverse variances, as in generalised least squares; correlations between counts are ignored.
        weights = {margin: np.ones((len(self.design.spine.names[level]), attributes.cells(margin)))}
        for query in (margin, *self.design.measured(level)):
            if query <= margin and not (before is not None and query <= before):
                error = self.fit.standard_error(level, query)
                if error.max() > 0:  # counts that are known do not move, whatever their weight
                    weights[query] = 1 / np.where(error > 0, error, error.max()) ** 2
        return weights


@dataclass(frozen=True)
class SolvedLevel:
    """A level that was attempted: its counts, those above, and by parent the areas that were looked ahead from.

    Sibling areas without a solution have None. Kept so that siblings for which nothing changed are not solved again.
    """

    table: IntArray
    above: IntArray | None
    ahead: list[frozenset[Area] | None]


def solve_tables(
    design: Design,
    limits: Sequence[LevelLimits],
    fit: Estimates,
    done: Sequence[IntArray] = (),
    advance: Callable[[int, int], None] = lambda level, parents: None,
    keep: Callable[[int, IntArray], None] = lambda level, table: None,
    drop: Callable[[], None] = lambda: None,
) -> list[IntArray]:
    """Integer tables of all levels; `done` are those of the first levels that an interrupted run kept.

    `keep` is called with every level that is solved. If levels have to be solved again, `drop` is called first, once,
    and every level is kept at the end. Levels of `done` are trusted, not checked; they too may be solved again, and
    only after `drop` are they passed to `keep`. Raises `InputError` if no tables satisfy all constraints, and
    `TooLargeError` if none were found and none are known not to exist.
    """
    reachable = reachable_levels(design, limits)
    levels: list[SolvedLevel] = []
    for table in done:
        above = levels[-1].table if levels else None
        levels.append(SolvedLevel(table, above, [frozenset()] * (1 if above is None else len(above))))
    attempted: dict[int, SolvedLevel] = {}
    marks: frozenset[Area] = frozenset()
    first = ""
    while (level := len(levels)) <= design.spine.last:
        problem = LevelProblem(design, limits, reachable[level], fit, level, levels[-1].table if levels else None)
        solved = attempted[level] = _solve_level(problem, attempted.get(level), marks, advance)
        failed = {(level - 1, parent) for parent, ahead in enumerate(solved.ahead) if ahead is None}
        if not failed:
            if not marks:
                keep(level, solved.table)
            levels.append(solved)
            continue
        if not marks:
            first = problem.name(min(parent for _, parent in failed))
            drop()  # levels on disk are no longer final: an interrupted run must not resume from them
        if level == 0:
            raise InputError(
                f"no integer tables satisfy all exact counts, bounds and earlier tables together: see {first}"
            )
        marks |= failed
        attempted[level - 1] = levels.pop()
        _check_progress(design, attempted[level - 1], level - 1, marks, failed)
    if marks:
        for level, solved in enumerate(levels):
            keep(level, solved.table)
    return [solved.table for solved in levels]


def _solve_level(
    problem: LevelProblem, before: SolvedLevel | None, marks: frozenset[Area], advance: Callable[[int, int], None]
) -> SolvedLevel:
    """All areas of a level; siblings for which nothing has changed keep their counts."""
    spine, attributes = problem.design.spine, problem.design.attributes
    table = np.zeros((len(spine.names[problem.level]), attributes.cells(attributes.detailed)), dtype=np.int64)
    same = np.zeros(problem.parents, dtype=bool)
    if before is not None:
        table[:] = before.table
        same[:] = True
        if problem.above is not None and before.above is not None:
            same &= (problem.above == before.above).all(axis=1)  # siblings depend on nothing else above
    aheads: list[frozenset[Area] | None] = []
    batches = problem.batches(together=before is None and not marks)[::-1]
    while batches:
        parents = batches.pop()
        areas, first = problem.siblings(parents), parents[0]
        ahead = marked_below(problem.design, problem.level, areas, marks) if marks else marks
        if before is not None and same[first] and before.ahead[first] == ahead:
            aheads.append(ahead)
            continue
        try:
            table[areas.start : areas.stop] = problem.solve(parents, ahead)
            aheads += [ahead] * len(parents)
        except InputError as error:
            if len(parents) > 1:  # one by one, to find which
                batches += [range(parent, parent + 1) for parent in parents[::-1]]
                continue
            if not isinstance(error, Infeasible):
                name = problem.name(first)
                raise TooLargeError(f"{name}: {error}; drop an exact count or a bound that crosses") from None
            aheads.append(None)
        advance(problem.level, len(parents))
    return SolvedLevel(table, problem.above, aheads)


def _check_progress(design: Design, solved: SolvedLevel, level: int, marks: frozenset[Area], failed: set[Area]) -> None:
    """Refuse to solve siblings again that were solved with the same look-ahead, in vain.

    Marks only grow, and every turn adds one or ends here: so the solver ends.
    """
    for _, area in failed:
        parent = int(design.spine.parents[level][area]) if level else 0
        areas = design.spine.children(level - 1, parent) if level else range(1)
        if solved.ahead[parent] == marked_below(design, level, areas, marks):
            name = design.spine.name(level, area)
            raise TooLargeError(f"the parts of {name}: no integer counts were found, and none are known not to exist")
