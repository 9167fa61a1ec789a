"""Rows as an Excel workbook: one sheet, a bold header that stays in view, and nothing that a spreadsheet would run.

The same rows give the same bytes. A workbook is a ZIP archive of XML parts (ECMA-376); these are the fewest that Excel
and LibreOffice open without a complaint.
"""

import io
import re
import zipfile
from collections.abc import Mapping, Sequence
from html import escape, unescape

from safemargin.core import InputError

MOST_ROWS = 1_048_576
"""Rows of a sheet, with its header."""
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_SPACE = "http://schemas.openxmlformats.org"
_MAIN = f"{_SPACE}/spreadsheetml/2006/main"
_KIND = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_RELATION = f"{_SPACE}/officeDocument/2006/relationships"
_PARTS = {
    "[Content_Types].xml": f'<Types xmlns="{_SPACE}/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    f'<Override PartName="/xl/workbook.xml" ContentType="{_KIND}.sheet.main+xml"/>'
    f'<Override PartName="/xl/styles.xml" ContentType="{_KIND}.styles+xml"/>'
    f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{_KIND}.worksheet+xml"/></Types>',
    "_rels/.rels": f'<Relationships xmlns="{_SPACE}/package/2006/relationships">'
    f'<Relationship Id="rId1" Type="{_RELATION}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_SPACE}/package/2006/relationships">'
    f'<Relationship Id="rId1" Type="{_RELATION}/worksheet" Target="worksheets/sheet1.xml"/>'
    f'<Relationship Id="rId2" Type="{_RELATION}/styles" Target="styles.xml"/></Relationships>',
    "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_RELATION}">'
    '<sheets><sheet name="table" sheetId="1" r:id="rId1"/></sheets></workbook>',
    "xl/styles.xml": f'<styleSheet xmlns="{_MAIN}"><fonts count="2"><font><sz val="11"/><name val="Calibri"/></font>'
    '<font><b/><sz val="11"/><name val="Calibri"/></font></fonts><fills count="2"><fill><patternFill/></fill><fill>'
    '<patternFill patternType="gray125"/></fill></fills><borders count="1"><border/></borders><cellStyleXfs count="1">'
    '<xf/></cellStyleXfs><cellXfs count="3"><xf/><xf fontId="1" applyFont="1"/>'
    '<xf numFmtId="3" applyNumberFormat="1"/></cellXfs></styleSheet>',
}
BOLD, NUMBER = 1, 2
"""Places in `cellXfs`."""
_HIDDEN = re.compile(r"_(?=x[0-9A-Fa-f]{4}_)|[\x00-\x08\x0b-\x1f]")
"""What a workbook writes as `_x` and a number: control characters, and texts that look like that."""
_CELL = re.compile(r'<c/>|<c s="2"><v>(-?\d+)</v></c>|<c(?: s="1")? t="inlineStr"><is><t[^>]*>([^<]*)</t></is></c>')
MOST_BYTES = 1 << 30
_DATE = (1980, 1, 1, 0, 0, 0)


def xlsx_bytes(rows: Sequence[Mapping[str, object]]) -> bytes:
    """A workbook with these rows under the names of their columns."""
    if len(rows) >= MOST_ROWS:
        raise InputError(
            f"{len(rows):,} rows: an Excel sheet holds {MOST_ROWS - 1:,}; remove xlsx from outputs.formats"
        )
    columns = list(rows[0])
    lines = [_row([(name, BOLD) for name in columns])]
    lines += [_row([(value, NUMBER) for value in row.values()]) for row in rows]
    sheet = (
        f'<worksheet xmlns="{_MAIN}"><sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" '
        f'activePane="bottomLeft" state="frozen"/></sheetView></sheetViews><sheetData>{"".join(lines)}</sheetData>'
        "</worksheet>"
    )
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in {**_PARTS, "xl/worksheets/sheet1.xml": sheet}.items():
            part = zipfile.ZipInfo(name, _DATE)  # the same bytes at any time
            part.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(part, (_HEAD + text).encode())
    return target.getvalue()


def _row(values: Sequence[tuple[object, int]]) -> str:
    cells = []
    for value, style in values:
        if value is None:
            cells.append("<c/>")
        elif isinstance(value, int) and not isinstance(value, bool):
            cells.append(f'<c s="{style}"><v>{value}</v></c>')
        else:  # an inline text is never run as a formula
            hidden = _HIDDEN.sub(lambda found: f"_x{ord(found[0][0]):04X}_{found[0][1:]}", str(value))
            text = escape(hidden, quote=False)
            kind = f' s="{style}"' if style == BOLD else ""
            cells.append(f'<c{kind} t="inlineStr"><is><t xml:space="preserve">{text}</t></is></c>')
    return f"<row>{''.join(cells)}</row>"


def xlsx_rows(content: bytes) -> list[dict[str, object]]:
    """The rows of a workbook that `xlsx_bytes` wrote; any other workbook is a `ValueError`."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if sum(part.file_size for part in archive.infolist()) > MOST_BYTES:
                raise ValueError("it is too large")
            parts = {part.filename: archive.read(part).decode() for part in archive.infolist()}
    except (zipfile.BadZipFile, NotImplementedError) as error:
        raise ValueError(str(error)) from None
    sheet = parts.pop("xl/worksheets/sheet1.xml", "")
    if parts != {name: _HEAD + text for name, text in _PARTS.items()}:
        raise ValueError("another program wrote this workbook")
    lines = []
    for line in re.findall(r"<row>(.*?)</row>", sheet, re.DOTALL):
        if _CELL.sub("", line):
            raise ValueError("another program wrote this workbook")
        lines.append([_read(found) for found in _CELL.finditer(line)])
    if not lines:
        raise ValueError("it is empty")
    return [dict(zip(map(str, lines[0]), line, strict=True)) for line in lines[1:]]


def _read(found: re.Match[str]) -> object:
    if found[1] is not None:
        return int(found[1])
    if found[2] is None:
        return None
    return re.sub(r"_x([0-9A-Fa-f]{4})_", lambda code: chr(int(code[1], 16)), unescape(found[2]))
