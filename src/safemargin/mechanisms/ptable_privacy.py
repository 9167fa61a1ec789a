"""What a p-table promises: (epsilon, delta) read off its rows, and what forbidding small counts costs.

Neighbours are two counts that differ by one person. Their cell keys differ, so the two printed numbers are independent
draws from neighbouring rows. Noise with a bound always leaves numbers that only one of the two can become.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from safemargin.errors import InputError
from safemargin.model.guarantee import Guarantee
from safemargin.model.ptable import PTable


@dataclass(frozen=True)
class Reading:
    """A count and one more person: numbers that only one of them becomes have probability `delta`; all others differ
    by a factor of at most `exp(epsilon)`."""

    count: int
    epsilon: float
    delta: Fraction


def readings(table: PTable) -> tuple[Reading, ...]:
    """Every pair of neighbouring counts, from 0 and 1 up to where rows repeat."""
    found = []
    for count in range(table.last + table.repeat):
        here, there = table.law(count).printed, table.law(count + 1).printed
        common = here.keys() & there.keys()
        ratios = [here[x] / there[x] for x in common]
        epsilon = max((abs(math.log(ratio)) for ratio in ratios), default=0.0)
        outside = (sum((p for x, p in law.items() if x not in common), Fraction(0)) for law in (here, there))
        found.append(Reading(count, epsilon, max(outside)))
    return tuple(found)


def delta_at(table: PTable, epsilon: float, first: int = 1) -> float:
    """The smallest delta for this epsilon, over all neighbours of which the smaller is at least `first`.

    >>> from safemargin.model.ptable import Law
    >>> delta_at(PTable((Law(0, (0,), (1,)), Law(1, (-1, 0, 1), (1, 2, 1)))), 50.0)
    0.25
    """
    if not epsilon >= 0:
        raise InputError(f"epsilon = {epsilon}: must not be negative; nearest is 0")
    worst = 0.0
    for count in range(first, max(table.last, first) + table.repeat):
        here, there = table.law(count).printed, table.law(count + 1).printed
        for one, other in ((here, there), (there, here)):
            factor = math.exp(min(epsilon, 700.0))
            excess = math.fsum(max(0.0, float(p) - factor * float(other.get(x, 0))) for x, p in one.items())
            worst = max(worst, excess)
    return worst


def epsilon_at(table: PTable, delta: float, first: int = 1) -> float | None:
    """The smallest epsilon for this delta, rounded up to nine digits; None if no epsilon is enough."""
    if not 0 <= delta < 1:
        raise InputError(f"delta = {delta}: must be at least 0 and below 1; nearest is {min(max(delta, 0.0), 0.999)}")
    ends = [reading for reading in readings(table) if reading.count >= first] or [readings(table)[-1]]
    high = max(reading.epsilon for reading in ends)
    if delta_at(table, high, first) > delta + 1e-15:
        return None
    low = 0.0
    if delta_at(table, low, first) <= delta:
        return 0.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (low, middle) if delta_at(table, middle, first) <= delta else (middle, high)
    return high


def guarantee(table: PTable, cells: int = 1, first: int = 1) -> Guarantee:
    """The promise about a person who is counted in `cells` different cells, none of which has fewer than `first`.

    Cells with the same people print the same number, so they count once.
    """
    if cells < 1:
        raise InputError(f"cells = {cells}: a person is counted in at least one")
    ends = [reading for reading in readings(table) if reading.count >= first] or [readings(table)[-1]]
    epsilon = cells * max(reading.epsilon for reading in ends)
    delta = min(Fraction(1), cells * max(reading.delta for reading in ends))
    statement = (
        f"Noise of at most {table.bound}, the same wherever the same people are counted. One person more or less in "
        f"{cells} cell{'s' * (cells > 1)} of at least {first} changes the probability of what is printed by a factor "
        f"of at most exp({epsilon:.4g}), except for results of probability {float(delta):.3g}."
    )
    return Guarantee("cell key", statement, epsilon, (), float(delta))
