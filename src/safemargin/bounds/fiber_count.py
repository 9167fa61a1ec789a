"""How many integer tables satisfy all facts, in how many dimensions, and which values they hold.

Objects
    fiber       the integer tables of a system (`system.py`); Definition 1 of the paper on exact reporting
    form        its open part as equations M z = total with 0 <= z <= room (`propagate.standard_form`)
    piece       a connected component of the equations: the number of tables is the product over the pieces
    dimension   of the smallest flat that holds all real-valued tables

Method, per piece and the cheapest first
    listing     search over the unknowns that the equations leave free (`fiber_listing.TableSearch`)
    grid        partial sums, one unknown after the other, on a dense grid of what is left (`count_by_grid`)
    vertices    Brion's theorem for unimodular pieces (`fiber_vertices.py`), however large the counts are

Dimension
    Open counts less independent equations, where inequalities that always hold with equality count as equations. One
    linear program finds all of these (Freund, Roundy and Todd 1985).

What callers may rely on
    * An `exact` count is exact: it is computed in integers, or modulo primes with one prime more than needed.
    * Otherwise `value` is a number of tables that surely exist, or nothing; never an estimate.
    * A small dimension is no danger and a large one no protection: a fiber of 10^20 tables may agree in one cell.

Example
    A square with rows and columns of 2 has three tables (the corner is 0, 1 or 2), on a line:

    >>> from safemargin.bounds.build import build_system
    >>> from safemargin.core import Axis, Onlooker, Schema, Table, Tally, exact_margins, frozen
    >>> names, codes = ("row", "column"), frozen([[0, 0], [0, 1], [1, 0], [1, 1]], 2)
    >>> axes = Axis("row", ("a", "b")), Axis("column", ("c", "d"))
    >>> square = Table(Schema(axes, ("yes", "no")), (Tally(names, codes, frozen([[1, 0]] * 4, 2)),), ())
    >>> system = build_system(exact_margins(square), Onlooker())
    >>> count_tables(system).value, dimension(system)
    (3, 1)
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from scipy import sparse

from safemargin.bounds.effort import EFFORT
from safemargin.bounds.exposure import Fiber
from safemargin.bounds.fiber_equations import Equations, components, rank
from safemargin.bounds.fiber_listing import TableSearch, count_by_grid
from safemargin.bounds.fiber_vertices import count_by_vertices
from safemargin.bounds.propagate import propagate, standard_form
from safemargin.bounds.search import Targets
from safemargin.bounds.system import System, joint_rows
from safemargin.core import (
    UNBOUNDED,
    BoolArray,
    ContradictionError,
    FloatArray,
    IntArray,
    Progress,
    TooLargeError,
    no_progress,
)

PROGRESS_STEPS = 1_000
"""Parts in which progress within a component is reported."""


Report = Callable[[float], None]


Way = tuple[str, Callable[[], int | None]]
"""A method in words, and what it finds."""

CONTRADICTION = "propagation finds a contradiction"
UNLIMITED = "nothing that is published limits some count"
FIXED = "propagation fixes every count"
UNTIED = "no equation ties the counts that are open"
TOO_MANY = "too many counts are open"
SEARCH = "search over the counts that the equations leave free"
VERTICES = "generating function of the vertices"
STATES = "partial sums, one count after the other"


@dataclass(frozen=True)
class Count:
    """Number of tables; unless `exact`, `value` is a number that is surely reached, or None. `method` says how."""

    value: int | None
    exact: bool
    method: str


def count_tables(
    system: System, limit: int = 2_000_000, *, quick: bool = False, progress: Progress = no_progress
) -> Count:
    """The number of integer tables; tables are listed one by one only up to `limit`.

    With `quick`, only what takes a fraction of a second is tried. So is, for the other pieces, once one was too large.
    A contradiction counts as no table; a count that nothing limits as unknown.
    """
    try:
        pieces = [form for _, form in components(standard_form(system))]
    except ContradictionError:
        return Count(0, True, CONTRADICTION)
    except TooLargeError:
        return Count(None, False, UNLIMITED)
    counts: list[Count] = []
    for number, piece in enumerate(pieces):
        patient = not quick and all(count.exact for count in counts)
        counts.append(_count_piece(piece, limit, patient, _portion(progress, number, len(pieces))))
        if counts[-1].exact and counts[-1].value == 0:
            return counts[-1]
        if quick and not counts[-1].exact:
            break
    methods = tuple(dict.fromkeys(count.method for count in counts))
    values = [count.value for count in counts if count.value is not None]
    exact = all(count.exact for count in counts)
    value = prod(values) if len(values) == len(pieces) else None
    return Count(value, exact, "; ".join(methods) or FIXED)


def _portion(progress: Progress, number: int, pieces: int) -> Report:
    """Report a share of one piece as part of all of them."""

    def report(done: float) -> None:
        progress("counting", int(PROGRESS_STEPS * (number + min(done, 1.0))), PROGRESS_STEPS * pieces)

    return report


def _count_piece(form: Equations, limit: int, patient: bool, report: Report) -> Count:
    """Number of solutions of one connected piece: every way with little effort, then, if `patient`, with more."""
    if not form.matrix.shape[0]:
        return Count(prod((form.room + 1).tolist()), True, UNTIED)
    if not patient and form.matrix.shape[1] > EFFORT.quick_counts:
        return Count(None, False, TOO_MANY)
    count = _by_search(form, limit, EFFORT.search_work[0], report)
    if count.exact:
        return count
    quick: list[Way] = [
        (STATES, lambda: count_by_grid(form, EFFORT.grid_work[0])),
        (VERTICES, lambda: count_by_vertices(form, EFFORT.vertices[1] if patient else EFFORT.vertices[0])),
    ]
    if (result := _first(quick)) is not None or not patient:
        return result or count
    count = _by_search(form, limit, EFFORT.search_work[1], report)
    if count.exact:
        return count
    if (result := _first([(STATES, lambda: count_by_grid(form, EFFORT.grid_work[1]))])) is not None:
        return result
    enough = (count.value or 0) > limit or EFFORT.search_work_per_table * limit <= EFFORT.search_work[1]
    return count if enough else _by_search(form, limit, EFFORT.search_work_per_table * limit, report)


def _first(ways: list[Way]) -> Count | None:
    """What the first way that applies finds."""
    for method, way in ways:
        value = way()
        if value is not None:
            return Count(value, True, method)
    return None


def _by_search(form: Equations, limit: int, work: int, report: Report) -> Count:
    """By listing, as far as `limit` and `work` allow."""
    listed = 0
    try:
        search = TableSearch(form)
        for bar in search.bars(work):
            listed += int(bar.count.sum())
            report(search.work / work)
            if listed > limit:
                return Count(listed, False, f"{SEARCH}, stopped beyond {limit:,} tables")
    except TooLargeError as reason:
        return Count(listed or None, False, f"{SEARCH}: {reason}")
    return Count(listed, True, SEARCH)


def dimension(system: System) -> int:
    """Dimension of the smallest flat that holds all real tables: open counts minus independent equations.

    Ranges and ceilings that every real table meets with equality count as equations. Beyond `MOST_FOR_PROGRAM` open
    counts only propagation looks for them, and the dimension may be given too large.
    """
    low, high = propagate(system)
    loose = np.flatnonzero(low < high)
    matrix, lower, upper = joint_rows(system)
    shift = matrix @ low
    part = sparse.csr_array(matrix[:, loose])
    lower, upper = lower - shift, np.where(upper < UNBOUNDED, upper - shift, UNBOUNDED)
    keep = np.flatnonzero(np.diff(part.indptr) > 0)
    part, lower, upper = part[keep], lower[keep], upper[keep]
    stuck, tight = np.zeros(len(loose), dtype=bool), lower == upper
    if 0 < len(loose) <= EFFORT.dimension_counts:
        room = (high - low)[loose]
        stuck, tight = _always_tight(part, lower, upper, np.where(high[loose] < UNBOUNDED, room, UNBOUNDED))
    return int((~stuck).sum()) - rank(sparse.csr_array(part[tight][:, ~stuck]), EFFORT.exact_rank_work)


def _always_tight(
    matrix: sparse.csr_array, lower: IntArray, upper: IntArray, room: IntArray
) -> tuple[BoolArray, BoolArray]:
    """Unknowns that stand at one end in every real solution, and rows that do: both as booleans.

    All inequalities of the piece, the boxes and the ranges of rows, go to `_never_strict` in one system.
    """
    equal = lower == upper
    ranged, capped = np.flatnonzero(~equal), np.flatnonzero(room < UNBOUNDED)
    roofed = ranged[upper[ranged] < UNBOUNDED]
    identity = sparse.eye_array(len(room), format="csr")
    sides = sparse.vstack([-identity, identity[capped], -matrix[ranged], matrix[roofed]])
    limit = np.r_[np.zeros(len(room)), room[capped], -lower[ranged], upper[roofed]].astype(np.float64)
    shut = _never_strict(sparse.csr_array(sides), limit, matrix[equal], lower[equal].astype(np.float64))
    ends = np.cumsum([len(room), len(capped), len(ranged)])
    stuck = shut[: ends[0]].copy()
    stuck[capped] |= shut[ends[0] : ends[1]]
    tight = equal.copy()
    tight[ranged] |= shut[ends[1] : ends[2]]
    tight[roofed] |= shut[ends[2] :]
    return stuck, tight


def _never_strict(
    sides: sparse.csr_array, limit: FloatArray, equations: sparse.csr_array, total: FloatArray
) -> BoolArray:
    """Which of `sides @ z <= limit` hold with equality wherever all of them and the equations hold.

    One program (Freund, Roundy and Todd 1985): scale a solution by a factor of at least 1 and give every inequality a
    slack of at most 1; maximise the sum of slacks. A slack is 0 if and only if its inequality is never strict: the sum
    of solutions that are strict in one each is strict in all.
    """
    count, unknowns = sides.shape
    # Freund, Roundy and Todd (1985): one program finds every inequality that always holds with equality.
    none = sparse.csr_array((len(total), count))
    above: Any = sparse.hstack([sides, sparse.csr_array(-limit[:, None]), sparse.eye_array(count)], format="csr")
    exact: Any = sparse.hstack([equations, sparse.csr_array(-total[:, None]), none], format="csr")
    from scipy.optimize import linprog  # takes as long to import as all the rest

    optimum = linprog(
        np.r_[np.zeros(unknowns + 1), -np.ones(count)],
        A_ub=above,
        b_ub=np.zeros(count),
        A_eq=exact,
        b_eq=np.zeros(len(total)),
        bounds=[*[(0.0, None)] * unknowns, (1.0, None), *[(0.0, 1.0)] * count],
    )
    if optimum.status == 2:
        raise ContradictionError("the facts contradict each other: no table satisfies all of them")
    return np.zeros(count, dtype=bool) if optimum.x is None else np.asarray(optimum.x[unknowns + 1 :] < 0.5)


def attained(
    system: System, targets: sparse.csr_array | IntArray | None = None, limit: int = 200_000
) -> tuple[tuple[int, ...], ...] | None:
    """All values that each target takes in integer tables, in order; None if there are more than `limit` tables.

    Targets are rows of coefficients of the variables; without any, every variable is one.
    """
    matrix = sparse.eye_array(system.size, dtype=np.int64, format="csr") if targets is None else targets
    seen: list[set[int]] = [set() for _ in range(matrix.shape[0])]
    try:
        for chunk in tables(system, limit):
            for target, values in enumerate(matrix @ chunk.T):
                seen[target].update(np.unique(values).tolist())
    except TooLargeError:
        return None
    return tuple(tuple(sorted(values)) for values in seen)


def tables(system: System, limit: int = 2_000_000) -> Iterator[IntArray]:
    """Every integer table, as values of all variables, many rows at a time; raises `TooLargeError` beyond `limit`."""
    try:
        form = standard_form(system)
    except ContradictionError:
        return
    pieces = sorted(components(form), key=lambda piece: len(piece[0]))
    fixed: list[tuple[IntArray, IntArray]] = []
    total = 1
    for unknowns, piece in pieces[:-1]:
        solutions = [*_solutions(piece, limit)]
        if not solutions:
            return
        fixed.append((unknowns, np.concatenate(solutions)))
        total *= len(fixed[-1][1])
    listed = 0
    for last in _solutions(pieces[-1][1], limit) if pieces else [np.zeros((1, 0), dtype=np.int64)]:
        listed += len(last) * total
        if listed > limit:
            raise TooLargeError(f"more than {limit:,} tables are possible")
        yield from _products(form, [*fixed, (pieces[-1][0], last)] if pieces else [])


def _products(form: Equations, pieces: Sequence[tuple[IntArray, IntArray]]) -> Iterator[IntArray]:
    """Every combination of solutions of the pieces."""
    sizes = [len(values) for _, values in pieces]
    total = int(np.prod(sizes, dtype=object)) if sizes else 1
    for start in range(0, total, EFFORT.rows_at_once):
        numbers = np.arange(start, min(start + EFFORT.rows_at_once, total))
        whole = np.zeros((len(numbers), len(form.room)), dtype=np.int64)
        for (unknowns, values), size in zip(pieces, sizes, strict=True):
            whole[:, unknowns] = values[numbers % size]
            numbers = numbers // size
        yield form.tables(whole)


def _solutions(piece: Equations, limit: int) -> Iterator[IntArray]:
    """Solutions of one connected piece, many rows at a time; raises `TooLargeError` beyond `limit` or too much work."""
    search, listed = TableSearch(piece), 0
    for bar in search.bars(max(EFFORT.search_work[1], EFFORT.search_work_per_table * limit)):
        listed += int(bar.count.sum())
        if listed > limit:
            raise TooLargeError(f"more than {limit:,} tables are possible")
        yield search.complete(bar.expand())


def glance(system: System, targets: Targets) -> Fiber:
    """What a fraction of a second shows about a fiber: nothing if it is large."""
    if system.size > EFFORT.quick_counts:
        return Fiber(None, None)
    count = count_tables(system, quick=True)
    values = None
    if count.exact and count.value is not None and count.value * len(targets.sign) <= EFFORT.glance_counts:
        values = _values(system, targets, count.value)
    return _fiber(dimension(system), count, values)


def _fiber(flat: int, count: Count, values: tuple[tuple[int, ...], ...] | None) -> Fiber:
    number = count.value if count.exact else None
    return Fiber(flat, number, count.value or 0, count.method, values)


def _values(system: System, targets: Targets, most: int) -> tuple[tuple[int, ...], ...] | None:
    """The values that each target takes."""
    attained_sums = attained(system, targets.matrix, limit=most)
    if attained_sums is None:
        return None
    turns = zip(attained_sums, targets.offset.tolist(), targets.sign.tolist(), strict=True)
    return tuple(tuple(sorted(offset + sign * value for value in values)) for values, offset, sign in turns)
