"""What must not be learnt: the target, and the verdict on a cell."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from safemargin.core.arrays import IntArray
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

    `sensitive` categories (axis, category) are protected whatever their size: their counts are never known to within
    `tau`, also where they lie within the limits.

    Decisions use stricter limits, by `guard` (None: half of beta, or of what beta leaves of a half): so answers within
    the target could have been the reason of whatever is merged or omitted.

    The defaults are the limits of everything that states none; docs/target.md has their reasons.
    """

    beta: float = 0.05
    kappa: int = 30
    tau: int = 3
    epsilon_max: float = 1.0
    guard: float | None = None
    sensitive: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "sensitive", _pairs(self.sensitive))
        # With a limit of 0 a share of 0 is within it, and the statement of a release would say nothing.
        if not 0 < self.beta < 0.5:
            raise InputError(f"target.beta = {self.beta}: must be above 0 and below 0.5")
        if self.kappa < 1:
            raise InputError(f"target.kappa = {self.kappa}: must be at least 1")
        if self.tau < 0:
            raise InputError(f"target.tau = {self.tau}: must not be negative")
        if not 0 < self.epsilon_max < math.inf:
            raise InputError(f"target.epsilon_max = {self.epsilon_max}: must be positive and finite")
        if self.guard is not None and not 0 < self.guard < 0.5 - self.beta:
            raise InputError(f"target.guard = {self.guard}: must be above 0 and below 0.5 - beta")

    @property
    def band(self) -> float:
        """By how much the limits of decisions are stricter."""
        return min(self.beta, 0.5 - self.beta) / 2 if self.guard is None else self.guard

    def stated(self) -> dict[str, object]:
        """The target as files state it: `sensitive` only where there is something to say."""
        by_axis: dict[str, list[str]] = {}
        for axis, category in self.sensitive:
            by_axis.setdefault(axis, []).append(category)
        plain = {name: getattr(self, name) for name in ("beta", "kappa", "tau", "epsilon_max", "guard")}
        return {**plain, **({"sensitive": by_axis} if by_axis else {})}

    def limits(self, totals: Sequence[int], people: int) -> "Limits":
        """Per option, the rates that no cell may be forced below or above: `beta` and `1 - beta`.

        An option that few chose overall would put everybody below `beta` by the exact total alone, which is always
        published; there the limit is half of what the total leaves.
        """
        # Exact limits: a rounded float could call a count at the limit disclosed.
        beta = Fraction(self.beta).limit_denominator(10**9)
        shares = tuple(Fraction(int(total), max(people, 1)) for total in totals)
        floors = tuple(min(beta, share / 2) for share in shares)
        ceilings = tuple(1 - min(beta, (1 - share) / 2) for share in shares)
        unchosen = tuple(share in (0, 1) for share in shares)
        # A band that is a fixed part of the floor: half as much again by default, also for options that few chose.
        part = Fraction(self.band).limit_denominator(10**9) / beta if beta else Fraction(0)
        return Limits(
            floors, ceilings, self.kappa, self.tau, unchosen, part, shares, sensitive=frozenset(self.sensitive)
        )


