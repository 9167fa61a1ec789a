"""One integer table that satisfies all facts: where a search starts that needs no other.

Objects
    x           a table: one count per profile and free option (`System.size` of them)
    fact        a range of a sum of counts, from a published table or a roll (`System.rows`, `lower`, `upper`)

Method, cheapest first; each is tried only where the one before found nothing
    1. the published shares of all axes multiplied, rounded so that every sum is met (`Rounder.guess`)
    2. the softmax fit (`witness.py`), rounded
    3. a random vertex of the linear relaxation, rounded and mended by moves that keep all sums (`mend.py`)

    A system with very wide axes gets programs of its own instead (`wide.py`): there the first three take minutes.

What callers may rely on
    * A table that is returned satisfies every fact. None says that nothing was found, not that there is no table.
    * Seeds are fixed: the same system gives the same table.

Example
    Of two districts and two ages of ten people each, 12 of 20 said yes in every district and at every age:

    >>> from safemargin.bounds.build import build_system
    >>> from safemargin.core import exact_margins, onlooker_with_roll, table_of
    >>> table = table_of({"district": ("N", "S"), "age": ("old", "young")}, [[6, 4]] * 4, [10] * 4)
    >>> some_table(build_system(exact_margins(table), onlooker_with_roll(table, "joint"))).tolist()
    [6, 6, 6, 6]
"""

from safemargin.bounds.effort import SEED
from safemargin.bounds.mend import MarginRepair, can_mend
from safemargin.bounds.programs import program_of
from safemargin.bounds.propagate import propagate
from safemargin.bounds.rounding import Rounder
from safemargin.bounds.system import System
from safemargin.bounds.wide import WidePrograms, is_wide
from safemargin.bounds.witness import SoftmaxDual
from safemargin.core import IntArray, numpy_generator


def some_table(system: System) -> IntArray | None:
    """An integer table that satisfies all facts, near the published shares, a fit or a vertex; or none.

    None is no statement about whether there is one: whoever needs that solves a program (`programs.py`).
    """
    if is_wide(system):
        return WidePrograms(system, *propagate(system)).find(numpy_generator(SEED).standard_normal(system.size))
    rounder = Rounder(system)
    counts = rounder.round(rounder.guess()) if rounder.possible else None
    if counts is None:
        counts = rounder.round(SoftmaxDual(system, system.low, system.high).fit().values)
    if counts is None and can_mend(rounder.ranges, rounder.exchanges):  # what exchanges miss elsewhere takes long
        generator = numpy_generator(SEED + 9)
        values = program_of(system, *propagate(system)).vertex(generator.standard_normal(system.size))
        counts = MarginRepair(system, rounder.exchanges, rounder.least, generator).mend(rounder.near(values))
    return counts
