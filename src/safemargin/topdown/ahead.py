"""What must still be possible further down: the parts of some areas as further unknowns when the areas are settled."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from safemargin.core import BoolArray, IntArray
from safemargin.topdown.attributes import Query
from safemargin.topdown.design import AreaLimit, Design, limits_within

Area = tuple[int, int]
"""Level and place."""

Limits = Sequence[Mapping[Query, AreaLimit]]


@dataclass(frozen=True)
class Ahead:
    """Rows `least <= here x + further y <= most` with whole `y >= 0`: counts of parts of areas with the counts x."""

    here: sparse.csr_array
    further: sparse.csr_array
    least: IntArray
    most: IntArray


def marked_below(design: Design, level: int, places: range, marks: frozenset[Area]) -> frozenset[Area]:
    """Those of some areas whose parts are to be looked at, and their parts in turn."""
    found: set[Area] = set()
    for place in places:
        if (level, place) in marks:
            found.add((level, place))
            found |= marked_below(design, level + 1, design.spine.parts(level, place), marks)
    return frozenset(found)


def look_ahead(
    design: Design, limits: Limits, margin: Query, level: int, places: range, kept: BoolArray, marks: frozenset[Area]
) -> Ahead | None:
    """The parts of marked areas; `kept` says which counts of a margin of the areas at `places` are unknowns at all."""
    builder = _Builder(design, limits, margin, marks)
    columns = np.where(kept, np.cumsum(kept) - 1, -1).reshape(len(places), -1)
    for place, mine in zip(places, columns, strict=True):
        builder.add(level, place, mine, further=False)
    return builder.built(int(kept.sum()))


class _Builder:
    """Rows and columns as they are found. Columns of areas further down are numbered apart."""

    def __init__(self, design: Design, limits: Limits, margin: Query, marks: frozenset[Area]) -> None:
        self.design, self.margin, self.marks = design, margin, marks
        self.limits = [limits_within(design.attributes, here, margin) for here in limits]
        self.rows, self.columns = 0, 0
        self.entries: dict[bool, list[tuple[IntArray, IntArray, float]]] = {False: [], True: []}
        self.ends: list[tuple[IntArray, IntArray]] = []

    def add(self, level: int, place: int, mine: IntArray, *, further: bool) -> None:
        """The parts of an area that is marked, whose own counts have the columns `mine` (-1: none)."""
        if (level, place) not in self.marks:
            return
        known = np.flatnonzero(mine >= 0)
        parts = self.design.spine.parts(level, place)
        sums = self.rows + np.arange(len(known))
        self._entries(further, sums, mine[known], -1.0)
        self._ends(np.zeros(len(known), dtype=np.int64), np.zeros(len(known), dtype=np.int64))
        for part in parts:
            theirs = np.full(len(mine), -1, dtype=np.int64)
            theirs[known] = self.columns + np.arange(len(known))
            self.columns += len(known)
            self._entries(True, sums, theirs[known], 1.0)
            for limit in self.limits[level + 1]:
                groups = self.design.attributes.groups(limit.query, self.margin)[known]
                self._entries(True, self.rows + groups, theirs[known], 1.0)
                self._ends(limit.low[part], limit.high[part])
            self.add(level + 1, part, theirs, further=True)

    def built(self, here: int) -> Ahead | None:
        """Everything as matrices."""
        if not self.rows:
            return None
        least, most = (np.concatenate(ends) for ends in zip(*self.ends, strict=True))
        return Ahead(self._matrix(False, here), self._matrix(True, self.columns), least, most)

    def _entries(self, further: bool, rows: IntArray, columns: IntArray, value: float) -> None:
        self.entries[further].append((rows, columns, value))

    def _ends(self, least: IntArray, most: IntArray) -> None:
        self.ends.append((least, most))
        self.rows += len(least)

    def _matrix(self, further: bool, width: int) -> sparse.csr_array:
        entries = self.entries[further]
        empty = np.zeros(0, dtype=np.int64)
        rows = np.concatenate([empty, *(rows for rows, _, _ in entries)])
        columns = np.concatenate([empty, *(columns for _, columns, _ in entries)])
        values = np.concatenate([np.zeros(0), *(np.full(len(rows), value) for rows, _, value in entries)])
        return sparse.csr_array((values, (rows, columns)), shape=(self.rows, width))
