"""An integer table near a real-valued one by an integer program: for tables that exchanges cannot round.

The program looks only a few people away from the given table, so that it stays small enough for thousands of cells.
"""

import numpy as np

from safemargin.bounds.linear import Program, integer_table
from safemargin.bounds.system import System
from safemargin.core import ContradictionError, FloatArray, IntArray

MOST_VARIABLES = 4_000
DISTANCES = (1, 6)
"""How many people a cell may move, at first and if that leaves no table."""
SECONDS = 5.0


def nearby(
    known: System, values: FloatArray, low: IntArray, high: IntArray, want: FloatArray | None = None
) -> IntArray | None:
    """Whole counts within `low` and `high` that satisfy every fact, near `values`; or none.

    `want` says per variable which way it should rather go.
    """
    if known.size > MOST_VARIABLES:
        return None
    start = np.clip(np.nan_to_num(values), low, high)
    cost = start - np.floor(start) - 0.5 if want is None else want
    for distance in DISTANCES:
        bottom = np.maximum(low, np.floor(start).astype(np.int64) - distance)
        top = np.minimum(high, np.ceil(start).astype(np.int64) + distance)
        try:
            best = Program(known, bottom, top).maximise_integer(cost, SECONDS)
        except ContradictionError:
            continue
        counts = integer_table(known, best.values)
        if counts is not None:
            return counts
    return None
