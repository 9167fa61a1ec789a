"""Tables of whole people, level by level from the widest down; every constraint holds exactly."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from safemargin.errors import InputError
from safemargin.mechanisms.topdown.family import Family, Forms
from safemargin.mechanisms.topdown.least_squares import Fit
from safemargin.mechanisms.topdown.nonnegative import Infeasible, nonnegative
from safemargin.mechanisms.topdown.reach import Reach, reach
from safemargin.mechanisms.topdown.whole import whole
from safemargin.model.arrays import BoolArray, FloatArray, IntArray
from safemargin.model.attributes import Query
from safemargin.model.design import Design, Limit, summed_limit


def tidy(
    design: Design,
    limits: Mapping[Query, Limit],
    reachable: Reach | None,
    fit: Fit,
    level: int,
    above: IntArray | None,
    progress: Callable[[int], None] = lambda families: None,
) -> IntArray:
    """Counts of one level: the parts of each area add up to `above`, its counts in the table one level up.

    The margins in `design.passes` are settled one after the other, each within the one before; `reachable` is about the
    first.
    """
    kinds = design.attributes
    estimate = fit.estimate(0) if above is None else fit.given(level, above)
    count = len(estimate)
    starts = np.array([0]) if above is None else design.spine.starts[level]
    ends = np.append(starts[1:], count)
    settled: tuple[Query, IntArray] | None = None
    for margin in design.passes:
        target = kinds.margin(estimate, margin)
        rows = _within(design, limits, margin)
        if settled is not None:
            query, counts = settled
            missing = counts - kinds.margin(target, query, margin)
            groups = kinds.groups(query, margin)
            target = target + missing[:, groups] / np.bincount(groups)[groups]
            rows = [row for row in rows if not row.query <= query]
            rows.append(Limit(query, counts, counts))
        forms, weights = Forms(kinds, margin), _weights(design, fit, level, margin, settled)
        wanted = None if above is None else kinds.margin(above, margin)
        empty = kinds.margin((~design.impossible)[None, :].astype(np.int64), margin)[0] == 0
        found = np.empty(target.shape, dtype=np.int64)
        for place, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
            family = forms.family(
                None if wanted is None else wanted[place],
                [Limit(row.query, row.low[start:end], row.high[start:end]) for row in rows],
                None if settled is not None else _part(reachable, start, end),
                empty,
                target[start:end],
                {query: weight[start:end] for query, weight in weights.items()},
            )
            gone = empty if wanted is None else empty | (wanted[place] == 0)
            found[start:end] = _settled(design, level, place, family, np.tile(gone, end - start)).reshape(
                end - start, -1
            )
            progress(1)
        settled = margin, found
    assert settled is not None
    return settled[1]


def all_reach(design: Design, limits: Sequence[Mapping[Query, Limit]]) -> list[Reach | None]:
    """What areas of every level can hold of the first margin, given the limits of all levels below."""
    first = design.passes[0]
    rows = [_within(design, here, first) for here in limits]
    return reach(design.spine, first, design.attributes.cells(first), rows)


def _part(found: Reach | None, start: int, end: int) -> Reach | None:
    return None if found is None else Reach(found.sets, found.low[start:end], found.high[start:end])


def _settled(design: Design, level: int, place: int, family: Family, gone: BoolArray) -> IntArray:
    """Whole counts of the parts of one area; `gone` marks those that are zero because the area has none."""
    counts = np.zeros(len(gone), dtype=np.int64)
    if gone.all() and family.least.max(initial=0) <= 0:
        return counts
    rest = family.without(gone)
    try:
        met = family.is_met(family.target)
        counts[~gone] = whole(rest, np.maximum(rest.target, 0.0) if met else nonnegative(rest))
        return counts
    except Infeasible as problem:
        spine = design.spine
        area = f"the parts of {spine.levels[level - 1]} {spine.names[level - 1][place]!r}" if level else "the root"
        raise InputError(f"{area}: {problem}; drop an exact count or a bound that crosses others") from None


def _within(design: Design, limits: Mapping[Query, Limit], margin: Query) -> list[Limit]:
    """What the constraints say about a margin."""
    found: dict[Query, Limit] = {}
    for limit in limits.values():
        said = summed_limit(design.attributes, limit, limit.query & margin)
        before = found.get(said.query, said)
        found[said.query] = Limit(said.query, np.maximum(before.low, said.low), np.minimum(before.high, said.high))
    return list(found.values())


def _weights(
    design: Design, fit: Fit, level: int, margin: Query, settled: tuple[Query, IntArray] | None
) -> dict[Query, FloatArray]:
    """How much each count of a margin weighs, by area: its precision. Margins that are known or settled do not."""
    found = {margin: np.ones((len(design.spine.names[level]), design.attributes.cells(margin)))}
    for query in (margin, *design.measured(level)):
        if query <= margin and not (settled is not None and query <= settled[0]):
            error = fit.standard_error(level, query)
            if error.max() > 0:  # counts that are known do not move, whatever they weigh
                found[query] = 1 / np.where(error > 0, error, error.max()) ** 2
    return found
