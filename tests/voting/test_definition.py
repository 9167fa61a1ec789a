"""Every rule against brute force from the definition."""

from fractions import Fraction
from itertools import permutations
from math import ceil, log
from pathlib import Path

import pytest
from scipy.stats import binom

import plain_voting
from plain_voting import by_definition, by_multisets, plain_rules, stv_of
from safemargin.voting.election import Belief, Election
from safemargin.voting.grid import enumerate_votes, exact_delta
from safemargin.voting.measure import measure
from safemargin.voting.outcome import outcome
from safemargin.voting.reading import read_belief
from safemargin.voting.rules import AllTies, rule_named
from safemargin.voting.stability import classify, smallest_electorate

pytestmark = pytest.mark.full


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
        assert measure(election).delta == pytest.approx(float(expected), abs=1e-12)
        if n == 4:
            factor = Fraction(3, 2)
            above = float(by_definition(plain_rules(3)[rule], 3, n, shares, factor))
            assert exact_delta(election.kinds, factor) == pytest.approx(above)
            assert measure(election, epsilon=log(1.5)).delta == pytest.approx(above, abs=1e-12)
            assert enumerate_votes(election.kinds).worst(log(1.5)).delta == pytest.approx(above, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("rule", plain_rules(4))
def test_four_candidates(rule: str) -> None:
    shares = uneven(4)
    belief = Belief(tuple(shares), tuple(shares.values()))
    for n in (1, 2, 3, 4):
        expected = by_definition(plain_rules(4)[rule], 4, n, shares)
        election = Election(rule_named(rule, 4), n, belief)
        assert enumerate_votes(election.kinds).worst().delta == pytest.approx(float(expected), abs=1e-12)
        assert measure(election).delta == pytest.approx(float(expected), abs=1e-12)


def belief_of(shares: dict[tuple[int, ...], Fraction]) -> Belief:
    return Belief(tuple(shares), tuple(shares.values()))


def test_six_candidates_with_more_sums_than_a_grid_is_sought_for() -> None:
    votes = ["abcdef", "fedcba", "cab", "df", "ecab"]
    weights = (3, 3, 2, 2, 2)
    shares = {tuple("abcdef".index(c) for c in vote): Fraction(w, 12) for vote, w in zip(votes, weights, strict=True)}
    expected = by_multisets(stv_of(6), 6, shares)
    assert expected == Fraction(1925, 5184)
    election = Election(rule_named("stv", 6), 6, belief_of(shares))
    assert measure(election).delta == pytest.approx(float(expected), abs=1e-12)
    assert exact_delta(election.kinds) == expected


@pytest.mark.parametrize("name", ["maximin", "copeland", "stv", "bucklin", "schulze"])
def test_all_winners_of_a_tie_among_four(name: str) -> None:
    shares = {(0, 1, 2, 3): Fraction(1, 4), (1, 2, 3, 0): Fraction(1, 4), (3, 2, 0, 1): Fraction(1, 2)}
    plain = plain_rules(4)[name]

    def tied(profile: tuple[tuple[int, ...], ...]) -> frozenset[int]:
        """Everybody who wins if the candidates are ordered in some way."""
        winners = set()
        for order in permutations(range(4)):
            renamed = tuple(tuple(order[c] for c in vote) for vote in profile)
            winners.add(order.index(plain(renamed)))
        return frozenset(winners)

    expected = by_multisets(tied, 5, shares)
    election = Election(AllTies(4, rule_named(name, 4)), 5, belief_of(shares))
    assert measure(election).delta == pytest.approx(float(expected), abs=1e-12)


@pytest.mark.parametrize("name", ["stv", "stv-drop-first"])
def test_a_candidate_whom_nobody_puts_first(name: str) -> None:
    shares = {(0, 2, 1): Fraction(3, 4), (1, 0, 2): Fraction(1, 8), (1, 2, 0): Fraction(1, 8)}
    for n in (3, 4, 5):
        expected = by_multisets(stv_of(3, drop_first=name != "stv"), n, shares)
        assert measure(Election(rule_named(name, 3), n, belief_of(shares))).delta == pytest.approx(float(expected))


@pytest.mark.slow
def test_intervals_of_draws_with_many_results_hold_the_truth() -> None:
    rotations = [tuple((start + step) % 8 for step in range(8)) for start in range(8)]
    shares = dict.fromkeys(rotations, Fraction(1, 8))
    expected = float(by_multisets(plain_voting.copeland, 8, shares))
    assert expected == pytest.approx(0.371070, abs=1e-6)
    election = Election(rule_named("copeland", 8), 8, belief_of(shares))
    low, high = measure(election, engine="Monte Carlo", draws=40_000).interval
    assert low <= expected <= high < 1.2 * expected


@pytest.mark.parametrize(
    ("alpha", "share", "target", "smallest"), [("9/10", "4/5", 0.3, 11), ("19/20", "9/10", 0.05, 82)]
)
def test_the_smallest_electorate_of_a_majority(alpha: str, share: str, target: float, smallest: int) -> None:
    """Delta is the binomial probability of being one vote short of the bar."""
    p, bar = Fraction(share), Fraction(alpha)
    terms = {n: binom.pmf(ceil(bar * n) - 1, n - 1, float(p)) for n in range(1, 1500)}
    assert max(n for n, delta in terms.items() if delta > target) + 1 == smallest
    belief = Belief(((0, 1), (1, 0)), (p, 1 - p))
    rule = rule_named(f"majority:{alpha}", 2)
    deltas = {n: measure(Election(rule, n, belief)).delta for n in range(1, 200)}
    assert smallest_electorate(lambda n: deltas.get(n, 0.0), target, 2 * bar.denominator) == smallest


def test_several_beliefs_hold_at_every_epsilon(tmp_path: Path) -> None:
    files = []
    for p in ("0.2", "0.7"):
        files.append(tmp_path / f"{p}.csv")
        files[-1].write_text(f"ranking,probability\na>b,{p}\nb>a,{1 - float(p):.1f}\n")
    together = outcome("majority", voters=20, belief=files, curve=True, classify=True)
    single = [outcome("majority", voters=20, belief=path, curve=True) for path in files]
    assert together.pure_epsilon == pytest.approx(1.4389, abs=1e-4)
    assert together.pure_epsilon == max(privacy.pure_epsilon or 0.0 for privacy in single)
    for point, *others in zip(together.curve, *(privacy.curve for privacy in single), strict=True):
        assert point[1] == max(delta for _, delta in others)
    rates = [classify(Election(rule_named("majority", 2), 20, belief)).rate for belief in map(read_belief, files)]  # type: ignore[arg-type]
    assert together.stability is not None and together.stability.rate == min(rates)
