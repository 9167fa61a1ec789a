"""Roles of columns, projects from dropped files, and what is remembered, without a browser."""

import csv
import json
import random
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from safemargin.core import InputError
from safemargin.release.project import Project
from safemargin.web.app import App
from safemargin.web.bench import Bench
from safemargin.web.edges import band_edges
from safemargin.web.edit import with_content, written
from safemargin.web.looks import look_at
from safemargin.web.place import Place
from safemargin.web.roles import roles_in, said_so_far
from safemargin.web.uploads import made_here
from test_golden import FILES

PEOPLE = 400


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    uploads = tmp_path / "uploads"
    uploads.mkdir()
    (tmp_path / "work").mkdir()
    return Bench(Place(tmp_path / "work"), uploads)


@pytest.fixture
def page(bench: Bench) -> TestClient:
    return TestClient(App(bench).starlette("/s/"), base_url="http://127.0.0.1/s/", follow_redirects=False)


def people() -> list[dict[str, str]]:
    """A file as people have it: a running number, a region, an age, words for nothing, an answer."""
    chance = random.Random(7)
    return [
        {
            "rownames": str(number),
            "region": chance.choice(["N", "S", "SA"]),
            "age": str(chance.randint(18, 70)) if chance.random() > 0.02 else "NA",
            "school": chance.choice(["P", "S", "PS"]) if chance.random() > 0.05 else "NA",
            "vote": chance.choice(["Y", "N", "U"]) if chance.random() > 0.1 else "NA",
        }
        for number in range(PEOPLE)
    ]


def table(rows: list[dict[str, str]]) -> bytes:
    return "\n".join([",".join(rows[0]), *(",".join(row.values()) for row in rows), ""]).encode()


def dropped(page: TestClient, name: str, content: bytes) -> str:
    path = page.post("drop", params={"name": name}, content=content).json()["path"]
    answer = page.post("home", data={"do": "open", "path": path})
    assert answer.status_code == 303, answer.text
    return str(answer.headers["location"])


def test_a_dropped_file_becomes_a_private_project_and_goes_with_it(page: TestClient, bench: Bench) -> None:
    assert dropped(page, "people.csv", table(people())) == "data"
    folder = bench.base / "people"
    assert bench.place.folder == folder and list(bench.uploads.glob("*/*")) == []
    assert folder.stat().st_mode & 0o777 == 0o700
    assert all(path.stat().st_mode & 0o077 == 0 for path in folder.iterdir())
    for name in ("draft", "release"):
        (folder / name / "confidential").mkdir(parents=True)
        (folder / name / "confidential/plan.json").write_text("{}")
    (folder / "release/published").mkdir()
    (folder / "ledger.sqlite").write_bytes(b"")
    (folder / ".safemargin-project").mkdir()
    assert page.post("home", data={"do": "remove"}).status_code == 422 and (folder / "people.csv").exists()
    assert page.post("home", data={"do": "remove", "sure": "yes"}).status_code == 303
    assert sorted(path.name for path in folder.iterdir()) == ["ledger.sqlite", "release"], "what was published stays"
    assert (bench.place.folder, bench.place.project) == (bench.base, None)
    assert dropped(page, "people.csv", table(people())) == "data" and bench.place.folder.name == "people-2"
    page.post("home", data={"do": "remove", "sure": "yes"})
    assert not (bench.base / "people-2").exists()


def test_only_what_the_workbench_made_is_removed(page: TestClient, bench: Bench) -> None:
    """A folder that somebody sent may name files elsewhere; they are no files of ours."""
    outside = bench.base / "precious.csv"
    outside.write_text("x")
    sent = bench.base / "sent"
    sent.mkdir()
    (sent / "project.toml").write_text(FILES["project.toml"], encoding="utf-8")
    (sent / "link.csv").symlink_to(outside)
    for names in (["../precious.csv"], [str(outside)], ["link.csv"], "precious.csv", [3], {}):
        (sent / ".safemargin-made.json").write_text(json.dumps({"files": names}))
        assert made_here(sent) == []
    bench.open(sent)
    answer = page.post("home", data={"do": "remove", "sure": "yes"})
    assert answer.status_code == 422 and outside.exists() and (sent / "project.toml").exists()


