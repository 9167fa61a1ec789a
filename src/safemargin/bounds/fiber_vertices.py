"""Number of integer points of a polytope whose bases all have determinant one, however large its counts are.

Objects
    P           the solutions of M z = total, low <= z <= high
    vertex v    a corner of P; its cone is what P looks like near v, spanned by the edges w at v
    l           a direction, one weight per unknown

Statement (Brion 1988)
    The generating function of the integer points of P is the sum over its vertices of those of their cones. If every
    basis has determinant one, the cone at v has the function e^(l.v) / prod (1 - e^(l.w)). The number of points is the
    value at l = 0: each term has a pole there, and the constant terms of the expansions along one direction add up to
    it (Todd polynomials, `_todd`).

    Two-way tables with caps and holes, and all others that are flows in a network, are of this kind.

How degeneracy is avoided
    Every ceiling and floor is moved outwards by less than one, in units of 2^-40: this adds no integer point, and
    leaves
    no vertex with more edges than dimensions.

What callers may rely on
    * The number is exact: vertices are integers in fixed units, constant terms are added modulo primes, and one prime
      more than needed checks the result (`from_residues`).
    * `count_by_vertices` returns nothing where the method does not apply: another determinant, too many vertices.
    * Time depends on the number of vertices, not on the size of the counts.

Example
    Two unknowns that add up to 1,000,000, each at most that: a segment with two vertices and 1,000,001 points.

    >>> from scipy import sparse
    >>> row, both = sparse.csr_array(np.array([[1, 1]])), np.arange(2)
    >>> form = Equations(row, np.array([10**6]), np.full(2, 10**6), both, np.zeros(2))
    >>> count_by_vertices(form, 10)
    1000001
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from math import comb, factorial, prod

import numpy as np

from safemargin.bounds.effort import EFFORT
from safemargin.bounds.fiber_equations import Echelon, Equations, eliminate, from_residues
from safemargin.core import BoolArray, FloatArray, IntArray

MOST = 2**62
FINEST, COARSEST = 40, 26
"""One is kept as two to the power of so many units, depending on the size of the counts."""

MULTIPLIER, INCREMENT = 6_364_136_223_846_793_005, 1_442_695_040_888_963_407
LOWER, UPPER, BASIC = 0, 1, 2


class _Unfit(Exception):
    """Some basis has another determinant than one, or there are too many vertices."""


@dataclass(frozen=True)
class Vertex:
    """Where each unknown stands, and how the basic ones (rows) answer to the others (columns, at `free`).

    `status` is LOWER, UPPER or BASIC per unknown; `value` are the basic ones in units: `value = total - matrix @ ends`.
    """

    status: IntArray
    basic: IntArray
    free: IntArray
    matrix: IntArray
    value: IntArray


@dataclass(frozen=True)
class Box:
    """Floors and ceilings of all unknowns, moved outwards, in units; ceilings that follow from a row are omitted.

    `room` are the ceilings before, in whole counts; `unit` is how many units make one.
    """

    low: IntArray
    high: IntArray
    room: IntArray
    unit: int


def scattered(count: int, bits: int, salt: int) -> IntArray:
    """Fixed integers of so many bits without a pattern: a linear congruential generator (Knuth), the same on every
    machine.

    They only break ties and choose a direction; any numbers would give the same count or none.

    >>> scattered(2, 8, 1).tolist()
    [108, 130]
    """
    state, numbers = salt, []
    for _ in range(count):
        state = (state * MULTIPLIER + INCREMENT) % 2**64
        numbers.append(state >> (64 - bits))
    return np.array(numbers, dtype=np.int64)


def count_by_vertices(form: Equations, most: int) -> int | None:
    """The number of solutions; None where the method does not apply or meets more than `most` vertices.

    None is no statement about the number: callers go on to another method.
    """
    try:
        return _count(form, most)
    except _Unfit:
        return None


def _count(form: Equations, most: int) -> int:
    """Find one vertex, walk to all others and add up their cones; perturb anew if a vertex is not recognised."""
    matrix = form.matrix.toarray()
    largest = max(form.room.max(initial=0), np.abs(form.total).max(initial=0))
    bits = min(FINEST, 60 - int(largest).bit_length())
    if matrix.shape[1] - min(matrix.shape) > EFFORT.vertex_dimensions or bits < COARSEST:
        raise _Unfit
    for salt in range(1, 4):
        box = _box(form, matrix, bits, salt)
        values = _corner(form, box, salt)
        if values is None:
            return 0
        start = _vertex(form, matrix, box, values)
        if start is not None:
            return _total(list(_vertices(start, box, most)), box, salt)
    raise _Unfit


def _box(form: Equations, matrix: IntArray, bits: int, salt: int) -> Box:
    """The box in units, every end moved outwards by a different fraction of one, without ceilings that rows imply."""
    count, unit = len(form.room), 2**bits
    # Moving each facet outwards by less than 1 adds no integer point and makes every vertex simple.
    push = unit // 8 + scattered(2 * count, bits - 1, salt)
    positive = (matrix >= 0).all(axis=1)
    covered = (matrix[positive] > 0) & (form.total[positive, None] <= form.room[None, :] * matrix[positive])
    high = np.where(covered.any(axis=0), MOST, form.room * unit + push[count:])
    return Box(-push[:count], high, form.room, unit)


def _corner(form: Equations, box: Box, salt: int) -> FloatArray | None:
    """Some vertex, as a solver sees it; None if there is no real solution."""
    ends = box.low / box.unit, np.where(box.high == MOST, np.inf, box.high / box.unit)
    bounds = list(zip(ends[0].tolist(), ends[1].tolist(), strict=True))
    cost = 1.0 + scattered(len(form.room), 20, salt + 100) / 2**20
    from scipy.optimize import linprog  # takes as long to import as all the rest

    optimum = linprog(cost, A_eq=form.matrix.toarray(), b_eq=form.total, bounds=bounds, method="highs-ds")
    if optimum.status == 2:
        return None
    if optimum.status != 0:
        raise _Unfit
    return np.asarray(optimum.x)


def _vertex(form: Equations, matrix: IntArray, box: Box, values: FloatArray) -> Vertex | None:
    """The vertex in integers, checked; None if it cannot be recognised from the solver's values."""
    below, above = values - box.low / box.unit, np.where(box.high == MOST, np.inf, box.high / box.unit - values)
    near = np.minimum(below, above)
    solved = eliminate(matrix, form.total, np.argsort(-near, kind="stable"))
    if solved is None or (solved.scale != 1).any():
        raise _Unfit
    status = np.where(above < below, UPPER, LOWER)
    status[solved.pivots] = BASIC
    vertex = _solve(solved, status, box)
    inside = (vertex.value > box.low[vertex.basic]) & (vertex.value < box.high[vertex.basic])
    return vertex if bool(inside.all()) and (near[solved.free] < 1e-6).all() else None


