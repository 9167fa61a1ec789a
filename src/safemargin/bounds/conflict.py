"""Which public facts cannot hold together: a smallest contradicting subset of them, in words."""

from collections.abc import Sequence

import numpy as np
from scipy import sparse

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
    facts = conflict(known)
    if not facts:
        return error
    named = "; ".join(_words(known, fact) for fact in facts[:MOST_TO_NAME])
    more = f" and {len(facts) - MOST_TO_NAME} more" if len(facts) > MOST_TO_NAME else ""
    return ContradictionError(f"these facts cannot all hold: {named}{more}")


def conflict(known: System) -> list[int]:
    """Facts of which no proper part contradicts itself but all together do; none if real-valued tables satisfy all.

    Those from the number of rows on are the people of profiles on the roll.
    """
    matrix, lower, upper, high = _facts(known)
    suspects = _suspects(matrix, lower, upper, high, np.arange(len(lower)))
    if suspects is None or len(suspects) > MOST_TO_FILTER:
        return []
    kept = suspects
    for row in suspects.tolist():
        if row in kept:
            narrowed = _suspects(matrix, lower, upper, high, kept[kept != row])
            if narrowed is not None:
                kept = narrowed
    found: list[int] = np.sort(kept).tolist()
    return found


def _facts(known: System) -> tuple[sparse.csr_array, IntArray, IntArray, IntArray]:
    """The rows of the system, one more per profile for its people on the roll, and what limits the counts besides."""
    if known.people is None:
        return known.rows, known.lower, known.upper, known.high
    profiles = np.arange(known.size) // known.free
    shared = sparse.csr_array((np.ones(known.size, dtype=np.int64), (profiles, np.arange(known.size))))
    high = np.where(known.high >= known.people[profiles], UNBOUNDED, known.high)
    rows = sparse.csr_array(sparse.vstack([known.rows, shared]))
    return rows, np.r_[known.lower, 0 * known.people], np.r_[known.upper, known.people], high


def _suspects(
    matrix: sparse.csr_array, lower: IntArray, upper: IntArray, high: IntArray, rows: IntArray
) -> IntArray | None:
    """Some of `rows` that contradict each other, or none if they do not: those that bind when each may give way."""
    part, count = sparse.csc_array(matrix[rows]), len(rows)
    slack = sparse.identity(count, format="csc")
    whole = sparse.csc_array(sparse.hstack([part, slack, -slack]))
    cost = np.r_[np.zeros(len(high)), np.ones(2 * count)]
    most = np.r_[limits(high), np.full(2 * count, np.inf)]
    solver = solver_of(Form(whole, cost, np.zeros(len(cost)), most, lower[rows].astype(float), limits(upper[rows])))
    solver.run()
    if solver.getInfo().objective_function_value < 1e-6:
        return None
    binding: IntArray = rows[np.abs(np.asarray(solver.getSolution().row_dual)) > 1e-7]
    return binding


def _words(known: System, row: int) -> str:
    if row >= len(known.lower):
        at = row - len(known.lower)
        assert known.people is not None
        cell = ", ".join(
            f"{axis} {names[code]}"
            for axis, names, code in zip(known.axes, known.categories, known.codes[at].tolist(), strict=True)
        )
        return f"the roll ({cell or 'everybody'}) = {int(known.people[at])}"
    table, place = known.sources[row]
    low, high = int(table.lower[place]), int(table.upper[place])
    value = f"= {low}" if low == high else f"at least {low}" if high >= UNBOUNDED else f"from {low} to {high}"
    return f"{known.explain(row)} {value}"
