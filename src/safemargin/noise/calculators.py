"""One figure each about the risk and the cost of noise: epsilons, averaging, the bound, true counts, truncation.

Equation numbers are those of Bach, "Differential privacy and noisy confidentiality concepts for European population
statistics" (2020). `kt2` is `k / t**2`, for `t` representations of a count that add up `k` noisy counts in all.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from safemargin.core import FloatArray, Generator, InputError, numpy_generator
from safemargin.noise.laws import BoundedNoise, EpsilonNoise, StudiedNoise, truncated_bound, truncated_delta
from safemargin.samplers import LARGEST_BOUND, at_least, bounded_law, inside, positive, share
from safemargin.ui import Document, Report, Result, exact_percent

CENSUS_SHARE = 0.675 / 6
"""Share of a global budget that one table of persons gets: 67.5 % at each of six geographies, Eq. (14)."""
CONFIDENCE = 0.68
"""How often an onlooker may be right: the paper's choice throughout."""
HALF = 0.5
"""A mean is right when its noise is below one half."""
MOST_COUNTS = 10**15
"""Counts that a simulated mean may add up."""
REPRESENTATIONS = 100
"""Representations of a simulated mean, unless the caller gives the number."""
MOST_PARTS = 1000
"""Parts of a total, which are added up one by one."""


@dataclass(frozen=True)
class Figure(Result):
    """One figure, what it was computed from, and a sentence that says what it means."""

    value: object
    inputs: Mapping[str, object]
    sentence: str
    details: Mapping[str, object] = field(default_factory=dict)

    def to_json(self) -> Document:
        extra = {"details": dict(self.details)} if self.details else {}
        return {"value": self.value, "inputs": dict(self.inputs), **extra}

    def to_report(self) -> Report:
        return Report("Noise", *self.sentence.splitlines())


@dataclass(frozen=True)
class NoiseRequirements:
    """What an office accepts: how sure an onlooker may be, the largest bound, and the error of a small area."""

    confidence: float = CONFIDENCE
    largest_bound: int = 10
    area_error: float = 20

    def __post_init__(self) -> None:
        inside("confidence", self.confidence)
        at_least("largest_bound", self.largest_bound, 1, 100)
        positive("area_error", self.area_error)


def reconstruction_limit(people: int, confidence: float = 0.99) -> float:
    """Epsilon per count above which a database of so many yes-or-no records can be reconstructed (Eq. 8).

    >>> round(reconstruction_limit(10**6, 0.99), 3)
    0.024
    """
    at_least("people", people, 2)
    inside("confidence", confidence)
    # Noise below sqrt(n) on n ln^2 n random counts is fatal (Dinur and Nissim 2003); epsilon limits the largest.
    return math.log(people * math.log(people) ** 2 / (1 - confidence)) / math.sqrt(people)


def reconstruct(people: int, confidence: float = 0.99) -> Figure:
    """Epsilon per count above which a database can be reconstructed from very many counts."""
    value = reconstruction_limit(people, confidence)
    counts = people * math.log(people) ** 2
    sentence = (
        f"From epsilon {value:.4f} per count on, {counts:,.0f} random counts of {people:,} yes-or-no records "
        f"disclose the records ({exact_percent(confidence)} confidence)."
    )
    return Figure(value, {"people": people, "confidence": confidence}, sentence)


def compose(outputs: int, epsilon: float) -> float:
    """Standard deviation of Laplace noise on each of so many counts that share epsilon evenly (Eq. 9).

    >>> round(compose(2775, 1.0))
    3924
    """
    # Each of t outputs has epsilon / t, and Laplace noise has standard deviation sqrt(2) / epsilon.
    return math.sqrt(2) * at_least("outputs", outputs, 1) / positive("epsilon", epsilon)


def budget(epsilon: float, share: float = CENSUS_SHARE) -> float:
    """What one table gets of a global epsilon (Eq. 14). The paper goes on with a share of 10 %.

    >>> round(budget(8.0), 3), budget(8.0, 0.1)
    (0.9, 0.8)
    """
    return inside("share", share) * positive("epsilon", epsilon)


def reidentify(reconstructed: float, matched: float) -> float:
    """Share of people named rightly: records rebuilt rightly, times those matched with the right person (Eq. 13).

    >>> reidentify(0.5, 0.38)
    0.19
    """
    return share("reconstructed", reconstructed) * share("matched", matched)


