"""Number of tables by walking through the counts: partial tables that leave the same sums go on together."""

from dataclasses import dataclass
from functools import partial
from math import prod

import numpy as np

from safemargin.bounds.fiber_form import FiberForm, eliminate, from_residues
from safemargin.bounds.fiber_search import steps
from safemargin.core import IntArray, row_keys

WHOLE = 2**62
MOST_ON_A_GRID = 20_000_000


def count_by_states(form: FiberForm, work: int) -> int | None:
    """By walking through the unknowns; partial tables with equal sums in all rows go on together.

    None if there are too many different sums to do it with so much `work`.
    """
    matrix = form.matrix.toarray()
    if form.total[~matrix.any(axis=1)].any():
        return 0
    order = _order(matrix, form.total)
    ends = _ends(matrix[:, order], form.room[order])
    walk = _Walk(np.zeros((1, 0), dtype=np.int64), np.ones(1, dtype=np.int64), [])
    closes = np.array([np.flatnonzero(row[order]).max(initial=-1) for row in matrix])
    done = 0
    for place, unknown in enumerate(order.tolist()):
        column = {row: int(matrix[row, unknown]) for row in np.flatnonzero(matrix[:, unknown]).tolist()}
        walk = _opened(walk, list(column), form.total)
        low, high = _span(walk, column, int(form.room[unknown]), ends[0][:, place + 1], ends[1][:, place + 1])
        count = np.maximum(high - low + 1, 0)
        done += int(count.sum()) * (len(walk.rows) + 1)
        if done > work:
            return None
        walk = _merged(_moved(walk, low, count, column, set(np.flatnonzero(closes == place).tolist())))
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


def _span(walk: _Walk, column: dict[int, int], room: int, least: IntArray, most: IntArray) -> tuple[IntArray, IntArray]:
    """The values of one unknown that what follows it can make up for, from `least` to `most` in every row."""
    low, high = np.zeros(len(walk.ways), dtype=np.int64), np.full(len(walk.ways), room)
    for row, step in column.items():
        left = walk.sums[:, walk.rows.index(row)]
        first, last = left - most[row], left - least[row]
        if step < 0:
            first, last = -last, -first
        low = np.maximum(low, -(-first // abs(step)))
        high = np.minimum(high, last // abs(step))
    return low, high


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


def _order(matrix: IntArray, total: IntArray) -> IntArray:
    """Row by row, the row next that adds least to what must be remembered."""
    used = matrix != 0
    size = np.log1p(np.abs(total).astype(np.float64))
    begun, order = np.zeros(len(matrix), dtype=bool), np.zeros(0, dtype=np.int64)
    left = np.ones(matrix.shape[1], dtype=bool)
    while left.any():
        open_rows = np.flatnonzero(used[:, left].any(axis=1))
        if not len(open_rows):
            order = np.r_[order, np.flatnonzero(left)]
            break
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


def count_by_grid(form: FiberForm, work: int) -> int | None:
    """The same on a dense grid of all sums, where one more unknown is one cumulative sum; for rows of zeros and ones.

    None if the grid is too large to do it with so much `work`.
    """
    matrix = form.matrix.toarray()
    if (matrix > 1).any() or (matrix < 0).any():
        return None
    solved = eliminate(matrix, form.total, np.argsort(-form.room, kind="stable"))
    if solved is None:
        return 0
    chosen = _independent(matrix, form.total)
    total = form.total[chosen].tolist()
    order = _order(matrix[chosen], form.total[chosen])
    used = matrix[chosen][:, order] > 0
    rows = [np.flatnonzero(column).tolist() for column in used.T]
    last = [int(np.flatnonzero(row).max()) for row in used]
    first = [int(np.flatnonzero(row).min()) for row in used]
    sizes = [prod(t + 1 for t, a, b in zip(total, first, last, strict=True) if a <= p <= b) for p in range(len(order))]
    most = prod((form.room[solved.free] + 1).tolist())
    if max(sizes) > MOST_ON_A_GRID or sum(sizes) * (most.bit_length() // 30 + 2) > work:
        return None
    ending = [[row for row, end in enumerate(last) if end == place] for place in range(len(order))]
    plan = list(zip(rows, ending, form.room[order].tolist(), strict=True))
    return from_residues(partial(_grid_modulo, plan, total), most)


def _independent(matrix: IntArray, total: IntArray) -> IntArray:
    """Independent rows, those with small totals first."""
    order = np.argsort(total, kind="stable")
    solved = eliminate(matrix[order].T, np.zeros(matrix.shape[1], dtype=np.int64), np.arange(len(order)))
    assert solved is not None
    return np.sort(order[solved.pivots])


Plan = list[tuple[list[int], list[int], int]]
"""Per unknown: the rows it stands in, the rows that end with it, and its ceiling."""


def _grid_modulo(plan: Plan, total: list[int], prime: int) -> int:
    """The number of solutions, modulo a prime."""
    ways: IntArray = np.ones(1, dtype=np.int64)
    active: list[int] = [-1]
    for rows, ending, room in plan:
        for row in rows:
            if row not in active:
                wider = np.zeros((*ways.shape, total[row] + 1), dtype=np.int64)
                wider[..., -1] = ways
                ways = wider
                active.append(row)
        ways = _with_unknown(ways, [active.index(row) for row in rows], room) % prime
        for row in ending:
            ways = np.take(ways, 0, axis=active.index(row))
            active.remove(row)
    return int(ways[0])


def _with_unknown(ways: IntArray, axes: list[int], room: int) -> IntArray:
    """Every value of an unknown up to `room`, taken from what is left along all `axes` at once."""
    if not axes:
        return ways * (room + 1)
    lead = min(axes, key=lambda axis: ways.shape[axis])
    down, up = [slice(None)] * ways.ndim, [slice(None)] * ways.ndim
    for axis in axes:
        down[axis], up[axis] = slice(None, -1), slice(1, None)
    sums = ways.copy()
    for place in range(ways.shape[lead] - 2, -1, -1):
        down[lead], up[lead] = slice(place, place + 1), slice(place + 1, place + 2)
        sums[tuple(down)] += sums[tuple(up)]
    if room + 1 >= min(ways.shape[axis] for axis in axes):
        return sums
    for axis in axes:
        down[axis], up[axis] = slice(None, -room - 1), slice(room + 1, None)
    capped = sums.copy()
    capped[tuple(down)] -= sums[tuple(up)]
    return capped
