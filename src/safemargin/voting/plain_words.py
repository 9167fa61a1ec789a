"""The privacy of an outcome in one sentence for people; what is at most is rounded up."""

import math

MOST_ODDS = 40.0
"""Largest epsilon whose factor is written out."""


def one_vote(epsilon: float, delta: float) -> str:
    """How much one vote can change what is published.

    >>> one_vote(0, 0.122463)
    'One vote changes the chance of any result by at most 12.3 in 100.'
    >>> one_vote(1, 0.000196)
    'One vote changes the odds of any result by a factor of at most 2.72, but for a chance of at most 1 in 5,100.'
    >>> one_vote(0.5, 0)
    'One vote changes the odds of any result by a factor of at most 1.65.'
    """
    if epsilon <= 0:
        if delta <= 0:
            return "No vote changes the chance of any result."
        return f"One vote changes the chance of any result by at most {at_most(delta)}."
    factor = f"{_up(math.exp(epsilon), 3):,.10g}" if epsilon <= MOST_ODDS else f"e^{epsilon:g}"
    words = f"One vote changes the odds of any result by a factor of at most {factor}"
    return f"{words}." if delta <= 0 else f"{words}, but for a chance of at most {at_most(delta)}."


def at_most(chance: float) -> str:
    """A chance, rounded up, as people say it.

    >>> at_most(0.122463), at_most(0.00123), at_most(1.0), at_most(3e-12)
    ('12.3 in 100', '1 in 810', '100 in 100', '1 in a billion')
    """
    if chance >= 0.01:
        return f"{min(_up(100 * chance, 3), 100.0):g} in 100"
    if chance < 1e-9:
        return "1 in a billion"
    return f"1 in {_down(1 / chance, 2):,.0f}"


def _up(value: float, digits: int) -> float:
    step = 10.0 ** (math.floor(math.log10(value)) - digits + 1)
    return float(f"{math.ceil(value / step) * step:.12g}")


def _down(value: float, digits: int) -> float:
    step = 10.0 ** (math.floor(math.log10(value)) - digits + 1)
    return float(f"{math.floor(value / step) * step:.12g}")