def tail_chance(error: float, epsilon: float) -> float:
    """Chance that Laplace noise is larger than `error` (Eq. 15, whose printed sign is a misprint).

    >>> round(tail_chance(40, 0.1), 4)
    0.0183
    """
    return math.exp(-positive("epsilon", epsilon) * positive("error", error))


def tail(
    epsilon: float,
    error: float | None = None,
    count: float | None = None,
    relative: float | None = None,
    counts: int = 1,
) -> Figure:
    """Chance that Laplace noise exceeds an error, or a share of a count, and in how many of `counts` it does."""
    if error is None:
        if count is None or relative is None:
            raise InputError("give error, or count with relative")
        error = count * relative
    elif count is not None or relative is not None:
        raise InputError("give error alone, or count with relative")
    at_least("counts", counts, 0)
    value = tail_chance(error, epsilon)
    sentence = f"Noise exceeds {error:g} with chance {value:.3%}: {value * counts:,.1f} of {counts:,} counts expected."
    return Figure(value, {"epsilon": epsilon, "error": error, "counts": counts}, sentence, {"expected": value * counts})


def utility_limit(areas: int, error: float, confidence: float = CONFIDENCE) -> float:
    """Epsilon below which some of so many counts is off by more than `error`, at this confidence (Eq. 16).

    >>> round(utility_limit(37_000, 20), 2), round(utility_limit(68, 20), 2)
    (0.58, 0.27)
    """
    at_least("areas", areas, 1)
    # A union bound over the tails of Eq. (15), so it errs on the side of a larger epsilon.
    return math.log(areas / (1 - inside("confidence", confidence))) / positive("error", error)


def utility(areas: int, error: float = 20, confidence: float = CONFIDENCE) -> Figure:
    """Smallest epsilon with which no small area is off by more than an error."""
    value = utility_limit(areas, error, confidence)
    sentence = f"Epsilon {value:.3g} at least, or one of {areas:,} counts is off by more than {error:g} too often."
    return Figure(value, {"areas": areas, "error": error, "confidence": confidence}, sentence)


def gaussian_success(kt2: float, variance: float, within: float = HALF) -> float:
    """Chance that the mean is right, or off by less than `within`, if its noise is Gaussian (annex B.3).

    >>> round(gaussian_success(0.1, 2), 3)
    0.736
    """
    # The mean over t representations of k noise terms in all has variance k V / t^2.
    spread = math.sqrt(positive("kt2", kt2) * positive("variance", variance))
    return math.erf(positive("within", within) / (spread * math.sqrt(2)))


def chebyshev_success(kt2: float, variance: float, within: float = HALF) -> float:
    """What the chance is at least, whatever the law of the noise (Eq. 12; `within` is its xi).

    >>> round(chebyshev_success(0.1, 2), 3), chebyshev_success(1, 2)
    (0.2, 0.0)
    """
    return max(0.0, 1 - positive("kt2", kt2) * positive("variance", variance) / within**2)


def variance_needed(kt2: float, confidence: float = CONFIDENCE) -> float:
    """The variance from which on the Gaussian chance is at most `confidence`.

    >>> round(variance_needed(0.0867), 2)
    2.92
    """
    # Solves erf(1/2 / sqrt(2 kt2 V)) = confidence for V: the two-sided quantile of the normal law.
    quantile = NormalDist().inv_cdf((1 + inside("confidence", confidence)) / 2)
    return (HALF / quantile) ** 2 / positive("kt2", kt2)


def variance_of(epsilon: float) -> float:
    """Variance of Laplace noise with this epsilon on one count (Eq. 3).

    >>> variance_of(0.5)
    8.0
    """
    return 2 / positive("epsilon", epsilon) ** 2


def epsilon_of(variance: float) -> float:
    """Epsilon of Laplace noise with this variance.

    >>> epsilon_of(8.0)
    0.5
    """
    return math.sqrt(2 / positive("variance", variance))


def simulate(k: int, t: int, noise: StudiedNoise, *, samples: int, generator: Generator, within: float = HALF) -> int:
    """How many of `samples` means over `t` representations, which add up `k` noisy counts in all, are right."""
    at_least("k", k, 1, MOST_COUNTS)
    at_least("t", t, 1)
    at_least("samples", samples, 1, 10_000_000)
    # The mean is the sum over t; doubled, the comparison with one half stays in integers.
    return int((2 * np.abs(noise.draw_sums(k, samples, generator)) < 2 * within * t).sum())


