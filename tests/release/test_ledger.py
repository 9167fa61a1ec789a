"""The ledger: what is kept of a release, what it prevents in the next one, and that it is never half-written."""

import csv
import json
import shutil
import sqlite3
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from commands import Run, in_process, listing, release_into
from safemargin import Draft, Release
from safemargin.core import UNBOUNDED, InputError, OutputError, PublishedTable, Target, frozen
from safemargin.history import file as ledger_file
from safemargin.history.chain import Chain
from safemargin.history.entries import Entry, budget, recommended_kappa
from safemargin.history.file import open_ledger, read_ledger, record
from safemargin.release.ledger.ledger import ledger
from safemargin.ui import Points, Section

pytestmark = [pytest.mark.usefixtures("no_pictures"), pytest.mark.full]

SITES, GRADES = ("North", "South", "West"), ("junior", "senior")
Row = tuple[str, str, str, str]


@pytest.fixture(name="run_command")
def fixture_run_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return in_process(monkeypatch, capsys)


def staff(per_profile: int = 20) -> list[Row]:
    """People at three sites and in two grades, of whom nine in twenty say yes."""
    return [
        (f"{site}{grade}{n}", site, grade, "yes" if n % 20 < 9 else "no")
        for site, grade in product(SITES, GRADES)
        for n in range(per_profile)
    ]


JOINED: list[Row] = [
    ("x1", "North", "junior", "yes"),
    ("x2", "North", "junior", "no"),
    ("x3", "North", "senior", "yes"),
]
AGREED = [(name, site, grade, "yes") for name, site, grade, _ in JOINED]


def project(folder: Path, rows: Sequence[Row], cycle: str, ledger: str = "", rest: str = "") -> Path:
    """A project file with its data."""
    text = "".join(",".join(row) + "\n" for row in rows)
    (folder / f"{cycle}.csv").write_text(f"badge,site,grade,answer\n{text}")
    path = folder / f"{cycle}.toml"
    path.write_text(
        f'[data]\nfile = "{cycle}.csv"\nanswer = "answer"\n[axes.site]\n[axes.grade]\n'
        f"[target]\ntau = 0\nkappa = 5\n{rest}\n"
        f'[ledger]\nfile = "ledger.sqlite"\npopulation = "staff"\ncycle = "{cycle}"\n{ledger}\n'
        + ("" if "id =" in ledger else 'turnover = "net"\n')
        + ("" if "answers =" in ledger else 'answers = "kept"\n')
    )
    return path


def release(path: Path) -> Release | Draft:
    return release_into(path.parent / f"out-{path.stem}", path)


def is_released(result: Release | Draft) -> bool:
    return isinstance(result, Release)


def counts(folder: Path, name: str) -> dict[tuple[str, ...], str]:
    lines = [line.split(",") for line in (folder / "published" / f"{name}.csv").read_text().splitlines()[1:]]
    return {tuple(line[:-2]): line[-2] for line in lines}


def test_two_releases_are_recorded_in_order(tmp_path: Path) -> None:
    release(project(tmp_path, staff(), "2025"))
    release(project(tmp_path, staff(), "2026"))
    entries = read_ledger(tmp_path / "ledger.sqlite")
    assert [(entry.population, entry.cycle, entry.people) for entry in entries] == [
        ("staff", "2025", 120),
        ("staff", "2026", 120),
    ]
    assert entries[0].axes == {"grade": GRADES, "site": SITES} or entries[0].axes == {"site": SITES, "grade": GRADES}
    assert entries[0].queries == 3 and budget(entries).queries == 3 and budget(entries).share == pytest.approx(0.025)


