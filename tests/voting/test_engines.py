"""Engines against enumeration, and what they say about themselves."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from safemargin.core import InputError, no_progress
from safemargin.voting.close_races import count_close_races
from safemargin.voting.crossings import crossings
from safemargin.voting.election import Belief, Election, rankings, uniform
from safemargin.voting.elimination import count_transfers
from safemargin.voting.frequencies import spectrum
from safemargin.voting.grid import enumerate_votes, grid_of, transform
from safemargin.voting.measure import measure
from safemargin.voting.plurality import count_trails
from safemargin.voting.privacy import worst_of
from safemargin.voting.rules import rule_named
from safemargin.voting.sampling import sample

pytestmark = pytest.mark.full

BIASED = Belief(rankings(3), tuple(Fraction(n, 20) for n in (6, 4, 3, 3, 2, 2)))


def same(first: object, second: object) -> None:
    assert np.exp(second.log_likely) == pytest.approx(np.exp(first.log_likely), abs=1e-12)  # type: ignore[attr-defined]
    gaps = [each.gaps * np.exp(each.shift) for each in (first, second)]  # type: ignore[attr-defined]
    assert gaps[1] == pytest.approx(gaps[0], abs=1e-12)


@pytest.mark.parametrize("rule", ["borda", "maximin", "copeland", "veto", "positional:5,2,0"])
def test_transforms(rule: str) -> None:
    kinds = Election(rule_named(rule, 3), 14, BIASED).kinds
    same(enumerate_votes(kinds, no_progress), transform(kinds, grid_of(kinds), crossings(kinds), no_progress))


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["borda", "plurality", "veto"])
def test_close_races_against_enumeration(rule: str) -> None:
    """Differences between all votes for all results, with beliefs at a tie, near one and far from one."""
    known = {(0, 1, 2): 2, (2, 1, 0): 1}
    cases = (((1, 1, 1, 1, 1, 1), 11, {}), ((6, 4, 3, 3, 2, 2), 8, {}), ((5, 1, 1, 5, 1, 5), 9, known))
    for shares, voters, seen in cases:
        belief = Belief(rankings(3), tuple(Fraction(n, sum(shares)) for n in shares))
        kinds = Election(rule_named(rule, 3), voters, belief, seen).kinds
        found = count_close_races(kinds, grid_of(kinds), no_progress)
        exact = enumerate_votes(kinds, no_progress)
        assert np.abs(found.gaps - exact.gaps * np.exp(exact.shift)).max() <= found.slack < 1e-8
        assert found.gaps == pytest.approx(exact.gaps * np.exp(exact.shift), abs=1e-12)


def test_borda_of_a_million_and_more() -> None:
    """A proved interval at any number of voters, and the limit of delta times the root."""
    rule = rule_named("borda", 3)
    small, large = (measure(Election(rule, voters, uniform(rule))) for voters in (10**6, 10**9))
    assert small.engine == large.engine == "close races" and small.exact and large.exact
    assert small.delta == pytest.approx(0.000846422225, rel=1e-8)
    assert small.interval[1] - small.interval[0] < 1e-11
    assert large.delta * 10**4.5 == pytest.approx(small.delta * 10**3, rel=2e-4)


def test_chances_in_a_window_are_binomial() -> None:
    """One point and a tail of up to a billion coins, within the proved remainder."""
    for coins in (10, 1_000, 10**6, 10**9):
        law = spectrum(np.array([0.25, 0.75]), np.array([[0], [1]]), coins)
        heads = 3 * coins // 4 + 2
        one = law.along(np.array([heads]), np.array([1]), 1)
        tail = law.along(np.array([heads]), np.array([1]), int(law.low[0] + law.size[0]) - heads)
        assert one == pytest.approx(binom.pmf(heads, coins, 0.75), abs=law.slack(1) + 1e-14)
        assert tail == pytest.approx(binom.sf(heads - 1, coins, 0.75), abs=law.slack(float(law.size[0])) + 1e-11)


def test_far_from_a_tie_another_engine_answers() -> None:
    answer = measure(Election(rule_named("borda", 3), 10**6, BIASED), draws=2_000)
    assert answer.engine == "Monte Carlo" and any("absolute" in note for note in answer.notes)


def test_transforms_keep_their_digits_where_delta_is_tiny() -> None:
    answer = measure(Election(rule_named("borda", 3), 2000, BIASED))
    low, high = answer.interval
    assert answer.engine == "FFT" and low <= answer.delta <= high
    assert answer.delta == pytest.approx(8.7039092324e-16, rel=1e-9) and high - low < 1e-10 * answer.delta


@pytest.mark.parametrize("size", [2, 3, 4, 5])
@pytest.mark.parametrize("voters", [1, 2, 9])
def test_plurality_by_trails(size: int, voters: int) -> None:
    shares = tuple(Fraction(n, sum(range(1, size + 1))) for n in range(1, size + 1))
    for known in ({}, {(0,): 1, (size - 1,): 2}):
        belief = Belief(rankings(size, (1, size - 1)), shares)
        kinds = Election(rule_named("plurality", size), voters + sum(known.values()), belief, known).kinds
        same(enumerate_votes(kinds, no_progress), count_trails(kinds, no_progress))


def test_plurality_with_candidates_nobody_votes_for() -> None:
    belief = Belief(((0, 1, 2), (1, 0, 2)), (Fraction(1, 2), Fraction(1, 2)))
    kinds = Election(rule_named("plurality", 3), 9, belief, {(2,): 4}).kinds
    same(enumerate_votes(kinds, no_progress), count_trails(kinds, no_progress))


@pytest.mark.parametrize("rule", ["stv", "stv-drop-first"])
@pytest.mark.parametrize("known", [{}, {(0, 1, 2): 2, (2, 1, 0): 1}], ids=["none known", "some known"])
def test_transfers(rule: str, known: dict[tuple[int, ...], int]) -> None:
    kinds = Election(rule_named(rule, 3), 10, BIASED, known).kinds
    same(enumerate_votes(kinds, no_progress), count_transfers(kinds, no_progress))


def test_known_votes() -> None:
    rule = rule_named("plurality", 2)
    belief = uniform(rule)
    assert measure(Election(rule, 5, belief, {(0, 1): 2, (1, 0): 2})).delta == 1
    assert measure(Election(rule, 5, belief, {(0, 1): 4})).delta == 0
    fewer = measure(Election(rule, 9, belief, {(0, 1): 2, (1, 0): 2})).delta
    assert fewer == pytest.approx(measure(Election(rule, 5, belief)).delta)
    with pytest.raises(InputError, match="one must be left"):
        Election(rule, 4, belief, {(0, 1): 4})


def test_publishing_less_discloses_less() -> None:
    for rule in ("plurality", "borda", "stv"):
        for epsilon in (0.0, 0.2, 1.0):
            election = Election(rule_named(rule, 3), 9, BIASED)
            winner, counts = measure(election, "winner", epsilon), measure(election, "histogram", epsilon)
            tops = measure(election, "tops", epsilon)
            assert winner.delta <= counts.delta + 1e-12 and tops.delta <= counts.delta + 1e-12
    election = Election(rule_named("borda", 3), 9, BIASED)
    scores = measure(election, "scores").delta
    assert measure(election).delta <= scores <= measure(election, "histogram").delta


def test_several_beliefs_give_the_worst() -> None:
    rule = rule_named("plurality", 3)
    answers = [measure(Election(rule, 20, belief)) for belief in (uniform(rule), BIASED)]
    assert worst_of(answers).delta == max(answer.delta for answer in answers)


def test_an_engine_that_cannot_gives_way_and_says_so() -> None:
    rule = rule_named("stv", 3)
    answer = measure(Election(rule, 200, uniform(rule)), engine="enumeration")
    assert answer.engine == "dynamic programming" and "too many" in answer.notes[0]
    four = rule_named("stv", 4)
    answer = measure(Election(four, 60, uniform(four)), draws=4000)
    assert answer.engine == "Monte Carlo" and not answer.exact and any("enumeration" in note for note in answer.notes)
    assert answer.interval[0] <= answer.delta <= answer.interval[1]
    with pytest.raises(InputError, match="engine = 'magic'"):
        measure(Election(rule, 5, uniform(rule)), engine="magic")


def test_drawing_where_races_are_rarely_close() -> None:
    election = Election(rule_named("borda", 3), 2000, BIASED)
    answer = measure(election, engine="Monte Carlo", draws=40_000)
    assert answer.interval[0] <= 8.7039e-16 <= answer.interval[1]
    assert answer.interval[1] < 2 * answer.delta


@pytest.mark.statistical
def test_intervals_hold() -> None:
    """At least 91 of 100 intervals hold: with a chance of 95 in 100 each, fewer than 80 is next to impossible."""
    rule = rule_named("plurality", 3)
    election = Election(rule, 101, uniform(rule))
    exact = measure(election).delta
    ties = crossings(election.kinds, 2)
    found = [sample(election.kinds, ties, 0.0, 10_000, seed, no_progress) for seed in range(100)]
    assert sum(each.low <= exact <= each.high for each in found) >= 80
    assert np.mean([each.delta for each in found]) == pytest.approx(exact, rel=0.02)


@pytest.mark.parametrize(
    "weights", [(1,) * 5, (1,) * 7, (30, 29, 15, 12, 8), (20, 20, 19, 19, 1, 1), (25, 20) + (5,) * 6]
)
def test_plurality_by_steps_of_heights(weights: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    shares = tuple(Fraction(weight, sum(weights)) for weight in weights)
    kinds = Election(
        rule_named("plurality", len(weights)), 30_000, Belief(rankings(len(weights), (1, len(weights) - 1)), shares)
    ).kinds
    few = count_trails(kinds, no_progress, full=False)
    monkeypatch.setattr("safemargin.voting.plurality.STEPS", np.inf)  # every height
    every = count_trails(kinds, no_progress, full=False)
    assert few.worst().log_delta == pytest.approx(every.worst().log_delta, abs=2e-12)


def test_a_million_voters_with_few_candidates() -> None:
    """With all candidates alike, four times the voters halve delta, up to terms that vanish."""
    rule = rule_named("plurality", 5)
    deltas = [measure(Election(rule, voters, uniform(rule))).delta for voters in (250_000, 1_000_000)]
    assert deltas[0] == pytest.approx(2 * deltas[1], rel=2e-3)


@pytest.mark.statistical
@pytest.mark.parametrize(("rule", "voters", "epsilon"), [("borda", 30, 0.0), ("borda", 30, 0.1), ("maximin", 21, 0.05)])
def test_intervals_hold_for_votes_that_were_not_measured(
    rule: str, voters: int, epsilon: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With more kinds of votes than are measured in pairs, the upper end is for all of them."""
    monkeypatch.setattr("safemargin.voting.sampling.MAX_VOTES", 3)
    election = Election(rule_named(rule, 3), voters, BIASED)
    exact = measure(election, "winner", epsilon).delta
    ties = crossings(election.kinds, 2)
    found = [sample(election.kinds, ties, epsilon, 10_000, seed, no_progress) for seed in range(40)]
    assert sum(each.low <= exact <= each.high for each in found) >= 34
    assert np.mean([each.high for each in found]) < 2.5 * exact


def test_too_many_votes_for_an_upper_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("safemargin.voting.sampling.MAX_RESULTS", 1000)
    rule = rule_named("borda", 5)
    election = Election(rule, 100, uniform(rule), {(0, 1, 2, 3, 4): 1})  # with a known vote candidates are not alike
    answer = measure(election, draws=2000)
    assert answer.interval[1] == measure(election, "histogram").delta < 1 and "lower bound" in answer.notes[-1]


def test_many_kinds_of_votes_have_an_upper_end() -> None:
    rule = rule_named("borda", 5)
    answer = measure(Election(rule, 300, uniform(rule), {(0, 1, 2, 3, 4): 1}), draws=20_000)
    assert answer.engine == "Monte Carlo" and not any("lower bound" in note for note in answer.notes)
    assert answer.interval[0] <= answer.delta <= answer.interval[1] < 3 * answer.delta
