"""Every error of a paper that docs/errors.md names and no other test holds, with a counterexample that is executed."""

import math
from collections import Counter
from fractions import Fraction
from itertools import permutations, product
from pathlib import Path

import numpy as np
import pytest

import safemargin
from safemargin.voting.axioms import share_held
from safemargin.voting.closed_forms import counts_worst
from safemargin.voting.rules import rule_named

PAGE = (Path(__file__).parent.parent / "docs/errors.md").read_text(encoding="utf-8")


def tables(rows: tuple[int, ...], columns: tuple[int, ...], people: list[list[int]] | None = None) -> list[list[int]]:
    """All 2 x 2 tables with these margins, and at most so many people in every cell."""
    most = [value for row in people or [[sum(rows)] * 2] * 2 for value in row]
    return [
        list(cells)
        for cells in product(*(range(value + 1) for value in most))
        if (cells[0] + cells[1], cells[2] + cells[3]) == rows and (cells[0] + cells[2], cells[1] + cells[3]) == columns
    ]


def test_theorem_4a_of_the_release_paper() -> None:
    """ "Never determined": with an empty category the margins leave one table, though the dimension is 1."""
    assert "Theorem 4(a)" in PAGE
    assert tables((3, 0), (2, 1)) == [[2, 1, 0, 0]]


def test_theorem_4c_of_the_release_paper() -> None:
    """ "Saturation is the only route": all four rates lie between 40 and 80 %, and one cell is known."""
    assert "Theorem 4(c)" in PAGE
    people, rows, columns = [[2, 8], [8, 2]], (6, 6), (8, 4)
    rates = [Fraction(6, 10), Fraction(6, 10), Fraction(8, 10), Fraction(4, 10)]
    assert all(Fraction(2, 5) <= rate <= Fraction(4, 5) for rate in rates)
    assert {table[0] for table in tables(rows, columns, people)} == {2}  # both people of the cell said yes


def test_proposition_5_of_the_release_paper() -> None:
    """A prior on 0 and 100, noise of scale 1: the posterior has nearly no spread, where 2b is claimed as a floor."""
    assert "Proposition 5" in PAGE
    scale, printed = 1.0, 97.3
    weights = np.array([math.exp(-abs(printed - count) / scale) for count in (0, 100)])
    chance = weights[1] / weights.sum()
    assert 100 * math.sqrt(chance * (1 - chance)) < 1e-15 < 2 * scale
    # And of integers: with noise of scale 0.05 the nearest one is nearly certain.
    weights = np.array([math.exp(-abs(5.01 - count) / 0.05) for count in range(50)])
    assert weights.max() / weights.sum() > 1 - 1e-8


def test_proposition_8b_of_the_release_paper() -> None:
    """N / 2 independent exact queries about half of the voters leave the other half unknown."""
    assert "Proposition 8(b)" in PAGE
    voters = 8
    queries = np.eye(voters, dtype=np.int64)[: voters // 2]
    assert np.linalg.matrix_rank(queries) == voters // 2
    truth = np.array([1, 0, 1, 1, 0, 1, 0, 0])
    left = [data for data in product((0, 1), repeat=voters) if (queries @ data == queries @ truth).all()]
    assert len(left) == 2 ** (voters // 2) and {data[-1] for data in left} == {0, 1}


def test_proposition_9a_of_the_release_paper() -> None:
    """The total alone discloses every answer of one person, and of people who all answer alike."""
    assert "Proposition 9(a)" in PAGE
    for voters, total in ((1, 0), (1, 1), (50, 50), (7, 0)):
        most = min(voters, 7)
        fits = [data for data in product((0, 1), repeat=most) if sum(data) == (most if total else 0)]
        assert len(fits) == 1


def test_equation_15_of_the_noise_paper() -> None:
    """The minus sign would be a negative probability; without it footnote 29 comes out."""
    assert "Eq. (15)" in PAGE
    assert -math.exp(-0.1 * 40) < 0
    assert 11_680 * math.exp(-0.1 * 40) == pytest.approx(213.9, abs=0.05)
    random = np.random.default_rng(3)
    assert (np.abs(random.laplace(0, 10, 200_000)) > 40).mean() == pytest.approx(math.exp(-4), abs=0.002)


def test_example_1_of_the_voting_paper() -> None:
    """1 <= exp(epsilon) * 0 + delta holds with delta = 1, so that delta >= 1, not > 1."""
    assert "Example 1" in PAGE
    winner = {votes: max("ab", key=votes.count) for votes in product("ab", repeat=3)}
    one, other = (float(winner[votes] == "a") for votes in (("a", "a", "b"), ("b", "a", "b")))
    assert one <= math.exp(5) * other + 1 and not one <= math.exp(5) * other + 0.999


@pytest.mark.parametrize("name", ["plurality", "borda", "maximin"])
def test_proposition_1_of_the_voting_paper(name: str) -> None:
    """The printed witness has a tie: about half of its neighbourhood fails. With both votes on one side it holds."""
    assert "Proposition 1" in PAGE
    rule = rule_named(name, 3)
    assert share_held(rule, printed=True) < 0.6 and share_held(rule, printed=False) == 1


def condorcet_or_size(votes: Counter[str]) -> str:
    """The winner of all duels; without one, a or b by the number of voters. Condorcet-consistent and monotone."""
    for one in "abc":
        margins = [
            sum(n if vote.index(one) < vote.index(other) else -n for vote, n in votes.items())
            for other in "abc"
            if other != one
        ]
        if min(margins) > 0:
            return one
    return "a" if votes.total() % 12 < 6 else "b"


def test_proposition_2_of_the_voting_paper() -> None:
    """A Condorcet-consistent and monotone rule that is not canceling-out, so that Theorem 3 does not cover it."""
    assert "Proposition 2" in PAGE
    rankings = ["".join(order) for order in permutations("abc")]
    cycle = Counter(["abc", "bca", "cab"])
    assert condorcet_or_size(cycle) == "a" and condorcet_or_size(cycle + Counter(rankings)) == "b"
    for cast in product(range(3), repeat=6):  # monotone in all elections of up to two of every ranking
        votes = Counter({vote: n for vote, n in zip(rankings, cast, strict=True) if n})
        if not votes:
            continue
        winner = condorcet_or_size(votes)
        for vote in votes:
            place = vote.index(winner)
            if place:
                better = vote[: place - 1] + winner + vote[place - 1] + vote[place + 1 :]
                assert condorcet_or_size(votes - Counter([vote]) + Counter([better])) == winner


def test_theorem_4_of_the_voting_paper() -> None:
    """Without finitely many beliefs, or shares bounded from 0: a belief with share 1 / n keeps delta up for every n."""
    assert "finite" in PAGE
    deltas = [counts_worst(n, [1 / n, 1 - 1 / n]).delta for n in (10, 100, 1_000, 10_000)]
    assert (
        min(deltas) > 0.3 and safemargin.outcome("plurality", candidates=2, voters=10_000, publish="tops").delta < 0.01
    )
