"""Pairs of integer tables for many cells at once: one with the lowest count of a cell, one with the highest.

An interval says what an onlooker cannot exclude; a pair of tables shows it: two possible worlds that agree with every
published figure. Pages put them beside a cell (`extremes.py` does the same for one cell that somebody asks for, with
more effort). Both tables come from the proof of the interval, so they were added up.

Example
    With 12 of 20 yes in every district and at every age, from 2 to 10 of the ten old people of N said yes. If 2 did,
    10 of the young did, and so on around the square:

    >>> from safemargin.bounds.bound import infer
    >>> from safemargin.core import exact_margins, onlooker_with_roll, table_of
    >>> table = table_of({"district": ("N", "S"), "age": ("old", "young")}, [[6, 4]] * 4, [10] * 4)
    >>> public, onlooker = exact_margins(table), onlooker_with_roll(table, "joint")
    >>> extreme_pairs(public, infer(public, onlooker), [0])[0][:3]
    [(0, 2, 10), (1, 8, 0), (2, 10, 2)]
"""

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

    The first table has the lowest count there, the second the highest; the others follow by how far they differ. A
    place is `cell * options + option`. Places for which no such tables were found are missing, and so are those beyond
    the first `MOST_PAIRS`, those known exactly, and those without a limit. Systems beyond `MOST_COUNTS` counts give
    nothing: it would keep a page waiting. An office shows these beside an interval: two possible worlds.
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
