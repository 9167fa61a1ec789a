"""Epsilon at a delta from the distribution of losses itself: tighter than any conversion of rho.

Counts with discrete Gaussian noise, each moved by one: the losses of single counts are known exactly and independent,
so that of all is their convolution. Losses are rounded up to a grid, which can only overstate delta. Laws are tilted
towards the losses that matter before they are convolved, so that rounding errors of the transform stay small there.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from safemargin.core import FloatArray, InputError, IntArray
from safemargin.guarantees.conversion import tight_epsilon

POINTS = 1 << 18
NEVER = 90.0
"""Chances of e to minus this are spent on noise that is not listed."""
ERROR, ERROR_EACH = 1e-7, 1e-11
"""Bound on rounding errors, as a share of the tilted law: at least so much, and so much for each count.

Of 2**18 points, a transform is off by 1e-14 times their square root, and a power by as much for every factor.
"""
WIDE = 1 << 22
"""Steps of noise on one count that are still listed: for more, what rho says has to do."""


@dataclass(frozen=True)
class _Losses:
    """The law of a loss on a grid of `step`: places, and the logarithms of their chances."""

    place: IntArray
    logs: FloatArray
    step: float

    def log_sum(self, tilt: float) -> float:
        """Logarithm of the mean of e to `tilt` times the loss."""
        terms = self.logs + tilt * self.step * self.place
        top = float(terms.max())
        return top + math.log(float(np.exp(terms - top).sum()))

    def spectrum(self, tilt: float, points: int) -> np.ndarray[tuple[int], np.dtype[np.complex128]]:
        """The transform of the tilted law, whose sum is one."""
        weights = np.exp(self.logs + tilt * self.step * self.place - self.log_sum(tilt))
        return np.asarray(np.fft.rfft(np.bincount(self.place % points, weights, minlength=points)))


def loss_epsilon(moved: Mapping[float, int], delta: float, points: int = POINTS) -> float:
    """The least epsilon at `delta` that the losses give, where so many counts are moved by one (variance: how many).

    Variances are parameters of discrete Gaussian noise. With one that is very large, epsilon follows from rho alone.

    >>> round(tight_epsilon(2.0, 1e-6), 2), round(loss_epsilon({0.5: 2}, 1e-6), 2)
    (11.69, 10.87)
    """
    if not moved or min(moved) <= 0 or min(moved.values()) < 1:
        raise InputError("losses: name the noise variance of every count that is moved; variances are positive")
    rho = sum(times / (2 * variance) for variance, times in moved.items())
    known = tight_epsilon(rho, delta)
    if _reach(max(moved)) > WIDE:
        return known
    total = sum(moved.values())
    tilt = max((known - rho) / (2 * rho), 0.0)
    step = 2 * (math.sqrt(4 * rho * NEVER) + rho) / points
    laws = [(_law(variance, step), times) for variance, times in moved.items()]
    spectrum = np.ones(points // 2 + 1, dtype=np.complex128)
    for law, times in laws:
        spectrum *= law.spectrum(tilt, points) ** times
    chances: FloatArray = np.maximum(np.fft.irfft(spectrum, points), 0.0).astype(np.float64)
    first = round(known / step) - points // 2
    chances = np.roll(chances, -first)  # from the place `first` on, in a window around what is known already
    losses: FloatArray = np.asarray((first + np.arange(points)) * step, dtype=np.float64)

    def log_sum(order: float) -> float:
        return sum(times * law.log_sum(order) for law, times in laws)

    scale = log_sum(tilt)
    orders = [math.sqrt(NEVER / rho) * 2.0**n for n in range(-7, 3)]
    outside = _outside(log_sum, tilt, (float(losses[0]), float(losses[-1])), orders) + max(ERROR, ERROR_EACH * total)
    unlisted = 2 * total * math.exp(-NEVER)
    return min(known, _smallest(losses, chances, tilt, scale, outside, delta - unlisted))


def _reach(variance: float) -> int:
    """Noise beyond it has at most the chance of e to minus `NEVER`, to either side."""
    return math.ceil(math.sqrt(2 * variance * NEVER)) + 1


def _law(variance: float, step: float) -> _Losses:
    """Loss of one count that is moved by one, and its chance, both in logarithms."""
    reach = _reach(variance)
    noise = np.arange(-reach, reach + 1, dtype=np.float64)
    logs = -(noise**2) / (2 * variance)
    logs -= math.log(float(np.exp(logs).sum()))
    place = np.ceil((1 - 2 * noise) / (2 * variance * step) + 1e-6).astype(np.int64)
    return _Losses(place, logs, step)


def _outside(
    log_sum: Callable[[float], float], tilt: float, window: tuple[float, float], orders: Sequence[float]
) -> float:
    """Tilted chance of a loss outside the window, by Markov's inequality at the best of these orders."""
    least, most = window
    over = min(log_sum(tilt + order) - log_sum(tilt) - order * most for order in orders)
    under = min(log_sum(tilt - order) - log_sum(tilt) + order * least for order in orders)
    return math.exp(min(over, 0.0)) + math.exp(min(under, 0.0))


def _smallest(
    losses: FloatArray, chances: FloatArray, tilt: float, scale: float, outside: float, delta: float
) -> float:
    """The least epsilon on the grid whose delta, with all that was left out, is at most the one that is asked for."""
    low, high = 0, len(losses) - 1
    while low < high:
        middle = (low + high) // 2
        epsilon = float(losses[middle])
        above = losses[middle + 1 :]
        share = chances[middle + 1 :] * np.exp(-tilt * (above - epsilon)) @ -np.expm1(epsilon - above)
        found = math.exp(min(scale - tilt * epsilon, 700.0)) * (float(share) + outside)
        low, high = (low, middle) if found <= delta else (middle + 1, high)
    return max(float(losses[high]), 0.0)
