"""The budget of swapping as a function of the universe: of the two tables that swapping fixes."""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from safemargin.core import Fixes, Guarantee, InputError, Measure, Population
from safemargin.guarantees.refinement import Determined
from safemargin.guarantees.swap_loss import odds_factor, swap_epsilon

Margin = Mapping[tuple[Hashable, Hashable], int]
"""Records by stratum and value."""


@dataclass(frozen=True)
class SwapBudget:
    """What swapping at `rate` guarantees in a universe, which its two margins name.

    >>> budget = SwapBudget(Fraction(1, 2))
    >>> budget.factor({("north", "owned"): 2, ("north", "rented"): 1}, {("north", "east"): 3})
    Fraction(4, 1)
    """

    rate: Fraction

    def factor(self, held: Margin, swapped: Margin) -> Fraction | None:
        """e to the epsilon, exactly; None if it is infinite."""
        return odds_factor(self.rate, largest_stratum(held, swapped))

    def epsilon(self, held: Margin, swapped: Margin) -> float:
        """Epsilon of Theorem 1."""
        return swap_epsilon(self.rate, largest_stratum(held, swapped))


def largest_stratum(held: Margin, swapped: Margin) -> int:
    """The largest stratum with two different records, from records by stratum and held, or swapped, value."""
    strata = list(dict.fromkeys(stratum for stratum, _ in (*held, *swapped)))
    return largest_of_margins(
        [[count for (stratum, _), count in held.items() if stratum == each] for each in strata],
        [[count for (stratum, _), count in swapped.items() if stratum == each] for each in strata],
    )


def margins_of(records: Iterable[Sequence[Hashable]]) -> tuple[Margin, Margin]:
    """The two tables that name the universe of records of stratum, held and swapped value."""
    rows = list(records)
    held = Counter((stratum, value) for stratum, value, _ in rows)
    swapped = Counter((stratum, value) for stratum, _, value in rows)
    return held, swapped


@dataclass(frozen=True)
class Swapping:
    """A guarantee of swapping: its rate, the variables that part the strata, and all variables of a record."""

    rate: Fraction
    match: frozenset[str]
    variables: frozenset[str]

    @property
    def odds(self) -> Fraction:
        """Of being selected."""
        return self.rate / (1 - self.rate)


def swapping_of(guarantee: Guarantee) -> Swapping | None:
    """What a guarantee says about swapping, if it is one of swapping: two tables that share the strata."""
    tables = [each for each in guarantee.invariants if each.fixes is Fixes.COUNTS]
    if guarantee.rate is None or not 0 < guarantee.rate < 1 or guarantee.measure is not Measure.PURE:
        return None
    if len(tables) != 2 or len(guarantee.invariants) != 2 or tables[0].of != tables[1].of:
        return None
    one, other = (frozenset(each.by) for each in tables)
    return Swapping(guarantee.rate, one & other, one | other)


def swap_implies(one: Swapping, other: Swapping, facts: Population) -> Determined:
    """Whether the first budget is at most the second for all data, of which the second fixes more, or as much.

    For a largest stratum of b records the factor is the larger of o and (b + 1) / o at odds o; b is at least 2.
    """
    mine, theirs = facts.closure(tuple(one.match)), facts.closure(tuple(other.match))
    if mine < theirs:
        return Determined(False, "its strata are wider, and can be as large as one likes")
    if mine != theirs or facts.closure(tuple(one.variables)) != facts.closure(tuple(other.variables)):
        return Determined(None, "not known how the strata of the two hang together")
    if one.rate == other.rate:
        return Determined(True, "the same rate in the same strata")
    if one.odds > other.odds and one.odds * other.odds <= 3:
        return Determined(True, "for any largest stratum, the budget at its rate is the smaller one")
    if one.odds < other.odds:
        return Determined(False, "where the largest stratum is large, the lower rate has the larger budget")
    return Determined(False, "where the largest stratum holds two records, the higher rate has the larger budget")


def largest_of_margins(held: Sequence[Sequence[int]], swapped: Sequence[Sequence[int]]) -> int:
    """The largest stratum with two different records, from the counts of held and of swapped values by stratum alone.

    >>> largest_of_margins([[2, 1], [9], [1]], [[3], [9], [1]])
    3
    """
    largest = 0
    for ours, theirs in zip(held, swapped, strict=True):
        if sum(ours) != sum(theirs):
            raise InputError(f"a stratum has {sum(ours)} held and {sum(theirs)} swapped values; they must be as many")
        if sum(count > 0 for count in ours) > 1 or sum(count > 0 for count in theirs) > 1:
            largest = max(largest, sum(ours))
    return largest
