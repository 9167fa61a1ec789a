"""Epsilon at a delta: from a budget in rho squared and back, or from the distribution of losses itself.

The distribution of losses is tighter than any conversion of rho. Counts have discrete Gaussian noise and each moves by
one: the losses of single counts are known exactly and independent, so the loss of all is their convolution. Losses are
rounded up to a grid, which can only overstate delta. Laws are tilted towards the losses that matter before they are
convolved, so that rounding errors of the transform stay small there.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np

from safemargin import ui
from safemargin.core import Amount, FloatArray, InputError, IntArray, epsilon_of, exact_number

LARGEST = 1e300
"""Budgets beyond it would overflow when they are squared or added as floats."""
DELTA = 1e-10
"""At which the Census Bureau published its epsilons."""
Number = str | float | Fraction

POINTS = 1 << 18
"""Of the grid. Census persons at delta 1e-10: epsilon 16.482 in 1.0 s with 2**18 points, 16.469 in 3.1 s with
2**20; rho alone gives 17.144. dp_accounting 0.6 gives 16.530 in 0.7 s (interval 1e-3) and 16.472 in 5.1 s (1e-4), but
infinity below a delta of 1e-14, where tilted laws still give 23.12 (delta 1e-20). So it is not a dependency."""
NEVER = 90.0
"""Chances of e to minus this are spent on noise that is not listed."""
ERROR, ERROR_EACH = 1e-7, 1e-11
"""Bound on rounding errors, as a share of the tilted law: at least so much, and so much for each count.

