"""Gaps among counts that are sorted: where a gap stands bounds it, and no interval uses that.

A list of towns by size, with the small ones suppressed, says that each gap lies between its neighbours. Who published
it may not have sorted it, so this is a doubt about an all-clear, and no finding. Labels in their own order (ages,
years, names by the alphabet) explain the order of the rows; then counts fall by themselves.
"""

from collections.abc import Sequence

import numpy as np

from safemargin.core import BoolArray, IntArray
from safemargin.io.rows import natural_order

FEWEST, FEWEST_INSIDE = 6, 8
"""Printed counts that are in order by chance in one list of 360, and in one of 20,160 slices of a table."""


def sorted_places(
    axes: Sequence[str],
    labels: Sequence[Sequence[str]],
    parts: Sequence[Sequence[Sequence[int]]],
    totals: Sequence[int | None],
    codes: IntArray,
    counts: IntArray,
    hidden: BoolArray,
) -> str:
    """The doubt, or nothing; `parts` has for every axis the labels that add up to one, or all.

    >>> codes, counts = np.arange(8)[:, None], np.array([90, 81, 77, 60, 52, 44, 0, 21])
    >>> sorted_places(["town"], ["HGCFEDAB"], [[range(8)]], [None], codes, counts, counts == 0)[:60]
    "the counts by 'town' are sorted, so the place of a gap bound"
    >>> sorted_places(["town"], ["ABCDEFGH"], [[range(8)]], [None], codes, counts, counts == 0)
    ''
    """
    for a, name in enumerate(axes):
        others = [o for o in range(len(axes)) if o != a]
        is_margin = np.ones(len(codes), dtype=bool)
        for other in others:
            is_margin &= codes[:, other] == totals[other]
        slices = np.unique(codes[:, others], axis=0, return_inverse=True)[1].ravel()
        order = [natural_order(text) for text in labels[a]]
        for listed in parts[a]:
            if list(listed) == sorted(listed, key=order.__getitem__):
                continue
            inside = np.isin(codes[:, a], list(listed))
            for key in np.unique(slices[inside & hidden]).tolist():
                rows = np.flatnonzero(inside & (slices == key))
                steps = np.diff(counts[rows[~hidden[rows]]])
                few = FEWEST if is_margin[rows].all() else FEWEST_INSIDE
                if len(steps) + 1 >= few and steps.any() and ((steps >= 0).all() or (steps <= 0).all()):
                    return f"the counts by {name!r} are sorted, so the place of a gap bounds it, which no interval uses"
    return ""
