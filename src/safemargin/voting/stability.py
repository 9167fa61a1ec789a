"""Whether one vote loses its weight quickly as the electorate grows, slowly, or nobody has proved which.

Theorem 3 of the paper, for rules that are monotone, locally stable and canceling-out. With n voters:

- *stable*: no tie is at the believed shares. Delta is exp(-Theta(n)); the factor per voter is the divergence of the
  nearest tie (`crossings.py`, Sanov), and the proof's own exponent is far smaller (Lemma 6).
- *unstable*: every ranking is equally likely, of a rule that `is_proved`. Delta is Theta(1 / sqrt(n)). With two
  candidates it is Theorem 2: the share of one of them is the bar of a majority.
- *uncovered*: the belief is at a tie, but not uniform. The paper omits this case. Delta is O(1 / sqrt(n)), and it may
  fall faster, say where the two who tie cannot win. Or no tie was found, and then nothing is said of delta.

The limit. For rules that add points and all rankings equally likely, sums are nearly normal. One vote decides between
two candidates who tie, with all others below. With the variance s of the difference of their points in one vote,

    delta sqrt(n)  ->  m swing P(others below | two tie) / sqrt(2 pi s),

where `swing` is how many points more the worst vote gives to the candidates it favours than its reverse does. `slope`
is the limit of 1 / (n delta^2), the `a` that the paper fits in Tables 1 and 2.

Counts (Theorems 4 and 1) fall like 1 / sqrt(n) at epsilon 0, and exponentially above, with the rate of Cramer's theorem
for the two rarest kinds.

Example: Borda with three candidates; the paper fits 1.347 to small electorates.

>>> round(limiting_slope(Positional(3, (Fraction(2), Fraction(1), Fraction(0)))), 4)
1.3963
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from fractions import Fraction
from math import erf, exp, factorial, inf, log, pi, sqrt

import numpy as np

from safemargin.core import InputError
from safemargin.voting.closed_forms import has_two_candidates, rarest
from safemargin.voting.crossings import crossings, directions, hyperplanes, results_near
from safemargin.voting.election import Election, VoterTypes
from safemargin.voting.privacy import Stability
from safemargin.voting.scoring import Majority, Positional

MAX_VOTERS = 10**9


def classify(election: Election) -> Stability:
    """The class of a belief when the winner is published; known votes do not matter, being outnumbered in the end.

    In this order: stable if no vote makes a difference; uncovered, and not bounded, if the search finds no tie (it may
    miss some); stable if the belief lies on none; then unstable only where Theorem 2 (a majority, or two candidates) or
    Theorem 3 (all rankings equally likely, and `rule.is_proved`) proves it, else uncovered.
    """
    kinds, belief, rule = election.kinds, election.belief, election.rule
    if len(kinds) < 2:
        return Stability("stable", inf, "no vote makes a difference, so delta is 0")
    ties = crossings(kinds)
    if not ties:
        text = "no tie was found at which the result changes; nothing is said"
        return Stability("uncovered", 0.0, text, is_bounded=False)
    if ties[0].rate > 0:
        return Stability("stable", ties[0].rate, falling(ties[0].rate), lemma_exponent=lemma_exponent(election))
    # Theorem 3 is about all rankings equally likely; Theorem 2 about a majority at its bar, wherever that is
    is_uniform = len(set(belief.shares)) == 1 and len(belief.votes) * belief.behind == factorial(rule.candidates)
    # With two candidates every rule of this program is the majority of one of them, which is at its bar here.
    is_majority = isinstance(rule, Majority) or has_two_candidates(kinds)
    if is_majority or (is_uniform and rule.is_proved):
        slope = limiting_slope(rule) if isinstance(rule, Positional) else None
        return Stability("unstable", 0.0, "the race is open: delta falls like 1/sqrt(voters)", slope=slope)
    text = "the race is open, and it is proved only that delta falls at least like 1/sqrt(voters)"
    return Stability("uncovered", 0.0, text)


def classify_counts(shares: Sequence[Fraction], epsilon: float) -> Stability:
    """The class when all counts of kinds with these shares are published: Theorem 4 at epsilon 0, Theorem 1 above."""
    if epsilon == 0:
        return Stability("unstable", 0.0, "counts are published: delta falls like 1/sqrt(voters)")
    first, second = (float(shares[kind]) for kind in rarest([float(share) for share in shares]))
    both, q = first + second, max(first, second) / (first + second)
    # the probability that the share of one of the two kinds among both of them reaches w, by Cramer's theorem
    w = exp(epsilon) * q / (1 - q + exp(epsilon) * q)
    divergence = w * log(w / q) + (1 - w) * log((1 - w) / (1 - q))
    rate = -log(1 - both + both * exp(-divergence))
    return Stability("stable", rate, falling(rate))


def falling(rate: float) -> str:
    """How delta falls, in words: the factor for one voter, or for as many as divide it by e where that is near one.

    >>> falling(0.5), falling(2e-6)
    ('delta falls about 0.6065-fold with each voter', 'delta falls about 2.718-fold with every 500,000 voters')
    """
    if rate > 1e-3:
        return f"delta falls about {exp(-rate):.4g}-fold with each voter"
    return f"delta falls about 2.718-fold with every {float(f'{1 / rate:.3g}'):,.0f} voters"


def slowest(classes: Sequence[Stability]) -> Stability:
    """The class that holds whichever of several beliefs is held.

    Where delta of one belief falls like 1 over the root of n, and that of every other at least as fast, the largest of
    finitely many falls like it: Theorem 3 with a set of beliefs that contains the uniform one.
    """
    unstable = [stability for stability in classes if stability.kind == "unstable"]
    if unstable and all(stability.is_bounded for stability in classes):
        return unstable[0]
    order = {"uncovered": 0, "unstable": 1, "stable": 2}
    return min(classes, key=lambda stability: (order[stability.kind], stability.rate))


def distance(kinds: VoterTypes) -> float:
    """Euclidean distance of the belief to the nearest tie at which the result changes."""
    best, around = np.inf, directions(kinds)
    for normal in hyperplanes(kinds.adds).astype(np.float64):
        length = float(normal @ normal)
        nearest = kinds.weights - normal * float(normal @ kinds.weights) / length
        if nearest.min() > 0 and len(results_near(kinds, nearest, around)) > 1:
            best = min(best, abs(float(normal @ kinds.weights)) / length**0.5)
    return float(best)


def lemma_exponent(election: Election) -> float | None:
    """The exponent that the proof of Lemma 6 gives: valid, and far too small. None if the belief omits rankings."""
    belief, rule = election.belief, election.rule
    if len(belief.votes) != factorial(rule.candidates):
        return None  # it is stated for a belief over all rankings, none taken together
    adds = rule.statistics(belief.votes)
    kinds = VoterTypes(
        rule, belief.votes, belief.shares, adds, np.zeros(adds.shape[1], dtype=np.int64), 1, np.arange(len(adds))
    )
    return distance(kinds) ** 2 / (3 * len(belief.votes) ** 2 * float(max(belief.shares)))


def limiting_slope(rule: Positional) -> float:
    """The limit of 1 / (n delta squared) if every ranking is equally likely, by the central limit theorem.

    >>> round(limiting_slope(Positional(3, (Fraction(2), Fraction(1), Fraction(0)))), 6)
    1.396263
    """
    points, size = rule.points, rule.candidates
    mean = sum(points, Fraction(0)) / size
    variance = sum(((p - mean) ** 2 for p in points), Fraction(0)) / size
    spread = float(2 * size * variance / (size - 1))  # of the difference of two candidates' points in one vote
    swing = float(sum((max(p - q, Fraction(0)) for p, q in zip(points, points[::-1], strict=True)), Fraction(0)))
    # given that two tie, all others are below with the mean of a power of the normal law (Gauss-Hermite)
    nodes, weights = np.polynomial.hermite.hermgauss(120)
    normal = np.array([0.5 * (1 + erf(node / sqrt(2))) for node in nodes])
    below = float((weights * normal ** (size - 2)).sum() / sqrt(pi))
    return 2 * pi * spread / (size * below * swing) ** 2


def smallest_electorate(delta_of: Callable[[int], float], target: float, period: int = 2) -> int:
    """The least number of voters from which on delta is at most `target`.

    Delta goes up and down with the parity of n, or with the denominator of a majority's bar. Over a whole `period` its
    maximum falls, so that is what the search by halves looks at.

    >>> smallest_electorate(lambda n: n**-0.5, 0.1)
    100
    """
    if not 0 < target < 1:
        raise InputError(f"delta = {target:g}: must lie between 0 and 1")

    def is_met(voters: int) -> bool:
        return all(delta_of(voters + more) <= target for more in range(period))

    high = 1
    while not is_met(high):
        high *= 2
        if high > MAX_VOTERS:
            raise InputError(f"delta = {target:g}: is not reached with {MAX_VOTERS:,} voters")
    return bisect_left(range(high), True, high // 2 + 1, key=is_met)
