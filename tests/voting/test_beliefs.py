"""Beliefs by the shares of a result, classes of several beliefs, and names of rules, against their definitions."""

from collections import Counter
from fractions import Fraction
from itertools import product
from math import sqrt
from pathlib import Path

import pytest

import safemargin
from safemargin.core import InputError
from safemargin.voting.election import Belief, Election
from safemargin.voting.rules import rule_named
from safemargin.voting.stability import classify, slowest

VOTES = {"a>b": 5, "b>a": 3, "a": 1}


def write(path: Path, votes: dict[str, int]) -> Path:
    path.write_text("ranking,count\n" + "".join(f"{vote},{count}\n" for vote, count in votes.items()))
    return path


def by_definition(shares: dict[str, Fraction], voters: int) -> Fraction:
    """Definition 2 at epsilon 0 for the histogram: every way in which the others vote."""
    laws = {}
    for own in shares:
        law: Counter[tuple[int, ...]] = Counter()
        for others in product(shares, repeat=voters - 1):
            chance = Fraction(1)
            for vote in others:
                chance *= shares[vote]
            counts = Counter([*others, own])
            law[tuple(counts[vote] for vote in shares)] += chance  # type: ignore[assignment]
        laws[own] = law
    return max(
        sum((max(Fraction(x[key]) - Fraction(y[key]), Fraction(0)) for key in x), Fraction(0))
        for x in laws.values()
        for y in laws.values()
    )


@pytest.mark.parametrize(("belief", "more"), [("result", 0), ("smoothed", Fraction(1, 2))])
def test_shares_are_those_of_the_result(tmp_path: Path, belief: str, more: Fraction) -> None:
    path = write(tmp_path / "votes.csv", VOTES)
    total = sum(VOTES.values()) + more * len(VOTES)
    shares = {vote: (count + more) / Fraction(total) for vote, count in VOTES.items()}
    for voters in (2, 4, 6):
        found = safemargin.outcome("plurality", votes=path, voters=voters, belief=belief, publish="histogram")
        assert found.delta == pytest.approx(float(by_definition(shares, voters)), rel=1e-9)
    with pytest.raises(InputError, match=f"belief = '{belief}': needs the votes"):
        safemargin.outcome("plurality", candidates=2, voters=3, belief=belief)


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "deltas"),
    [("2009 Burlington Mayoral Election", (6.1e-8, 0.0946, 0.524)), ("Aspen City Council 2009", (0.0256, 0.1, 0.524))],
)
def test_real_elections(data_sets: Path, tmp_path: Path, name: str, deltas: tuple[float, ...]) -> None:
    """Plurality, first places and all rankings, against an onlooker who believes in the shares of the result."""
    import duckdb

    query = f"""select "order", sum("count") from '{data_sets / "preflib_ranked_elections_dev.parquet"}'
                where election = '{name}' group by all order by all"""
    votes: Counter[str] = Counter()
    for order, count in duckdb.sql(query).fetchall():
        if text := order.split("{")[0].strip(","):
            votes[text.replace(",", ">")] += int(count)
    path = write(tmp_path / "votes.csv", dict(votes))
    named = sorted({candidate for vote in votes for candidate in vote.split(">")}, key=int)
    for publish, delta in zip(("winner", "tops", "histogram"), deltas, strict=True):
        found = safemargin.outcome("plurality", votes=path, ties=named, publish=publish)
        assert found.delta == pytest.approx(delta, rel=0.01)


def test_one_unstable_belief_decides_the_class(tmp_path: Path) -> None:
    """Theorem 3 is about sets of beliefs: with the uniform one among them delta falls like 1 over the root of n."""
    path = tmp_path / "other.csv"
    path.write_text("ranking,probability\na>b>c,0.3\nb>a>c,0.3\nc>a>b,0.1\nc>b>a,0.1\na>c>b,0.1\nb>c>a,0.1\n")
    found = safemargin.outcome("borda", candidates=3, voters=20, belief=["uniform", path], classify=True)
    assert found.stability is not None and found.stability.kind == "unstable"
    alone = safemargin.outcome("borda", candidates=3, voters=20, belief=path, classify=True).stability
    assert alone is not None and alone.kind == "uncovered" and alone.is_bounded
    # The largest delta of the two does fall like 1 over the root of n.
    deltas = [safemargin.outcome("borda", candidates=3, voters=n, belief=["uniform", path]).delta for n in (40, 160)]
    assert deltas[0] / deltas[1] == pytest.approx(2, rel=0.1)
    nothing = slowest([found.stability, type(alone)("uncovered", 0.0, "nothing is said", is_bounded=False)])
    assert nothing.kind == "uncovered"


@pytest.mark.parametrize("name", ["stv", "irv", "bucklin", "maximin", "copeland", "schulze", "kemeny", "veto"])
def test_with_two_candidates_every_rule_is_a_majority(name: str) -> None:
    even = Election(rule_named(name, 2), 21, Belief(((0, 1), (1, 0)), (Fraction(1, 2), Fraction(1, 2))))
    assert classify(even).kind == "unstable"
    uneven = Election(rule_named(name, 2), 21, Belief(((0, 1), (1, 0)), (Fraction(2, 3), Fraction(1, 3))))
    assert classify(uneven).kind == "stable"
    deltas = [safemargin.outcome(name, candidates=2, voters=n).delta for n in (99, 399)]
    assert deltas[0] / deltas[1] == pytest.approx(2, rel=0.02)


def test_a_constant_rule_discloses_nothing() -> None:
    for voters in (1, 10):
        found = safemargin.outcome("positional:1,1,1", candidates=3, voters=voters, classify=True)
        assert found.delta == 0 and "No vote makes a difference" in found.to_text()
        assert found.stability is not None and "delta is 0" in found.stability.words


def test_an_infinite_epsilon_is_said() -> None:
    text = safemargin.outcome("plurality", candidates=3, voters=4, publish="histogram", curve=True).to_text()
    assert "With delta 0: no epsilon" in text
    found = safemargin.outcome("plurality", candidates=3, voters=9, curve=True)
    assert f"With delta 0: epsilon {found.pure_epsilon:.6g}" in found.to_text()


def test_slow_rates_are_readable() -> None:
    near = Election(rule_named("majority", 2), 9, Belief(((0, 1), (1, 0)), (Fraction(501, 1000), Fraction(499, 1000))))
    words = classify(near).words
    assert "with every 500,000 voters" in words and "1-fold" not in words


def test_borda_of_a_million_voters_answers() -> None:
    """The interval lies within a thousandth of the limit 1 / sqrt(slope n), and is at most that of all counts."""
    found = safemargin.outcome("borda", candidates=3, voters=1_000_000, classify=True, draws=20_000)
    assert found.stability is not None and found.stability.slope is not None
    limit = 1 / sqrt(found.stability.slope * 1_000_000)
    counts = safemargin.outcome("borda", candidates=3, voters=1_000_000, publish="histogram").delta
    low, high = found.interval
    assert 0.999 * limit < low <= high < 1.001 * limit and high <= counts
