"""`suppress` writes formats with types back in their own format and layout; read again, an audit is clear.

No suppressed count is anywhere in the bytes of a file: as text, as an integer of two or four bytes, or as a float.
"""

import sqlite3
import struct
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

import safemargin
from commands import Run, in_process
from typed_files import write

COUNTS = {"north": (5012, 5002, 5040), "south": (5031, 5017, 5003), "east": (5009, 5025, 5014)}
KINDS = ("a", "b", "c")
PRIMARY = "5001-5004"
"""Counts that no other number of a small file looks like."""
LONG = [{"status": "ok", "count": n, "area": area, "kind": kind, "mean": n / 7}
        for area, row in COUNTS.items() for kind, n in zip(KINDS, row, strict=True)]  # fmt: skip
TIDY = [{name: row[name] for name in ("area", "kind", "count")} for row in LONG]
WIDE = [{"area": area, **dict(zip(KINDS, row, strict=True)), "Total": sum(row), "share b": row[1] / sum(row)}
        for area, row in COUNTS.items()]  # fmt: skip
TABLES = {"long": LONG, "tidy": TIDY, "wide": WIDE}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)
    return in_process(monkeypatch, capsys)


def traces(count: int) -> list[bytes]:
    """A number as a file of any format may hold it."""
    whole = [count.to_bytes(size, order) for size, order in ((4, "little"), (4, "big"), (2, "little"), (2, "big"))]
    return [str(count).encode(), *whole, struct.pack("<d", count), struct.pack(">d", count)]


@pytest.mark.parametrize(
    ("form", "table"),
    [("parquet", "long"), ("parquet", "tidy"), ("parquet", "wide"), ("arrow", "wide"), ("arrow", "tidy")]
    + [("lines", "long"), ("records", "long"), ("split", "long"), ("columns", "long")]
    + [("sqlite", "long"), ("sqlite", "tidy"), ("sqlite", "wide"), ("sav", "long"), ("sav", "tidy"), ("sav", "wide")]
    + [("dta", "long"), ("dta", "tidy"), ("dta", "wide")]
    + [("records", "wide"), ("split", "wide"), ("inside", "wide"), ("lists", "wide"), ("arrays", "wide")],
)
def test_a_table_comes_back_in_its_format_without_what_is_suppressed(
    form: str, table: str, run: Run, tmp_path: Path
) -> None:
    ending = {"lines": "jsonl"}.get(form, form if form in ("parquet", "arrow", "sqlite", "sav", "dta") else "json")
    path = write(tmp_path / f"t.{ending}", TABLES[table], form)
    before = safemargin.load(path)
    ran = run("suppress", path.name, "--primary", PRIMARY, "--out", "out")
    assert ran.code == 0, ran.out
    written = tmp_path / "out" / "published" / f"t-suppressed.{ending}"
    assert written.exists(), ran.out
    after = safemargin.load(written)
    assert [axis.labels for axis in after.axes] == [axis.labels for axis in before.axes]
    old, new = before.to_rows(), after.to_rows()
    gaps = {n for n, row in enumerate(new) if row["count"] is None}
    assert all(new[n]["count"] == row["count"] for n, row in enumerate(old) if n not in gaps)
    lost = {row["count"] for n, row in enumerate(old) if n in gaps}
    assert {5002, 5003} <= lost and len(lost) == 4
    for file in (tmp_path / "out" / "published").iterdir():
        content = file.read_bytes()
        found = [count for count in lost for trace in traces(count) if trace in content]
        assert not found or file != written
        assert not any(str(count).encode() in content for count in lost)
    assert run("audit", str(written)).code == 0
    assert run("verify", "out/confidential/certificate.json", "out/published/pattern.csv").code == 0


def test_types_columns_and_order_of_a_parquet_file_stay(run: Run, tmp_path: Path) -> None:
    with duckdb.connect() as database:
        columns = "count::UINTEGER as count, year::SMALLINT as year, area, list_value(count) as more, status"
        cells = [(n, 2020 + year, area) for area, row in COUNTS.items() for year, n in enumerate(row)]
        rows = ", ".join(f"({n}, {year}, '{area}', 'ok')" for n, year, area in cells)
        database.execute(
            f"copy (select {columns} from (values {rows}) as t(count, year, area, status)) to '{tmp_path}/t.parquet'"
        )
        assert run("suppress", "t.parquet", "--primary", PRIMARY, "--by", "area,year", "--out", "out").code == 0
        new = f"'{tmp_path}/out/published/t-suppressed.parquet'"
        old_types, new_types = (
            [row[:2] for row in database.execute(f"describe from {name}").fetchall()]
            for name in (f"'{tmp_path}/t.parquet'", new)
        )
        assert old_types == new_types
        found = database.execute(f"select count, year, area, more, status from {new}").fetchall()
    assert [(year, area) for _, year, area, *_ in found] == [(year, area) for _, year, area in cells]
    assert all(more is None for *_, more, _ in found)
    assert all((n is None) == (status == "suppressed") for n, *_, status in found)
    assert sum(n is None for n, *_ in found) == 4


