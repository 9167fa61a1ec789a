"""`suppress` writes Parquet, Arrow and JSON back in their own format and layout; read again, an audit is clear."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import duckdb
import pytest

import safemargin
from commands import Run, in_process

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


def documents(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The forms of a table in JSON, some with more beside the table."""
    names = list(rows[0])
    return {
        "records": rows,
        "inside": {"rows": rows, "least": "5002", "most": 5040},
        "lists": {name: [row[name] for row in rows] for name in names},
        "arrays": [names, *([*row.values()] for row in rows)],
        "split": {"columns": names, "index": [*range(len(rows))], "data": [[*row.values()] for row in rows]},
        "columns": {name: {str(n): row[name] for n, row in enumerate(rows)} for name in names},
    }


def write(path: Path, rows: list[dict[str, Any]], form: str) -> Path:
    if form in ("parquet", "arrow"):
        arrow = pytest.importorskip("pyarrow")
        table = arrow.Table.from_pylist(rows)
        module = pytest.importorskip("pyarrow.parquet" if form == "parquet" else "pyarrow.feather")
        (module.write_table if form == "parquet" else module.write_feather)(table, str(path))
    elif form == "lines":
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    else:
        path.write_text(json.dumps(documents(rows)[form]))
    return path


@pytest.mark.parametrize(
    ("form", "table"),
    [("parquet", "long"), ("parquet", "tidy"), ("parquet", "wide"), ("arrow", "wide"), ("arrow", "tidy")]
    + [("lines", "long"), ("records", "long"), ("split", "long"), ("columns", "long")]
    + [("records", "wide"), ("split", "wide"), ("inside", "wide"), ("lists", "wide"), ("arrays", "wide")],
)
def test_a_table_comes_back_in_its_format_without_what_is_suppressed(
    form: str, table: str, run: Run, tmp_path: Path
) -> None:
    ending = {"lines": "jsonl"}.get(form, form if form in ("parquet", "arrow") else "json")
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
        assert not any(str(count).encode() in content for count in lost)
        binary = file.suffix in (".parquet", ".arrow")
        assert not binary or not any(count.to_bytes(4, "little") in content for count in lost)
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


def test_what_is_not_written_back_is_named_with_the_reason(run: Run, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "t.sqlite") as database:
        database.execute("create table t (area text, kind text, count integer)")
        database.executemany("insert into t values (:area, :kind, :count)", TIDY)
    (tmp_path / "s.json").write_text(json.dumps(sorted(TIDY, key=lambda row: -row["count"])))
    for name, why in (("t.sqlite", "other tables and deleted rows"), ("s.json", "sorted by their counts")):
        ran = run("suppress", name, "--primary", PRIMARY, "--out", f"out-{name}")
        assert ran.code == 0 and why in " ".join(ran.out.split()), ran.out
        assert {file.name for file in (tmp_path / f"out-{name}/published").iterdir()} == {
            "pattern.csv",
            "manifest.json",
        }
