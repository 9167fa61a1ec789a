"""Whether some invariants fix another one: yes by a rule, no by two data sets, or not known.

Margins of one kind of record: a margin is fixed if its variables are determined by those of one fixed margin. If not,
take two values of each of its variables and the records with an even, or an odd, number of second values: all other
margins agree and this one differs. That needs two values per variable and records that can be combined freely; the
population says whether they can. Sums of cells: by rank, or by two tables whose difference all fixed sums omit.
"""

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import TypeVar

from safemargin.core import Change, Distance, Fixes, Invariant, Population, counts

MOST_VARIABLES = 12
"""Of a witness that is written out."""

FACTORS: dict[tuple[Distance, Distance], int] = {
    (Distance.ADD_REMOVE, Distance.HAMMING): 2,
    (Distance.HAMMING, Distance.EXCHANGE): 2,
    (Distance.HAMMING, Distance.FROZEN): 1,
    (Distance.ADD_REMOVE, Distance.EXCHANGE): 4,
    (Distance.ADD_REMOVE, Distance.FROZEN): 2,
}
"""How much larger the first distance can be than the second, where that is bounded for all data sets."""

Data = TypeVar("Data")
Row = tuple[int | str, ...]


@dataclass(frozen=True)
class Witness:
    """Two data sets of `kind` records over `variables` that agree on some invariants and differ in another."""

    kind: str
    variables: tuple[str, ...]
    one: tuple[Row, ...]
    other: tuple[Row, ...]
    differ: str

    @property
    def example(self) -> str:
        """The two data sets, cut after four records."""

        def listed(rows: tuple[Row, ...]) -> str:
            shown = ", ".join("/".join(map(str, row)) for row in rows[:4])
            return f"{shown}{f' and {len(rows) - 4} more' if len(rows) > 4 else ''}"

        what = f"{self.kind} ({'/'.join(self.variables)})"
        return f"{what} {listed(self.one)} against {listed(self.other)}"

    def __str__(self) -> str:
        return f"{self.example}: {self.differ} differs"


@dataclass(frozen=True)
class Determined:
    """Whether an invariant is fixed (None: not known), and why."""

    answer: bool | None
    why: str
    witness: Witness | None = None


def determined(wanted: Invariant, given: Sequence[Invariant], population: Population) -> Determined:
    """Whether data sets that agree on `given` agree on `wanted`."""
    if wanted in given:
        return Determined(True, f"{wanted} is fixed itself")
    if any(invariant.fixes is Fixes.EVERYTHING for invariant in given):
        return Determined(True, "the data themselves are fixed")
    if wanted.fixes is Fixes.LINEAR:
        return _sums(wanted, given, population)
    if wanted.fixes is Fixes.INEQUALITY:
        # Sums that are fixed decide every inequality about them; the other way round nothing is known.
        sums = _sums(replace(wanted, fixes=Fixes.LINEAR), given, population)
        return sums if sums.answer else Determined(None, f"not known whether {wanted} follows")
    if wanted.fixes not in (Fixes.COUNTS, Fixes.AT_LEAST):
        return Determined(None, f"nothing but its name is known about {wanted}")
    alike = [invariant for invariant in given if invariant.of == wanted.of]
    for invariant in alike:
        if _reaches(invariant, wanted, population):
            return Determined(True, f"{wanted} follows from {invariant}")
    opaque = [invariant for invariant in given if invariant.fixes not in (Fixes.COUNTS, Fixes.AT_LEAST)]
    if opaque:
        return Determined(None, f"nothing but its name is known about {opaque[0]}")
    if not population.of_kind(wanted.of).free:
        return Determined(None, f"not known whether {wanted.of} can differ while all else stays")
    if not wanted.by:
        return Determined(None, f"{wanted} is the same wherever changes keep the number of records")
    return _distinguish(wanted, alike, population)


def invariants_fixed(wanted: Iterable[Invariant], given: Sequence[Invariant], population: Population) -> Determined:
    """Whether data sets that agree on `given` agree on all of `wanted`: no beats not known, which beats yes."""
    answers = [determined(item, given, population) for item in wanted]
    for answer in (False, None):
        for item in answers:
            if item.answer is answer:
                return item
    return Determined(True, "; ".join(dict.fromkeys(item.why for item in answers)) or "nothing is to be fixed")


def unit_factor(first: Change, second: Change, facts: Population, fixed: Sequence[Invariant]) -> int | None:
    """How many changes of the first kind one of the second can be; None if that is not bounded or not known.

    Another unit is reached by changed records only: an exchange of persons is none of households. Somebody
    who is added to a household changes its record, which is one removed and one added. A household may be replaced by a
    larger one, so changed person records bound nothing unless their number is among what is `fixed`.
    """
    # Changing a record is removing one and adding one: the factors follow from that.
    distances = 1 if first.distance is second.distance else FACTORS.get((first.distance, second.distance))
    if distances is None or first.unit == second.unit:
        return distances
    if first.distance not in (Distance.HAMMING, Distance.ADD_REMOVE):
        return None
    for fact in facts.nested:
        if (fact.coarse, fact.fine) == (first.unit, second.unit):
            added = 2 if first.distance is second.distance is Distance.ADD_REMOVE else 1
            return distances * fact.up * added
        if (fact.fine, fact.coarse) == (first.unit, second.unit):
            sized = first.distance is Distance.ADD_REMOVE or determined(counts(f"{first.unit}s"), fixed, facts).answer
            return distances * fact.down if fact.down is not None and sized else None
    return None


