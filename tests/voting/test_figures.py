"""Figures that were computed elsewhere, to 1e-9 or exactly."""

import json
from fractions import Fraction
from importlib import import_module
from itertools import permutations
from math import ceil, exp, expm1, floor, log
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from safemargin.voting.closed_forms import (
    counts_fraction,
    counts_worst,
    log_pair,
    two_candidate_chances as compute,
    two_candidate_fraction as exact_fraction,
)
from safemargin.voting.election import Belief, Election, rankings, uniform
from safemargin.voting.elimination import count_transfers
from safemargin.voting.grid import enumerate_votes, exact_delta
from safemargin.voting.measure import chances_of, measure
from safemargin.voting.rules import rule_named
from safemargin.voting.scoring import Positional
from safemargin.voting.stability import classify, classify_counts, lemma_exponent, limiting_slope, smallest_electorate

pytestmark = pytest.mark.full

TRUTH: dict[str, Any] = json.loads((Path(__file__).parents[1] / "vectors/outcome.json").read_text())
SIZES: list[int] = TRUTH["sizes"]
SHARES = {"uniform": (Fraction(1, 6),) * 6, "biased": tuple(Fraction(share) for share in TRUTH["biased"])}
RULES = list(TRUTH["winner"]["uniform"])
TIED = Belief(rankings(3), (Fraction(1, 5),) * 4 + (Fraction(1, 10),) * 2)


def election(rule: str, voters: int, belief: str) -> Election:
    return Election(rule_named(rule, 3), voters, Belief(rankings(3), SHARES[belief]))


@pytest.mark.parametrize("belief", SHARES)
@pytest.mark.parametrize("rule", RULES)
def test_winner_among_three(rule: str, belief: str) -> None:
    sizes = [n for n in SIZES if n <= (50 if "bucklin" not in rule else 15)]
    for n in sizes:
        found = measure(election(rule, n, belief)).delta
        assert found == pytest.approx(TRUTH["winner"][belief][rule][SIZES.index(n)], abs=1e-9)


