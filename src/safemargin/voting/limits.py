"""How delta of positional rules falls in large electorates where every ranking is equally likely."""

from fractions import Fraction
from math import erf, pi, sqrt

import numpy as np

from safemargin.voting.rules.positional import Positional


def limiting_slope(rule: Positional) -> float:
    """The limit of 1 / (n delta squared).

    >>> from safemargin.voting.rules.borda import Borda
    >>> round(limiting_slope(Borda.of(3)), 6)
    1.396263
    """
    points, size = rule.points, rule.candidates
    mean = sum(points, Fraction(0)) / size
    variance = sum(((p - mean) ** 2 for p in points), Fraction(0)) / size
    spread = float(2 * size * variance / (size - 1))
    swing = float(sum((max(p - q, Fraction(0)) for p, q in zip(points, points[::-1], strict=True)), Fraction(0)))
    return 2 * pi * spread / (size * _others_below(size - 2) * swing) ** 2


def _others_below(count: int) -> float:
    """The chance that so many others are below two that tie: the mean of a power of the normal law."""
    nodes, weights = np.polynomial.hermite.hermgauss(120)
    normal = np.array([0.5 * (1 + erf(node / sqrt(2))) for node in nodes])
    return float((weights * normal**count).sum() / sqrt(pi))
