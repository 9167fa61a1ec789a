"""`suppress` writes JSON-stat, OpenDocument and other workbooks back; an audit of that is clear, and no byte says more.

`.xls`, `.xlsb` and `.xlsm` come back as `.xlsx` of the same layout. Suppressed counts are numbers that nothing else in
a small file looks like.
"""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

import safemargin
from commands import Run, in_process
from held_files import book, ods
from old_books import write_xls, write_xlsb

pytestmark = pytest.mark.full

AREAS, KINDS = ("north", "south", "east"), ("a", "b", "c")
COUNTS = [[5012, 5002, 5040], [5031, 5017, 5003], [5009, 5025, 5014]]
PRIMARY = "5001-5004"
WIDE: list[list[object]] = [
    ["Table 4: Region by kind"],
    [],
    ["Region", *KINDS, "Total", "Share of b"],
    *([area, *row, sum(row), round(100 * row[1] / sum(row), 3)] for area, row in zip(AREAS, COUNTS, strict=True)),
    ["Total", *map(sum, zip(*COUNTS, strict=True)), sum(map(sum, COUNTS)), 33.3],
    [],
    ["Source: register"],
]
TIDY: list[list[object]] = [
    ["area", "kind", "count"],
    *([area, kind, n] for area, row in zip(AREAS, COUNTS, strict=True) for kind, n in zip(KINDS, row, strict=True)),
]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)
    return in_process(monkeypatch, capsys)


def contents(path: Path) -> bytes:
    """All bytes of a file, unpacked where it is packed."""
    if not zipfile.is_zipfile(path):
        return path.read_bytes()
    with zipfile.ZipFile(path) as packed:
        return b"\n".join(name.encode() + packed.read(name) for name in packed.namelist())


def written(run: Run, path: Path, ending: str) -> tuple[Path, str]:
    """What `suppress` wrote of a file, after the checks that hold for all formats."""
    before = safemargin.load(path)
    ran = run("suppress", path.name, "--primary", PRIMARY, "--out", "out")
    assert ran.code == 0, ran.err
    made = path.parent / "out" / "published" / f"t-suppressed.{ending}"
    assert made.exists(), ran.out
    after = safemargin.load(made)
    assert [axis.labels for axis in after.axes] == [axis.labels for axis in before.axes] and not after.doubts
    old, new = before.to_rows(), after.to_rows()
    lost = [row["count"] for row, other in zip(old, new, strict=True) if other["count"] is None]
    assert {5002, 5003} <= {*lost} and len(lost) == 4
    assert all(other["count"] in (None, row["count"]) for row, other in zip(old, new, strict=True))
    assert not [count for count in lost if str(count).encode() in contents(made)]
    assert run("audit", str(made)).code == 0
    return made, ran.out


def cube(form: str) -> dict[str, Any]:
    """The table as JSON-stat, with much beside it that states a suppressed count."""
    dimension: dict[str, Any] = {
        "area": {"label": "Area", "category": {"index": list(AREAS), "label": {a: a.title() for a in AREAS}},
                 "extension": {"least": 5002}},
        "kind": {"category": {"index": {k: n for n, k in enumerate(KINDS)}, "note": {"b": ["5002 in north"]}}},
    }  # fmt: skip
    values = [n for row in COUNTS for n in row]
    made: dict[str, Any] = {
        "version": "2.0", "class": "dataset", "label": "People", "source": "Office", "id": ["area", "kind"],
        "size": [3, 3], "dimension": dimension, "value": values, "note": ["5002 people"], "extension": {"raw": values},
        "link": {"alternate": [{"href": "https://example.org/5002"}]},
    }  # fmt: skip
    if form == "places":
        made["value"] = {str(place): n for place, n in enumerate(values)}
    elif form == "status":
        made["status"] = {"0": "p", "1": "e"}
    elif form == "one":
        dimension |= {"id": made.pop("id"), "size": made.pop("size"), "role": {"geo": ["area"]}}
        return {"dataset": made, "other": {"value": values}}
    return made


@pytest.mark.parametrize("form", ["list", "places", "status", "one"])
def test_a_json_stat_table_comes_back_as_one(form: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(json.dumps(cube(form)))
    made, _ = written(run, tmp_path / "t.json", "json")
    said = json.loads(made.read_text())
    table = said.get("dataset", said)
    assert set(table) <= {"version", "class", "label", "source", "id", "size", "dimension", "value", "status", "note"}
    assert table["dimension"]["area"]["category"]["label"]["north"] == "North" and "suppressed" in table["note"][0]
    assert isinstance(table["value"], dict if form == "places" else list)
    if form == "status":
        assert table["status"]["0"] == "p" and table["status"]["1"] == "suppressed"
        assert list(table["status"].values()).count("suppressed") == 4


def test_an_open_document_comes_back_without_its_other_parts(run: Run, tmp_path: Path) -> None:
    path = ods(WIDE, tmp_path / "t")
    with zipfile.ZipFile(path) as packed:
        parts = {name: packed.read(name) for name in packed.namelist()}
    with zipfile.ZipFile(path, "w") as packed:
        for name, content in {**parts, "meta.xml": b"5002 people"}.items():
            packed.writestr(name, content)
        packed.writestr("Thumbnails/thumbnail.png", b"5002")
    made, _ = written(run, path, "ods")
    with zipfile.ZipFile(made) as packed:
        assert packed.namelist() == ["mimetype", "content.xml", "META-INF/manifest.xml"]
        content = packed.read("content.xml").decode()
    assert "* suppressed" in content and "Source: register" in content and "33.3" not in content


@pytest.mark.parametrize("kind", ["xls", "xlsb", "xlsm"])
def test_other_workbooks_come_back_as_xlsx(kind: str, run: Run, tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    path = tmp_path / f"t.{kind}"
    if kind == "xlsm":
        book(WIDE, tmp_path / "t").rename(path)  # type: ignore[arg-type]
    else:
        (write_xls if kind == "xls" else write_xlsb)(path, WIDE)
    made, said = written(run, path, "xlsx")
    assert f"t.{kind}: .{kind} is written as .xlsx; of workbooks, .xlsx and .ods are written." in " ".join(said.split())
    sheet = openpyxl.load_workbook(made).active
    assert [sheet.cell(1, 1).value, sheet.cell(3, 2).value, sheet.cell(4, 3).value] == [WIDE[0][0], "a", "*"]
    assert sheet.cell(4, 2).value == 5012 and sheet.cell(4, 6).value is None


def test_a_tidy_sheet_comes_back_as_one(run: Run, tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    made, _ = written(run, book(TIDY, tmp_path / "t"), "xlsx")  # type: ignore[arg-type]
    rows = list(openpyxl.load_workbook(made).active.values)
    assert rows[0][:3] == ("area", "kind", "count") and sum(row[2] == "*" for row in rows) == 4
    assert str(rows[-1][0]).startswith("* suppressed")


def test_a_far_cell_of_a_binary_workbook_is_refused(tmp_path: Path) -> None:
    from old_books import xlsb_number, xlsb_row
    from safemargin.core import InputError

    path = write_xlsb(tmp_path / "t.xlsb", WIDE, more=xlsb_row(1_048_575) + xlsb_number(16_383, 1))
    with pytest.raises(InputError, match="too much memory"):
        safemargin.load(path)
    repeated = (
        '<table:table-row table:number-rows-repeated="1048576"><table:table-cell table:number-columns-repeated="16384" '
        'office:value-type="float" office:value="1"><text:p>1</text:p></table:table-cell></table:table-row>'
    )
    with pytest.raises(InputError):
        safemargin.load(ods([], tmp_path / "t", repeated))
