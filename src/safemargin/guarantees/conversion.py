"""Budgets in other measures: what a bound in rho squared says as epsilon at a delta, and back."""

import math
from decimal import Decimal

from safemargin.core import InputError, epsilon_of


def published_epsilon(rho_squared: float, delta: float) -> float:
    """Epsilon at `delta` as the Census Bureau printed it for most products (Bun and Steinke 2016, Proposition 1.3).

    >>> round(published_epsilon(55.371, 1e-10), 2), round(published_epsilon(221.484, 1e-10), 2)
    (126.78, 364.31)
    """
    _check(rho_squared, delta)
    return rho_squared + 2 * math.sqrt(rho_squared * -math.log(delta))


def tight_epsilon(rho_squared: float, delta: float) -> float:
    """The smallest epsilon at `delta` that follows by Canonne, Kamath and Steinke (2020), Corollary 13.

    Every order `alpha` gives a valid bound, so where the search ends short of the best one, the answer is safe.

    >>> round(tight_epsilon(293764 / 114921, 1e-10), 2)
    17.14
    """
    _check(rho_squared, delta)
    if rho_squared == 0:
        return 0.0
    return min(epsilon_of(rho_squared, delta), published_epsilon(rho_squared, delta))


def rho_squared_for(epsilon: float, delta: float) -> float:
    """The largest rho squared whose published epsilon at `delta` is at most `epsilon`.

    >>> round(rho_squared_for(126.7843, 1e-10), 3)
    55.371
    """
    _check(epsilon, delta)
    spread = -math.log(delta)
    return (epsilon / (math.sqrt(spread + epsilon) + math.sqrt(spread))) ** 2


def printed_interval(epsilon: str, delta: float) -> tuple[float, float]:
    """From which to which rho squared the published epsilon rounds to `epsilon`, to as many digits as it is written.

    >>> [round(end, 5) for end in printed_interval("2.70", 1e-10)]
    [0.07455, 0.07509]
    """
    try:
        middle = Decimal(epsilon)
        half = Decimal((0, (5,), int(middle.as_tuple().exponent) - 1))
    except (ArithmeticError, ValueError):
        raise InputError(f"epsilon = {epsilon}: must be a number as it was printed, e.g. 17.90") from None
    return rho_squared_for(max(0.0, float(middle - half)), delta), rho_squared_for(float(middle + half), delta)


def pure_to_zcdp(epsilon: float) -> float:
    """Rho squared of a mechanism with this epsilon (Bun and Steinke 2016, Proposition 1.4).

    >>> pure_to_zcdp(2.0)
    2.0
    """
    return epsilon * epsilon / 2


def _check(amount: float, delta: float) -> None:
    if not 0 <= amount < math.inf:
        raise InputError(f"budget = {amount}: must be a number from 0 up")
    if not 0 < delta < 1:
        raise InputError(f"delta = {delta}: must lie between 0 and 1")
