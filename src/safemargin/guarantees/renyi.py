"""The normalised Renyi metric between two laws on whole numbers or any finite list: what zCDP bounds.

The supremum over orders is searched on a fine grid with the whole numbers in it, and then between the best neighbours:
a coarse grid would understate the loss, and some laws reach it at whole orders only.
"""

import math
from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from safemargin.core import FloatArray
from safemargin.guarantees.exact import Data, Law, Metric, Output

WHOLE = 64
"""Whole orders that are all tried."""
STEPS = 40
GOLDEN = (math.sqrt(5) - 1) / 2


def renyi(order: float, one: FloatArray, other: FloatArray) -> float:
    """Renyi divergence of two vectors of log probabilities; at order 1 that of Kullback and Leibler."""
    inside = np.isfinite(one)
    if np.isneginf(other[inside]).any():
        return math.inf
    p, q = one[inside], other[inside]
    if abs(order - 1) < 1e-9:
        return float(np.exp(p) @ (p - q))
    if order < 1.5 and (order - 1) * float(np.abs(p - q).max()) < 600:  # without taking large numbers from each other
        return math.log1p(float(np.exp(p) @ np.expm1((order - 1) * (p - q)))) / (order - 1)
    terms = order * p + (1 - order) * q
    top = float(terms.max())
    return (top + math.log(float(np.exp(terms - top).sum()))) / (order - 1)


def renyi_metric(one: FloatArray, other: FloatArray) -> float:
    """The least rho such that both divergences of every order a are at most a times rho squared."""

    def value(order: float) -> float:
        return max(renyi(order, one, other), renyi(order, other, one), 0.0) / order

    if np.array_equal(one, other):
        return 0.0
    orders = sorted({1.0, *(1 + 10 ** (n / 10) for n in range(-60, 41)), *map(float, range(2, WHOLE + 1))})
    found = [value(order) for order in orders]
    if math.inf in found:
        return math.inf
    best = max(found)
    for place in np.argsort(found)[-2:]:
        low, high = orders[max(place - 1, 0)], orders[min(place + 1, len(orders) - 1)]
        for _ in range(STEPS):
            left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
            low, high = (low, right) if value(left) >= value(right) else (left, high)
        best = max(best, value((low + high) / 2))
    return math.sqrt(best)


def renyi_distance(one: Law[Output], other: Law[Output]) -> float:
    """The metric between two exact laws."""
    outputs = list(dict.fromkeys([*one, *other]))
    return renyi_metric(_logs(one, outputs), _logs(other, outputs))


def zcdp_loss(laws: Mapping[Data, Law[Output]], distance: Metric[Data]) -> tuple[float, tuple[Data, Data] | None]:
    """The largest rho squared over all pairs of the data sets of one universe, and where: what zCDP has to allow."""
    best, where = 0.0, None
    data = list(laws)
    for row, one in enumerate(data):
        for other in data[:row]:
            apart = min(distance(one, other), distance(other, one))
            lost = renyi_distance(laws[one], laws[other]) if apart < math.inf else 0.0
            if lost and (found := math.inf if apart == 0 else (lost / apart) ** 2) > best:
                best, where = found, (one, other)
    return best, where


def discrete_gaussian(variance: float, shift: int, reach: int) -> FloatArray:
    """Log probabilities of discrete Gaussian noise around `shift`, on the whole numbers up to `reach` from 0."""
    places = np.arange(-reach, reach + 1, dtype=np.float64) - shift
    logs = -(places**2) / (2 * variance)
    return np.asarray(logs - math.log(float(np.exp(logs).sum())), dtype=np.float64)


def _logs(law: Mapping[Output, Fraction], outputs: list[Output]) -> FloatArray:
    chances = [law.get(output, Fraction(0)) for output in outputs]
    return np.array([math.log(c.numerator) - math.log(c.denominator) if c else -math.inf for c in chances])
