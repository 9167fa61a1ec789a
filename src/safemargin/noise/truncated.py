"""Noise that is drawn again beyond a bound: (epsilon, delta) in place of epsilon (section 2.3 and [9] of the paper).

A bound rules pure privacy out: what only one of two neighbours can become has probability delta. Geometric and Gaussian
noise are on the integers, as counts are published with them. Laplace noise is on the reals; `truncated_law` has it
rounded to integers, as it is published.
"""

import math

import numpy as np

from safemargin.core import FloatArray, InputError
from safemargin.noise.calculators import Figure
from safemargin.samplers import LARGEST_BOUND, at_least, inside, positive

LAWS = ("geometric", "laplace", "gaussian")


def truncated_law(law: str, parameter: float, bound: int) -> FloatArray:
    """Probabilities of `-bound ... bound`: `parameter` is the variance of Gaussian noise, or the epsilon of the others.

    >>> [round(float(p), 4) for p in truncated_law("geometric", math.log(2), 1)]
    [0.25, 0.5, 0.25]
    """
    sizes = np.arange(-bound, bound + 1)
    weights: FloatArray = np.exp(-(sizes**2) / (2 * parameter) if law == "gaussian" else -parameter * abs(sizes))
    if law == "laplace":
        weights[bound] = 2 / (
            1 + math.exp(parameter / 2)
        )  # the integral around zero, over that around k less its decay
    weights /= weights.sum()
    return weights


def law_variance(chances: FloatArray) -> float:
    """Variance of a law on `-bound ... bound`."""
    return float(chances @ (np.arange(len(chances)) - len(chances) // 2) ** 2)


def hockey_stick(chances: FloatArray, epsilon: float, change: int = 1) -> float:
    """Smallest delta at this epsilon when the count that the noise is added to moves by `change`.

    >>> round(hockey_stick(truncated_law("geometric", 0.5, 12), 0.5), 6)  # the mass at the edge
    0.000608
    """
    here, there = np.pad(chances, (0, change)), np.pad(chances, (change, 0))
    # 1e-12: at the epsilon of geometric noise all ratios equal exp(epsilon), up to their last bits.
    return float(np.maximum(here - math.exp(min(epsilon, 700.0)) * (1 + 1e-12) * there, 0.0).sum())


def truncated_delta(
    epsilon: float, bound: float, change: int = 1, law: str = "geometric", variance: float | None = None
) -> float:
    """Delta of noise that is drawn again where it is larger than `bound`, for a change of counts by `change` in total.

    One count that takes the whole change has the largest delta, as mass grows inwards from the edge. Of geometric and
    Laplace noise epsilon is that of one count, and the guarantee has `change` times as much; of Gaussian noise it is
    that of the guarantee.

    >>> truncated_delta(math.log(2), 1), round(truncated_delta(0.5, 12), 6)
    (0.25, 0.000608)
    """
    _check(law, variance)
    positive("epsilon", epsilon)
    at_least("change", change, 1)
    if law == "laplace":
        positive("bound", bound)
        if change >= 2 * bound:
            return 1.0
        # The mass from bound - change up, right or left of zero; expm1 keeps small masses exact.
        whole = -2 * math.expm1(-epsilon * bound)
        if change <= bound:
            return math.exp(-epsilon * (bound - change)) * -math.expm1(-epsilon * change) / whole
        return 0.5 - math.expm1(-epsilon * (change - bound)) / whole
    if not math.isfinite(bound):
        raise InputError(f"bound = {bound}: must be finite, e.g. 12")
    if bound != int(bound):
        raise InputError(f"bound = {bound:g}: {law} noise has an integer bound; the nearest is {round(bound)}")
    at_least("bound", int(bound), 1)
    if law == "gaussian":
        at_least("bound", int(bound), 1, LARGEST_BOUND)
        return hockey_stick(truncated_law(law, variance or 0.0, int(bound)), epsilon, change)
    q = math.exp(-epsilon)
    mass = math.fsum(q ** abs(k) for k in range(int(bound) - change + 1, int(bound) + 1) if k >= -bound)
    return min(1.0, float(mass * (1 - q) / (1 + q - 2 * q ** (bound + 1))))


def truncated_bound(
    epsilon: float, delta: float, change: int = 1, law: str = "geometric", variance: float | None = None
) -> float:
    """The smallest bound whose delta is at most this; an integer unless the noise is Laplace.

    >>> truncated_bound(math.log(2), 0.25), round(truncated_bound(0.5, 0.008, law="laplace"), 2)
    (1, 7.45)
    """
    _check(law, variance)
    loss = positive("epsilon", epsilon) * at_least("change", change, 1)
    inside("delta", delta)
    if law == "gaussian":
        # Delta falls in the bound, down to that of noise without one.
        bounds = (b for b in range(1, LARGEST_BOUND + 1) if truncated_delta(epsilon, b, change, law, variance) <= delta)
        if (bound := next(bounds, None)) is None:
            least = truncated_delta(epsilon, LARGEST_BOUND, change, law, variance)
            raise InputError(f"delta = {delta:g}: no bound is enough; without one delta is {least:.3g}")
        return bound
    # With Laplace noise delta = (e^(eps change) - 1) / (2 (e^(eps E) - 1)) for E above the change, solved for E.
    edge = math.log1p(math.expm1(loss) / (2 * delta)) / epsilon
    if law == "laplace" and edge < change:  # more than half of the mass is at the edge
        from scipy.optimize import brentq  # slow to import, and few calls need it

        edge = float(brentq(lambda e: truncated_delta(epsilon, e, change, law) - delta, change / 2, change))
    if law == "laplace":
        return edge
    # Geometric noise has the same decay, so its bound is near; delta falls in the bound, so the first that fits is it.
    least_bound = max(1, math.floor(edge) - 2)
    while least_bound > 1 and truncated_delta(epsilon, least_bound, change) <= delta:
        least_bound -= 1
    while truncated_delta(epsilon, least_bound, change) > delta:
        least_bound += 1
    return least_bound


def _check(law: str, variance: float | None) -> None:
    if law not in LAWS:
        raise InputError(f"law = {law!r}: must be one of {', '.join(LAWS)}")
    if (law == "gaussian") != (variance is not None):
        raise InputError("variance goes with the law gaussian, which needs it")
    if variance is not None:
        positive("variance", variance)


def truncated(
    epsilon: float,
    bound: float | None = None,
    delta: float | None = None,
    change: int = 1,
    law: str = "geometric",
    variance: float | None = None,
) -> Figure:
    """Delta of noise with a bound, or the smallest bound for a delta."""
    if (bound is None) == (delta is None):
        raise InputError("give one of bound and delta")
    inputs = {"epsilon": epsilon, "bound": bound, "delta": delta, "change": change, "law": law, "variance": variance}
    if bound is None:
        assert delta is not None
        bound = truncated_bound(epsilon, delta, change, law, variance)
    reached = truncated_delta(epsilon, bound, change, law, variance)
    name = {"geometric": "Two-sided geometric", "laplace": "Laplace", "gaussian": "Discrete Gaussian"}[law]
    own = f"variance {variance:g}" if law == "gaussian" else f"epsilon {epsilon:g}"
    sentence = (
        f"{name} noise with {own}, drawn again beyond {bound:g}: a change of counts by {change} in total has epsilon "
        f"{epsilon if law == 'gaussian' else change * epsilon:g} and delta {reached:.3g}."
    )
    return Figure(bound if delta is not None else reached, inputs, sentence, {"bound": bound, "delta": reached})
