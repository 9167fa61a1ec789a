"""The tables of whole people that public facts leave possible."""

from dataclasses import dataclass

from safemargin.core import FloatArray, IntArray

QUANTILES = (0.05, 0.5, 0.95)
"""Shares of the drawn tables that have a count of at most a quantile."""


@dataclass(frozen=True)
class Fiber:
    """How many tables are possible, in how many dimensions, and what they hold; None for what is not known.

    `tables` is the exact number, `reached` a number that is surely reached. `attained` are the values of every cell and
    option (in that order) that occur in some table.
    """

    dimension: int | None
    tables: int | None
    reached: int = 0
    method: str = ""
    attained: tuple[tuple[int, ...], ...] | None = None

    def gap(self, place: int) -> tuple[int, ...] | None:
        """The values of a cell and option, if they leave out some between the smallest and the largest."""
        values = () if self.attained is None else self.attained[place]
        return values if values and values[-1] - values[0] >= len(values) else None

    @property
    def gaps(self) -> tuple[int, ...]:
        """Places of the cells and options whose values have a gap."""
        return tuple(place for place in range(len(self.attained or ())) if self.gap(place))


@dataclass(frozen=True)
class Drawn:
    """Random tables of a fiber: mean of every cell and option, its standard error, and quantiles (columns)."""

    law: str
    tables: int
    seed: int
    mean: FloatArray
    error: FloatArray
    quantiles: IntArray
