"""A proposed project file is accepted as it is, and the guesses are the ones a person would make."""

import json
import random
import sqlite3
import tomllib
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from safemargin import init, release
from safemargin.core import InputError, Table
from safemargin.release.inputs import tabulate
from safemargin.release.project import Project

pytestmark = pytest.mark.full

REGIONS = {"d1": "North", "d2": "North", "d3": "South", "d10": "South"}


def town(people: int = 400) -> list[dict[str, str]]:
    """Invented voters with every kind of column."""
    draw = random.Random(1)
    rows = []
    for number in range(people):
        district = draw.choice(list(REGIONS))
        rows.append(
            {
                "voter_id": f"V{number:05d}",
                "district": district,
                "district_name": f"District {district}",
                "region": REGIONS[district],
                "country": "Utopia",
                "age": draw.choice(["under 18", "18-29", "30-44", "65+"]),
                "sex": draw.choice("fm"),
                "income_euro": str(draw.randrange(10_000, 90_000)),
                "remark": " ".join(draw.choice(["good", "bad", "indifferent", "unclear"]) for _ in range(12)),
                "vote": draw.choice(["A", "B", ""]),
                "status": draw.choice(["single", "married"]),
            }
        )
    return rows


def write_csv(path: Path, rows: list[dict[str, str]]) -> Path:
    """A CSV file of these rows."""
    path.write_text("\n".join([",".join(rows[0]), *(",".join(row.values()) for row in rows)]) + "\n")
    return path


def proposed(path: Path) -> tuple[str, dict[str, Any], Table]:
    """The proposal as text, as TOML, and the table that it gives as it stands."""
    text = init(path).write(path.parent / "project.toml").read_text()
    return text, tomllib.loads(text), tabulate(Project.load(path.parent / "project.toml"))


def test_microdata(tmp_path: Path) -> None:
    text, project, table = proposed(write_csv(tmp_path / "voters.csv", town()))
    assert project["data"] == {"file": "voters.csv", "answer": "vote", "blank": "skip"}
    assert list(project["axes"]) == ["district", "age", "sex", "status_group"]
    assert project["axes"]["district"]["levels"] == ["region"]
    assert project["axes"]["age"]["categories"] == ["under 18", "18-29", "30-44", "65+"]
    assert project["axes"]["age"]["ordered"] is True
    assert project["target"] == {"beta": 0.05, "kappa": 30, "tau": 3, "epsilon_max": 1.0, "protect": "auto"}
    assert "# Skipped: column 'voter_id' looks like an identifier: 400 different values in 400 rows." in text
    assert "# Skipped: column 'country' has one value only." in text
    assert "# Skipped: column 'remark' holds free text." in text
    assert "# Skipped: column 'district_name' says the same as 'district'." in text
    assert "# Column 'income_euro' has" in text and "# bands = [30000, 50000, 70000]" in text
    assert "# [[onlookers]]" in text
    assert table.totals.sum() == sum(row["vote"] != "" for row in town())
    assert max(map(len, text.splitlines())) < 200


