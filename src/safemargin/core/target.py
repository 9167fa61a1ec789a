"""What must not be learnt: the target, and the verdict on a cell."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from safemargin.core.arrays import BoolArray, IntArray
from safemargin.core.errors import InputError
from safemargin.core.secrets import Secrets


class Verdict(StrEnum):
    """What an onlooker's interval for a cell amounts to."""

    CONTAINED = "contained"
    OPEN = "open"
    DISCLOSED = "disclosed"


@dataclass(frozen=True)
class Target:
    """`(beta, kappa, tau, epsilon_max)`: no share of a secret forced above `1 - beta`, nobody hidden among fewer than
    `kappa` in a published cell, no count known to within `tau`, no noise that costs anyone more than `epsilon_max`.

    `secrets` are the sets of options that this is about (`secrets.py`): with two options a share outside
    `[beta, 1 - beta]`, with more that nearly all of a group chose one of them.

    `sensitive` categories (axis, category) are protected whatever their size: their counts are never known to within
    `tau`, also where they lie within the limits.

    Decisions use stricter limits, by `guard` (None: half of beta, or of what beta leaves of a half): so answers within
    the target could have been the reason of whatever is merged or omitted.

    A cell that integer tables do not clear is not proved. With `allow = "linear"` a release may have such cells where
    fractional tables do; its statement gives their number.

    With `posterior_max`, an axis is omitted if its noised counts make it more probable than this that one of its groups
    is outside the limits (docs/publish.md).

    The defaults are the limits of everything that states none; docs/target.md has their reasons.
    """

    beta: float = 0.05
    kappa: int = 30
    tau: int = 3
    epsilon_max: float = 1.0
    guard: float | None = None
    sensitive: tuple[tuple[str, str], ...] = ()
    secrets: Secrets = Secrets()
    allow: str = ""
    posterior_max: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "sensitive", _pairs(self.sensitive))
        object.__setattr__(self, "secrets", Secrets.parse(self.secrets))
        # With a limit of 0 a share of 0 is within it, and the statement of a release would say nothing.
        if not 0 < self.beta < 0.5:
            raise InputError(f"target.beta = {self.beta}: must be above 0 and below 0.5")
        if self.kappa < 1:
            raise InputError(f"target.kappa = {self.kappa}: must be at least 1")
        if self.tau < 0:
            raise InputError(f"target.tau = {self.tau}: must not be negative")
        if not 0 < self.epsilon_max < math.inf:
            raise InputError(f"target.epsilon_max = {self.epsilon_max}: must be positive and finite")
        if self.posterior_max is not None and not 0 < self.posterior_max < 1:
            raise InputError(f"target.posterior_max = {self.posterior_max}: must be above 0 and below 1")
        if self.allow not in ("", "linear"):
            raise InputError(f'target.allow = {self.allow!r}: must be "linear", or not be there')
        if self.guard is not None and not 0 < self.guard < 0.5 - self.beta:
            raise InputError(f"target.guard = {self.guard}: must be above 0 and below 0.5 - beta")

    @property
    def band(self) -> float:
        """By how much the limits of decisions are stricter."""
        return min(self.beta, 0.5 - self.beta) / 2 if self.guard is None else self.guard

    def stated(self) -> dict[str, object]:
        """The target as files state it: `sensitive` and `secrets` only where there is something to say."""
        by_axis: dict[str, list[str]] = {}
        for axis, category in self.sensitive:
            by_axis.setdefault(axis, []).append(category)
        plain = {name: getattr(self, name) for name in ("beta", "kappa", "tau", "epsilon_max", "guard")}
        secrets = {} if self.secrets == Secrets() else {"secrets": self.secrets.stated()}
        allowed: dict[str, object] = {"allow": self.allow} if self.allow else {}
        allowed |= {} if self.posterior_max is None else {"posterior_max": self.posterior_max}
        return {**plain, **({"sensitive": by_axis} if by_axis else {}), **secrets, **allowed}

    def total_exposes(self, totals: Sequence[int], people: int, options: Sequence[str] = ()) -> bool:
        """Whether the exact total by itself says how everybody chose: of one or two people, or where all but as few as
        count as nothing (`tau`, a quarter of few people) chose within one secret.
        """
        names = tuple(options) if len(options) == len(totals) else tuple(map(str, range(len(totals))))
        columns = self.secrets.columns(names, sum(totals) == people)
        counts = [sum(totals[o] for o in column.members) for column in columns if column.has_ceiling]
        return 0 < people <= 2 or (people > 0 and max(counts, default=0) >= people - min(self.tau, people // 4))

    def limits(self, totals: Sequence[int], people: int, options: Sequence[str] = ()) -> "Limits":
        """Per option, then per further set of options that is secret, the shares that no cell may be forced beyond.

        These are `1 - beta` from above, and `beta` from below where the complement is a secret. An option that few
        chose overall would put everybody below `beta` by the exact total alone, which is always published; there the
        limit is half of what the total leaves. `options` are the names, where secrets name any.
        """
        # Exact limits: a rounded float could call a count at the limit disclosed.
        beta = Fraction(self.beta).limit_denominator(10**9)
        names = tuple(options) if len(options) == len(totals) else tuple(map(str, range(len(totals))))
        columns = self.secrets.columns(names, sum(totals) == people)
        counts = [sum(int(totals[option]) for option in column.members) for column in columns]
        shares = tuple(Fraction(count, max(people, 1)) for count in counts)
        floors = tuple(
            min(beta, share / 2) if column.has_floor else NO_FLOOR
            for share, column in zip(shares, columns, strict=True)
        )
        ceilings = tuple(
            1 - min(beta, (1 - share) / 2) if column.has_ceiling else NO_CEILING
            for share, column in zip(shares, columns, strict=True)
        )
        unchosen = tuple(
            share in (0, 1) or not (column.has_floor or column.has_ceiling or column.least)
            for share, column in zip(shares, columns, strict=True)
        )
        # A band that is a fixed part of the floor: half as much again by default, also for options that few chose.
        part = Fraction(self.band).limit_denominator(10**9) / beta if beta else Fraction(0)
        sets = [column.members for column in columns[len(names) :]]
        fewest = tuple(column.least for column in columns)
        return Limits(
            floors,
            ceilings,
            self.kappa,
            self.tau,
            unchosen,
            part,
            shares,
            sensitive=frozenset(self.sensitive),
            allow_linear=self.allow == "linear",
            sets=tuple(sets),
            names=tuple(" or ".join(names[option] for option in members) for members in sets),
            fewest=fewest if any(fewest) else (),
            everybody=sum(totals) == people,
        )


NO_FLOOR, NO_CEILING = Fraction(-1), Fraction(2)
"""Of a column that is no secret from below, or from above: no count of any group is ever beyond these."""


@dataclass(frozen=True)
class Limits:
    """A target made concrete for one electorate: exact shares per column.

    A *column* is an option, in their order, or after these one of the further `sets` of options that are secret. All
    arrays of counts here have a column each; counts per option alone are completed where that is possible.
    """

    floors: tuple[Fraction, ...]
    ceilings: tuple[Fraction, ...]
    kappa: int
    tau: int
    unchosen: tuple[bool, ...] = ()
    """Columns of which the exact total says all, since nobody or everybody chose them, and those that are no secret:
    a cell discloses nothing more about them."""
    part: Fraction = Fraction(0)
    shares: tuple[Fraction, ...] = ()
    """The guard band as a part of each floor, and the overall share of every column, which stays inside."""
    outer: "Limits | None" = None
    """The limits of the target, where these are the stricter ones of decisions."""
    hypothetical: bool = False
    """Whether intervals come from tables that are only assumed: the true ones may be wider."""
    sensitive: frozenset[tuple[str, str]] = frozenset()
    """Categories (axis, category) that are never contained."""
    allow_linear: bool = False
    """Whether a cell may be cleared by fractional tables only; the statement is then qualified."""
    sets: tuple[tuple[int, ...], ...] = ()
    names: tuple[str, ...] = ()
    """Further sets of options, by number, and what they are called."""
    fewest: tuple[int, ...] = ()
    """Per column the smallest count above 0 that may be known; 0 where any may."""
    everybody: bool = True
    """Whether everybody chose one of the options."""

    @property
    def options(self) -> int:
        """How many columns are single options."""
        return len(self.floors) - len(self.sets)

    @cached_property
    def has_floor(self) -> BoolArray:
        """Columns that may not be known to be too small."""
        return np.array([floor >= 0 for floor in self.floors], dtype=bool)

    @cached_property
    def has_ceiling(self) -> BoolArray:
        """Columns that may not be known to be too large."""
        return np.array([ceiling <= 1 for ceiling in self.ceilings], dtype=bool)

    @cached_property
    def has_both_ends(self) -> bool:
        """Whether no column may be known to be too small, or too large."""
        return bool((self.has_floor & self.has_ceiling).all())

    @cached_property
    def members(self) -> IntArray:
        """Which options (rows) each further set (column) holds: 1 or 0."""
        inside = np.zeros((self.options, len(self.sets)), dtype=np.int64)
        for column, options in enumerate(self.sets):
            inside[list(options), column] = 1
        return inside

    def columns(self, counts: Any) -> Any:
        """Counts per option (last axis), of one table, with those of every further set behind them."""
        if not self.sets or counts.shape[-1] != self.options:
            return counts
        return np.concatenate([counts, counts @ self.members], axis=-1)

    def extended(self, lower: IntArray, upper: IntArray, people: IntArray) -> tuple[IntArray, IntArray]:
        """Intervals per option with those of every further set behind them, as far as these imply them."""
        if not self.sets or lower.shape[-1] != self.options:
            return lower, upper
        outside, size = 1 - self.members, people[:, None]
        least, most = lower @ self.members, np.minimum(upper @ self.members, size - lower @ outside)
        if self.everybody:
            least = np.maximum(least, size - upper @ outside)
        return np.concatenate([lower, least], axis=-1), np.concatenate([upper, np.maximum(most, least)], axis=-1)

    @cached_property
    def strict(self) -> "Limits":
        """The limits of decisions: inside these by the guard band, and by more than `tau` counts."""
        shares = self.shares or (Fraction(1, 2),) * len(self.floors)
        floors = tuple(
            floor if floor < 0 else _inward(floor, self.part, share)
            for floor, share in zip(self.floors, shares, strict=True)
        )
        ceilings = tuple(
            ceiling if ceiling > 1 else 1 - _inward(1 - ceiling, self.part, 1 - share)
            for ceiling, share in zip(self.ceilings, shares, strict=True)
        )
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
        """Smallest count per column at or above the floor."""
        # Ceiling division of integers: no rounding at the limit.
        over, under = self._floor_parts
        least: IntArray = (-((-people[..., None] * over) // under)).astype(np.int64)
        if self.outer is not None:
            least = np.maximum(least, self.outer.least(people) + self._count_guard(people)[..., None])
            least = np.minimum(least, people[..., None])  # nothing is stricter than that all counts are possible
        return least

    def most(self, people: IntArray) -> IntArray:
        """Largest count per column at or below the ceiling."""
        over, under = self._ceiling_parts
        most: IntArray = ((people[..., None] * over) // under).astype(np.int64)
        if self.outer is not None:
            most = np.minimum(most, self.outer.most(people) - self._count_guard(people)[..., None])
            most = np.maximum(most, 0)
        return most

    def few(self, people: IntArray) -> IntArray:
        """Largest count above 0 per column that may not be known; 0 where there is none."""
        fewest = np.array(self.fewest or (0,) * len(self.floors))
        # The same guard for groups of every size: if several have too few together, so has one of them.
        guard = self.outer.tau + 1 if self.outer is not None else 0
        few: IntArray = np.where(fewest > 0, fewest - 1 + guard, 0)
        return np.broadcast_to(few, (*people.shape, len(few)))

    def tolerance(self, people: IntArray) -> IntArray:
        """Widths up to this count as known: `tau`, but never more than a quarter of a small cell."""
        widest = min(self.tau, np.iinfo(np.int64).max)  # a certificate may state any integer
        return np.minimum(widest, np.where(people > 0, people // 4, -1))

    def verdicts(
        self,
        lower: IntArray,
        upper: IntArray,
        people: IntArray | None,
        ends: tuple[IntArray, IntArray] | None = None,
        sensitive: BoolArray | None = None,
    ) -> IntArray:
        """0 contained, 1 open, 2 disclosed, for counts per cell (rows) and column.

        A cell is contained if its whole interval lies within the limits and it has `kappa` people. Otherwise it is
        disclosed if the interval lies wholly outside, or is no wider than `tau` (in small cells, than a quarter of
        their people: of two people, every count is within two, and that discloses nothing) and says that somebody
        chose within a secret that is not contained. If the tables behind an interval are `hypothetical`, it is
        contained only if all intervals around it that are as narrow as `tau` are. `sensitive` cells are never
        contained, and narrow is enough. `ends` are `least` and `most` of these people, for callers who have them.
        """
        if people is None:
            return np.where(upper - lower <= self.tau, 2, 1).astype(np.int64)
        lower, upper = self.extended(lower, upper, people)
        size, never = people[:, None], np.zeros((len(people), 1), dtype=bool)
        least, most = ends or (self.least(people), self.most(people))
        spare = self.tolerance(people)[:, None] - (upper - lower)
        around = np.maximum(spare, 0) if self.hypothetical else 0
        never = never if sensitive is None else sensitive[:, None]
        large = (size >= self.kappa) & ~never
        above, below = lower - around >= least, upper + around <= most
        inside, outside = above & below & large, (upper < least) | (lower > most)
        if self.fewest:
            few = self.few(people)
            inside &= (lower - around > few) | (upper + around < 1) | (few == 0)
            outside |= (lower >= 1) & (upper <= few)
        # Of a secret that is not contained: somebody chose within it, and nearly how many is known.
        stated = (self.has_ceiling & ~(below & large) & (lower >= 1)) | (
            self.has_floor & ~(above & large) & (upper < size)
        )
        if self.fewest:
            stated |= (few > 0) & (lower >= 1) & ~inside
        inside |= np.array(self.unchosen or (False,) * lower.shape[1])
        return np.where(inside, 0, np.where(outside | ((spare >= 0) & (stated | never)), 2, 1)).astype(np.int64)


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
