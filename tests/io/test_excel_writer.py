"""Published tables as workbooks: other programs read the same rows, and the same rows give the same bytes."""

import io
import zipfile
from pathlib import Path

import pytest

from safemargin.io import xlsx_rows
from safemargin.io.excel_writer import xlsx_bytes

ODD = ["=1+1", "a < b & c", " two  blanks ", "_x0041_", "\x01\r\n", "ü 漢", "1 | 2", "-5"]
ROWS = [
    {"place": text, "count": None if place == 2 else place * 1_000 - 1, "status": "x"} for place, text in enumerate(ODD)
]


def test_every_row_comes_back() -> None:
    assert xlsx_rows(xlsx_bytes(ROWS)) == ROWS
    assert xlsx_bytes(ROWS) == xlsx_bytes(ROWS)


def test_another_library_reads_the_same(tmp_path: Path) -> None:
    calamine = pytest.importorskip("python_calamine")
    (tmp_path / "t.xlsx").write_bytes(xlsx_bytes(ROWS))
    sheet = calamine.CalamineWorkbook.from_path(tmp_path / "t.xlsx").get_sheet_by_index(0).to_python()
    assert sheet[0] == ["place", "count", "status"] and [row[0] for row in sheet[1:4]] == ODD[:3]
    assert [row[1] for row in sheet[1:5]] == [-1, 999, "", 2_999]


def test_other_workbooks_are_refused() -> None:
    content = xlsx_bytes(ROWS)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    for name, change in (
        ("xl/styles.xml", parts["xl/styles.xml"] + b" "),
        ("xl/worksheets/sheet1.xml", parts["xl/worksheets/sheet1.xml"].replace(b"<v>999</v>", b"<f>1+1</f>")),
        ("extra.xml", b"x"),
    ):
        target = io.BytesIO()
        with zipfile.ZipFile(target, "w") as archive:
            for part, text in {**parts, name: change}.items():
                archive.writestr(part, text)
        with pytest.raises(ValueError, match="another program"):
            xlsx_rows(target.getvalue())
    with pytest.raises(ValueError, match="zip"):
        xlsx_rows(b"no workbook")
