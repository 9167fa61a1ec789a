"""Laws of largest entropy under linear constraints: Newton's method on the dual, and exact integer weights.

A law on integers with mean 0 and variance V has the largest entropy where it is `exp(a + b v + c v^2)`. Where V is the
smallest or largest that any law on these integers has, two of them carry everything and the law is a fraction.

The R package ptable 1.0.0 solves another problem: a variance of at most V, probabilities of at least 1e-8 that do not
fall from the left end up to zero. Some counts then get less noise than V (`reference_chances`).
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np

from safemargin.core import BoolArray, FloatArray, InputError
from safemargin.samplers.checks import LARGEST_BOUND, at_least, variance_within

GRID = 10**15
"""Denominator that probabilities are rounded to, except the three that absorb the rounding."""
STEPS = 500
SETTLED = 2e-16
"""Distance of the features' means from their targets at which doubles cannot improve."""
SMALLEST = 1e-8
"""Smallest probability in the reference package."""


def attainable(noise: Sequence[int]) -> tuple[Fraction, Fraction]:
    """Smallest and largest variance of laws of mean zero on `noise`, which lies on both sides of zero or at it.

    >>> attainable((-1, 2, 3, 4, 5))
    (Fraction(2, 1), Fraction(5, 1))
    """
    # v -> v^2 is convex: the two values next to zero minimise its mean, the two outermost maximise it.
    below, above = max(v for v in noise if v <= 0), min(v for v in noise if v >= 0)
    return Fraction(-below * above), Fraction(-min(noise) * max(noise))


def two_points(low: int, high: int) -> dict[int, Fraction]:
    """The law of mean zero on one integer from each side of zero.

    >>> two_points(-1, 2)
    {-1: Fraction(2, 3), 2: Fraction(1, 3)}
    """
    if low == high == 0:
        return {0: Fraction(1)}
    if low == 0 or high == 0:
        return {low: Fraction(int(low == 0)), high: Fraction(int(high == 0))}
    return {low: Fraction(high, high - low), high: Fraction(-low, high - low)}


def largest_entropy(noise: Sequence[int], variance: Fraction) -> dict[int, Fraction]:
    """The law of mean zero and exactly this attainable variance; probabilities below 1e-15 are dropped.

    >>> law = largest_entropy((-1, 0, 1, 2), Fraction(1))
    >>> sum(law.values()), sum(v * p for v, p in law.items()), sum(v * v * p for v, p in law.items())
    (Fraction(1, 1), Fraction(0, 1), Fraction(1, 1))
    """
    least, most = attainable(noise)
    if not least <= variance <= most:
        nearest = float(min(max(variance, least), most))
        raise InputError(f"variance = {float(variance):g}: is not attainable, nearest is {nearest:g}")
    # At both ends the dual has no finite optimum: Newton's method would run away.
    if variance == least:
        return two_points(max(v for v in noise if v <= 0), min(v for v in noise if v >= 0))
    if variance == most:
        return two_points(min(noise), max(noise))
    values = np.array(noise, dtype=float)
    values /= abs(values).max()  # features of size 1 keep the Hessian well conditioned
    goal = float(variance) / max(v * v for v in noise)
    return _made_exact(noise, tilted(np.stack([values, values**2]), np.array([0.0, goal])), variance)


@lru_cache(maxsize=1024)
def bounded_law(bound: int, variance: float | None = None) -> FloatArray:
    """Probabilities of `-bound ... bound` by largest entropy; uniform without a variance.

    These are the p-table rows of counts that noise cannot make negative, as floats and for any variance.

    >>> [round(float(p), 4) for p in bounded_law(2, 1.0)]
    [0.0638, 0.2447, 0.383, 0.2447, 0.0638]
    >>> float(bounded_law(1)[0])
    0.3333333333333333
    """
    at_least("bound", bound, 1, LARGEST_BOUND)
    if variance is None:
        law: FloatArray = np.full(2 * bound + 1, 1 / (2 * bound + 1))
    else:
        # By symmetry the mean is 0 without a constraint. The target is scaled to 1, so that SETTLED is relative:
        # chances of Eq. (10) are powers of the tails, which an absolute error would drown.
        squares = np.arange(-bound, bound + 1).astype(float) ** 2 / variance_within(variance, bound)
        law = tilted(squares[None], np.ones(1))
    law.setflags(write=False)
    return law