def _solve(solved: Echelon, status: IntArray, box: Box) -> Vertex:
    """The vertex with these ends of the free unknowns, in integers."""
    ends = np.where(status[solved.free] == UPPER, box.high[solved.free], box.low[solved.free])
    value = solved.total * box.unit - solved.matrix @ ends
    return Vertex(status, solved.pivots, solved.free, solved.matrix, value)


def _vertices(start: Vertex, box: Box, most: int) -> Iterator[Vertex]:
    """All vertices, from one to its neighbours: a graph search over statuses; raises beyond `most`."""
    seen = {start.status.astype(np.int8).tobytes()}
    stack = [start]
    while stack:
        vertex = stack.pop()
        yield vertex
        row, flips = _leaving(vertex, box)
        for column in range(len(vertex.free)):
            leaves = -1 if flips[column] else int(row[column])
            status = _next_status(vertex, box, column, leaves)
            key = status.astype(np.int8).tobytes()
            if key not in seen:
                seen.add(key)
                if len(seen) > most:
                    raise _Unfit
                stack.append(_pivot(vertex, status, box, column, leaves))


def _ways(vertex: Vertex) -> IntArray:
    """How the basic unknowns change when a free one leaves its end for the other."""
    return -vertex.matrix * np.where(vertex.status[vertex.free] == UPPER, -1, 1)


