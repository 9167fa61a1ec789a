"""Labels that look the same are one category in commands whose grouping is done by the engine itself."""

import csv
import unicodedata
from collections import Counter
from pathlib import Path

import pytest

from safemargin import InputError, release
from safemargin.election.roll import read_roll
from safemargin.io import SpellingWarning, open_records, respelled
from safemargin.noise.columns import RecordColumns
from safemargin.noise.records import read_cells
from safemargin.swap.reading import counted
from safemargin.topdown.project import TopDownProject
from safemargin.topdown.tabulate import count_people, read_design

PLAIN = "Łódź Ü"
LIKE = [
    PLAIN,
    f"{PLAIN} ",
    f"\u00a0{PLAIN}",
    unicodedata.normalize("NFD", PLAIN),
    PLAIN.replace(" ", "\u2009\t"),
    f"\ufeff{PLAIN}",
    "Ł\u200bódź Ü",
    "Łó\u00addź  Ü",
]
DECLARED = f" {LIKE[3]}"
"""As a project may write it."""


@pytest.fixture(name="place")
def fixture_place(tmp_path: Path) -> Path:
    rows = [
        (f"p{n}", LIKE[n % len(LIKE)] if n % 3 else "Bern", "ab"[n % 2], ("yes", "no")[n // 2 % 2]) for n in range(240)
    ]
    with (tmp_path / "people.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("person", "town", "kind", "answer"), *rows])
    return tmp_path


def test_the_engine_groups_by_what_a_reader_sees(place: Path) -> None:
    source = open_records(place / "people.csv")
    with pytest.warns(SpellingWarning, match="are one category"):
        same = respelled(source, ("town", "kind", "nothing"))  # type: ignore[arg-type]
    assert same.fields["kind"] == source.fields["kind"]  # type: ignore[attr-defined]
    with same.connected() as database:
        found = database.execute(f"select {same.fields['town']}, count(*) from {same.scan} group by 1").fetchall()
    assert Counter(dict(found)) == {PLAIN: 160, "Bern": 80}


def test_blanks_of_a_fixed_width_need_no_list_of_labels(tmp_path: Path) -> None:
    (tmp_path / "wide.csv").write_text("town,kind\n" + "".join(f"t{n:<9},a\n" for n in range(300)))
    source = open_records(tmp_path / "wide.csv")
    same = respelled(source, ["town"])  # type: ignore[arg-type]
    assert "case" not in same.fields["town"]
    with same.connected() as database:
        found = {text for (text,) in database.execute(f"select {same.fields['town']} from {same.scan}").fetchall()}
    assert found == {f"t{n}" for n in range(300)}


def test_noise_swapping_and_areas(place: Path) -> None:
    path = place / "people.csv"
    with pytest.warns(SpellingWarning):
        cells = read_cells(path, RecordColumns(("town", "kind")))
    assert {labels: int(count) for labels, count in zip(cells.labels, cells.counts, strict=True)} == {
        ("Bern", "a"): 40, ("Bern", "b"): 40, (PLAIN, "a"): 80, (PLAIN, "b"): 80
    }  # fmt: skip
    with pytest.warns(SpellingWarning), counted(path, ["answer"], ["town"], ["kind"]) as found:
        assert found.run.database.execute("select count(*) from strata").fetchall() == [(2,)]
    (place / "towns.csv").write_text(f"town\n{LIKE[1]}\nBern\n", encoding="utf-8")
    (place / "areas.toml").write_text(
        'data = { file = "people.csv" }\nspine = { levels = ["town"], file = "towns.csv" }\n'
        'attributes = { kind = ["a", "b "] }\n[budget]\nrho_squared = 0.5\nlevels = { all = "1/2", town = "1/2" }\n'
        "queries = { total = 0.5, detailed = 0.5 }\n",
        encoding="utf-8",
    )
    with pytest.warns(SpellingWarning):
        project = TopDownProject.load(place / "areas.toml")
        design = read_design(project)
        assert sorted(map(sorted, count_people(project, design.spine).tolist())) == [[40, 40], [80, 80]]
    assert PLAIN in design.spine.names[-1]


def test_what_a_project_declares_is_read_as_its_data_are(place: Path) -> None:
    text = (
        'title = "x"\n[data]\nfile = "people.csv"\nanswer = "answer"\noptions = ["no ", "yes"]\n'
        f'[axes.town]\ncategories = ["Bern", "{DECLARED}"]\n[target]\nkappa = 5\n'
    )
    (place / "project.toml").write_text(text, encoding="utf-8")
    made = release(place / "project.toml")
    assert made.to_json()["certified"]
    made.write(place / "out")
    assert f"{PLAIN},yes,80,exact" in (place / "out/published/town.csv").read_text(encoding="utf-8")
    (place / "project.toml").write_text(text.replace('"Bern"', f'"Bern", "{PLAIN}"'), encoding="utf-8")
    with pytest.raises(InputError, match="twice"):
        release(place / "project.toml")


def test_a_roll_of_an_election() -> None:
    lines = "".join(f"{n},{label}\n" for n, label in enumerate(LIKE))
    assert {by["town"] for by in read_roll(f"row,town\n{lines}".encode()).values()} == {PLAIN}
