"""Whole counts of one level: the parts of each area, near their estimates, under every constraint."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from safemargin.core import BoolArray, FloatArray, IntArray
from safemargin.topdown.ahead import Area, Limits, look_ahead
from safemargin.topdown.attributes import Query
from safemargin.topdown.design import AreaLimit, Design, limits_within
from safemargin.topdown.family import AreaFamily, Forms
from safemargin.topdown.least_squares import LeastSquaresFit
from safemargin.topdown.nonnegative import Infeasible, nonnegative
from safemargin.topdown.reach import ReachableCounts, reach
from safemargin.topdown.whole import whole


@dataclass(frozen=True)
class Pass:
    """One margin of all areas of a level: what is wanted of it, and how."""

    margin: Query
    forms: Forms
    target: FloatArray
    rows: list[AreaLimit]
    weights: dict[Query, FloatArray]
    wanted: IntArray | None
    empty: BoolArray


@dataclass(frozen=True)
class AreaLevel:
    """Areas of a level before they are settled. `above` are the counts one level up, `limits` those of all levels."""

    design: Design
    limits: Limits
    reachable: ReachableCounts | None
    fit: LeastSquaresFit
    level: int
    above: IntArray | None

    @property
    def families(self) -> int:
        """Areas one level up."""
        return 1 if self.above is None else len(self.above)

    def places(self, family: int) -> range:
        """The parts of an area one level up."""
        return range(1) if self.above is None else self.design.spine.parts(self.level - 1, family)

    def settled(self, family: int, marks: frozenset[Area] = frozenset()) -> IntArray:
        """Whole counts of the parts of an area, one margin after the other; it must be possible to divide marked ones.

        If the margins of the design lead nowhere, all that is constrained is settled at once, and then the rest.
        """
        if not any((self.level, place) in marks for place in self.places(family)):
            try:
                return self._through(family, self._passes, None)
            except Infeasible:
                pass
        return self._through(family, self._sure_passes, marks)

    def words(self, family: int) -> str:
        """What a family is called."""
        if self.above is None:
            return "the root"
        spine = self.design.spine
        return f"the parts of {spine.levels[self.level - 1]} {spine.names[self.level - 1][family]!r}"

    @cached_property
    def _estimate(self) -> FloatArray:
        return self.fit.estimate(0) if self.above is None else self.fit.given(self.level, self.above)

    @cached_property
    def _passes(self) -> list[Pass]:
        return self._prepared(self.design.passes)

    @cached_property
    def _sure_passes(self) -> list[Pass]:
        """First all that is constrained anywhere: what is left is a transport problem, which has whole solutions."""
        return self._prepared(dict.fromkeys((constrained(self.limits), self.design.attributes.detailed)))

    def _prepared(self, margins: Sequence[Query] | dict[Query, None]) -> list[Pass]:
        kinds, found = self.design.attributes, []
        before: Query | None = None
        possible = (~self.design.impossible)[None, :].astype(np.int64)
        for margin in margins:
            rows = limits_within(kinds, self.limits[self.level], margin)
            found.append(
                Pass(
                    margin,
                    Forms(kinds, margin),
                    kinds.margin(self._estimate, margin),
                    [row for row in rows if before is None or not row.query <= before],
                    self._weights(margin, before),
                    None if self.above is None else kinds.margin(self.above, margin),
                    kinds.margin(possible, margin)[0] == 0,
                )
            )
            before = margin
        return found

    def _through(self, family: int, passes: list[Pass], marks: frozenset[Area] | None) -> IntArray:
        kinds, places = self.design.attributes, self.places(family)
        part = slice(places.start, places.stop)
        before: tuple[Query, IntArray] | None = None
        for each in passes:
            target = each.target[part]
            rows = [AreaLimit(row.query, row.low[part], row.high[part]) for row in each.rows]
            if before is not None:
                query, counts = before
                groups = kinds.groups(query, each.margin)
                missing = counts - kinds.margin(target, query, each.margin)
                target = target + missing[:, groups] / np.bincount(groups)[groups]
                rows.append(AreaLimit(query, counts, counts))
            wanted = None if each.wanted is None else each.wanted[family]
            mine = self.reachable if before is None and each.margin == self.design.passes[0] else None
            reached = None if mine is None else ReachableCounts(mine.sets, mine.low[part], mine.high[part])
            weights = {query: weight[part] for query, weight in each.weights.items()}
            problem = each.forms.family(wanted, rows, reached, each.empty, target, weights)
            gone = np.tile(each.empty if wanted is None else each.empty | (wanted == 0), len(places))
            counts = self._solved(problem, gone, each.margin, places, marks if before is None else None)
            before = each.margin, counts.reshape(len(places), -1)
        assert before is not None
        return before[1]

    def _solved(
        self, family: AreaFamily, gone: BoolArray, margin: Query, places: range, marks: frozenset[Area] | None
    ) -> IntArray:
        """Whole counts of the parts of one area; `gone` marks those that are zero because the area has none.

        With `marks` it is for HiGHS alone to say that there are none.
        """
        counts = np.zeros(len(gone), dtype=np.int64)
        ahead = look_ahead(self.design, self.limits, margin, self.level, places, ~gone, marks) if marks else None
        if gone.all() and family.least.max(initial=0) <= 0 and ahead is None:
            return counts
        rest = family.without(gone)
        values = np.maximum(rest.target, 0.0)
        if not family.is_met(family.target):
            try:
                values = nonnegative(rest)
            except Infeasible:
                if marks is None:
                    raise
        counts[~gone] = whole(rest, values, ahead)
        return counts

    def _weights(self, margin: Query, before: Query | None) -> dict[Query, FloatArray]:
        """How much each count of a margin weighs, by area: its precision. Margins that are known or settled do not."""
        kinds, level = self.design.attributes, self.level
        found = {margin: np.ones((len(self.design.spine.names[level]), kinds.cells(margin)))}
        for query in (margin, *self.design.measured(level)):
            if query <= margin and not (before is not None and query <= before):
                error = self.fit.standard_error(level, query)
                if error.max() > 0:  # counts that are known do not move, whatever they weigh
                    found[query] = 1 / np.where(error > 0, error, error.max()) ** 2
        return found


def constrained(limits: Limits) -> Query:
    """The coarsest margin that determines all that is limited on any level."""
    found = Query(())
    for here in limits:
        for query in here:
            found |= query
    return found


def all_reach(design: Design, limits: Limits) -> list[ReachableCounts | None]:
    """What areas of every level can hold of the first margin, given the limits of all levels below."""
    first = design.passes[0]
    rows = [limits_within(design.attributes, here, first) for here in limits]
    return reach(design.spine, first, design.attributes.cells(first), rows)
