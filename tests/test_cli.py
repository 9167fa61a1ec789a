"""The command line: what every command prints, and one line for everything that is wrong."""

import csv
import json
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]
import pytest

import safemargin
from commands import Ran, Run, in_process, listing, script
from safemargin.bounds.exposure import METHODS
from safemargin.core import UNBOUNDED, OutputError
from safemargin.release import release as gate
from safemargin.release.demo import write_city

pytestmark = pytest.mark.full

MARGINS = json.loads((Path(__file__).parent / "vectors" / "margins.json").read_text())
FAKE_SAFE = MARGINS["fake_safe"]
GAP = MARGINS["gap"]
VLACH = MARGINS["vlach"]

PROJECT = """\
title = "Works council"
[data]
file = "votes.csv"
answer = "answer"
count = "people"
[axes.site]
[axes.grade]
[target]
beta = 0.1
kappa = 20
tau = 0
"""
VOTES = """\
site,grade,answer,people
North,junior,yes,40
North,junior,no,35
North,senior,yes,30
North,senior,no,25
South,junior,yes,45
South,junior,no,50
South,senior,yes,20
South,senior,no,30
"""
SITE = "site,option,count\nNorth,yes,70\nNorth,no,60\nSouth,yes,65\nSouth,no,80\n"
GRADE = "grade,option,count\njunior,yes,85\njunior,no,85\nsenior,yes,50\nsenior,no,55\n"
ROLL = "site,grade,people\nNorth,junior,75\nNorth,senior,55\nSouth,junior,95\nSouth,senior,50\n"
SEALED = """\
[tallies]
files = { site = "site.csv", grade = "grade.csv" }
[roll]
files = ["roll.csv"]
[axes.site]
[axes.grade]
[target]
kappa = 20
tau = 0
"""
FILES = {
    "project.toml": PROJECT,
    "sealed.toml": SEALED,
    "votes.csv": VOTES,
    "site.csv": SITE,
    "grade.csv": GRADE,
    "roll.csv": ROLL,
}
MILLION = 1_000_000


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two projects about the same people, and the current one."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the command in this process, in the folder."""
    return in_process(monkeypatch, capsys)


# Happy paths


def test_the_version_needs_no_menu() -> None:
    """What a shell asks first is answered before the libraries of commands are loaded: 0.05 s, not 0.3."""
    code = "import sys; sys.argv = ['safemargin', '--version']; from safemargin.__main__ import main; main()"
    code += "; print([name for name in ('typer', 'rich', 'numpy', 'jinja2') if name in sys.modules])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.splitlines() == [safemargin.__version__, "[]"]


def test_version_and_help(folder: Path) -> None:
    assert script("--version", cwd=folder).out.startswith("0.")
    ran = script("--help", cwd=folder)
    assert ran.code == 0 and all(name in ran.out for name in ("init", "release", "bound", "audit", "demo", "schema"))


def test_init_writes_a_project_that_loads(run: Run, folder: Path) -> None:
    (folder / "project.toml").unlink()
    ran = run("init", "votes.csv")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("project.toml written. Read it, edit it, then: safemargin release project.toml")
    assert run("bound", "project.toml", "--json").code == 0


def test_init_as_json(run: Run, folder: Path) -> None:
    ran = run("init", "votes.csv", "--out", "mine.toml", "--json")
    assert set(ran.document) == {"schema", "project", "text"}
    assert ran.document["text"] == (folder / "mine.toml").read_text(encoding="utf-8")


RELEASE_KEYS = {
    "schema",
    "certified",
    "published",
    "cells",
    "certificate",
    "refused",
    "guarantees",
    "noised",
    "irregular",
    "exposed_people",
    "command",
    "verdict",
    "answers",
    "alternatives",
    "notes",
    "outcome",
    "kept",
    "causes",
    "remedies",
    "total_exposes",
}


def test_pages_from_the_command_line(run: Run, folder: Path) -> None:
    ledger = (
        '[ledger]\nfile = "ledger.sqlite"\npopulation = "staff"\ncycle = "2026"\nanswers = "kept"\nturnover = "net"\n'
    )
    (folder / "project.toml").write_text(PROJECT + ledger)
    assert run("release", "project.toml", "--out", "release").code == 0
    stated = {
        ("audit", "site.csv", "grade.csv", "--roll", "roll.csv"): "attacks tried, nothing found",
        ("bound", "site.csv", "grade.csv", "--roll", "roll.csv"): "No count or share is disclosed",
        ("verify", "release/published", "--auditors", "release/auditors"): "The certificate holds.",
        ("ledger", "ledger.sqlite"): "2026",
    }
    for call, words in stated.items():
        assert run(*call, "--out", f"{call[0]}.html").code == 0
        page = (folder / f"{call[0]}.html").read_text(encoding="utf-8")
        assert words in page and "http://" not in page and "<h1" in page
        assert call[0] != "verify" or ("What was checked" in page and "SHA-256 of the certificate" in page)
        assert run(*call, "--out", "nowhere/page.html").code == 2


def test_release(run: Run, folder: Path) -> None:
    ran = run("release", "project.toml", "--out", "release")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("You may publish") and "publish                       release/published" in ran.out
    assert sorted(path.name for path in (folder / "release").iterdir()) == ["auditors", "confidential", "published"]
    assert (folder / "release/published/site.csv").read_text() == SITE.replace("count\n", "count,status\n").replace(
        "North,yes,70\nNorth,no,60\nSouth,yes,65\nSouth,no,80\n",
        "North,no,60,exact\nNorth,yes,70,exact\nSouth,no,80,exact\nSouth,yes,65,exact\n",
    )


