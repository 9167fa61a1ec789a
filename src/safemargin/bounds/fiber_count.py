"""How many integer tables satisfy all facts: the part that is open is cut into pieces, each counted the cheapest way."""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

import numpy as np

from safemargin.bounds.fiber_form import Form, parts, standard
from safemargin.bounds.fiber_search import Search, steps
from safemargin.bounds.fiber_vertices import UnfitError, count_by_vertices
from safemargin.bounds.system import System
from safemargin.errors import ContradictionError, TooLargeError
from safemargin.model.arrays import IntArray, row_keys

LITTLE_WORK, WORK = 4_000_000, 60_000_000
"""Fractions of a second, and seconds, of searching or of adding partial sums."""

WORK_PER_TABLE = 200
MOST_VERTICES = 20_000
WHOLE = 2**62

CONTRADICTION = "propagation finds a contradiction"
UNLIMITED = "nothing that is published limits some count"
FIXED = "propagation fixes every count"
UNTIED = "no equation ties the counts that are open"
SEARCH = "search over the counts that the equations leave free"
VERTICES = "generating function of the vertices"
STATES = "partial sums, one count after the other"


@dataclass(frozen=True)
class Count:
    """Number of tables. Unless `exact`, `value` is a number that is surely reached, or None; `method` says how or why."""

    value: int | None
    exact: bool
    method: str


def count_tables(known: System, limit: int = 2_000_000) -> Count:
    """The number of integer tables; tables are listed one by one only up to `limit`."""
    try:
        pieces = [form for _, form in parts(standard(known))]
    except ContradictionError:
        return Count(0, True, CONTRADICTION)
    except TooLargeError:
        return Count(None, False, UNLIMITED)
    counts = [_count_piece(piece, limit) for piece in pieces]
    methods = tuple(dict.fromkeys(count.method for count in counts))
    if any(count.exact and count.value == 0 for count in counts):
        return Count(0, True, "; ".join(c.method for c in counts if c.exact and c.value == 0))
    values = [count.value for count in counts if count.value is not None]
    exact = all(count.exact for count in counts)
    value = prod(values) if len(values) == len(counts) else None
    return Count(value, exact, "; ".join(methods) or FIXED)


def _count_piece(form: Form, limit: int) -> Count:
    """Number of solutions of one connected piece: every way with little effort, then each with more."""
    if not form.matrix.shape[0]:
        return Count(prod((form.room + 1).tolist()), True, UNTIED)
    count = _by_search(form, limit, LITTLE_WORK)
    if count.exact:
        return count
    ways: list[tuple[str, Callable[[], int | None]]] = [
        (STATES, lambda: count_by_states(form, LITTLE_WORK)),
        (VERTICES, lambda: count_by_vertices(form, MOST_VERTICES)),
        (SEARCH, lambda: _exactly(_by_search(form, limit, WORK))),
        (STATES, lambda: count_by_states(form, WORK)),
    ]
    for method, way in ways:
        try:
            found = way()
        except UnfitError:
            continue
        if found is not None:
            return Count(found, True, method)
    return _by_search(form, limit, WORK_PER_TABLE * limit)


def _exactly(count: Count) -> int | None:
    return count.value if count.exact else None


def _by_search(form: Form, limit: int, work: int) -> Count:
    """By listing, as far as `limit` and `work` allow."""
    found = 0
    try:
        for bar in Search(form).bars(work):
            found += int(bar.count.sum())
            if found > limit:
                return Count(found, False, f"{SEARCH}, stopped beyond {limit:,} tables")
    except TooLargeError as reason:
        return Count(found or None, False, f"{SEARCH}: {reason}")
    return Count(found, True, SEARCH)


