"""Onlookers, files of facts and rolls as forms; and why counts of earlier releases are not exact, without a browser."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from safemargin import release
from safemargin.release.project import Project
from safemargin.web.app import App
from safemargin.web.bench import Bench
from safemargin.web.edit import with_content
from safemargin.web.place import Place

ROWS = [("N", 40, 30), ("S", 35, 25), ("W", 6, 0)]
VOTES = "place,answer,people\n" + "".join(f"{place},yes,{yes}\n{place},no,{no}\n" for place, yes, no in ROWS)
PROJECT = """title = "Vote"   # of the bridge
[data]
file = "votes.csv"
answer = "answer"
count = "people"
[axes.place]   # three of them
"""
LEDGER = """[target]
kappa = 10
tau = 0
[ledger]
file = "ledger.sqlite"
population = "p"
cycle = "2026"
answers = "kept"
turnover = "net"
"""
ROLL = "place,people\nN,70\nS,62\nW,8\n"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    (tmp_path / "work").mkdir()
    (tmp_path / "uploads").mkdir()
    (tmp_path / "work/votes.csv").write_text(VOTES, encoding="utf-8")
    (tmp_path / "work/project.toml").write_text(PROJECT, encoding="utf-8")
    return Bench(Place(tmp_path / "work"), tmp_path / "uploads")


@pytest.fixture
def page(bench: Bench) -> TestClient:
    return TestClient(App(bench).starlette("/s/"), base_url="http://127.0.0.1/s/", follow_redirects=False)


def send(page: TestClient, bench: Bench, do: str, **fields: str) -> Any:
    return page.post("limits", data={"do": do, "digest": bench.place.digest, **fields})


def drop(page: TestClient, name: str, text: str) -> str:
    return str(page.post("drop", params={"name": name}, content=text.encode()).json()["path"])


def test_several_onlookers_are_described_without_the_project_file(page: TestClient, bench: Bench) -> None:
    assert "Onlooker ‘informed’" in page.get("limits").text
    added = {"who": "employer", "composition-new": "sizes", "rule-new": "yes"}
    assert send(page, bench, "another", **added).status_code == 303
    assert send(page, bench, "another", **added).status_code == 422
    assert send(page, bench, "another", **{**added, "who": " "}).status_code == 422
    assert send(page, bench, "onlooker", place="0", **{"composition-0": "none"}).status_code == 303
    listed = Project.parse(bench.place.text, folder=bench.place.folder, name="project.toml").onlookers
    assert [(each.name, each.composition, each.knows_rule) for each in listed] == [
        ("informed", "none", False),
        ("employer", "sizes", True),
    ]
    assert bench.place.text.startswith(PROJECT.rstrip("\n")), "comments stay"
    assert send(page, bench, "without", place="0").status_code == 303
    assert "The only onlooker stays".lower() in send(page, bench, "without", place="0").text.lower()
    assert send(page, bench, "without", place="7").status_code == 422


def test_facts_are_files_that_stay_with_the_project(page: TestClient, bench: Bench) -> None:
    fact = "place,option,count\nN,yes,40\n"
    given = {"composition-0": "joint", "rule-0": "yes"}
    path = drop(page, "paper.csv", fact)
    assert send(page, bench, "onlooker", place="0", **given, **{"fact-0": path}).status_code == 303
    (onlooker,) = tomllib.loads(bench.place.text)["onlookers"]
    assert onlooker["facts"] == ["paper.csv"] and not Path(path).exists()
    assert (bench.place.folder / "paper.csv").read_text() == fact
    assert "paper.csv" in page.get("limits").text
    wrong = drop(page, "paper.csv", "place,option,count\nX,yes,40\n")
    answer = send(page, bench, "onlooker", place="0", **given, **{"fact-0": wrong})
    assert answer.status_code == 422 and 'aria-invalid="true"' in answer.text and Path(wrong).exists()
    assert send(page, bench, "onlooker", place="0", **given, **{"without-0-0": "yes"}).status_code == 303
    assert "facts" not in tomllib.loads(bench.place.text)["onlookers"][0]


def test_a_roll_is_a_file_and_a_wrong_one_changes_nothing(page: TestClient, bench: Bench) -> None:
    assert "taken as the roll" in page.get("limits").text
    before = bench.place.text
    for text in ("place,people\nN,1\n", "town,people\nX,70\n"):
        answer = send(page, bench, "roll", roll=drop(page, "roll.csv", text))
        assert answer.status_code == 422 and bench.place.text == before and "roll-wrong" in answer.text
    assert send(page, bench, "roll", roll=drop(page, "roll.csv", ROLL)).status_code == 303
    assert "The roll is roll.csv" in page.get("limits").text
    people = bench.place.inputs().table.people(())
    assert int(people.counts.sum()) == 140
    assert send(page, bench, "no-roll").status_code == 303 and "roll" not in tomllib.loads(bench.place.text)


def test_the_timeline_says_why_counts_are_not_exact(page: TestClient, bench: Bench) -> None:
    """The reason is read from the confidential folder of the release, and only of the one that was recorded."""
    (bench.place.folder / "project.toml").write_text(PROJECT + LEDGER, encoding="utf-8")
    made = release(bench.place.folder / "project.toml").write(bench.place.folder / "release")
    decided = json.loads((made / "confidential/plan.json").read_text())["cells"]
    reasons = {each["reason"] for each in decided if each["action"] != "exact"}
    shown = page.get("timeline").text
    assert reasons and all(reason in shown for reason in reasons) and "Why counts are not exact" in shown
    (made / "confidential/plan.json").unlink()
    assert "not in this folder" in page.get("timeline").text


def test_entries_of_a_list_are_written_without_touching_the_rest() -> None:
    text = '# mine\n[[onlookers]]\nname = "a"  # first\n[axes.b]  # two\njoin = [["x", "y"]]\n'
    wanted = {**tomllib.loads(text), "onlookers": [{"name": "a"}, {"name": "c", "knows_rule": False}]}
    changed = with_content(text, wanted)
    assert tomllib.loads(changed) == wanted and "# two" in changed and changed.startswith("# mine")
    without = {key: value for key, value in wanted.items() if key != "onlookers"}
    assert with_content(changed, without).strip() == '# mine\n[axes.b]  # two\njoin = [["x", "y"]]'


def test_the_title_and_the_questions_are_named_without_the_project_file(page: TestClient, bench: Bench) -> None:
    """Comments stay; a line that names no question, or twice the same, changes nothing."""
    rows = "site,q1,q2,q3\n" + "".join(f"{'NS'[n % 2]},{n % 3 + 1},{n % 4 + 1},{n % 5 + 1}\n" for n in range(120))
    (bench.place.folder / "votes.csv").write_text(rows, encoding="utf-8")
    text = '# mine\ntitle = "staff"   # short\n[data]\nfile = "votes.csv"\nanswers = "q*"\n'
    text += "[questions.q2]\nordered = true\n[axes.site]\n"
    (bench.place.folder / "project.toml").write_text(text, encoding="utf-8")

    def post(do: str, **fields: str) -> Any:
        return page.post("data", data={"do": do, "digest": bench.place.digest, **fields})

    assert "What the questions ask" in page.get("data").text
    assert post("call", called="Staff survey 2026").status_code == 303
    assert 'title = "Staff survey 2026"' in bench.place.text and bench.place.text.startswith("# mine\n")
    assert post("call", called=" ").status_code == 422
    assert post("ask", asked="Work\nq1 = I like it\nq2 = I am = well\nPay\nq3 = q3").status_code == 303
    asked = tomllib.loads(bench.place.text)["questions"]
    assert asked == {
        "q1": {"label": "I like it", "theme": "Work"},
        "q2": {"ordered": True, "label": "I am = well", "theme": "Work"},
        "q3": {"theme": "Pay"},
    }
    assert "I am = well" in page.get("data").text
    for wrong in ("q9 = x", "q1 = a\nq1 = b", "q1 ="):
        answer = post("ask", asked=wrong)
        assert answer.status_code == 422 and "asked-wrong" in answer.text
        assert tomllib.loads(bench.place.text)["questions"] == asked
