"""Every rule against brute force from the definition."""

from fractions import Fraction
from itertools import permutations
from math import log

import pytest

from plain_voting import by_definition, plain_rules
from safemargin.core import no_progress
from safemargin.voting.belief import Belief
from safemargin.voting.election import Election
from safemargin.voting.enumeration import enumerated
from safemargin.voting.private import private
from safemargin.voting.rational import exact_delta
from safemargin.voting.rules import rule_named


def uneven(m: int) -> dict[tuple[int, ...], Fraction]:
    """Shares that differ from vote to vote."""
    votes = list(permutations(range(m)))
    weights = [7 + (5 * place) % 11 for place in range(len(votes))]
    return {vote: Fraction(weight, sum(weights)) for vote, weight in zip(votes, weights, strict=True)}


def even(m: int) -> dict[tuple[int, ...], Fraction]:
    votes = list(permutations(range(m)))
    return dict.fromkeys(votes, Fraction(1, len(votes)))


@pytest.mark.parametrize("rule", plain_rules(3))
@pytest.mark.parametrize("shares", [even(3), uneven(3)], ids=["even", "uneven"])
def test_three_candidates(rule: str, shares: dict[tuple[int, ...], Fraction]) -> None:
    belief = Belief(tuple(shares), tuple(shares.values()))
    for n in range(1, 7):
        election = Election(rule_named(rule, 3), n, belief)
        expected = by_definition(plain_rules(3)[rule], 3, n, shares)
        assert exact_delta(election.kinds) == expected
        assert private(election).delta == pytest.approx(float(expected), abs=1e-12)
        if n == 4:
            factor = Fraction(3, 2)
            above = float(by_definition(plain_rules(3)[rule], 3, n, shares, factor))
            assert exact_delta(election.kinds, factor) == pytest.approx(above)
            assert private(election, epsilon=log(1.5)).delta == pytest.approx(above, abs=1e-12)
            assert enumerated(election.kinds, no_progress).worst(log(1.5)).delta == pytest.approx(above, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("rule", plain_rules(4))
def test_four_candidates(rule: str) -> None:
    shares = uneven(4)
    belief = Belief(tuple(shares), tuple(shares.values()))
    for n in (1, 2, 3, 4):
        expected = by_definition(plain_rules(4)[rule], 4, n, shares)
        election = Election(rule_named(rule, 4), n, belief)
        assert enumerated(election.kinds, no_progress).worst().delta == pytest.approx(float(expected), abs=1e-12)
        assert private(election).delta == pytest.approx(float(expected), abs=1e-12)
