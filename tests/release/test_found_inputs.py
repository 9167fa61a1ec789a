"""Rolls, tallies and facts of projects in the forms in which offices keep them; doubtful ones are refused."""

from pathlib import Path

import numpy as np
import pytest

import safemargin
from commands import Run, in_process
from excel import write_xlsx
from safemargin.core import InputError
from safemargin.release.inputs import read_inputs, tabulate
from safemargin.release.project import Project

VOTES = "area,sex,vote\n" + "".join(f"{a},{s},{v}\n" * n for a, s, v, n in [
    ("N", "f", "A", 9), ("N", "f", "B", 6), ("N", "m", "A", 7), ("N", "m", "B", 8),
    ("S", "f", "A", 6), ("S", "f", "B", 9), ("S", "m", "A", 8), ("S", "m", "B", 7)])  # fmt: skip
PROJECT = '[data]\nfile = "v.csv"\nanswer = "vote"\n[axes.area]\n[axes.sex]\n'
CROSS = [["Residents, 31.12."], [], ["area", "f", "m", "Total"], ["N", 20, 21, 41], ["S", 22, 23, 45],
         ["Total", 42, 44, 86], [], ["Source: register"]]  # fmt: skip


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)
    return in_process(monkeypatch, capsys)


def text_of(rows: list[list[object]], sign: str = ";") -> str:
    return "".join(sign.join(map(str, row)) + "\n" for row in rows)


@pytest.mark.parametrize("form", ["book", "text", "long"])
def test_a_roll_as_an_office_prints_it(form: str, tmp_path: Path) -> None:
    (tmp_path / "v.csv").write_text(VOTES)
    name = "roll.xlsx" if form == "book" else "roll.csv"
    if form == "book":
        write_xlsx(tmp_path / name, {"Tab": CROSS})
    elif form == "text":
        (tmp_path / name).write_text(text_of(CROSS))
    else:
        rows = [[row[0], head, n] for row in CROSS[3:6] for head, n in zip(CROSS[2][1:], row[1:], strict=True)]
        (tmp_path / name).write_text("area,sex,people\n" + text_of(rows, ","))
    inputs = read_inputs(Project.parse(f'{PROJECT}[roll]\nfiles = ["{name}"]\n', folder=tmp_path))
    roll = inputs.table.roll[0]
    assert dict(zip(map(tuple, roll.codes.tolist()), roll.counts.ravel().tolist(), strict=True)) == {
        (0, 0): 20, (0, 1): 21, (1, 0): 22, (1, 1): 23}  # fmt: skip
    said = " ".join(inputs.notes)
    assert "sums add up, and are not counted" in said
    assert ("read as: rows area (2), columns (2)" in said) == (form != "long")


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([["area", "f", "m"], ["N", "*", 21], ["S", 22, 23]], "has no exact number"),
        ([["area", "f", "m", "Total"], ["N", 20, 21, 40], ["S", 22, 23, 45]], "do not reach|exceed"),
        ([["area", "sex", "people", "largest"], ["N", "f", 20, 7.5], ["N", "m", 21, 7.5]], "look like amounts"),
        ([["area", "f", "m", "x"], ["N", 20, 31, 51], ["S", 22, 43, 65], ["W", 122, 43, 165]], "doubtful"),
    ],
)
def test_a_roll_that_is_doubtful_or_no_roll_is_refused(rows: list[list[object]], reason: str, tmp_path: Path) -> None:
    (tmp_path / "v.csv").write_text(VOTES)
    (tmp_path / "roll.csv").write_text(text_of(rows))
    with pytest.raises(InputError, match=reason):
        tabulate(Project.parse(f'{PROJECT}[roll]\nfiles = ["roll.csv"]\n', folder=tmp_path))


def test_tallies_with_answers_side_by_side_and_their_total(tmp_path: Path) -> None:
    votes = [["Returns"], ["area", "Yes", "No", "Total"], ["N", 60, 10, 70], ["S", 5, 30, 35], ["Total", 65, 40, 105]]
    write_xlsx(tmp_path / "area.xlsx", {"Tab": votes})
    (tmp_path / "sex.csv").write_text(
        "sex,option,count\nf,Yes,30\nf,No,20\nm,Yes,35\nm,No,20\nTotal,Yes,65\nTotal,No,40\n"
    )
    (tmp_path / "roll.csv").write_text("area,sex,people\nN,f,40\nN,m,40\nS,f,30\nS,m,30\n")
    text = '[tallies]\nfiles = {area = "area.xlsx", sex = "sex.csv"}\n[roll]\nfiles = ["roll.csv"]\n'
    text += "[axes.area]\n[axes.sex]\n"
    inputs = read_inputs(Project.parse(text, folder=tmp_path))
    assert inputs.table.schema.options == ("No", "Yes") and inputs.table.totals.tolist() == [40, 65]
    assert inputs.table.votes[0].counts.tolist() == [[10, 60], [30, 5]]
    assert "area.xlsx read as: rows area (2)" in " ".join(inputs.notes)


