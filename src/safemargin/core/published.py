"""Tables as the public sees them: ranges of counts for cells of merged or plain categories."""

from dataclasses import dataclass
from functools import cached_property

from safemargin.core.arrays import IntArray
from safemargin.core.errors import InputError

Group = frozenset[str]
"""One category, or several that were merged."""
UNBOUNDED = 2**53
"""Upper end of a range that nothing published limits: more than any count, and exact as a float."""
STATUSES = ("exact", "merged", "noised", "suppressed", "range")
"""How a cell was published. A noised count is no fact about the true one and bounds nothing."""
JOINER = " | "


def label(group: Group, order: tuple[str, ...] = ()) -> str:
    """A group as tidy tables write it: its members joined by ` | `, in the order of the axis.

    >>> label(frozenset({"young", "old"}), ("young", "old"))
    'young | old'
    """
    rank = {category: place for place, category in enumerate(order)}
    return JOINER.join(sorted(group, key=lambda member: (rank.get(member, len(rank)), member)))


@dataclass(frozen=True)
class PublishedTable:
    """One tidy table: rows of cells with a range `[lower, upper]` of people each.

    `groups[a]` lists the distinct categories or merged categories of axis `a`, `codes` points into them. `option` is an
    index into `options`, or -1 in every row when the table has none. `measure` is `people` for a roll, else `count`.
    `noisy` holds what is printed in rows whose status is `noised`; it may be negative and bounds nothing.
    """

    name: str
    axes: tuple[str, ...]
    groups: tuple[tuple[Group, ...], ...]
    codes: IntArray
    options: tuple[str, ...]
    option: IntArray
    lower: IntArray
    upper: IntArray
    status: tuple[str, ...]
    measure: str = "count"
    noisy: IntArray | None = None

    def __post_init__(self) -> None:
        rows = len(self.lower)
        if not (len(self.codes) == len(self.option) == len(self.upper) == len(self.status) == rows):
            raise InputError(f"{self.name}: columns of different length")
        if rows == 0:
            raise InputError(f"{self.name}: the table is empty")
        if (self.lower < 0).any() or (self.upper < self.lower).any():
            raise InputError(f"{self.name}: a range is negative or ends before it starts")

    @cached_property
    def is_exact(self) -> bool:
        """Whether every cell has one published value."""
        return bool((self.lower == self.upper).all())

    @property
    def is_roll(self) -> bool:
        """Whether it counts people rather than answers."""
        return self.measure == "people"

    def cell(self, row: int, orders: dict[str, tuple[str, ...]] | None = None) -> dict[str, str]:
        """The labels of one row by axis."""
        return {
            axis: label(self.groups[a][self.codes[row, a]], (orders or {}).get(axis, ()))
            for a, axis in enumerate(self.axes)
        }


SIGN = " x "
"""Stands between the axes in the name of a margin."""
