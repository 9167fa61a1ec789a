"""Files in which one table is found: text dialects and encodings, workbooks, PX, SDMX, JSON, printed tables, frames.

Each is a function of a table and a path without ending; it writes a file and returns its path, or returns data that a
program holds. Written from what the formats say, not from the reader.
"""

import csv
import datetime as dt
import io
import json
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from xml.sax.saxutils import escape

import held_layouts as lay
from held_worlds import Cell, Grid, Table

FILES: dict[str, Callable[[Table, Path], object]] = {}


def file(function: Callable[[Table, Path], object]) -> Callable[[Table, Path], object]:
    FILES[function.__name__] = function
    return function


def to_text(grid: Grid, sign: str = ",", end: str = "\n", **more: object) -> str:
    out = io.StringIO()
    csv.writer(out, delimiter=sign, lineterminator=end, **more).writerows(grid)  # type: ignore[arg-type]
    return out.getvalue()


def save(path: Path, ending: str, text: str | bytes, encoding: str = "utf-8") -> Path:
    target = path.with_suffix(ending)
    target.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
    return target


# Text dialects ------------------------------------------------------------------------------------------------------


def dialect(name: str, write: Callable[[Table], tuple[str, str | bytes]]) -> None:
    FILES[name] = lambda t, path: save(path, *write(t))


dialect("text_semicolon", lambda t: (".csv", to_text(t.wide(), ";")))
dialect("text_tab", lambda t: (".tsv", to_text(t.wide(), "\t")))
dialect("text_bar", lambda t: (".txt", to_text(t.wide(), "|")))
dialect("text_old_mac_lines", lambda t: (".csv", to_text(t.wide(), ";", "\r")))
dialect("text_windows_lines", lambda t: (".csv", to_text(t.wide(), ";", "\r\n")))
dialect("text_all_quoted", lambda t: (".csv", to_text(t.wide(), ",", quoting=csv.QUOTE_ALL)))
dialect("text_sep_line", lambda t: (".csv", "sep=;\n" + to_text(t.wide(), ";")))
dialect("text_bom_sep_line", lambda t: (".csv", b"\xef\xbb\xbf" + b"sep=;\r\n" + to_text(t.wide(), ";").encode()))
dialect("text_utf16", lambda t: (".csv", to_text(t.wide(), "\t").encode("utf-16")))
dialect("text_utf16_without_mark", lambda t: (".csv", to_text(lay.plain(_ascii(t)), "\t").encode("utf-16-le")))
dialect("text_utf32", lambda t: (".csv", to_text(t.wide(), ";").encode("utf-32")))
dialect("text_trailing_signs", lambda t: (".csv", "\n".join(x + ";;;" for x in to_text(t.wide(), ";").splitlines())))
dialect("text_comment_lines", lambda t: (".csv", "# made by a program\n# on 2024-01-05\n" + to_text(t.wide())))
dialect("text_blanks_around", lambda t: (".csv", to_text([[f" {v} " for v in row] for row in t.wide()], ";")))
dialect("text_single_quotes", lambda t: (".csv", to_text(
    [[f"'{v}'" if isinstance(v, str) else v for v in row] for row in t.wide()], ",")))  # fmt: skip
dialect("text_thousands_space", lambda t: (".csv", _grouped(t, " ")))
dialect("text_thousands_narrow", lambda t: (".csv", _grouped(t, "\u202f")))
dialect("text_thousands_thin", lambda t: (".csv", _grouped(t, "\u2009")))
dialect("text_thousands_apostrophe", lambda t: (".csv", _grouped(t, "’")))
dialect("text_thousands_comma", lambda t: (".csv", _grouped(t, ",")))
dialect("text_thousands_dot", lambda t: (".csv", _grouped(t, ".")))
dialect("text_thousands_comma_fraction", lambda t: (".csv", _grouped(t, ",", ".00")))
dialect("text_thousands_dot_fraction", lambda t: (".csv", _grouped(t, ".", ",00")))
dialect("text_fraction_zero", lambda t: (".csv", to_text(t.wide(number=lambda n: f"{n}.0"), ";")))
dialect("text_plus_sign", lambda t: (".csv", to_text(t.wide(number=lambda n: f"+{n}"), ";")))
dialect("text_power", lambda t: (".csv", to_text(t.wide(number=lambda n: f"{n / 100:.2f}E+02"), ";")))
dialect("text_leading_zeros", lambda t: (".csv", to_text(t.wide(number=lambda n: f"{n:05}"), ";")))
dialect("text_excel_formula_texts", lambda t: (".csv", to_text(t.wide(number=lambda n: f'="{n}"'), ";")))
dialect("text_markdown", lambda t: (".txt", _markdown(t.wide())))
dialect("text_box", lambda t: (".txt", _boxed(t.wide())))
dialect("text_fixed_width", lambda t: (".txt", _fixed(t.wide(sign="*"))))
dialect("text_fixed_width_titled", lambda t: (".txt", _fixed([[t.world.title], *t.wide(sign="*")], 1)))
dialect("text_rst", lambda t: (".txt", _rst(t.wide(sign="*"))))
dialect("text_html", lambda t: (".html", _html(t.wide())))