def test_what_happens_without_an_order_and_what_else_can_be_asked_for(tmp_path: Path) -> None:
    """Said at `init`: merging by size, single suppression instead, tables of several axes, the ledger and its lock."""
    rows = [{"ward": f"w{n % 40}", "mode": "abc"[n % 3], "vote": "AB"[n // 7 % 2]} for n in range(600)]
    text, project, _ = proposed(write_csv(tmp_path / "votes.csv", rows))
    assert "# No order or areas: small categories are merged by size, near-unanimous ones suppressed alone." in text
    uncommented = text.replace("# [tables]", "[tables]").replace("# margins", "margins")
    assert tomllib.loads(uncommented)["tables"]["margins"] == [["ward", "mode"]] and "tables" not in project
    assert "# [ledger]" in text and "# lock = true" in text and "safemargin lock" in text


def test_counts_of_equal_people(tmp_path: Path) -> None:
    lines = [
        f"{d},{REGIONS[d]},{s},{o},{n}"
        for n, (d, s, o) in enumerate((d, s, o) for d in REGIONS for s in "fm" for o in "AB")
    ]
    (tmp_path / "counts.csv").write_text("\n".join(["district,region,sex,party,people", *lines]) + "\n")
    _, project, table = proposed(tmp_path / "counts.csv")
    assert project["data"] == {"file": "counts.csv", "answer": "party", "count": "people"}
    assert project["axes"]["district"]["levels"] == ["region"]
    assert table.totals.sum() == sum(range(16))


def test_a_number_of_people_in_microdata_is_no_count(tmp_path: Path) -> None:
    rows = [{"sex": "fm"[n % 2], "people": str(n % 3), "choice": "AB"[n % 2]} for n in range(30)]
    _, project, _ = proposed(write_csv(tmp_path / "v.csv", rows))
    assert "count" not in project["data"] and "people_group" in project["axes"]


def test_without_a_clear_name_the_column_with_fewest_options_is_the_answer_and_init_asks(tmp_path: Path) -> None:
    rows = [
        {"zone": f"z{n % 30}", "known": "yn"[n % 2], "held": "abc"[n % 3], "kept": "yn"[n % 5 > 1], "sex": "fm"[n % 2]}
        for n in range(90)
    ]
    text, project, _ = proposed(write_csv(tmp_path / "v.csv", rows))
    assert project["data"]["answer"] == "kept"
    assert "# QUESTION: is that the answer? Else it may be known, held;" in text


def test_a_column_whose_name_ends_in_id_is_no_axis_where_it_has_many_values(tmp_path: Path) -> None:
    rows = [{"caseid": f"{n // 3}:1", "sex": "fm"[n % 2], "vote": "ab"[n // 2 % 2]} for n in range(600)]
    text, project, _ = proposed(write_csv(tmp_path / "v.csv", rows))
    assert list(project["axes"]) == ["sex"] and "'caseid' looks like an identifier" in text


def test_row_numbers_of_a_table_of_counts_are_no_axis(tmp_path: Path) -> None:
    """A program wrote them beside the table; areas that are numbered stay, whatever their number."""
    pairs = [(sex, vote, age) for sex in "fm" for vote in "ab" for age in ("18-39", "40+")]
    rows = [
        {"rownames": str(n), "sex": sex, "age": age, "vote": vote, "Freq": str(40 + n)}
        for n, (sex, vote, age) in enumerate(pairs, 1)
    ]
    text, project, _ = proposed(write_csv(tmp_path / "v.csv", rows))
    assert list(project["axes"]) == ["sex", "age"] and "'rownames' looks like an identifier: 8 different" in text
    for row in rows:
        row["ward"] = row.pop("rownames")
    (tmp_path / "project.toml").unlink()
    _, project, _ = proposed(write_csv(tmp_path / "w.csv", rows))
    assert "ward" in project["axes"]


def test_odd_names_are_quoted(tmp_path: Path) -> None:
    name = 'wéird "\x7f\n# name'
    lines = [json.dumps({name: "xy"[n % 2], "vote": "AB"[n % 3 == 0]}) for n in range(30)]
    (tmp_path / "v.jsonl").write_text("\n".join(lines))
    _, project, _ = proposed(tmp_path / "v.jsonl")
    assert list(project["axes"]) == [name]


def test_sqlite(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "v.db")) as database:
        database.execute("create table people (sex, vote)")
        database.execute("create table zoo (animal)")
        database.executemany("insert into people values (?, ?)", [("fm"[n % 2], "AB"[n % 3 == 0]) for n in range(30)])
        database.commit()
    text, project, _ = proposed(tmp_path / "v.db")
    assert project["data"]["table"] == "people"
    assert "# other tables: zoo" in text


def test_what_cannot_be_proposed(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent\.csv: there is no such file"):
        init(tmp_path / "absent.csv")
    (tmp_path / "v.csv").write_text("a,b\n")
    with pytest.raises(InputError, match=r"v\.csv: the table is empty"):
        init(tmp_path / "v.csv")
    (tmp_path / "v.csv").write_text("vote\nA\nB\n")
    with pytest.raises(InputError, match=r"v\.csv: no columns fit: .* the columns are vote$"):
        init(tmp_path / "v.csv")


@pytest.mark.data
def test_adult(data_sets: Path) -> None:
    text = init(data_sets / "adult_uci.parquet").text
    project = tomllib.loads(text)
    assert project["data"]["answer"] == "income"
    assert list(project["axes"]) == ["education", "marital_status", "race", "sex", "native_country"]
    assert "# [axes.workclass]    # 8 categories:" in text and "# [axes.occupation]" in text
    assert not {"age", "fnlwgt", "education_num"} & set(project["axes"])


def test_five_of_many_columns_are_axes_and_the_others_are_one_sign_away(tmp_path: Path) -> None:
    """Places, age, sex and race come first, then what else somebody is, then the others, in the order of the file."""
    names = ["c1", "hand", "c2", "age", "c3", "town", "c4", "job", "c5", "sex"]
    draw = random.Random(7)
    rows = [{name: name + draw.choice("uvwx"[: 2 + n % 3]) for n, name in enumerate(names)} for _ in range(300)]
    path = write_csv(tmp_path / "v.csv", [row | {"vote": draw.choice("AB")} for row in rows])
    text, project, table = proposed(path)
    assert list(project["axes"]) == ["hand", "age", "town", "job", "sex"] == list(table.schema.names)
    assert "# People can be counted by 5 more columns. At most 5 are proposed" in text
    start = text.index("# [axes.c1]")
    further = text[start : text.index("\n\n", start)]
    taken = tomllib.loads(text.replace(further, "\n".join(line.removeprefix("# ") for line in further.splitlines())))
    assert set(taken["axes"]) == set(names)
    few = write_csv(tmp_path / "few.csv", [{name: row[name] for name in names[:6]} for row in rows])
    assert "# People can be counted by" not in init(few).text


def test_bands_missing_values_and_commas(tmp_path: Path) -> None:
    draw = random.Random(2)
    rows = [
        {
            "age": str(draw.randrange(18, 90)),
            "born": f"{draw.randrange(1950, 1990)}-01-02",
            "pay": f"{draw.randrange(10, 90)},{draw.randrange(10, 99)}",
            "work": draw.choice(["farm", "shop", "?", ""]),
            "vote": draw.choice(["A", "B", "NA"]),
        }
        for _ in range(300)
    ]
    lines = [";".join(rows[0]), *(";".join(row.values()) for row in rows)]
    (tmp_path / "v.csv").write_text("\n".join(lines) + "\n")
    text, project, table = proposed(tmp_path / "v.csv")
    assert project["data"]["missing"] == ["?", "NA"] and project["data"]["decimal"] == ","
    assert "# bands = [30, 45, 65]" in text and project["axes"]["work"]["missing"] == "unknown"
    assert "# bands = [1955-01-01, 1960-01-01, 1965-01-01" in text and "# bands = [30, 50, 70]" in text
    assert table.schema.axis("work").categories == ("farm", "shop", "unknown") and table.schema.options == ("A", "B")


PARTY = {"Ann": "D", "Bo": "R", "Cy": "D"}


def votes_by_ward(path: Path, columns: str, contests: dict[str, list[str]]) -> Path:
    """Votes of nine wards by mode; ward 8 has every contest, the others have one each."""
    names = list(contests)
    lines = [
        f"{contest},w{w},{mode},{name},{PARTY.get(name, 'none')},{30 + 3 * w + 7 * (mode == 'e') + 5 * place}"
        for w in range(9)
        for contest in (names if w == 8 else names[w % len(names) :][:1])
        for mode in "em"
        for place, name in enumerate(contests[contest])
    ]
    path.write_text("\n".join([columns, *lines]) + "\n")
    return path


def test_columns_that_settle_the_answer_or_follow_from_it_are_no_axes(tmp_path: Path) -> None:
    """Each candidate has one party: a table of either by the other would be all or nothing in every row."""
    for columns, answer, skipped in (
        ("county,ward,mode,candidate,party,votes", "candidate", "'party' follows from the answer: each"),
        ("county,ward,mode,name,party,votes", "party", "'name' settles the answer: each of its values has one 'party'"),
    ):
        folder = tmp_path / answer
        folder.mkdir()
        text, project, _ = proposed(votes_by_ward(folder / "v.csv", columns, {"1": list(PARTY)}))
        assert list(project["axes"]) == ["ward", "mode"] and project["data"]["answer"] == answer
        assert "contest" not in project["data"] and f"# Skipped: column {skipped}" in text


def test_one_contest_of_several_is_proposed(tmp_path: Path) -> None:
    """Two districts elect different people, but write-ins stand in both: the larger contest is kept, alone."""
    contests = {"001": ["Ann", "Bo", "Write-in"], "004": ["Cy", "Di", "Write-in"]}
    path = votes_by_ward(tmp_path / "v.csv", "district,ward,mode,candidate,party,votes", contests)
    text, project, table = proposed(path)
    assert project["data"]["contest"] == {"district": "001"} and "write a project for each" in text
    assert list(project["axes"]) == ["ward", "mode"] and table.schema.options == ("Ann", "Bo", "Write-in")
    assert table.schema.axis("ward").categories == ("w0", "w2", "w4", "w6", "w8")
    votes = [line.split(",") for line in path.read_text().splitlines()[1:]]
    assert table.totals.sum() == sum(int(vote[-1]) for vote in votes if vote[0] == "001")
    assert "'party' settles the answer" in text  # within one contest


def test_districts_that_vote_on_the_same_answers_are_an_axis(tmp_path: Path) -> None:
    same = {"001": ["Ann", "Bo"], "004": ["Ann", "Bo"]}
    _, project, _ = proposed(votes_by_ward(tmp_path / "v.csv", "district,ward,mode,candidate,party,votes", same))
    assert "contest" not in project["data"] and list(project["axes"]) == ["district", "ward", "mode"]


def test_a_column_of_ages_is_an_axis_where_there_is_no_other(tmp_path: Path) -> None:
    rows = [{"age": str(18 + n % 60), "vote": "AB"[n % 3 > 0]} for n in range(300)]
    _, project, table = proposed(write_csv(tmp_path / "v.csv", rows))
    assert project["axes"]["age"]["bands"] == [30, 45, 65] and table.schema.axis("age").ordered


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ward,party,votes\nw1,A,4\nw1,B,*\nw2,A,7\nw2,B,1\n", "column 'votes' looks like counts of people, but '*'"),
        ("ward,party,votes\nw1,A,4\nw1,B,3\nTotals,A,4\nTotals,B,3\n", "column 'ward': 'Totals' looks like the sum"),
        ("ward,vote\nw1,A\nw1,All\nw2,A\nw2,B\n", "column 'vote': 'All' looks like the sum of other rows"),
    ],
)
def test_counts_and_categories_that_stop_it(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "v.csv").write_text(text)
    with pytest.raises(InputError, match=said.replace("*", r"\*")):
        init(tmp_path / "v.csv")


def test_the_project_is_written_into_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    made = init(write_csv(tmp_path / "data" / "voters.csv", town(60)))
    assert made.write() == Path("project.toml") and 'file = "../data/voters.csv"' in Path("project.toml").read_text()
    assert 'file = "data/voters.csv"' in made.write(tmp_path / "other.toml").read_text()
    assert tabulate(Project.load("project.toml")).totals.sum() == sum(row["vote"] != "" for row in town(60))


@pytest.mark.parametrize(("header", "answer"), [("Admit,Gender,Dept", "Admit"), ("party,stance,chamber", "stance")])
def test_what_was_decided_or_thought_is_the_answer_and_what_people_are_is_an_axis(
    tmp_path: Path, header: str, answer: str
) -> None:
    rows = "\n".join(f"{'ab'[n % 2]},{'cd'[n // 2 % 2]},{'ef'[n // 4 % 2]}" for n in range(80))
    (tmp_path / "data.csv").write_text(f"{header}\n{rows}\n")
    assert f'answer = "{answer}"' in init(tmp_path / "data.csv").to_text()


def answers_to(*columns: str, values: str = "12345", rows: int = 600, seed: int = 4) -> list[dict[str, str]]:
    """Rows with a random value in every column."""
    draw = random.Random(seed)
    return [{name: draw.choice(values) for name in columns} for _ in range(rows)]


def test_what_people_chose_is_a_question_beside_a_battery_and_never_an_axis(tmp_path: Path) -> None:
    """An axis is public: the vote by which attitudes are counted would be. The other options are written beside it."""
    rows = [
        {"site": "NS"[n % 2], "votefinal": "Red Blue Other".split()[n % 3], **row}
        for n, row in enumerate(answers_to("economy", "health", "schools"))
    ]
    path = write_csv(tmp_path / "panel.csv", rows)
    text = init(path).write(tmp_path / "project.toml").read_text()
    project = tomllib.loads(text)
    assert project["data"]["answers"] == ["economy", "health", "schools", "votefinal"]
    assert project["questions"]["votefinal"]["options"] == ["Blue", "Other", "Red"] and list(project["axes"]) == [
        "site"
    ]
    assert release(tmp_path / "project.toml").certificate.certified


def test_whole_numbers_with_decimals_are_published_as_whole_numbers(tmp_path: Path) -> None:
    """As programs write a column with empty cells; a column of the same battery without them has no decimals."""
    rows = [
        {**row, "b": row["b"] + ".0", "c": (row["c"] + ".0") * (n % 9 > 0)} for n, row in enumerate(answers_to(*"abc"))
    ]
    rows = [{"team": f"T{n % 3}", "degree": f"{n % 4}.0", **row} for n, row in enumerate(rows)]
    made = init(write_csv(tmp_path / "v.csv", rows)).write(tmp_path / "project.toml")
    project = tomllib.loads(made.read_text())
    assert project["data"]["answers"] == ["a", "b", "c"] and project["data"]["options"] == list("12345")
    assert project["axes"]["degree"]["categories"] == list("0123") and project["axes"]["degree"]["ordered"]
    cells = release(made).to_json()["cells"]
    assert {cell["cell"]["degree"] for cell in cells if "degree" in cell["cell"]} == set("0123")


@pytest.mark.parametrize(
    ("columns", "values", "expected"),
    [
        (("coal", "gas", "sun"), "du", ["coal", "gas", "sun"]),  # more than yes and no
        (("ab_rape", "ab_poor", "ab_health"), "01", ["ab_rape", "ab_poor", "ab_health"]),  # one stem
        (("female", "born", "veteran"), "01", None),  # attributes that happen to be yes or no
    ],
)
def test_columns_with_two_values_are_questions_only_where_their_names_or_values_say_so(
    tmp_path: Path, columns: tuple[str, ...], values: str, expected: list[str] | None
) -> None:
    rows = [{"site": "NSW"[n % 3], **row} for n, row in enumerate(answers_to(*columns, values=values))]
    project = tomllib.loads(init(write_csv(tmp_path / "v.csv", rows)).text)
    assert project["data"].get("answers") == expected


def test_flags_of_one_column_and_numbers_of_things_are_no_questions(tmp_path: Path) -> None:
    draw = random.Random(5)
    rows = []
    for number in range(600):
        year, child = draw.randrange(3), [str(draw.randrange(1, 5)) if draw.random() < 0.2 else "0" for _ in range(3)]
        flags = {f"y{wave}": str(int(wave == year)) for wave in range(3)}
        few = dict(zip(("babies", "teens", "dogs"), child, strict=True))
        rows.append({"year": str(2001 + year), **flags, **few, "liked": "yn"[number % 2]})
    text, project, _ = proposed(write_csv(tmp_path / "v.csv", rows))
    assert project["data"]["answer"] == "liked" and "answers" not in project["data"]
    assert "# Skipped: column 'y1' says whether 'year' is '2002'." in text
    assert set(project["axes"]) == {"year", "babies", "teens", "dogs"}


def test_questions_with_nothing_to_count_by_are_said(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "v.csv", answers_to("q1", "q2", "q3"))
    with pytest.raises(InputError, match=r"3 columns look like questions \(q1, q2, q3\), and no other column says who"):
        init(path)
    assert tomllib.loads(init(path, answer="q2").text)["data"]["answer"] == "q2"


@pytest.mark.parametrize(
    ("labels", "order"),
    [
        (["Very_High", "Low", "Medium", "High"], ["Low", "Medium", "High", "Very_High"]),
        ([">16 yrs", "<12 yrs", "13-15 yrs"], ["<12 yrs", "13-15 yrs", ">16 yrs"]),
        (["Above 36,400", "Under 2,600", "2,600 to 36,400"], ["Under 2,600", "2,600 to 36,400", "Above 36,400"]),
        (["10+", "<5", "9", "5"], ["<5", "5", "9", "10+"]),
    ],
)
def test_bands_and_words_are_ordered_however_they_are_written(
    tmp_path: Path, labels: list[str], order: list[str]
) -> None:
    draw = random.Random(6)
    rows = [f'"{draw.choice(labels)}",{draw.choice("AB")}' for _ in range(200)]
    (tmp_path / "v.csv").write_text("\n".join(["hours,vote", *rows]) + "\n")
    axis = tomllib.loads(init(tmp_path / "v.csv").text)["axes"]["hours"]
    assert axis["ordered"] is True and axis["categories"] == order


def test_numbers_of_places_are_no_bands(tmp_path: Path) -> None:
    rows = [{"precinct": f"{n % 9}-{n % 3}" if n % 2 else f"{n % 9:02}", "vote": "AB"[n // 18 % 2]} for n in range(300)]
    assert "ordered" not in tomllib.loads(init(write_csv(tmp_path / "v.csv", rows)).text)["axes"]["precinct"]
