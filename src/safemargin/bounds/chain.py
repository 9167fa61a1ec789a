"""Blocks of several axes, matched one after the other: an order in which each leaves the earlier ones as they are.

Two tables that share an axis, such as district x age and age x gender, cannot be matched by exchanges that leave all
other tables alone. In the order in which they fit together they can: votes move between ages and districts first, then
between genders within each district and age. There is no such order for tables in a circle.
"""

import numpy as np

from safemargin.bounds.closed import junction
from safemargin.bounds.exchange import Exchanges, Links
from safemargin.core import IntArray, distinct

Step = tuple[int, Links, list[IntArray]]
"""A block to match, the pairs of profiles between its slices that no earlier block tells apart, and the sets of slices
that such pairs connect.
"""


def chain(exchanges: Exchanges) -> tuple[Step, ...]:
    """The blocks in an order in which they can be matched; none if no table has several axes, or there is no order."""
    known = exchanges.known
    axes = {block: known.axes_of(block) for block in exchanges.tops}
    faces = {block: frozenset(known.axes.index(axis) for axis in names) for block, names in axes.items()}
    if all(len(face) < 2 for face in faces.values()):
        return ()
    order = junction(tuple(faces.values()))
    if order is None:
        return ()
    steps: list[Step] = []
    done: list[int] = []
    for whole in order.faces:
        mine = [block for block, face in faces.items() if face <= whole and block not in done]
        for block in sorted(mine, key=lambda each: (-len(faces[each]), len(distinct(known.blocks[each])))):
            outside = [a for a in range(len(known.axes)) if a not in faces[block]]
            others = [known.blocks[each] for each in done] + [_grouping(exchanges, a) for a in outside]
            together = np.stack(others) if others else known.blocks[:0]
            links = exchanges.linked(block, exchanges.alike(block, together))
            steps.append((block, links, _connected(links)))
            done.append(block)
    return tuple(steps)


def _grouping(exchanges: Exchanges, axis: int) -> IntArray:
    """The groups of an axis as its own table has them, or its categories."""
    known = exchanges.known
    for block in range(len(known.blocks)):
        if known.axes_of(block) == (known.axes[axis],):
            mine: IntArray = known.blocks[block]
            return mine
    plain: IntArray = known.codes[:, axis]
    return plain


def _connected(links: Links) -> list[IntArray]:
    parts: list[IntArray] = []
    left = set(links)
    while left:
        part, fresh = set[int](), {min(left)}
        while fresh:
            part |= fresh
            fresh = {there for here in fresh for there in links[here]} - part
        left -= part
        parts.append(np.array(sorted(part), dtype=np.int64))
    return parts