def _ascii(t: Table) -> Table:
    names = tuple(f"Place {n}" for n in range(len(t.world.rows)))
    kinds = tuple(f"Kind {n}" for n in range(len(t.world.columns)))
    return t.with_words(rows=names, columns=kinds, row_name="Place", column_name="Kind", total="Total", sign="*")


def _grouped(t: Table, sign: str, fraction: str = "") -> str:
    large = Table(t.world, t.counts * 1, t.gaps, t.exposed)
    return to_text(large.wide(number=lambda n: f"{n:,}".replace(",", sign) + fraction), ";")


def _markdown(grid: Grid) -> str:
    lines = ["| " + " | ".join("" if v is None else str(v) for v in row) + " |" for row in grid]
    return "\n".join([lines[0], "|" + "|".join(["---"] * len(grid[0])) + "|", *lines[1:]]) + "\n"


def _widths(grid: Grid) -> list[int]:
    return [max(len(str(row[c])) for row in grid if c < len(row)) for c in range(max(map(len, grid)))]


def _boxed(grid: Grid) -> str:
    widths = _widths(grid)
    rule = "+" + "+".join("-" * (w + 2) for w in widths) + "+"
    lines = ["|" + "|".join(f" {v!s:>{w}} " for v, w in zip(row, widths, strict=True)) + "|" for row in grid]
    return "\n".join([rule, lines[0], rule, *lines[1:], rule]) + "\n"


def _fixed(grid: Grid, titles: int = 0) -> str:
    widths = _widths(grid[titles:])
    lines = ["  ".join([f"{row[0]!s:<{widths[0]}}", *(f"{v!s:>{w}}" for v, w in zip(row[1:], widths[1:], strict=True))])
             for row in grid[titles:]]  # fmt: skip
    return "\n".join([*(str(row[0]) for row in grid[:titles]), *lines]) + "\n"


def _rst(grid: Grid) -> str:
    widths = _widths(grid)
    rule = "  ".join("=" * w for w in widths)
    lines = _fixed(grid).splitlines()
    return "\n".join([rule, lines[0], rule, *lines[1:], rule]) + "\n"


def _html(grid: Grid) -> str:
    rows = "".join("<tr>" + "".join(f"<td>{escape(str(v))}</td>" for v in row) + "</tr>" for row in grid)
    return f"<html><body><table>{rows}</table></body></html>"


ENCODINGS = {
    "cp1250": "polish", "iso8859_2": "czech", "cp1251": "russian", "koi8_r": "russian", "cp1252": "german",
    "cp1253": "greek", "cp1254": "turkish", "cp1255": "hebrew", "cp1256": "persian", "shift_jis": "japanese",
    "euc_jp": "japanese", "euc_kr": "korean", "gb18030": "mainland", "big5": "chinese", "cp874": "thai",
    "mac_roman": "french", "cp850": "spanish", "iso8859_15": "finnish",
}  # fmt: skip
"""By encoding, the world that is written in it."""


def in_encoding(encoding: str) -> Callable[[Table, Path], object]:
    def make(t: Table, path: Path) -> object:
        grid = [[t.world.title], [], *t.wide(sign="*"), [], [t.world.source]]
        return save(path, ".csv", to_text(grid, ";").encode(encoding, "replace"))

    return make


# Workbooks ----------------------------------------------------------------------------------------------------------


def book(grid: Grid, path: Path, change: Callable[[object, object], None] | None = None, name: str = "Table") -> Path:
    import openpyxl

    made = openpyxl.Workbook()
    sheet = made.active
    sheet.title = name
    for r, row in enumerate(grid, 1):
        for c, v in enumerate(row, 1):
            if v is not None and v != "":
                sheet.cell(r, c, v)
    if change is not None:
        change(made, sheet)
    target = path.with_suffix(".xlsx")
    made.save(target)
    return target


@file
def book_plain(t: Table, path: Path) -> object:
    return book(t.wide(), path)


@file
def book_of_texts(t: Table, path: Path) -> object:
    return book(t.wide(number=str), path)


@file
def book_of_some_texts(t: Table, path: Path) -> object:
    return book(t.wide(number=lambda n: str(n) if n % 3 == 0 else n), path)


@file
def book_of_texts_with_nbsp(t: Table, path: Path) -> object:
    return book(t.wide(number=lambda n: f"\u00a0{n}\u00a0"), path)


@file
def book_merged_title(t: Table, path: Path) -> object:
    grid = [[t.world.title], [], *t.wide(), [], [t.world.foot]]

    def change(_: object, sheet: object) -> None:
        sheet.merge_cells(start_row=1, end_row=1, start_column=1, end_column=len(grid[2]))  # type: ignore[attr-defined]

    return book(grid, path, change)


