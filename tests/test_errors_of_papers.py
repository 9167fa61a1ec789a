"""Every error of a paper that docs/errors.md names and no other test holds, with a counterexample that is executed."""

import math
import re
from collections import Counter
from fractions import Fraction
from itertools import permutations, product
from pathlib import Path

import numpy as np
import pytest

import safemargin
from safemargin.guarantees.swap_loss import swap_epsilon
from safemargin.voting.axioms import share_held
from safemargin.voting.closed_forms import counts_worst
from safemargin.voting.rules import rule_named

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs/errors.md").read_text(encoding="utf-8")


def tables(rows: tuple[int, ...], columns: tuple[int, ...], people: list[list[int]] | None = None) -> list[list[int]]:
    """All 2 x 2 tables with these margins, and at most so many people in every cell."""
    most = [value for row in people or [[sum(rows)] * 2] * 2 for value in row]
    return [
        list(cells)
        for cells in product(*(range(value + 1) for value in most))
        if (cells[0] + cells[1], cells[2] + cells[3]) == rows and (cells[0] + cells[2], cells[1] + cells[3]) == columns
    ]


OWN = "tests/test_errors_of_papers.py"
EXECUTED = {
    "Known composition": f"{OWN}::test_theorems_6a_and_7_1_of_the_release_paper",
    "Recoverable noise.": "tests/test_acceptance.py::test_one_irregular_cell_cannot_be_recovered_by_subtraction",
    "The loss of noise.": "tests/release/test_lot.py::test_noise_that_nobody_could_exchange_answers_under_is_refused",
    "Noise as a flag.": f"{OWN}::test_a_flag_of_noise_has_no_epsilon",
    "The rule leaks.": f"{OWN}::test_the_rule_leaks",
    "Several options": f"{OWN}::test_options_share_the_people_of_a_cell",
    "Theorem 4(a)": f"{OWN}::test_theorem_4a_of_the_release_paper",
    "Theorem 4(c)": f"{OWN}::test_theorem_4c_of_the_release_paper",
    "Proposition 5": f"{OWN}::test_proposition_5_of_the_release_paper",
    "Proposition 8(b)": f"{OWN}::test_proposition_8b_of_the_release_paper",
    "Proposition 9(a)": f"{OWN}::test_proposition_9a_of_the_release_paper",
    "Persons and households together": "tests/topdown/test_movers.py::test_no_pair_of_data_sets_costs_more",
    "Chance to be moved": "tests/swap/test_coverage.py::test_the_chance_to_be_moved_needs_its_denominator",
    "f(b) ≤ 0.148 for b ≥ 10": "tests/swap/test_coverage.py::test_the_bound_of_theorem_4_is_above_the_printed_figure",
    'Lemma 8, "if and only if"': "tests/swap/test_coverage.py::test_lemma_8_is_wrong_at_the_boundary",
    "(C) of Theorem 3 at b = 3": f"{OWN}::test_theorem_3_of_the_swapping_paper_at_three_records",
    "D(k) = floor(k!/e + ½)": "tests/swap/test_coverage.py::test_the_bound_of_theorem_4_is_above_the_printed_figure",
    "Table 3": "tests/guarantees/test_census.py::test_table_3_needs_the_unrounded_budgets",
    "Section 3.6": f"{OWN}::test_section_3_6_of_the_swapping_paper",
    "Proposition 4": f"{OWN}::test_proposition_4_of_the_swapping_paper",
    "Example 1": f"{OWN}::test_example_1_of_the_voting_paper",
    "Proposition 1": f"{OWN}::test_proposition_1_of_the_voting_paper",
    "Proposition 2": f"{OWN}::test_proposition_2_of_the_voting_paper",
    "Theorem 4": f"{OWN}::test_theorem_4_of_the_voting_paper",
    "Eq. (15)": f"{OWN}::test_equation_15_of_the_noise_paper",
}
"""By the words in bold that an error begins with on the page: the test that executes its counterexample."""
IN_TEXT = {
    "Tables 1 and 2": "tests/voting/test_figures.py::test_tables_of_the_paper",
    "the exact delta of a histogram": "tests/voting/test_figures.py::test_histogram",
    "Corollary 1 for Bucklin": "tests/voting/test_axioms.py::test_stv_and_bucklin_are_not_proved",
    "of Theorem 3, which omit beliefs": "tests/voting/test_outcome.py::test_classes_follow_the_publication",
    "the noise has mean n/2": "tests/aggregate/test_privacy.py::test_exact_law_against_simulated_clients",
    "lost a factor": "tests/aggregate/test_privacy.py::test_one_pair_of_inputs_refutes_the_unsound_bound",
    "the table of 8.7.5": "tests/aggregate/test_corrections.py::test_errors_of_the_paper",
    "The minimum mean square error": "tests/aggregate/test_corrections.py::test_errors_of_the_paper",
    "the table of 8.9.3": "tests/aggregate/test_corrections.py::test_errors_of_the_paper",
    "(80) is for 100 decoys": ("tests/aggregate/test_corrections.py::test_equation_80_is_for_another_number_of_decoys"),
    "(91) drops": "tests/aggregate/test_corrections.py::test_equation_91_drops_the_order_and_the_square_of_n",
    "Remark 6.14": "tests/aggregate/test_corrections.py::test_errors_of_the_paper",
}
"""The same for errors within a paragraph."""


