"""Small writers of workbooks in the old and in the binary format of Excel, by [MS-XLS] and [MS-XLSB]."""

import struct
import zipfile
from collections.abc import Sequence
from pathlib import Path

Grid = Sequence[Sequence[object]]
END, FREE, SECTOR = 0xFFFFFFFE, 0xFFFFFFFF, 512


def _record(kind: int, body: bytes = b"") -> bytes:
    return struct.pack("<HH", kind, len(body)) + body


def write_xls(path: Path, rows: Grid, sheet: str = "Table") -> Path:
    """BIFF8 in a compound file: numbers as NUMBER, texts as LABEL."""
    cells = b""
    for r, row in enumerate(rows):
        for c, value in enumerate(row):
            if isinstance(value, int | float):
                cells += _record(0x0203, struct.pack("<HHHd", r, c, 0, value))
            elif value:
                text = str(value)
                cells += _record(0x0204, struct.pack("<HHHHB", r, c, 0, len(text), 1) + text.encode("utf-16-le"))
    name = struct.pack("<BB", len(sheet), 1) + sheet.encode("utf-16-le")
    start = _record(0x0809, struct.pack("<HHHHII", 0x0600, 0x0005, 0, 0, 0, 6)) + _record(0x0042, b"\xb0\x04")
    at = len(start) + 4 + 6 + len(name) + 4
    book = start + _record(0x0085, struct.pack("<IBB", at, 0, 0) + name) + _record(0x000A)
    book += _record(0x0809, struct.pack("<HHHHII", 0x0600, 0x0010, 0, 0, 0, 6)) + cells + _record(0x000A)
    path.write_bytes(_compound(book.ljust(4096, b"\0")))
    return path


def _compound(stream: bytes) -> bytes:
    """A compound file with one stream called Workbook."""
    data = stream + b"\0" * (-len(stream) % SECTOR)
    count = len(data) // SECTOR
    table = [0xFFFFFFFD, END, *range(3, count + 2), END]
    assert len(table) <= SECTOR // 4
    fat = struct.pack("<128I", *table, *[FREE] * (128 - len(table)))
    head = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6) + bytes(6)
    head += struct.pack("<IIIIIIIII", 0, 1, 1, 0, 4096, END, 0, END, 0) + struct.pack("<109I", 0, *[FREE] * 108)

    def entry(name: str, kind: int, child: int, first: int, size: int) -> bytes:
        text = name.encode("utf-16-le")
        lead = text.ljust(64, b"\0") + struct.pack("<HBBIII", len(text) + 2, kind, 1, FREE, FREE, child)
        return lead + bytes(36) + struct.pack("<IQ", first, size)

    names = entry("Root Entry", 5, 1, END, 0) + entry("Workbook", 2, FREE, 2, len(stream)) + bytes(256)
    return head + fat + names + data


def _packed(kind: int, body: bytes = b"") -> bytes:
    """A record of the binary format: its kind and length in groups of seven bits."""
    lead = bytes([kind]) if kind < 128 else bytes([kind & 0x7F | 0x80, kind >> 7])
    size, length = len(body), b""
    while True:
        length += bytes([size & 0x7F | (0x80 if size > 127 else 0)])
        size >>= 7
        if not size:
            return lead + length + body


def _wide(text: str) -> bytes:
    return struct.pack("<I", len(text)) + text.encode("utf-16-le")


def write_xlsb(path: Path, rows: Grid, sheet: str = "Table", more: bytes = b"") -> Path:
    """A binary workbook of one sheet; `more` are records behind its last row."""
    body = _packed(0x81) + _packed(0x94, struct.pack("<IIII", 0, len(rows) - 1, 0, max(map(len, rows)) - 1))
    body += _packed(0x91)
    for r, row in enumerate(rows):
        body += xlsb_row(r)
        for c, value in enumerate(row):
            if isinstance(value, int | float):
                body += xlsb_number(c, value)
            elif value:
                body += _packed(6, struct.pack("<II", c, 0) + _wide(str(value)))
    body += more + _packed(0x92) + _packed(0x82)
    book = _packed(0x83) + _packed(0x8F) + _packed(0x9C, struct.pack("<II", 0, 1) + _wide("r1") + _wide(sheet))
    book += _packed(0x90) + _packed(0x9D, bytes(26)) + _packed(0x84)
    package = "http://schemas.openxmlformats.org/package/2006"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("[Content_Types].xml", f'<Types xmlns="{package}/content-types"/>')
        link = f'<Relationship Id="r1" Type="{office}/worksheet" Target="worksheets/sheet1.bin"/>'
        packed.writestr(
            "xl/_rels/workbook.bin.rels", f'<Relationships xmlns="{package}/relationships">{link}</Relationships>'
        )
        packed.writestr("xl/workbook.bin", book)
        packed.writestr("xl/worksheets/sheet1.bin", body)
    return path


def xlsb_row(row: int) -> bytes:
    """The header of a row."""
    return _packed(0, struct.pack("<II", row, 0) + bytes(17))


def xlsb_number(column: int, value: float) -> bytes:
    """A cell with a number."""
    return _packed(5, struct.pack("<IId", column, 0, value))