@file
def book_two_levels_merged(t: Table, path: Path) -> object:
    grid, m = lay.two_levels_across(t), t.shape[1]

    def change(_: object, sheet: object) -> None:
        sheet.merge_cells(start_row=1, end_row=1, start_column=2, end_column=m + 2)  # type: ignore[attr-defined]
        sheet.merge_cells(start_row=1, end_row=1, start_column=m + 3, end_column=2 * m + 3)  # type: ignore[attr-defined]
        sheet.merge_cells(start_row=1, end_row=2, start_column=2 * m + 4, end_column=2 * m + 4)  # type: ignore[attr-defined]

    return book(grid, path, change)


@file
def book_merged_rows(t: Table, path: Path) -> object:
    """A long table whose first labels are merged over their rows."""
    grid, size = lay.long_with_blanks(t), t.shape[1] + 1

    def change(_: object, sheet: object) -> None:
        for start in range(2, len(grid) + 1, size):
            sheet.merge_cells(start_row=start, end_row=start + size - 1, start_column=1, end_column=1)  # type: ignore[attr-defined]

    return book(grid, path, change)


@file
def book_hidden_total(t: Table, path: Path) -> object:
    def change(_: object, sheet: object) -> None:
        sheet.column_dimensions[chr(66 + t.shape[1])].hidden = True  # type: ignore[attr-defined]

    return book(t.wide(), path, change)


@file
def book_hidden_row(t: Table, path: Path) -> object:
    def change(_: object, sheet: object) -> None:
        sheet.row_dimensions[3].hidden = True  # type: ignore[attr-defined]

    return book(t.wide(), path, change)


@file
def book_filtered(t: Table, path: Path) -> object:
    def change(_: object, sheet: object) -> None:
        sheet.auto_filter.ref = f"A1:{chr(66 + t.shape[1])}{t.shape[0] + 2}"  # type: ignore[attr-defined]
        sheet.auto_filter.add_filter_column(0, [t.world.rows[0]])  # type: ignore[attr-defined]
        for row in range(3, t.shape[0] + 3):
            sheet.row_dimensions[row].hidden = True  # type: ignore[attr-defined]

    return book(t.wide(), path, change)


@file
def book_formulas_without_values(t: Table, path: Path) -> object:
    """Sums as formulas that no spreadsheet has computed; a spreadsheet shows the table with gaps as zeros in its sums.

    The truth is then what the formulas give: the audit may refuse or doubt, and must not clear.
    """
    n, m = t.shape
    grid = t.wide(sign="")
    for i in range(n):
        grid[i + 1][-1] = (
            f"=SUM(B{i + 2}:{chr(65 + m)}{i + 2})+{sum(int(t.counts[i, j]) for j in range(m) if (i, j) in t.gaps)}"
        )
    return book(grid, path)


@file
def book_hidden_by_format(t: Table, path: Path) -> object:
    """Small counts stand in the file, and their number format shows a star in their place."""

    def change(_: object, sheet: object) -> None:
        for i, j in t.gaps:
            sheet.cell(i + 2, j + 2, int(t.counts[i, j])).number_format = '"*"'  # type: ignore[attr-defined]

    return book(t.wide(), path, change)


@file
def book_hidden_by_condition(t: Table, path: Path) -> object:
    def change(_: object, sheet: object) -> None:
        for i in range(t.shape[0]):
            for j in range(t.shape[1]):
                sheet.cell(i + 2, j + 2, int(t.counts[i, j])).number_format = '[<10]"*";0'  # type: ignore[attr-defined]

    return book(t.wide(), path, change)


@file
def book_rounded_by_format(t: Table, path: Path) -> object:
    """Weighted counts with fractions, shown as whole numbers."""
    return book(t.wide(number=lambda n: n + 0.25), path)


@file
def book_days_as_labels(t: Table, path: Path) -> object:
    grid = t.wide()
    for i in range(t.shape[0]):
        grid[i + 1][0] = dt.date(2024, 3, 1 + i)  # type: ignore[call-overload]
    return book(grid, path)


@file
def book_bands_as_days(t: Table, path: Path) -> object:
    """`1-4` and `5-9`, which a spreadsheet took for days."""
    grid = t.wide()
    grid[0] = [grid[0][0], *(dt.date(2024, 2 + 3 * j, 4 + j) for j in range(t.shape[1])), grid[0][-1]]  # type: ignore[list-item]
    return book(grid, path)


@file
def book_two_sheets(t: Table, path: Path) -> object:
    def change(made: object, _: object) -> None:
        other = made.create_sheet("Notes")  # type: ignore[attr-defined]
        for row in ([t.world.title], [t.world.foot], ["Contact", "statistics@example.org"]):
            other.append(row)

    return book(t.wide(), path, change)


