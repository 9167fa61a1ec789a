"""Equations in counts from zero to a ceiling, and their exact elimination.

Objects
    form        M z = total, 0 <= z <= room, in integers; z are open counts and one slack unknown per range
    pivots      unknowns that are solved for; *free* ones are the others
    echelon     scale * z[pivots] + matrix @ z[free] = total, each row without a common factor

Statement
    Fraction-free elimination keeps integers: a row is multiplied by head / gcd and reduced by value / gcd. A row
    without
    unknowns and with another total than 0, or whose total its factors do not divide, has no integer solution.

Invariants
    * Entries stay exact: beyond 2^40 Python's integers take over from 64 bits.
    * `rank` works modulo the prime 2^31 - 1: never above the true rank, and below it only if the prime divides a minor,
      which is practically excluded for small integers. It is used for a dimension that is printed, not for a proof.
    * `from_residues` returns a number only if one prime more than needed agrees.

Example
    x + y = 3 and x - y = 1 have the solution (2, 1); x + y = 3 and x - y = 2 none in integers:

    >>> order = np.array([0, 1])
    >>> eliminate(np.array([[1, 1], [1, -1]]), np.array([3, 1]), order).total.tolist()
    [2, 1]
    >>> eliminate(np.array([[1, 1], [1, -1]]), np.array([3, 2]), order) is None
    True
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy import linalg, sparse

from safemargin.core import IntArray

PRIME = 2**31 - 1
SAFE = 2**40
"""Entries up to this size leave room for one more elimination in 64 bits."""


Rows = tuple[sparse.csr_array, IntArray, IntArray]


@dataclass(frozen=True)
class Equations:
    """Unknowns `z` with `matrix @ z = total` and `0 <= z <= room`.

    The first ones are the variables of a system that are not fixed, at `loose`, counted from `base`; behind them stands
    what each range leaves over.
    """

    matrix: sparse.csr_array
    total: IntArray
    room: IntArray
    loose: IntArray
    base: IntArray

    def tables(self, values: IntArray) -> IntArray:
        """Values of all variables of the system, one table per row of `values`."""
        tables = np.tile(self.base, (len(values), 1))
        tables[:, self.loose] += values[:, : len(self.loose)]
        return tables

    def values(self, counts: IntArray) -> IntArray:
        """The unknowns of one table of the system."""
        known = (counts - self.base)[self.loose]
        count = len(self.loose)
        rest = self.total - self.matrix[:, :count] @ known
        values: IntArray = np.r_[known, rest @ self.matrix[:, count:]]
        return values


def components(form: Equations) -> Iterator[tuple[IntArray, Equations]]:
    """Sets of unknowns that share no equation, each with its own form (whose `loose` are places in `form`).

    Solutions of the whole form are all combinations of solutions of these. Every row of `form` has an unknown
    (`standard_form` raises otherwise): a row without any is in no part.
    """
    rows, count = form.matrix.shape
    if not count:
        return
    rows_used, unknowns_used = form.matrix.nonzero()
    graph = sparse.csr_array(
        (np.ones(len(rows_used), dtype=np.int64), (rows_used, unknowns_used + rows)), shape=(rows + count, rows + count)
    )
    _, label = sparse.csgraph.connected_components(graph, directed=False)
    for mark in np.unique(label[rows:]).tolist():
        unknowns = np.flatnonzero(label[rows:] == mark)
        equations = np.flatnonzero(label[:rows] == mark)
        matrix = sparse.csr_array(form.matrix[equations][:, unknowns])
        zeros = np.zeros(count, dtype=np.int64)
        yield unknowns, Equations(matrix, form.total[equations], form.room[unknowns], unknowns, zeros)


@dataclass(frozen=True)
class Echelon:
    """`scale * z[pivots] + matrix @ z[free] = total`, with `scale` positive and every row without a common factor."""

    pivots: IntArray
    free: IntArray
    scale: IntArray
    matrix: IntArray
    total: IntArray


def eliminate(matrix: IntArray, total: IntArray, order: IntArray) -> Echelon | None:
    """Solve for as many unknowns as possible, the first in `order` first; None if no integers satisfy the equations."""
    work = np.column_stack([matrix, total])
    used: list[int] = []
    pivots: list[int] = []
    open_rows = np.ones(len(work), dtype=bool)
    for column in order.tolist():
        candidates = np.flatnonzero(open_rows & (work[:, column] != 0))
        if not len(candidates):
            continue
        sizes = np.abs(work[candidates, column]).astype(np.float64)
        # Markowitz: the smallest pivot, then the sparsest row, keep numbers and fill-in small.
        lead = int(candidates[np.lexsort(((work[candidates] != 0).sum(axis=1), sizes))[0]])
        work = _clear(work, lead, column)
        open_rows[lead] = False
        used.append(lead)
        pivots.append(column)
        if not open_rows.any():
            break
    if (work[open_rows, -1] != 0).any():
        return None
    return _echelon(work[used], np.array(pivots, dtype=np.int64))


def _clear(work: IntArray, lead: int, column: int) -> IntArray:
    """Make `column` zero in every row but `lead`."""
    # Fraction-free elimination; beyond 2^40 one more step could overflow, so Python integers take over.
    if work.dtype != object and np.abs(work).max() > SAFE:
        work = work.astype(object)
    if work[lead, column] < 0:
        work[lead] = -work[lead]
    rows = np.flatnonzero(work[:, column] != 0)
    rows = rows[rows != lead]
    head, values = work[lead, column], work[rows, column]
    common = np.gcd(values, head)
    work[rows] = work[rows] * (head // common)[:, None] - work[lead] * (values // common)[:, None]
    scaled = rows[head // common != 1]
    if len(scaled):
        factor = np.maximum(np.gcd.reduce(work[scaled], axis=1), 1)
        work[scaled] //= factor[:, None]
    return work


def _echelon(work: IntArray, pivots: IntArray) -> Echelon | None:
    """Rows in terms of their pivots, with positive scales and no common factor; none if a factor does not divide its
    total.
    """
    rows = np.arange(len(pivots))
    free = np.setdiff1d(np.arange(work.shape[1] - 1), pivots)
    sign = np.where(work[rows, pivots] < 0, -1, 1)
    work = work * sign[:, None]
    common = np.gcd.reduce(work[:, :-1], axis=1) if len(work) else np.ones(0, dtype=np.int64)
    if (work[:, -1] % common != 0).any():
        return None
    work = (work // common[:, None]).astype(np.int64)
    return Echelon(pivots, free, work[rows, pivots], work[:, free], work[:, -1])


def rank(matrix: sparse.csr_array, most: int) -> int:
    """Number of independent rows: modulo a large prime, beyond `most` multiplications from the Gram matrix."""
    rows, columns = matrix.shape
    if min(rows, columns) == 0:
        return 0
    if rows * min(rows, columns) * columns > most:
        part = sparse.csr_array(matrix if rows <= columns else matrix.T).astype(np.float64)
        gram = np.asarray((part @ part.T).todense())
        _, _, numerical_rank, _ = linalg.lapack.dpstrf(gram, lower=0, tol=1e-7 * max(float(gram.diagonal().max()), 1.0))
        return int(numerical_rank)
    # The rank modulo a prime is never above the true one, and below it only if the prime divides a minor: practically
    # excluded for rows of small integers and the prime 2^31 - 1.
    return _rank_modulo(matrix.toarray() % PRIME)


def _rank_modulo(work: IntArray) -> int:
    """Gaussian elimination modulo the prime; changes `work`."""
    pivots = 0
    for column in range(work.shape[1]):
        filled = np.flatnonzero(work[pivots:, column]) + pivots
        if not len(filled):
            continue
        work[[pivots, filled[0]]] = work[[filled[0], pivots]]
        rest = filled[1:]
        inverse = pow(int(work[pivots, column]), -1, PRIME)
        factor = work[rest, column] * inverse % PRIME
        work[rest, column:] = (work[rest, column:] - factor[:, None] * work[pivots, column:]) % PRIME
        pivots += 1
        if pivots == len(work):
            break
    return pivots


def from_residues(residue: Callable[[int], int], most: int) -> int | None:
    """A number up to `most`, from what it leaves modulo primes below 2^31; None if one more prime contradicts.

    Chinese remainders: the product of the primes grows beyond `most`, and the next prime checks the result.

    >>> from_residues(lambda prime: 10**30 % prime, 10**31) == 10**30
    True
    """
    # Trial division up to the root of 2^31; Chinese remainders then give the exact number, and one prime more checks
    # it.
    divisors = np.arange(3, 46_341, 2)
    number, product = 0, 1
    for prime in range(PRIME, 2**30, -2):
        if not (prime % divisors).all():
            continue
        value = residue(prime)
        if product > most:
            return number if number <= most and number % prime == value else None
        number += product * ((value - number) * pow(product, -1, prime) % prime)
        product *= prime
    return None


def steps(count: IntArray) -> IntArray:
    """`0, 1, ..., count - 1` for each entry of `count`, one after the other."""
    return np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
