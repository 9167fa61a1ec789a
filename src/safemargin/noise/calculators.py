"""Limits of epsilon: reconstruction (Eq. 8), composition (9), budgets (14), tails (15), small areas (16).

Equation numbers are those of Bach, "Differential privacy and noisy confidentiality concepts for European population
statistics" (2020).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from safemargin.core import InputError
from safemargin.samplers import at_least, inside, positive, share
from safemargin.ui import Document, Report, Result, exact_percent

CENSUS_SHARE = 0.675 / 6
"""Share of a global budget that one table of persons gets: 67.5 % at each of six geographies, Eq. (14)."""
CONFIDENCE = 0.68
"""How often an onlooker may be right: the paper's choice throughout."""


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