def _leaving(vertex: Vertex, box: Box) -> tuple[IntArray, BoolArray]:
    """Per free unknown: the basic one that stops it, and whether it reaches its own other end before.

    The ratio test of the simplex method, for all edges of a vertex at once. A tie would be a vertex with more edges
    than dimensions, which the box excludes; if one is met all the same, the method does not apply.
    """
    # Unimodular cones only: otherwise a cone has more than one generating point.
    if np.abs(vertex.matrix).max(initial=0) > 1:
        raise _Unfit
    ways = _ways(vertex)
    down, up = vertex.value - box.low[vertex.basic], box.high[vertex.basic] - vertex.value
    limit = np.where(ways < 0, down[:, None], np.where(ways > 0, up[:, None], MOST))
    own = np.where(box.high[vertex.free] == MOST, MOST, box.high[vertex.free] - box.low[vertex.free])
    every = np.concatenate([limit, own[None, :]])
    row = every.argmin(axis=0)
    if ((every == every.min(axis=0)).sum(axis=0) > 1).any():
        raise _Unfit
    return row, row == len(limit)


def _next_status(vertex: Vertex, box: Box, column: int, leaves: int) -> IntArray:
    """Which unknowns are basic, at their floor or at their ceiling, after one edge."""
    status = vertex.status.copy()
    enters = vertex.free[column]
    if leaves < 0:
        status[enters] = UPPER - status[enters]
        return status
    up = -vertex.matrix[leaves, column] * (-1 if status[enters] == UPPER else 1) > 0
    status[vertex.basic[leaves]] = UPPER if up else LOWER
    status[enters] = BASIC
    return status


def _pivot(vertex: Vertex, status: IntArray, box: Box, column: int, leaves: int) -> Vertex:
    """The neighbouring vertex: one basic unknown leaves for its end, the free one takes its place.

    With `leaves` below 0 the free unknown moves to its own other end and the basis stays. `status` is that of the new
    vertex (`_next_status`); arrays are copied, so vertices that wait on the stack stay as they are.
    """
    basic, free, matrix = vertex.basic, vertex.free, vertex.matrix
    enters, before = free[column], vertex.status[free[column]]
    end = box.high[enters] if before == UPPER else box.low[enters]
    if leaves < 0:
        other = box.low[enters] if before == UPPER else box.high[enters]
        return Vertex(status, basic, free, matrix, vertex.value - matrix[:, column] * (other - end))
    gone = basic[leaves]
    target = box.high[gone] if status[gone] == UPPER else box.low[gone]
    step = (vertex.value[leaves] - target) * matrix[leaves, column]
    value = vertex.value - matrix[:, column] * step
    value[leaves] = end + step
    basic, free, matrix = basic.copy(), free.copy(), matrix.copy()
    basic[leaves], free[column] = enters, gone
    lead = matrix[leaves] * matrix[leaves, column]
    lead[column] = matrix[leaves, column]
    factor = matrix[:, column].copy()
    matrix[:, column] = 0
    matrix -= factor[:, None] * lead
    matrix[leaves] = lead
    return Vertex(status, basic, free, matrix, value)


def _total(vertices: list[Vertex], box: Box, salt: int) -> int:
    """The sum of the constant terms of all cones, modulo primes; one prime more than needed checks the result."""
    for digits in (10, 14, 18, 20):
        weight = 1 + scattered(len(box.room), digits, salt + 1_000 * digits)
        cones = [_cone(vertex, box, weight) for vertex in vertices]
        apex, slopes = np.array([apex_weight for apex_weight, _ in cones]), np.array([slope for _, slope in cones])
        # A direction orthogonal to an edge has a pole there: another direction is drawn.
        if (slopes == 0).any():
            continue
        most = prod((box.room[vertices[0].free] + 1).tolist())
        number = from_residues(partial(_sum_modulo, apex, slopes), most)
        if number is None:
            raise _Unfit
        return number
    raise _Unfit


