"""What an onlooker can infer, cell by cell."""

from dataclasses import dataclass, field

import numpy as np

from safemargin.bounds.fiber_values import Fiber
from safemargin.core import VERDICTS, FloatArray, IntArray, Limits, Onlooker, Target, Verdict

METHODS = ("closed form", "propagation", "witness", "linear program", "integer program")
"""How an interval was settled; `Exposure.method` points into this."""


@dataclass(frozen=True)
class TargetCells:
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
    both ends are attained by integer tables; else only the linear statement is proved. `fiber` is what a first look
    tells about all possible tables, if it was asked for.
    """

    cells: TargetCells
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
    fiber: Fiber | None = None

    def limits(self, target: Target) -> Limits:
        """The target made concrete by the exact totals."""
        return target.limits(self.totals, self.population or sum(self.totals))

    def verdicts(self, target: Target) -> IntArray:
        """Codes into `VERDICTS` per cell and option.

        A cell is disclosed too if every count that is possible lies outside the limits, some on either side.
        """
        limits = self.limits(target)
        codes = limits.verdicts(self.lower, self.upper, self.people)
        if self.fiber is None or self.people is None or not self.fiber.gaps:
            return codes
        least, most = limits.least(self.people).ravel(), limits.most(self.people).ravel()
        for place in self.fiber.gaps:
            values = np.array(self.fiber.gap(place))
            if ((values < least[place]) | (values > most[place])).all():
                codes.flat[place] = VERDICTS.index(Verdict.DISCLOSED)
        return codes

    def tallied(self, target: Target) -> dict[str, int]:
        """How many cells (per option) have each verdict."""
        codes, counts = np.unique(self.verdicts(target), return_counts=True)
        found = dict(zip(codes.tolist(), counts.tolist(), strict=True))
        return {str(verdict): found.get(code, 0) for code, verdict in enumerate(VERDICTS)}

    @property
    def width(self) -> IntArray:
        """Upper minus lower."""
        return self.upper - self.lower
