"""The sharp interval in closed form, where one exists: totals of single axes, or margins that fit together like a tree.

Used only where it is sharp: never once a roll is known, for caps break the formulas.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from safemargin.bounds.grid import Face, Grid
from safemargin.bounds.system import complete_total, seen_in
from safemargin.core import IntArray, Onlooker, PublishedTable


def frechet(first: int, second: int, total: int) -> tuple[int, int]:
    """Interval of a cell from the totals of its row and its column (Lemma 1 of the paper), tight.

    >>> [frechet(310, 290, total) for total in (600, 320, 310)]
    [(0, 290), (280, 290), (290, 290)]
    """
    return max(0, first + second - total), min(first, second)


def applies(tables: Sequence[PublishedTable], onlooker: Onlooker) -> bool:
    """Whether each table is complete and exact over at most one axis, no axis twice, and nothing else is known."""
    axes = [axis for table in tables for axis in table.axes]
    seen = seen_in(tables)
    return (
        not onlooker.roll
        and not onlooker.facts
        and all(len(table.axes) <= 1 and complete_total(table, seen) is not None for table in tables)
        and len({table.options for table in tables}) == 1
        and len(axes) == len(set(axes)) > 0
        and all(_covers(table) for table in tables)
    )


def order_one(
    tables: Sequence[PublishedTable], axes: tuple[str, ...], categories: tuple[tuple[str, ...], ...], codes: IntArray
) -> tuple[IntArray, IntArray]:
    """Lower and upper counts per cell (rows of `codes`) and option: `sum m - (d - 1) M` and `min m`.

    Inside a merged category everything may sit in the other members, so nothing is forced there from below.
    """
    options = max(len(tables[0].options), 1)
    total = np.array(complete_total(tables[0], {}), dtype=np.int64)
    upper = np.broadcast_to(total, (len(codes), options)).copy()
    lower = np.broadcast_to(total, (len(codes), options)).copy()
    for table in tables:
        if not table.axes:
            continue
        at = axes.index(table.axes[0])
        counts = np.zeros((len(categories[at]), options), dtype=np.int64)
        alone = np.zeros(len(categories[at]), dtype=bool)
        for row, code in enumerate(table.codes[:, 0]):
            group = table.groups[0][code]
            for name in group:
                place = categories[at].index(name)
                counts[place, max(int(table.option[row]), 0)] = table.lower[row]
                alone[place] = len(group) == 1
        mine = counts[codes[:, at]]
        upper = np.minimum(upper, mine)
        lower = np.where(alone[codes[:, at]][:, None], lower + mine - total, np.iinfo(np.int64).min // 4)
    return np.maximum(lower, 0), upper


def _covers(table: PublishedTable) -> bool:
    cells = len(table.groups[0]) if table.axes else 1
    return len(table.lower) == cells * max(len(table.options), 1)


@dataclass(frozen=True)
class Junction:
    """A set of faces that can be put together one after the other, each meeting the earlier ones in one of them."""

    faces: tuple[Face, ...]
    separators: tuple[Face, ...]


def junction(faces: Sequence[Face]) -> Junction | None:
    """The order in which decomposable faces fit together, or none if they are not decomposable.

    Graham's reduction: a face whose shared axes all lie in one other face is an ear; take ears off until one is left.

    >>> junction([frozenset({0, 1}), frozenset({1, 2}), frozenset({2, 0})]) is None
    True
    """
    left = [face for face in faces if not any(face < other for other in faces)]
    taken: list[Face] = []
    separators: list[Face] = []
    while len(left) > 1:
        for face in left:
            others = [other for other in left if other is not face]
            shared = face & frozenset().union(*others)
            if any(shared <= other for other in others):
                taken.append(face)
                separators.append(shared)
                left = others
                break
        else:
            return None
    return Junction((*left, *taken[::-1]), tuple(separators[::-1]))


def decomposable(grid: Grid, order: Junction) -> tuple[IntArray, IntArray]:
    """Lower and upper counts of every profile (Dobra and Fienberg): cliques less separators, and the least clique."""
    cliques = [grid.margin(face) for face in order.faces]
    lower = sum(cliques) - sum((grid.margin(face) for face in order.separators), np.zeros_like(cliques[0]))
    return np.maximum(lower, 0), np.minimum.reduce(cliques)