def _cone(vertex: Vertex, box: Box, weight: IntArray) -> tuple[int, IntArray]:
    """Weight of the apex (a whole point) and of every edge.

    The cone stands at a vertex of the box that was moved outwards; its integer points are those of the cone at the
    nearest integer point inside, which rounding down along every edge gives as the basis has determinant one.
    """
    ends = np.where(vertex.status[vertex.free] == UPPER, box.room[vertex.free], 0)
    moved = np.where(vertex.status[vertex.free] == UPPER, box.high[vertex.free], box.low[vertex.free]) - ends * box.unit
    apex = (vertex.value + vertex.matrix @ moved) // box.unit
    side = np.where(vertex.status[vertex.free] == UPPER, -1, 1)
    slopes = weight[vertex.free] * side + weight[vertex.basic] @ _ways(vertex)
    return int(weight[vertex.free] @ ends) + int(weight[vertex.basic] @ apex), slopes


def _sum_modulo(apex: IntArray, slopes: IntArray, prime: int) -> int:
    """Sum of the constant terms of `e^(apex t) / prod (1 - e^(slope t))`, modulo a prime.

    Each factor 1 / (1 - e^(s t)) is -1/(s t) times the Todd series of -s t; the constant term is the coefficient of
    t^order in the product of the series, which `exp(sum of logarithms)` gives by a recurrence.
    """
    order = slopes.shape[1]
    logarithm: dict[int, IntArray] = {}
    power, base = np.ones_like(slopes), -slopes % prime
    for degree in range(1, order + 1):
        power = power * base % prime
        if degree == 1 or degree % 2 == 0:
            logarithm[degree] = power.sum(axis=1) % prime * _modulo(_todd(degree) * degree, prime) % prime
    if order:
        logarithm[1] = (logarithm[1] + apex) % prime
    series = [np.ones(len(apex), dtype=np.int64)]
    for degree in range(1, order + 1):
        parts = [part * series[degree - power_of] % prime for power_of, part in logarithm.items() if power_of <= degree]
        series.append(np.sum(parts, axis=0) % prime * pow(degree, -1, prime) % prime)
    below = np.ones(len(apex), dtype=np.int64)
    for column in base.T:
        below = below * column % prime
    # Fermat: a^(p-2) is the inverse of a modulo p.
    inverse = _powers(below, prime - 2, prime)
    return int((series[order] * inverse % prime).sum() % prime)


def _powers(base: IntArray, exponent: int, prime: int) -> IntArray:
    """Powers modulo a prime by repeated squaring, elementwise.

    >>> _powers(np.array([2, 3]), 5, 7).tolist()
    [4, 5]
    """
    result = np.ones_like(base)
    while exponent:
        if exponent % 2:
            result = result * base % prime
        base, exponent = base * base % prime, exponent // 2
    return result


def _modulo(value: Fraction, prime: int) -> int:
    """A fraction modulo a prime that does not divide its denominator.

    With 7, -1/24 is 2, as 24 * 2 is 48, one less than 49:

    >>> _modulo(Fraction(-1, 24), 7)
    2
    """
    return value.numerator * pow(value.denominator, -1, prime) % prime


@cache
def _todd(power: int) -> Fraction:
    """Coefficient of `x^power` in the logarithm of `x / (1 - e^-x)`: x/2 - x^2/24 + x^4/2880 - ...

    >>> [str(_todd(power)) for power in (1, 2, 4)]
    ['1/2', '-1/24', '1/2880']
    """
    return Fraction(1, 2) if power == 1 else -_bernoulli(power) / (power * factorial(power))


@cache
def _bernoulli(index: int) -> Fraction:
    """Bernoulli numbers with B(1) = -1/2, by their recurrence.

    >>> [str(_bernoulli(index)) for index in range(5)]
    ['1', '-1/2', '1/6', '0', '-1/30']
    """
    if index == 0:
        return Fraction(1)
    return -sum((comb(index + 1, k) * _bernoulli(k) for k in range(index)), Fraction(0)) / (index + 1)
