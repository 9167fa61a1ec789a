"""Integer propagation: every row tightens its cells, again and again. Its results are proofs by addition."""

import numpy as np
from scipy import sparse

from safemargin.bounds.system import System
from safemargin.errors import ContradictionError
from safemargin.model.arrays import IntArray
from safemargin.model.published import UNBOUNDED

ROUNDS = 200


def propagate(known: System) -> tuple[IntArray, IntArray]:
    """Intervals of all variables that hold in every table with these facts; valid, not always the sharpest."""
    low, high = known.low.copy(), np.minimum(known.high, UNBOUNDED)
    columns = known.rows.tocsc()
    for _ in range(ROUNDS):
        spare = known.upper - known.rows @ low
        surplus = _at_most(known.rows, high) - known.lower
        _check(known, spare, surplus)
        new_high = np.minimum(high, low + _least(columns, spare))
        new_low = np.maximum(low, high - _least(columns, surplus))
        if known.people is not None:
            taken = known.people - new_low.reshape(-1, known.free).sum(axis=1)
            new_high = np.minimum(new_high, new_low + np.repeat(taken, known.free))
        if (new_high < new_low).any():
            at = int(np.flatnonzero(new_high < new_low)[0])
            raise ContradictionError(f"the facts contradict each other: no count is possible for {_name(known, at)}")
        if (new_high == high).all() and (new_low == low).all():
            break
        low, high = new_low, new_high
    return low, high


def _at_most(rows: sparse.csr_array, high: IntArray) -> IntArray:
    """Row sums of the ceilings, where a row with an unlimited cell counts as unlimited."""
    unlimited = rows @ (high >= UNBOUNDED).astype(np.int64)
    sums = rows @ np.where(high >= UNBOUNDED, 0, high)
    return np.where(unlimited > 0, UNBOUNDED, sums)


def _least(columns: sparse.csc_array, values: IntArray) -> IntArray:
    """Per variable the least of `values` over the rows it stands in."""
    filled = np.diff(columns.indptr) > 0
    least = np.full(columns.shape[1], UNBOUNDED, dtype=np.int64)
    if filled.any():
        least[filled] = np.minimum.reduceat(values[columns.indices], columns.indptr[:-1][filled])
    return least


def _check(known: System, spare: IntArray, surplus: IntArray) -> None:
    for gap in (spare, surplus):
        if (gap < 0).any():
            row = int(np.flatnonzero(gap < 0)[0])
            raise ContradictionError(f"the facts contradict each other at {known.explain(row)}")


def _name(known: System, variable: int) -> str:
    profile = variable // known.free
    cell = ", ".join(f"{axis} {known.categories[a][known.codes[profile, a]]}" for a, axis in enumerate(known.axes))
    return cell or "everybody"
