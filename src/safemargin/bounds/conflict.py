"""Which public facts cannot hold together: a smallest contradicting subset of them, in words."""

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from safemargin.bounds.linear import joint_rows
from safemargin.bounds.solver import Form, limits, solver_of
from safemargin.bounds.system import System, system
from safemargin.errors import ContradictionError
from safemargin.model.arrays import IntArray
from safemargin.model.onlooker import Onlooker
from safemargin.model.published import UNBOUNDED, PublishedTable

MOST_TO_FILTER = 400
MOST_TO_NAME = 12


def explained(
    error: ContradictionError, tables: Sequence[PublishedTable], onlooker: Onlooker, slack: int
) -> ContradictionError:
    """The same error with the facts that cause it, where they can be found."""
    try:
        known = system(tables, onlooker, slack, check=False)
    except ContradictionError:
        return error
    rows = conflict(known)
    if not rows:
        return error
    named = "; ".join(_words(known, row) for row in rows[:MOST_TO_NAME])
    more = f" and {len(rows) - MOST_TO_NAME} more" if len(rows) > MOST_TO_NAME else ""
    return ContradictionError(f"these facts cannot all hold: {named}{more}")


def conflict(known: System) -> list[int]:
    """Rows of which no proper part contradicts itself but all together do; none if real-valued tables satisfy all."""
    matrix, lower, upper = joint_rows(known)
    suspects = _suspects(known, matrix, lower, upper, np.arange(len(lower)))
    if suspects is None or len(suspects) > MOST_TO_FILTER:
        return []
    kept = suspects
    for row in suspects.tolist():
        without = kept[kept != row]
        narrowed = _suspects(known, matrix, lower, upper, without)
        if narrowed is not None:
            kept = narrowed
    return [row for row in kept.tolist() if row < len(known.lower)]


def _suspects(
    known: System, matrix: sparse.csr_array, lower: IntArray, upper: IntArray, rows: IntArray
) -> IntArray | None:
    """Some of `rows` that contradict each other, or none if they do not: those that bind when each may give way."""
    part, count = sparse.csc_array(matrix[rows]), len(rows)
    slack = sparse.identity(count, format="csc")
    whole = sparse.csc_array(sparse.hstack([part, slack, -slack]))
    cost = np.r_[np.zeros(known.size), np.ones(2 * count)]
    high = np.r_[limits(known.high), np.full(2 * count, np.inf)]
    solver = solver_of(Form(whole, cost, np.zeros(len(cost)), high, lower[rows].astype(float), limits(upper[rows])))
    solver.run()
    if solver.getInfo().objective_function_value < 1e-6:
        return None
    binding: IntArray = rows[np.abs(np.asarray(solver.getSolution().row_dual)) > 1e-7]
    return binding


def _words(known: System, row: int) -> str:
    table, place = known.sources[row]
    low, high = int(table.lower[place]), int(table.upper[place])
    value = f"= {low}" if low == high else f"at least {low}" if high >= UNBOUNDED else f"from {low} to {high}"
    return f"{known.explain(row)} {value}"
