"""The privacy of two counts and their total together, with cell keys that add up.

Objects
    x, y    keys of two cells of different people: independent and uniform on [0, 1); the key of the total is x + y
            modulo 1
    I_v     keys that select the noise v on a count, an interval: noise ascends with the key

Statement
    The chance that the three print a, b and c is the area of {x in I_a, y in I_b, x + y modulo 1 in I_c}, a sum of
    squares of ends of intervals. One more person in the first cell draws x anew, and moves the counts of the cell and
    of the total by one. The smallest delta at an epsilon is what these areas exceed exp(epsilon) times those of
    the other data by, the larger one of both directions and both cells.

What callers may rely on
    * Areas are fractions: nothing is drawn, and no key is rounded. A cell of nobody has no key and prints 0.
    * Tables of more cells are not covered, and no bound for them is known.
"""

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise, product

from safemargin.core import InputError
from safemargin.samplers.ptables import PTable

Ends = tuple[int, Fraction, Fraction]
Joint = dict[tuple[int, int, int], Fraction]


def together_delta(table: PTable, counts: tuple[int, int], epsilon: float) -> float:
    """The smallest delta at this epsilon for two counts that are printed with their total, and one person more in one.

    >>> from safemargin.samplers.ptables import Law
    >>> coin = PTable((Law(0, (0,), (1,)), Law(1, (-1, 1), (1, 1))))
    >>> together_delta(coin, (3, 4), 5.0)
    1.0
    """
    if not epsilon >= 0:
        raise InputError(f"epsilon = {epsilon}: must be at least 0")
    factor = math.exp(min(epsilon, 700.0))
    here, worst = _joint(table, *counts), 0.0
    for more in ((counts[0] + 1, counts[1]), (counts[0], counts[1] + 1)):
        there = _joint(table, *more)
        for one, other in ((here, there), (there, here)):
            excess = (float(chance) - factor * float(other.get(printed, 0)) for printed, chance in one.items())
            worst = max(worst, math.fsum(max(0.0, part) for part in excess))
    return min(1.0, worst)


def _joint(table: PTable, first: int, second: int) -> Joint:
    """The chance of every triple that the two cells and their total print."""
    found: Joint = {}
    total = first + second
    for (v, a, b), (w, c, d), (z, e, f) in product(*(_intervals(table, count) for count in (first, second, total))):
        chance = _area((a, b), (c, d), (e, f), first > 0, second > 0)
        if chance:
            found[first + v, second + w, total + z] = chance
    return found


def _intervals(table: PTable, count: int) -> Iterator[Ends]:
    """The noise of a count, each with the keys that select it."""
    law = table.law(count)
    ends = [Fraction(0)]
    for part in law.weights:
        ends.append(ends[-1] + Fraction(part, law.total))
    for noise, (low, high) in zip(law.noise, pairwise(ends), strict=True):
        if high > low:
            yield noise, low, high


def _area(
    x: tuple[Fraction, Fraction],
    y: tuple[Fraction, Fraction],
    whole: tuple[Fraction, Fraction],
    left: bool,
    right: bool,
) -> Fraction:
    """Of keys in two intervals whose sum modulo 1 is in a third; a cell of nobody has no key."""
    if not (left and right):
        own = x if left else y
        inside = min(own[1], whole[1]) - max(own[0], whole[0])
        return max(inside, Fraction(0)) if left or right else Fraction(1)
    low, high = whole
    return sum((_below(x, y, high + turn) - _below(x, y, low + turn) for turn in (0, 1)), Fraction(0))


def _below(x: tuple[Fraction, Fraction], y: tuple[Fraction, Fraction], most: Fraction) -> Fraction:
    """The area of a rectangle in which both together are below a number."""
    corners = ((x[0] + y[0], 1), (x[1] + y[0], -1), (x[0] + y[1], -1), (x[1] + y[1], 1))
    return sum((sign * max(most - corner, Fraction(0)) ** 2 for corner, sign in corners), Fraction(0)) / 2