PX = """CHARSET="ANSI";
CODEPAGE="utf-8";
LANGUAGE="en";
LANGUAGES="en","sv";
MATRIX="T1";
DECIMALS=0;
TITLE="Persons by area and kind";
TITLE[sv]="Personer";
CONTENTS="Persons";
UNITS="persons";
STUB="area";
HEADING="kind";
VALUES("area")="north","south","east","all";
VALUES[sv]("area")="norr","söder","öster","alla";
VALUES("kind")="a","b","c";
CODES("kind")="1","2","3";
ELIMINATION("area")="all";
DATASYMBOL2="not collected";
NOTE="Counted in May; see the; handbook";
NOTE[sv]="Minst: 5002";
CELLNOTE("north","b")="one fewer than planned";
CELLNOTE("east","b")="revised";
DATA=
5012 5002 5040
5031 5017 5003
5009 5025 5014
15052 15044 15057;
"""


def test_a_px_file_keeps_its_metadata_and_has_dots_for_gaps(run: Run, tmp_path: Path) -> None:
    (tmp_path / "t.px").write_text(PX, encoding="utf-8")
    before = safemargin.load(tmp_path / "t.px")
    ran = run("suppress", "t.px", "--primary", PRIMARY, "--out", "out")
    assert ran.code == 0, ran.out
    written = tmp_path / "out" / "published" / "t-suppressed.px"
    text, after = written.read_text(encoding="utf-8"), safemargin.load(written)
    lost = [before.to_rows()[row]["count"] for row in after.gaps.tolist()]
    assert {5002, 5003} <= {*lost} and not any(str(count) in text for count in lost)
    stated = text[: text.index("DATA=")].splitlines()
    dropped = [line for line in PX[: PX.index("DATA=")].splitlines() if line not in stated]
    gone = ['NOTE[sv]="Minst: 5002";', 'CELLNOTE("north","b")="one fewer than planned";']
    named = {frozenset(after.cells.cell(row).items()) for row in after.gaps.tolist()}
    also = ['CELLNOTE("east","b")="revised";'] if frozenset({("area", "east"), ("kind", "b")}) in named else []
    assert dropped == [*gone, *also]
    assert 'DATASYMBOL1="suppressed";' in text and text.count('"."') == len(lost)
    kept = [n for n, row in enumerate(before.to_rows()) if n not in after.gaps.tolist()]
    assert all(before.to_rows()[n] == after.to_rows()[n] for n in kept)
    assert run("audit", str(written)).code == 0


def test_statistics_files_say_what_is_missing(run: Run, tmp_path: Path) -> None:
    library = pytest.importorskip("pyreadstat")
    for kind, read, missing in (("sav", library.read_sav, -9.0), ("dta", library.read_dta, "s")):
        write(tmp_path / f"t.{kind}", TIDY, kind)
        assert run("suppress", f"t.{kind}", "--primary", PRIMARY, "--out", f"out-{kind}").code == 0
        written = str(tmp_path / f"out-{kind}" / "published" / f"t-suppressed.{kind}")
        values, facts = read(written, output_format="dict", user_missing=True)
        assert values["count"].count(missing) == 4 and facts.variable_value_labels["count"] == {missing: "suppressed"}
        assert facts.variable_value_labels["area"] == {1: "north", 2: "south", 3: "east"}
        assert facts.column_names_to_labels["area"] == "Area" and not facts.file_label
        assert read(written, output_format="dict")[0]["count"].count(None) == 4


def test_a_database_is_written_new_with_a_note(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "t.sqlite", TIDY, "sqlite")
    assert b"5002 people" in (tmp_path / "t.sqlite").read_bytes()  # deleted, and still there
    assert run("suppress", "t.sqlite", "--primary", PRIMARY, "--out", "out").code == 0
    with closing(sqlite3.connect(tmp_path / "out/published/t-suppressed.sqlite")) as database:
        rows = database.execute("select area, kind, count, typeof(count) from cells").fetchall()
        types = [row[2] for row in database.execute("pragma table_info(cells)")]
        ((note,),) = database.execute("select note from notes").fetchall()
        assert database.execute("pragma freelist_count").fetchone() == (0,)
    assert [row[:2] for row in rows] == [(row["area"], row["kind"]) for row in TIDY]
    assert types == ["TEXT", "TEXT", "INTEGER"] and note.startswith("null: suppressed")
    assert sum(row[2] is None for row in rows) == 4 and {row[3] for row in rows} == {"null", "integer"}
