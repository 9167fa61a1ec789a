"""What must not be learnt: the target, and the verdict on a cell."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

import numpy as np

from safemargin.core.arrays import BoolArray, IntArray
from safemargin.core.errors import InputError


class Verdict(StrEnum):
    """What an onlooker's interval for a cell amounts to."""

    CONTAINED = "contained"
    OPEN = "open"
    DISCLOSED = "disclosed"


@dataclass(frozen=True)
class Target:
    """`(beta, kappa, tau, epsilon_max)`: no rate forced outside `[beta, 1 - beta]`, nobody hidden among fewer than
    `kappa` in a published cell, no count known to within `tau`, no noise that costs anyone more than `epsilon_max`.
    """

    beta: float = 0.05
    kappa: int = 10
    tau: int = 0
    epsilon_max: float = 1.0

    def __post_init__(self) -> None:
        # With a limit of 0 a share of 0 is within it, and the statement of a release would say nothing.
        if not 0 < self.beta < 0.5:
            raise InputError(f"target.beta = {self.beta}: must be above 0 and below 0.5")
        if self.kappa < 1:
            raise InputError(f"target.kappa = {self.kappa}: must be at least 1")
        if self.tau < 0:
            raise InputError(f"target.tau = {self.tau}: must not be negative")
        if not 0 < self.epsilon_max < math.inf:
            raise InputError(f"target.epsilon_max = {self.epsilon_max}: must be positive and finite")

    def limits(self, totals: Sequence[int], people: int) -> "Limits":
        """Per option, the rates that no cell may be forced below or above.

        With one option or two these are `beta` and `1 - beta`. With more, an option that few chose overall would put
        everybody below `beta` by the exact total alone; there the limit is half of what the total leaves.
        """
        # Exact limits: a rounded float could call a count at the limit disclosed.
        beta = Fraction(self.beta).limit_denominator(10**9)
        floors, ceilings = [], []
        for total in totals:
            share = Fraction(int(total), max(people, 1))
            many = len(totals) > 2
            floors.append(min(beta, share / 2) if many else beta)
            ceilings.append(1 - (min(beta, (1 - share) / 2) if many else beta))
        unchosen = tuple(len(totals) > 2 and total == 0 for total in totals)
        return Limits(tuple(floors), tuple(ceilings), self.kappa, self.tau, unchosen)


@dataclass(frozen=True)
class Limits:
    """A target made concrete for one electorate: exact rates per option."""

    floors: tuple[Fraction, ...]
    ceilings: tuple[Fraction, ...]
    kappa: int
    tau: int
    unchosen: tuple[bool, ...] = ()
    """Options that nobody chose, as the exact total says: that discloses nothing more about any cell."""

    def least(self, people: IntArray) -> IntArray:
        """Smallest count per option (columns) at or above the floor."""
        # Ceiling division of integers: no rounding at the limit.
        columns = [-((-people * f.numerator) // f.denominator) for f in self.floors]
        return np.stack(columns, axis=-1).astype(np.int64)

    def most(self, people: IntArray) -> IntArray:
        """Largest count per option (columns) at or below the ceiling."""
        columns = [(people * c.numerator) // c.denominator for c in self.ceilings]
        return np.stack(columns, axis=-1).astype(np.int64)

    def last(self, counts: IntArray, people: IntArray) -> BoolArray:
        """Where a count (cells in rows, options in columns) is the last within a limit: one answer more is outside.

        In cells so small that no count lies between the limits this is so for every count within them.
        """
        least, most = self.least(people), self.most(people)
        unchosen = np.array(self.unchosen or (False,) * counts.shape[1])
        at_limit = ((counts == least) & (least > 0)) | ((counts == most) & (most < people[:, None]))
        return np.asarray(at_limit & ~unchosen)

    def tolerance(self, people: IntArray) -> IntArray:
        """Widths up to this count as known: `tau`, but never more than a quarter of a small cell."""
        return np.minimum(self.tau, np.where(people > 0, people // 4, -1))

    def verdicts(self, lower: IntArray, upper: IntArray, people: IntArray | None) -> IntArray:
        """0 contained, 1 open, 2 disclosed, for counts per cell (rows) and option (columns).

        A cell is contained if its whole interval lies within the limits and it has `kappa` people. Otherwise it is
        disclosed if the interval lies wholly outside, or is no wider than `tau`; in small cells, than a quarter of
        their people: of two people, every count is within two, and that discloses nothing.
        """
        width = upper - lower
        if people is None:
            return np.where(width <= self.tau, 2, 1).astype(np.int64)
        size = people[:, None]
        least, most = self.least(people), self.most(people)
        inside = (lower >= least) & (upper <= most) & (size >= self.kappa)
        outside = (upper < least) | (lower > most)
        narrow = width <= self.tolerance(people)[:, None]
        inside |= np.array(self.unchosen or (False,) * width.shape[1])
        return np.where(inside, 0, np.where(outside | narrow, 2, 1)).astype(np.int64)


VERDICTS = (Verdict.CONTAINED, Verdict.OPEN, Verdict.DISCLOSED)
"""Verdicts by the codes that `Limits.verdicts` returns."""
