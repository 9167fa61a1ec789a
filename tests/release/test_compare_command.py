"""The command `compare`: what it prints and writes, and one line for everything that is wrong."""

from pathlib import Path
from typing import Any

import pytest

from commands import Run, in_process, listing

STAFF = {
    ("Aarau", "junior"): (61, 79),
    ("Aarau", "senior"): (75, 75),
    ("Chur", "junior"): (89, 1),
    ("Chur", "senior"): (69, 1),
    ("Davos", "junior"): (30, 40),
    ("Davos", "senior"): (33, 31),
    ("Egg", "junior"): (3, 1),
    ("Egg", "senior"): (2, 2),
}
REST = (
    "[axes.site]\n[axes.grade]\n[target]\nkappa = 20\ntau = 0\n"
    '[[onlookers]]\nname = "neighbour"\ncomposition = "sizes"\n'
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same people as microdata and as sealed elections."""
    rows = [f"{s},{g},{o},{n}" for (s, g), votes in STAFF.items() for o, n in zip(("yes", "no"), votes, strict=True)]
    (tmp_path / "staff.csv").write_text("\n".join(["site,grade,answer,people", *rows]) + "\n")
    data = '[data]\nfile = "staff.csv"\nanswer = "answer"\ncount = "people"\n'
    (tmp_path / "staff.toml").write_text(f'title = "Staff"\n{data}{REST}')
    for place, axis in enumerate(("site", "grade")):
        counts: dict[tuple[str, str], int] = {}
        for profile, votes in STAFF.items():
            for option, count in zip(("yes", "no"), votes, strict=True):
                counts[profile[place], option] = counts.get((profile[place], option), 0) + count
        lines = [f"{category},{option},{count}" for (category, option), count in counts.items()]
        (tmp_path / f"{axis}.csv").write_text("\n".join([f"{axis},option,count", *lines]) + "\n")
        sizes = {category: sum(n for (other, _), n in counts.items() if other == category) for category, _ in counts}
        lines = [f"{category},{people}" for category, people in sizes.items()]
        (tmp_path / f"roll_{axis}.csv").write_text("\n".join([f"{axis},people", *lines]) + "\n")
    roll = '[roll]\nfiles = ["roll_site.csv", "roll_grade.csv"]\n'
    (tmp_path / "sealed.toml").write_text(
        f'[tallies]\nfiles = {{ site = "site.csv", grade = "grade.csv" }}\n{roll}{REST}'
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return in_process(monkeypatch, capsys)


@pytest.mark.parametrize("project", ["staff.toml", "sealed.toml"])
def test_json(run: Run, project: str) -> None:
    ran = run("compare", project, "--epsilon", "0.5", "--epsilon", "2", "--threshold", 9, "--draws", 5, "--json")
    assert ran.code == 0, ran.err
    document: dict[str, Any] = ran.document
    assert document["schema"] == 1 and document["threshold"] == 9 and document["people"] == 592
    methods = {each["method"]: each for each in document["methods"]}
    assert list(methods) == [
        "nothing done",
        "global DP, epsilon 0.5",
        "global DP, epsilon 2",
        "suppression under 9",
        "coarsening to 9",
        "cell key, at most 3",
        "safemargin",
        *(name for name in methods if name.startswith("safemargin, ")),
        "local DP, epsilon 0.5",
        "local DP, epsilon 2",
    ]
    assert {"safemargin, merge", "safemargin, noise"} <= set(methods)
    assert methods["global DP, epsilon 2"]["loss"] == 2 and methods["global DP, epsilon 2"]["draws"] == 5
    (guarantee,) = methods["global DP, epsilon 2"]["guarantees"]
    assert guarantee["epsilon"] == 2 and guarantee["change"] == {"distance": "add_remove", "unit": "person"}
    assert methods["nothing done"]["guarantees"] == []
    (local,) = methods["local DP, epsilon 2"]["guarantees"]
    assert local["epsilon"] == 2 and local["change"] == {"distance": "hamming", "unit": "person"}
    assert len(methods["local DP, epsilon 2"]["counts"]) == 14 and methods["nothing done"]["counts"] == []
    assert {"axis", "category", "option", "printed", "low", "high"} == set(methods["global DP, epsilon 2"]["counts"][0])
    assert methods["nothing done"]["mean_error"] == 0
    assert methods["safemargin"]["binding"]["exact"] and methods["safemargin"]["people_exposed"] == 0
    assert {one["onlooker"] for each in methods.values() for one in each["onlookers"]} == {"neighbour"}
    assert len(document["properties"]) == 7
    assert all(list(found) == list(methods) for found in document["properties"].values())


def test_words_and_page(run: Run, folder: Path) -> None:
    ran = run("compare", "staff.toml", "--epsilon", "1", "--draws", 2, "--out", "page.html", "--seed-free")
    assert ran.code == 0
    assert "592 people; 12 counts in the tables of 2 axes" in ran.out and "Properties, by method" in ran.out
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert "<title>Staff: ways to publish</title>" in page
    assert "Guarantees about odds" in page and "one person record more or less" in page


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nowhere.toml",), "nowhere.toml"),
        (("staff.toml", "--threshold", "0"), "threshold = 0"),
        (("staff.toml", "--draws", "1"), "draws = 1"),
        (("staff.toml", "--epsilon", "0"), "epsilon = 0:"),
        (("staff.toml", "--epsilon", "-1.5"), "epsilon = -1.5:"),
        (("staff.toml", "--out", "no/where.html"), "no/where.html"),
        (("staff.toml", "--out", "."), "name a file"),
    ],
)
def test_one_line_says_what_is_wrong(run: Run, folder: Path, arguments: tuple[str, ...], said: str) -> None:
    before = listing(folder)
    ran = run("compare", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err and ran.err.count("\n") == 1 and ran.err.startswith("safemargin: ")
    assert listing(folder) == before
