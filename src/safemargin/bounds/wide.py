"""Integer tables for systems of many slices: an axis of hundreds of categories or more.

Why
    Newton's method solves a dense system of all slices, and rounding looks for ways from slice to slice: both grow with
    the square of their number or worse. A linear program over single axes has as few entries as there are profiles.

Statement
    With two axes the constraint matrix is that of a transportation problem, which is totally unimodular (Hoffman and
    Kruskal 1956): vertices are integer tables. With more axes they mostly are, and a short integer program mends the
    rest. Bounds on the counts keep every profile within the limits, so one feasible table clears all cells that can be
    cleared by their shares.

What callers may rely on
    * A table that `find` returns passed `System.admits`; nothing is returned otherwise.
    * Programs are limited in nodes, never in seconds, so every run finds the same.
    * `impossible` is set only if the solver proved that no table satisfies the rows and the box.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from safemargin.bounds.cells import Level, coefficients_of_variables, open_cells, wanted_changes
from safemargin.bounds.effort import EFFORT
from safemargin.bounds.solver import form_of, is_infeasible, solver_of, values_of
from safemargin.bounds.system import System, integer_table, joint_rows
from safemargin.core import FloatArray, Generator, IntArray, Limits, distinct


def is_wide(system: System) -> bool:
    """Whether a system with a joint roll has so many slices that dense methods take long.

    Those of the largest block cost little (`schur.py`): the rows of all others count.
    """
    if system.people is None or system.slices.shape[0] <= EFFORT.dense_slices:
        return False
    largest = max((len(distinct(block)) for block in system.blocks), default=0)
    return (system.slices.shape[0] - largest) * system.n_free_options > EFFORT.dense_rows


class WidePrograms:
    """Programs over the rows of a system; with `within`, every profile that can be is kept within these limits.

    `low` and `high` are outer intervals of the variables. With `within`, `impossible` speaks of the narrowed box, not
    of the system.
    """

    def __init__(self, system: System, low: IntArray, high: IntArray, within: Limits | None = None) -> None:
        self.system = system
        if within is not None:
            low, high = _narrowed(system, low, high, within)
        self.form = form_of(joint_rows(system), low, high)
        self.impossible = False

    def find(self, want: FloatArray) -> IntArray | None:
        """An integer table that goes as far as possible where `want` points; none if the rows admit none.

        First the linear program, whose vertex is often an integer table; then the same program over integers.
        """
        if self.impossible:
            return None
        form = replace(self.form, cost=-want)
        for whole in (False, True):
            solver = solver_of(form, {"mip_max_nodes": EFFORT.wide_nodes}, whole)
            solver.run()
            self.impossible = is_infeasible(solver)
            values = None if self.impossible else values_of(solver)
            if values is None:
                return None
            if (counts := integer_table(self.system, values)) is not None:
                return counts
        return None


def _narrowed(system: System, low: IntArray, high: IntArray, within: Limits) -> tuple[IntArray, IntArray]:
    """Ranges of the variables within the limits, where a profile is large enough to have any."""
    assert system.people is not None
    least, most = within.least(system.people), within.most(system.people)
    inner_low, inner_high = least[:, : system.n_free_options], most[:, : system.n_free_options]
    if system.reference and system.n_free_options == 1:  # the option that is left has limits too
        inner_low = np.maximum(inner_low, system.people[:, None] - most[:, 1:2])
        inner_high = np.minimum(inner_high, system.people[:, None] - least[:, 1:2])
    listed = np.maximum(low, inner_low.ravel()), np.minimum(high, inner_high.ravel())
    possible = listed[0] <= listed[1]
    return np.where(possible, listed[0], low), np.where(possible, listed[1], high)


def attain_within(
    system: System,
    checked: list[Level],
    ends: tuple[IntArray, IntArray],
    within: Limits,
    take: Callable[[IntArray], None],
    generator: Generator,
) -> None:
    """Take tables by programs within the limits, or without, each time towards what is still open.

    `ends` are the intervals of the variables, `take` adds a table to the task. Stops after a few rounds that clear
    nothing.
    """
    programs, stuck = [WidePrograms(system, *ends, box) for box in (within, None)], 0
    for turn in range(EFFORT.wide_programs):
        before = open_cells(checked)
        if not before or stuck > 3:
            return
        # A little of everything beside what is wanted: else cells that nobody asks for stay where they are.
        want = coefficients_of_variables(wanted_changes(checked, generator), system.reference)
        want = want + 0.1 * generator.standard_normal(system.size)
        # Inside the limits first; cells that are still open after that need a count at one end of their range.
        found = next((c for program in programs[turn // 4 % 2 :] if (c := program.find(want)) is not None), None)
        if found is None:
            return
        take(found)
        stuck = stuck + 1 if open_cells(checked) == before else 0
