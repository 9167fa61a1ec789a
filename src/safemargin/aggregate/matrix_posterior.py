"""The most likely bits of a client from its whole masked matrix: the exact posterior (Prop. 5.5, eq. 18), small sizes.

A client sends `N = c M(b) + sum of m_i P_i`. The K permutations are independent and uniform, the weights are uniform
among the positive whole numbers that add up to `W - c`. So all masks are equally likely, and with fair bits

    P(b | N) is proportional to the number of masks (m_1, P_1), ..., (m_K, P_K) that add up to N - c M(b).

Masks are counted by the set T of permutations that occur. For a set with weights v the number of masks is
`K! [x^K]` of the product over T of `sum over k >= 1 of C(v - 1, k - 1) x^k / k!`: a permutation is chosen k times, and
its weight is cut into k parts. The permutations of T lie in the support of `N - c M(b)` and cover it; their weights
solve linear equations. Up to 5 permutations satisfy at most one linear relation: with two they would lie in an affine
plane, which holds at most 4 points of 0 and 1. So weights are unique or lie on a line, whose whole points are summed by
a polynomial. Nothing is rounded.

    >>> from safemargin.aggregate.mask import Mask
    >>> posterior_of_matrix(Mask(1, 3, 1, 5), np.array([[1, 4], [4, 1]]))  # 3 masks, or 6
    {(0,): Fraction(1, 3), (1,): Fraction(2, 3)}

Clients are masked independently, so the most likely bits of all clients are those of each.
"""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations, permutations, product
from math import comb, gcd, lcm

import numpy as np

from safemargin.aggregate.mask import Mask, dense, encode
from safemargin.core import InputError, IntArray

MOST_BITS, MOST_DECOYS = 3, 5
"""8 candidates with the sets of up to 5 of 720 permutations each: up to seconds per client."""

Columns = tuple[int, ...]


def posterior_of_matrix(mask: Mask, matrix: IntArray) -> dict[Columns, Fraction]:
    """The chance of every client's bits, given its whole masked matrix; bits are fair."""
    if mask.bits > MOST_BITS or mask.decoys > MOST_DECOYS:
        raise InputError(
            f"{mask.bits} bits, {mask.decoys} decoys: the posterior of a matrix is exact up to {MOST_BITS} bits and "
            f"{MOST_DECOYS} decoys"
        )
    counts = {}
    for bits in product((0, 1), repeat=mask.bits):
        rest = matrix - dense(encode(np.array([bits]))[0], mask.unit)
        counts[bits] = 0 if (rest < 0).any() else count_masks(rest, mask.decoys)
    total = sum(counts.values())
    if total == 0:
        raise InputError("the matrix is not one that an honest client sends")
    return {bits: Fraction(count, total) for bits, count in counts.items()}


def count_masks(rest: IntArray, decoys: int) -> int:
    """In how many ways `decoys` permutations in order, with positive whole weights, add up to a matrix.

    >>> count_masks(np.array([[1, 2], [2, 1]]), 3)  # the heavy permutation twice, in 3 orders; the other one once
    3
    """
    return sum(_count_weights(chosen, rest, decoys) for chosen in covers(rest, decoys))


def covers(rest: IntArray, most: int) -> Iterator[tuple[Columns, ...]]:
    """All sets of at most `most` permutations inside the support of a matrix that cover it, each once."""
    size = len(rest)
    support = sum(1 << place for place in np.flatnonzero(rest).tolist())
    rows = [((1 << size) - 1) << (size * row) for row in range(size)]
    inside = [p for p in permutations(range(size)) if all(rest[row, column] > 0 for row, column in enumerate(p))]
    masks = {p: sum(1 << (size * row + column) for row, column in enumerate(p)) for p in inside}
    through = {place: [p for p in inside if masks[p] >> place & 1] for place in range(size**2) if support >> place & 1}

    def grow(chosen: tuple[Columns, ...], excluded: frozenset[Columns], open_: int) -> Iterator[tuple[Columns, ...]]:
        left = most - len(chosen)
        if not open_:
            free = [p for p in inside if p not in excluded and p not in chosen]
            for number in range(left + 1):
                for more in combinations(free, number):
                    yield chosen + more
            return
        if any((open_ & row).bit_count() > left for row in rows):  # a permutation covers one entry of a row
            return
        entry = min((place for place in through if open_ >> place & 1), key=lambda place: len(through[place]))
        for p in through[entry]:
            if p not in excluded:
                yield from grow((*chosen, p), excluded, open_ & ~masks[p])
                excluded |= {p}  # sets with this one are done

    yield from grow((), frozenset(), support)


