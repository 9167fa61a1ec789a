"""What an onlooker cannot rule out, table by table."""

from dataclasses import dataclass

from safemargin.bounds.exposure import TargetCells
from safemargin.bounds.fiber_values import Drawn, Fiber
from safemargin.core import IntArray, Onlooker


@dataclass(frozen=True)
class Possible:
    """A fiber, seen through the cells that were asked about."""

    cells: TargetCells
    options: tuple[str, ...]
    people: IntArray | None
    onlooker: Onlooker
    fiber: Fiber
    drawn: Drawn | None = None
