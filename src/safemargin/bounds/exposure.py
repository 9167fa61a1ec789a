"""What bounding and certifying return: intervals per cell, verdicts, possible tables, exposed cells.

Objects
    exposure    for every cell and option the interval that an onlooker can infer, and how it was proved
    verdict     contained, open or disclosed, for a stated target (`core/target.py`)
    proof       what certifying found: exposed and undecided cells, and the witnesses that cleared the others

These are values only; nothing here searches. What an interval means: no possible table leaves it. What it does not
mean: that every count in it is possible (`Fiber.gap`), unless margins are of single axes.

Example
    >>> Fiber(1, 2, attained=((0, 2), (1, 2))).gaps
    (0,)
    >>> Fiber(1, 2, attained=((0, 2), (1, 2))).gap(0)
    (0, 2)
"""

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from safemargin.core import VERDICTS, FloatArray, InputError, IntArray, Limits, Onlooker, Target, Verdict

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

    def gap(self, index: int) -> tuple[int, ...] | None:
        """The values of a cell and option, if they omit some between the smallest and the largest."""
        values = () if self.attained is None else self.attained[index]
        return values if values and values[-1] - values[0] >= len(values) else None

    @property
    def gaps(self) -> tuple[int, ...]:
        """Places of the cells and options whose values have a gap."""
        return tuple(index for index in range(len(self.attained or ())) if self.gap(index))


@dataclass(frozen=True)
class Drawn:
    """Random tables of a fiber: mean of every cell and option, its standard error, and quantiles (columns)."""

    law: str
    tables: int
    seed: int
    mean: FloatArray
    error: FloatArray
    quantiles: IntArray


METHODS = ("closed form", "propagation", "witness", "linear program", "integer program")
"""How an interval was settled; `Exposure.method` points into this."""


@dataclass(frozen=True)
class CellIndex:
    """Which cells a question is about: rows of codes into the categories of each axis. It holds no counts."""

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
    shows about all possible tables, if it was asked for.
    """

    cells: CellIndex
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
        return target.limits(self.totals, self.population or sum(self.totals), self.options)

    def verdicts(self, target: Target) -> IntArray:
        """Codes into `VERDICTS` per cell and option.

        A cell is disclosed too if every count that is possible lies outside the limits, some on either side.
        """
        limits = self.limits(target)
        count = self.lower.shape[1]  # intervals are those of options; what sets disclose, `certify` finds
        codes = limits.verdicts(self.lower, self.upper, self.people)[:, :count]
        if self.fiber is None or self.people is None or not self.fiber.gaps:
            return codes
        least, most = (ends(self.people)[:, :count].ravel() for ends in (limits.least, limits.most))
        for index in self.fiber.gaps:
            values = np.array(self.fiber.gap(index))
            if ((values < least[index]) | (values > most[index])).all():
                codes.flat[index] = VERDICTS.index(Verdict.DISCLOSED)
        return codes

    def tallied(self, target: Target) -> dict[str, int]:
        """How many cells (per option) have each verdict."""
        codes, counts = np.unique(self.verdicts(target), return_counts=True)
        tally = dict(zip(codes.tolist(), counts.tolist(), strict=True))
        return {str(verdict): tally.get(code, 0) for code, verdict in enumerate(VERDICTS)}

    @property
    def width(self) -> IntArray:
        """Upper minus lower."""
        return self.upper - self.lower


@dataclass(frozen=True)
class RelativeWidths:
    """Proposition 8(a) of the paper: with relative widths of at least `rho`, no share is known more closely than that.

    The relative width of a cell is the width of its interval over its people. `narrower` intervals have less than
    `asked`; `unproved` ones may have, as no whole table attains their ends. `least` is the smallest width, of cells
    with people. Example: 10 to 40 of 100 people is a relative width of .3.
    """

    asked: float
    least: float
    narrower: int
    unproved: int
    intervals: int

    @property
    def holds(self) -> bool:
        """Whether every interval was shown to be as wide."""
        return not self.narrower and not self.unproved

    @classmethod
    def of(cls, exposure: Exposure, asked: float) -> "RelativeWidths":
        """All cells with people; widths are compared as integers, as far as `asked` is the fraction that it prints."""
        if not 0 < asked <= 1:
            raise InputError(f"rho = {asked}: must be above 0 and at most 1")
        if exposure.people is None:
            raise InputError("rho: is a share of the people of every cell; give a roll")
        occupied = exposure.people > 0
        people, width = exposure.people[occupied][:, None], exposure.width[occupied]
        rho = Fraction(str(asked))
        is_narrow = width.astype(object) * rho.denominator < people.astype(object) * rho.numerator
        return cls(
            asked,
            float((width / people).min(initial=1.0)),
            int(is_narrow.sum()),
            int((~is_narrow.astype(bool) & ~exposure.integer[occupied]).sum()),
            int(width.size),
        )


@dataclass(frozen=True)
class Possible:
    """A fiber, seen through the cells that were asked about."""

    cells: CellIndex
    options: tuple[str, ...]
    people: IntArray | None
    onlooker: Onlooker
    fiber: Fiber
    drawn: Drawn | None = None


@dataclass(frozen=True)
class Exposed:
    """A cell that the facts disclose: its labels, option, people and interval."""

    cell: dict[str, str] = field(hash=False)
    option: int
    people: int
    lower: int
    upper: int
    earlier: str = ""
    """The cycles of the earlier releases without which it would not be disclosed."""
    secret: str = ""
    """What the column is called, where it is a set of options: `option` is then beyond the options."""


@dataclass(frozen=True)
class Proof:
    """What deciding found.

    `tables` are the integer witnesses. `linear` cells are cleared by a real-valued table only, `undecided` ones by
    nothing that was tried; `doubtful` names some of those. `before` are cells that the total, the roll and the facts of
    the onlooker disclose without the release, which does not narrow them.
    """

    exposed: tuple[Exposed, ...]
    checked: dict[str, int] = field(hash=False)
    linear: int = 0
    undecided: int = 0
    doubtful: tuple[Exposed, ...] = ()
    tables: tuple[IntArray, ...] = field(hash=False, compare=False, default=())
    before: tuple[Exposed, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether every cell was shown to be safe."""
        return not self.exposed and self.undecided == 0