def test_release_as_json(run: Run, folder: Path) -> None:
    ran = run("release", "project.toml", "--out", "release", "--json")
    document = ran.document
    assert ran.code == 0 and set(document) == RELEASE_KEYS
    assert (document["schema"], document["certified"]) == (1, True)
    assert document["certificate"] == "release/published/certificate.json"
    published = document["published"]
    assert isinstance(published, list) and all((folder / name).is_file() for name in published)
    cells = document["cells"]
    assert isinstance(cells, list) and len(cells) == 4
    assert set(cells[0]) == {"cell", "people", "action", "reason", "counts"}
    assert cells[0] == {
        "cell": {"site": "North"},
        "people": 130,
        "action": "exact",
        "reason": "large enough, share within the target",
        "counts": {"no": 60, "yes": 70},
    }
    assert json.loads((folder / "release/confidential/plan.json").read_text(encoding="utf-8")) == document


def test_a_draft_publishes_and_records_nothing(run: Run, folder: Path) -> None:
    """It holds the page that the release then has, and leaves the ledger alone; names are in the record only."""
    with (folder / "project.toml").open("a", encoding="utf-8") as file:
        file.write(
            '[ledger]\nfile = "book.sqlite"\npopulation = "staff"\ncycle = "2026"\nanswers = "kept"\nturnover = "net"\n'
        )
    ran = run("release", "project.toml", "--out", "draft", "--draft", "--json")
    assert (ran.code, ran.document["certified"], ran.document["published"]) == (0, True, [])
    assert not (folder / "draft/published").exists() and not (folder / "book.sqlite").exists()
    named = ("--decided-by", "Ada", "--checked-by", "Emmy <b>")
    assert run("release", "project.toml", "--out", "release", *named).code == 0
    preview = (folder / "draft/confidential/preview.html").read_text(encoding="utf-8")
    page = (folder / "release/published/index.html").read_text(encoding="utf-8")
    assert preview.partition("SHA-256 of")[0] == page.partition("SHA-256 of")[0]
    record = (folder / "release/confidential/record.html").read_text(encoding="utf-8")
    assert "decided by Ada" in record and "checked by Emmy &lt;b&gt;" in record
    assert all(b"Emmy" not in path.read_bytes() for path in (folder / "release/published").iterdir())


