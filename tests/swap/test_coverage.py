"""The table of what the paper has and where it is here, and the errors of the paper that it names."""

import math
import re
from collections import Counter
from fractions import Fraction
from itertools import permutations
from pathlib import Path

import pytest

from safemargin.cli import ADDED, COMMANDS
from safemargin.guarantees.swap_loss import derangements, gap_bound, lower_bound, moved, swap_epsilon

ROOT = Path(__file__).parent.parent.parent
ITEMS = [
    *(f"Definition {n}" for n in (1, 2)),
    *(f"Theorem {n}" for n in range(1, 5)),
    *(f"Proposition {n}" for n in range(1, 11)),
    *(f"Lemma {n}" for n in range(1, 9)),
    *(f"Remark {n}" for n in range(1, 9)),
    *(f"Table {n}" for n in range(1, 6)),
    *(f"{kind} {n}" for kind in ("Algorithm", "Figure") for n in (1, 2)),
    *(f"Example {n}" for n in (1, 2, 3)),
    *(f"Equation {n}" for n in ("2.1", "2.2", "2.4", "3.1", "3.2", "3.3")),
    *(f"Section {n}" for n in ("2.1", "2.2", "5.2", "5.4", "6.1", "6.2")),
    *(f"Appendix {n}" for n in ("C", "G", "H")),
]


def rows() -> list[list[str]]:
    lines = (ROOT / "docs/coverage_swapping.md").read_text(encoding="utf-8").splitlines()
    return [[part.strip() for part in line.strip("|").split(" | ")] for line in lines if line.startswith("| ")][1:]


def test_every_item_of_the_paper_is_covered() -> None:
    named = " ".join(row[0] for row in rows())
    assert [item for item in ITEMS if not re.search(rf"{re.escape(item)}\b", named)] == []
    assert len(ITEMS) > 50 and all(len(row) == 3 for row in rows())


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0][:30])
def test_commands_and_tests_exist(row: list[str]) -> None:
    _, shown, test = row
    commands = re.findall(r"`([a-z-]+)[^`]*`", shown)
    assert any(command in {*COMMANDS, *ADDED, "simulate"} for command in commands) or "nothing to compute" in shown
    assert "missing" not in shown
    path, _, name = test.strip("`").partition("::")
    assert f"def {name}(" in (ROOT / path).read_text(encoding="utf-8"), test


def test_the_chance_to_be_moved_needs_its_denominator() -> None:
    """Over all selections of Algorithm 1, against the formula that the paper prints."""
    for size in (2, 3, 4, 5):
        for rate in (Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)):
            chances = Counter[int]()
            for selection in range(2**size):
                number = selection.bit_count()
                if number != 1:
                    chances[selection & 1] += rate**number * (1 - rate) ** (size - number)  # type: ignore[assignment]
            right = Fraction(chances[1]) / (Fraction(chances[0]) + Fraction(chances[1]))
            assert moved(rate, size) == pytest.approx(float(right))
            assert float(rate * (1 - (1 - rate) ** (size - 1))) != pytest.approx(float(right))


def test_the_bound_of_theorem_4_is_above_the_printed_figure() -> None:
    assert gap_bound(10) > 0.148 > gap_bound(11)
    exact = math.log(11) - math.log(derangements(10) / derangements(8)) / 2
    assert exact == pytest.approx(0.147994, abs=5e-7)
    assert swap_epsilon(Fraction(1, 10), 10) - lower_bound(Fraction(1, 10), 10) == pytest.approx(exact)
    assert derangements(0) == 1 != math.floor(math.factorial(0) / math.e + 0.5)


def test_lemmas_about_derangements() -> None:
    """Lemma 6 for all small numbers, and Lemma 7 for all permutations of some data."""
    for k in range(40):
        for a in range(k + 1):
            if a != k - 1:
                assert derangements(k) <= (k + 1) ** a * derangements(k - a)
    records = ((0, 0), (0, 1), (1, 1), (1, 2), (2, 2))
    for g in permutations(range(5)):
        after = Counter((records[i][0], records[g[i]][1]) for i in range(5))
        assert (Counter(records) - after).total() <= sum(g[i] != i for i in range(5))


@pytest.mark.parametrize("margin", [(1, 1), (2, 2), (3, 3), (2, 2, 1)])
def test_lemma_8_is_wrong_at_the_boundary(margin: tuple[int, ...]) -> None:
    """A value occurs more often than b/2 - 1, and yet some data have a derangement that changes every record."""
    size = sum(margin)
    assert max(margin) > size / 2 - 1
    values = [value for value, number in enumerate(margin) for _ in range(number)]
    data = {tuple(sorted(zip(values, order, strict=True))) for order in permutations(values)}
    assert any(
        (Counter(x) - Counter((x[i][0], x[g[i]][1]) for i in range(size))).total() == size
        for x in data
        for g in permutations(range(size))
        if all(g[i] != i for i in range(size))
    )
