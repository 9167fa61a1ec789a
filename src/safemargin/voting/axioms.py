"""Axioms of voting rules, checked on all small elections; what fails is shown."""

from dataclasses import dataclass

import numpy as np

from safemargin.core import IntArray
from safemargin.voting.ballots import Ranking, rankings
from safemargin.voting.enumeration import all_counts
from safemargin.voting.rules.rule import Rule

AXIOMS = ("monotonicity", "canceling-out")


@dataclass(frozen=True)
class CounterExample:
    """An election in which an axiom fails: votes with their counts, who wins, what is changed, and who wins then."""

    axiom: str
    votes: tuple[Ranking, ...]
    counts: tuple[int, ...]
    winner: int
    change: tuple[Ranking, Ranking] | None
    winner_then: int

    @property
    def voters(self) -> int:
        """How many vote."""
        return sum(self.counts)


def raised(vote: Ranking, candidate: int) -> list[Ranking]:
    """The votes that put a candidate further up and leave the others in order.

    >>> raised((2, 1, 0), 0)
    [(0, 2, 1), (2, 0, 1)]
    """
    others = tuple(each for each in vote if each != candidate)
    place = vote.index(candidate)
    return [(*others[:at], candidate, *others[at:]) for at in range(place)]


def failing(rule: Rule, axiom: str, most: int = 12) -> CounterExample | None:
    """The first failure among elections of up to `most` voters with complete rankings; none if there is none.

    Monotonicity: a winner who is raised still wins. Canceling-out: one more of every ranking changes nothing.
    """
    votes = rankings(rule.candidates)
    adds = rule.statistics(votes)
    for voters in range(1, most + 1):
        for counts in all_counts(voters, len(votes)):
            sums = counts @ adds
            winners = rule.winners(sums)
            if axiom == "canceling-out":
                after = rule.winners(sums + adds.sum(axis=0))
                found = np.flatnonzero(after != winners)
                if len(found):
                    row = int(found[0])
                    return _example(axiom, votes, counts[row], winners[row], None, after[row])
            elif (example := _not_monotone(rule, votes, adds, counts, sums, winners)) is not None:
                return example
    return None


def _not_monotone(
    rule: Rule, votes: tuple[Ranking, ...], adds: IntArray, counts: IntArray, sums: IntArray, winners: IntArray
) -> CounterExample | None:
    place = {vote: number for number, vote in enumerate(votes)}
    for number, vote in enumerate(votes):
        for winner in range(rule.candidates):
            rows = np.flatnonzero((winners == winner) & (counts[:, number] > 0))
            for better in raised(vote, winner):
                after = rule.winners(sums[rows] + adds[place[better]] - adds[number])
                found = np.flatnonzero(after != winner)
                if len(found):
                    row = int(rows[found[0]])
                    return _example("monotonicity", votes, counts[row], winner, (vote, better), after[found[0]])
    return None


def _example(
    axiom: str,
    votes: tuple[Ranking, ...],
    counts: IntArray,
    winner: int,
    change: tuple[Ranking, Ranking] | None,
    then: int,
) -> CounterExample:
    return CounterExample(axiom, votes, tuple(int(count) for count in counts), int(winner), change, int(then))
