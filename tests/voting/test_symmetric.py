"""Draws that count for every assignment of their points, against all assignments one by one and exact deltas."""

from itertools import permutations

import numpy as np
import pytest

from safemargin.core import numpy_generator
from safemargin.voting.election import Election, VoterTypes, uniform
from safemargin.voting.outcome import outcome
from safemargin.voting.rules import rule_named
from safemargin.voting.symmetric import PointGrid, applies, sample_alike


def kinds_of(name: str, candidates: int, voters: int) -> VoterTypes:
    rule = rule_named(name, candidates)
    return Election(rule, voters, uniform(rule)).kinds


@pytest.mark.parametrize(("name", "m"), [("borda", 3), ("borda", 4), ("approval-2", 5), ("positional:5,2,2,0", 4)])
def test_every_assignment_is_counted(name: str, m: int) -> None:
    """All orders of drawn points, ties among them, with every vote of the person added; the earlier of equals wins."""
    kinds, generator = kinds_of(name, m, 6), numpy_generator(m)
    assert applies(kinds)
    cells = PointGrid.of(kinds.adds)
    for scores in generator.integers(0, 4, size=(6, m)):
        got = cells.chances(scores.reshape(1, -1))[0][cells.numbers]
        orders = np.array(list(permutations(scores.tolist())))
        for vote, add in enumerate(kinds.adds):
            winners = [max(range(m), key=lambda c: (row[c], -c)) for row in (orders + add).tolist()]
            assert got[vote] == pytest.approx(np.bincount(winners, minlength=m) / len(orders), abs=1e-12)


@pytest.mark.parametrize(
    ("name", "m", "voters", "epsilon"),
    [("borda", 3, 50, 0.0), ("approval-2", 4, 30, 0.1), ("borda", 4, 8, 0.0), ("positional:5,5,2,0", 4, 10, 0.3)],
)
def test_intervals_hold_the_exact_delta(name: str, m: int, voters: int, epsilon: float) -> None:
    """20 runs with fixed seeds each; nothing here depends on chance."""
    exact, kinds = outcome(name, m, voters, epsilon=epsilon), kinds_of(name, m, voters)
    runs = [sample_alike(kinds, epsilon, 2_000, seed) for seed in range(20)]
    assert exact.exact and sum(run.low <= exact.delta <= run.high for run in runs) >= 18


def test_only_where_all_orders_are_equally_likely() -> None:
    assert not applies(kinds_of("copeland", 3, 5)) and not applies(kinds_of("committee-2", 4, 5))
    election = Election(rule_named("borda", 3), 8, uniform(rule_named("borda", 3)), {(0, 1, 2): 2})
    assert not applies(election.kinds)


def test_borda_of_seven_has_a_narrow_interval() -> None:
    """The other way to draw, with twice the time, has 0.0875 to 0.1228."""
    found = outcome("borda", 7, 200, draws=8_000)
    low, high = found.interval
    assert not found.exact and found.engine == "Monte Carlo" and high - low < 0.025
    assert low < 0.0890 < high
