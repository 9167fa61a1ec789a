"""Subtotals by the total: the ways to cut a list of labels into blocks so that everything adds up.

Let a list of labels and their total T be printed, which all labels together exceed. A block is a label p and the run
of labels right after it (or right before it), which p can be the sum of. The list is cut so that labels outside runs
add up to T. If there is one way only, it is the reading; if there are several, the first is taken, with a doubt.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from safemargin.io.reading.sums import Rows

MOST_LABELS, MOST_STEPS = 60, 3_000
Split = tuple[int, tuple[int, ...]]


@dataclass(frozen=True)
class Segments:
    """Labels that add up runs of others, and whether no other way of cutting adds up."""

    splits: list[Split]
    is_only: bool

    @property
    def inside(self) -> set[int]:
        """Labels in runs."""
        return {code for _, run in self.splits for code in run}


def segmented(rows: Rows, axis: int, total: int, codes: Sequence[int]) -> Segments | None:
    """How labels must be cut into blocks so that the rest adds up to the total; None if there is no way."""
    if not 3 <= len(codes) <= MOST_LABELS:
        return None
    found: list[list[Split]] = []
    for order in (list(codes), list(reversed(codes))):
        budget = [MOST_STEPS]
        for splits in _cuts(rows, axis, order, 0, budget):
            inside = {code for _, run in splits for code in run}
            test = rows.test(axis, total, [code for code in codes if code not in inside])
            if splits and test.fits and not test.short:
                found.append(splits)
                if len(found) > 1:
                    break
        if found:  # runs after their sum are looked for first
            return Segments(found[0], len(found) == 1 and budget[0] > 0)
    return None


def _cuts(rows: Rows, axis: int, order: Sequence[int], start: int, budget: list[int]) -> Iterator[list[Split]]:
    """Ways to cut the labels from `start` on, the longest runs that add up first, within the budget."""
    if start >= len(order) or budget[0] <= 0:
        yield []
        return
    parent = order[start]
    for end in range(len(order), start + 2, -1):
        budget[0] -= 1
        if budget[0] <= 0:
            break
        run = order[start + 1 : end]
        test = rows.test(axis, parent, run)
        if test.fits and not test.short:
            for rest in _cuts(rows, axis, order, end, budget):
                yield [(parent, tuple(run)), *rest]
    for rest in _cuts(rows, axis, order, start + 1, budget):
        yield rest
