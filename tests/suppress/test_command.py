"""The command that suppresses: its document, its files, its refusals, and the check of its certificate."""

import csv
import json
from pathlib import Path

import pandas
import pytest

import safemargin
from commands import Run, in_process
from safemargin.core import numpy_generator
from safemargin.suppress import feasibility

TABLE = "town,kind,freq\na,x,2\na,y,9\nb,x,5\nb,y,7\nc,x,6\nc,y,8\n"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return in_process(monkeypatch, capsys)


@pytest.fixture
def same_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chance that is the same in every run, to compare runs."""
    monkeypatch.setattr(feasibility, "numpy_generator", lambda _: numpy_generator(7))


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table.csv"
    path.write_text(TABLE)
    return path


def test_document_and_files(run: Run, table: Path, tmp_path: Path) -> None:
    folder = tmp_path / "gaps"
    ran = run("suppress", str(table), "--primary", "1-3", "--out", str(folder), "--json")
    assert ran.code == 0, ran.err
    document = ran.document
    keys = ["schema", "suppressed", "lower_bound", "gap", "cost", "rule", "certificate", "reading"]
    assert list(document) == keys
    assert (document["lower_bound"], document["gap"]) == (4, 0)
    assert document["certificate"] == str(folder / "confidential" / "certificate.json")
    suppressed = document["suppressed"]
    assert {"cell": {"town": "a", "kind": "x"}, "primary": True} in suppressed
    assert sum(entry["primary"] for entry in suppressed) == 1
    rows = (folder / "published/pattern.csv").read_text().splitlines()
    assert rows[0] == "town,kind,count,status"
    assert rows[1] == "Total,Total,37,exact"
    assert "a,x,,suppressed" in rows
    assert sum(row.endswith(",,suppressed") for row in rows) == len(suppressed) == 4


@pytest.mark.usefixtures("same_chance")
def test_the_library_writes_what_the_command_writes(run: Run, table: Path, tmp_path: Path) -> None:
    result = safemargin.suppress(table, (1, 3))
    run("suppress", str(table), "--out", str(tmp_path / "command"))
    folder = result.write(tmp_path / "library")
    for name in ("published/pattern.csv", "confidential/certificate.json", "published/manifest.json"):
        assert (folder / name).read_bytes() == (tmp_path / "command" / name).read_bytes()
    assert "4 of 12 cells suppressed: 1 primary, 3 secondary." in result.to_text()
    assert "town a, kind x" in result.to_html()


@pytest.mark.usefixtures("same_chance")
def test_rows_and_frames_are_read_like_files(table: Path) -> None:
    rows = list(csv.DictReader(TABLE.splitlines()))
    frame = pandas.read_csv(table)
    expected = safemargin.suppress(table).to_json()
    assert safemargin.suppress(rows).to_json() == safemargin.suppress(frame).to_json() == expected
    both = safemargin.suppress([frame, frame.rename(columns={"kind": "sort"})])
    assert both.names == ("table1.csv", "table2.csv")


def test_the_audit_finds_nothing_and_the_certificate_holds(run: Run, table: Path, tmp_path: Path) -> None:
    folder = tmp_path / "gaps"
    run("suppress", str(table), "--out", str(folder))
    pattern, certificate = folder / "published/pattern.csv", folder / "confidential" / "certificate.json"
    assert run("audit", str(pattern)).code == 0
    assert run("verify", str(certificate), str(pattern)).code == 0


@pytest.mark.parametrize("spoil", ["counts", "changes", "suppressed", "tau", "insiders"])
def test_a_certificate_that_is_wrong_fails(run: Run, spoil: str, table: Path, tmp_path: Path) -> None:
    folder = tmp_path / "gaps"
    run("suppress", str(table), "--out", str(folder))
    path = folder / "confidential" / "certificate.json"
    document = json.loads(path.read_text())
    if spoil in ("tau", "insiders"):
        document[spoil] = {"tau": 9, "insiders": 2}[spoil]
    elif spoil == "counts":
        document["counts"][0] += 1
    elif spoil == "changes":
        document["changes"] = []
    else:
        document["suppressed"][0] = {}
    path.write_text(json.dumps(document))
    ran = run("verify", str(path), str(folder / "published/pattern.csv"))
    assert ran.code == 1
    assert ran.out.startswith("The certificate fails: ")


def test_a_pattern_that_was_changed_fails(run: Run, table: Path, tmp_path: Path) -> None:
    folder = tmp_path / "gaps"
    run("suppress", str(table), "--out", str(folder))
    pattern = folder / "published/pattern.csv"
    pattern.write_text(pattern.read_text().replace("37", "38"))
    assert run("verify", str(folder / "confidential" / "certificate.json"), str(pattern)).code == 1


def test_hierarchies(run: Run, tmp_path: Path) -> None:
    table, hierarchy = tmp_path / "t.csv", tmp_path / "region.hrc"
    table.write_text("region,sex,n\na,f,1\nb,f,8\nc,f,9\nd,f,7\na,m,6\nb,m,5\nc,m,9\nd,m,8\n")
    hierarchy.write_text("north\n@a\n@b\nsouth\n@c\n@d\n")
    options = ["--primary", "1", "--hierarchy", f"region={hierarchy}", "--out", str(tmp_path / "gaps"), "--json"]
    ran = run("suppress", str(table), *options)
    assert ran.code == 0, ran.err
    cells = [entry["cell"] for entry in ran.document["suppressed"]]
    assert len(cells) == 4
    assert {cell["region"] for cell in cells} == {"a", "b"}


def test_areas_that_overlap_are_not_parts_of_one_total(run: Run, tmp_path: Path) -> None:
    table, county, size = tmp_path / "t.csv", tmp_path / "county.hrc", tmp_path / "size.hrc"
    counts = {"A": 2, "B": 2, "I": 8, "J": 8, "K": 3, "L": 3, "M": 3, "N": 7}
    table.write_text("region,n\n" + "".join(f"{name},{count}\n" for name, count in counts.items()))
    county.write_text("county-1\n@A\n@B\n@I\n@J\ncounty-2\n@K\n@L\n@M\n@N\n")
    size.write_text("small\n@A\n@B\n@I\n@J\n@K\n@N\nBIG\n@L\n@M\n")
    options = ["--hierarchy", f"region={county}", "--hierarchy", f"region={size}"]
    assert run("suppress", str(table), *options, "--out", str(tmp_path / "gaps")).code == 0
    pattern = tmp_path / "gaps" / "published/pattern.csv"
    ran = run("audit", str(pattern), *options)
    assert ran.code == 0, ran.out
    pattern.write_text(pattern.read_text().replace("N,,suppressed", "N,7,exact"))
    ran = run("audit", str(pattern), *options)
    assert (ran.code, "region K: the suppressed count is 3" in ran.out) == (1, True), ran.out


def test_one_leaf_below_areas_follows_by_subtraction(run: Run, tmp_path: Path) -> None:
    pattern, areas = tmp_path / "pattern.csv", tmp_path / "areas.hrc"
    areas.write_text("north\n@a\n@b\nsouth\n@c\n@d\n")
    pattern.write_text(
        "region,count,status\nTotal,25,exact\nnorth,9,exact\nsouth,16,exact\n"
        "a,,suppressed\nb,8,exact\nc,9,exact\nd,7,exact\n"
    )
    ran = run("audit", str(pattern), "--hierarchy", f"region={areas}")
    assert ran.code == 1
    assert "(region) leaves 1 to 1" in ran.out


LEFT = "town,kind,n\na,x,2\na,y,9\nb,x,5\nb,y,7\nc,x,6\nc,y,8\n"
RIGHT = "town,age,n\na,old,3\na,young,8\nb,old,6\nb,young,6\nc,old,7\nc,young,7\n"


def test_linked_tables_share_their_gaps(run: Run, tmp_path: Path) -> None:
    """The margin of towns is in both tables: each alone could suppress it, together it is decided once."""
    left, right, folder = tmp_path / "left.csv", tmp_path / "right.csv", tmp_path / "gaps"
    left.write_text(LEFT)
    right.write_text(RIGHT)
    ran = run("suppress", str(left), str(right), "--out", str(folder), "--json")
    assert ran.code == 0, ran.err
    cells = [entry["cell"] for entry in ran.document["suppressed"]]
    assert {"town": "a", "kind": "x"} in cells
    assert {"town": "a", "age": "old"} in cells
    for name, axis in (("left", "kind"), ("right", "age")):
        gaps = [
            row for row in (folder / f"published/{name}.csv").read_text().splitlines() if row.endswith(",,suppressed")
        ]
        assert len(gaps) == sum(set(cell) <= {"town", axis} for cell in cells)
    certificate = str(folder / "confidential" / "certificate.json")
    assert run("verify", certificate, str(folder)).code == 0
    assert run("audit", str(folder / "published/left.csv"), str(folder / "published/right.csv")).code == 0
    ran = run("verify", certificate, str(folder / "published/left.csv"))
    assert (ran.code, "right.csv: the certificate speaks about this file" in ran.err) == (2, True)


def test_what_was_published_before_is_known(run: Run, tmp_path: Path) -> None:
    """Old: town a, kind x is out. The warning says so, and the certificate needs the old file."""
    table, old, folder = tmp_path / "table.csv", tmp_path / "old.csv", tmp_path / "gaps"
    table.write_text(TABLE.replace("c,x,6", "c,x,3"))
    old.write_text(
        "town,kind,count,status\na,x,2,exact\na,y,9,exact\nb,x,,suppressed\nb,y,,suppressed\nc,x,,suppressed\nc,y,,suppressed\n"
    )
    ran = run("suppress", str(table), "--published", str(old), "--out", str(folder), "--json")
    assert ran.code == 0, ran.err
    assert "warning: known from what was published before, whatever is suppressed now: town a, kind x" in ran.err
    cells = [entry["cell"] for entry in ran.document["suppressed"]]
    assert {"town": "c", "kind": "x"} in cells
    assert {"town": "a", "kind": "x"} not in cells
    assert "a,x,2,exact" in (folder / "published/pattern.csv").read_text()
    certificate = str(folder / "confidential" / "certificate.json")
    assert run("verify", certificate, str(folder), str(old)).code == 0
    old.write_text(old.read_text().replace("a,y,9", "a,y,8"))
    assert run("verify", certificate, str(folder), str(old)).code == 1


def test_a_gap_that_was_disclosed_before_is_named(run: Run, tmp_path: Path) -> None:
    """The only gap of the old table follows from its total; the new one must not count on it."""
    table, old, folder = tmp_path / "table.csv", tmp_path / "old.csv", tmp_path / "gaps"
    table.write_text(RIGHT)
    old.write_text(
        "town,kind,count,status\nTotal,Total,37,exact\na,x,,suppressed\na,y,9,exact\n"
        "b,x,5,exact\nb,y,7,exact\nc,x,6,exact\nc,y,8,exact\n"
    )
    ran = run("suppress", str(table), "--published", str(old), "--out", str(folder), "--json")
    assert ran.code == 0, ran.err
    assert "whatever is suppressed now: town a, kind x" in ran.err
    assert len(ran.document["suppressed"]) == 4
    assert run("verify", str(folder / "confidential" / "certificate.json"), str(folder), str(old)).code == 0


@pytest.mark.parametrize(
    ("left", "right", "words"),
    [
        (
            LEFT,
            RIGHT.replace("a,old,3", "a,old,4"),
            "right.csv: all: 38, but left.csv says 37; are they the same people?",
        ),
        (LEFT, RIGHT.replace("a,", "z,"), "is not in right.csv; a hierarchy must say what it is part of"),
    ],
)
def test_tables_that_do_not_fit(run: Run, left: str, right: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "left.csv").write_text(left)
    (tmp_path / "right.csv").write_text(right)
    ran = run("suppress", str(tmp_path / "left.csv"), str(tmp_path / "right.csv"))
    assert (ran.code, words in ran.err) == (2, True), ran.err


def test_a_table_of_wider_areas_is_linked_by_the_hierarchy(run: Run, tmp_path: Path) -> None:
    fine, wide, areas, folder = (tmp_path / name for name in ("fine.csv", "wide.csv", "areas.hrc", "gaps"))
    fine.write_text("region,sex,n\na,f,1\nb,f,8\nc,f,9\nd,f,7\na,m,6\nb,m,5\nc,m,9\nd,m,8\n")
    wide.write_text("region,age,n\nnorth,old,11\nnorth,young,9\nsouth,old,13\nsouth,young,20\n")
    areas.write_text("north\n@a\n@b\nsouth\n@c\n@d\n")
    options = ["--primary", "1", "--hierarchy", f"region={areas}", "--out", str(folder), "--json"]
    ran = run("suppress", str(fine), str(wide), *options)
    assert ran.code == 0, ran.err
    assert len(ran.document["suppressed"]) == 4
    assert run("verify", str(folder / "confidential" / "certificate.json"), str(folder)).code == 0
    assert "north,Total,20,exact" in (folder / "published/wide.csv").read_text()


def test_insiders_and_tau_are_in_the_certificate(run: Run, tmp_path: Path) -> None:
    table, folder = tmp_path / "table.csv", tmp_path / "gaps"
    table.write_text("town,kind,n\na,x,1\na,y,9\na,z,6\nb,x,5\nb,y,1\nb,z,7\nc,x,6\nc,y,8\nc,z,9\n")
    ran = run("suppress", str(table), "--primary", "1", "--insiders", "1", "--tau", "1", "--out", str(folder))
    assert ran.code == 0, ran.err
    assert "A respondent cannot infer a suppressed count that includes others." in ran.out
    assert run("verify", str(folder / "confidential" / "certificate.json"), str(folder)).code == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--primary", "few"], 2, "--primary 'few'"),
        (["--primary", "3-1"], 2, "primary = 3-1"),
        (["--hierarchy", "town"], 2, "--hierarchy 'town'"),
        (["--hierarchy", "city=x.hrc"], 2, "--hierarchy: there is no axis 'city'"),
        (["--count", "people"], 2, "people"),
        (["--protect", "2"], 2, "protect = 2"),
        (["--seconds", "-1"], 2, "seconds = -1.0: must be a number of at least 0"),
        (["--seconds", "nan"], 2, "seconds = nan: must be a number of at least 0"),
        (["--extra", "-2"], 2, "extra = -2: must be at least 0"),
        (["--tau", "-1"], 2, "tau = -1: must be at least 0"),
        (["--insiders", "-1"], 2, "insiders = -1: must be at least 0"),
        (["--tau", "99"], 1, "town a, kind x: the count follows to within tau = 99"),
        (["--protect", "1000"], 1, "town a, kind x: protect = 1000 cannot be attained"),
    ],
)
def test_wrong_calls(run: Run, options: list[str], code: int, words: str, table: Path, tmp_path: Path) -> None:
    ran = run("suppress", str(table), *options, "--out", str(tmp_path / "gaps"))
    assert (ran.code, words in ran.err) == (code, True), ran.err
    assert not (tmp_path / "gaps").exists()


def test_without_a_folder_a_free_name_is_taken(
    run: Run, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("table-suppressed", "table-suppressed-2"):
        assert run("suppress", str(table)).code == 0
        assert (tmp_path / name / "published/pattern.csv").exists()


def test_groups_that_count_the_same_people_twice(run: Run, tmp_path: Path) -> None:
    """`N | S` beside `N` and `S` is their sum, not a third group: the total of 8 people was published as 16."""
    (tmp_path / "t.csv").write_text("region,count\nN,30\nS,50\nN | S,80\n")
    assert run("suppress", str(tmp_path / "t.csv"), "--out", str(tmp_path / "out")).code == 0
    written = "".join(path.read_text() for path in (tmp_path / "out").rglob("*.csv"))
    assert "Total,80" in written and "160" not in written
    for text in ("N,30\nS,50\nN | S,81\n", "N,30\nS | E,50\nN | S,80\n"):
        (tmp_path / "t.csv").write_text(f"region,count\n{text}")
        ran = run("suppress", str(tmp_path / "t.csv"), "--out", str(tmp_path / "out2"))
        assert ran.code == 2 and not (tmp_path / "out2").exists()