def wilson(right: int, samples: int, deviations: float = 3.0) -> tuple[float, float]:
    """A share that was seen, with so many standard deviations on both sides.

    >>> [round(end, 3) for end in wilson(736, 1000, 1.96)]
    [0.708, 0.762]
    """
    from scipy.stats import binomtest  # takes half a second to import

    ends = binomtest(right, samples).proportion_ci(math.erf(deviations / math.sqrt(2)), method="wilson")
    return float(ends.low), float(ends.high)


def average(
    kt2: float | None = None,
    variance: float | None = None,
    epsilon: float | None = None,
    k: int | None = None,
    t: int | None = None,
    bound: int | None = None,
    samples: int = 1000,
    seed: int = 1,
    within: float = HALF,
    cells: int = 1,
) -> Figure:
    """Chance that the mean of all representations of a count is the true count: Gaussian, at least, and simulated.

    `within` counts means as right that are off by less; `cells` asks for all counts of a histogram (footnote 19).
    """
    is_explicit = k is not None or bound is not None
    k, t, kt2 = _representations(k, t, kt2)
    if (variance is None) == (epsilon is None):
        raise InputError("give one of variance and epsilon")
    spread = variance or 0.0 if epsilon is None else variance_of(epsilon)
    chance, least = gaussian_success(kt2, spread, within), chebyshev_success(kt2, spread, within)
    what = "is the true count" if within == HALF else f"is within {within:g} of the true count"
    sentence = f"The mean {what} with chance {chance:.1%} (Gaussian), at least {least:.1%} (Chebyshev)."
    together = chance ** at_least("cells", cells, 1)
    if cells > 1:
        sentence += f"\nAll {cells:,} counts of a histogram are, with chance {together:.3g}."
    details: dict[str, object] = {"chebyshev": least, "simulated": None, "all_cells": together}
    # Without a bound: four standard deviations, so that cutting the law hardly changes it.
    limit = None if epsilon is not None else bound or max(10, math.ceil(4 * math.sqrt(spread)))
    if samples and not is_explicit and (k > MOST_COUNTS or (limit or 0) > LARGEST_BOUND):
        sentence += "\nNone were simulated: there would be too many counts, or values of the noise."
    elif samples:
        noise = EpsilonNoise(epsilon or 0.0) if limit is None else BoundedNoise(spread, limit)
        right = simulate(k, t, noise, samples=samples, generator=numpy_generator(seed), within=within)
        low, high = wilson(right, samples)
        details["simulated"] = {"right": right, "samples": samples, "rate": right / samples, "interval": [low, high]}
        reach = "" if limit is None else f" within {limit}"
        sentence += (
            f"\n{right:,} of {samples:,} simulated means were right ({low:.1%} to {high:.1%}), "
            f"each of {t:,} representations that add up {k:,} counts with noise{reach}."
        )
    inputs = {"kt2": kt2, "variance": spread, "k": k, "t": t, "bound": limit, "samples": samples, "seed": seed}
    inputs |= {"within": within, "cells": cells}
    return Figure(chance, inputs, sentence, details)


def _representations(k: int | None, t: int | None, kt2: float | None) -> tuple[int, int, float]:
    """Integers for a ratio, or the ratio of integers."""
    if k is not None and t is not None and kt2 is None:
        if k < t or t < 1:
            raise InputError(f"k = {k}, t = {t}: each of the t representations adds up at least one count")
        return k, t, k / t**2
    if kt2 is None or k is not None or t is not None:
        raise InputError("give kt2 alone, or k with t")
    exact = Fraction(positive("kt2", kt2))
    times = max(REPRESENTATIONS, math.ceil(1 / exact))  # at least one count each
    return max(1, round(exact * times**2)), times, kt2


def variance(kt2: float, confidence: float = CONFIDENCE) -> Figure:
    """Smallest variance, and largest epsilon, that keep averaging from being right too often."""
    value = variance_needed(kt2, confidence)
    epsilon = epsilon_of(value)
    sentence = (
        f"Variance {value:.3g} at least, or epsilon {epsilon:.3g} at most: a mean is right in "
        f"{exact_percent(confidence)} of cases."
    )
    return Figure(value, {"kt2": kt2, "confidence": confidence}, sentence, {"epsilon": epsilon})