def test_roles_are_chosen_without_the_project_file(page: TestClient, bench: Bench) -> None:
    """Each choice of a form means what it says: the counts equal those of the rows, by brute force."""
    rows = people()
    dropped(page, "people.csv", table(rows))
    form = {"do": "roles", "role-1": "axis", "role-2": "bands", "bands-2": "30, 50", "role-3": "ordered"}
    answer = page.post("data", data={**form, "role-4": "answer", "digest": bench.place.digest})
    assert answer.status_code == 303, answer.text
    found = bench.place.inputs().table
    answered = [row for row in rows if row["vote"] != "NA"]

    def band(age: str) -> str:
        number = None if age == "NA" else int(age)
        return "unknown" if number is None else "under 30" if number < 30 else "30-49" if number < 50 else "50 and over"

    margin, ages = found.margin(("age",)), found.schema.axis("age").categories
    for (code,), counts in zip(margin.codes.tolist(), margin.counts.tolist(), strict=True):
        for option, count in zip(found.schema.options, counts, strict=True):
            assert count == sum(band(row["age"]) == ages[code] and row["vote"] == option for row in answered)
    assert found.schema.axis("school").categories == ("P", "PS", "S", "unknown")
    assert bench.place.load().axes["school"].is_ordered and not bench.place.load().axes["region"].is_ordered
    kept = bench.place.text
    answer = page.post("data", data={**form, "role-4": "unused", "role-3": "answer", "digest": bench.place.digest})
    assert answer.status_code == 303
    assert set(bench.place.inputs().table.schema.options) == {"P", "S", "PS"}
    assert set(bench.place.load().axes) == {"region", "age"}
    assert tomllib.loads(kept)["target"] == tomllib.loads(bench.place.text)["target"]


def test_every_error_is_stated_at_once(page: TestClient, bench: Bench) -> None:
    dropped(page, "people.csv", table(people()))
    form = {"do": "roles", "role-1": "answer", "role-2": "bands", "bands-2": "50, 30", "role-4": "answer"}
    answer = page.post("data", data={**form, "role-3": "nothing", "digest": bench.place.digest})
    assert answer.status_code == 422 and answer.text.count('aria-invalid="true"') == 3
    for name in ("bands-2", "role-3", "role-4"):
        assert f'href="#{name}"' in answer.text and f'id="{name}-wrong"' in answer.text
    answer = page.post("limits", data={"do": "save", "share": "x", "people": "0", "known": "-1", "protect": "?"})
    assert answer.text.count('aria-invalid="true"') == 4 and "4 things to correct" in answer.text


def test_questions_counts_and_areas_have_roles(page: TestClient, bench: Bench) -> None:
    chance = random.Random(1)
    lines = [f"T{chance.randint(1, 4)},{','.join(str(chance.randint(1, 5)) for _ in range(6))}" for _ in range(300)]
    dropped(page, "survey.csv", ("team,q1,q2,q3,q4,q5,q6\n" + "\n".join(lines)).encode())
    content = tomllib.loads(bench.place.text)
    roles = roles_in(content, ["team", *(f"q{n}" for n in range(1, 7))])
    assert roles.of("question") == tuple(f"q{n}" for n in range(1, 7)) and roles.of("axis") == ("team",)
    form = {f"role-{place}": "question" for place in range(1, 6)} | {"do": "roles", "role-0": "axis"}
    assert page.post("data", data={**form, "role-6": "unused", "digest": bench.place.digest}).status_code == 303
    data = bench.place.load().data
    assert data is not None and data.answers == ("q1", "q2", "q3", "q4", "q5")
    bench.open(bench.base)
    wide = "ward,yes,no,blank\n" + "".join(f"W{n},{n + 40},{90 - n},{n % 3}\n" for n in range(20))
    dropped(page, "wards.csv", wide.encode())
    project = bench.place.load()
    assert project.data is not None and project.data.side_by_side is not None
    form = {"do": "roles", "role-0": "axis", "role-1": "option", "role-2": "option", "role-3": "option"}
    assert page.post("data", data={**form, "digest": bench.place.digest}).status_code == 303
    assert bench.place.inputs().table.schema.options == ("yes", "no", "blank")


