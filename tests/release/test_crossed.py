"""Projects that ask for tables of several axes, from the file to the folder."""

import csv
import json
from collections.abc import Mapping
from itertools import product
from pathlib import Path

import pytest

from commands import Run, in_process, release_into
from safemargin import Release
from safemargin.audit.attack import attack
from safemargin.audit.findings import Attempt, Finding, Findings
from safemargin.core import InputError, Onlooker, Publication
from safemargin.release import attacks
from safemargin.release.project import Project

pytestmark = pytest.mark.full

AXES = ("site", "grade", "contract")
STAFF = {
    ("Aarau", "junior", "full"): (40, 0),
    ("Aarau", "junior", "part"): (60, 33),
    ("Aarau", "senior", "full"): (60, 30),
    ("Aarau", "senior", "part"): (50, 22),
    ("Basel", "junior", "full"): (70, 31),
    ("Basel", "junior", "part"): (50, 28),
    ("Basel", "senior", "full"): (60, 34),
    ("Basel", "senior", "part"): (40, 0),
}
WITH_A_SMALL_SITE = {**STAFF, ("Chur", "junior", "full"): (30, 14), ("Chur", "senior", "full"): (8, 4)}


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return in_process(monkeypatch, capsys)


def write(folder: Path, outputs: str, staff: Mapping[tuple[str, ...], tuple[int, int]] = STAFF) -> Path:
    """A project over three axes that asks for `outputs`."""
    lines = [",".join([*AXES, "answer", "people"])]
    for profile, (people, yes) in staff.items():
        lines += [f"{','.join(profile)},yes,{yes}", f"{','.join(profile)},no,{people - yes}"]
    (folder / "staff.csv").write_text("\n".join(lines) + "\n")
    path = folder / "project.toml"
    path.write_text(
        '[data]\nfile = "staff.csv"\nanswer = "answer"\ncount = "people"\n[axes.site]\n[axes.grade]\n[axes.contract]\n'
        f"[target]\nkappa = 20\ntau = 0\n[outputs]\n{outputs}\n"
    )
    return path


def test_two_of_three_pairs_are_published_and_the_third_is_explained(run: Run, tmp_path: Path) -> None:
    project = write(tmp_path, 'pairs = "all"')
    out = tmp_path / "release"
    ran = run("release", project, "--out", out, "--json")
    assert ran.code == 0, ran.err
    document = json.loads(ran.out)
    assert json.loads((out / "confidential/plan.json").read_text()) == document
    assert document["maximum"]["value"] == document["maximum"]["bound"] == 8 and document["maximum"]["gap"] == 0
    published = [each for each in document["margins"] if each["published"]]
    (left_out,) = [each for each in document["margins"] if not each["published"]]
    assert [each["cells"] for each in published] == [4, 4] and left_out["refused"]["people"] == 40
    assert left_out["refused"]["proved"] and set(left_out["refused"]["cell"]) == set(AXES)
    manifest = json.loads((out / "published/manifest.json").read_text())
    for each in published:
        name = "_x_".join(each["margin"])
        assert {f"{name}.csv", f"{name}.json"} <= set(manifest["files"])
        rows = list(csv.DictReader((out / f"published/{name}.csv").open()))
        assert list(rows[0]) == [*each["margin"], "option", "count", "status"] and len(rows) == 8
        for row in rows:
            where = {AXES.index(axis): row[axis] for axis in each["margin"]}
            inside = [STAFF[p] for p in STAFF if all(p[a] == value for a, value in where.items())]
            yes = sum(count for _, count in inside)
            assert int(row["count"]) == (yes if row["option"] == "yes" else sum(n for n, _ in inside) - yes)
    checked = run("verify", left_out["certificate"], Path(left_out["certificate"]).parent)
    assert checked.code == 0 and "all checked" in checked.out
    roll = Path(left_out["certificate"]).parent / "roll.csv"
    tables = sorted((out / "published").glob("*.csv"))
    attacked = run("audit", *tables, "--roll", roll, "--manifest", out / "published/manifest.json")
    assert attacked.code == 0 and "nothing found" in attacked.out


def test_explain_names_whom_a_table_would_expose(run: Run, tmp_path: Path) -> None:
    project = write(tmp_path, 'margins = [["contract", "grade"], ["site", "grade"], ["site", "contract"]]')
    brief = run("release", project, "--out", tmp_path / "brief")
    full = run("release", project, "--out", tmp_path / "full", "--explain")
    assert brief.code == full.code == 0
    words = "exactly 40 of the 40 people with"
    assert words not in brief.out and words in " ".join(full.out.split())
    assert "no safe choice of the tables asked for is worth more" in " ".join(brief.out.split())
    assert words in (tmp_path / "brief/confidential/report.html").read_text(encoding="utf-8")


def test_small_cells_are_merged_in_the_table_that_has_them(run: Run, tmp_path: Path) -> None:
    project = write(tmp_path, 'margins = [["site", "grade"]]', WITH_A_SMALL_SITE)
    assert run("release", project, "--out", tmp_path / "release").code == 0
    rows = list(csv.DictReader((tmp_path / "release/published/site_x_grade.csv").open()))
    assert {row["site"] for row in rows} == {"Aarau | Chur", "Basel"}
    alone = list(csv.DictReader((tmp_path / "release/published/site.csv").open()))
    assert {row["site"] for row in alone} == {"Aarau", "Basel", "Chur"}