def tilted(features: FloatArray, targets: FloatArray, base: FloatArray | None = None) -> FloatArray:
    """The law proportional to `base * exp(x @ features)` under which the features have these means.

    It has the largest entropy relative to `base`. Minimises the convex dual by damped Newton steps; the targets must
    lie inside the hull of the features.
    """
    start = np.zeros(features.shape[1]) if base is None else np.log(base)
    tilt = np.zeros(len(targets))
    value, chances = _dual(tilt, features, targets, start)
    slope = features @ chances - targets
    for _ in range(STEPS):
        centred = features - (features @ chances)[:, None]
        curve = (centred * chances) @ centred.T  # the Hessian of the dual is the covariance of the features
        # Least squares, as near the ends two points carry all the mass and the covariance is nearly singular.
        step, *_ = np.linalg.lstsq(curve, -slope, rcond=1e-15)
        if not (gain := float(slope @ step)) < 0 or abs(slope).max() <= SETTLED:
            break
        length = 1.0
        while length > (1e-12 if gain < -1e-6 else 0.1):
            value_there, there = _dual(tilt + length * step, features, targets, start)
            after = features @ there - targets
            # Armijo's rule. Close to the optimum the value no longer shows a gain, but the slope does.
            is_better = value_there <= value + 1e-4 * length * gain
            if is_better or (gain > -1e-6 and abs(after).max() < abs(slope).max() / 2):
                break
            length /= 2
        else:
            break
        tilt, value, chances, slope = tilt + length * step, value_there, there, after
    return chances


def _dual(tilt: FloatArray, features: FloatArray, targets: FloatArray, start: FloatArray) -> tuple[float, FloatArray]:
    weights = start + tilt @ features
    top = float(weights.max())  # subtracted so that exp cannot overflow
    raised = np.exp(weights - top)
    total = float(raised.sum())
    return top + math.log(total) - float(tilt @ targets), raised / total


def _made_exact(noise: Sequence[int], chances: FloatArray, variance: Fraction) -> dict[int, Fraction]:
    """All but the three largest probabilities on the grid, and those three so that all moments are exact."""
    three = sorted(noise[column] for column in np.argsort(-chances, kind="stable")[:3])
    law = {
        v: Fraction(round(float(chance) * GRID), GRID)
        for v, chance in zip(noise, chances, strict=True)
        if v not in three
    }
    moments = [Fraction(1), Fraction(0), variance]
    for power in range(3):
        moments[power] -= sum((v**power * part for v, part in law.items()), start=Fraction(0))
    # Three moments fix three probabilities: Lagrange's form of the inverse Vandermonde matrix, in fractions.
    for column, v in enumerate(three):
        a, b = three[:column] + three[column + 1 :]
        law[v] = (moments[2] - (a + b) * moments[1] + a * b * moments[0]) / ((v - a) * (v - b))
    if min(law.values()) < 0:
        raise InputError(f"variance = {float(variance)!r}: is too close to the end of what is attainable; use the end")
    return {v: part for v, part in sorted(law.items()) if part}


def reference_chances(count: int, noise: Sequence[int], variance: Fraction, monotone: bool = True) -> FloatArray:
    """The row of the reference package before it is rounded; `monotone` is its option `mono` for this count."""
    least, most = attainable(noise)
    if variance <= least and least > 0:
        raise InputError(
            f"count {count}: the reference needs a variance above {float(least):g}; without the compatible mode "
            f"{float(least):g} itself is attained"
        )
    values = np.array(noise, dtype=float)
    # "At most V": the optimum without a variance is kept where it satisfies the inequality.
    chances = _constrained(values, None, monotone)
    if chances is None or chances @ values**2 > float(variance):
        chances = _constrained(values, float(min(variance, most)), monotone)
    if chances is None:
        raise InputError(f"count {count}: the reference has no noise of variance {float(variance):g}")
    return chances


def _constrained(values: FloatArray, variance: float | None, monotone: bool) -> FloatArray | None:
    """Largest entropy by active sets: up to zero, a value is tied to the next if it would be more likely than that.

    Probabilities below the floor are fixed there. Constraints are only added, never dropped: in all tested settings
    this ends at the optimum of a general solver.
    """
    tied = np.zeros(len(values) - 1, dtype=bool)  # a value and the next
    floor = np.zeros(len(values), dtype=bool)
    rising = (values[1:] <= 0) & monotone
    for _ in range(4 * len(values)):
        chances = _pooled(values, variance, tied, floor)
        if chances is None:
            return None
        falls = rising & ~tied & (np.diff(chances) < -1e-12)  # beyond rounding errors of the solver
        low = ~floor & (chances < SMALLEST)
        if falls.any():
            tied |= falls
        elif low.any():
            floor |= low
        else:
            return chances
    return None


def _pooled(values: FloatArray, variance: float | None, tied: BoolArray, floor: BoolArray) -> FloatArray | None:
    """Largest entropy with equal probabilities within each pool of tied values, and `SMALLEST` at the floor."""
    pool = np.concatenate([[0], np.cumsum(~tied)])
    scale = abs(values).max()
    powers = np.stack([values / scale] if variance is None else [values / scale, (values / scale) ** 2])
    goals = np.array([0.0] if variance is None else [0.0, variance / scale**2])
    # The mean of a feature over its pool has the same tilt for all members: pooling becomes a change of features.
    features = np.stack([(np.bincount(pool, power) / np.bincount(pool))[pool] for power in powers])
    mass = 1 - SMALLEST * floor.sum()
    rest = (goals - SMALLEST * powers[:, floor].sum(axis=1)) / mass
    chances = np.full(len(values), SMALLEST)
    chances[~floor] = mass * tilted(features[:, ~floor], rest)
    return chances if abs(powers @ chances - goals).max() < 1e-9 else None
