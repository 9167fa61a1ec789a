"""The privacy guarantee of a p-table: (epsilon, delta) computed from its rows.

Neighbours are two counts that differ by one person. Their cell keys differ, so the two printed numbers are independent
draws from neighbouring rows. Noise with a bound always leaves numbers that only one of the two can become.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from safemargin.core import ONE_PERSON, Guarantee, InputError, Measure, about_a_person
from safemargin.samplers.checks import at_least
from safemargin.samplers.ptables import PTable


@dataclass(frozen=True)
class CountPrivacy:
    """A count and one more person: numbers that only one of them becomes have probability `delta`; all others differ
    by a factor of at most `exp(epsilon)`."""

    count: int
    epsilon: float
    delta: Fraction


def readings(table: PTable) -> tuple[CountPrivacy, ...]:
    """Every pair of neighbouring counts, from 0 and 1 up to where rows repeat; equal pairs once."""
    pairs = []
    for count in _different(table):
        here, there = table.law(count).printed, table.law(count + 1).printed
        common = here.keys() & there.keys()
        ratios = [here[x] / there[x] for x in common]
        epsilon = max((abs(math.log(ratio)) for ratio in ratios), default=0.0)
        outside = (sum((p for x, p in law.items() if x not in common), Fraction(0)) for law in (here, there))
        pairs.append(CountPrivacy(count, epsilon, max(outside)))
    return tuple(pairs)


def delta_at(table: PTable, epsilon: float) -> float:
    """The smallest delta for this epsilon, over all neighbours of which the smaller is not empty.

    >>> from safemargin.samplers.ptables import Law
    >>> delta_at(PTable((Law(0, (0,), (1,)), Law(1, (-1, 0, 1), (1, 2, 1)))), 50.0)
    0.25
    """
    if not epsilon >= 0:
        raise InputError(f"epsilon = {epsilon}: must not be negative; the nearest is 0")
    return _excess(_pairs(table), epsilon)


def epsilon_at(table: PTable, delta: float) -> float | None:
    """The smallest epsilon for this delta, rounded up to nine digits; None if no epsilon is enough."""
    if not 0 <= delta < 1:
        nearest = min(max(delta, 0.0), 0.999)
        raise InputError(f"delta = {delta}: must be at least 0 and below 1; the nearest is {nearest}")
    pairs = _pairs(table)
    allowed = delta + 1e-15  # sums of floats may exceed a delta that is met exactly
    high = max(reading.epsilon for reading in _occupied(table))
    if _excess(pairs, high) > allowed:  # beyond the largest ratio the excess no longer falls
        return None
    if _excess(pairs, 0.0) <= allowed:
        return 0.0
    from scipy.optimize import brentq  # slow to import, and few calls need it

    root = float(brentq(lambda epsilon: _excess(pairs, epsilon) - allowed, 0.0, high, xtol=1e-12))
    # The excess falls in epsilon, so rounding up keeps the guarantee whichever side of the root brentq ends on.
    return (math.floor(root * 1e9) + 1) / 1e9


def guarantee(table: PTable, cells: int = 1) -> Guarantee:
    """The guarantee for a person who is counted in `cells` different cells beside at least one other person.

    There is none for several cells together: the key of a margin is the sum of the keys of its parts, so their noise
    is not independent, and epsilons do not simply add up.
    """
    at_least("cells", cells, 1)
    ends = _occupied(table)
    epsilon = max(reading.epsilon for reading in ends)
    delta = float(max(reading.delta for reading in ends))
    statement = (
        f"Noise of at most {table.bound}, the same wherever the same people are counted. One person more or less in a "
        f"cell of at least 1 changes the probability of what is printed there by a factor of at most "
        f"exp({epsilon:.4g}), except for results of probability {delta:.3g}."
    )
    if cells == 1:
        return about_a_person("cell key", statement, epsilon, delta)
    statement += (
        f" A person is counted in {cells} cells. Keys of margins are sums of keys of other cells, so nothing is "
        f"guaranteed for all of them together; with independent keys it would be exp({cells * epsilon:.4g}) and "
        f"{min(1.0, cells * delta):.3g}."
    )
    return Guarantee("cell key", statement, change=ONE_PERSON, measure=Measure.NONE)


def _occupied(table: PTable) -> list[CountPrivacy]:
    # An empty cell always stays empty: beside a cell of 1 it has no guarantee at all.
    pairs = readings(table)
    return [pair for pair in pairs if pair.count >= 1] or [pairs[-1]]


def _different(table: PTable, first: int = 0) -> list[int]:
    """Counts whose row and the next are not a pair that a smaller count has."""
    seen: set[tuple[tuple[int, ...], ...]] = set()
    counts = []
    for count in range(first, max(table.last, first) + table.repeat):
        here, there = (table.rows[row] for row in table.row_numbers(np.array([count, count + 1])).tolist())
        pair = (here.noise, here.weights, there.noise, there.weights)
        if pair not in seen:
            seen.add(pair)
            counts.append(count)
    return counts


Printed = Mapping[int, float]


def _pairs(table: PTable) -> list[tuple[Printed, Printed]]:
    """What either of two neighbours prints, both ways round."""
    pairs: list[tuple[Printed, Printed]] = []
    for count in _different(table, 1):
        here, there = ({x: float(p) for x, p in table.law(c).printed.items()} for c in (count, count + 1))
        pairs += [(here, there), (there, here)]
    return pairs


def _excess(pairs: list[tuple[Printed, Printed]], epsilon: float) -> float:
    # The hockey-stick divergence, which is the smallest delta at this epsilon; exp(710) would overflow.
    factor = math.exp(min(epsilon, 700.0))
    return max(math.fsum(max(0.0, p - factor * there.get(x, 0.0)) for x, p in here.items()) for here, there in pairs)
