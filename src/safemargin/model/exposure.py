"""What an onlooker can infer, cell by cell."""

from dataclasses import dataclass, field

import numpy as np

from safemargin.model.arrays import FloatArray, IntArray
from safemargin.model.onlooker import Onlooker
from safemargin.model.target import VERDICTS, Limits, Target

METHODS = ("closed form", "propagation", "witness", "linear program", "integer program")
"""How an interval was settled; `Exposure.method` points into this."""


@dataclass(frozen=True)
class Cells:
    """The cells a question is about: rows of codes into the categories of each axis."""

    axes: tuple[str, ...]
    categories: tuple[tuple[str, ...], ...]
    codes: IntArray

    def __len__(self) -> int:
        return len(self.codes)

    def cell(self, row: int) -> dict[str, str]:
        """The labels of one cell by axis."""
        return {axis: self.categories[a][self.codes[row, a]] for a, axis in enumerate(self.axes)}


@dataclass(frozen=True)
class Exposure:
    """For every cell (row) and option (column): the sharpest interval proved, and how it was proved.

    `sharp` is false where the interval is a valid outer bound that may be wider than the truth. `integer` is true where
    both ends are attained by integer tables; else only the linear statement is proved.
    """

    cells: Cells
    options: tuple[str, ...]
    people: IntArray | None
    lower: IntArray
    upper: IntArray
    integer: np.ndarray
    method: IntArray
    onlooker: Onlooker
    totals: tuple[int, ...]
    population: int | None = None
    fitted: FloatArray | None = field(default=None, compare=False)
    complete: bool = True

    def limits(self, target: Target) -> Limits:
        """The target made concrete by the exact totals."""
        return target.limits(self.totals, self.population or sum(self.totals))

    def verdicts(self, target: Target) -> IntArray:
        """Codes into `VERDICTS` per cell and option."""
        return self.limits(target).verdicts(self.lower, self.upper, self.people)

    def tallied(self, target: Target) -> dict[str, int]:
        """How many cells (per option) have each verdict."""
        codes, counts = np.unique(self.verdicts(target), return_counts=True)
        found = dict(zip(codes.tolist(), counts.tolist(), strict=True))
        return {str(verdict): found.get(code, 0) for code, verdict in enumerate(VERDICTS)}

    @property
    def width(self) -> IntArray:
        """Upper minus lower."""
        return self.upper - self.lower
