"""A ledger with several questions: every question is held together with its own earlier tables."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import safemargin
from safemargin.core import InputError, Target
from safemargin.history.file import read_ledger

pytestmark = pytest.mark.full

TARGET = Target(kappa=10, tau=1)
Rows = list[dict[str, str]]


def survey(seed: int, people: int = 600, questions: int = 2) -> Rows:
    """People of four sites and three grades, each with an answer to every question, or none now and then."""
    rng = np.random.default_rng([seed, 31])
    rows = []
    for _ in range(people):
        row = {"site": f"s{rng.integers(4)}", "grade": f"g{rng.integers(3)}"}
        for number in range(questions):
            row[f"q{number + 1}"] = "" if rng.random() < 0.03 else "abc"[int(rng.integers(3))]
        rows.append(row)
    return rows


def published(folder: Path, rows: Rows, cycle: str, answers: str, **said: Any) -> safemargin.Release:
    ledger = {
        "file": str(folder / "ledger.sqlite"),
        "population": "staff",
        "cycle": cycle,
        "turnover": "net",
        "answers": answers,
    }
    which = {"answers": "q*"} if not {"answer", "answers"} & set(said) else {}
    made = safemargin.release(rows, by=["site", "grade"], target=TARGET, ledger=ledger, **which, **said)
    made.write(folder / f"out {cycle}")
    return made


def printed(made: safemargin.Release) -> dict[str, list[str]]:
    return {name: sorted({str(list(row)[:3]) for row in frame.to_numpy()}) for name, frame in made.tables.items()}


def test_a_new_wave_gives_what_the_first_gave(tmp_path: Path) -> None:
    one = published(tmp_path, survey(1), "2025", "kept")
    two = published(tmp_path, survey(2), "2026", "new")
    assert set(one.tables) == set(two.tables) == {"total", "site", "grade"}
    assert {name: len(rows) for name, rows in one.tables.items()} == {n: len(r) for n, r in two.tables.items()}
    assert two.certificate.earlier == "not" and one.certificate.rule == two.certificate.rule == "rerun"
    assert any("asked again since 2025" in note for note in two.plan.notes)
    checked = safemargin.verify(tmp_path / "out 2026/published", auditors=tmp_path / "out 2026/auditors", rerun=True)
    assert checked.outcome == "holds"


def test_a_question_in_another_spelling_is_the_same(tmp_path: Path) -> None:
    """Failed before: `Q1` was taken for a question of which nothing was published."""
    rows = survey(1)
    published(tmp_path, rows, "2025", "kept")
    joined = [*rows, *({**row, "site": "s1"} for row in rows[:3])]
    capitals = [{key.upper() if key[0] == "q" else key: value for key, value in row.items()} for row in joined]
    ledger = {"file": str(tmp_path / "ledger.sqlite"), "population": "staff", "cycle": "2026", "turnover": "net"}
    made = safemargin.release(
        capitals, by=["site", "grade"], answers=["Q1", "Q2"], target=TARGET, ledger={**ledger, "answers": "kept"}
    )
    assert made.certificate.earlier == "jointly"
    assert not any("Nothing was published before" in note for note in made.plan.notes)


def test_the_ledger_keeps_every_question(tmp_path: Path) -> None:
    rows = survey(1)
    made = published(tmp_path, rows, "2025", "kept")
    (entry,) = read_ledger(tmp_path / "ledger.sqlite")
    assert list(entry.questions) == ["q1", "q2"]
    for name, own in entry.questions.items():
        assert own.options == ("a", "b", "c")
        assert own.people == own.answered == sum(row[name] != "" for row in rows)
        total = next(table for table in own.tables if table.name == "total")
        assert total.lower.tolist() == [sum(row[name] == option for row in rows) for option in "abc"]
    assert entry.people == len(rows)
    document = made.to_json()["ledger"]
    assert document["recorded"] is True
    listed = safemargin.ledger(tmp_path / "ledger.sqlite").to_json()["populations"][0]["releases"][0]
    assert "q1: site" in listed["tables"] and listed["queries"] == 2 * (3 + 2)


def test_kept_answers_are_held_together_question_by_question(tmp_path: Path) -> None:
    """Six of 46 joiners are of one kind and answer q1 alike, which the difference of two tables would disclose."""
    rows = survey(3)
    published(tmp_path, rows, "2025", "kept")
    joined = [{"site": "s1", "grade": "g1", "q1": "a", "q2": "abc"[n % 3]} for n in range(6)]
    joined += [{"site": f"s{n % 4}", "grade": "g2", "q1": "bca"[n % 3], "q2": "abc"[n % 3]} for n in range(40)]
    two = published(tmp_path, [*rows, *joined], "2026", "kept")
    stated = json.loads((tmp_path / "out 2026/published/certificate.json").read_text())
    assert stated["earlier"]["cycles"] == ["2025"]
    assert "remembers the release of '2025'" in two.certificate.statement
    reason = json.loads((tmp_path / "out 2026/auditors/manifest.json").read_text())["reason"]
    assert "earlier releases" in reason
    # The six are all joiners of grade g1: it alone would show that they chose a. It is no longer exact, of q1 at least.
    grades = [row for row in _rows(two, "grade") if row["question"] == "q1" and row["grade"] == "g1"]
    assert not any(row["status"] == "exact" for row in grades)


def _rows(made: safemargin.Release, name: str) -> list[dict[str, Any]]:
    return made.tables[name].to_dict("records") if name in made.tables else []  # type: ignore[no-any-return]


def test_a_question_that_was_not_asked_again_is_tied_to_its_own_wave(tmp_path: Path) -> None:
    published(tmp_path, survey(1), "2025", "kept")
    only_first = [{key: value for key, value in row.items() if key != "q2"} for row in survey(2)]
    with pytest.raises(InputError, match=r"none is called 'q9'"):
        renamed = [{"site": row["site"], "grade": row["grade"], "q9": row["q1"] or "a"} for row in only_first]
        published(tmp_path, renamed, "2026", "kept", answer="q9")
    one = published(tmp_path, only_first, "2026", "new")
    assert one.certificate.statement.count("(q1)") == 0 and "no table ties" not in one.certificate.statement
    again = published(tmp_path, survey(2), "2026 again", "kept")
    stated = json.loads((tmp_path / "out 2026 again/published/certificate.json").read_text())
    assert stated["earlier"]["cycles"] == ["2026"]  # of q1; q2 was published before they were asked again
    assert "2025" not in again.certificate.statement


def test_one_question_after_several_is_held_together_with_it(tmp_path: Path) -> None:
    rows = [row for row in survey(5) if row["q1"]]
    published(tmp_path, rows, "2025", "kept")
    again = published(tmp_path, rows, "2025 once more", "kept", answer="q1")
    assert "the release of '2025' " in again.certificate.statement


@pytest.mark.parametrize(
    ("ledger", "words"),
    [
        ({"id": "name"}, "people are not followed by name"),
        ({"turnover": "net", "cycle": "2025"}, "was released already"),
    ],
)
def test_wrong_ledgers_are_refused_in_one_line(tmp_path: Path, ledger: dict[str, str], words: str) -> None:
    rows = [{**row, "name": str(number)} for number, row in enumerate(survey(1))]
    published(tmp_path, rows, "2025", "kept")
    section = {"file": str(tmp_path / "ledger.sqlite"), "population": "staff", "cycle": "2026", "answers": "kept"}
    with pytest.raises(InputError, match=words) as error:
        safemargin.release(rows, answers="q*", by=["site"], target=TARGET, ledger={**section, **ledger})
    assert "\n" not in str(error.value)


def test_one_question_before_several_is_not_guessed(tmp_path: Path) -> None:
    rows = [row for row in survey(5) if row["q1"]]
    published(tmp_path, rows, "2025", "kept", answer="q1")
    with pytest.raises(InputError, match="was released as one question"):
        published(tmp_path, rows, "2026", "kept")