@file
def book_total_on_another_sheet(t: Table, path: Path) -> object:
    """The sums of rows stand on a sheet of their own."""
    grid = t.wide()

    def change(made: object, _: object) -> None:
        other = made.create_sheet("Sums")  # type: ignore[attr-defined]
        other.append([t.world.row_name, "persons"])
        for row in grid[1:-1]:
            other.append([row[0], row[-1]])

    return book([row[:-1] for row in grid[:-1]], path, change)


@file
def book_hidden_sheet(t: Table, path: Path) -> object:
    def change(made: object, sheet: object) -> None:
        other = made.create_sheet("raw")  # type: ignore[attr-defined]
        for row in t.wide():
            other.append(row)
        sheet.delete_rows(1, 100)  # type: ignore[attr-defined]
        sheet["A1"] = t.world.title  # type: ignore[index]
        sheet["A2"] = t.world.source  # type: ignore[index]
        other.sheet_state = "hidden"

    return book(t.wide(), path, change)


@file
def book_styled_indents(t: Table, path: Path) -> object:
    """Subtotals whose parts are indented by the style of their cells alone."""
    from openpyxl.styles import Alignment

    grid = lay.subtotals_before(t)

    def change(_: object, sheet: object) -> None:
        for r, row in enumerate(grid, 1):
            if row[0] in t.world.rows:
                sheet.cell(r, 1).alignment = Alignment(indent=2)  # type: ignore[attr-defined]

    return book(grid, path, change)


@file
def book_rich_texts(t: Table, path: Path) -> object:
    from openpyxl.cell.rich_text import CellRichText, TextBlock
    from openpyxl.cell.text import InlineFont

    grid = t.wide()

    def change(_: object, sheet: object) -> None:
        for i, name in enumerate(t.world.rows, 2):
            sheet.cell(i, 1).value = CellRichText(name, TextBlock(InlineFont(vertAlign="superscript"), "1"))  # type: ignore[attr-defined]

    return book([*grid, [], ["1 as of 1 January"]], path, change)


@file
def book_table_object(t: Table, path: Path) -> object:
    from openpyxl.worksheet.table import Table as Named

    def change(_: object, sheet: object) -> None:
        sheet.add_table(Named(displayName="Cells", ref=f"A1:{chr(66 + t.shape[1])}{t.shape[0] + 2}"))  # type: ignore[attr-defined]

    return book(t.wide(), path, change)


@file
def book_far_right(t: Table, path: Path) -> object:
    return book([[], [], [], *([None] * 7 + row for row in t.wide())], path)


ODS = ("urn:oasis:names:tc:opendocument:xmlns:office:1.0", "urn:oasis:names:tc:opendocument:xmlns:table:1.0",
       "urn:oasis:names:tc:opendocument:xmlns:text:1.0")  # fmt: skip


def ods_cell(v: Cell) -> str:
    if v is None or v == "":
        return "<table:table-cell/>"
    shown = "".join(f"<text:p>{escape(part)}</text:p>" for part in str(v).split("\n"))
    if isinstance(v, int | float):
        return f'<table:table-cell office:value-type="float" office:value="{v}">{shown}</table:table-cell>'
    return f'<table:table-cell office:value-type="string">{shown}</table:table-cell>'


def ods(grid: Grid, path: Path, body: str = "") -> Path:
    rows = body or "".join("<table:table-row>" + "".join(map(ods_cell, row)) + "</table:table-row>" for row in grid)
    tail = '<table:table-row table:number-rows-repeated="1048000"><table:table-cell ' \
           'table:number-columns-repeated="16384"/></table:table-row>'  # fmt: skip
    content = (
        f'<?xml version="1.0" encoding="UTF-8"?><office:document-content xmlns:office="{ODS[0]}" '
        f'xmlns:table="{ODS[1]}" xmlns:text="{ODS[2]}" office:version="1.3"><office:body><office:spreadsheet>'
        f'<table:table table:name="Table">{rows}{tail}</table:table></office:spreadsheet></office:body>'
        "</office:document-content>"
    )
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    manifest = (
        '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
        f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{kind}"/>'
        '<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/></manifest:manifest>'
    )
    target = path.with_suffix(".ods")
    with zipfile.ZipFile(target, "w") as packed:
        packed.writestr("mimetype", kind)
        packed.writestr("content.xml", content)
        packed.writestr("META-INF/manifest.xml", manifest)
    return target


@file
def ods_plain(t: Table, path: Path) -> object:
    return ods(t.wide(), path)


@file
def ods_titled(t: Table, path: Path) -> object:
    return ods([[t.world.title], [], *t.wide(), [], [t.world.foot]], path)


@file
def ods_repeated_cells(t: Table, path: Path) -> object:
    """Equal neighbours written once, as spreadsheets do: two empty columns, and a covered title."""
    title = (f'<table:table-row><table:table-cell table:number-columns-spanned="3" office:value-type="string"><text:p>'
             f"{escape(t.world.title)}</text:p></table:table-cell><table:covered-table-cell "
             'table:number-columns-repeated="2"/></table:table-row>')  # fmt: skip
    empty = '<table:table-cell table:number-columns-repeated="2"/>'
    rows = "".join(f"<table:table-row>{ods_cell(row[0])}{empty}{''.join(map(ods_cell, row[1:]))}</table:table-row>"
                   for row in t.wide())  # fmt: skip
    return ods(
        [], path, title + '<table:table-row table:number-rows-repeated="2"><table:table-cell/></table:table-row>' + rows
    )


