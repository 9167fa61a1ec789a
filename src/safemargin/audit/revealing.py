"""Revealing the bound: what counts beside their parts say about the largest noise."""

from dataclasses import dataclass

import numpy as np

from safemargin.audit.noisy import Layout, tuples_in
from safemargin.noise.law import bounded_law, sum_law

CANDIDATES = 12
"""Bounds from the smallest possible up that are weighed against each other."""

MOST_TERMS = 12
"""Noisy counts in a tuple that is weighed; longer ones hardly ever tell anything."""


@dataclass(frozen=True)
class Revealed:
    """The bound of the noise: at least `least`, for sure; `least` itself with this confidence."""

    least: int
    tuples: int
    confidence: float


def revealing(layout: Layout, variance: float) -> Revealed:
    """The smallest bound that explains every gap, and how likely a larger one would have shown itself.

    Bounds from the smallest up are held to be equally likely beforehand; noise has the largest entropy for `variance`.
    """
    gaps: dict[int, list[np.ndarray]] = {}
    for each in tuples_in(layout):
        for terms in np.unique(each.terms[each.terms > 0]).tolist():
            gaps.setdefault(terms, []).append(np.abs(each.gap[each.terms == terms]))
    seen = {terms: np.concatenate(found) for terms, found in gaps.items()}
    least = max((int(-(-found.max() // terms)) for terms, found in seen.items()), default=0)
    count = sum(len(found) for found in seen.values())
    if not count:
        return Revealed(0, 0, 0.0)
    smallest = max(least, 1)
    while smallest * (smallest + 1) / 3 < variance:  # so much noise does not fit into less
        smallest += 1
    weights = np.array([_likelihood(seen, variance, bound) for bound in range(smallest, smallest + CANDIDATES)])
    weights = np.exp(weights - weights.max())
    sure = float(weights[0] / weights.sum()) if smallest == max(least, 1) else 0.0
    return Revealed(least, count, sure)


def _likelihood(seen: dict[int, np.ndarray], variance: float, bound: int) -> float:
    """Logarithm of how likely the gaps are with this bound."""
    law = bounded_law(bound, variance)
    found = 0.0
    for terms, gaps in seen.items():
        if terms <= MOST_TERMS:
            sums = sum_law(law, terms)
            values, often = np.unique(gaps, return_counts=True)
            with np.errstate(divide="ignore"):
                found += float(often @ np.log(sums[bound * terms + values]))
    return found
