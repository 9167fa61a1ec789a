"""Files as columns of texts under one row of names: what tidy tables and outputs of other tools are read from."""

import csv
from pathlib import Path
from typing import Any

from safemargin.core import InputError, TooLargeError
from safemargin.io.duck import DuckSource, open_memory, open_parquet
from safemargin.io.files import check_names, csv_records, numbered_lines, require_file, suffix
from safemargin.io.office import open_excel, open_spss, open_stata
from safemargin.io.px import read_px
from safemargin.io.rows import VALUE, Sheet

READ_WHOLE = {".parquet": open_parquet, ".xlsx": open_excel, ".sav": open_spss, ".dta": open_stata}
TAB = ("value", "freq", "cost", "status", "lower", "upper")
MOST_VALUES, MOST_BYTES = 12_000_000, 256 * 2**20
"""Values of a table that is held in memory as texts, and their bytes: a file of a kilobyte can state any number."""


def read_sheet(data: object, name: str = "table") -> Sheet:
    """The columns of a CSV, Parquet, Excel, SPSS or Stata file, or of data in memory, as texts; absent is empty."""
    if not isinstance(data, str | Path):
        return _sheet_of(open_memory(data, name))
    path = Path(data)
    require_file(path)
    if (opened := READ_WHOLE.get(suffix(path))) is not None:
        return _sheet_of(opened(path))
    records = csv_records(path)
    _, names = next(records)
    check_names(path, names)
    lines: list[int] = []
    fields: list[list[str]] = []
    for line, record in records:
        lines.append(line)
        fields.append(record)
    if not lines and len(names) == 1 and sum(1 for _ in numbered_lines(path)) > 1:  # its one cell is suppressed
        lines, fields = [2], [[""]]
    if not lines:
        raise InputError(f"{path}: the table is empty")
    return Sheet(path, dict(zip(names, zip(*fields, strict=True), strict=True)), lines)


def _sheet_of(source: DuckSource) -> Sheet:
    shown = ", ".join(f"coalesce({field}::varchar, '')" for field in source.fields.values())
    with source.connected() as database:
        database.execute("set preserve_insertion_order = true")
        _check_size(source, database)
        records = database.execute(f"select {shown} from {source.scan}").fetchall()
    if not records:
        raise InputError(f"{source.path}: the table is empty")
    columns = dict(zip(source.columns, zip(*records, strict=True), strict=True))
    return Sheet(source.path, columns, range(1, len(records) + 1), "row")


def _check_size(source: DuckSource, database: Any) -> None:
    """Refuse a table that is too large to be held as texts, before it is."""
    ((rows,),) = database.execute(f"select count(*) from {source.scan}").fetchall()
    if rows * len(source.columns) > MOST_VALUES:
        raise TooLargeError(
            f"{source.path}: has {rows:,} rows of {len(source.columns)} columns, too many for a table of counts"
        )
    sizes = " + ".join(f"coalesce(sum(strlen({field}::varchar)), 0)" for field in source.fields.values())
    ((size,),) = database.execute(f"select {sizes} from {source.scan}").fetchall()
    if size > MOST_BYTES:
        raise TooLargeError(f"{source.path}: its texts have {size:,} bytes, more than {MOST_BYTES:,}; is it a table?")


def read_any_sheet(data: object, name: str = "table") -> Sheet:
    """As `read_sheet`, PX files too; a `.tab` of tau-ARGUS without a header has axes called `axis1`, `axis2` and on."""
    path = Path(data) if isinstance(data, str | Path) else Path(name)
    if path.suffix.lower() == ".px":
        columns = read_px(path)
        return Sheet(path, columns, range(1, len(columns[VALUE]) + 1), "value")
    if path.suffix.lower() != ".tab":
        return read_sheet(data, name)
    records = [record for record in csv.reader(numbered_lines(path), delimiter=";") if record]
    width = len(records[0]) - len(TAB) if records else 0
    if width < 1 or any(len(record) != width + len(TAB) for record in records):
        raise InputError(f"{path}: a .tab file has codes;value;freq;cost;status;lower;upper in every line")
    head = [text.strip() for text in records[0]]
    has_head = head[-3].lower() == TAB[-3]
    names = [*(head[:width] if has_head else (f"axis{number}" for number in range(1, width + 1))), *TAB]
    rows = records[1:] if has_head else records
    tab = {name: [record[column].strip() for record in rows] for column, name in enumerate(names)}
    return Sheet(path, tab, range(1 + has_head, len(records) + 1))