def test_wider_areas_stay_until_somebody_says_otherwise(page: TestClient, bench: Bench) -> None:
    lines = [f"p{n % 12},{'EW'[n % 2]},{'yn'[n % 5 == 0]}" for n in range(1_200)]
    dropped(page, "wards.csv", ("precinct,ward,vote\n" + "\n".join(lines) + "\n").encode())
    assert bench.place.load().axes["precinct"].levels == ("ward",)
    form = {"do": "roles", "role-0": "axis", "role-1": "area", "role-2": "answer"}
    assert page.post("data", data={**form, "digest": bench.place.digest}).status_code == 303
    assert bench.place.load().axes["precinct"].levels == ("ward",)
    assert page.post("data", data={**form, "role-1": "axis", "digest": bench.place.digest}).status_code == 303
    axes = bench.place.load().axes
    assert set(axes) == {"precinct", "ward"} and axes["precinct"].levels is None


def test_a_file_in_which_nothing_is_found_can_be_described(page: TestClient, bench: Bench) -> None:
    """An answer with many options is no guess; a person may say so."""
    lines = [f"G{number % 4},P{number % 60}" for number in range(2_400)]
    assert dropped(page, "parties.csv", ("place,party\n" + "\n".join(lines)).encode()) == "data"
    assert not said_so_far(tomllib.loads(bench.place.text))
    text = page.get("data").text
    assert "Please decide:" in text and page.get("").status_code == 200
    form = {"do": "roles", "role-0": "axis", "role-1": "answer", "digest": bench.place.digest}
    assert page.post("data", data=form).status_code == 303
    assert len(bench.place.inputs().table.schema.options) == 60 and "# QUESTION" not in bench.place.text


def test_a_table_of_counts_is_checked_and_not_published(page: TestClient, bench: Bench) -> None:
    cross = b"Accidents in 2025\n\nDistrict,Slight,Fatal,Total\nNorth,20,3,23\nSouth,31,1,32\nTotal,51,4,55\n"
    where = dropped(page, "accidents.csv", cross)
    assert where.startswith("job?id=") and bench.place.project is None, "it is checked at once"
    while bench.jobs.running is not None:
        time.sleep(0.05)
    (job,) = bench.jobs.jobs.values()
    assert job.arguments[0] == "audit" and "accidents.csv" in page.get(job.result).text


def contents() -> Iterator[tuple[str, dict[str, object]]]:
    """Project files with one thing changed, added or removed."""
    chance = random.Random(3)
    texts = [FILES["project.toml"], '[data]\nfile = "a"\n[axes."a b"]\ncategories = [\n  "x",\n]\n[target]\n# end\n']
    texts.append('title = "t"\n[data]\nfile = "a"\n[axes.b]   # two\njoin = [["x", "y"]]\n[[onlookers]]\nname = "n"\n')
    for text in texts * 20:
        content = tomllib.loads(text)
        for key in list(content["axes"]):
            what = chance.randrange(4)
            if what == 0:
                del content["axes"][key]
            elif what == 1:
                content["axes"][key] = {"bands": [1, 2.5], "ordered": True, "labels": {'q"': "\\ \t\x7f"}}
        content["axes"][chance.choice(["new", "ä b", "a.b", '"'])] = {"column": "[x]"}
        if chance.random() < 0.3:
            content["tables"] = {"margins": [["a", "b"]]}
        if chance.random() < 0.3:
            content["onlookers"] = [{"name": "n", "knows_rule": False}]
        if chance.random() < 0.3:
            content.pop("target", None)
        yield text, content


def test_a_project_file_says_what_was_chosen_and_nothing_else() -> None:
    for text, content in contents():
        assert tomllib.loads(with_content(text, content)) == content == tomllib.loads(written(content))


@pytest.mark.parametrize("text", ["1, 1", "2, 1", "few", "1, 2020-01-01", "1e3", "٣", "1,,x"])
def test_bands_that_mean_nothing_are_refused(text: str) -> None:
    with pytest.raises(InputError):
        band_edges(text)