# PX -----------------------------------------------------------------------------------------------------------------


def _px(t: Table, *, sign: str = '".."', stub: bool = True, head: Iterable[str] = (), labels: bool = True,
        data: Callable[[Cell], str] | None = None, totals: bool = True, tail: Iterable[str] = ()) -> str:  # fmt: skip
    w = t.world
    grid = t.wide(sign=sign)
    rows = [*w.rows, *([w.total] if totals else [])]
    columns = [*w.columns, *([w.total] if totals else [])]
    body = [row[1:] if totals else row[1:-1] for row in (grid[1:] if totals else grid[1:-1])]
    show = data or str
    lines = ['CHARSET="ANSI";', 'AXIS-VERSION="2013";', 'CODEPAGE="utf-8";', 'LANGUAGE="xx";', *head, "DECIMALS=0;",
             f'TITLE="{w.title}";', 'UNITS="persons";', 'CONTENTS="Population";']  # fmt: skip
    lines += [f'STUB="{w.row_name}";', f'HEADING="{w.column_name}";'] if stub else [
        f'STUB="{w.row_name}","{w.column_name}";']  # fmt: skip
    lines += [f'VALUES("{w.row_name}")={",".join(f"{chr(34)}{x}{chr(34)}" for x in rows)};',
              f'VALUES("{w.column_name}")={",".join(f"{chr(34)}{x}{chr(34)}" for x in columns)};', *tail]  # fmt: skip
    return "\n".join([*lines, "DATA=", *(" ".join(map(show, row)) for row in body)]) + ";\n"


@file
def px_plain(t: Table, path: Path) -> object:
    return save(path, ".px", _px(t))


@file
def px_stub_alone(t: Table, path: Path) -> object:
    return save(path, ".px", _px(t, stub=False))


@file
def px_symbols(t: Table, path: Path) -> object:
    return save(path, ".px", _px(t, sign='"..."', tail=['DATASYMBOL3="confidential";', 'DATASYMBOL1="not asked";']))


@file
def px_elimination(t: Table, path: Path) -> object:
    return save(path, ".px", _px(t, tail=[f'ELIMINATION("{t.world.row_name}")="{t.world.total}";']))


@file
def px_codes_and_notes(t: Table, path: Path) -> object:
    codes = ",".join(f'"{n:02}"' for n in range(len(t.world.rows) + 1))
    return save(path, ".px", _px(t, tail=[f'CODES("{t.world.row_name}")={codes};',
                                          f'NOTEX="{t.world.foot}";', 'LAST-UPDATED="20240105 09:30";']))  # fmt: skip


@file
def px_unquoted_dots(t: Table, path: Path) -> object:
    return save(path, ".px", _px(t, sign=".."))


@file
def px_windows_lines(t: Table, path: Path) -> object:
    return save(path, ".px", _px(t).replace("\n", "\r\n"))


@file
def px_fractions(t: Table, path: Path) -> object:
    return save(path, ".px", _px(t, data=lambda v: f"{v}.0" if isinstance(v, int) else str(v)))


@file
def px_dash_gaps(t: Table, path: Path) -> object:
    """In PX `-` is nobody: the sums say that it is not."""
    return save(path, ".px", _px(t, sign='"-"'))


# SDMX ---------------------------------------------------------------------------------------------------------------


def _observations(t: Table) -> list[tuple[str, str, Cell]]:
    """Codes of rows and columns, `_T` for totals."""
    grid, (n, m) = t.wide(sign=""), t.shape
    rows = [f"R{i}" for i in range(n)] + ["_T"]
    columns = [f"C{j}" for j in range(m)] + ["_T"]
    return [(rows[i], columns[j], grid[i + 1][j + 1]) for i in range(n + 1) for j in range(m + 1)]


@file
def sdmx_one(t: Table, path: Path) -> object:
    rows: Grid = [["DATAFLOW", "FREQ", "AREA", "KIND", "TIME_PERIOD", "OBS_VALUE", "OBS_STATUS"]]
    rows += [["XX:POP(1.0)", "A", r, c, 2023, v, "A" if v else "Q"] for r, c, v in _observations(t)]
    return save(path, ".csv", to_text(rows))


@file
def sdmx_two(t: Table, path: Path) -> object:
    rows: Grid = [
        ["STRUCTURE", "STRUCTURE_ID", "ACTION", "FREQ", "AREA", "KIND", "TIME_PERIOD", "OBS_VALUE", "CONF_STATUS"]
    ]
    rows += [["dataflow", "XX:POP(1.0)", "I", "A", r, c, 2023, v, "F" if v else "C"] for r, c, v in _observations(t)]
    return save(path, ".csv", to_text(rows, ";"))


