"""Ranking of rules, and the coverage table of the paper."""

import re
from pathlib import Path

import pytest

from commands import Run, in_process
from safemargin.cli import COMMANDS
from safemargin.voting.compare_rules import rules

ROOT = Path(__file__).parents[2]
ITEMS = [
    *(f"Definition {n}" for n in range(1, 11)),
    *(f"Theorem {n}" for n in range(1, 5)),
    *(f"Lemma {n}" for n in range(1, 9)),
    *(f"Figure {n}" for n in range(1, 4)),
    *(f"Example {n}" for n in range(1, 5)),
    *(f"Proposition {n}" for n in (1, 2)),
    *("Corollary 1", "Table 1", "Table 2", "Claim 1", "Claim 10"),
]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return in_process(monkeypatch, capsys)


def test_figure_two() -> None:
    """The corrected slopes of docs/errors.md are for n = 2..51 voters; fitted to fewer points they are close."""
    ranking = rules(candidates=3, voters=51, only=["borda", "stv", "plurality"], picture=True)
    slopes = {row.rule: row.fit[0] for row in ranking.rows if row.fit is not None}
    for rule, slope in {"borda": 1.3467, "stv": 1.4840, "plurality": 1.7175}.items():
        assert slopes[rule] == pytest.approx(slope, abs=0.03)
    assert [row.rule for row in ranking.rows] == ["plurality", "stv", "borda"]


def test_the_command_prints_what_the_function_returns(run: Run, tmp_path: Path) -> None:
    arguments = ("--candidates", "3", "--voters", "6", "--rule", "borda", "--rule", "kemeny", "--axioms")
    document = run("rules", *arguments, "--json", "--out", tmp_path / "rules.html").document
    expected = rules(3, 6, only=["borda", "kemeny"], picture=True, axioms=True)
    assert document == expected.to_json()
    assert "canceling-out" in (tmp_path / "rules.html").read_text()


def test_a_rule_that_is_too_large_is_named(tmp_path: Path) -> None:
    belief = tmp_path / "belief.csv"
    belief.write_text("ranking,probability\na>b>c>d>e>f>g,0.5\nb>a>c>d>e>f>g,0.5\n")
    ranking = rules(voters=4, belief=belief, only=["kemeny", "borda"])
    assert [rule for rule, _ in ranking.unanswered] == ["kemeny"] and [row.rule for row in ranking.rows] == ["borda"]
    assert "kemeny:" in ranking.to_text()


def test_every_item_of_the_paper_is_covered() -> None:
    lines = (ROOT / "docs/coverage_voting.md").read_text().splitlines()
    rows = [line.strip("|").split(" | ") for line in lines if line.startswith("| ")][1:]
    named = " ".join(row[0] for row in rows)
    assert [item for item in ITEMS if not re.search(rf"{item}\b", named)] == []
    for _, shown, test in rows:
        for command in re.findall(r"`(\w+) -", shown):
            assert command in COMMANDS or command == "python"
        path, _, name = test.strip(" `|").partition("::")
        if path:
            assert f"def {name}(" in (ROOT / path).read_text(), test
        else:
            assert "nothing to compute" in shown or "reason in" in shown
