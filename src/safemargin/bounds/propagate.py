"""Integer propagation: every row tightens its cells, again and again. Its results are proofs by addition."""

import numpy as np

from safemargin.bounds.system import System
from safemargin.core import UNBOUNDED, ContradictionError, IntArray

ROUNDS = 200


def propagate(known: System) -> tuple[IntArray, IntArray]:
    """Intervals of all variables that hold in every table with these facts; valid, not always the sharpest."""
    low, high = known.low.copy(), np.minimum(known.high, UNBOUNDED)
    for _ in range(ROUNDS):
        spare = np.where(known.upper < UNBOUNDED, known.upper - known.sums(low), 2 * UNBOUNDED)
        surplus, alone = _surplus(known, high)
        _check(known, spare, surplus)
        unlimited = high >= UNBOUNDED
        new_high = np.minimum(high, low + _least(known, spare))
        left = np.where(unlimited, _least(known, alone), _least(known, surplus))
        new_low = np.maximum(low, np.where(unlimited, 0, high) - left)
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


def _surplus(known: System, high: IntArray) -> tuple[IntArray, IntArray]:
    """How far the ceilings of a row exceed its least: if none is unlimited, and what the others do if just one is."""
    unlimited = known.sums((high >= UNBOUNDED).astype(np.int64))
    excess = known.sums(np.where(high >= UNBOUNDED, 0, high)) - known.lower
    return np.where(unlimited == 0, excess, UNBOUNDED), np.where(unlimited == 1, excess, UNBOUNDED)


def _least(known: System, values: IntArray) -> IntArray:
    """Per variable the least of `values` over the rows it stands in."""
    per_slice = np.full((known.slices.shape[0] + 1, known.free), UNBOUNDED, dtype=np.int64)
    for option in range(known.free):
        mine = known.weights[:, option] > 0
        np.minimum.at(per_slice[:, option], known.slice_of[mine], values[mine])
    least = np.full((len(known.codes), known.free), UNBOUNDED, dtype=np.int64)
    for block in known.blocks:  # -1, no slice, reads the last row
        np.minimum(least, per_slice[block], out=least)
    return least.ravel()


def _check(known: System, spare: IntArray, surplus: IntArray) -> None:
    for gap in (spare, surplus):
        if (gap < 0).any():
            row = int(np.flatnonzero(gap < 0)[0])
            raise ContradictionError(f"the facts contradict each other at {known.explain(row)}")


def _name(known: System, variable: int) -> str:
    profile = variable // known.free
    cell = ", ".join(f"{axis} {known.categories[a][known.codes[profile, a]]}" for a, axis in enumerate(known.axes))
    return cell or "everybody"