WIDE = {(site, grade, "full"): (60 + 3 * n, 25 + 2 * n) for n, (site, grade) in enumerate(product("ABCDE", "jklmn"))}
WITH_A_SMALL_CELL = {**WIDE, ("C", "k", "full"): (9, 4)}


@pytest.mark.slow
def test_single_cells_are_suppressed_where_that_shows_more(run: Run, tmp_path: Path) -> None:
    project = write(tmp_path, "", WITH_A_SMALL_CELL)
    text = project.read_text().replace("[outputs]", '[tables]\nmargins = [["site", "grade"]]')
    project.write_text(text.replace("[axes.contract]\n", ""))
    out = tmp_path / "release"
    made = run("release", project, "--out", out)
    assert made.code == 0 and "21 of 25" in made.out and "4 cells suppressed" in " ".join(made.out.split())
    rows = list(csv.DictReader((out / "published/site_x_grade.csv").open()))
    hidden = {(row["site"], row["grade"]) for row in rows if row["status"] == "suppressed"}
    assert ("C", "k") in hidden and len(hidden) == 4 and all(row["count"] for row in rows if row["status"] == "exact")
    roll = out / "confidential/roll.csv"
    checked = run("verify", out / "published", "--auditors", out / "auditors", "--roll", roll)
    assert checked.code == 0 and "witness tables" in checked.out and "the statement: it needs" not in checked.out
    assert "does not know the rule" in (out / "published/certificate.json").read_text()
    attacked = run("audit", *sorted((out / "published").glob("*.csv")), "--roll", roll)
    assert attacked.code == 0 and "nothing found" in attacked.out
    assert "suppressed" in (out / "published/index.html").read_text(encoding="utf-8")


def test_a_table_of_a_data_file_is_asked_for_by_a_flag(run: Run, tmp_path: Path) -> None:
    write(tmp_path, "")
    call = ("release", tmp_path / "staff.csv", "--answer", "answer", "--by", "site,grade,contract", "--kappa", "20")
    # Without a column of counts every row is one person, so a table from rows is made first.
    lines = [f"{','.join(p)},{a}" for p, (n, yes) in STAFF.items() for a in ["yes"] * yes + ["no"] * (n - yes)]
    (tmp_path / "staff.csv").write_text("\n".join([",".join([*AXES, "answer"]), *lines]) + "\n")
    made = run(*call, "--tables", "grade,site", "--out", tmp_path / "release")
    assert made.code == 0 and (tmp_path / "release/published/site_x_grade.csv").exists()
    wrong = run(*call, "--tables", "site,age", "--out", tmp_path / "other")
    assert wrong.code == 2 and "there is no axis 'age'" in wrong.err


def test_without_a_request_nothing_changes(run: Run, tmp_path: Path) -> None:
    project = write(tmp_path, "")
    document = json.loads(run("release", project, "--out", tmp_path / "release", "--json").out)
    assert "margins" not in document and "maximum" not in document
    assert not (tmp_path / "release/confidential/refused").exists()
    manifest = json.loads((tmp_path / "release/published/manifest.json").read_text())
    assert "several axes" not in manifest["rule"]


def test_if_an_attack_succeeds_single_axes_are_published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def suspicious(release: Publication, onlooker: Onlooker, **options: object) -> Findings:
        found = attack(release, onlooker)
        cell = Finding("joint", {}, None, 1, 0, 0, "invented")
        crossed = any(len(table.axes) > 1 for table in release.tables)
        attempt = Attempt("joint", "invented", 1, (cell,) if crossed else (), 1)
        return Findings(onlooker, release.target, found.exposure, (attempt,))

    monkeypatch.setattr(attacks, "attack", suspicious)
    project = Project.load(write(tmp_path, 'pairs = "all"'))
    outcome = release_into(tmp_path / "release", project)
    assert isinstance(outcome, Release) and not any(each.is_published for each in outcome.plan.margins)
    assert not any("_x_" in path.name for path in (tmp_path / "release/published").iterdir())
    assert outcome.plan.maximum is not None and outcome.plan.maximum.gap > 0


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        ('margins = [["site", "age"]]', "outputs.margins: there is no axis 'age'; the axes are site, grade, contract"),
        ('margins = [["site", "site"]]', "outputs.margins: site x site names an axis twice"),
        ("margins = [[]]", "outputs.margins[0] = []: must not be empty"),
        ('pairs = "some"', "outputs.pairs = 'some': must be 'all'"),
        ("order = 0", "outputs.order = 0: must be at least 1"),
        ('weights = {"site x grade" = 2.0}', "'site x grade': this margin is not asked for; add it to outputs.margins"),
        ('pairs = "all"\nweights = {"site x grade" = -1.0}', "'site x grade' = -1.0: must be positive and finite"),
    ],
)
def test_a_mistake_is_one_line(tmp_path: Path, outputs: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        Project.load(write(tmp_path, outputs))
    assert message in str(error.value) and "\n" not in str(error.value)


def test_sealed_tallies_hold_no_tables_of_several_axes() -> None:
    text = (
        '[tallies]\nfiles = {site = "s.csv", grade = "g.csv"}\n[roll]\nfiles = ["roll.csv"]\n'
        '[axes.site]\n[axes.grade]\n[outputs]\npairs = "all"\n'
    )
    with pytest.raises(InputError, match=r"tables of several axes need \[data\]; sealed tallies hold one axis each"):
        Project.parse(text)
