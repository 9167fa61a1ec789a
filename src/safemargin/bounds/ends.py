"""Programs for the cells of a certificate that no table cleared: one end of one cell each."""

import numpy as np

from safemargin.bounds.levels import Level, needs, open_cells, show
from safemargin.bounds.linear import Program, integer_table
from safemargin.bounds.system import System
from safemargin.core import IntArray

SMALL, SECONDS = 200, 20.0
"""Variables up to which integer programs decide what is left, and how long each may take."""


def worthwhile(known: System) -> int:
    """How many programs a system of this size is worth; options that share the people of each profile cost more."""
    work = known.size * (known.free**2)
    return 400 if work <= 8_000 else 60 if work <= 40_000 else 0


def decide_ends(checked: list[Level], program: Program, tables: list[IntArray]) -> None:
    """Linear programs for what is open, and integer ones if the system is small; tables that clear a cell are added."""
    _programs(checked, program, worthwhile(program.known), tables)
    if open_cells(checked) and program.known.size <= SMALL:
        _integer_programs(checked, program, tables)


def _programs(checked: list[Level], program: Program, budget: int, tables: list[IntArray]) -> None:
    """Linear programs for the cells that no table cleared, those with most people first."""
    for level in sorted(checked, key=lambda level: len(level.names)):
        up, down = level.needs()
        for cell, option in sorted(np.argwhere(up | down).tolist(), key=lambda at: -level.people[at[0]]):
            for way in (1.0, -1.0):
                need = level.needs()[way < 0][cell, option]
                if need and program.solves < budget:
                    tables += _solve_end(checked, level, program, (cell, option), way)
        if program.solves >= budget:
            break


def _integer_programs(checked: list[Level], program: Program, tables: list[IntArray]) -> None:
    """Integer programs for what is open still: in a small system every cell is decided."""
    for level in sorted(checked, key=lambda level: len(level.names)):
        up, down = level.needs()
        for cell, option in np.argwhere(up | down).tolist():
            for way in (1.0, -1.0):
                if level.needs()[way < 0][cell, option]:
                    tables += _solve_end(checked, level, program, (cell, option), way, whole=True)


def _solve_end(
    checked: list[Level], level: Level, program: Program, at: tuple[int, int], way: float, whole: bool = False
) -> list[IntArray]:
    """One end of one cell by a linear program, or over `whole` tables; the table that it shows, if it clears a cell."""
    cell, option = at
    known = program.known
    profiles = np.flatnonzero(level.cell_of == cell)
    cost = np.zeros((len(known.codes), known.free))
    offset, sign = 0, 1.0
    if option < known.free:
        cost[profiles, option] = 1.0
    else:
        cost[profiles] = 1.0
        offset, sign = int(level.people[cell]), -1.0
    wanted = (cost * way * sign).ravel()
    best = program.maximise_integer(wanted, SECONDS) if whole else program.maximise(wanted)
    if best.proved:
        lower, upper = level.outer_lower.copy(), level.outer_upper.copy()
        reached = int(np.floor(best.value + 1e-6 * max(1.0, abs(best.value)) ** 0.5))
        if way > 0:
            upper[cell, option] = offset + reached
        else:
            lower[cell, option] = offset - reached
        level.force(lower, upper)
    counts = integer_table(known, best.values)
    if counts is None:
        return []
    before = needs(checked)
    show(checked, known, counts)
    return [counts] if needs(checked) < before else []
