"""Deciding widths of sparse tables: integer tables in which many counts at once are held above their least.

A count is known to be wide once two tables differ in it by more than `enough`. Raising one count to that needs people
from the rows it stands in and from no others, so counts that share no row can be raised together: one program with
floors under a few dozen of them takes no longer than one about a single count, and shows all of them to be wide.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from safemargin.bounds.effort import EFFORT
from safemargin.bounds.search import Search
from safemargin.bounds.solver import DUAL, Program, is_optimal, solver_of
from safemargin.bounds.system import System
from safemargin.core import FloatArray, Generator, IntArray

if TYPE_CHECKING:
    from highspy import Highs


def attain_widths(
    system: System, search: Search, program: Program, generator: Generator, report: Callable[[], None]
) -> None:
    """Take tables that show open targets, one variable each, to be wide; stops where tables show no more.

    Each round draws an order of the liftable counts, holds as many of them as `held_together` allows above their least
    attained value plus `enough`, and solves for any table. A count is wide as soon as some table has it that high.
    """
    assert search.enough is not None
    if search.unsettled() <= EFFORT.width_few:
        return
    solver, every = solver_of(program.form, DUAL), np.arange(len(program.loose), dtype=np.int32)
    # Floors change and costs stay: the dual simplex method goes on from its last basis. Random costs avoid degenerate
    # vertices, nearly all of which are fractional; with these, a third of them are integer tables.
    solver.changeColsCost(len(every), every, generator.random(len(every)))
    share, stale = 1.0, 0
    while stale < EFFORT.width_stale and (before := search.unsettled()):
        low, high = program.form.low.copy(), program.form.high.copy()
        if search.tables:
            is_open, wide_at = search.open_above | search.open_below, search.inner_lower + search.enough + 1
            liftable = np.flatnonzero(is_open & (wide_at <= search.upper))
            if not len(liftable):
                return
            held = held_together(system, search.low, wide_at, generator.permutation(liftable))
            held = held[generator.random(len(held)) < share]
            low[np.searchsorted(program.loose, held)] = wide_at[held]
        solver.changeColsBounds(len(every), every, low, high)
        solver.run()
        # One count that cannot be raised, or too many at once, leave no table: fewer of them the next time.
        share = min(1.0, 1.5 * share) if is_optimal(solver) else share / 2
        counts = program.fixed.astype(np.int64)
        if (whole := _cut_fractions(solver, low, high, generator)) is not None:
            counts[program.loose] = whole
            if system.admits(counts):
                search.take(counts)
        stale = 0 if search.unsettled() < before else stale + 1
        report()


def _cut_fractions(solver: "Highs", low: FloatArray, high: FloatArray, generator: Generator) -> FloatArray | None:
    """The optimum in integers: cut off one fraction after the other, on a side drawn by its size; none if that fails.

    Fractions of such tables hang together in rings: one cut mostly settles a whole ring.
    """
    for _ in range(EFFORT.width_cuts):
        if not is_optimal(solver):
            return None
        values = np.asarray(solver.getSolution().col_value)
        whole: FloatArray = np.rint(values)
        fractional = np.flatnonzero(np.abs(values - whole) > 1e-6)
        if not len(fractional):
            return whole
        column = int(generator.choice(fractional))
        floor = np.floor(values[column])
        if generator.random() < values[column] - floor:
            low[column] = floor + 1
        else:
            high[column] = floor
        solver.changeColBounds(column, low[column], high[column])
        solver.run()
    return None


def held_together(system: System, low: IntArray, wide_at: IntArray, order: IntArray) -> IntArray:
    """Variables that can be raised from `low` to `wide_at` together, the first in `order` first.

    Each takes what it is raised by from the rows it stands in: a row may serve one of them, or several as long as that
    takes no more than half of what it has to spare.
    """
    columns, need = system.rows.tocsc(), wide_at - low
    spare, raised = system.upper - system.sums(low), np.zeros(len(system.upper), dtype=np.int64)
    chosen = []
    for variable in order.tolist():
        rows = columns.indices[columns.indptr[variable] : columns.indptr[variable + 1]]
        after = raised[rows] + need[variable]
        if (after <= np.where(raised[rows] == 0, spare[rows], spare[rows] // 2)).all():
            raised[rows] = after
            chosen.append(variable)
    return np.array(chosen, dtype=np.int64)
