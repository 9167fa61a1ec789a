"""Axioms on which the classes of Theorem 3 rest, looked for in all small elections and in neighbourhoods.

Definition 6 of the paper, for a rule that sees counts of votes:

- *monotone*: a winner who is raised in some vote, with all others in their order, still wins.
- *canceling-out*: one more vote of every ranking does not change the winner.
- *locally stable*: there are shares q, two votes and a radius such that everywhere within it the winner changes when
  all votes of the first kind become the second. Proposition 1 gives q for points, Proposition 2 for duels.

What is proved. A counter-example refutes an axiom for good. "Yes" after all elections of up to seven voters is
evidence, as is a neighbourhood that random points of it confirm; only the paper's propositions prove it. STV first
fails monotonicity with seven voters and three candidates, which is why so many are looked at.

Errors of the paper that this module shows: Corollary 1 lists Bucklin, which is not canceling-out; two candidates tie at
the printed q of Proposition 1, so that half of its neighbourhood fails; Proposition 2 does not give canceling-out.

Example: one more of every ranking keeps the winner of plurality.

>>> from safemargin.voting.rules import rule_named
>>> not_canceling(rule_named("plurality", 3), 4) is None, not_canceling(rule_named("bucklin", 3), 4) is None
(True, False)
"""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from safemargin.core import IntArray, TooLargeError, numpy_generator
from safemargin.ui import Document
from safemargin.voting.chances import all_counts, ways
from safemargin.voting.election import Ranking, Rule, letters, ranking_text, rankings
from safemargin.voting.scoring import Positional

SCALE = 10**9
MAX_VOTERS = 7
"""Elections of up to so many voters are looked at: STV first fails with seven."""
MAX_ELECTIONS = 3_000_000
RADIUS = 0.02
POINTS = 4_000
HOLDS, UNKNOWN = "yes", "not shown"


@dataclass(frozen=True)
class CounterExample:
    """An election in which an axiom fails: counts of votes, who wins, what is changed, and who wins then."""

    counts: tuple[int, ...]
    winner: int
    change: tuple[Ranking, Ranking] | None
    winner_then: int

    def text(self, rule: Rule) -> str:
        """The election in words."""
        names = letters(rule.candidates)
        votes = rankings(rule.candidates)
        cast = ", ".join(f"{n} {ranking_text(vote, names)}" for vote, n in zip(votes, self.counts, strict=True) if n)
        change = "one more of every ranking"
        if self.change is not None:
            change = " becomes ".join(ranking_text(vote, names) for vote in self.change)
        before, after = (rule.outcome_name(outcome, names) for outcome in (self.winner, self.winner_then))
        return f"no: with {cast}, {before} wins; after {change}, {after}"


@dataclass(frozen=True)
class Axioms:
    """What Theorem 3 asks of a rule: `yes` in every election looked at, `no` with an election, or `not shown`."""

    monotone: str
    canceling: str
    stable: str

    @property
    def short(self) -> tuple[str, ...]:
        """Whether each holds."""
        return tuple(value.partition(":")[0] for value in (self.monotone, self.canceling, self.stable))

    @property
    def counter_examples(self) -> list[str]:
        """The elections in which one fails."""
        named = (("monotone", self.monotone), ("canceling-out", self.canceling))
        return [f"not {name}: {value[4:]}" for name, value in named if value.startswith("no:")]

    def to_json(self) -> Document:
        """For `rules --json`."""
        return {"monotone": self.monotone, "canceling_out": self.canceling, "locally_stable": self.stable}


def check_axioms(rule: Rule, voters: int = MAX_VOTERS) -> Axioms:
    """Look for counter-examples in every election of up to so many voters."""
    if ways(voters, len(rankings(rule.candidates))) > MAX_ELECTIONS:
        raise TooLargeError(f"axioms: {rule.candidates} candidates have too many elections; ask with 3 candidates")
    failure = not_canceling(rule, voters)
    canceling = HOLDS if failure is None else failure.text(rule)
    if not rule.is_single:  # the two others are about one winner, and outcomes are numbers of committees
        return Axioms(UNKNOWN, canceling, UNKNOWN)
    failure = not_monotone(rule, voters)
    monotone = HOLDS if failure is None else failure.text(rule)
    return Axioms(monotone, canceling, HOLDS if share_held(rule, printed=False) == 1.0 else UNKNOWN)