def test_progress_as_lines_for_programs(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAFEMARGIN_PROGRESS", "json")
    lines = [json.loads(line) for line in run("audit", "site.csv").err.splitlines()]
    assert lines and all(set(line) == {"step", "done", "total"} for line in lines)


def test_release_into_an_empty_folder(run: Run, folder: Path) -> None:
    (folder / "release").mkdir()
    assert run("release", "sealed.toml", "--out", "release").code == 0
    assert (folder / "release/published/manifest.json").is_file()


CELL_KEYS = {
    "cell",
    "option",
    "people",
    "lower",
    "upper",
    "width",
    "interval",
    "t",
    "fitted",
    "proved",
    "method",
    "verdict",
}


def test_bound_of_a_project(run: Run) -> None:
    ran = run("bound", "project.toml", "--json")
    document = ran.document
    assert (ran.code, ran.err) == (0, "")
    assert set(document) == {"schema", "cells", "verdicts", "classical", "fiber", "onlooker", "target", "reading"}
    cells = document["cells"]
    assert isinstance(cells, list) and len(cells) == 8 and set(cells[0]) == CELL_KEYS
    first = {key: value for key, value in cells[0].items() if key not in ("t", "fitted", "interval", "method")}
    assert first == {
        "cell": {"site": "North", "grade": "junior"},
        "option": "no",
        "people": 75,
        "lower": 5,
        "upper": 55,
        "width": 50,
        "proved": "integer",
        "verdict": "open",
    }
    assert cells[0]["method"] in METHODS
    assert cells[0]["interval"] == pytest.approx([5 / 75, 55 / 75])
    assert document["onlooker"] == {"name": "informed", "composition": "joint", "facts": [], "knows_rule": True}
    assert document["target"] == {"beta": 0.1, "kappa": 20, "tau": 0, "epsilon_max": 1.0, "guard": None}
    assert sum(document["verdicts"].values()) == 8  # type: ignore[attr-defined]


def test_bound_of_tables(run: Run) -> None:
    plain = run("bound", "site.csv", "grade.csv", "--json").document["cells"]
    capped = run("bound", "site.csv", "grade.csv", "--roll", "roll.csv", "--json").document["cells"]
    assert isinstance(plain, list) and isinstance(capped, list)
    assert {entry["people"] for entry in plain} == {None} and {entry["method"] for entry in plain} == {"closed form"}
    assert {entry["people"] for entry in capped} == {75, 55, 95, 50}
    assert "closed form" not in {entry["method"] for entry in capped}


def test_bound_of_another_margin(run: Run) -> None:
    cells = run("bound", "project.toml", "--target", "grade", "--json").document["cells"]
    assert isinstance(cells, list)
    assert [(entry["cell"], entry["lower"], entry["upper"]) for entry in cells] == [
        ({"grade": "junior"}, 85, 85),
        ({"grade": "junior"}, 85, 85),
        ({"grade": "senior"}, 55, 55),
        ({"grade": "senior"}, 50, 50),
    ]
    cells = run("bound", "site.csv", "grade.csv", "--target", "", "--json").document["cells"]
    assert isinstance(cells, list) and [entry["cell"] for entry in cells] == [{}, {}]


def test_tables_without_options_have_none_in_json(run: Run, folder: Path) -> None:
    (folder / "members.csv").write_text("site,count\nNorth,30\nSouth,20\n")
    cells = run("bound", "members.csv", "--json").document["cells"]
    assert isinstance(cells, list) and all(set(entry) == CELL_KEYS - {"option"} for entry in cells)


def test_a_total_that_is_suppressed(run: Run, folder: Path) -> None:
    (folder / "total.csv").write_text("count\n\n")
    found = run("bound", "total.csv", "--json")
    assert found.code == 0
    (cell,) = json.loads(found.out)["cells"]
    assert (cell["cell"], cell["lower"], cell["upper"]) == ({}, 0, UNBOUNDED)


def test_bound_in_words(run: Run) -> None:
    ran = run("bound", "project.toml", "--limit", "2", "--sort", "width")
    assert ran.code == 0 and "6 more are not shown." in ran.out
    assert "cell (site, grade)" in ran.out


def test_disclosed_cells_give_exit_code_1(run: Run) -> None:
    ran = run("bound", "project.toml", "--target", "site", "--kappa", "200")
    assert ran.code == 1 and "4 intervals: 4 disclosed, 0 cannot be inferred, 0 within the limits." in ran.out


def test_export(run: Run, folder: Path) -> None:
    run("bound", "project.toml", "--export", "cells.csv")
    with (folder / "cells.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 8
    assert list(rows[0]) == [
        *("site", "grade", "option", "people", "lower", "upper", "width", "t", "fitted", "proved", "method"),
        *("verdict", "share_low", "share_high"),
    ]
    assert (rows[0]["site"], rows[0]["lower"], rows[0]["upper"]) == ("North", "5", "55")


def test_audit(run: Run) -> None:
    ran = run("audit", "site.csv", "grade.csv", "--roll", "roll.csv", "--json")
    document = ran.document
    assert (ran.code, ran.err) == (0, "")
    keys = {"schema", "cells", "verdicts", "classical", "fiber", "onlooker", "target", "attacks", "printed", "safe"}
    assert set(document) == keys | {"reading", "doubtful"}
    assert document["safe"] is True and document["doubtful"] is False
    attacks = document["attacks"]
    assert isinstance(attacks, list)
    assert [attack["attack"] for attack in attacks] == [
        "homogeneity",
        "subtraction",
        "suppressed",
        "joint",
        "rule",
        "small",
    ]
    keys = {"attack", "summary", "looked_at", "people_exposed", "findings"}
    assert set(attacks[0]) == {*keys, "unanimous", "nearly_unanimous"}
    assert all(set(attack) == keys for attack in attacks[1:])
    assert "6 attacks tried, nothing found." in run("audit", "site.csv", "grade.csv").out


def test_audit_names_what_it_finds(run: Run, folder: Path) -> None:
    (folder / "club.csv").write_text("club,option,count\nchess,yes,12\nchess,no,0\nrowing,yes,7\nrowing,no,9\n")
    ran = run("audit", "club.csv")
    assert ran.code == 1
    assert "1 of 2 non-empty groups" in ran.out and "1 attack succeeded (homogeneity): 12 people exposed." in ran.out
    assert "club chess, yes: 12 of 12 gave 'yes'" in ran.out
    found = run("audit", "club.csv", "--json").document["attacks"]
    assert isinstance(found, list)
    assert found[0]["findings"] == [
        {
            "cell": {"club": "chess"},
            "option": "yes",
            "people": 12,
            "lower": 12,
            "upper": 12,
            "words": "12 of 12 gave 'yes'",
        }
    ]


def test_columns_of_other_peoples_tables(run: Run, folder: Path) -> None:
    text = "ward,official,candidate,votes\nw1,x,A,10\nw1,x,B,4\nw2,y,A,-1\nw2,y,B,-1\nw3,z,A,6\nw3,z,B,0\n"
    (folder / "official.csv").write_text(text)
    arguments = ("--count", "votes", "--option", "candidate", "--by", "ward", "--skip", "votes=-1")
    ran = run("audit", "official.csv", *arguments)
    assert ran.code == 1 and "ward w3, A: 6 of 6 gave 'A'" in ran.out and "w2" not in ran.out


def test_totals_within_the_tolerance(run: Run, folder: Path) -> None:
    (folder / "grade.csv").write_text(GRADE.replace("senior,no,55", "senior,no,57"))
    assert run("bound", "site.csv", "grade.csv").code == 2
    assert run("bound", "site.csv", "grade.csv", "--tolerance", "0.02").code == 0
    assert run("audit", "site.csv", "grade.csv", "--tolerance", "0.02").code == 0


def test_schema(run: Run) -> None:
    ran = run("schema")
    jsonschema.Draft202012Validator.check_schema(ran.document)
    assert run("schema", "--json").document == ran.document
    assert "onlookers" in ran.document["properties"]  # type: ignore[operator]


def test_demo(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real city takes long; its place is taken by a project that is released in no time."""

    def write_small_city(to: Path, *_: object) -> Path:
        to.mkdir()
        for name, text in FILES.items():
            (to / name).write_text(text, encoding="utf-8")
        return to / "project.toml"

    monkeypatch.setattr(gate, "write_city", write_small_city)
    ran = run("demo", "--out", "city", "--json")
    assert ran.code == 0 and set(ran.document) == RELEASE_KEYS
    assert (folder / "city/release/published/manifest.json").is_file()
    assert run("demo", "city").code == 2
    assert "given twice" in run("demo", "city", "--out", "town").err


@pytest.mark.slow
def test_json_is_all_there_is_on_standard_output(folder: Path) -> None:
    (folder / "grade.csv").write_text(GRADE.replace("senior,no,55", "senior,no,54"))
    (folder / "total.csv").write_text("option,count\nno,140\nyes,135\n")
    sealed = (folder / "sealed.toml").read_text()
    (folder / "sealed.toml").write_text(sealed.replace("[tallies]\n", '[tallies]\ntotal = "total.csv"\n'))
    ran = script("release", "sealed.toml", "--out", "release", "--json", cwd=folder)
    assert ran.code == 0 and ran.document["certified"] is True
    assert ran.err.startswith("safemargin: warning: totals disagree within the tolerance: grade.csv (axis grade)")
    assert ran.err.count("\n") == 1


# Everything that can be wrong


@dataclass(frozen=True)
class Bad:
    """A mistake: how it gets into the folder, the command that meets it, and what the message must name."""

    name: str
    command: Sequence[str]
    says: Sequence[str]
    files: dict[str, str | bytes | None]

    def __str__(self) -> str:
        return self.name


def bad(name: str, command: str, *says: str, **files: str | bytes | None) -> Bad:
    """`files` are named with `__` for the dot; none removes the file."""
    return Bad(name, command.split(), says, {file.replace("__", "."): text for file, text in files.items()})


RELEASE = "release project.toml --out release"
SEALED_RELEASE = "release sealed.toml --out release"
BOUND = "bound site.csv grade.csv"
AUDIT = "audit site.csv grade.csv"
LATIN_VOTES = VOTES.replace("North", "Zürich").encode("latin-1")
LATIN = "site,option,count\nZürich,yes,5\n".encode("latin-1")

BAD = [
    # missing file
    bad("no project", "release other.toml --out release", "other.toml", "no such file"),
    bad("no data", RELEASE, "votes.csv", "no such file", votes__csv=None),
    bad("no tally", SEALED_RELEASE, "grade.csv", "no such file", grade__csv=None),
    bad("no roll in a project", SEALED_RELEASE, "roll.csv", "no such file", roll__csv=None),
    bad("no file to look at", "init people.csv --out new.toml", "people.csv", "no such file"),
    bad("no table", "bound other.csv", "other.csv", "no such file"),
    bad("no table to audit", "audit other.csv", "other.csv", "no such file"),
    bad("no roll", f"{AUDIT} --roll other.csv", "other.csv", "no such file"),
    bad("no facts", f"{BOUND} --fact other.csv", "other.csv", "no such file"),
    bad("no manifest", f"{AUDIT} --manifest other.json", "other.json"),
    bad("a folder without tables", "bound full", "full/letter.txt", "where is the table?", full=None),
    # missing column
    bad("no axis column", RELEASE, "votes.csv", "'town'", project__toml=PROJECT.replace("[axes.site]", "[axes.town]")),
    bad("no answer column", RELEASE, "votes.csv", "'vote'", project__toml=PROJECT.replace('"answer"', '"vote"')),
    bad("no count column", RELEASE, "votes.csv", "'n'", project__toml=PROJECT.replace('"people"', '"n"')),
    bad("no counts", BOUND, "site.csv", "no row holds a label and a number", site__csv="site,option\nNorth,yes\n"),
    bad("a gap alone", BOUND, "site.csv", "no row holds a label and a number", site__csv="site,option,c\n"),
    bad("other name of counts", f"{BOUND} --count votes", "site.csv", "'votes'"),
    bad("no axis to count by", f"{AUDIT} --by site", "grade.csv", "'site'"),
    bad("no column to skip by", f"{AUDIT} --skip votes=-1", "site.csv", "'votes'"),
    bad("no axis in a tally", SEALED_RELEASE, "site.csv", "'site'", site__csv=SITE.replace("site,", "town,")),
    bad("no axis in the roll", SEALED_RELEASE, "roll.csv", "'grade'", roll__csv="site,people\nNorth,130\nSouth,145\n"),
    bad("no people in the roll", SEALED_RELEASE, "roll.csv", "'people'", roll__csv=ROLL.replace("people", "count")),
    bad("skip without a value", f"{AUDIT} --skip votes", "--skip", "'votes'"),
    bad(
        "no people in a roll beside tables",
        f"{AUDIT} --roll roll.csv",
        "roll.csv: no row holds a label and a number; where is the table?",
        roll__csv="site,n\nNorth,many\n",
    ),
    bad(
        "a project that is not first", "bound site.csv project.toml", "project.toml", "names its own files", "site.csv"
    ),
    bad("an axis asked for twice", f"{BOUND} --target site,site", "'site'", "twice"),
    bad("an axis of a project asked for twice", "bound project.toml --target site,site", "'site'", "twice"),
    # missing key
    bad("no answer", RELEASE, "project.toml", "data.answer", project__toml=PROJECT.replace('answer = "answer"\n', "")),
    bad("no data or tallies", RELEASE, "project.toml", "data", project__toml="[axes.site]\n"),
    bad("no axes", RELEASE, "project.toml", "axes", project__toml=PROJECT.partition("[axes")[0]),
    bad("no roll with tallies", SEALED_RELEASE, "sealed.toml", "roll", sealed__toml=SEALED.replace("[roll]", "[axes]")),
    bad("unknown key", RELEASE, "project.toml", "target.betta", project__toml=PROJECT.replace("beta", "betta")),
    bad("no TOML", RELEASE, "project.toml", "TOML", project__toml="[data"),
    # unknown category
    bad(
        "unknown category",
        RELEASE,
        *("votes.csv", "'site'", "'South'"),
        project__toml=PROJECT.replace("[axes.site]", '[axes.site]\ncategories = ["North"]'),
    ),
    bad(
        "unknown answer",
        RELEASE,
        *("votes.csv", "'answer'", "'no'"),
        project__toml=PROJECT.replace("[axes.site]", 'options = ["yes", "maybe"]\n[axes.site]'),
    ),
    bad(
        "unknown category in the roll",
        SEALED_RELEASE,
        *("roll.csv", "'site'", "'West'"),
        sealed__toml=SEALED.replace("[axes.site]", '[axes.site]\ncategories = ["North", "South"]'),
        roll__csv=f"{ROLL}West,junior,9\n",
    ),
    bad(
        "category of the roll without votes",
        SEALED_RELEASE,
        *("roll.csv: column 'site': unknown category 'S'", "'South'"),
        roll__csv=ROLL.replace("South", "S"),
    ),
    bad(
        "category of a roll that no table lists",
        f"{BOUND} --roll roll.csv",
        *("site.csv: site 'South' has 0 people on the roll", "site 'S', which is on the roll"),
        roll__csv=ROLL.replace("South", "S"),
    ),
    *(
        bad(
            f"unknown {word} in a fact of {command}",
            command,
            *("fact.csv", f"column {column!r}", f"unknown {word} {value!r}"),
            fact__csv=f"site,option,count\n{row},3\n",
            project__toml=PROJECT + '[[onlookers]]\nname = "clerk"\nfacts = ["fact.csv"]\n',
        )
        for command in (f"{BOUND} --fact fact.csv", f"{AUDIT} --fact fact.csv", "bound project.toml", RELEASE)
        for word, column, value, row in (
            ("category", "site", "Noth", "Noth,yes"),
            ("option", "option", "Yes", "North,Yes"),
        )
    ),
    bad("empty category", RELEASE, "votes.csv", "'site'", votes__csv=VOTES.replace("South,junior,yes", ",junior,yes")),
    bad("empty answer", RELEASE, "votes.csv", "'answer'", votes__csv=VOTES.replace("junior,yes,45", "junior,,45")),
    # counts that are none
    *(
        bad(f"{word} count in {file}", command, file, column, repr(value), **{file.replace(".", "__"): text})
        for word, value in (
            ("negative", "-7"),
            ("fractional", "4.5"),
            ("infinite", "inf"),
            ("undefined", "nan"),
            ("written", "forty"),
        )
        for file, column, command, text in (
            ("votes.csv", "people", RELEASE, VOTES.replace("junior,yes,40", f"junior,yes,{value}")),
            ("site.csv", "count", SEALED_RELEASE, SITE.replace("North,yes,70", f"North,yes,{value}")),
            ("site.csv", "count", BOUND, SITE.replace("North,yes,70", f"North,yes,{value}")),
            ("site.csv", "count", AUDIT, SITE.replace("North,yes,70", f"North,yes,{value}")),
            ("roll.csv", "people", f"{AUDIT} --roll roll.csv", ROLL.replace("junior,75", f"junior,{value}")),
        )
        if not (value == "nan" and command in (BOUND, AUDIT, SEALED_RELEASE))  # a gap: see below
    ),
    bad(
        "gap in a tally",
        SEALED_RELEASE,
        "site.csv",
        "North",
        "has no exact number",
        site__csv=SITE.replace("North,yes,70", "North,yes,nan"),
    ),
    # empty table
    bad("empty data", RELEASE, "votes.csv", "empty", votes__csv="site,grade,answer,people\n"),
    bad("nobody", RELEASE, "votes.csv", "empty", votes__csv="site,grade,answer,people\nNorth,junior,yes,0\n"),
    bad("empty tally", SEALED_RELEASE, "site.csv", "empty", site__csv="site,option,count\n"),
    bad("empty table", BOUND, "site.csv", "empty", site__csv="site,option,count\n"),
    bad("empty file", AUDIT, "site.csv", "empty", site__csv=""),
    bad("empty file to look at", "init votes.csv --out new.toml", "votes.csv", "empty", votes__csv=""),
    bad("all rows skipped", f"{AUDIT} --skip option=yes --skip option=no", "site.csv", "option", "'no'"),
    # duplicate category
    bad(
        "category declared twice",
        RELEASE,
        *("project.toml", "axes.site.categories", "'North'"),
        project__toml=PROJECT.replace("[axes.site]", '[axes.site]\ncategories = ["North", "South", "North"]'),
    ),
    bad("category twice", BOUND, "site.csv", "line 6", "line 2", site__csv=f"{SITE}North,yes,3\n"),
    bad("category twice in a tally", SEALED_RELEASE, "site.csv", "line 6", site__csv=f"{SITE}North,yes,3\n"),
    bad("merged with itself", AUDIT, "site.csv", "site", "'a | a'", site__csv="site,option,count\na | a,yes,9\n"),
    bad("column twice", AUDIT, "site.csv", "'site'", site__csv="site,site,option,count\na,b,yes,9\n"),
    # numbers that contradict each other
    bad("small roll", SEALED_RELEASE, "roll.csv", "'North'", "130", roll__csv=ROLL.replace("junior,75", "junior,70")),
    bad(
        "small roll beside tables",
        f"{BOUND} --roll roll.csv",
        *("site.csv", "North"),
        roll__csv=ROLL.replace("junior,75", "junior,70"),
    ),
    bad(
        "totals disagree",
        SEALED_RELEASE,
        *("grade.csv", "site.csv", "'no'", "tallies.tolerance"),
        grade__csv=GRADE.replace("senior,no,55", "senior,no,95"),
        roll__csv=ROLL.replace(",50", ",250"),
    ),
    bad("totals of tables disagree", BOUND, "grade.csv", "'no'", "181", grade__csv=GRADE.replace("no,55", "no,96")),
    bad(
        "totals beyond the tolerance",
        f"{AUDIT} --tolerance 0.05",
        *("grade.csv", "'no'", "181"),
        grade__csv=GRADE.replace("no,55", "no,96"),
    ),
    # bytes and lines
    bad("data not in UTF-8", RELEASE, "votes.csv", "line 2", "UTF-8", votes__csv=LATIN_VOTES),
    bad("table not in UTF-8", BOUND, "site.csv", "line 2", "UTF-8", site__csv=LATIN),
    bad("tally not in UTF-8", SEALED_RELEASE, "site.csv", "line 2", "UTF-8", site__csv=LATIN),
    bad("project not in UTF-8", RELEASE, "project.toml", "line 1", "UTF-8", project__toml=b'title = "Z\xfcrich"\n'),
    bad("ragged data", RELEASE, "votes.csv", "line 3", "fields", votes__csv=VOTES.replace("junior,no,35", "junior,no")),
    bad("ragged table", BOUND, "site.csv", "line 3", "fields", site__csv=SITE.replace("North,no,60", "North,no,60,1")),
    bad("ragged file to look at", "init votes.csv --out new.toml", "votes.csv", "line 10", votes__csv=f"{VOTES}a,b\n"),
    # target out of range
    *(
        bad(f"{key} = {value}", RELEASE, "project.toml", f"target.{key} = {value}", project__toml=text)
        for key, value in (("beta", "0.5"), ("beta", "-0.1"), ("kappa", "0"), ("tau", "-1"), ("epsilon_max", "0.0"))
        for text in [f"{PROJECT.partition('[target]')[0]}[target]\n{key} = {value}\n"]
    ),
    bad("beta too large", f"{BOUND} --beta 0.7", "beta", "0.7"),
    bad("kappa too small", f"{AUDIT} --kappa 0", "kappa", "0"),
    bad("tau too small", "bound project.toml --tau -1", "tau", "-1"),
    bad("tolerance too small", f"{AUDIT} --tolerance -1", "tolerance", "-1"),
    bad("beta is no number", f"{BOUND} --beta nan", "beta", "nan"),
    # questions about nothing
    bad("no such target", "bound project.toml --target town", "'town'", "site, grade"),
    bad("no such target of tables", f"{BOUND} --target site,town", "'town'", "site, grade"),
    bad("no such target with a roll", f"{AUDIT} --roll roll.csv --target town", "'town'", "site, grade"),
    bad("no such order", f"{BOUND} --sort size", "sort", "'size'"),
    bad("a project beside tables", "bound project.toml site.csv", "project.toml", "site.csv"),
    bad("a roll beside a project", "bound project.toml --roll roll.csv", "project.toml", "--roll"),
    bad("a project to audit", "audit project.toml", "project.toml"),
    # output
    bad("a full folder", RELEASE.replace("out release", "out full"), "full", "not empty", full=None),
    bad("a file as folder", RELEASE.replace("out release", "out votes.csv"), "votes.csv"),
    bad("below a file", RELEASE.replace("out release", "out votes.csv/release"), "votes.csv"),
    bad("a full folder for the demo", "demo full", "full", "not empty", full=None),
    bad("demo below a file", "demo votes.csv/city", "votes.csv"),
    bad("project exists", "init votes.csv", "project.toml", "exists"),
    bad("project elsewhere", "init votes.csv --out votes.csv/new.toml", "votes.csv/new.toml"),
    bad("export to nowhere", f"{BOUND} --export nowhere/cells.csv", "nowhere/cells.csv"),
    bad("export to a folder", f"{AUDIT} --export full", "full", full=None),
    # manifest
    bad("manifest is no JSON", f"{AUDIT} --manifest roll.csv", "roll.csv", "is not JSON"),
    bad("manifest is a list", f"{AUDIT} --manifest m.json", "m.json", "manifest", m__json="[]"),
    bad("manifest without target", f"{AUDIT} --manifest m.json", "m.json", "target", m__json='{"rule": ""}'),
    bad("manifest without rule", f"{AUDIT} --manifest m.json", "m.json", "rule", m__json='{"target": {"beta": 0.1}}'),
    bad(
        "manifest with another key",
        f"{AUDIT} --manifest m.json",
        *("m.json", "gamma"),
        m__json='{"rule": "", "target": {"gamma": 1}}',
    ),
    bad(
        "manifest with a wrong value",
        f"{AUDIT} --manifest m.json",
        *("m.json", "beta", "0.9"),
        m__json='{"rule": "", "target": {"beta": 0.9}}',
    ),
    bad(
        "manifest with text as number",
        f"{AUDIT} --manifest m.json",
        *("m.json", "kappa"),
        m__json='{"rule": "", "target": {"kappa": "many"}}',
    ),
    bad("manifest not in UTF-8", f"{AUDIT} --manifest m.json", "m.json", m__json=b'{"rule": "\xe9"}'),
    bad("manifest is a folder", f"{AUDIT} --manifest .", "safemargin: .: is a folder or device, not a file"),
]


def put(folder: Path, files: dict[str, str | bytes | None]) -> None:
    for name, content in files.items():
        path = folder / name
        if name == "full":
            path.mkdir()
            (path / "letter.txt").write_text("dear all")
        elif content is None:
            path.unlink()
        else:
            path.write_bytes(content.encode() if isinstance(content, str) else content)


def check_refused(ran: Ran, says: Iterable[str]) -> None:
    assert ran.code == 2, ran
    assert ran.err.count("\n") == 1 and ran.err.startswith("safemargin: "), ran.err
    assert "Traceback" not in ran.err and "[Errno" not in ran.err
    assert all(part in ran.err for part in says), ran.err
    assert ran.out == ""


@pytest.mark.parametrize("case", BAD, ids=str)
def test_one_line_says_what_is_wrong_and_nothing_is_written(run: Run, folder: Path, case: Bad) -> None:
    put(folder, case.files)
    before = listing(folder)
    check_refused(run(*case.command), case.says)
    assert listing(folder) == before


def test_a_published_count_that_is_not_a_number_is_a_gap(run: Run, folder: Path) -> None:
    """Programs write `nan` for what is absent: in a published table it is a gap, and the reading says so."""
    (folder / "site.csv").write_text(SITE.replace("North,yes,70", "North,yes,nan"))
    for command in (BOUND, AUDIT):
        ran = run(*command.split())
        assert ran.out.startswith(
            "Read as: site.csv: axes site (2), answers yes, no, 1 gap marked nan (taken as from 0"
        )
    assert ran.code == 1 and "site North, yes: the rest of site.csv leaves 70 to 70" in ran.out


@pytest.mark.parametrize(
    "name", ["no data", "totals disagree", "ragged data", "a file as folder", "manifest is a list"]
)
def test_the_installed_command_says_the_same(run: Run, folder: Path, name: str) -> None:
    case = next(each for each in BAD if each.name == name)
    put(folder, case.files)
    before = listing(folder)
    ran = script(*case.command, cwd=folder)
    check_refused(ran, case.says)
    assert ran == run(*case.command)
    assert listing(folder) == before


def test_an_axis_with_a_million_categories(run: Run, folder: Path) -> None:
    people = "\n".join(f"p{number},North,yes" for number in range(MILLION))
    (folder / "people.csv").write_text(f"person,site,answer\n{people}\n")
    (folder / "people.toml").write_text(
        '[data]\nfile = "people.csv"\nanswer = "answer"\n[axes.person]\n[axes.site]\n[target]\nkappa = 20\ntau = 0\n'
    )
    before = listing(folder)
    says = ("people.csv", "'person'", "1000000", "identifier")
    check_refused(run("release", "people.toml", "--out", "release"), says)
    check_refused(run("bound", "people.toml"), says)
    assert listing(folder) == before


@pytest.mark.slow
def test_tables_with_millions_of_combinations(run: Run, folder: Path) -> None:
    for axis in ("person", "street"):
        rows = "\n".join(f"{axis}{number},1" for number in range(2_000))
        (folder / f"{axis}.csv").write_text(f"{axis},count\n{rows}\n")
    before = listing(folder)
    for command in ("bound", "audit"):
        check_refused(run(command, "person.csv", "street.csv"), ("4,000,000 combinations", "person x street"))
    assert listing(folder) == before


@pytest.mark.parametrize(
    "arguments",
    [
        ("publish",),
        ("bound",),
        ("audit",),
        ("init",),
        ("release", "project.toml"),
        ("bound", "site.csv", "--colour"),
        ("bound", "site.csv", "--beta", "much"),
        ("audit", "site.csv", "--kappa", "1.5"),
        ("bound", "site.csv", "--limit", "few"),
    ],
)
def test_wrong_calls_give_exit_code_2(run: Run, folder: Path, arguments: tuple[str, ...]) -> None:
    before = listing(folder)
    ran = run(*arguments)
    assert ran.code == 2 and ran.out == ""
    assert "Traceback" not in ran.err and "Usage: safemargin" in ran.err
    assert listing(folder) == before


def test_a_call_without_command_shows_the_help(run: Run) -> None:
    ran = run()
    assert ran.code in (0, 2) and "Noise and swapping:" in ran.out + ran.err


@pytest.mark.parametrize("said", [("--by", "site", "--by", "grade"), ("--by=site", "--by=grade")])
def test_an_option_with_one_value_is_not_given_twice(run: Run, folder: Path, said: tuple[str, ...]) -> None:
    """The first would be lost without a word."""
    ran = run("release", str(folder / "votes.csv"), "--answer", "answer", *said, "--out", str(folder / "twice"))
    assert ran.code == 2 and ran.err.startswith("safemargin: --by: given twice") and ran.err.count("\n") == 1
    assert not (folder / "twice").exists()


def test_the_city_refuses_what_it_cannot_write(folder: Path) -> None:
    with pytest.raises(OutputError, match="votes.csv"):
        write_city(folder / "votes.csv", people=20_000)


# Fibers


def hair_and_eyes(folder: Path) -> tuple[str, str]:
    (folder / "hair.csv").write_text("hair,count\nblack,108\nbrown,286\nred,71\nblond,127\n")
    (folder / "eye.csv").write_text("eye,count\nbrown,220\nblue,215\nhazel,93\ngreen,64\n")
    return "hair.csv", "eye.csv"


def three_margins(folder: Path, margins: tuple[list[list[int]], ...]) -> list[str]:
    names = []
    for (one, other), margin in zip(("xy", "xz", "yz"), margins, strict=True):
        rows = [f"{one}{i},{other}{j},{n}" for i, row in enumerate(margin) for j, n in enumerate(row)]
        names.append(f"{one}{other}.csv")
        (folder / names[-1]).write_text("\n".join([f"{one},{other},count", *rows]) + "\n")
    return names


def values_of(document: dict[str, object]) -> dict[str, list[int]]:
    cells = document["cells"]
    assert isinstance(cells, list)
    return {" ".join(entry["cell"].values()): entry["attained"] for entry in cells if "attained" in entry}


def test_fiber_of_a_large_table(run: Run, folder: Path) -> None:
    """Snee 1974; counted by Diaconis and Gangolli 1995."""
    files = hair_and_eyes(folder)
    ran = run("fiber", *files, "--json")
    document = ran.document
    assert (ran.code, ran.err) == (0, "")
    assert set(document) == {
        *("schema", "dimension", "tables", "at_least", "method", "words", "cells", "sample", "onlooker", "reading")
    }
    assert (document["dimension"], document["tables"]) == (9, 1_225_914_276_768_514)
    assert document["sample"] is None and set(values_of(document)) and not any(values_of(document).values())
    assert "Dimension 9; 1,225,914,276,768,514 tables are possible" in run("fiber", *files).out
    assert run("bound", *files, "--json").document["fiber"] == {"dimension": 9, "tables": 1_225_914_276_768_514}


def test_fiber_with_a_gap(run: Run, folder: Path) -> None:
    files = three_margins(folder, GAP)
    document = run("fiber", *files, "--json").document
    assert (document["dimension"], document["tables"]) == (1, 2)
    assert values_of(document)["x0 y0 z1"] == [0, 2] and values_of(document)["x0 y0 z0"] == [0]
    words = run("fiber", *files, "--limit", "2").out
    assert "x0, y0, z1 - 0, 2" in " ".join(words.split()) and "70 more are not shown." in words
    for command in ("bound", "audit"):
        document = run(command, *files, "--json").document
        assert document["fiber"] == {"dimension": 1, "tables": 2}
        assert values_of(document) == {"x0 y0 z1": [0, 2], "x0 y0 z2": [0, 2]}
        assert "Not every count in an interval is possible: x0, y0, z1 is one of 0, 2" in run(command, *files).out
    assert run("bound", *files, "--decide", "--json").document["fiber"] == {"dimension": None, "tables": None}
    assert run("bound", *files, "--export", "cells.csv").code == 1 and (folder / "cells.csv").is_file()


@pytest.mark.slow
def test_fiber_with_one_table_or_none(run: Run, folder: Path) -> None:
    only = three_margins(folder, FAKE_SAFE[0])
    document = run("fiber", *only, "--json").document
    assert (document["dimension"], document["tables"]) == (1, 1)
    assert "Only one integer table is possible." in run("audit", *only).out
    none = three_margins(folder, VLACH)
    document = run("fiber", *none, "--json").document
    assert (document["tables"], document["words"]) == (0, "no integer table is possible")
    said = run("bound", *none)
    assert said.code == 2 and "fractional tables satisfy all of them" in said.err


def test_fiber_without_an_end(run: Run, folder: Path) -> None:
    (folder / "open.csv").write_text("site,count\nNorth,3\nSouth,\n")
    document = run("fiber", "open.csv", "--json").document
    assert (document["dimension"], document["tables"], document["words"]) == (1, None, "the tables were not counted")
    assert document["method"] == "nothing that is published limits some count"


def test_fiber_with_options_and_a_roll(run: Run) -> None:
    document = run("fiber", "site.csv", "grade.csv", "--roll", "roll.csv", "--target", "grade", "--json").document
    cells = document["cells"]
    assert isinstance(cells, list) and document["tables"] == 51
    assert [(entry["cell"]["grade"], entry["option"], entry["people"], entry["attained"]) for entry in cells] == [
        ("junior", "yes", 170, [85]),
        ("junior", "no", 170, [85]),
        ("senior", "yes", 105, [50]),
        ("senior", "no", 105, [55]),
    ]


@pytest.mark.parametrize("law", ["uniform", "hypergeometric"])
def test_random_tables(run: Run, folder: Path, law: str) -> None:
    files = hair_and_eyes(folder)
    call = ("fiber", *files, "--sample", "100", "--law", law, "--seed", "7", "--json")
    document = run(*call).document
    assert document == run(*call).document, "the same seed"
    assert document["sample"] == {"law": law, "tables": 100, "seed": 7}
    cells = document["cells"]
    assert isinstance(cells, list) and sum(entry["mean"] for entry in cells) == pytest.approx(592)
    for entry in cells:
        assert set(entry["quantiles"]) == {"0.05", "0.5", "0.95"}
        low, middle, high = entry["quantiles"].values()
        assert 0 <= low <= middle <= high and entry["error"] >= 0
    if law == "hypergeometric":  # the mean is that of independence
        first = next(entry for entry in cells if entry["cell"] == {"hair": "brown", "eye": "brown"})
        assert abs(first["mean"] - 286 * 220 / 592) < 6 * max(first["error"], 0.3)
    words = run(*call[:-1]).out
    assert f"100 tables drawn, {law} law, seed 7." in words and "5 %" in words


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--law", "flat"), "--law = 'flat': must be one of uniform, hypergeometric"),
        (("--sample", "1"), "--sample = 1: must be at least 2"),
        (("--sample", "1000000000"), "1,000,000,000 tables to draw"),
        (("--target", "shoe"), "target axis 'shoe' is in no table"),
    ],
)
def test_fiber_says_what_is_wrong(run: Run, folder: Path, arguments: tuple[str, ...], said: str) -> None:
    ran = run("fiber", *hair_and_eyes(folder), *arguments)
    assert ran.code == 2 and ran.out == "" and ran.err.count("\n") == 1 and said in ran.err
