"""The planner: which noise a programme of tables leaves room for.

Bounded noise of variance V within E survives if averaging is not right too often (V is large enough), if the counts
that are printed beside their parts do not tell E (E is large enough for V), and if users accept E as an error. Noise
with an epsilon survives if averaging is not right too often (epsilon is small enough) and no small area is off by too
much (epsilon is large enough). Bounded noise is the same for the same participants; noise with an epsilon is new in
every table.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from safemargin.noise.averaging import CONFIDENCE, epsilon_of, gaussian_success, variance_needed
from safemargin.noise.limits import utility_limit
from safemargin.noise.programme import Programme
from safemargin.noise.redundancy import Redundancy, redundancies, tuples
from safemargin.noise.reveal import MOST_PARTS, reveal_chance, reveal_risk
from safemargin.samplers.checks import at_least, inside, positive

RELAXED = 0.8
"""How often averaging may be right where constraints are loosened a little."""

STEP = 0.25
"""Between variances that are tried."""

ENOUGH_PARTS = 8

FATES = ("survives", "relaxed", "averaging", "bound told", "too wide", "impossible")
"""What may be said of noise of some variance within some bound: the first constraint that it misses."""


@dataclass(frozen=True)
class Wishes:
    """What an office accepts: how sure an onlooker may be, the largest bound, and the error of a small area."""

    confidence: float = CONFIDENCE
    largest_bound: int = 10
    area_error: float = 20

    def __post_init__(self) -> None:
        inside("confidence", self.confidence)
        at_least("largest bound", self.largest_bound, 1, 100)
        positive("area error", self.area_error)


@dataclass(frozen=True)
class Point:
    """Noise of some variance within some bound, and what becomes of it."""

    variance: float
    bound: int
    fate: str
    averaged: float
    told: float


@dataclass(frozen=True)
class Band:
    """Epsilons between what small areas need and what averaging allows; empty if `low` is above `high`.

    `relaxed` is the upper end where the one statistic that is averaged most easily may be.
    """

    low: float
    high: float
    relaxed: float

    @property
    def is_open(self) -> bool:
        """Whether any epsilon meets both constraints."""
        return self.low <= self.high


@dataclass(frozen=True)
class NoisePlan:
    """What was counted in a programme, and the noise that survives."""

    title: str
    wishes: Wishes
    tables: int
    statistics: int
    riskiest: Redundancy
    riskiest_without: Redundancy
    small_areas: int
    tuples: Mapping[str, Mapping[int, int]]
    least_variance: float
    points: tuple[Point, ...]
    band: Band
    recommended: Point | None

    @property
    def surviving(self) -> tuple[Point, ...]:
        """The noise that meets every constraint."""
        return tuple(point for point in self.points if point.fate == "survives")


def plan_noise(programme: Programme, wishes: Wishes | None = None) -> NoisePlan:
    """Count a programme and try every bound and variance."""
    wishes = wishes or Wishes()
    same = redundancies(programme)
    fresh = redundancies(programme, same_noise=False)
    riskiest = min(same, key=lambda each: each.linear)
    split = tuples(programme)
    least = variance_needed(riskiest.linear, wishes.confidence)
    points = _points(riskiest.linear, split, wishes, least)
    return NoisePlan(
        programme.title,
        wishes,
        len(programme.tables),
        len(same),
        riskiest,
        min(fresh, key=lambda each: each.linear),
        programme.small_areas,
        split,
        least,
        points,
        epsilon_band(programme.small_areas, [each.linear for each in fresh], wishes),
        _recommended(riskiest.linear, split, wishes, least),
    )


def epsilon_band(small_areas: int, ratios: Sequence[float], wishes: Wishes) -> Band:
    """The epsilons that small areas and averaging leave; the paper has 0.27 to 0.31 for Malta, relaxed to 0.37.

    >>> band = epsilon_band(68, [0.0118, 0.0170], Wishes())
    >>> round(band.low, 2), round(band.high, 2), round(band.relaxed, 2)
    (0.27, 0.31, 0.37)
    """
    smallest, *others = sorted({round(ratio, 12) for ratio in ratios})
    second = others[0] if others else smallest
    low = utility_limit(small_areas, wishes.area_error, wishes.confidence)
    high, relaxed = (epsilon_of(variance_needed(ratio, wishes.confidence)) for ratio in (smallest, second))
    return Band(low, high, relaxed)


def told_risk(variance: float, bound: int, split: Mapping[str, Mapping[int, int]]) -> float:
    """Chance that the counts of a programme beside their parts tell the bound, by the variable that tells most.

    More than eight parts tell less than eight; they are taken for eight. With a bound of 1 any gap tells it.
    """
    risks = [0.0]
    most = ENOUGH_PARTS if bound > 1 else MOST_PARTS
    for counted in split.values():
        untold = 1.0
        for parts, often in counted.items():
            if parts > 1:
                untold *= 1 - reveal_risk(_chance(bound, variance, min(parts, most)), often)
        risks.append(1 - untold)
    return max(risks)


@lru_cache(maxsize=4096)
def _chance(bound: int, variance: float, parts: int) -> float:
    return reveal_chance(bound, variance, parts)


def _points(ratio: float, split: Mapping[str, Mapping[int, int]], wishes: Wishes, least: float) -> tuple[Point, ...]:
    widest = wishes.largest_bound + max(2, wishes.largest_bound // 5)
    most = max(6.0, min(2 * least, widest * (widest + 1) / 3))
    found = []
    step = STEP * max(1, round(most / 6))
    for bound in range(1, widest + 1):
        for place in range(1, int(most / step) + 1):
            found.append(judge(step * place, bound, ratio, split, wishes))
    return tuple(found)


def _recommended(ratio: float, split: Mapping[str, Mapping[int, int]], wishes: Wishes, least: float) -> Point | None:
    """The least noise that survives: the variance that averaging needs, in the smallest bound that is not told."""
    variance = rounded_up(least)
    tried = (judge(variance, bound, ratio, split, wishes) for bound in range(1, wishes.largest_bound + 1))
    return next((point for point in tried if point.fate == "survives"), None)


def rounded_up(value: float) -> float:
    """Two digits, not less.

    >>> rounded_up(2.9157), rounded_up(0.5688), rounded_up(21.4)
    (3.0, 0.57, 22.0)
    """
    digits = 1 - math.floor(math.log10(value))
    return math.ceil(value * 10.0**digits - 1e-9) / 10.0**digits


def judge(variance: float, bound: int, ratio: float, split: Mapping[str, Mapping[int, int]], wishes: Wishes) -> Point:
    """What becomes of noise of this variance within this bound."""
    averaged = gaussian_success(ratio, variance)
    if variance > bound * (bound + 1) / 3:
        return Point(variance, bound, "impossible", averaged, 1.0)
    told = told_risk(variance, bound, split)
    if bound > wishes.largest_bound:
        fate = "too wide"
    elif told > wishes.confidence:
        fate = "bound told"
    elif averaged <= wishes.confidence + 1e-9:
        fate = "survives"
    else:
        fate = "relaxed" if averaged <= max(RELAXED, wishes.confidence) else "averaging"
    return Point(variance, bound, fate, averaged, told)