def raised(vote: Ranking, candidate: int) -> list[Ranking]:
    """The votes that put a candidate further up and leave the others in order.

    >>> raised((2, 1, 0), 0)
    [(0, 2, 1), (2, 0, 1)]
    """
    others = tuple(other for other in vote if other != candidate)
    return [(*others[:rank], candidate, *others[rank:]) for rank in range(vote.index(candidate))]


def not_canceling(rule: Rule, most: int) -> CounterExample | None:
    """The first election in which one more of every ranking changes the winner; None proves nothing.

    Elections of 1 to `most` voters, fewest voters first: users see this one. Ties are broken as the rule breaks them.
    """
    votes = rankings(rule.candidates)
    adds = rule.statistics(votes)
    for voters in range(1, most + 1):
        for counts in all_counts(voters, len(votes)):
            before, after = rule.winners(counts @ adds), rule.winners(counts @ adds + adds.sum(axis=0))
            for row in np.flatnonzero(after != before)[:1]:
                return CounterExample(tuple(counts[row].tolist()), int(before[row]), None, int(after[row]))
    return None


def not_monotone(rule: Rule, most: int) -> CounterExample | None:
    """The first election in which a winner who is raised no longer wins; None proves nothing.

    In the order of `not_canceling`. Only for rules whose winner is the number of a candidate (`Rule.is_single`).
    """
    votes = rankings(rule.candidates)
    adds = rule.statistics(votes)
    for voters in range(1, most + 1):
        for counts in all_counts(voters, len(votes)):
            if (example := _first_failure(rule, votes, adds, counts)) is not None:
                return example
    return None


def _first_failure(rule: Rule, votes: tuple[Ranking, ...], adds: IntArray, counts: IntArray) -> CounterExample | None:
    """The first election of these counts in which raising a winner makes somebody else win; None if there is none.

    All counts are looked at together, per vote and candidate that it may raise.
    """
    winners = rule.winners(counts @ adds)
    for number, vote in enumerate(votes):
        for winner in range(rule.candidates):
            rows = np.flatnonzero((winners == winner) & (counts[:, number] > 0))
            for better in raised(vote, winner):
                after = rule.winners(counts[rows] @ adds + adds[votes.index(better)] - adds[number])
                for fails in np.flatnonzero(after != winner)[:1]:
                    held = tuple(counts[rows[fails]].tolist())
                    return CounterExample(held, winner, (vote, better), int(after[fails]))
    return None


def witness(rule: Rule, printed: bool) -> tuple[dict[Ranking, int], Ranking, Ranking]:
    """Counts near which the first candidate wins only if all votes `low` become `high` (Proposition 1).

    As printed, two candidates tie in it, so about half of its neighbourhood fails; with both extra votes on one side
    it holds throughout.
    """
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
    return dict(counts), low, high


def share_held(rule: Rule, printed: bool) -> float:
    """In which share of random points of the neighbourhood of the witness both conditions hold."""
    middle, low, high = witness(rule, printed)
    votes = rankings(rule.candidates)
    around = numpy_generator(0).uniform(-RADIUS, RADIUS, size=(POINTS, len(votes)))
    counts = np.rint((np.array([middle.get(vote, 0) for vote in votes]) + around) * SCALE).astype(np.int64)
    adds = rule.statistics(votes)
    before = rule.winners(counts @ adds)
    counts[:, votes.index(high)] += counts[:, votes.index(low)]
    counts[:, votes.index(low)] = 0
    after = rule.winners(counts @ adds)
    return float(((before != 0) & (after == 0)).mean())