@file
def sdmx_with_labels(t: Table, path: Path) -> object:
    names = {f"R{i}": x for i, x in enumerate(t.world.rows)} | {f"C{j}": x for j, x in enumerate(t.world.columns)}
    names["_T"] = t.world.total
    rows: Grid = [["DATAFLOW", "AREA: Area", "KIND: Kind", "TIME_PERIOD: Time", "OBS_VALUE", "OBS_FLAG"]]
    rows += [["XX:POP(1.0): Population", f"{r}: {names[r]}", f"{c}: {names[c]}", 2023, v, "" if v else "c"]
             for r, c, v in _observations(t)]  # fmt: skip
    return save(path, ".csv", to_text(rows))


@file
def sdmx_rows_left_out(t: Table, path: Path) -> object:
    rows: Grid = [["DATAFLOW", "AREA", "KIND", "TIME_PERIOD", "OBS_VALUE"]]
    rows += [["XX:POP(1.0)", r, c, 2023, v] for r, c, v in _observations(t) if v]
    return save(path, ".csv", to_text(rows))


@file
def sdmx_nan(t: Table, path: Path) -> object:
    rows: Grid = [["DATAFLOW", "AREA", "KIND", "OBS_VALUE", "UNIT_MULT"]]
    rows += [["XX:POP(1.0)", r, c, v or "NaN", 0] for r, c, v in _observations(t)]
    return save(path, ".csv", to_text(rows))


@file
def eurostat_tsv(t: Table, path: Path) -> object:
    n, m = t.shape
    rows = [r"kind,unit,geo\TIME_PERIOD" + "\t2022 \t2023 "]
    names = [f"R{i}" for i in range(n)] + ["TOTAL"]
    kinds = [f"C{j}" for j in range(m)] + ["TOTAL"]
    for i, r in enumerate(names):
        for j, c in enumerate(kinds):
            v = t.wide(sign=": c")[i + 1][j + 1]
            truth = int((t.counts[i] if i < n else t.counts.sum(axis=0)).sum() if j == m else
                        (t.counts[i, j] if i < n else t.counts[:, j].sum()))  # fmt: skip
            add = 30 * (n if i == n else 1) * (m if j == m else 1)
            rows.append(f"{c},NR,{r}\t{truth + add} p\t{v} ")
    return save(path, ".tsv", "\n".join(rows) + "\n")


# JSON ---------------------------------------------------------------------------------------------------------------


def _cube(t: Table) -> dict[str, object]:
    w, (n, m) = t.world, t.shape
    rows = {f"r{i}": x for i, x in enumerate([*w.rows, w.total])}
    columns = {f"c{j}": x for j, x in enumerate([*w.columns, w.total])}
    values = [v or None for row in t.wide(sign="")[1:] for v in row[1:]]
    return {
        "version": "2.0", "class": "dataset", "label": w.title, "id": ["area", "kind"], "size": [n + 1, m + 1],
        "dimension": {
            "area": {"label": w.row_name, "category": {"index": list(rows), "label": rows}},
            "kind": {"label": w.column_name,
                     "category": {"index": {c: k for k, c in enumerate(columns)}, "label": columns}},
        },
        "value": values,
    }  # fmt: skip


def _json(path: Path, value: object) -> Path:
    return save(path, ".json", json.dumps(value, ensure_ascii=False))


@file
def stat_list(t: Table, path: Path) -> object:
    return _json(path, _cube(t))


@file
def stat_places(t: Table, path: Path) -> object:
    cube = _cube(t)
    values = cube["value"]
    assert isinstance(values, list)
    return _json(path, {**cube, "value": {str(k): v for k, v in enumerate(values) if v is not None}})


@file
def stat_status(t: Table, path: Path) -> object:
    cube = _cube(t)
    values = cube["value"]
    assert isinstance(values, list)
    return _json(path, {**cube, "status": {str(k): "c" for k, v in enumerate(values) if v is None}})


@file
def stat_one(t: Table, path: Path) -> object:
    cube = _cube(t)
    dimension = cube.pop("dimension")
    assert isinstance(dimension, dict)
    inner = {**dimension, "id": cube.pop("id"), "size": cube.pop("size")}
    return _json(path, {"dataset": {"label": cube["label"], "dimension": inner, "value": cube["value"]}})


@file
def stat_collection(t: Table, path: Path) -> object:
    return _json(path, {"version": "2.0", "class": "collection", "link": {"item": [_cube(t)]}})


@file
def stat_one_category(t: Table, path: Path) -> object:
    cube = _cube(t)
    size, names, dimension = cube["size"], cube["id"], cube["dimension"]
    assert isinstance(size, list) and isinstance(names, list) and isinstance(dimension, dict)
    dimension["year"] = {"category": {"label": {"2023": "2023"}}}
    return _json(path, {**cube, "id": ["year", *names], "size": [1, *size]})


