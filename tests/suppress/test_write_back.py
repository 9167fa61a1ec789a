"""`suppress` writes a table back in the form in which it was read; read again, an audit of it is clear."""

import re
import zipfile
from pathlib import Path

import pytest

import safemargin
from commands import Run, in_process
from found_forms import (
    COLS,
    COUNTS,
    Grid,
    long,
    notes_column,
    numbered,
    percent_columns,
    percent_rows,
    total_row_first,
    totals_first,
    transposed,
    wide,
    with_titles,
    write_csv,
    write_xlsx as write_book,
)

pytestmark = pytest.mark.full

FORMS = {
    "wide": lambda grid: grid,
    "titles": with_titles,
    "first": totals_first,
    "top": total_row_first,
    "turned": transposed,
    "long": long,
    "numbered": numbered,
    "percent columns": percent_columns,
    "percent commas": lambda grid: [[str(v).replace(".", ",") for v in row] for row in percent_columns(grid)],
    "percent rows": percent_rows,
    "remarks": notes_column,
}
SMALL = {2, 3}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)
    return in_process(monkeypatch, capsys)


def whole() -> Grid:
    """The table without a gap."""
    grid = wide()
    for i, row in enumerate(COUNTS):
        grid[i + 1][1:4] = row
    return grid


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", "xlsx"])
@pytest.mark.parametrize("form", FORMS)
def test_what_is_written_back_is_read_alike_and_safe(form: str, kind: str, run: Run, tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    grid = FORMS[form](whole())
    path = write_csv(tmp_path / "t.csv", grid, ";") if kind == "csv" else write_book(tmp_path / "t.xlsx", grid)
    before = safemargin.load(path)
    assert run("suppress", path.name, "--out", "out").code == 0
    written = tmp_path / "out" / "published" / f"t-suppressed.{kind}"
    after = safemargin.load(written)
    assert [axis.labels for axis in after.axes] == [axis.labels for axis in before.axes]
    hidden = set(after.gaps.tolist())
    pairs = list(zip(before.to_rows(), after.to_rows(), strict=True))
    assert all(new["count"] == (None if row in hidden else old["count"]) for row, (old, new) in enumerate(pairs))
    assert all(row in hidden for row, (old, _) in enumerate(pairs) if old["count"] in SMALL)
    ran = run("audit", str(written))
    assert ran.code == 0, ran.out
    if kind == "csv":
        text = written.read_text()
        assert "* suppressed" in text and "%" not in text.replace(" %", "").replace("% within", "")


def computed(path: Path) -> None:
    """Every formula with the value 2, as a spreadsheet stores it."""
    with zipfile.ZipFile(path) as packed:
        parts = {name: packed.read(name) for name in packed.namelist()}
    with zipfile.ZipFile(path, "w") as packed:
        for name, content in parts.items():
            packed.writestr(name, re.sub(rb"</f><v ?/>|</f><v></v>", b"</f><v>2</v>", content))


def test_a_workbook_keeps_its_sheet_titles_and_merged_cells(run: Run, tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    head: Grid = [["Table 4: Region by family"], [], ["Region", "Family", "", "", "Total"], ["", *COLS, ""]]
    grid = [*head, *whole()[1:], [], ["Source: register"]]

    def more(book: object) -> None:
        sheet = book.active  # type: ignore[attr-defined]
        sheet.title = "Tab 4"
        for cells in ("A1:E1", "A3:A4", "B3:D3", "E3:E4"):
            sheet.merge_cells(cells)
        sheet["H2"] = "=C5"
        other = book.create_sheet("Notes")  # type: ignore[attr-defined]
        other["A1"] = "There are two widowed people in Nordland"

    write_book(tmp_path / "t.xlsx", grid, more=more)
    computed(tmp_path / "t.xlsx")
    assert run("suppress", "t.xlsx", "--reading", "sheet=Tab 4", "--out", "out").code == 0
    book = openpyxl.load_workbook(tmp_path / "out/published/t-suppressed.xlsx")
    assert book.sheetnames == ["Tab 4"]
    sheet = book["Tab 4"]
    assert {str(cells) for cells in sheet.merged_cells.ranges} == {"A1:E1", "A3:A4", "B3:D3", "E3:E4"}
    assert sheet["A1"].value == "Table 4: Region by family" and sheet["A5"].value == "Nordland"
    assert sheet["D5"].value == "*" and sheet["E5"].value == 95
    values = [cell.value for row in sheet for cell in row if cell.value is not None]
    assert any(str(value).startswith("* suppressed") for value in values)
    assert not SMALL & set(values) and not any(str(value).startswith("=") for value in values)
    assert run("audit", "out/published/t-suppressed.xlsx").code == 0
