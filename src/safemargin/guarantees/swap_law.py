"""The exact law of swapping on one small stratum, by going through all permutations.

A stratum is a tuple of records (held value, swapped value). Order does not matter: what is published is the table, here
the sorted tuple of the records after swapping.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations, product
from math import factorial, lcm, prod

from safemargin.core import InputError, TooLargeError

Record = tuple[int, int]
Stratum = tuple[Record, ...]
Law = dict[Stratum, Fraction]
Permutation = tuple[int, ...]
Rule = Callable[[Stratum, Permutation], bool]
Weight = Callable[[Stratum, Permutation], int]
Shown = Callable[[Sequence[Record]], Stratum]

MOST_RECORDS = 7
"""Of a stratum whose permutations are all gone through."""

MOST_OUTCOMES = 600_000
"""Permutations of all data sets of a universe together."""


def any_move(_: Stratum, __: Permutation) -> bool:
    """Permutation swapping: every permutation will do."""
    return True


def pairs_only(_: Stratum, move: Permutation) -> bool:
    """Records are swapped in disjoint pairs, as in the 2010 census."""
    return all(move[move[index]] == index for index in range(len(move)))


def different_records(records: Stratum, move: Permutation) -> bool:
    """Records get a value only from records that differ in what is held and in what is swapped."""
    return all(
        to == index or (records[to][0] != records[index][0] and records[to][1] != records[index][1])
        for index, to in enumerate(move)
    )


def uniform(_: Stratum, __: Permutation) -> int:
    """Permutation swapping: of those that move the selected records, each is as likely."""
    return 1


def nearby(records: Stratum, move: Permutation) -> int:
    """Places are numbered in a row, and a value comes from a place two steps nearer four times as often.

    >>> nearby(((0, 0), (1, 1), (2, 2)), (1, 0, 2)), nearby(((0, 0), (1, 1), (2, 2)), (2, 1, 0))
    (4, 1)
    """
    places = [position for _, position in records]
    span = max(places) - min(places)
    apart = (abs(places[to] - places[start]) for start, to in enumerate(move) if to != start)
    return prod(2 ** (span - step) for step in apart)


VARIANTS: dict[str, Rule] = {
    "permutation": any_move,
    "pairs": pairs_only,
    "different": different_records,
}
"""Ways to choose a permutation; Theorem 1 is about the first one only."""


def table(records: Sequence[Record]) -> Stratum:
    """Records without their order."""
    return tuple(sorted(records))


def stratum(held: Sequence[int], swapped: Sequence[int]) -> Stratum:
    """The data set with these margins in which equal places meet.

    >>> stratum((2, 1), (1, 2))
    ((0, 0), (0, 1), (1, 1))
    """
    if sum(held) != sum(swapped) or min([*held, *swapped], default=0) < 0:
        raise InputError(f"margins {held} and {swapped}: must be counts with the same sum")
    rows = [value for value, number in enumerate(held) for _ in range(number)]
    columns = [value for value, number in enumerate(swapped) for _ in range(number)]
    return table(list(zip(rows, columns, strict=True)))


def universe(records: Stratum, without: str = "") -> list[Stratum]:
    """All data sets with the margins of this one, or with one of them only: without that of `held` or `swapped`.

    >>> len(universe(stratum((1, 1, 2, 2), (1, 1, 2, 2)))), len(universe(stratum((1, 1), (1, 1)), "swapped"))
    (58, 4)
    """
    _check_size(records)
    held, swapped = [h for h, _ in records], [s for _, s in records]
    if without not in ("", "held", "swapped"):
        raise InputError(f"without = {without!r}: must be held or swapped")
    size = len(records)
    # The margin that is not kept may have any of its values anywhere; of both, orders of one give all data sets.
    rows = product(set(held), repeat=size) if without == "held" else [tuple(held)]
    orders = [tuple(swapped)] if without == "held" else permutations(swapped)
    columns = product(set(swapped), repeat=size) if without == "swapped" else orders
    return sorted({table(list(zip(row, column, strict=True))) for row, column in product(rows, columns)})


def ordered(data: Sequence[Stratum]) -> list[Stratum]:
    """The same data sets with their records in every order.

    >>> ordered([((0, 0), (1, 1))])
    [((0, 0), (1, 1)), ((1, 1), (0, 0))]
    """
    return sorted({order for records in data for order in permutations(records)})


def check_work(data: Sequence[Stratum]) -> None:
    """Raise if to go through all permutations of all data sets would take minutes."""
    permutations_each = factorial(len(data[0]))
    if len(data) * permutations_each > MOST_OUTCOMES:
        raise TooLargeError(
            f"{len(data):,} data sets have {permutations_each:,} permutations each; at most {MOST_OUTCOMES:,} in all"
        )


def exchanged(records: Stratum, move: Permutation, shown: Shown = table) -> Stratum:
    """The table after record `i` got the swapped value of record `move[i]`."""
    return shown([(held, records[to][1]) for (held, _), to in zip(records, move, strict=True)])


@dataclass(frozen=True)
class Outcomes:
    """Where every admissible permutation of a stratum leads, by the records it moves, with the weight of each.

    `visible`: an exchange that leaves the table as it was is drawn again, selection and permutation together, as `swap
    --no-vacuous` does. That nobody is selected is no exchange.
    """

    records: Stratum
    by_moved: Mapping[frozenset[int], Mapping[Stratum, int]]
    visible: bool = False

    def law(self, rates: Sequence[Fraction]) -> Law:
        """Probability of every table: each record is selected at its own rate, selections that no admissible
        permutation moves as a whole are drawn again, and the permutation is drawn by weight among those that are left.
        """
        chance = {
            moved: prod((rate if index in moved else 1 - rate for index, rate in enumerate(rates)), start=Fraction(1))
            for moved in self.by_moved
        }
        accepted = sum(chance.values(), Fraction(0))  # 1 - n p (1 - p)^(n - 1) for permutation swapping (appendix E)
        if not accepted:
            raise InputError("no selection that this rate allows can be exchanged: the draw would never end")
        weights = {moved: chance[moved] / (sum(ends.values()) * accepted) for moved, ends in self.by_moved.items()}
        # One common denominator: sums of whole numbers are far faster than sums of fractions.
        scale = lcm(*(weight.denominator for weight in weights.values()))
        chances: dict[Stratum, int] = {}
        for moved, ends in self.by_moved.items():
            if weight := int(weights[moved] * scale):
                for end, ways in ends.items():
                    if not (self.visible and moved and end == self.records):
                        chances[end] = chances.get(end, 0) + weight * ways
        if not chances:
            raise InputError("every exchange that this rate allows leaves the table as it was: the draw would not end")
        drawn = sum(chances.values()) if self.visible else scale
        return {end: Fraction(weight, drawn) for end, weight in chances.items()}


def outcomes(
    records: Stratum,
    rule: Rule = any_move,
    weight: Weight = uniform,
    shown: Shown = table,
    *,
    visible: bool = False,
) -> Outcomes:
    """All permutations of a stratum that `rule` admits; the one that moves nothing is always among them.

    Among those that move the same records, one is drawn by `weight`. What is published is `shown`. With `visible`,
    exchanges that change nothing are drawn again, unless the margins leave one table only.
    """
    _check_size(records)
    by_moved: dict[frozenset[int], dict[Stratum, int]] = {}
    for move in permutations(range(len(records))):
        if rule(records, move):
            moved = frozenset(index for index, to in enumerate(move) if to != index)
            ends = by_moved.setdefault(moved, {})
            end = exchanged(records, move, shown)
            ends[end] = ends.get(end, 0) + weight(records, move)
    several = len({held for held, _ in records}) > 1 and len({swapped for _, swapped in records}) > 1
    return Outcomes(table(records), by_moved, visible and several)


def one_swap_law(records: Stratum) -> Law:
    """The law if always one swap of two random records is made."""
    size = len(records)
    pairs = [(i, j) for i in range(size) for j in range(i)]
    law: Law = {} if pairs else {table(records): Fraction(1)}
    for i, j in pairs:
        move = list(range(size))
        move[i], move[j] = j, i
        end = exchanged(records, tuple(move))
        law[end] = law.get(end, Fraction(0)) + Fraction(1, len(pairs))
    return law


def _check_size(records: Stratum) -> None:
    if len(records) > MOST_RECORDS:
        raise TooLargeError(
            f"{len(records)} records have {factorial(len(records)):,} permutations; at most {MOST_RECORDS} will do"
        )
