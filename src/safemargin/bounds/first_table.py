"""One integer table that satisfies all facts: where a search starts that needs no other."""

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
    """An integer table that satisfies all facts, near the published shares, a fit or a vertex; or none."""
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
