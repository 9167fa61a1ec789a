"""Revealing the bound: what counts beside their parts say about the largest noise."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from safemargin.core import FloatArray, IntArray
from safemargin.noise.attacks.noisy import ENOUGH, LARGE, Layout, tuples_in
from safemargin.noise.keyed import keyed_gap_law
from safemargin.noise.law import sum_law
from safemargin.samplers.max_entropy import bounded_law

CANDIDATES = 10
"""Bounds from the smallest possible up that are weighed against each other."""

MOST_PARTS = 6
"""Of a total that is weighed; more hardly ever tell anything."""

FLOOR = 1e-7
"""Chances that are not told apart from smaller ones."""


@dataclass(frozen=True)
class Revealed:
    """The bound of the noise: at least `least`, for sure; `least` itself with this confidence.

    `keyed` is how likely keys add up, so that the noise of a total depends on that of its parts.
    """

    least: int
    tuples: int
    confidence: float
    keyed: float = 0.0


def revealing(layout: Layout, variance: float) -> Revealed:
    """The smallest bound that explains every gap, and how likely a larger one would have shown itself.

    Noise has the largest entropy for `variance`; it is independent or picked by keys that add up. Both, and bounds from
    the smallest up, are held to be equally likely beforehand.
    """
    least, count = 0, 0
    gaps: dict[int, list[IntArray]] = {}
    for each in tuples_in(layout):
        noisy = each.terms > 0
        count += int(noisy.sum())
        least = max([least, *(-(-np.abs(each.gap[noisy]) // each.terms[noisy])).tolist()])
        fit = noisy & (each.whole == 1) & (each.least >= LARGE) & (each.parts <= MOST_PARTS)
        for parts in np.unique(each.parts[fit]).tolist():
            gaps.setdefault(parts, []).append(each.gap[fit & (each.parts == parts)])
    seen = {parts: np.concatenate(found) for parts, found in gaps.items() if parts > 1}
    smallest = max(least, 1)
    while smallest * (smallest + 1) / 3 < variance:  # so much noise does not fit into less
        smallest += 1
    if sum(map(len, seen.values())) < ENOUGH:
        return Revealed(least, count, 0.0)
    bounds = range(smallest, smallest + CANDIDATES)
    logs = np.array([[_likelihood(seen, bound, variance, keyed) for keyed in (False, True)] for bound in bounds])
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    sure = float(weights[0].sum()) if smallest == max(least, 1) else 0.0
    return Revealed(least, count, sure, float(weights[:, 1].sum()))


def _likelihood(seen: dict[int, IntArray], bound: int, variance: float, keyed: bool) -> float:
    """Logarithm of how likely the gaps are."""
    found = 0.0
    for parts, gaps in seen.items():
        chances = _gap_law(bound, variance, parts, keyed)
        values, often = np.unique(gaps, return_counts=True)
        found += float(often @ np.log(chances[len(chances) // 2 + values]))
    return found


@lru_cache(maxsize=256)
def _gap_law(bound: int, variance: float, parts: int, keyed: bool) -> FloatArray:
    law = bounded_law(bound, variance)
    found: FloatArray = np.maximum(keyed_gap_law(law, parts) if keyed else sum_law(law, parts + 1), FLOOR)
    return found
