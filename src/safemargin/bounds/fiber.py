"""The tables that public facts leave possible: how many dimensions, how many tables, which values, and random ones."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from safemargin.bounds.fiber_count import LONG_SEARCH, SEARCH_PER_TABLE, Count, count_tables
from safemargin.bounds.fiber_form import FiberForm, parts, rank, row_ranges, standard
from safemargin.bounds.fiber_sample import chain, reach, sample
from safemargin.bounds.fiber_search import FiberSearch
from safemargin.bounds.propagate import propagate
from safemargin.bounds.system import System
from safemargin.core import UNBOUNDED, BoolArray, ContradictionError, FloatArray, IntArray, TooLargeError

__all__ = ["Count", "attained", "chain", "count_tables", "dimension", "reach", "sample", "tables"]

MOST_FOR_PROGRAM = 5_000
"""Open counts up to which a linear program looks for facts that hold with equality although they are ranges."""

ROWS_AT_ONCE = 20_000


def dimension(known: System) -> int:
    """Dimension of the smallest flat that holds all real tables: open counts minus independent equations.

    Ranges and ceilings that every real table meets with equality count as equations. Beyond `MOST_FOR_PROGRAM` open
    counts only propagation looks for them, and the dimension may be given too large.
    """
    low, high = propagate(known)
    loose = np.flatnonzero(low < high)
    matrix, lower, upper = row_ranges(known)
    shift = matrix @ low
    part = sparse.csr_array(matrix[:, loose])
    lower, upper = lower - shift, np.where(upper < UNBOUNDED, upper - shift, UNBOUNDED)
    keep = np.flatnonzero(np.diff(part.indptr) > 0)
    part, lower, upper = part[keep], lower[keep], upper[keep]
    stuck, tight = np.zeros(len(loose), dtype=bool), lower == upper
    if 0 < len(loose) <= MOST_FOR_PROGRAM:
        room = (high - low)[loose]
        stuck, tight = _always_tight(part, lower, upper, np.where(high[loose] < UNBOUNDED, room, UNBOUNDED))
    return int((~stuck).sum()) - rank(sparse.csr_array(part[tight][:, ~stuck]))


def _always_tight(
    matrix: sparse.csr_array, lower: IntArray, upper: IntArray, room: IntArray
) -> tuple[BoolArray, BoolArray]:
    """Unknowns that stand at one end in every real solution, and rows that do.

    One program: a solution scaled up as far as needed, so that every inequality that can be strict is so by one.
    """
    equal = lower == upper
    ranged, capped = np.flatnonzero(~equal), np.flatnonzero(room < UNBOUNDED)
    roofed = ranged[upper[ranged] < UNBOUNDED]
    one = sparse.eye_array(len(room), format="csr")
    sides = sparse.vstack([-one, one[capped], -matrix[ranged], matrix[roofed]])
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
    """Which of the inequalities `sides @ z <= limit` hold with equality wherever all of them and the equations hold."""
    count, unknowns = sides.shape
    none = sparse.csr_array((len(total), count))
    above: Any = sparse.hstack([sides, sparse.csr_array(-limit[:, None]), sparse.eye_array(count)], format="csr")
    exact: Any = sparse.hstack([equations, sparse.csr_array(-total[:, None]), none], format="csr")
    from scipy.optimize import linprog  # takes as long to import as all the rest

    found = linprog(
        np.r_[np.zeros(unknowns + 1), -np.ones(count)],
        A_ub=above,
        b_ub=np.zeros(count),
        A_eq=exact,
        b_eq=np.zeros(len(total)),
        bounds=[*[(0.0, None)] * unknowns, (1.0, None), *[(0.0, 1.0)] * count],
    )
    if found.status == 2:
        raise ContradictionError("the facts contradict each other: no table satisfies all of them")
    return np.zeros(count, dtype=bool) if found.x is None else np.asarray(found.x[unknowns + 1 :] < 0.5)


def tables(known: System, limit: int = 2_000_000) -> Iterator[IntArray]:
    """Every integer table, as values of all variables; raises `TooLargeError` if there are more than `limit`."""
    for chunk in _chunks(known, limit):
        yield from chunk


def attained(
    known: System, targets: sparse.csr_array | IntArray | None = None, limit: int = 200_000
) -> tuple[tuple[int, ...], ...] | None:
    """All values that each target takes in integer tables, in order; None if there are more than `limit` tables.

    Targets are rows of coefficients of the variables; without any, every variable is one.
    """
    matrix = sparse.eye_array(known.size, dtype=np.int64, format="csr") if targets is None else targets
    seen: list[set[int]] = [set() for _ in range(matrix.shape[0])]
    try:
        for chunk in _chunks(known, limit):
            for target, values in enumerate(matrix @ chunk.T):
                seen[target].update(np.unique(values).tolist())
    except TooLargeError:
        return None
    return tuple(tuple(sorted(values)) for values in seen)


def _chunks(known: System, limit: int) -> Iterator[IntArray]:
    """All tables, many rows at a time."""
    try:
        form = standard(known)
    except ContradictionError:
        return
    pieces = sorted(parts(form), key=lambda piece: len(piece[0]))
    fixed: list[tuple[IntArray, IntArray]] = []
    total = 1
    for mine, piece in pieces[:-1]:
        found = [*_solutions(piece, limit)]
        if not found:
            return
        fixed.append((mine, np.concatenate(found)))
        total *= len(fixed[-1][1])
    listed = 0
    for last in _solutions(pieces[-1][1], limit) if pieces else [np.zeros((1, 0), dtype=np.int64)]:
        listed += len(last) * total
        if listed > limit:
            raise TooLargeError(f"more than {limit:,} tables are possible")
        yield from _products(form, [*fixed, (pieces[-1][0], last)] if pieces else [])


def _products(form: FiberForm, pieces: Sequence[tuple[IntArray, IntArray]]) -> Iterator[IntArray]:
    """Every combination of solutions of the pieces."""
    sizes = [len(values) for _, values in pieces]
    total = int(np.prod(sizes, dtype=object)) if sizes else 1
    for start in range(0, total, ROWS_AT_ONCE):
        place = np.arange(start, min(start + ROWS_AT_ONCE, total))
        whole = np.zeros((len(place), len(form.room)), dtype=np.int64)
        for (mine, values), size in zip(pieces, sizes, strict=True):
            whole[:, mine] = values[place % size]
            place = place // size
        yield form.tables(whole)


def _solutions(piece: FiberForm, limit: int) -> Iterator[IntArray]:
    """Solutions of one connected piece, many rows at a time."""
    search, found = FiberSearch(piece), 0
    for bar in search.bars(max(LONG_SEARCH, SEARCH_PER_TABLE * limit)):
        found += int(bar.count.sum())
        if found > limit:
            raise TooLargeError(f"more than {limit:,} tables are possible")
        yield search.complete(bar.expand())
