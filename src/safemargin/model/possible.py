"""What an onlooker cannot rule out, table by table."""

from dataclasses import dataclass

from safemargin.model.arrays import IntArray
from safemargin.model.exposure import Cells
from safemargin.model.fiber import Drawn, Fiber
from safemargin.model.onlooker import Onlooker


@dataclass(frozen=True)
class Possible:
    """A fiber, seen through the cells that were asked about."""

    cells: Cells
    options: tuple[str, ...]
    people: IntArray | None
    onlooker: Onlooker
    fiber: Fiber
    drawn: Drawn | None = None