@file
def json_px_web(t: Table, path: Path) -> object:
    w = t.world
    columns = [{"code": "A", "text": w.row_name, "type": "d"}, {"code": "B", "text": w.column_name, "type": "d"},
               {"code": "C", "text": "Population", "type": "c"}]  # fmt: skip
    grid = t.wide(sign="..")
    data = [
        {"key": [row[0], name], "values": [str(v)]}
        for row in grid[1:]
        for name, v in zip(grid[0][1:], row[1:], strict=True)
    ]
    return _json(path, {"columns": columns, "comments": [], "data": data})


@file
def json_envelope(t: Table, path: Path) -> object:
    """Records below a key, as data portals send them."""
    grid = t.wide(sign="")
    records = [dict(zip(map(str, grid[0]), [v or None for v in row], strict=True)) for row in grid[1:]]
    return _json(
        path, {"help": "https://example.org", "success": True, "result": {"records": records, "total": len(records)}}
    )


@file
def json_odata(t: Table, path: Path) -> object:
    rows = lay.long(t)
    return _json(path, {"@odata.context": "https://example.org/$metadata",
                        "value": [dict(zip(map(str, rows[0]), r, strict=True)) for r in rows[1:]]})  # fmt: skip


@file
def json_features(t: Table, path: Path) -> object:
    grid = t.wide(sign="")
    features = [{"type": "Feature", "geometry": None,
                 "properties": dict(zip(map(str, grid[0]), [v or None for v in row], strict=True))}
                for row in grid[1:]]  # fmt: skip
    return _json(path, {"type": "FeatureCollection", "features": features})


@file
def json_first_row_names(t: Table, path: Path) -> object:
    return _json(path, t.wide())


@file
def json_numbers_as_texts(t: Table, path: Path) -> object:
    grid = t.wide(number=str)
    return _json(path, [dict(zip(map(str, grid[0]), row, strict=True)) for row in grid[1:]])


@file
def json_missing_keys(t: Table, path: Path) -> object:
    grid = t.wide(sign="")
    return _json(path, [{str(k): v for k, v in zip(grid[0], row, strict=True) if v != ""} for row in grid[1:]])


@file
def json_lines(t: Table, path: Path) -> object:
    rows = lay.long(t)
    lines = [json.dumps(dict(zip(map(str, rows[0]), r, strict=True)), ensure_ascii=False) for r in rows[1:]]
    return save(path, ".jsonl", "\n".join(lines) + "\n")


# Data that a program holds --------------------------------------------------------------------------------------------


@file
def frame_with_totals_all(t: Table, _: Path) -> object:
    import pandas as pd

    grid = t.with_words(total="All").wide()
    frame = pd.DataFrame(grid[1:], columns=grid[0]).set_index(grid[0][0])
    frame.columns.name = t.world.column_name
    return frame


@file
def frame_two_levels(t: Table, _: Path) -> object:
    import pandas as pd

    grid, m = lay.two_levels_across(t), t.shape[1]
    names = (
        [("Men", str(x)) for x in grid[1][1 : m + 2]]
        + [("Women", str(x)) for x in grid[1][m + 2 : 2 * m + 3]]
        + [("All", "")]
    )
    frame = pd.DataFrame([row[1:] for row in grid[2:]], index=[str(row[0]) for row in grid[2:]])
    frame.columns = pd.MultiIndex.from_tuples(names, names=["sex", t.world.column_name])
    frame.index.name = t.world.row_name
    return frame


@file
def frame_long_index(t: Table, _: Path) -> object:
    import pandas as pd

    rows = lay.long(t.with_words(sign=""))
    frame = pd.DataFrame(rows[1:], columns=rows[0])
    frame["persons"] = pd.to_numeric(frame["persons"])
    return frame.set_index(list(map(str, rows[0][:2])))


@file
def frame_polars(t: Table, _: Path) -> object:
    import polars as pl

    grid = t.wide(sign="")
    return pl.DataFrame(
        [[v if v != "" else None for v in row] for row in grid[1:]], schema=list(map(str, grid[0])), orient="row"
    )


@file
def rows_of_a_program(t: Table, _: Path) -> object:
    grid = t.wide(sign="")
    return [dict(zip(map(str, grid[0]), [v if v != "" else None for v in row], strict=True)) for row in grid[1:]]


# Workbooks that hold more than they show ---------------------------------------------------------------------------


def more_parts(path: Path, parts: dict[str, str]) -> Path:
    with zipfile.ZipFile(path, "a") as packed:
        for name, text in parts.items():
            packed.writestr(name, text)
    return path


@file
def book_with_pivot_records(t: Table, path: Path) -> object:
    """The records of a pivot table lie in the workbook."""
    made = book(t.wide(), path)
    records = "".join(f'<r><x v="{i}"/><n v="{int(t.counts[i, j])}"/></r>' for i, j in sorted(t.gaps))
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    text = f'<pivotCacheRecords xmlns="{main}" count="{len(t.gaps)}">{records}</pivotCacheRecords>'
    return more_parts(made, {"xl/pivotCache/pivotCacheRecords1.xml": text})