def count_by_states(form: Form, work: int) -> int | None:
    """By walking through the unknowns; partial tables with equal sums in all rows go on together.

    None if there are too many different sums to do it with so much `work`.
    """
    matrix = form.matrix.toarray()
    order = _order(form, matrix)
    least, most = _ends(matrix[:, order], form.room[order])
    walk = _Walk(np.zeros((1, 0), dtype=np.int64), np.ones(1, dtype=np.int64), [])
    closes = np.array([np.flatnonzero(row[order]).max(initial=-1) for row in matrix])
    done = 0
    for place, unknown in enumerate(order.tolist()):
        rows = np.flatnonzero(matrix[:, unknown]).tolist()
        walk = _opened(walk, rows, form.total)
        low, high = np.zeros(len(walk.ways), dtype=np.int64), np.full(len(walk.ways), form.room[unknown])
        for row in rows:
            left, step = walk.sums[:, walk.rows.index(row)], int(matrix[row, unknown])
            ends = left - most[row, place + 1], left - least[row, place + 1]
            first, last = (ends[0], ends[1]) if step > 0 else (-ends[1], -ends[0])
            low = np.maximum(low, -(-first // abs(step)))
            high = np.minimum(high, last // abs(step))
        count = np.maximum(high - low + 1, 0)
        done += int(count.sum()) * (len(walk.rows) + 1)
        if done > work:
            return None
        column = {row: int(matrix[row, unknown]) for row in rows}
        shut = set(np.flatnonzero(closes == place).tolist())
        walk = _merged(_moved(walk, low, count, column, shut))
    return int(walk.ways.sum())


@dataclass(frozen=True)
class _Walk:
    """What is left of the totals of the rows that are begun, and in how many ways it came about."""

    sums: IntArray
    ways: IntArray
    rows: list[int]


def _opened(walk: _Walk, rows: list[int], total: IntArray) -> _Walk:
    fresh = [row for row in rows if row not in walk.rows]
    start = np.broadcast_to(total[fresh], (len(walk.ways), len(fresh)))
    return _Walk(np.concatenate([walk.sums, start], axis=1), walk.ways, [*walk.rows, *fresh])


def _moved(walk: _Walk, low: IntArray, count: IntArray, column: dict[int, int], shut: set[int]) -> _Walk:
    """Every possible value of one unknown; rows that end with it need no memory any more."""
    values = np.repeat(low, count) + steps(count)
    kept = [at for at, row in enumerate(walk.rows) if row not in shut]
    sums = np.repeat(walk.sums[:, kept], count, axis=0)
    for place, at in enumerate(kept):
        step = column.get(walk.rows[at], 0)
        if step:
            sums[:, place] -= step * values
    return _Walk(sums, np.repeat(walk.ways, count), [walk.rows[at] for at in kept])


def _merged(walk: _Walk) -> _Walk:
    if not len(walk.ways):
        return walk
    shifted = walk.sums - walk.sums.min(axis=0)
    keys = row_keys(shifted, (shifted.max(axis=0) + 1).tolist())
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    first = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]])
    ways = walk.ways[order]
    if ways.dtype != object and float(ways.max()) * len(ways) >= WHOLE:
        ways = ways.astype(object)
    return _Walk(walk.sums[order[first]], np.add.reduceat(ways, first), walk.rows)


def _ends(matrix: IntArray, room: IntArray) -> tuple[IntArray, IntArray]:
    """Least and largest sum of every row over the unknowns from each place on."""
    most, least = np.maximum(matrix, 0) * room, np.minimum(matrix, 0) * room
    nothing = np.zeros((len(matrix), 1), dtype=np.int64)
    after = [np.concatenate([each[:, ::-1].cumsum(axis=1)[:, ::-1], nothing], axis=1) for each in (least, most)]
    return after[0], after[1]


def _order(form: Form, matrix: IntArray) -> IntArray:
    """Row by row, the row next that adds least to what must be remembered."""
    used = matrix != 0
    size = np.log1p(np.abs(form.total).astype(np.float64))
    begun, order = np.zeros(len(matrix), dtype=bool), np.zeros(0, dtype=np.int64)
    left = np.ones(matrix.shape[1], dtype=bool)
    while left.any():
        open_rows = np.flatnonzero(used[:, left].any(axis=1))
        if not len(open_rows):
            return np.r_[order, np.flatnonzero(left)]
        costs = []
        for row in open_rows.tolist():
            touched = used[:, used[row] & left].any(axis=1) & ~begun
            costs.append((float(size[touched].sum()), int((used[row] & left).sum())))
        row = int(open_rows[min(range(len(costs)), key=costs.__getitem__)])
        mine = np.flatnonzero(used[row] & left)
        order = np.r_[order, mine[np.lexsort((mine, -used[:, mine].sum(axis=0)))]]
        left[mine] = False
        begun |= used[:, mine].any(axis=1)
    return order