def classes(data: Iterable[Data], key: Callable[[Data], Hashable]) -> dict[Hashable, list[Data]]:
    """The universes of an enumerated domain: data sets by the value of their invariants."""
    universes: dict[Hashable, list[Data]] = {}
    for member in data:
        universes.setdefault(key(member), []).append(member)
    return universes


def _reaches(given: Invariant, wanted: Invariant, population: Population) -> bool:
    if given.fixes is Fixes.COUNTS:
        return set(wanted.by) <= population.closure(given.by)
    if given.fixes is Fixes.AT_LEAST and wanted.fixes is Fixes.AT_LEAST:
        # Unlike counts, indicators do not add up for thresholds above one.
        if given.least == wanted.least == 1:  # somebody in a whole is somebody in a part
            return set(wanted.by) <= population.closure(given.by)
        return given.least == wanted.least and set(given.by) == set(wanted.by)
    return False


def _distinguish(wanted: Invariant, given: Sequence[Invariant], population: Population) -> Determined:
    """The two data sets of even and odd records, on a base that keeps every indicator up."""
    covering = [
        item.least for item in given if item.fixes is Fixes.AT_LEAST and set(wanted.by) <= population.closure(item.by)
    ]
    if covering and wanted.fixes is Fixes.AT_LEAST:
        return Determined(None, f"not known whether other thresholds fix {wanted}")
    roots = list(wanted.by)
    for name in wanted.by:
        if name in population.closure(tuple(item for item in roots if item != name)):
            roots.remove(name)
    if len(roots) > MOST_VARIABLES:
        return Determined(None, f"{wanted} has too many variables to write two data sets out")
    # Even and odd cells of the cube agree on every margin that lacks a variable: each of its cells has one of both.
    cells = list(product((0, 1), repeat=len(roots)))
    # Enough records in every cell that thresholds of other invariants are reached on both sides.
    base = cells * max(covering, default=0)
    even = [cell for cell in cells if sum(cell) % 2 == 0] * wanted.least
    odd = [cell for cell in cells if sum(cell) % 2 == 1] * wanted.least
    witness = Witness(wanted.of, tuple(roots), tuple(sorted(base + even)), tuple(sorted(base + odd)), str(wanted))
    return Determined(False, str(witness), witness)


def _sums(wanted: Invariant, given: Sequence[Invariant], population: Population) -> Determined:
    alike = [invariant for invariant in given if invariant.of == wanted.of]
    rows = [
        row
        for invariant in alike
        if invariant.fixes is Fixes.LINEAR and invariant.by == wanted.by
        for row in invariant.rows
    ]
    # Row space containment over the rationals decides whether linear invariants determine a linear one.
    if rank([*rows, *wanted.rows]) == rank(rows):
        return Determined(True, f"{wanted} are combinations of sums that are fixed")
    if any(invariant.fixes is not Fixes.LINEAR or invariant.by != wanted.by for invariant in alike):
        return Determined(None, f"nothing is known about {wanted}")
    if any(invariant.fixes is Fixes.FUNCTION for invariant in given):
        return Determined(None, "something is fixed that is known by its name only")
    if not population.of_kind(wanted.of).free:
        return Determined(None, f"not known whether {wanted.of} can differ while all else stays")
    # The row of ones keeps the number of records, without which two data sets are infinitely far apart.
    for move in kernel([*rows, (Fraction(1),) * len(wanted.by)]):
        if any(sum(a * b for a, b in zip(row, move, strict=True)) for row in wanted.rows):
            first, second = (
                tuple((cell,) for cell, by in zip(wanted.by, move, strict=True) for _ in range(sign * by))
                for sign in (1, -1)
            )
            witness = Witness(wanted.of, ("cell",), first, second, str(wanted))
            return Determined(False, str(witness), witness)
    return Determined(None, f"{wanted} are the same wherever changes keep the number of records")


def kernel(rows: Sequence[Sequence[Fraction]]) -> list[tuple[int, ...]]:
    """Whole numbers that all rows take to zero: a basis.

    >>> kernel([(Fraction(1), Fraction(1, 2), Fraction(0))])
    [(-1, 2, 0), (0, 0, 1)]
    """
    left, pivots = _reduced(rows)
    width = len(rows[0])
    basis = []
    for free in (n for n in range(width) if n not in pivots):
        move = [Fraction(n == free) for n in range(width)]
        for row, pivot in zip(left, pivots, strict=False):
            move[pivot] = -row[free]
        # Tables hold whole numbers of records: scale the rational solution.
        whole = math.lcm(*(entry.denominator for entry in move))
        basis.append(tuple(int(entry * whole) for entry in move))
    return basis


def rank(rows: Iterable[Sequence[Fraction]]) -> int:
    """Rank over the rational numbers.

    >>> rank([[Fraction(1), Fraction(2)], [Fraction(2), Fraction(4)]])
    1
    """
    return len(_reduced(list(rows))[1])


def _reduced(rows: Sequence[Sequence[Fraction]]) -> tuple[list[list[Fraction]], list[int]]:
    """Rows in reduced echelon form, and the columns of their leading ones."""
    left = [list(row) for row in rows]
    pivots: list[int] = []
    for column in range(len(left[0]) if left else 0):
        row_number = len(pivots)
        pivot = next((n for n in range(row_number, len(left)) if left[n][column]), None)
        if pivot is None:
            continue
        left[row_number], left[pivot] = left[pivot], left[row_number]
        left[row_number] = [entry / left[row_number][column] for entry in left[row_number]]
        for n in range(len(left)):
            if n != row_number:
                factor = left[n][column]
                left[n] = [a - factor * b for a, b in zip(left[n], left[row_number], strict=True)]
        pivots.append(column)
    return left, pivots