def _count_weights(chosen: Sequence[Columns], rest: IntArray, decoys: int) -> int:
    """Masks that use exactly these permutations."""
    equations: dict[tuple[bool, ...], int] = {}
    for (row, column), value in np.ndenumerate(rest):
        if value > 0 and equations.setdefault(tuple(p[row] == column for p in chosen), int(value)) != value:
            return 0  # two entries that the same permutations raise have different values
    solved = _solve([[*map(int, which), value] for which, value in equations.items()], len(chosen))
    if solved is None:
        return 0
    point, direction = solved
    if direction is None:
        whole = all(value.denominator == 1 and value > 0 for value in point)
        return masks_of_weights([int(value) for value in point], decoys) if whole else 0
    return _count_on_line(point, direction, decoys)


def _solve(rows: list[list[int]], count: int) -> tuple[list[Fraction], list[int] | None] | None:
    """A solution of linear equations, and the smallest whole direction in which there are more, if there is one."""
    matrix = [[Fraction(value) for value in row] for row in rows]
    pivots: list[int] = []
    for column in range(count):
        found = next((row for row in range(len(pivots), len(matrix)) if matrix[row][column]), None)
        if found is None:
            continue
        place = len(pivots)
        matrix[place], matrix[found] = matrix[found], matrix[place]
        head = matrix[place][column]
        matrix[place] = [value / head for value in matrix[place]]
        for row, values in enumerate(matrix):
            if row != place and (factor := values[column]):
                matrix[row] = [a - factor * b for a, b in zip(values, matrix[place], strict=True)]
        pivots.append(column)
    if any(row[-1] for row in matrix[len(pivots) :]):
        return None
    point = [Fraction(0)] * count
    for place, column in enumerate(pivots):
        point[column] = matrix[place][-1]
    free = [column for column in range(count) if column not in pivots]
    if not free:
        return point, None
    if len(free) > 1:
        raise InputError(f"{count} permutations with {len(free)} relations: weights are counted for one")
    line = [Fraction(0)] * count
    line[free[0]] = Fraction(1)
    for place, column in enumerate(pivots):
        line[column] = -matrix[place][free[0]]
    scale = lcm(*(value.denominator for value in line))
    whole = [int(value * scale) for value in line]
    return point, [value // gcd(*whole) for value in whole]


def _count_on_line(point: list[Fraction], direction: list[int], decoys: int) -> int:
    """The sum over all positive whole points `point + s direction`; at least one coordinate falls and one grows."""
    # Whole points differ by multiples of the direction: look for one with the free coordinate 0, 1, ...
    free = next(place for place, step in enumerate(direction) if point[place] == 0 and step)
    for start in range(abs(direction[free])):
        shift = Fraction(start, direction[free])
        base = [value + shift * step for value, step in zip(point, direction, strict=True)]
        if all(value.denominator == 1 for value in base):
            break
    else:
        return 0
    whole = [int(value) for value in base]
    low = max(-((value - 1) // step) for value, step in zip(whole, direction, strict=True) if step > 0)
    high = min((value - 1) // -step for value, step in zip(whole, direction, strict=True) if step < 0)
    if low > high or any(value < 1 for value, step in zip(whole, direction, strict=True) if not step):
        return 0

    def term(s: int) -> int:
        return masks_of_weights([value + s * step for value, step in zip(whole, direction, strict=True)], decoys)

    return _sum_of_polynomial(term, low, high, decoys - len(whole))


def _sum_of_polynomial(term: Callable[[int], int], low: int, high: int, degree: int) -> int:
    """`term(low) + ... + term(high)` for a polynomial, by Newton's forward differences."""
    values = [term(low + step) for step in range(degree + 1)]
    count, total = high - low + 1, 0
    for order in range(degree + 1):
        total += comb(count, order + 1) * values[0]
        values = [b - a for a, b in zip(values, values[1:], strict=False)]
    return total


def masks_of_weights(weights: Sequence[int], decoys: int) -> int:
    """Ordered masks of `decoys` weighted permutations in which different ones have these total weights.

    >>> masks_of_weights([3, 1], 3)  # 3 = 1 + 2 = 2 + 1, in three orders each
    6
    """
    ways = [1] + [0] * decoys
    for weight in weights:
        ways = [
            sum(ways[number - k] * comb(number, k) * comb(weight - 1, k - 1) for k in range(1, number + 1))
            for number in range(decoys + 1)
        ]
    return ways[decoys]
