"""What the rule itself discloses to an onlooker who knows it.

Groups are merged, noised or suppressed either because they are small, which the roll shows anyway, or because of how
they voted. In the second case at least one of the groups concerned was outside the limits: a union of possibilities.
Each branch is bounded, and what an onlooker infers is the hull over the branches that can happen.
"""

from collections.abc import Mapping
from itertools import product

import numpy as np

from safemargin.core import Group, IntArray, Limits


def suspects(group: Group, sizes: Mapping[str, int], kappa: int) -> list[tuple[Group, int]]:
    """The parts of a merged group, with their people, of which one must have voted outside the limits.

    Categories below `kappa` are merged for their size, which discloses nothing: they are one part. Nothing is returned
    where size alone explains the merge.

    >>> suspects(frozenset("ab"), {"a": 5, "b": 90}, 10)
    []
    """
    parts = [(frozenset([name]), sizes.get(name, 0)) for name in sorted(group) if sizes.get(name, 0) >= kappa]
    small = group - frozenset(name for part, _ in parts for name in part)
    lump = sum(sizes.get(name, 0) for name in small)
    if len(parts) + (lump >= kappa) < 2:
        return []
    return [*parts, (small, lump)] if lump else parts


def hull(
    people: IntArray, sums: IntArray, limits: Limits, within: tuple[IntArray, IntArray] | None = None
) -> tuple[IntArray, IntArray]:
    """Lowest and highest count per group (rows) and option, given that some group is outside the limits.

    `people` are the sizes of the groups and `sums` their total count per option, both public; `within` are ranges that
    are known beside.
    """
    low, high = within or (
        np.zeros((len(people), len(sums)), dtype=np.int64),
        np.minimum(people[:, None], sums[None, :]),
    )
    low, high = _boxes(people, sums, low, high)
    least, most = limits.least(people), limits.most(people)
    lower, upper = high.copy() + 1, low.copy() - 1
    reached = False
    for group, column, top in product(range(len(people)), range(len(limits.floors)), (False, True)):
        if not (limits.has_ceiling if top else limits.has_floor)[column]:
            continue
        a, b = low.copy(), high.copy()
        chosen = [column] if column < len(sums) else list(limits.sets[column - limits.options])
        # The box around "more than the ceiling, or fewer than the floor, chose within the set".
        if top:
            others = b[group, chosen].sum() - b[group, chosen]
            a[group, chosen] = np.maximum(a[group, chosen], most[group, column] + 1 - others)
        else:
            others = a[group, chosen].sum() - a[group, chosen]
            b[group, chosen] = np.minimum(b[group, chosen], least[group, column] - 1 - others)
        a, b = _boxes(people, sums, a, b)
        if (a > b).any():
            continue
        reached = True
        lower, upper = np.minimum(lower, a), np.maximum(upper, b)
    return (lower, upper) if reached else (low, high)


def _boxes(people: IntArray, sums: IntArray, low: IntArray, high: IntArray) -> tuple[IntArray, IntArray]:
    """Tighten by the sums over groups, and by the people of each group shared between its options."""
    whole = int(sums.sum()) == int(people.sum())
    for _ in range(6):
        high = np.minimum(high, sums - (low.sum(axis=0) - low))
        low = np.maximum(low, sums - (high.sum(axis=0) - high))
        high = np.minimum(high, people[:, None] - (low.sum(axis=1, keepdims=True) - low))
        if whole:
            low = np.maximum(low, people[:, None] - (high.sum(axis=1, keepdims=True) - high))
    return low, high
