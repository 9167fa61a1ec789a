"""How often an attack is right, with an interval."""

from dataclasses import dataclass

import numpy as np

from safemargin.core import FloatArray


@dataclass(frozen=True)
class Rate:
    """How often an attack was right, with an interval of 95 %; `of` says what was guessed."""

    name: str
    of: str
    rate: float | None
    interval: tuple[float, float] | None
    trials: int
    note: str = ""


def rate_of_guesses(name: str, of: str, right: FloatArray, note: str = "") -> Rate:
    """The mean over clients (rows). Guesses about one client depend on each other, so clients are what is counted."""
    mean, count = float(right.mean()), len(right)
    spread = 1.96 * float(right.mean(axis=tuple(range(1, right.ndim))).std()) / np.sqrt(count)
    low, high = mean - spread, mean + spread
    if spread == 0:  # all clients agree: Wilson's interval says how much so many of them can show
        from scipy.stats import binomtest  # slow to import, and few commands need it

        wilson = binomtest(round(mean * count), count).proportion_ci(method="wilson")
        low, high = float(wilson.low), float(wilson.high)
    return Rate(name, of, mean, (max(0.0, low), min(1.0, high)), count, note)
