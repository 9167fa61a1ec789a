"""Integer tables, level by level from the widest down; every constraint holds exactly.

Counts of an area may leave its parts without a solution if constraints of several margins cross. The area is then
marked and solved again, with its siblings, so that its parts have a solution; if there is none, the area above is
marked too, and so on. At worst everything is one integer program, so tables are found whenever there are any.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import or_

import numpy as np

from safemargin.core import BoolArray, FloatArray, InputError, IntArray, TooLargeError
from safemargin.topdown.attributes import MarginQuery
from safemargin.topdown.design import Area, Design, LevelLimits, MarginLimit, WeightedLimit, limits_within
from safemargin.topdown.feasibility import look_ahead, marked_below, reachable_levels
from safemargin.topdown.least_squares import LeastSquaresFit
from safemargin.topdown.siblings import (
    Infeasible,
    SiblingMatrices,
    SiblingProblem,
    nonnegative_estimate,
    round_to_integers,
)


@dataclass(frozen=True)
class MarginPass:
    """One margin of all areas of a level: target, constraints and weights."""

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
    fit: LeastSquaresFit
    level: int
    above: IntArray | None

    @property
    def parents(self) -> int:
        """Number of areas one level up."""
        return 1 if self.above is None else len(self.above)

    def siblings(self, parent: int) -> range:
        """The parts of an area one level up."""
        return range(1) if self.above is None else self.design.spine.parts(self.level - 1, parent)

    def solve(self, parent: int, marks: frozenset[Area] = frozenset()) -> IntArray:
        """Integer counts of the parts of an area, one margin after the other; marked parts must be divisible further.

        If the passes of the design fail, everything that is constrained is solved at once, then the rest.
        """
        if not any((self.level, area) in marks for area in self.siblings(parent)):
            try:
                return self._solve_passes(parent, self._passes, None)
            except Infeasible:
                pass
        return self._solve_passes(parent, self._sure_passes, marks)

    def name(self, parent: int) -> str:
        """Sibling areas in words."""
        return "the root" if self.above is None else f"the parts of {self.design.spine.name(self.level - 1, parent)}"

    @cached_property
    def _estimate(self) -> FloatArray:
        return self.fit.estimate(0) if self.above is None else self.fit.given(self.level, self.above)

    @cached_property
    def _passes(self) -> list[MarginPass]:
        return self._prepare(self.design.passes)

    @cached_property
    def _sure_passes(self) -> list[MarginPass]:
        # The first pass holds all that is constrained on any level. What is left is a transport problem, whose vertices
        # are integer, so the second pass cannot fail.
        queries = [*(query for here in self.limits for query in here), *(w.query for _, w in self.design.weighted)]
        constrained = reduce(or_, queries, MarginQuery(()))
        return self._prepare(dict.fromkeys((constrained, self.design.attributes.detailed)))

    def _prepare(self, margins: Iterable[MarginQuery]) -> list[MarginPass]:
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

    def _solve_passes(self, parent: int, passes: list[MarginPass], marks: frozenset[Area] | None) -> IntArray:
        attributes, areas = self.design.attributes, self.siblings(parent)
        part = slice(areas.start, areas.stop)
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
            above = None if step.above is None else step.above[parent]
            weighted = [limit.of_areas(part) for limit in step.weighted]
            weights = {query: weight[part] for query, weight in step.weights.items()}
            problem = step.matrices.problem(above, rows, weighted, step.empty, target, weights)
            # Cells that are empty in the area above are empty in its parts: large sparse tables stay small.
            gone = np.tile(step.empty if above is None else step.empty | (above == 0), len(areas))
            counts = self._solve_margin(problem, gone, step.margin, areas, marks if before is None else None)
            before = step.margin, counts.reshape(len(areas), -1)
        assert before is not None
        return before[1]

    def _solve_margin(
        self, problem: SiblingProblem, gone: BoolArray, margin: MarginQuery, areas: range, marks: frozenset[Area] | None
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
            try:
                values = nonnegative_estimate(rest)
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

    Sibling areas without a solution have None.
    """

    table: IntArray
    above: IntArray | None
    ahead: list[frozenset[Area] | None]


def solve_tables(
    design: Design,
    limits: Sequence[LevelLimits],
    fit: LeastSquaresFit,
    done: Sequence[IntArray] = (),
    advance: Callable[[int, int], None] = lambda level, parents: None,
    keep: Callable[[int, IntArray], None] = lambda level, table: None,
    drop: Callable[[], None] = lambda: None,
) -> list[IntArray]:
    """Integer tables of all levels; `done` are those of the first levels that an interrupted run kept.

    `keep` is called with every level that is solved. If levels have to be solved again, `drop` is called first, once,
    and every level is kept at the end.
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
    for parent in range(problem.parents):
        areas = problem.siblings(parent)
        ahead = marked_below(problem.design, problem.level, areas, marks) if marks else marks
        if before is not None and same[parent] and before.ahead[parent] == ahead:
            aheads.append(ahead)
            continue
        try:
            table[areas.start : areas.stop] = problem.solve(parent, ahead)
            aheads.append(ahead)
        except Infeasible:
            aheads.append(None)
        except TooLargeError as error:
            name = problem.name(parent)
            raise TooLargeError(f"{name}: {error}; drop an exact count or a bound that crosses") from None
        advance(problem.level, 1)
    return SolvedLevel(table, problem.above, aheads)


def _check_progress(design: Design, solved: SolvedLevel, level: int, marks: frozenset[Area], failed: set[Area]) -> None:
    """Refuse to solve siblings again that were solved with the same look-ahead, in vain."""
    for _, area in failed:
        parent = int(design.spine.parents[level][area]) if level else 0
        areas = design.spine.parts(level - 1, parent) if level else range(1)
        if solved.ahead[parent] == marked_below(design, level, areas, marks):
            name = design.spine.name(level, area)
            raise TooLargeError(f"the parts of {name}: no integer counts were found, and none are known not to exist")
