"""Limits of epsilon: from reconstruction (Eq. 8), composition (9), budgets (14), tails (15) and small areas (16)."""

import math

from safemargin.samplers.checks import at_least, inside, positive, share

CENSUS_SHARE = 0.675 / 6
"""Of a global budget on one table of persons: 67.5 % at each of six geographies. The paper goes on with 10 %."""


def reconstruction_limit(people: int, confidence: float = 0.99) -> float:
    """Epsilon per count above which a database of so many yes-or-no records can be reconstructed.

    >>> round(reconstruction_limit(10**6, 0.99), 3)
    0.024
    """
    at_least("people", people, 2)
    inside("confidence", confidence)
    return math.log(people * math.log(people) ** 2 / (1 - confidence)) / math.sqrt(people)


def composed_noise(outputs: int, epsilon: float) -> float:
    """Standard deviation of Laplace noise on each of so many counts that share epsilon evenly.

    >>> round(composed_noise(2775, 1.0))
    3924
    """
    return math.sqrt(2) * at_least("outputs", outputs, 1) / positive("epsilon", epsilon)


def table_epsilon(epsilon: float, part: float = CENSUS_SHARE) -> float:
    """What one table gets of a global epsilon.

    >>> round(table_epsilon(8.0), 3), table_epsilon(8.0, 0.1)
    (0.9, 0.8)
    """
    return inside("share", part) * positive("epsilon", epsilon)


def tail_chance(error: float, epsilon: float) -> float:
    """Chance that Laplace noise is larger than `error`.

    >>> round(tail_chance(40, 0.1), 4)
    0.0183
    """
    return math.exp(-positive("epsilon", epsilon) * positive("error", error))


def utility_limit(areas: int, error: float, confidence: float = 0.68) -> float:
    """Epsilon below which some of so many counts is off by more than `error`, at this confidence.

    >>> round(utility_limit(37_000, 20), 2), round(utility_limit(68, 20), 2)
    (0.58, 0.27)
    """
    at_least("areas", areas, 1)
    return math.log(areas / (1 - inside("confidence", confidence))) / positive("error", error)


def error_limit(areas: int, epsilon: float, confidence: float = 0.68) -> float:
    """The error that none of so many counts exceeds, at this confidence.

    >>> round(error_limit(68, 0.27))
    20
    """
    at_least("areas", areas, 1)
    return math.log(areas / (1 - inside("confidence", confidence))) / positive("epsilon", epsilon)


def reidentified(reconstructed: float, matched: float) -> float:
    """Share of people named rightly: records rebuilt rightly, times those matched with the right person (Eq. 13).

    >>> reidentified(0.5, 0.38)
    0.19
    """
    return share("reconstructed", reconstructed) * share("matched", matched)
