"""Trails: Lemma 1 and decompositions against sums over all elections, and Theorem 1's bound beside the exact value."""

import random
from fractions import Fraction
from itertools import product
from math import exp, log
from pathlib import Path

import pytest
from scipy.stats import binom

import safemargin
from safemargin.voting.closed_forms import counts_worst, theorem_1
from safemargin.voting.trails import Trail, chance, decompose
from voting.test_brute_force import NAMES, plain_rules, random_shares, write_belief
from voting.test_figures import chernoff_bound


def sure(histogram: tuple[int, ...], vote: int, shares: list[Fraction]) -> Fraction:
    """How likely a histogram is: all sequences of the others' votes, one by one."""
    total = Fraction(0)
    for others in product(range(len(shares)), repeat=sum(histogram) - 1):
        votes = (vote, *others)
        if all(votes.count(kind) == count for kind, count in enumerate(histogram)):
            likely = Fraction(1)
            for other in others:
                likely *= shares[other]
            total += likely
    return total


def test_lemma_1_and_the_chance_of_a_histogram() -> None:
    shares = [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)]
    for trail in (Trail((3, 0, 1), (0, 1), 2), Trail((1, 2, 1), (1, 2), 2), Trail((2, 1, 1), (2, 0), 0)):
        j, k = trail.direction
        assert trail.exit == list(trail)[-1] and len(list(trail)) == trail.length + 1
        assert all(chance(t, vote, shares) == sure(t, vote, shares) for t in trail for vote in (j, k))
        assert trail.gap(shares) == sum(sure(t, j, shares) - sure(t, k, shares) for t in trail)


@pytest.mark.parametrize("seed", range(12))
def test_trails_add_up_to_delta(seed: int, tmp_path: Path) -> None:
    """Of random elections: trails of one direction are disjoint, all of one result, longest, and sum to delta."""
    draw = random.Random(seed)
    name = draw.choice([rule for rule in plain_rules(3) if rule != "kemeny"])
    file = write_belief(tmp_path / "belief.csv", random_shares(draw, 3))
    found = safemargin.outcome(name, ",".join(NAMES[:3]), draw.randint(2, 6), file, trails=True, rational=True)
    assert found.trails is not None and found.trails.total == found.fraction
    histograms = [t for trail, _ in found.trails.terms for t in trail]
    assert len(histograms) == len(set(histograms)) and {sum(t) for t in histograms} <= {found.voters}


def test_trails_are_as_long_as_they_can_be() -> None:
    from safemargin.voting.election import Belief, Election
    from safemargin.voting.rules import rule_named

    kinds = Election(rule_named("majority", 2), 5, Belief(((0, 1), (1, 0)), (Fraction(1, 2),) * 2)).kinds
    assert decompose(kinds, [0], (0, 1)) == [Trail((5, 0), (0, 1), 2)]  # Figure 1 of the paper
    assert decompose(kinds, [1], (0, 1)) == [Trail((2, 3), (0, 1), 2)]
    with pytest.raises(safemargin.InputError, match="trails: needs the winner"):
        safemargin.outcome("plurality", 3, 5, publish="tops", trails=True)
    with pytest.raises(safemargin.SafemarginError, match="more than 20,000 histograms"):
        safemargin.outcome("borda", 3, 60, trails=True)


def test_theorem_1_stands_beside_the_exact_value() -> None:
    """Above the two binomial tails that it bounds, which are above the exact delta; none where the proof is silent."""
    for voters, shares, epsilon in ((200, [0.2, 0.3, 0.5], 0.9), (5_000, [0.05, 0.95], 0.4), (50, [0.5, 0.5], 3.0)):
        bound = theorem_1(voters, shares, epsilon)
        assert bound == pytest.approx(min(chernoff_bound(voters, min(shares), min(shares), epsilon), 1))
        capped = min(epsilon, 2 * log(2))
        for p, q in product(shares, repeat=2):
            mean, other = p * (voters - 1), q * (voters - 1)
            tails = binom.sf(mean * exp(capped / 2) - 1, voters - 1, p)
            tails += binom.cdf(other * exp(-capped / 2), voters - 1, q)
            assert bound is not None and tails <= bound * (1 + 1e-9)
        assert counts_worst(voters, shares, epsilon).delta <= bound  # type: ignore[operator]
    assert theorem_1(10, [0.1, 0.9], 0.5) is None and theorem_1(1_000, [0.5, 0.5], 0.0) is None
    shown = safemargin.outcome("plurality", 3, 1_000, publish="tops", epsilon=0.6)
    assert "Theorem 1 alone proves delta 1.55e-05" in shown.to_text() and shown.to_json()["theorem_1"] > shown.delta
