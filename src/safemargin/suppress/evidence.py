"""Few moves of the pool that show all that is claimed of a pattern."""

import numpy as np
from scipy import sparse

from safemargin.core import BoolArray, IntArray, RefusedError
from safemargin.suppress.coalition import PUBLIC, View
from safemargin.suppress.pool import Pool, Reach
from safemargin.suppress.problem import Problem


def evidence(asked: Problem, pool: Pool, suppressed: BoolArray) -> sparse.csr_array:
    """Moves, one per row, by which every suppressed cell's requirement is met in every view."""
    matrix = pool.matrix[pool.inside(suppressed)].tocsr()
    reach = Reach(pool, suppressed)
    chosen = _widely_met(asked, matrix, suppressed & ~asked.untold) if matrix.shape[0] else np.zeros(0, dtype=bool)
    for view in asked.views:
        if view == PUBLIC or view.sees_more(suppressed):
            _add(asked, reach, chosen, view, suppressed)
    return matrix[np.flatnonzero(chosen)]


def _widely_met(asked: Problem, matrix: sparse.csr_array, suppressed: BoolArray) -> BoolArray:
    """Rows that let counts change at all, or rise as needed, for the public: those that meet most are taken first."""
    missing = suppressed.copy()
    met: list[IntArray] = []
    for row in range(matrix.shape[0]):
        part = slice(matrix.indptr[row], matrix.indptr[row + 1])
        cells, changes = matrix.indices[part], matrix.data[part]
        met.append(cells[(asked.needs[cells] == 0) | (changes >= asked.needs[cells])])
    left = sorted(range(len(met)), key=lambda row: -len(met[row]))
    chosen = np.zeros(len(met), dtype=bool)
    while left and missing.any():
        best = max(left, key=lambda row: int(missing[met[row]].sum()))
        chosen[best] = bool(missing[met[best]].any())
        missing[met[best]] = False
        left = [row for row in left if missing[met[row]].any()]
    return chosen


def _add(asked: Problem, reach: Reach, chosen: BoolArray, view: View, suppressed: BoolArray) -> None:
    """Choose more moves, until all requirements are met in a view."""
    needs, width = asked.asks(view), asked.width
    possible = reach.possible(view)
    up, down = np.zeros(asked.size, dtype=np.int64), np.zeros(asked.size, dtype=np.int64)

    def take(mine: BoolArray) -> None:
        np.maximum.at(up, reach.cells[mine], reach.changes[mine])
        np.maximum.at(down, reach.cells[mine], -reach.changes[mine])

    take((possible & chosen)[reach.rows])
    short = suppressed & ~asked.untold & ((up < needs) | (up + down < width))
    short[list(view.known)] = False
    for cell in np.flatnonzero(short).tolist():
        entries = np.flatnonzero((reach.cells == cell) & possible[reach.rows])
        for sign in (1, -1):
            if len(entries) and (up[cell] < needs[cell] or up[cell] + down[cell] < width):
                entry = entries[np.argmax(sign * reach.changes[entries])]
                if sign * reach.changes[entry] > 0:
                    chosen[reach.rows[entry]] = True
                    take(reach.rows == reach.rows[entry])
        if up[cell] < needs[cell] or up[cell] + down[cell] < width:
            raise RefusedError("a suppressed cell has no moves that protect it")