def test_the_picture_of_a_column_counts_its_rows(tmp_path: Path) -> None:
    rows = people()
    with (tmp_path / "people.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    survey, columns = look_at(tmp_path / "people.csv", None, None)
    assert survey.rows == PEOPLE
    for column in columns:
        texts = [row[column.name] for row in rows]
        assert dict(column.values) == {text: texts.count(text) for text in set(texts) - {"NA"}}
        assert column.empty == texts.count("NA") and sum(count for _, count in column.values) == PEOPLE - column.empty
        if len(column.values) <= 24 or column.is_number:
            assert sum(count for _, count in column.bars) == PEOPLE - column.empty


def wait(bench: Bench) -> None:
    while bench.jobs.running is not None:
        time.sleep(0.02)


def test_what_ran_is_remembered_with_its_project_alone(page: TestClient, bench: Bench) -> None:
    """A new workbench shows the last result; a notice stays until somebody looks; other projects know nothing of it."""
    for name in ("votes.csv", "project.toml"):
        (bench.base / name).write_text(FILES[name], encoding="utf-8")
    bench.open(bench.base)
    assert page.post("limits", data={"do": "forecast"}).status_code == 303
    wait(bench)
    assert "<strong>The forecast is done" in page.get("data").text, "a notice on any page"
    assert page.post("job", data={"do": "seen", "id": "1", "here": "data"}).headers["location"] == "data"
    assert "<strong>The forecast is done" not in page.get("data").text
    (kept,) = (bench.base / ".safemargin-project").glob("*.json")
    assert kept.stat().st_mode & 0o077 == 0 and kept.parent.stat().st_mode & 0o077 == 0
    text = page.get("limits").text
    assert "No answer of this year is used." in text and "A forecast reads off" not in text
    later = Bench(Place(bench.base), bench.uploads)
    other = TestClient(App(later).starlette("/s/"), base_url="http://127.0.0.1/s/", follow_redirects=False)
    shown = other.get("limits").text
    assert shown.count("<svg") == text.count("<svg") and "<strong>The forecast is done" not in shown
    assert "The forecast" in other.get("").text
    (bench.base / "second.toml").write_text(FILES["project.toml"].partition("[ledger]")[0], encoding="utf-8")
    later.open(bench.base / "second.toml")
    assert later.jobs.of(later.store) == [] and "What ran here" not in other.get("").text
    project = bench.base / "project.toml"
    project.write_text(project.read_text(encoding="utf-8").replace("kappa = 20", "kappa = 21"), encoding="utf-8")
    later.open(project)
    assert later.jobs.of(later.store) and later.job({}, "limits") is None, "it was about other limits"


@pytest.mark.parametrize(
    "change",
    [
        {"link": "http://evil.example/?"},
        {"link": "//evil.example?"},
        {"link": "javascript:alert(1)?"},
        {"state": "running"},
        {"document": [1]},
        {"moment": 1e400},
        {"moment": "x"},
        {"arguments": 3},
        {"back": "/\\evil"},
    ],
)
def test_a_result_that_somebody_sent_leads_nowhere(bench: Bench, change: dict[str, object]) -> None:
    said = {"title": "T", "link": "limits?", "back": "limits", "state": "done", "message": "", "seconds": 1.0}
    said |= {"moment": 1.0, "arguments": ["forecast"], "warnings": [], "document": {}}
    store = bench.base / ".safemargin-project"
    store.mkdir()
    (store / "job-1.json").write_text(json.dumps(said))
    (store / "job-2.json").write_text(json.dumps({**said, **change}))
    (store / "job-3.json").write_text("[" * 100_000)
    (bench.base / "project.toml").write_text(FILES["project.toml"], encoding="utf-8")
    bench.open(bench.base)
    assert [job.result for job in bench.jobs.of(bench.store)] == ["limits?job=1"]


def test_runs_belong_to_their_project(bench: Bench) -> None:
    document = {"cells": [], "verdict": {}, "answers": [], "certified": True}
    commands = {
        "mine": "safemargin release project.toml",
        "choice": "safemargin release project.toml --protect merge",
        "other": "safemargin release second.toml",
        "spaced": "safemargin release 'project.toml --x'",
        "trial": "safemargin release trial.toml",
        "rehearsal": "safemargin release rehearsal.toml",
    }
    (bench.base / "project.toml").write_text(FILES["project.toml"], encoding="utf-8")
    bench.open(bench.base)
    for name, command in commands.items():
        (bench.base / name / "confidential").mkdir(parents=True)
        (bench.base / name / "confidential/plan.json").write_text(json.dumps({**document, "command": command}))
    (bench.base / "trial.toml").write_text(bench.place.copied(bench.place.text), encoding="utf-8")
    (bench.base / "rehearsal.toml").write_text("# A copy of second.toml, to try something\n", encoding="utf-8")
    assert {run.name for run in bench.place.project_runs()} == {"mine", "choice", "trial"}
    assert [run.name for run in bench.place.own_runs()] == ["mine"]
    assert Project.load(bench.base / "trial.toml").ledger is None