Of 2**18 points, a transform is off by 1e-14 times their square root, and a power by as much for every factor.
"""
WIDE = 1 << 22
"""Steps of noise on one count that are still listed: for more, what rho says has to do."""


def published_epsilon(rho_squared: float, delta: float) -> float:
    """Epsilon at `delta` as the Census Bureau printed it for most products (Bun and Steinke 2016, Proposition 1.3).

    >>> round(published_epsilon(55.371, 1e-10), 2), round(published_epsilon(221.484, 1e-10), 2)
    (126.78, 364.31)
    """
    _check(rho_squared, delta)
    # Bun and Steinke 2016, Proposition 1.3: P(loss > epsilon) <= exp(-(epsilon - rho)^2 / (4 rho)).
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
    # sqrt(s + e) - sqrt(s) without cancellation for small epsilon.
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


@dataclass(frozen=True)
class _Losses:
    """The law of a loss on a grid of `step`: multiples of it, and the logarithms of their chances."""

    grid: IntArray
    logs: FloatArray
    step: float

    def log_sum(self, tilt: float) -> float:
        """Logarithm of the mean of e to `tilt` times the loss."""
        terms = self.logs + tilt * self.step * self.grid
        top = float(terms.max())
        return top + math.log(float(np.exp(terms - top).sum()))

    def spectrum(self, tilt: float, points: int) -> np.ndarray[tuple[int], np.dtype[np.complex128]]:
        """The transform of the tilted law, whose sum is one."""
        weights = np.exp(self.logs + tilt * self.step * self.grid - self.log_sum(tilt))
        return np.asarray(np.fft.rfft(np.bincount(self.grid % points, weights, minlength=points)))


def loss_epsilon(moved: Mapping[float, int], delta: float, points: int = POINTS) -> float:
    """The least epsilon at `delta` that the losses give, where so many counts are moved by one (variance: how many).

    Variances are parameters of discrete Gaussian noise. With one that is very large, epsilon follows from rho alone.

    >>> round(tight_epsilon(2.0, 1e-6), 2), round(loss_epsilon({0.5: 2}, 1e-6), 2)
    (11.69, 10.87)
    """
    if not moved or min(moved) <= 0 or min(moved.values()) < 1:
        raise InputError("losses: name the noise variance of every count that is moved; variances are positive")
    return _loss_epsilon(tuple(sorted(moved.items())), delta, points)


@lru_cache(maxsize=64)  # a fifth of a second, and every step of a run asks again
def _loss_epsilon(losses_of: tuple[tuple[float, int], ...], delta: float, points: int) -> float:
    moved = dict(losses_of)
    rho = sum(times / (2 * variance) for variance, times in moved.items())
    known = tight_epsilon(rho, delta)
    if _reach(max(moved)) > WIDE:
        return known
    total = sum(moved.values())
    tilt = max((known - rho) / (2 * rho), 0.0)  # of a Gaussian loss, puts its mean at `known`
    # The loss is nearly normal with mean rho and variance 2 rho: the grid spans what e^-NEVER leaves on both sides.
    step = 2 * (math.sqrt(4 * rho * NEVER) + rho) / points
    laws = [(_law(variance, step), times) for variance, times in moved.items()]
    spectrum = np.ones(points // 2 + 1, dtype=np.complex128)
    for law, times in laws:
        spectrum *= law.spectrum(tilt, points) ** times  # independent losses add: their transforms multiply
    chances: FloatArray = np.maximum(np.fft.irfft(spectrum, points), 0.0).astype(np.float64)
    first = round(known / step) - points // 2
    chances = np.roll(chances, -first)  # from the place `first` on, in a window around what is known already
    losses: FloatArray = np.asarray((first + np.arange(points)) * step, dtype=np.float64)

    def log_sum(order: float) -> float:
        return sum(times * law.log_sum(order) for law, times in laws)

    scale = log_sum(tilt)
    orders = [math.sqrt(NEVER / rho) * 2.0**n for n in range(-7, 3)]
    outside = _outside(log_sum, tilt, (float(losses[0]), float(losses[-1])), orders) + max(ERROR, ERROR_EACH * total)
    unlisted = 2 * total * math.exp(-NEVER)  # union bound over counts and sides
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
    # ln P(noise) - ln P(noise - 1) = (1 - 2 noise) / (2 variance); rounded up, with room for the rounding of floats.
    grid = np.ceil((1 - 2 * noise) / (2 * variance * step) + 1e-6).astype(np.int64)
    return _Losses(grid, logs, step)


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
    """The least epsilon on the grid whose delta, with all that was omitted, is at most the one that is asked for."""

    def suffices(index: int) -> bool:
        epsilon, above = float(losses[index]), losses[index + 1 :]
        share = chances[index + 1 :] * np.exp(-tilt * (above - epsilon)) @ -np.expm1(epsilon - above)
        # Undo the tilt in logarithms: the factor alone may overflow.
        return math.exp(min(scale - tilt * epsilon, 700.0)) * (float(share) + outside) <= delta

    smallest = bisect_left(range(len(losses) - 1), True, key=suffices)
    return max(float(losses[smallest]), 0.0)


def _check(amount: float, delta: float) -> None:
    if not 0 <= amount < math.inf:
        raise InputError(f"budget = {amount}: must be a number from 0 up")
    if not 0 < delta < 1:
        raise InputError(f"delta = {delta}: must lie between 0 and 1")


@dataclass(frozen=True)
class Conversion(ui.Result):
    """A budget in rho squared in other units; `between` are the budgets whose epsilon is printed alike."""

    rho_squared: Amount
    delta: float
    between: tuple[float, float] | None = None

    @property
    def epsilon(self) -> float:
        """Epsilon by the formula of Bun and Steinke, which most published figures use."""
        return published_epsilon(float(self.rho_squared), self.delta)

    @property
    def epsilon_tight(self) -> float:
        """Epsilon by Canonne, Kamath and Steinke."""
        return tight_epsilon(float(self.rho_squared), self.delta)

    def to_json(self) -> ui.Document:
        rho_squared = float(self.rho_squared)
        return {
            "schema": ui.SCHEMA,
            "rho_squared": rho_squared,
            "rho_squared_exact": str(self.rho_squared) if isinstance(self.rho_squared, Fraction) else None,
            "delta": self.delta,
            "epsilon": self.epsilon,
            "epsilon_tight": self.epsilon_tight,
            **({} if self.between is None else {"rho_squared_between": list(self.between)}),
        }

    @property
    def _lines(self) -> list[str]:
        rho_squared = float(self.rho_squared)
        lines = [
            f"rho² = {rho_squared:.6g} at delta = {self.delta:g}:",
            f"  epsilon {self.epsilon:.4f} by the published formula (Bun and Steinke)",
            f"  epsilon {self.epsilon_tight:.4f} by the tighter one (Canonne, Kamath and Steinke)",
        ]
        if self.between is not None:
            low, high = self.between
            lines.append(f"  any rho² from {low:.6g} to {high:.6g} has this epsilon to the digits given")
        return lines

    def to_report(self) -> ui.Report:
        title, *lines = self._lines
        return ui.Report(title, ui.InTerminal(title), *lines)


def convert(
    *,
    rho_squared: Number | None = None,
    epsilon: Number | None = None,
    delta: Number = DELTA,
    times: int = 1,
) -> Conversion:
    """Convert a budget of zCDP to epsilon at a delta, and back.

    Give `rho_squared`, or `epsilon` at the delta. `rho_squared` is the parameter of zCDP, which adds up. Papers on the
    census write it as rho², most others as rho; its square root is nowhere used.

    `times` is how many records one unit stands in: rho squared grows with its square. An `epsilon` as text, as
    somebody printed it, also gives all budgets that it may come from.
    """
    if (rho_squared is None) == (epsilon is None):
        raise InputError("give one of `rho_squared` and `epsilon`")
    if times < 1:
        raise InputError(f"times = {times}: must be at least 1")
    level = float(exact_amount("delta", delta))
    between = None
    squared: Amount
    if rho_squared is not None:
        squared = exact_amount("rho_squared", rho_squared)
    else:
        squared = rho_squared_for(float(exact_amount("epsilon", epsilon or 0)), level)
        if isinstance(epsilon, str) and "/" not in epsilon:
            low, high = printed_interval(epsilon, level)
            between = low * times**2, high * times**2
    if squared * times**2 > LARGEST:
        raise InputError(f"rho squared is larger than {LARGEST:.0e}")
    return Conversion(squared * times**2, level, between)


def exact_amount(name: str, value: Number) -> Fraction:
    """A number as it is written, from 0 up; messages call it `name`."""
    try:
        amount = value if isinstance(value, Fraction) else exact_number(str(value))
    except ValueError:
        raise InputError(f"{name} = {value}: must be a number or a fraction such as 293764/114921") from None
    if amount < 0:
        raise InputError(f"{name} = {value}: must not be negative")
    if amount > LARGEST:
        raise InputError(f"{name} = {value}: is larger than {LARGEST:.0e}")
    return amount
