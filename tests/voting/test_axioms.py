"""Axioms on which the classes of Theorem 3 rest, checked on all small elections and in neighbourhoods."""

from collections import Counter
from dataclasses import dataclass

import numpy as np
import pytest

from safemargin.core import IntArray
from safemargin.voting.enumeration import all_counts
from safemargin.voting.rule import Ranking, Rule, rankings
from safemargin.voting.rules import RULES, rule_named
from safemargin.voting.scoring import Positional

SCALE = 10**9
PROVED = [name for name in RULES if rule_named(name, 3).is_proved]


@dataclass(frozen=True)
class CounterExample:
    """An election in which an axiom fails: counts of votes, who wins, what is changed, and who wins then."""

    counts: tuple[int, ...]
    winner: int
    change: tuple[Ranking, Ranking] | None
    winner_then: int


def raised(vote: Ranking, candidate: int) -> list[Ranking]:
    """The votes that put a candidate further up and leave the others in order."""
    others = tuple(other for other in vote if other != candidate)
    return [(*others[:rank], candidate, *others[rank:]) for rank in range(vote.index(candidate))]


def not_canceling(rule: Rule, most: int) -> CounterExample | None:
    """One more of every ranking must not change the winner."""
    votes = rankings(rule.candidates)
    adds = rule.statistics(votes)
    for voters in range(1, most + 1):
        for counts in all_counts(voters, len(votes)):
            before, after = rule.winners(counts @ adds), rule.winners(counts @ adds + adds.sum(axis=0))
            for row in np.flatnonzero(after != before)[:1]:
                return CounterExample(tuple(counts[row].tolist()), int(before[row]), None, int(after[row]))
    return None


def not_monotone(rule: Rule, most: int) -> CounterExample | None:
    """A winner who is raised must still win."""
    votes = rankings(rule.candidates)
    adds = rule.statistics(votes)
    for voters in range(1, most + 1):
        for counts in all_counts(voters, len(votes)):
            if (example := _first_failure(rule, votes, adds, counts)) is not None:
                return example
    return None


def _first_failure(rule: Rule, votes: tuple[Ranking, ...], adds: IntArray, counts: IntArray) -> CounterExample | None:
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


def test_raised_votes() -> None:
    assert raised((2, 1, 0), 0) == [(0, 2, 1), (2, 0, 1)]


@pytest.mark.parametrize("name", PROVED)
def test_rules_that_are_proved_are_monotone_and_canceling_out(name: str) -> None:
    rule = rule_named(name, 3)
    assert not_monotone(rule, 7) is None and not_canceling(rule, 7) is None


def test_stv_and_bucklin_are_not_proved() -> None:
    assert set(RULES) - set(PROVED) == {"stv", "stv-drop-first", "bucklin", "bucklin-simple"}
    stv = rule_named("stv", 3)
    assert not_monotone(stv, 6) is None
    assert not_monotone(stv, 7) == CounterExample((0, 2, 2, 0, 1, 2), 0, ((2, 0, 1), (0, 2, 1)), 1)
    for name, then in (("bucklin", 1), ("bucklin-simple", 0)):  # one vote, cba
        assert not_canceling(rule_named(name, 3), 1) == CounterExample((0, 0, 0, 0, 0, 1), 2, None, then)


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


def share_held(rule: Rule, printed: bool, radius: float = 0.02, draws: int = 4000) -> float:
    """In which share of random points of the neighbourhood of the witness both conditions hold."""
    middle, low, high = witness(rule, printed)
    votes = rankings(rule.candidates)
    around = np.random.default_rng(0).uniform(-radius, radius, size=(draws, len(votes)))
    counts = np.rint((np.array([middle.get(vote, 0) for vote in votes]) + around) * SCALE).astype(np.int64)
    adds = rule.statistics(votes)
    before = rule.winners(counts @ adds)
    counts[:, votes.index(high)] += counts[:, votes.index(low)]
    counts[:, votes.index(low)] = 0
    after = rule.winners(counts @ adds)
    return float(((before != 0) & (after == 0)).mean())


@pytest.mark.parametrize("name", ["plurality", "veto", "borda", "maximin", "copeland"])
def test_local_stability(name: str) -> None:
    rule = rule_named(name, 3)
    assert share_held(rule, printed=False) == 1.0
    assert 0.3 < share_held(rule, printed=True) < 0.7
