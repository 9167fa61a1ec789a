"""Pairs of integer tables for many cells at once: one with the lowest count of a cell, one with the highest."""

from collections.abc import Mapping, Sequence

import numpy as np

from safemargin.bounds.build import build_system
from safemargin.bounds.exposure import Exposure
from safemargin.bounds.proof import prove
from safemargin.bounds.search import Targets
from safemargin.bounds.targets import cells_asked, targets_of
from safemargin.core import UNBOUNDED, PublishedTable, no_progress

MOST_PAIRS, MOST_COUNTS = 80, 3_000
"""Cells for which tables are looked for, and counts of a system in which that takes a second or two."""
Difference = tuple[int, int, int]
"""A place among the cells and options of an exposure, and its counts in two tables."""


def extreme_pairs(
    public: Sequence[PublishedTable], exposure: Exposure, places: Sequence[int], slack: int = 0
) -> Mapping[int, list[Difference]]:
    """For each place among the cells and options: every place at which two tables that fit differ, itself first.

    The first table has the lowest count there, the second the highest. Places for which no such tables were found are
    missing, and so are those beyond the first `MOST_PAIRS`. An office shows these beside an interval: two possible
    worlds.
    """
    system = build_system(public, exposure.onlooker, slack)
    if system.size > MOST_COUNTS:
        return {}
    cells, cell_of = cells_asked(system, exposure.cells.axes)
    if cells.codes.shape != exposure.cells.codes.shape or not np.array_equal(cells.codes, exposure.cells.codes):
        return {}
    targets = targets_of(system, cell_of, len(cells))
    lower, upper = exposure.lower.ravel(), exposure.upper.ravel()
    kept = [place for place in places if lower[place] < upper[place] < UNBOUNDED][:MOST_PAIRS]
    if not kept:
        return {}
    some = Targets(targets.matrix[kept], targets.offset[kept], targets.sign[kept])
    proofs = prove(system, some, lower[kept], upper[kept], progress=no_progress)
    pairs: dict[int, list[Difference]] = {}
    for place, low, high in zip(kept, proofs.lower, proofs.upper, strict=True):
        if low.witness is None or high.witness is None:
            continue
        lowest, highest = targets.of(proofs.tables[low.witness]), targets.of(proofs.tables[high.witness])
        differing = np.flatnonzero(lowest != highest)
        ranked = sorted(
            differing.tolist(), key=lambda other: (other != place, -abs(int(highest[other] - lowest[other])))
        )
        pairs[place] = [(other, int(lowest[other]), int(highest[other])) for other in ranked]
    return pairs
