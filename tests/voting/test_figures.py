"""Figures that were computed elsewhere, to 1e-9 or exactly."""

from fractions import Fraction
from itertools import permutations
from math import log

import numpy as np
import pytest

import outcome_truth as truth
from safemargin.core import no_progress
from safemargin.core.errors import InputError
from safemargin.voting.ballots import favourites, rankings
from safemargin.voting.belief import Belief, uniform
from safemargin.voting.closed import closed, closed_fraction, decline, worst_share
from safemargin.voting.counts import chernoff_bound, counts_fraction, counts_worst, log_pair, tail_bound
from safemargin.voting.election import Election
from safemargin.voting.enumeration import enumerated
from safemargin.voting.limits import limiting_slope
from safemargin.voting.paper import PRINTED, table
from safemargin.voting.private import chances_of, private
from safemargin.voting.rational import exact_delta
from safemargin.voting.rules import rule_named
from safemargin.voting.rules.positional import Positional
from safemargin.voting.simulator import simulator_delta
from safemargin.voting.stability import classify, lemma_exponent, smallest_electorate
from safemargin.voting.transfers import transferred

SHARES = {"uniform": (Fraction(1, 6),) * 6, "biased": tuple(Fraction(share) for share in truth.BIASED)}
RULES = list(truth.WINNER["uniform"])
TIED = Belief(rankings(3), (Fraction(1, 5),) * 4 + (Fraction(1, 10),) * 2)


def election(rule: str, voters: int, belief: str) -> Election:
    return Election(rule_named(rule, 3), voters, Belief(rankings(3), SHARES[belief]))


@pytest.mark.parametrize("belief", SHARES)
@pytest.mark.parametrize("rule", RULES)
def test_winner_among_three(rule: str, belief: str) -> None:
    sizes = [n for n in truth.SIZES if n <= (50 if "bucklin" not in rule else 15)]
    for n in sizes:
        found = private(election(rule, n, belief)).delta
        assert found == pytest.approx(truth.WINNER[belief][rule][truth.SIZES.index(n)], abs=1e-9)