@file
def book_with_chart_of_whole_table(t: Table, path: Path) -> object:
    """A chart that was drawn before the gaps holds the counts."""
    made = book(t.wide(), path)
    points = "".join(
        f'<c:pt idx="{n}"><c:v>{int(t.counts[spot])}</c:v></c:pt>' for n, spot in enumerate(sorted(t.gaps))
    )
    chart = ('<c:chartSpace xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart"><c:chart><c:plotArea><c:val>'
             f"<c:numRef><c:f>Table!$B$2:$B$5</c:f><c:numCache>{points}</c:numCache></c:numRef></c:val></c:plotArea>"
             "</c:chart></c:chartSpace>")  # fmt: skip
    return more_parts(made, {"xl/charts/chart1.xml": chart})


# Several files that belong together --------------------------------------------------------------------------------

FOLDERS: dict[str, Callable[[Table, Path], object]] = {}


def folder(function: Callable[[Table, Path], object]) -> Callable[[Table, Path], object]:
    FOLDERS[function.__name__] = function
    return function


def _pair(t: Table, path: Path, one: Grid, two: Grid, sign: str = ",") -> Path:
    path.mkdir()
    save(path / "a", ".csv", to_text(one, sign))
    save(path / "b", ".csv", to_text(two, sign))
    return path


def _inner(t: Table) -> Grid:
    return [row[:-1] for row in t.wide()[:-1]]


def _of_rows(t: Table) -> Grid:
    return [[t.world.row_name, "persons"], *([t.world.rows[i], int(t.counts[i].sum())] for i in range(t.shape[0]))]


@folder
def folder_inner_and_margin(t: Table, path: Path) -> object:
    return _pair(t, path, _inner(t), _of_rows(t))


@folder
def folder_other_capitals(t: Table, path: Path) -> object:
    return _pair(t, path, _inner(t), [[v.upper() if isinstance(v, str) and r else v for v in row]
                                      for r, row in enumerate(_of_rows(t))])  # fmt: skip


@folder
def folder_other_blanks(t: Table, path: Path) -> object:
    return _pair(t, path, _inner(t), [[f" {v}\u00a0" if isinstance(v, str) and r else v for v in row]
                                      for r, row in enumerate(_of_rows(t))])  # fmt: skip


@folder
def folder_other_axis_name(t: Table, path: Path) -> object:
    margin = _of_rows(t)
    return _pair(t, path, _inner(t), [["Place of residence", "persons"], *margin[1:]])


@folder
def folder_codes_in_one(t: Table, path: Path) -> object:
    margin = _of_rows(t)
    return _pair(t, path, _inner(t), [margin[0], *([f"{11 + n} {row[0]}", row[1]] for n, row in enumerate(margin[1:]))])


@folder
def folder_code_column_in_one(t: Table, path: Path) -> object:
    margin = _of_rows(t)
    return _pair(t, path, _inner(t), [["code", *margin[0]], *([11 + n, *row] for n, row in enumerate(margin[1:]))])


@folder
def folder_total_in_one(t: Table, path: Path) -> object:
    margin = _of_rows(t)
    return _pair(t, path, _inner(t), [*margin, [t.world.total, int(t.counts.sum())]])


@folder
def folder_other_order(t: Table, path: Path) -> object:
    margin = _of_rows(t)
    return _pair(t, path, _inner(t), [margin[0], *margin[:0:-1]])


@folder
def folder_marks_in_one(t: Table, path: Path) -> object:
    margin = _of_rows(t)
    return _pair(t, path, _inner(t), [margin[0], *([f"{row[0]}¹" if n == 0 else row[0], row[1]]
                                                   for n, row in enumerate(margin[1:]))])  # fmt: skip


@folder
def folder_other_form(t: Table, path: Path) -> object:
    """The inner table is long, in Excel; the margin a text."""
    path.mkdir()
    rows = [r for r in lay.long(t) if t.world.total not in r]
    book(rows, path / "a")
    return save(path / "b", ".csv", to_text(_of_rows(t), ";")).parent


@folder
def folder_same_name_of_counts(t: Table, path: Path) -> object:
    """Both call their counts `count`, and the margin is tidy."""
    rows = [r for r in lay.long(t) if t.world.total not in r]
    return _pair(t, path, [[*rows[0][:2], "count"], *rows[1:]], [[t.world.row_name, "count"], *_of_rows(t)[1:]])


@folder
def folder_one_more_category(t: Table, path: Path) -> object:
    """The margin lists one more place, which the cross table omits."""
    return _pair(t, path, _inner(t), [*_of_rows(t), ["Abroad", 77]])


@folder
def folder_in_titles(t: Table, path: Path) -> object:
    return _pair(t, path, [[t.world.title], [], *_inner(t), [], [t.world.foot]], [[t.world.title], [], *_of_rows(t)])
