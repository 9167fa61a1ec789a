"""Laws of largest entropy under linear constraints: Newton's method on the dual, and exact whole-number weights.

A law on whole numbers with mean 0 and variance V has the largest entropy where it is `exp(a + b v + c v^2)`. Where V is
the smallest or largest that any law on these numbers has, two of them carry everything and the law is a fraction.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from safemargin.core import FloatArray, InputError

GRID = 10**15
"""Parts that a probability is rounded to, but for three of them, which make up for it."""

STEPS = 500
SETTLED = 2e-16
"""Means of features as near to their targets as doubles tell."""


def attainable(noise: Sequence[int]) -> tuple[Fraction, Fraction]:
    """Smallest and largest variance of laws of mean zero on `noise`, which lies on both sides of zero or at it.

    >>> attainable((-1, 2, 3, 4, 5))
    (Fraction(2, 1), Fraction(5, 1))
    """
    below, above = max(v for v in noise if v <= 0), min(v for v in noise if v >= 0)
    return Fraction(-below * above), Fraction(-min(noise) * max(noise))


def two_points(low: int, high: int) -> dict[int, Fraction]:
    """The law of mean zero on one number from each side of zero.

    >>> two_points(-1, 2)
    {-1: Fraction(2, 3), 2: Fraction(1, 3)}
    """
    if low == high == 0:
        return {0: Fraction(1)}
    if low == 0 or high == 0:
        return {low: Fraction(int(low == 0)), high: Fraction(int(high == 0))}
    return {low: Fraction(high, high - low), high: Fraction(-low, high - low)}


def largest_entropy(noise: Sequence[int], variance: Fraction) -> dict[int, Fraction]:
    """The law of mean zero and exactly this attainable variance; values are dropped whose probability is below 1e-15.

    >>> law = largest_entropy((-1, 0, 1, 2), Fraction(1))
    >>> sum(law.values()), sum(v * p for v, p in law.items()), sum(v * v * p for v, p in law.items())
    (Fraction(1, 1), Fraction(0, 1), Fraction(1, 1))
    """
    least, most = attainable(noise)
    if not least <= variance <= most:
        raise InputError(
            f"variance = {float(variance):g}: is not attainable, nearest is {float(min(max(variance, least), most)):g}"
        )
    if variance == least:
        return two_points(max(v for v in noise if v <= 0), min(v for v in noise if v >= 0))
    if variance == most:
        return two_points(min(noise), max(noise))
    values = np.array(noise, dtype=float)
    scale = float(max(abs(values)))
    features = np.stack([values / scale, (values / scale) ** 2])
    chances = tilted(features, np.array([0.0, float(variance) / scale**2]))
    return _made_exact(noise, chances, variance)


def tilted(features: FloatArray, targets: FloatArray) -> FloatArray:
    """The law proportional to `exp(x @ features)` under which the features have these means.

    Minimises the convex dual by damped Newton steps; the targets must lie inside the hull of the features.
    """
    tilt = np.zeros(len(targets))
    value, chances = _dual(tilt, features, targets)
    slope = features @ chances - targets
    for _ in range(STEPS):
        centred = features - (features @ chances)[:, None]
        curve = (centred * chances) @ centred.T
        step, *_ = np.linalg.lstsq(curve, -slope, rcond=1e-15)
        if not (gain := float(slope @ step)) < 0 or abs(slope).max() <= SETTLED:
            break
        length = 1.0
        while length > (1e-12 if gain < -1e-6 else 0.1):
            tried, there = _dual(tilt + length * step, features, targets)
            after = features @ there - targets
            # Close to the end the value no longer shows a gain, but the slope does.
            if tried <= value + 1e-4 * length * gain or (gain > -1e-6 and abs(after).max() < abs(slope).max() / 2):
                break
            length /= 2
        else:
            break
        tilt, value, chances, slope = tilt + length * step, tried, there, after
    return chances


def _dual(tilt: FloatArray, features: FloatArray, targets: FloatArray) -> tuple[float, FloatArray]:
    weights = tilt @ features
    top = float(weights.max())
    raised = np.exp(weights - top)
    total = float(raised.sum())
    return top + math.log(total) - float(tilt @ targets), raised / total


def _made_exact(noise: Sequence[int], chances: FloatArray, variance: Fraction) -> dict[int, Fraction]:
    """All but the three largest probabilities on the grid, and those three so that all moments are exact."""
    order = np.argsort(-chances, kind="stable")
    three = sorted(noise[place] for place in order[:3])
    law = {
        v: Fraction(round(float(chance) * GRID), GRID)
        for v, chance in zip(noise, chances, strict=True)
        if v not in three
    }
    moments = [Fraction(1), Fraction(0), variance]
    for power in range(3):
        moments[power] -= sum((v**power * part for v, part in law.items()), start=Fraction(0))
    for place, v in enumerate(three):
        one, other = three[:place] + three[place + 1 :]
        law[v] = (moments[2] - (one + other) * moments[1] + one * other * moments[0]) / ((v - one) * (v - other))
    if min(law.values()) < 0:
        raise InputError(f"variance = {float(variance)!r}: is too close to the end of what is attainable; take the end")
    return {v: part for v, part in sorted(law.items()) if part}