@pytest.mark.parametrize("belief", SHARES)
@pytest.mark.parametrize("rule", [rule for rule in RULES if "bucklin" not in rule])
def test_other_epsilons(rule: str, belief: str) -> None:
    chances = chances_of(election(rule, 20, belief))
    for epsilon, delta in truth.CURVES_AT_20[belief][rule].items():
        assert chances.worst(epsilon).delta == pytest.approx(delta, abs=1e-9)
    assert chances.pure_epsilon == pytest.approx(truth.PURE_AT_20[belief][rule], abs=1e-9)
    assert chances.worst(chances.pure_epsilon * (1 + 1e-12)).delta == pytest.approx(0, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(("rule", "belief"), [("bucklin", "biased"), ("bucklin-simple", "uniform")])
def test_bucklin_at_thirty(rule: str, belief: str) -> None:
    found = private(election(rule, 30, belief)).delta
    assert found == pytest.approx(truth.WINNER[belief][rule][truth.SIZES.index(30)], abs=1e-9)


@pytest.mark.parametrize("belief", SHARES)
def test_fractions(belief: str) -> None:
    for n, rules in truth.FRACTIONS[belief].items():
        for rule, text in rules.items():
            assert exact_delta(election(rule, n, belief).kinds) == Fraction(text)


@pytest.mark.parametrize("kind", truth.HISTOGRAM)
def test_histogram(kind: str) -> None:
    figures = truth.HISTOGRAM[kind]
    for n, delta in figures["zero"].items():
        assert counts_worst(n, figures["pi"]).delta == pytest.approx(delta, abs=1e-9, rel=1e-9)
    for n, curve in figures["curves"].items():
        for epsilon, delta in curve.items():
            assert counts_worst(n, figures["pi"], epsilon).delta == pytest.approx(delta, rel=1e-8, abs=1e-300)


def test_histogram_of_one_voter_tells_all() -> None:
    for kinds in (2, 3, 6, 24):
        assert counts_fraction(1, [Fraction(1, kinds)] * kinds) == 1
    assert float(counts_fraction(10, [Fraction(1, 3)] * 3)) == pytest.approx(0.307169, abs=1e-6)


def test_the_two_rarest_kinds_are_the_worst() -> None:
    shares = [0.35, 0.25, 0.2, 0.12, 0.08]
    for epsilon in (0.0, 0.2, 0.7, 1.5):
        every = max(log_pair(40, x, y, epsilon) for x in shares for y in shares if x != y)
        assert counts_worst(40, shares, epsilon).log_delta == pytest.approx(every, rel=1e-12)


def test_bounds_of_theorem_1() -> None:
    for row in truth.BOUNDS:
        pairs = list(permutations(row["pi"], 2))
        tails = max(tail_bound(row["n"], x, y, row["eps"]) for x, y in pairs)
        explicit = chernoff_bound(row["n"], min(row["pi"]), min(row["pi"]), row["eps"])
        assert max(chernoff_bound(row["n"], x, y, row["eps"]) for x, y in pairs) <= explicit * (1 + 1e-12)
        assert row["exact"] <= tails * (1 + 1e-9) <= explicit * (1 + 2e-9)
        assert tails == pytest.approx(row["binomial_tail_bound"], rel=1e-6, abs=1e-290)
        assert explicit == pytest.approx(row["chernoff_bound"], rel=1e-9, abs=1e-290)
    with pytest.raises(InputError, match="needs more than"):
        tail_bound(50, 1 / 3, 1 / 3, 0.1)


def of_two(alpha: str, share: Fraction, voters: int) -> Election:
    return Election(rule_named(f"majority:{alpha}", 2), voters, Belief(((0, 1), (1, 0)), (share, 1 - share)))


@pytest.mark.parametrize("case", truth.MAJORITY)
def test_majority(case: str) -> None:
    alpha, share = (part.split("=")[1] for part in case.split(","))
    for n, delta in truth.MAJORITY[case].items():
        assert closed(of_two(alpha, Fraction(share), n).kinds).worst().delta == pytest.approx(delta, rel=1e-11)


def test_majority_exactly() -> None:
    for n, text in enumerate(truth.MAJORITY_HALF, 1):
        assert closed_fraction(of_two("1/2", Fraction(1, 2), n).kinds) == Fraction(text)
    assert closed(of_two("1/2", Fraction(9, 10), 1000).kinds).worst().delta == pytest.approx(1.985223e-224, rel=1e-6)
    huge = closed(of_two("1/2", Fraction(9, 10), 10**7).kinds).worst()
    assert huge.delta == 0 and huge.log_delta / 10**7 == pytest.approx(-0.510826, abs=1e-5)
    assert decline(Fraction(2, 3), Fraction(1, 2)).rate == pytest.approx(0.056633, abs=1e-6)
    assert closed_fraction(of_two("0.55", Fraction(1, 2), 100).kinds) == closed_fraction(
        of_two("11/20", Fraction(1, 2), 100).kinds
    )


def test_worst_share_of_a_majority() -> None:
    best = max(range(1, 40), key=lambda part: closed_fraction(of_two("1/2", Fraction(part, 40), 21).kinds))
    assert worst_share(Fraction(1, 2), 21) == Fraction(best, 40)


def test_majority_above_epsilon_zero() -> None:
    chances = closed(of_two("2/3", Fraction(3, 5), 9).kinds)
    by_law = enumerated(of_two("2/3", Fraction(3, 5), 9).kinds, no_progress)
    for epsilon in (0.0, 0.1, 0.3, 1.0):
        assert chances.worst(epsilon).delta == pytest.approx(by_law.worst(epsilon).delta, abs=1e-14)


def test_smallest_electorates() -> None:
    rule = rule_named("majority", 2)
    for delta, n in truth.SMALLEST.items():
        found = smallest_electorate(lambda voters: private(Election(rule, voters, uniform(rule))).delta, delta)
        assert found == n


def test_rates() -> None:
    rates = truth.RATES
    biased = Belief(rankings(3), SHARES["biased"])
    for rule in ("plurality", "stv", "borda"):
        key = "plurality_biased_0.5_0.3_0.2" if rule == "plurality" else f"{rule}_biased"
        rows = rates[key]["rows"] if rule == "plurality" else rates[key]
        for row in rows[:4]:
            found = private(Election(rule_named(rule, 3), row[0], biased)).delta
            assert found == pytest.approx(row[1], rel=1e-9)
        for row in rates[f"{rule}_tie_ab"][:3]:
            assert private(Election(rule_named(rule, 3), row[0], TIED)).delta == pytest.approx(row[1], abs=1e-9)
    figures = rates["plurality_biased_0.5_0.3_0.2"]
    stable = classify(Election(rule_named("plurality", 3), 50, biased))
    assert (stable.kind, stable.rate) == ("stable", pytest.approx(figures["chernoff_rate"], rel=1e-9))
    assert lemma_exponent(Election(rule_named("plurality", 3), 50, biased)) == pytest.approx(figures["lemma6_exponent"])


def test_classes() -> None:
    even = Election(rule_named("plurality", 3), 50, uniform(rule_named("plurality", 3)))
    assert classify(even).kind == "unstable"
    assert classify(Election(rule_named("plurality", 3), 50, TIED)).kind == "uncovered"
    assert classify(Election(rule_named("stv", 3), 50, Belief(rankings(3), SHARES["uniform"]))).kind == "uncovered"
    assert classify(of_two("1/2", Fraction(1, 2), 9)).kind == "unstable"
    assert classify(of_two("1/2", Fraction(11, 20), 9)).rate == pytest.approx(0.005025, abs=1e-6)
    simple = Election(rule_named("bucklin-simple", 3), 50, Belief(rankings(3), SHARES["uniform"]))
    assert classify(simple).rate == pytest.approx(log(3 / 2) / 2 + log(3 / 4) / 2, abs=1e-9)


def test_slopes() -> None:
    for key, slope in truth.SLOPES.items():
        count, _, name = key[1:].partition("_")
        name = {"plurality": "approval-1", "2approval": "approval-2", "5approval": "approval-5"}.get(name, name)
        rule = rule_named(name, int(count)) if int(count) > 2 else Positional(2, (Fraction(1), Fraction(0)))
        assert isinstance(rule, Positional)
        assert limiting_slope(rule) == pytest.approx(slope, abs=1e-9)


def test_simulators() -> None:
    for row in truth.SIMULATED:
        chances = chances_of(election(row["rule"], row["n"], row["dist"]))
        found = simulator_delta(chances, row["eps"])
        assert found == pytest.approx(row["sim_delta"], abs=1e-9)
        assert found <= chances.worst(row["eps"]).delta + 1e-12
    assert simulator_delta(closed(of_two("1/2", Fraction(1, 2), 5).kinds)) == pytest.approx(0.1875)


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "place"), [("paper", 0), ("corrected", 1)])
def test_tables_of_the_paper(mode: str, place: int) -> None:
    rows = {row.rule: row for row in table(mode)}
    for rule, figures in truth.TABLES.items():
        row = rows[rule]
        assert (row.slope, row.constant) == pytest.approx(tuple(figures[place][:2]), abs=1e-8)
        assert row.mean_square == pytest.approx(figures[place][2], abs=1e-12)
        assert row.error == pytest.approx(figures[place][3], rel=1e-6)
        if mode == "paper":
            slope, constant, square = PRINTED[rule]
            assert round(row.slope, 3) == slope
            assert float(f"{row.constant:.4g}") == constant
            assert row.mean_square == pytest.approx(square, abs=2e-13)
    order = sorted(rows, key=lambda rule: -rows[rule].slope)
    middle = ["maximin", "stv"] if mode == "paper" else ["stv", "maximin"]
    assert order == ["approval-2", "plurality", *middle, "borda"]


@pytest.mark.slow
def test_large_electorates() -> None:
    for rule, n, delta in (("borda", 1000, 0.0269002), ("stv", 1001, 0.0252142), ("plurality", 2000, 0.0165245)):
        chosen = rule_named(rule, 3)
        assert private(Election(chosen, n, uniform(chosen))).delta == pytest.approx(delta, abs=5e-8)
    ten = rule_named("plurality", 10)
    found = private(Election(ten, 10_000, Belief(favourites(10), (Fraction(1, 10),) * 10)))
    assert found.engine == "trails" and found.delta == pytest.approx(0.0056, abs=3e-4)
    four = rule_named("approval-2", 4)
    assert private(Election(four, 100, uniform(four))).delta == pytest.approx(0.118823, abs=1e-6)


def test_single_transferable_vote_with_few_and_many() -> None:
    kinds = election("stv", 30, "biased").kinds
    rows = np.exp(transferred(kinds, lambda done, total: None).log_likely)
    assert rows.sum(axis=1) == pytest.approx(1.0)