@lru_cache(maxsize=4096)
def reveal_chance(bound: int, variance: float | None = None, parts: int = 2) -> float:
    """Chance that one tuple, `parts` counts and their total, discloses the bound; uniform noise without a variance.

    >>> round(11**3 * reveal_chance(5), 9), f"{reveal_chance(5, 2.0):.1e}"
    (20.0, '1.5e-07')
    """
    return edge_chance(bounded_law(bound, variance), parts)


def edge_chance(law: FloatArray, parts: int) -> float:
    """The same for any symmetric law: the noise adds up to more than the next smaller bound allows."""
    at_least("parts", parts, 2, MOST_PARTS)
    # Above the reach of the next smaller bound, terms (E - 1), there are as many sums as terms, at either end of a
    # symmetric law: only the last values of each convolution are needed.
    sums = edge = law[: parts + 1]
    for _ in range(parts):
        sums = np.convolve(sums, edge)[: parts + 1]
    return float(2 * sums.sum())


def tuples_needed(chance: float, confidence: float = CONFIDENCE) -> int | None:
    """How many independent tuples disclose the bound with this confidence (Eq. 11); None if the chance is zero.

    >>> tuples_needed(20 / 11**3), tuples_needed(0.0)
    (76, None)
    """
    inside("confidence", confidence)
    if chance >= 1:
        return 1
    return math.ceil(math.log1p(-confidence) / math.log1p(-chance)) if chance > 0 else None


def reveal_risk(chance: float, tuples: int) -> float:
    """Chance that at least one of so many independent tuples discloses the bound.

    >>> round(reveal_risk(20 / 11**3, 76), 3)
    0.684
    """
    at_least("tuples", tuples, 0)
    if chance >= 1:
        return 1.0 if tuples else 0.0
    return -math.expm1(tuples * math.log1p(-chance))  # 1 - (1 - p)^m without cancellation for small p


def reveal(
    bound: int,
    variance: float | None = None,
    parts: int = 2,
    tuples: int | None = None,
    confidence: float = CONFIDENCE,
) -> Figure:
    """Chance that counts and their total disclose the bound of the noise."""
    chance = reveal_chance(bound, variance, parts)
    needed = tuples_needed(chance, confidence)
    risk = None if tuples is None else reveal_risk(chance, tuples)
    enough = f"{needed or 0:,} of them do, with {exact_percent(confidence)} confidence."
    sentence = (
        f"One total with its {parts} parts discloses the bound {bound} with chance {chance:.3g}; "
        + ("no number of them is enough." if needed is None else enough)
        + ("" if risk is None else f" Among {tuples:,} of them, the chance is {risk:.3g}.")
    )
    inputs = {"bound": bound, "variance": variance, "parts": parts, "tuples": tuples, "confidence": confidence}
    return Figure(chance, inputs, sentence, {"tuples_needed": needed, "risk": risk})


def truncated(
    epsilon: float,
    bound: float | None = None,
    delta: float | None = None,
    change: int = 1,
    law: str = "geometric",
    variance: float | None = None,
    people: int | None = None,
) -> Figure:
    """Delta of noise with a bound, or the smallest bound for a delta. `people`: say whether delta is too large."""
    if (bound is None) == (delta is None):
        raise InputError("give one of bound and delta")
    inputs = {"epsilon": epsilon, "bound": bound, "delta": delta, "change": change, "law": law, "variance": variance}
    if bound is None:
        bound = truncated_bound(epsilon, delta or 0.0, change, law, variance)
    reached = truncated_delta(epsilon, bound, change, law, variance)
    name = {"geometric": "Two-sided geometric", "laplace": "Laplace", "gaussian": "Discrete Gaussian"}[law]
    own = f"variance {variance:g}" if law == "gaussian" else f"epsilon {epsilon:g}"
    sentence = (
        f"{name} noise with {own}, drawn again beyond {bound:g}: a change of counts by {change} in total has epsilon "
        f"{epsilon if law == 'gaussian' else change * epsilon:g} and delta {reached:.3g}."
    )
    if people is not None and reached * at_least("people", people, 1) > 1:
        sentence += f"\nDelta is above 1 in {people:,}: somebody's record may be disclosed outright (section 2.3)."
    return Figure(bound if delta is not None else reached, inputs, sentence, {"bound": bound, "delta": reached})
