"""Whether one vote loses its weight quickly as the electorate grows, slowly, or nobody has proved which."""

from collections.abc import Callable
from dataclasses import dataclass
from math import factorial

import numpy as np

from safemargin.core import InputError
from safemargin.voting.crossings import around, crossings, hyperplanes
from safemargin.voting.election import Election, Kinds
from safemargin.voting.rules.all_ties import AllTies
from safemargin.voting.rules.bucklin import Bucklin
from safemargin.voting.rules.majority import Majority
from safemargin.voting.rules.stv import Stv


@dataclass(frozen=True)
class Stability:
    """`kind` is stable (delta falls exponentially), unstable (like 1 over the root of n) or uncovered.

    `rate` is the exponent per voter; `margin` how far the sums of the rule are from the nearest tie that matters.
    """

    kind: str
    rate: float
    margin: float
    words: str


def classify(election: Election) -> Stability:
    """The class of a belief under a rule; known votes do not matter, they are outnumbered in the end."""
    kinds = election.kinds
    found = crossings(kinds)
    if not found:
        return Stability("uncovered", 0.0, 0.0, "no tie was found at which the result changes; nothing is said")
    if found[0].rate > 0:
        words = f"delta falls about {np.exp(-found[0].rate):.4g}-fold with each voter"
        return Stability("stable", found[0].rate, distance(kinds), words)
    if len(set(election.belief.shares)) == 1 and _is_proved(election):
        return Stability("unstable", 0.0, 0.0, "the race is open: delta falls like 1/sqrt(voters)")
    words = "the race is open, and it is proved only that delta falls at least like 1/sqrt(voters)"
    return Stability("uncovered", 0.0, 0.0, words)


def _is_proved(election: Election) -> bool:
    """Rules that are monotone, locally stable and canceling-out; STV and Bucklin are not all of these."""
    rule = election.rule
    if isinstance(rule, Majority):
        return float(rule.alpha) == 0.5
    return not isinstance(rule, Stv | Bucklin | AllTies)


def distance(kinds: Kinds) -> float:
    """Euclidean distance of the belief to the nearest tie at which the result changes."""
    best = np.inf
    for normal in hyperplanes(kinds.adds).astype(np.float64):
        length = float(normal @ normal)
        nearest = kinds.weights - normal * float(normal @ kinds.weights) / length
        if nearest.min() > 0 and len(around(kinds, nearest)) > 1:
            best = min(best, abs(float(normal @ kinds.weights)) / length**0.5)
    return float(best)


def lemma_exponent(election: Election) -> float:
    """The exponent that the proof of Lemma 6 gives: valid, and far too small.

    It is stated for a belief over all rankings, none taken together.
    """
    belief, rule = election.belief, election.rule
    if len(belief.votes) != factorial(rule.candidates):
        raise InputError("belief: Lemma 6 speaks of beliefs over all rankings")
    adds = rule.statistics(belief.votes)
    weights = tuple(belief.shares)
    kinds = Kinds(rule, belief.votes, weights, adds, np.zeros(adds.shape[1], dtype=np.int64), 1)
    return distance(kinds) ** 2 / (3 * len(weights) ** 2 * float(max(weights)))


def smallest_electorate(delta_of: Callable[[int], float], target: float, most: int = 10**9) -> int:
    """The least number of voters from which on delta is at most `target`: there, and with one voter more.

    Delta goes up and down with the parity of n, so two neighbours are looked at, and a few below the answer.

    >>> smallest_electorate(lambda n: n**-0.5, 0.1)
    100
    """
    if not 0 < target < 1:
        raise InputError(f"delta = {target:g}: must lie between 0 and 1")

    def is_met(voters: int) -> bool:
        return delta_of(voters) <= target and delta_of(voters + 1) <= target

    high = 1
    while not is_met(high):
        high *= 2
        if high > most:
            raise InputError(f"delta = {target:g}: is not reached with {most:,} voters")
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_met(middle) else (middle, high)
    for voters in range(high - 1, max(high - 6, 0), -1):
        if is_met(voters):
            high = voters
    return high