def test_every_error_has_a_counterexample_that_is_executed() -> None:
    assert set(re.findall(r"\*\*([^*]+)\*\*", PAGE)) == set(EXECUTED)
    text = " ".join(PAGE.split())
    for words, test in {**EXECUTED, **IN_TEXT}.items():
        path, _, name = test.partition("::")
        assert words in text, words
        assert f"\ndef {name}(" in (ROOT / path).read_text(encoding="utf-8"), test


def test_theorems_6a_and_7_1_of_the_release_paper() -> None:
    """Every group has 100 people and a share from 20 to 80 %, and the answer of 100 people is known."""
    assert "Known composition" in PAGE
    people, yes = [[100, 100], [100, 0]], (50, 50)  # of rows, and of columns
    assert all(0.2 <= each / size <= 0.8 for each, size in zip(yes, (200, 100), strict=True))
    assert {table[0] for table in tables(yes, yes, people)} == {0}  # nobody of 100 people of the first cell


def test_a_flag_of_noise_has_no_epsilon() -> None:
    """Two neighbours, one on each side of a limit of 95 %: the flag alone says which, whatever noise is added."""
    flags = [yes / 100 > 0.95 for yes in (95, 96)]
    chances = [{flag: 1.0} for flag in flags]
    losses = [chances[0][flag] / chances[1].get(flag, 0) if chances[1].get(flag) else math.inf for flag in chances[0]]
    assert losses == [math.inf]


def test_the_rule_leaks() -> None:
    """Groups of 10 with a limit of 80 %, total known: that one of three is hidden leaves it 9 or 10, or 0 or 1."""
    hidden = {yes for yes in range(11) if not 0.2 <= yes / 10 <= 0.8}
    assert hidden == {0, 1, 9, 10}, "without the rule all of 0 to 10 are possible"


def test_options_share_the_people_of_a_cell() -> None:
    """Two people and three options: each option alone leaves 0 to 2 of the third; together they leave none."""
    cell, least = 2, {"a": 1, "b": 1}
    alone = {"c": range(cell + 1)}
    together = {c for a, b, c in product(range(cell + 1), repeat=3) if a + b + c == cell and a >= 1 <= b}
    assert sum(least.values()) == cell and set(alone["c"]) == {0, 1, 2} and together == {0}


def moved_all(size: int) -> int:
    """Permutations that leave nothing in place, counted."""
    return sum(all(at != to for at, to in enumerate(order)) for order in permutations(range(size)))


def test_theorem_3_of_the_swapping_paper_at_three_records() -> None:
    """D(1) = 0, by which (C) divides at b = 3; D(k) for k = 0 is 1, where the rounded k!/e is 0."""
    assert "(C) of Theorem 3 at b = 3" in PAGE
    assert [moved_all(size) for size in range(5)] == [1, 0, 1, 2, 9]


def test_section_3_6_of_the_swapping_paper() -> None:
    """Both rates at which Theorem 1 gives epsilon 3 with 10 records: log of p / (1 - p), or of (b + 1) (1 - p) / p."""
    rate = math.exp(3) / (1 + math.exp(3))
    assert rate == pytest.approx(0.9526, abs=1e-4) and "95.3 %, not 95.2 %" in PAGE
    assert swap_epsilon(rate, 10) == pytest.approx(3) and swap_epsilon(0.952, 10) < 2.99
    low = 11 / (11 + math.exp(3))
    assert low < rate and swap_epsilon(low, 10) == pytest.approx(3)


def test_proposition_4_of_the_swapping_paper() -> None:
    """An exchange of s between records (h, s) and (h', s') changes four cells unless h = h' or s = s'."""
    for h, s, other_h, other_s in product(range(2), repeat=4):
        before, after = Counter([(h, s), (other_h, other_s)]), Counter([(h, other_s), (other_h, s)])
        changed = sum(before[cell] != after[cell] for cell in product(range(2), repeat=2))
        assert changed == (0 if h == other_h or s == other_s else 4)


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
