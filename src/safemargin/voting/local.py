"""Local stability: shares near which a candidate never wins, and always wins once some votes raise them.

Proposition 1 of the paper gives a witness in which two candidates tie, so about half of its neighbourhood fails. With
both extra votes on one side it holds throughout.
"""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from safemargin.core import numpy_generator
from safemargin.voting.ballots import Ranking, rankings
from safemargin.voting.rules.positional import Positional
from safemargin.voting.rules.rule import Rule

WHOLE = 10**9
DRAWS = 4000


@dataclass(frozen=True)
class LocalWitness:
    """Counts of votes; in their neighbourhood the first candidate wins only if all votes `low` become `high`."""

    counts: dict[Ranking, int]
    low: Ranking
    high: Ranking


def witness(rule: Rule, printed: bool = False) -> LocalWitness:
    """The witness of the proposition, corrected; or as printed."""
    points = rule.points if isinstance(rule, Positional) else (1, *[0] * (rule.candidates - 1))
    equal = sum(1 for value in points if value == points[0])
    a, b, others = 0, 1, tuple(range(2, rule.candidates))
    high = (a, *others[: equal - 1], b, *others[equal - 1 :])
    low = (*others[: equal - 1], b, a, *others[equal - 1 :])
    counts: Counter[Ranking] = Counter()
    for turn in range(max(len(others), 1)):
        turned = others[turn:] + others[:turn]
        counts[a, b, *turned] += 2
        counts[b, a, *turned] += 2
    counts[low] += 1
    counts[high if printed else low] += 1
    return LocalWitness(dict(counts), low, high)


def share_held(rule: Rule, given: LocalWitness, radius: float = 0.02, draws: int = DRAWS, seed: int = 0) -> float:
    """In which share of random points of the neighbourhood both conditions hold."""
    votes = rankings(rule.candidates)
    place = {vote: number for number, vote in enumerate(votes)}
    middle = np.array([given.counts.get(vote, 0) for vote in votes], dtype=np.float64)
    moves = numpy_generator(seed).uniform(-radius, radius, size=(draws, len(votes)))
    counts = np.rint((middle + moves) * WHOLE).astype(np.int64)
    adds = rule.statistics(votes)
    before = rule.winners(counts @ adds)
    counts[:, place[given.high]] += counts[:, place[given.low]]
    counts[:, place[given.low]] = 0
    after = rule.winners(counts @ adds)
    return float(((before != 0) & (after == 0)).mean())