@dataclass(frozen=True)
class Limits:
    """A target made concrete for one electorate: exact rates per option."""

    floors: tuple[Fraction, ...]
    ceilings: tuple[Fraction, ...]
    kappa: int
    tau: int
    unchosen: tuple[bool, ...] = ()
    """Options that nobody or everybody chose, as the exact total says: a cell discloses nothing more about them."""
    part: Fraction = Fraction(0)
    shares: tuple[Fraction, ...] = ()
    """The guard band as a part of each floor, and the overall share of every option, which stays inside."""
    outer: "Limits | None" = None
    """The limits of the target, where these are the stricter ones of decisions."""
    hypothetical: bool = False
    """Whether intervals come from tables that are only assumed: the true ones may be wider."""
    sensitive: frozenset[tuple[str, str]] = frozenset()
    """Categories (axis, category) that are never contained."""

    @cached_property
    def strict(self) -> "Limits":
        """The limits of decisions: inside these by the guard band, and by more than `tau` counts."""
        shares = self.shares or (Fraction(1, 2),) * len(self.floors)
        floors = tuple(_inward(floor, self.part, share) for floor, share in zip(self.floors, shares, strict=True))
        rests = zip(self.ceilings, shares, strict=True)
        ceilings = tuple(1 - _inward(1 - ceiling, self.part, 1 - share) for ceiling, share in rests)
        return replace(self, floors=floors, ceilings=ceilings, tau=self.tau + 1, outer=self)

    @cached_property
    def _floor_parts(self) -> tuple[IntArray, IntArray]:
        return _parts(self.floors)

    @cached_property
    def _ceiling_parts(self) -> tuple[IntArray, IntArray]:
        return _parts(self.ceilings)

    def _count_guard(self, people: IntArray) -> IntArray:
        """By how many counts at least the strict limits lie inside the others: more than what counts as known.

        It is subadditive: if the count of several groups is outside the strict limits, so is that of one of them.
        """
        assert self.outer is not None
        guard: IntArray = self.outer.tolerance(people) + 1
        return guard

    def least(self, people: IntArray) -> IntArray:
        """Smallest count per option (columns) at or above the floor."""
        # Ceiling division of integers: no rounding at the limit.
        over, under = self._floor_parts
        least: IntArray = (-((-people[..., None] * over) // under)).astype(np.int64)
        if self.outer is not None:
            least = np.maximum(least, self.outer.least(people) + self._count_guard(people)[..., None])
            least = np.minimum(least, people[..., None])  # nothing is stricter than that all counts are possible
        return least

    def most(self, people: IntArray) -> IntArray:
        """Largest count per option (columns) at or below the ceiling."""
        over, under = self._ceiling_parts
        most: IntArray = ((people[..., None] * over) // under).astype(np.int64)
        if self.outer is not None:
            most = np.minimum(most, self.outer.most(people) - self._count_guard(people)[..., None])
            most = np.maximum(most, 0)
        return most

    def tolerance(self, people: IntArray) -> IntArray:
        """Widths up to this count as known: `tau`, but never more than a quarter of a small cell."""
        return np.minimum(self.tau, np.where(people > 0, people // 4, -1))

    def verdicts(
        self, lower: IntArray, upper: IntArray, people: IntArray | None, ends: tuple[IntArray, IntArray] | None = None
    ) -> IntArray:
        """0 contained, 1 open, 2 disclosed, for counts per cell (rows) and option (columns).

        A cell is contained if its whole interval lies within the limits and it has `kappa` people. Otherwise it is
        disclosed if the interval lies wholly outside, or is no wider than `tau`; in small cells, than a quarter of
        their people: of two people, every count is within two, and that discloses nothing. If the tables behind an
        interval are `hypothetical`, it is contained only if all intervals around it that are as narrow as `tau` are.
        `ends` are `least` and `most` of these people, for callers who have them.
        """
        width = upper - lower
        if people is None:
            return np.where(width <= self.tau, 2, 1).astype(np.int64)
        size = people[:, None]
        least, most = ends or (self.least(people), self.most(people))
        spare = self.tolerance(people)[:, None] - width
        around = np.maximum(spare, 0) if self.hypothetical else 0
        inside = (lower - around >= least) & (upper + around <= most) & (size >= self.kappa)
        outside = (upper < least) | (lower > most)
        narrow = spare >= 0
        inside |= np.array(self.unchosen or (False,) * width.shape[1])
        return np.where(inside, 0, np.where(outside | narrow, 2, 1)).astype(np.int64)


def _pairs(stated: object) -> tuple[tuple[str, str], ...]:
    """Sensitive categories as pairs, from these or from lists by axis."""
    if isinstance(stated, Mapping):
        if not all(isinstance(names, list | tuple) for names in stated.values()):
            raise InputError("target.sensitive: must list the categories of each axis")
        stated = [(axis, name) for axis, names in stated.items() for name in names]
    pairs: list[Any] = list(stated) if isinstance(stated, list | tuple) else [()]
    if not all(isinstance(p, tuple) and len(p) == 2 and all(isinstance(n, str) for n in p) for p in pairs):
        raise InputError("target.sensitive: must list the categories of each axis")
    return tuple(sorted(set(pairs)))


def _parts(rates: Sequence[Fraction]) -> tuple[IntArray, IntArray]:
    """Numerators and denominators; in Python's own integers where products with ten billion people leave 64 bits."""
    pairs = np.array([rate.as_integer_ratio() for rate in rates], dtype=object).reshape(-1, 2)
    pairs = pairs.astype(np.int64) if pairs.max(initial=0) < 2**29 else pairs
    return pairs[:, 0], pairs[:, 1]


def _inward(floor: Fraction, part: Fraction, share: Fraction) -> Fraction:
    """A floor raised by a part of itself, but at most half the way to the overall share, which the total publishes."""
    return max(floor, min(floor * (1 + part), (floor + share) / 2))


VERDICTS = (Verdict.CONTAINED, Verdict.OPEN, Verdict.DISCLOSED)
"""Verdicts by the codes that `Limits.verdicts` returns."""