SORTS = ("verdict", "width", "people", "cell")
"""`verdict`: the disclosed first, then the narrowest; `width`: the narrowest; `people`: the smallest; `cell`: as is.

Of intervals equally narrow, those come first in which an analyst's guess is closest to a limit.
"""


def ranked(exposure: Exposure, target: Target, limit: int, sort: str = "verdict") -> IntArray:
    """The first `limit` intervals, as positions in the flattened matrix of cells and options."""
    if sort not in SORTS:
        raise InputError(f"sort {sort!r}: must be one of {', '.join(SORTS)}")
    size = exposure.lower.size
    columns = exposure.lower.shape[1]
    people = np.zeros(size, dtype=np.int64) if exposure.people is None else np.repeat(exposure.people, columns)
    narrowness, order = _relative_width(exposure, people), np.arange(size)
    ties = (order, -people, _room(exposure, target, people))
    keys: dict[str, tuple[IntArray | FloatArray, ...]] = {
        "verdict": (*ties, narrowness, -exposure.verdicts(target).ravel()),
        "width": (*ties, narrowness),
        "people": (order, narrowness, people),
        "cell": (order,),
    }
    return np.lexsort(keys[sort])[: max(limit, 0)].astype(np.int64)


def _relative_width(exposure: Exposure, people: IntArray) -> FloatArray:
    """The width as a share of the people of the cell; the width itself where these are unknown."""
    width = exposure.width.ravel().astype(np.float64)
    return width / np.maximum(people, 1) if exposure.people is not None else width


def _room(exposure: Exposure, target: Target, people: IntArray) -> FloatArray:
    """How far the rate that an analyst would guess is from the nearest limit; no difference without a guess."""
    if exposure.fitted is None:
        return np.zeros(len(people))
    limits, cells = exposure.limits(target), len(exposure.cells)
    rates = exposure.fitted.ravel() / np.maximum(people, 1)
    shown = [end[: limits.options] for end in (limits.floors, limits.ceilings)]
    floors, ceilings = (np.tile([float(rate) for rate in end], cells) for end in shown)
    # Rounded: two options of a cell have the same room, and the last bits must not decide which is listed first.
    room: FloatArray = np.round(np.minimum(rates - floors, ceilings - rates), 9)
    return room