@pytest.mark.parametrize("belief", SHARES)
@pytest.mark.parametrize("rule", [rule for rule in RULES if "bucklin" not in rule])
def test_other_epsilons(rule: str, belief: str) -> None:
    chances = chances_of(election(rule, 20, belief))
    for epsilon, delta in TRUTH["curves_at_20"][belief][rule].items():
        assert chances.worst(float(epsilon)).delta == pytest.approx(delta, abs=1e-9)
    assert chances.pure_epsilon == pytest.approx(TRUTH["pure_at_20"][belief][rule], abs=1e-9)
    assert chances.worst(chances.pure_epsilon * (1 + 1e-12)).delta == pytest.approx(0, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(("rule", "belief"), [("bucklin", "biased"), ("bucklin-simple", "uniform")])
def test_bucklin_at_thirty(rule: str, belief: str) -> None:
    found = measure(election(rule, 30, belief)).delta
    assert found == pytest.approx(TRUTH["winner"][belief][rule][SIZES.index(30)], abs=1e-9)


@pytest.mark.parametrize("belief", SHARES)
def test_fractions(belief: str) -> None:
    for n, rules in TRUTH["fractions"][belief].items():
        for rule, text in rules.items():
            assert exact_delta(election(rule, int(n), belief).kinds) == Fraction(text)


@pytest.mark.parametrize("kind", TRUTH["histogram"])
def test_histogram(kind: str) -> None:
    figures = TRUTH["histogram"][kind]
    for n, delta in figures["zero"].items():
        assert counts_worst(int(n), figures["pi"]).delta == pytest.approx(delta, abs=1e-9, rel=1e-9)
    for n, curve in figures["curves"].items():
        for epsilon, delta in curve.items():
            assert counts_worst(int(n), figures["pi"], float(epsilon)).delta == pytest.approx(
                delta, rel=1e-8, abs=1e-300
            )


def test_histogram_of_one_voter_discloses_all() -> None:
    for kinds in (2, 3, 6, 24):
        assert counts_fraction(1, [Fraction(1, kinds)] * kinds) == 1
    assert float(counts_fraction(10, [Fraction(1, 3)] * 3)) == pytest.approx(0.307169, abs=1e-6)


def test_the_two_rarest_kinds_are_the_worst() -> None:
    shares = [0.35, 0.25, 0.2, 0.12, 0.08]
    for epsilon in (0.0, 0.2, 0.7, 1.5):
        every = max(log_pair(40, x, y, epsilon) for x in shares for y in shares if x != y)
        assert counts_worst(40, shares, epsilon).log_delta == pytest.approx(every, rel=1e-12)


def tail_bound(voters: int, first: float, second: float, epsilon: float) -> float:
    """Theorem 1's two binomial tails."""
    epsilon = min(epsilon, 2 * log(2))
    up = binom.sf(floor(first * (voters - 1) * exp(epsilon / 2) - 1), voters - 1, first)
    down = binom.cdf(ceil(second * (voters - 1) * exp(-epsilon / 2)) - 1, voters - 1, second)
    return float(up + down)


def chernoff_bound(voters: int, first: float, second: float, epsilon: float) -> float:
    """Theorem 1 with the constants of its proof, above the tails."""
    epsilon = min(epsilon, 2 * log(2))
    mean, other = first * (voters - 1), second * (voters - 1)
    beta = expm1(epsilon / 2) - 1 / mean
    return exp(-mean * beta**2 / 3) + exp(-other * expm1(-epsilon / 2) ** 2 / 2)


def test_the_exact_delta_of_counts_is_below_the_bounds_of_theorem_1() -> None:
    for row in TRUTH["bounds"]:
        pairs = list(permutations(row["pi"], 2))
        tails = max(tail_bound(row["n"], x, y, row["eps"]) for x, y in pairs)
        explicit = chernoff_bound(row["n"], min(row["pi"]), min(row["pi"]), row["eps"])
        exact = counts_worst(row["n"], row["pi"], row["eps"]).delta
        assert exact == pytest.approx(row["exact"], rel=1e-8, abs=1e-290)
        assert exact <= tails * (1 + 1e-9) <= explicit * (1 + 2e-9)
        assert tails == pytest.approx(row["binomial_tail_bound"], rel=1e-6, abs=1e-290)
        assert explicit == pytest.approx(row["chernoff_bound"], rel=1e-9, abs=1e-290)


def of_two(alpha: str, share: Fraction, voters: int) -> Election:
    return Election(rule_named(f"majority:{alpha}", 2), voters, Belief(((0, 1), (1, 0)), (share, 1 - share)))


@pytest.mark.parametrize("case", TRUTH["majority"])
def test_majority(case: str) -> None:
    alpha, share = (part.split("=")[1] for part in case.split(","))
    for n, delta in TRUTH["majority"][case].items():
        assert compute(of_two(alpha, Fraction(share), int(n)).kinds).worst().delta == pytest.approx(delta, rel=1e-11)


def test_majority_exactly() -> None:
    for n, text in enumerate(TRUTH["majority_half"], 1):
        assert exact_fraction(of_two("1/2", Fraction(1, 2), n).kinds) == Fraction(text)
    assert compute(of_two("1/2", Fraction(9, 10), 1000).kinds).worst().delta == pytest.approx(1.985223e-224, rel=1e-6)
    huge = compute(of_two("1/2", Fraction(9, 10), 10**7).kinds).worst()
    assert huge.delta == 0 and huge.log_delta / 10**7 == pytest.approx(-0.510826, abs=1e-5)
    assert classify(of_two("2/3", Fraction(1, 2), 9)).rate == pytest.approx(0.056633, abs=1e-6)
    assert classify(of_two("1/2", Fraction(3, 10), 9)).rate == pytest.approx(0.087177, abs=1e-6)
    assert exact_fraction(of_two("0.55", Fraction(1, 2), 100).kinds) == exact_fraction(
        of_two("11/20", Fraction(1, 2), 100).kinds
    )


def test_worst_share_of_a_majority() -> None:
    """Delta is one binomial term, which is largest where the bar is the mode: at (k - 1) / (n - 1)."""
    best = max(range(1, 40), key=lambda part: exact_fraction(of_two("1/2", Fraction(part, 40), 21).kinds))
    assert Fraction(best, 40) == Fraction(11 - 1, 21 - 1)


def test_majority_above_epsilon_zero() -> None:
    chances = compute(of_two("2/3", Fraction(3, 5), 9).kinds)
    by_law = enumerate_votes(of_two("2/3", Fraction(3, 5), 9).kinds)
    for epsilon in (0.0, 0.1, 0.3, 1.0):
        assert chances.worst(epsilon).delta == pytest.approx(by_law.worst(epsilon).delta, abs=1e-14)


def test_smallest_electorates() -> None:
    rule = rule_named("majority", 2)
    for delta, n in TRUTH["smallest"].items():
        found = smallest_electorate(lambda voters: measure(Election(rule, voters, uniform(rule))).delta, float(delta))
        assert found == n


def test_rates() -> None:
    rates = TRUTH["rates"]
    biased = Belief(rankings(3), SHARES["biased"])
    for rule in ("plurality", "stv", "borda"):
        key = "plurality_biased_0.5_0.3_0.2" if rule == "plurality" else f"{rule}_biased"
        rows = rates[key]["rows"] if rule == "plurality" else rates[key]
        for row in rows[:4]:
            found = measure(Election(rule_named(rule, 3), row[0], biased)).delta
            assert found == pytest.approx(row[1], rel=1e-9)
        for row in rates[f"{rule}_tie_ab"][:3]:
            assert measure(Election(rule_named(rule, 3), row[0], TIED)).delta == pytest.approx(row[1], abs=1e-9)
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


def test_classes_of_other_publications() -> None:
    """Counts fall like 1/sqrt(n) at epsilon 0 (Theorem 4), and exponentially above it."""
    shares = [Fraction(1, 2), Fraction(3, 10), Fraction(1, 5)]
    assert classify_counts(shares, 0.0).kind == "unstable"
    for epsilon in (0.5, 1.0):
        stable = classify_counts(shares, epsilon)
        near, far = (counts_worst(n, [float(s) for s in shares], epsilon).log_delta for n in (20_000, 40_000))
        assert stable.kind == "stable" and stable.rate == pytest.approx((near - far) / 20_000, rel=0.01)


def test_a_majority_at_its_bar_is_unstable_and_three_of_six_rankings_are_uncovered() -> None:
    assert classify(of_two("2/3", Fraction(2, 3), 9)).kind == "unstable"
    some = Belief(tuple(rankings(3)[n] for n in (0, 3, 4)), (Fraction(1, 3),) * 3)
    assert classify(Election(rule_named("borda", 3), 9, some)).kind == "uncovered"


def test_slopes() -> None:
    for key, slope in TRUTH["slopes"].items():
        count, _, name = key[1:].partition("_")
        name = {"2approval": "approval-2", "5approval": "approval-5"}.get(name, name)
        rule = rule_named(name, int(count)) if int(count) > 2 else Positional(2, (Fraction(1), Fraction(0)))
        assert isinstance(rule, Positional)
        assert limiting_slope(rule) == pytest.approx(slope, abs=1e-9)


def test_simulators() -> None:
    for row in TRUTH["simulated"]:
        chances = chances_of(election(row["rule"], row["n"], row["dist"]))
        found = chances.simulator_delta(row["eps"])
        assert found == pytest.approx(row["sim_delta"], abs=1e-9)
        assert found <= chances.worst(row["eps"]).delta + 1e-12
    assert compute(of_two("1/2", Fraction(1, 2), 5).kinds).simulator_delta() == pytest.approx(0.1875)


@pytest.mark.slow
def test_tables_of_the_paper(monkeypatch: pytest.MonkeyPatch) -> None:
    """As printed, and corrected; both from the same chances, which take long to compute."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "examples"))
    example = import_module("voting_tables")
    for corrected in (False, True):
        rows = example.rows(corrected)
        for rule, figures in TRUTH["tables"].items():
            row, expected = rows[rule], figures[int(corrected)]
            assert (row.slope, row.constant) == pytest.approx(tuple(expected[:2]), abs=1e-8)
            assert row.mean_square == pytest.approx(expected[2], abs=1e-12)
            assert row.error == pytest.approx(expected[3], rel=1e-6)
            if not corrected:
                slope, constant, square = example.PRINTED[rule]
                assert round(row.slope, 3) == slope
                assert float(f"{row.constant:.4g}") == constant
                assert row.mean_square == pytest.approx(square, abs=2e-13)
        order = sorted(rows, key=lambda rule: -rows[rule].slope)
        middle = ["stv", "maximin"] if corrected else ["maximin", "stv"]
        assert order == ["approval-2", "plurality", *middle, "borda"]


@pytest.mark.slow
def test_large_electorates() -> None:
    for rule, n, delta in (("borda", 1000, 0.0269002), ("stv", 1001, 0.0252142), ("plurality", 2000, 0.0165245)):
        chosen = rule_named(rule, 3)
        assert measure(Election(chosen, n, uniform(chosen))).delta == pytest.approx(delta, abs=5e-8)
    ten = rule_named("plurality", 10)
    found = measure(Election(ten, 10_000, Belief(rankings(10, (1, 9)), (Fraction(1, 10),) * 10)))
    assert found.engine == "trails" and found.delta == pytest.approx(0.0056, abs=3e-4)
    four = rule_named("approval-2", 4)
    assert measure(Election(four, 100, uniform(four))).delta == pytest.approx(0.118823, abs=1e-6)


def test_single_transferable_vote_with_few_and_many() -> None:
    kinds = election("stv", 30, "biased").kinds
    rows = np.exp(count_transfers(kinds).log_likely)
    assert rows.sum(axis=1) == pytest.approx(1.0)
