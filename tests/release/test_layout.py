"""What an unknown file is taken for: people, counts side by side, several questions; in doubt, a person is asked."""

import random
import tomllib
from pathlib import Path
from typing import Any

import pytest

from safemargin import init, release
from safemargin.core import InputError
from safemargin.release.inputs import tabulate
from safemargin.release.project import Project

pytestmark = pytest.mark.full

CANDIDATES = ("Ardern", "English", "Peters", "Shaw")


def write(path: Path, rows: list[dict[str, object]]) -> Path:
    """A CSV file of these rows."""
    path.write_text("\n".join([",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]) + "\n")
    return path


def areas(more: bool = False, first: str = "electorate") -> list[dict[str, object]]:
    """29 areas with a column of votes per candidate, and perhaps what stands beside them in returns."""
    draw = random.Random(7)
    rows: list[dict[str, object]] = []
    for number in range(29):
        votes = {name: draw.randrange(300, 900) for name in CANDIDATES}
        row: dict[str, object] = {first: f"Area {number}", **votes}
        if more:
            informal = draw.randrange(40)
            whole = sum(votes.values()) + informal
            row |= {"Informal": informal, "Total": whole, "Registered": whole + draw.randrange(2000)}
        rows.append(row)
    return rows


def proposal(path: Path, **hints: Any) -> dict[str, Any]:
    """The proposed project as TOML."""
    return tomllib.loads(init(path, **hints).text)


def questions(path: Path, **hints: Any) -> list[str]:
    """The columns that are proposed as questions: a key, or a comment where a project asks one question only."""
    text = init(path, **hints).text
    listed = tomllib.loads(text)["data"].get("answers")
    line = next((line[2:] for line in text.splitlines() if line.startswith("# answers = ")), "answers = []")
    return list(listed or tomllib.loads(line)["answers"])


def test_29_areas_with_a_column_per_candidate_are_their_votes(tmp_path: Path) -> None:
    """They run without an edit, every area is exact, and nobody counts 29 people."""
    rows = areas()
    made = init(write(tmp_path / "returns.csv", rows)).write(tmp_path / "project.toml")
    project = Project.load(made)
    assert project.data is not None and project.data.side_by_side is not None
    assert project.data.side_by_side.columns == CANDIDATES
    people = sum(int(str(row[name])) for row in rows for name in CANDIDATES)
    document = release(made).to_json()
    exact = [cell for cell in document["cells"] if cell["action"] == "exact"]
    assert len(exact) == 29 and sum(cell["people"] for cell in exact) == people


def test_totals_and_what_is_no_option_are_recognised(tmp_path: Path) -> None:
    rows = areas(more=True)
    rows.append({"electorate": "Total", **{name: sum(int(str(r[name])) for r in rows) for name in list(rows[0])[1:]}})
    data = proposal(write(tmp_path / "returns.csv", rows))["data"]
    assert data["options"] == {"columns": list(CANDIDATES), "uncounted": ["Informal"], "total": "Total"}
    assert data["skip"] == {"electorate": ["Total"]}
    made = init(tmp_path / "returns.csv").write(tmp_path / "project.toml")
    assert tabulate(Project.load(made)).totals.sum() == sum(int(str(r[n])) for r in rows[:29] for n in CANDIDATES)


def test_in_doubt_a_question_stands_in_the_project_file(tmp_path: Path) -> None:
    """Shops with visitors and staff may be anything: the file cannot be released before somebody answers."""
    rows = [{"shop": f"S{n}", "visitors": 100 + n, "staff": n % 20, "tables": n % 50} for n in range(29)]
    made = init(write(tmp_path / "shops.csv", rows)).write(tmp_path / "project.toml")
    assert "# QUESTION: what is a row of this file?" in made.read_text()
    with pytest.raises(InputError, match=r"data\.answer is missing"):
        Project.load(made)
    answered = made.read_text().replace("# options =", "options =")
    made.write_text(answered)
    assert tabulate(Project.load(made)).schema.options == ("visitors", "staff", "tables")


def test_people_with_numbers_are_no_counts(tmp_path: Path) -> None:
    """Identifiers with ages and scores, and answers from 1 to 5, are people, not groups."""
    draw = random.Random(8)
    rows: list[dict[str, object]] = [
        {"name": f"P{n}", "age": draw.randrange(18, 90), "children": draw.randrange(5), "vote": draw.choice("AB")}
        for n in range(60)
    ]
    assert proposal(write(tmp_path / "people.csv", rows))["data"]["answer"] == "vote"
    few: list[dict[str, object]] = [
        {"respondent": f"R{n}", "site": "ABC"[n % 3], **{f"q{q}": draw.randrange(1, 6) for q in range(4)}}
        for n in range(60)
    ]
    assert questions(write(tmp_path / "few.csv", few)) == ["q0", "q1", "q2", "q3"]


def survey(people: int = 300, questions: int = 20) -> list[dict[str, object]]:
    """A staff survey on a scale of 1 to 5 with blanks."""
    draw = random.Random(9)
    return [
        {
            "id": f"e{number}",
            "site": draw.choice(["North", "South"]),
            "grade": f"G{draw.randrange(1, 6)}",
            "gender": draw.choice("fm"),
            **{f"q{q}": draw.choice(["1", "2", "3", "4", "5", ""]) for q in range(1, questions + 1)},
            "remark": " ".join(draw.choice(["good", "bad", "unclear"]) for _ in range(20)),
        }
        for number in range(people)
    ]


def test_a_battery_is_questions_and_never_axes(tmp_path: Path) -> None:
    text = init(write(tmp_path / "staff.csv", survey())).text
    project = tomllib.loads(text)
    assert questions(tmp_path / "staff.csv") == [f"q{q}" for q in range(1, 21)]
    assert project["data"]["options"] == ["1", "2", "3", "4", "5"] and project["data"]["ordered"] is True
    assert list(project["axes"]) == ["site", "grade", "gender"]
    assert project["axes"]["grade"] == {
        "column": "grade",
        "ordered": True,
        "categories": ["G1", "G2", "G3", "G4", "G5"],
    }
    assert "'id' looks like an identifier" in text and "'remark' holds free text" in text
    assert not {f"q{q}" for q in range(1, 21)} & set(project["axes"])
    made = init(tmp_path / "staff.csv").write(tmp_path / "project.toml")
    assert Project.load(made).data is not None  # what is proposed is a project


def test_words_of_agreement_are_a_scale(tmp_path: Path) -> None:
    words = ["Strongly disagree", "Disagree", "Neutral", "Agree", "Strongly agree"]
    draw = random.Random(10)
    columns = ("pay", "work", "food")
    rows: list[dict[str, object]] = [
        {"site": "NS"[n % 2], **{name: draw.choice(words) for name in columns}} for n in range(200)
    ]
    data = proposal(write(tmp_path / "staff.csv", rows))["data"]
    assert questions(tmp_path / "staff.csv") == list(columns) and data["options"] == words
    alone = proposal(tmp_path / "staff.csv", answer="pay")["data"]
    assert alone["answer"] == "pay" and alone["options"] == words and alone["ordered"] is True


def test_what_somebody_says_goes_before_every_guess(tmp_path: Path) -> None:
    path = write(tmp_path / "staff.csv", survey(60, 4))
    assert proposal(path, answer="gender")["data"]["answer"] == "gender"
    assert questions(path, answers="q1,q3") == ["q1", "q3"]
    assert questions(path, answers="q*") == ["q1", "q2", "q3", "q4"]
    rows: list[dict[str, object]] = [
        {"site": s, "sex": x, "vote": v, "how_many": 5} for s in "NS" for x in "fm" for v in "AB"
    ]
    assert proposal(write(tmp_path / "c.csv", rows), count="how_many")["data"]["count"] == "how_many"
    with pytest.raises(InputError, match=r"staff\.csv: answers = 'z\*': matches no column; the columns are id, site"):
        init(path, answers="z*")
    with pytest.raises(InputError, match="there is no column 'nothing'"):
        init(path, answer="nothing")
    with pytest.raises(InputError, match="give at most one"):
        init(path, answer="q1", answers="q*")


def test_an_encoding_is_written_into_the_project(tmp_path: Path) -> None:
    rows = [f"{'Zürich' if n % 2 else 'Genève'},{'AB'[n // 3 % 2]}" for n in range(60)]
    (tmp_path / "v.csv").write_bytes("\n".join(["town,vote", *rows]).encode("cp1252"))
    made = init(tmp_path / "v.csv", encoding="cp1252").write(tmp_path / "project.toml")
    assert tabulate(Project.load(made)).schema.axis("town").categories == ("Genève", "Zürich")


def test_a_count_needs_more_than_a_weak_name(tmp_path: Path) -> None:
    """People who differ by chance and have a number are people; a table of all combinations has counts."""
    draw = random.Random(11)
    rows: list[dict[str, object]] = [
        {"a": draw.randrange(9), "b": draw.randrange(9), "c": draw.randrange(9), "number": n % 7, "vote": "AB"[n % 2]}
        for n in range(40)
    ]
    assert "count" not in proposal(write(tmp_path / "people.csv", rows))["data"]
    rows = [{"site": s, "sex": x, "vote": v, "number": 4 + len(s)} for s in "NSW" for x in "fm" for v in "AB"]
    assert proposal(write(tmp_path / "counts.csv", rows))["data"]["count"] == "number"
