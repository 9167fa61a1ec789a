"""How much one person who moves changes the noisy counts of households.

Objects
    a -> b      the record of the household that the person leaves, before and after
    c -> d      the record of the household that the person joins
    q           a margin of households at one level: e(x) is the unit vector of the cell of q that holds record x

Statement
    Among data sets with equally many households, one changed person record changes at most two household records. If
    both households lie in one area of the level, the counts of q change by e(b) - e(a) + e(d) - e(c); otherwise by
    e(b) - e(a) in one area and e(d) - e(c) in another. The size of the first falls by one, that of the second grows by
    one, and all other attributes may become anything. So the squared length of the change is at most

        together    8 if one cell can hold a and c, and another one b and d; 6 if only one of the two pairs can agree
        apart       4

    and 2 if one record changes alone (the person stays, moves from or to quarters, or a household of one moves).
    Discrete Gaussian noise with parameter v then costs (squared length) / (2 v) in rho² (Canonne, Kamath and Steinke
    2022, Theorem 4).

    Bailie, Gong and Meng (Theorem 2 and appendix H) take 2 for everybody: true of people who stay in their household,
    false of people who move.

What callers may rely on
    * `moved_squares` is the maximum over all records a, b, c, d whose sizes fit, and never below 2.
    * Nothing here reads data; impossible cells are not taken into account, which can only make the figure too large.

Example
    Somebody leaves a home of three for a home of one: one home of three and one of one less, two homes of two more.

    >>> from safemargin.topdown.attributes import Attributes
    >>> homes = Attributes(("size",), (("1", "2", "3"),))
    >>> moved_squares(homes, homes.detailed, HouseholdSizes(0, ((1, 1), (2, 2), (3, 3))), apart=True)
    6
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

from safemargin.topdown.attributes import Attributes, MarginQuery
from safemargin.topdown.design import Design

STAYS, MOVES = "stays", "moves"
ALONE = 2
"""Squared change of a margin when one record changes."""


@dataclass(frozen=True)
class HouseholdSizes:
    """The attribute of households with their size, and the least and most people by category; no axis: one category."""

    axis: int | None
    people: tuple[tuple[int, int], ...]

    @property
    def joined(self) -> set[tuple[int, int]]:
        """Categories of a household before and after somebody joins it."""
        return {
            (before, after)
            for (before, (low, high)), (after, (least, most)) in product(enumerate(self.people), repeat=2)
            if max(low, least - 1) <= min(high, most - 1)  # some size of the first is one less than one of the second
        }

    @property
    def left(self) -> set[tuple[int, int]]:
        """Categories of a household before and after somebody leaves it."""
        return {(before, after) for after, before in self.joined}


def moved_squares(attributes: Attributes, query: MarginQuery, sizes: HouseholdSizes, *, apart: bool) -> int:
    """The largest sum of squared changes of the counts of a margin that one person's change can cause.

    `apart`: the two households may also lie in different areas of the level.
    """
    codes: Iterable[int] = [0] * len(sizes.people)
    others = attributes.cells(query)
    if sizes.axis is not None and sizes.axis in query.axes:
        groups = query.groups_by_axis[sizes.axis]
        codes = range(len(sizes.people)) if groups is None else groups
        others //= 1 + max(codes)
    code_of = list(codes)
    left, joined = ({(code_of[one], code_of[two]) for one, two in pairs} for pairs in (sizes.left, sizes.joined))
    labels = range(min(others, 4))  # four records have at most four different cells
    squares = [ALONE]
    for (a, b), (c, d), (x, y, z, w) in product(left, joined, product(labels, repeat=4)):
        first, second = _change((a, x), (b, y)), _change((c, z), (d, w))
        squares.append(_square(first, second))
        if apart:
            squares.append(_square(first) + _square(second))
    return max(squares)


def _change(before: tuple[int, int], after: tuple[int, int]) -> Counter[tuple[int, int]]:
    """What a record that moves from one cell to another changes: one count less, one more."""
    change = Counter({before: -1})
    change[after] += 1
    return change


def _square(*changes: Counter[tuple[int, int]]) -> int:
    """The squared length of several changes together; counts in the same cell add up first."""
    cells = set[tuple[int, int]]().union(*changes)
    return sum(sum(change[cell] for change in changes) ** 2 for cell in cells)


def squares_by_margin(households: Design, persons: Design, sizes: HouseholdSizes) -> dict[tuple[int, MarginQuery], int]:
    """By level and margin of the noisy counts of households, the largest squared change through one person.

    Exact counts of persons keep everybody in their area of that level. A margin that exact counts of households at this
    level, or at a smaller one, determine does not change when people move between households.
    """
    stays_within = max((level for level, _ in persons.exact), default=0)
    found: dict[tuple[int, MarginQuery], int] = {}
    for level, names in enumerate(households.spine.names):
        apart = len(names) > 1 and level > stays_within
        for query in households.measured(level):
            fixed = any(below >= level and query <= exact for below, exact in households.exact)
            moved = ALONE if fixed else moved_squares(households.attributes, query, sizes, apart=apart)
            found[level, query] = moved
    return found