def test_a_ledger_says_what_was_not_exact(tmp_path: Path) -> None:
    """The tallies equal those of the published files, group by group."""
    release(project(tmp_path, staff(), "2025"))
    text = " ".join(part for section in ledger(tmp_path / "ledger.sqlite").to_report().parts for part in lines(section))
    for name in ("site", "grade"):
        with (tmp_path / f"out-2025/published/{name}.csv").open(encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        groups = {row[name]: row["status"] for row in rows}
        for status in ("merged", "noised", "suppressed"):
            count = sum(each == status for each in groups.values())
            assert (f"{name}: {count} {status}" in text) == bool(count), (name, status, text)
    assert ("every count is exact" in text) == ("not exact" not in text)


def lines(section: object) -> list[str]:
    """The items of the lists in a section."""
    assert isinstance(section, Section | str)
    parts = section.parts if isinstance(section, Section) else ()
    return [str(item) for part in parts if isinstance(part, Points) for item in part.items]


def test_an_entry_comes_back_as_it_was(tmp_path: Path) -> None:
    noisy = PublishedTable(
        "site",
        ("site",),
        ((frozenset({"a", "b"}), frozenset({"c"}), frozenset({"d"})),),
        frozen([[0], [1], [2]]),
        ("yes",),
        frozen([0, 0, 0]),
        frozen([7, 0, 0]),
        frozen([7, UNBOUNDED, UNBOUNDED]),
        ("merged", "suppressed", "noised"),
        noisy=frozen([0, 0, -3]),
    )
    total = PublishedTable(
        "total", (), (), frozen([[]], 0), ("yes",), frozen([0]), frozen([9]), frozen([9]), ("exact",)
    )
    entry = Entry(
        "p", "c", "Ü", Target(kappa=7, tau=0), {"site": ("a", "b", "c", "d")}, ("yes",), 20, 9, "hash", (total, noisy),
        {("site",): {("a",): 20}}, {"somebody": ("a",)}, 2, 0.5,
    )  # fmt: skip
    record(tmp_path / "l.sqlite", entry, Chain("k"), 0, tmp_path / "out", {"a": b""})
    (found,) = read_ledger(tmp_path / "l.sqlite")
    assert replace(found, tables=()) == replace(entry, tables=())
    for one, other in zip(found.tables, (total, noisy), strict=True):
        assert (one.axes, one.groups, one.options, one.status) == (
            other.axes,
            other.groups,
            other.options,
            other.status,
        )
        assert np.array_equal(one.lower, other.lower) and np.array_equal(one.upper, other.upper)
        assert np.array_equal(one.codes, other.codes)
    with sqlite3.connect(tmp_path / "l.sqlite") as database:
        (content,) = database.execute("select content from published where name = 'site'").fetchone()
    assert [row[-2] for row in json.loads(content)["rows"]] == [7, None, -3]


def test_answers_of_the_people_are_not_kept(tmp_path: Path) -> None:
    """Only published counts: neither joint counts nor anybody's own answer."""
    release(project(tmp_path, staff(), "2025", 'id = "badge"'))
    with sqlite3.connect(tmp_path / "ledger.sqlite") as database:
        members = database.execute("select person, profile from member").fetchall()
        tables = [json.loads(text) for (text,) in database.execute("select content from published")]
    assert len(members) == 120
    assert not any("yes" in text or "North" in name for name, text in members)
    assert sorted(len(table["axes"]) for table in tables) == [0, 1, 1]


def test_three_who_joined_are_not_disclosed(tmp_path: Path, run_command: Run) -> None:
    first = release(project(tmp_path, staff(), "2025"))
    second = release(project(tmp_path, [*staff(), *JOINED], "2026"))
    assert is_released(first) and is_released(second)
    assert ("North", "yes") in counts(tmp_path / "out-2025", "site")
    assert not (tmp_path / "out-2026" / "published" / "site.csv").exists()
    reasons = [d.reason for d in second.plan.axis("site")]
    assert any(
        "release of 2025 it would disclose the answers of the 3 people who joined since 2025" in each
        for each in reasons
    )
    assert second.to_json()["ledger"]["earlier"] == ["2025"]  # type: ignore[index]
    for cycle, rows in (("2025", staff()), ("2026", [*staff(), *JOINED])):
        people = Counter(row[1:3] for row in rows)
        text = "".join(f"{site},{grade},{n}\n" for (site, grade), n in people.items())
        (tmp_path / f"roll-{cycle}.csv").write_text(f"site,grade,people\n{text}")
    audit = ("--roll", tmp_path / "roll-2026.csv", "--earlier-roll", tmp_path / "roll-2025.csv", "--kappa", "5")
    remembered = ("--earlier", tmp_path / "out-2025" / "published")
    passed = run_command("audit", tmp_path / "out-2026/published/total.csv", *audit, *remembered, "--json")
    assert (passed.code, passed.document["safe"]) == (0, True), passed.err
    naive = tmp_path / "site.csv"
    votes = Counter((row[1], row[3]) for row in [*staff(), *JOINED])
    naive.write_text("site,option,count\n" + "".join(f"{a},{o},{n}\n" for (a, o), n in votes.items()))
    caught = run_command("audit", tmp_path / "out-2026/published/total.csv", naive, *audit, *remembered, "--json")
    attack = caught.document["attacks"][-1]  # type: ignore[index]
    assert caught.code == 1 and attack["attack"] == "differencing"
    assert {"site": "North", "history": "joined since out-2025"} in [each["cell"] for each in attack["findings"]]


def test_assuming_it_of_all_publishes_what_the_totals_disclose_anyway(tmp_path: Path) -> None:
    release(project(tmp_path, staff(), "2025"))
    second = release(project(tmp_path, [*staff(), *JOINED], "2026", 'assume = "whole"'))
    assert is_released(second)
    assert (tmp_path / "out-2026" / "published" / "total.csv").exists()
    assert not (tmp_path / "out-2026" / "published" / "grade.csv").exists()
    assert any("The totals of 2025 and 2026 alone disclose" in note for note in second.plan.notes)


def test_a_refused_release_leaves_no_trace(tmp_path: Path, run_command: Run) -> None:
    release(project(tmp_path, staff(), "2025"))
    before = (tmp_path / "ledger.sqlite").read_bytes()
    refused = run_command("release", project(tmp_path, [*staff(), *AGREED], "2026"), "--out", tmp_path / "no", "--json")
    assert refused.code == 1
    assert refused.document["ledger"]["recorded"] is False  # type: ignore[index]
    assert not (tmp_path / "no" / "published").exists()
    assert (tmp_path / "ledger.sqlite").read_bytes() == before


def test_movers_are_followed_by_their_names(tmp_path: Path) -> None:
    """Two swap sites: the rolls are the same, and only names show that anything happened."""
    release(project(tmp_path, staff(), "2025", 'id = "badge"'))
    moved = {"Northjunior0": "South", "Southjunior19": "North"}
    rows = [(name, moved.get(name, site), grade, answer) for name, site, grade, answer in staff()]
    path = project(tmp_path, rows, "2026", 'id = "badge"')
    path.write_text(path.read_text().replace("[axes.site]\n[axes.grade]", "[axes.grade]\n[axes.site]"))
    by_name = release(path)
    assert is_released(by_name)
    assert [sorted(d.group) for d in by_name.plan.axis("site") if len(d.group) > 1] == [["North", "South"]]
    assert any("moved" in d.reason for d in by_name.plan.axis("site"))


def test_several_cycles_are_remembered_together(tmp_path: Path) -> None:
    release(project(tmp_path, staff(), "2024"))
    release(project(tmp_path, staff(), "2025"))
    third = release(project(tmp_path, [*staff(), *JOINED], "2026"))
    assert is_released(third)
    assert "'2024' and '2025'" in third.plan.certificate.statement
    fourth = release(project(tmp_path, [*staff(), *JOINED], "2027"))
    assert is_released(fourth)
    assert not (tmp_path / "out-2027" / "published" / "site.csv").exists(), "2024 is still remembered"


def test_sizes_alone_are_compared_axis_by_axis(tmp_path: Path) -> None:
    sizes = '[[onlookers]]\nname = "reader"\ncomposition = "sizes"\n'
    release(project(tmp_path, staff(), "2025", rest=sizes))
    (entry,) = read_ledger(tmp_path / "ledger.sqlite")
    assert sorted(entry.rolls) == [("grade",), ("site",)]
    second = release(project(tmp_path, [*staff(), *JOINED], "2026", rest=sizes))
    assert is_released(second)
    assert not (tmp_path / "out-2026" / "published" / "site.csv").exists()


def test_who_knows_no_roll_reads_sizes_off_the_tables(tmp_path: Path) -> None:
    nothing = '[[onlookers]]\nname = "reader"\ncomposition = "none"\n'
    release(project(tmp_path, staff(), "2025", rest=nothing))
    (entry,) = read_ledger(tmp_path / "ledger.sqlite")
    assert sorted(entry.rolls) == [("grade",), ("site",)]
    assert is_released(release(project(tmp_path, [*staff(), *JOINED], "2026", rest=nothing)))
    assert not (tmp_path / "out-2026" / "published" / "site.csv").exists()


def test_the_floor_follows_participation(tmp_path: Path) -> None:
    release(project(tmp_path, staff(), "2025"))
    second = release(project(tmp_path, staff(40), "2026"))
    assert any("kappa = 10 would be as strict" in note for note in second.plan.notes)
    assert recommended_kappa(read_ledger(tmp_path / "ledger.sqlite")[:1], 60) == 5


def test_the_command_lists_it(tmp_path: Path, run_command: Run) -> None:
    release(project(tmp_path, staff(), "2025"))
    shown = run_command("ledger", tmp_path / "ledger.sqlite")
    assert shown.code == 0 and "staff" in shown.out and "3 different counts per option about 120 people" in shown.out
    document = run_command("ledger", tmp_path / "ledger.sqlite", "--json").document
    (found,) = document["populations"]  # type: ignore[misc]
    assert found["budget"] == {"queries": 3, "people": 120, "share": 0.025, "epsilon": 0.0}
    assert [each["cycle"] for each in found["releases"]] == ["2025"]
    missing = run_command("ledger", tmp_path / "nothing.sqlite")
    assert missing.code == 2 and "there is no such file" in missing.err


def refuse(path: Path, words: str) -> None:
    folder = path.parent
    before = listing(folder)
    with pytest.raises(InputError, match=words) as caught:
        release(path)
    assert "\n" not in str(caught.value)
    assert listing(folder) == before


def test_what_cannot_be_compared_is_refused(tmp_path: Path) -> None:
    release(project(tmp_path, staff(), "2025"))
    shutil.rmtree(tmp_path / "out-2025")
    refuse(tmp_path / "2025.toml", "cycle '2025' was released already")
    renamed = [(name, site.replace("North", "Top"), grade, answer) for name, site, grade, answer in staff()]
    refuse(project(tmp_path, renamed, "2026"), "axis 'site': category 'North' is gone since '2025'")
    maybe = [(name, site, grade, answer.replace("no", "never")) for name, site, grade, answer in staff()]
    refuse(project(tmp_path, maybe, "2026"), "the options were no, yes in '2025'")
    path = project(tmp_path, staff(), "2026")
    path.write_text(path.read_text().replace("[axes.grade]\n", ""))
    refuse(path, r"axis 'grade' was published in '2025' and is missing now; add \[axes.grade\]")


def test_a_file_that_is_no_ledger_is_refused(tmp_path: Path) -> None:
    path = project(tmp_path, staff(), "2026")
    file = tmp_path / "ledger.sqlite"
    file.write_bytes(b"not a database, but long enough to be read as one" * 20)
    refuse(path, "cannot be read as a ledger")
    file.unlink()
    with sqlite3.connect(file) as database:
        database.execute("create table other (x)")
    database.close()
    refuse(path, "not a ledger of safemargin")
    file.unlink()
    release(path)
    shutil.rmtree(tmp_path / "out-2026")
    with sqlite3.connect(file) as database:
        database.execute("update published set content = '{'")
    database.close()
    refuse(path, "entries were changed or removed")
    with sqlite3.connect(file) as database:
        database.execute("pragma user_version = 9")
    database.close()
    refuse(path, "version 9")


@pytest.mark.parametrize(
    ("ledger", "data", "words"),
    [
        ('assume = "some"', "", "ledger.assume = 'some'"),
        ('id = "badge"', 'count = "badge"', "ledger.id = 'badge': needs"),
        ('id = "nobody"', "", "there is no column 'nobody'"),
        ('id = "badge"\nturnover = "net"', "", "ledger: give one of id"),
        ("epsilon_total = 0.0", "", "ledger.epsilon_total = 0.0: must be above 0"),
        ('id = "grade"', "", "'junior' stands for two people"),
        ("who = 1", "", "ledger.who = 1: unknown key"),
    ],
)
def test_wrong_keys(tmp_path: Path, ledger: str, data: str, words: str) -> None:
    path = project(tmp_path, staff(), "2026", ledger)
    path.write_text(path.read_text().replace('answer = "answer"\n', f'answer = "answer"\n{data}\n'))
    with pytest.raises(InputError, match=words.replace(".", r"\.")):
        release(path)


def test_nothing_is_recorded_if_the_folder_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OutputError("the disk is full")

    monkeypatch.setattr(ledger_file, "fill_draft", fail)
    with pytest.raises(OutputError, match="disk is full"):
        release(project(tmp_path, staff(), "2025"))
    assert not (tmp_path / "ledger.sqlite").exists()


def test_nothing_is_published_if_it_cannot_be_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release(project(tmp_path, staff(), "2025"))
    before = (tmp_path / "ledger.sqlite").read_bytes()
    monkeypatch.setattr(ledger_file, "PATIENCE", 0.1)
    path = project(tmp_path, staff(), "2026")
    reader = sqlite3.connect(tmp_path / "ledger.sqlite", isolation_level=None)
    reader.execute("begin")
    reader.execute("select * from release").fetchall()  # a reader holds the file: the commit must fail
    with pytest.raises(OutputError, match="nothing was recorded"):
        release(path)
    reader.close()
    assert not (tmp_path / "out-2026").exists()
    assert (tmp_path / "ledger.sqlite").read_bytes() == before
    assert is_released(release(path))


def test_two_runs_at_once_do_not_miss_each_other(tmp_path: Path) -> None:
    release(project(tmp_path, staff(), "2025"))
    ledger = open_ledger(tmp_path / "ledger.sqlite")
    entry = replace(ledger.entries[0], cycle="2026")
    for chain, seen in ((ledger.chain, 0), (Chain("of another first release"), 1)):
        with pytest.raises(OutputError, match="recorded meanwhile; run again"):
            record(tmp_path / "ledger.sqlite", entry, chain, seen, tmp_path / "out", {"a": b""})
        assert not list(tmp_path.glob("*out")), "it was decided without knowing 2025"
    assert len(read_ledger(tmp_path / "ledger.sqlite")) == 1


def test_noise_adds_up_over_the_cycles(tmp_path: Path, run_command: Run) -> None:
    rows = [(name, site, grade, "yes" if site == "West" else answer) for name, site, grade, answer in staff()]
    for cycle in ("2025", "2026"):
        path = project(tmp_path, rows, cycle)
        path.write_text(path.read_text().replace("kappa = 5", 'kappa = 5\nprotect = "noise"'))
        assert is_released(release(path))
    assert budget(read_ledger(tmp_path / "ledger.sqlite")).epsilon == pytest.approx(2.0)
    assert "Noise: epsilon 2 in all" in run_command("ledger", tmp_path / "ledger.sqlite").out


PAIRS = '[outputs]\nmargins = [["site", "grade"]]\n'


def test_tables_of_several_axes_are_held_against_the_ledger(tmp_path: Path) -> None:
    # ten leave and ten come in every group that changes: only a cell of both axes shows who
    first = release(project(tmp_path, staff(60), "2025", rest=PAIRS))
    assert [each.cells for each in first.plan.margins] == [6]
    same = release(project(tmp_path, staff(60), "2026", rest=PAIRS))
    assert is_released(same) and [each.cells for each in same.plan.margins] == [6]
    gone = {("South", "junior"), ("West", "senior")}
    came = [("South", "senior"), ("West", "junior")]
    stayed = [row for row in staff(60) if row[1:3] not in gone or not 50 <= int(row[0].removeprefix("".join(row[1:3])))]
    fresh = [
        (f"new{site}{n}", site, grade, "yes" if n < 4 else "no") for site, grade in sorted(came) for n in range(10)
    ]
    moved = release(project(tmp_path, stayed + fresh, "2027", rest=PAIRS))
    assert is_released(moved)
    (margin,) = moved.plan.margins
    assert not margin.is_published
    assert margin.reason.startswith("together with the release of 2025")
    assert "left since" in margin.reason or "joined since" in margin.reason
