"""The least change of an integer table that clears one more cell: integer programs over a part of the profiles.

A cell is cleared by integer tables alone, and the last ones often need a table that exchanges of two pairs do not lead
to. From a table `x` that satisfies all facts to one in which the counts of a cell add up to a *goal*, the program asks
for the integer change `d` with the least `sum |d|` such that every row of the system keeps to its range:
`lower - A x <= A d <= upper - A x` and `low - x <= d <= high - x`. Profiles outside a chosen part stay as they are, so
the program is small however large the system is: the profiles of the cell, some that share a slice with them, and some
others. If a part does not suffice, a larger one is tried, at last the whole system where that is not too large.

A change that is found is checked by addition like every table. If the program over the whole system proves that there
is no change, no integer table reaches the goal, and the interval of the cell ends before it: this is how a cell is
found out that fractional tables leave open and integer ones do not (parity). Programs are limited in nodes, never in
seconds, so that every run finds the same tables.

Example: with `x111 + x112 + x121`, `x111 + x112 + x211` and `x111 + x121 + x211` all 31, `x111 = 0` needs halves.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from safemargin.bounds.cells import Level
from safemargin.bounds.effort import EFFORT
from safemargin.bounds.solver import Form, is_infeasible, solver_of, values_of
from safemargin.bounds.system import System, joint_rows
from safemargin.core import UNBOUNDED, Generator, IntArray


@dataclass(frozen=True)
class Aim:
    """A count of a cell to be reached: the counts at `places` add up to at least `goal`, or `at_most` so many.

    `places` are variables. Where the count is of the option that the others leave, it is turned round: then more of it
    means that the others add up to less.
    """

    places: IntArray
    goal: int
    at_most: bool
    count: int
    """The count of the cell that this amounts to."""


@dataclass(frozen=True)
class CountChange:
    """A table that reaches an aim, or none; `impossible` if it is proved that no integer table does.

    Neither says that nothing was found within the nodes that a program may use: the cell stays open.
    """

    table: IntArray | None
    impossible: bool = False


class Changes:
    """Programs for changes of tables of one system with counts from `low` to `high`.

    From the middle of the running example (6 of 10 yes everywhere) one program finds a table with 9, and proves that
    none has 1:

    >>> from safemargin.bounds.build import build_system
    >>> from safemargin.core import exact_margins, numpy_generator, onlooker_with_roll, table_of
    >>> table = table_of({"district": ("N", "S"), "age": ("old", "young")}, [[6, 4]] * 4, [10] * 4)
    >>> system = build_system(exact_margins(table), onlooker_with_roll(table, "joint"))
    >>> changes = Changes(system, system.low, system.high, numpy_generator(0))
    >>> middle, first = np.full(4, 6), np.array([0])
    >>> changes.find([middle], Aim(first, 9, False, 9)).table.tolist()
    [9, 3, 3, 9]
    >>> changes.find([middle], Aim(first, 1, True, 1)).impossible
    True
    """

    def __init__(self, system: System, low: IntArray, high: IntArray, generator: Generator) -> None:
        matrix, self.lower, self.upper = joint_rows(system)
        self.system, self.low, self.high, self.generator = system, low, high, generator
        self.rows, self.columns = sparse.csr_array(matrix), sparse.csc_array(matrix)
        self.loose = low < high
        self.tried = 0

    def find(self, tables: Sequence[IntArray], aim: Aim) -> CountChange:
        """A table that reaches the aim by the least change of the nearest of these tables.

        Larger and larger parts of the profiles may change (`EFFORT.change_parts`); only the program over all of them
        can prove that there is no such table.
        """
        sums = [int(table[aim.places].sum()) for table in tables]
        counts = tables[int(np.argmin([abs(value - aim.goal) for value in sums]))]
        for size in EFFORT.change_parts:
            part = self._part(aim, size)
            is_all = len(part) == int(self.loose.sum())
            if len(part) > (EFFORT.changed_whole if is_all else EFFORT.changed_part):
                return CountChange(None)
            found = self._solve(counts, aim, part, EFFORT.whole_nodes if is_all else EFFORT.change_nodes)
            if found.table is not None or is_all:
                return found
        return CountChange(None)

    def _part(self, aim: Aim, size: int) -> IntArray:
        """Variables that may change: those of the aim, of profiles that share a slice with it, and others."""
        free = self.system.n_free_options
        if 2 * size >= int(self.loose.sum()):
            return np.flatnonzero(self.loose)
        own = np.unique(aim.places // free)
        if len(own) > size // 4:
            own = np.sort(self.generator.choice(own, size // 4, replace=False))
        chosen = [own]
        blocks = self.system.blocks
        for block in blocks:
            near = np.flatnonzero(np.isin(block, block[own]))
            most = max(size // (4 * len(blocks)), 2)
            chosen.append(near if len(near) <= most else self.generator.choice(near, most, replace=False))
        chosen.append(
            self.generator.choice(len(self.system.codes), min(size // 2, len(self.system.codes)), replace=False)
        )
        profiles = np.unique(np.concatenate(chosen))
        variables = (profiles[:, None] * free + np.arange(free)).ravel()
        part: IntArray = variables[self.loose[variables]]
        return part

    def _solve(self, counts: IntArray, aim: Aim, part: IntArray, nodes: int) -> CountChange:
        """One integer program over a part: two columns per variable, up and down; the first solution is enough."""
        self.tried += 1
        here = self.columns[:, part]
        touched = np.flatnonzero(np.diff(sparse.csr_array(here).indptr))
        sums = self.rows @ counts
        inside = np.isin(part, aim.places)
        if not inside.any():
            return CountChange(None)
        gap = float(aim.goal - counts[aim.places].sum())
        row = sparse.csr_array(inside[None, :].astype(np.int64))
        matrix = sparse.vstack([sparse.csr_array(here)[touched], row])
        ends = (-np.inf, gap) if aim.at_most else (gap, np.inf)
        most = np.where(self.upper >= UNBOUNDED, np.inf, (self.upper - sums).astype(np.float64))
        form = Form(
            sparse.csc_array(sparse.hstack([matrix, -matrix])),
            # Random costs break ties between changes of one length: vertices are then mostly integers.
            1 + 0.01 * self.generator.random(2 * len(part)),
            np.zeros(2 * len(part)),
            np.r_[self.high[part] - counts[part], counts[part] - self.low[part]].astype(np.float64),
            np.r_[(self.lower - sums)[touched].astype(np.float64), ends[0]],
            np.r_[most[touched], ends[1]],
        )
        # One improving solution is enough: any table that reaches the goal clears the cell.
        solver = solver_of(form, {"mip_max_nodes": nodes, "mip_max_improving_sols": 1}, whole=True)
        solver.run()
        values = values_of(solver)
        if values is None:
            return CountChange(None, is_infeasible(solver))
        moved = counts.copy()
        moved[part] += np.rint(values[: len(part)] - values[len(part) :]).astype(np.int64)
        reached = int(moved[aim.places].sum())
        is_reached = reached <= aim.goal if aim.at_most else reached >= aim.goal
        return CountChange(moved if is_reached and self.system.admits(moved) else None)


def aims_of(system: System, level: Level, cell: int, column: int) -> list[tuple[Aim, bool]]:
    """What would clear a cell in one column, each with whether it asks for a higher count of that column.

    If the cell needs a higher, or a lower, count, there is one way; if it is only known too closely, there are two.
    """
    up, down = (bool(ends[cell, column]) for ends in level.needs())
    shown, tolerance = level.lower[cell, column] <= level.upper[cell, column], int(level.tolerance[cell, 0])
    least, most = int(level.least[cell, column]), int(level.most[cell, column])
    if shown:  # wider than the tolerance, and not beyond a limit
        least = max(least, int(level.lower[cell, column]) + tolerance + 1)
        most = min(most, int(level.upper[cell, column]) - tolerance - 1)
    places, sign, offset = summed(system, level, cell, column)
    aims = []
    for wanted, goal, ends, higher in ((up, least, level.outer_upper, True), (down, most, level.outer_lower, False)):
        if not higher and not level.limits.has_floor[column]:
            goal = max(goal, int(ends[cell, column]))  # a table with nobody there shows enough
        within = goal <= ends[cell, column] if higher else goal >= ends[cell, column]
        if wanted and within:
            aims.append((Aim(places, sign * (goal - offset), (sign > 0) != higher, goal), higher))
    return aims


def summed(system: System, level: Level, cell: int, column: int) -> tuple[IntArray, int, int]:
    """The variables whose sum, times a sign and plus an offset, is the count of a cell in one column."""
    profiles, free = level.members(cell), system.n_free_options
    count = len(system.options)
    chosen = [column] if column < count else list(level.limits.sets[column - count])
    if all(option < free for option in chosen):
        return (profiles[:, None] * free + np.array(chosen)).ravel(), 1, 0
    # the reference option is what the others leave of the people
    others = [option for option in range(free) if option not in chosen]
    return (profiles[:, None] * free + np.array(others, dtype=np.int64)).ravel(), -1, int(level.people[cell])