def test_facts_of_a_project_with_totals(tmp_path: Path) -> None:
    (tmp_path / "v.csv").write_text(VOTES)
    (tmp_path / "facts.csv").write_text("area,count\nN,30\nS,30\nTotal,60\n")
    more = '[[onlookers]]\nname = "x"\ncomposition = "joint"\nfacts = ["facts.csv"]\n'
    (onlooker,) = read_inputs(Project.parse(PROJECT + more, folder=tmp_path)).onlookers
    assert [(fact.axes, fact.lower.tolist()) for fact in onlooker.facts] == [((), [60]), (("area",), [30, 30])]


def test_doubts_about_rolls_and_facts_reach_the_exit_code(run: Run, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("area,option,count\nN,yes,50\nN,no,61\nS,yes,60\nS,no,44\n")
    (tmp_path / "sure.csv").write_text("area,people\nN,200\nS,190\n")
    (tmp_path / "odd.csv").write_text(text_of([["area", "f", "m", "x"], ["N", 90, 110, 200], ["S", 100, 90, 190]]))
    assert run("audit", "t.csv", "--roll", "sure.csv").code == 0
    ran = run("audit", "t.csv", "--roll", "odd.csv", "--json")
    assert ran.code == 3 and ran.document["doubtful"]
    assert [part["role"] for part in ran.document["reading"]] == ["table", "roll"]
    text = run("audit", "t.csv", "--roll", "odd.csv", "--out", "page.html")
    for shown in (text.out + text.err, (tmp_path / "page.html").read_text()):
        assert "Read as: roll odd.csv: rows area (2)" in " ".join(shown.split())
    for command in ("bound", "fiber"):
        ran = run(command, "t.csv", "--roll", "odd.csv", "--json")
        assert ran.code == 3 and ran.document["reading"][1]["doubts"], command


def test_labels_that_look_the_same_are_one_category(run: Run, tmp_path: Path) -> None:
    odd = VOTES.replace("N,f,A", "N\u00a0,f,A", 3).replace("S,m,B", " S\u200b,m,B", 2)
    (tmp_path / "v.csv").write_text(odd)
    inputs = read_inputs(Project.parse(PROJECT, folder=tmp_path))
    assert inputs.table.schema.axis("area").categories == ("N", "S")
    assert int(np.sum(inputs.table.roll[0].counts)) == 60
    assert any("are one category" in note for note in inputs.notes)
    found = safemargin.compare(tmp_path / "v.csv", answer="vote", by=["area", "sex"], draws=2)
    assert found.people == 60 and any("are one category" in note for note in found.to_json()["notes"])


def test_init_says_that_a_file_is_a_table_of_counts(run: Run, tmp_path: Path) -> None:
    write_xlsx(tmp_path / "t.xlsx", {"Tab": CROSS})
    (tmp_path / "t.csv").write_text(text_of(CROSS))
    for name in ("t.xlsx", "t.csv"):
        ran = run("init", name)
        assert ran.code == 2 and "read as a table of counts: rows area (2)" in ran.err, ran
        assert not (tmp_path / "project.toml").exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [("Vote,Number\nA,60\nB,40\nTotal,100\n", "holds answers"), ("faith,count\nx,60\ny,40\n", "is no axis of the")],
)
def test_facts_about_what_a_joint_roll_does_not_have_are_refused(text: str, words: str, tmp_path: Path) -> None:
    """An answer under another name was taken for an axis, and the proof ended in an internal error."""
    (tmp_path / "v.csv").write_text(VOTES)
    (tmp_path / "facts.csv").write_text(text)
    more = '[[onlookers]]\nname = "x"\ncomposition = "joint"\nfacts = ["facts.csv"]\n'
    with pytest.raises(InputError, match=words):
        read_inputs(Project.parse(PROJECT + more, folder=tmp_path))
