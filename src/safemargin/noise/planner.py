"""Constraints on noise: which noise a programme of tables leaves room for (section 5 and Fig. 6 of the paper).

Bounded noise of variance V within E survives if averaging is not right too often (V is large enough), if the counts
that are printed beside their parts do not disclose E (E is large enough for V), and if users accept E as an error.
Noise with an epsilon survives if averaging is not right too often (epsilon is small enough) and no small area is off by
too much (epsilon is large enough). Bounded noise is the same for the same participants; noise with an epsilon is new in
every table. Truncated noise has both a bound and an (epsilon, delta); each statistic is printed once.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from safemargin.noise.calculators import (
    MOST_PARTS,
    NoiseRequirements,
    edge_chance,
    epsilon_of,
    gaussian_success,
    reveal_chance,
    reveal_risk,
    utility_limit,
    variance_needed,
)
from safemargin.noise.laws import hockey_stick, law_variance, truncated_law
from safemargin.noise.redundancy import Output, Splits

RELAXED = 0.8
"""How often averaging may be right where constraints are loosened a little."""
STEP = 0.25
"""Step between variances on the plane."""
ENOUGH_PARTS = 8


@dataclass(frozen=True)
class Point:
    """Noise of some variance within some bound, and its fate.

    `averaged` is how often the most exposed estimate is right, `disclosed` the chance that the bound is.
    """

    variance: float
    bound: int
    fate: str
    averaged: float
    disclosed: float


@dataclass(frozen=True)
class TruncatedPoint:
    """Noise of a law with the variance that averaging needs, drawn again beyond a bound: (epsilon, delta) per count.

    `parameter` is the epsilon of geometric and Laplace noise, the variance of Gaussian noise before it is cut.
    """

    law: str
    bound: int
    parameter: float
    epsilon: float
    delta: float
    disclosed: float
    fate: str


@dataclass(frozen=True)
class Band:
    """Epsilons between what small areas need and what averaging allows; empty if `low` is above `high`.

    `relaxed` is the upper end if the one statistic that is averaged most easily may be; `once` if every statistic is
    printed once, as `publish` does.
    """

    low: float
    high: float
    relaxed: float
    once: float

    @property
    def is_open(self) -> bool:
        """Whether any epsilon meets both constraints."""
        return self.low <= self.high


@dataclass(frozen=True)
class Drop:
    """Tables whose omission leaves room for noise, in the order in which they are dropped, and that noise if any."""

    tables: tuple[str, ...]
    least_variance: float
    recommended: Point | None


def epsilon_band(
    small_areas: int, ratios: Sequence[float], wishes: NoiseRequirements, once: float | None = None
) -> Band:
    """The epsilons that small areas and averaging leave; the paper has 0.27 to 0.31 for Malta, relaxed to 0.37.

    >>> band = epsilon_band(68, [0.0118, 0.0170], NoiseRequirements())
    >>> round(band.low, 2), round(band.high, 2), round(band.relaxed, 2)
    (0.27, 0.31, 0.37)
    """
    # The most exposed statistic sets the upper end; without it the next one does.
    smallest, *others = sorted({round(ratio, 12) for ratio in ratios})  # equal ratios differ by rounding errors
    low = utility_limit(small_areas, wishes.area_error, wishes.confidence)
    limits = (smallest, others[0] if others else smallest, smallest if once is None else once)
    return Band(low, *(epsilon_of(variance_needed(ratio, wishes.confidence)) for ratio in limits))


def bound_risk(bound: int, splits: Splits, chance: Callable[[int], float]) -> float:
    """Chance that the counts of a programme beside their parts disclose the bound, by the most revealing variable.

    `chance` is that of one count with so many parts.
    """
    risks = [0.0]
    # More than eight parts disclose less than eight and are taken for eight. With a bound of 1 any gap discloses it.
    most = ENOUGH_PARTS if bound > 1 else MOST_PARTS
    for by_parts in splits.values():
        hidden = 1.0
        for parts, often in by_parts.items():
            if parts > 1:
                hidden *= 1 - reveal_risk(chance(min(parts, most)), often)
        risks.append(1 - hidden)
    # Tuples of one variable are independent, those of two are not: the largest risk, not the product.
    return max(risks)


def plane(ratio: float, splits: Splits, wishes: NoiseRequirements, least: float) -> tuple[Point, ...]:
    widest = wishes.largest_bound + max(2, wishes.largest_bound // 5)  # show a little of what is too wide
    most = max(6.0, min(2 * least, widest * (widest + 1) / 3))
    step = STEP * max(1, round(most / 6))
    return tuple(
        judge(step * number, bound, ratio, splits, wishes)
        for bound in range(1, widest + 1)
        for number in range(1, int(most / step) + 1)
    )


def rounded_up(value: float) -> float:
    """Two digits, not less.

    >>> rounded_up(2.9157), rounded_up(0.5688), rounded_up(21.4)
    (3.0, 0.57, 22.0)
    """
    # 1e-9: a value that has two digits already must not be rounded up by its last bit.
    digits = 1 - math.floor(math.log10(value))
    return math.ceil(value * 10.0**digits - 1e-9) / 10.0**digits


def judge(variance: float, bound: int, ratio: float, splits: Splits, wishes: NoiseRequirements) -> Point:
    """The fate of noise of this variance within this bound."""
    averaged = gaussian_success(ratio, variance)
    if variance > bound * (bound + 1) / 3:  # uniform noise has the largest variance
        return Point(variance, bound, "impossible", averaged, 1.0)
    risk = bound_risk(bound, splits, lambda parts: reveal_chance(bound, variance, parts))
    if bound > wishes.largest_bound:
        fate = "too wide"
    elif risk > wishes.confidence:
        fate = "bound disclosed"
    elif averaged <= wishes.confidence + 1e-9:  # the variance may have been computed from this confidence
        fate = "survives"
    else:
        fate = "relaxed" if averaged <= max(RELAXED, wishes.confidence) else "averaging"
    return Point(variance, bound, fate, averaged, risk)


def cut(law: str, bound: int, variance: float, splits: Splits, wishes: NoiseRequirements) -> TruncatedPoint | None:
    """Noise of this law that has the variance when it is drawn again beyond the bound; None if none has as much."""
    if variance >= bound * (bound + 1) / 3:
        return None
    from scipy.optimize import brentq  # slow to import, and few calls need it

    # The variance of Gaussian noise that is cut rises in its own, that of the others falls in epsilon; all end uniform.
    ends = (1e-3, 1e9) if law == "gaussian" else (1e-9, 50.0)
    parameter = float(brentq(lambda x: law_variance(truncated_law(law, x, bound)) - variance, *ends))
    chances = truncated_law(law, parameter, bound)
    # Gaussian noise has many pairs of epsilon and delta: the epsilon of geometric noise of this variance is comparable.
    epsilon = epsilon_of(variance) if law == "gaussian" else parameter
    risk = bound_risk(bound, splits, lambda parts: edge_chance(chances, parts))
    fate = "bound disclosed" if risk > wishes.confidence else "survives"
    return TruncatedPoint(law, bound, parameter, epsilon, hockey_stick(chances, epsilon), risk, fate)


def recommended(output: Output, wishes: NoiseRequirements) -> Point | None:
    """The least noise that survives: the variance that averaging needs, in the smallest bound that is not disclosed."""
    variance = rounded_up(variance_needed(output.ratio, wishes.confidence))
    bounds = range(1, wishes.largest_bound + 1)
    tried = (judge(variance, bound, output.ratio, output.tuples, wishes) for bound in bounds)
    return next((point for point in tried if point.fate == "survives"), None)
