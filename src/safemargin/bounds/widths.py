"""Deciding widths of sparse tables: integer tables in which many counts at once are held above their least.

Objects
    wide        a count of which two tables differ by more than `enough`
    lift        what a count must rise above its least attained value to be wide: enough + 1
    spare       per row, its upper end less the sum of the least values: people that may be moved inside it

Method
    Raising one count needs people from the rows it stands in and from no others, so counts that share no row can be
    raised together: one program with floors under a few dozen of them takes no longer than one about a single count,
    and shows all of them to be wide. Random costs lead to random vertices; fractions are cut off one by one.

What callers may rely on
    * Every table that is taken was added up (`System.admits`). A round without a table proves nothing.
    * `held_together` is a guess of what fits together; the program decides.

Example
    In the running example each of four counts may rise by 2 above a table of twos, and all may at once, since the 12
    people of each row leave 8 to spare. Raised by 7, two of them would take 14 of the 16 that the total spares: more
    than half.

    >>> from safemargin.bounds.build import build_system
    >>> from safemargin.core import exact_margins, onlooker_with_roll, table_of
    >>> table = table_of({"district": ("N", "S"), "age": ("old", "young")}, [[6, 4]] * 4, [10] * 4)
    >>> system = build_system(exact_margins(table), onlooker_with_roll(table, "joint"))
    >>> least, first = np.full(4, 2), np.arange(4)
    >>> held_together(system, least, least + 2, first).tolist(), held_together(system, least, least + 7, first).tolist()
    ([0, 1, 2, 3], [0])
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

    Changes `low` and `high` in place, as the solver holds them. Fractions of such tables hang together in rings: one
    cut mostly settles a whole ring, so `EFFORT.width_cuts` of them are enough or none are.
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
