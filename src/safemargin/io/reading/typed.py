"""Formats that know names and types of columns: Parquet, Arrow, JSON, SQLite, SPSS, Stata, PX, and data in memory."""

from decimal import Decimal, InvalidOperation
from importlib import import_module
from pathlib import Path

from safemargin.core import InputError, TooLargeError
from safemargin.io.duck import DuckSource, open_json, open_memory, open_parquet
from safemargin.io.files import parse_json, read_text, require_file
from safemargin.io.office import open_spss, open_stata
from safemargin.io.reading.grid import MOST_CELLS, Cell, TextGrid, make_grid
from safemargin.io.reading.json_forms import json_rows
from safemargin.io.rows import quoted
from safemargin.io.sqlite import connected, table_names

NUMERIC = frozenset(
    "TINYINT SMALLINT INTEGER BIGINT HUGEINT UTINYINT USMALLINT UINTEGER UBIGINT UHUGEINT FLOAT DOUBLE DECIMAL".split()
)
MIDNIGHT = " 00:00:00"
MOST_BYTES = 128 * 2**20
"""Bytes of all texts of a table together: a file may state one long text for every row."""


def source_grid(source: DuckSource) -> TextGrid:
    """The columns of a table in a file or in memory, under one row of names."""
    names, fields = list(source.columns), list(source.fields.values())
    with source.connected() as database:
        database.execute("set preserve_insertion_order = true")
        kinds = [
            row[1] for row in database.execute(f"describe select {', '.join(fields)} from {source.scan}").fetchall()
        ]
        ((count,),) = database.execute(f"select count(*) from {source.scan}").fetchall()
        check_size(source.path, count, len(names))
        sizes = " + ".join(f"coalesce(sum(strlen({field}::varchar)), 0)" for field in fields)
        ((size,),) = database.execute(f"select {sizes} from {source.scan}").fetchall()
        if size > MOST_BYTES:
            raise TooLargeError(
                f"{source.path}: its texts have {size:,} bytes, more than {MOST_BYTES:,}; is it a table?"
            )
        texts = ", ".join(f"{field}::varchar" for field in fields)
        records = database.execute(f"select {texts} from {source.scan}").fetchall()
    for column, kind in enumerate(kinds):
        if kind.startswith("TIMESTAMP") and all((record[column] or MIDNIGHT).endswith(MIDNIGHT) for record in records):
            records = [  # days, as Excel shows them
                (*record[:column], (record[column] or "")[: -len(MIDNIGHT)] or None, *record[column + 1 :])
                for record in records
            ]
    numeric = [kind.split("(")[0] in NUMERIC for kind in kinds]
    rows: list[list[Cell]] = [[*names]]
    for record in records:
        rows.append([_number(text) if is_number else text for text, is_number in zip(record, numeric, strict=True)])
    grid = make_grid(source.path, rows, range(len(rows)), "row")
    return TextGrid(**{**vars(grid), "head": 1})


def check_size(path: Path, rows: int, columns: int) -> None:
    """Refuse a table that is too large to be looked at cell by cell."""
    if rows * columns > MOST_CELLS:
        raise TooLargeError(
            f"{path}: has {rows:,} rows of {columns} columns and is not tidy; save the table as tidy CSV"
        )


def _number(text: str | None) -> Cell:
    if text is None:
        return None
    try:
        value = Decimal(text)
    except InvalidOperation:
        return text
    if not value.is_finite():
        return None if value.is_nan() else text
    return int(value) if value == value.to_integral_value() and abs(value) < 10**30 else value


def parquet_grids(path: Path) -> list[TextGrid]:
    """A Parquet file."""
    return [source_grid(open_parquet(path))]


def arrow_grids(path: Path) -> list[TextGrid]:
    """An Arrow or Feather file, through pyarrow."""
    require_file(path)
    try:
        feather = import_module("pyarrow.feather")
    except ImportError:
        raise InputError(f"{path}: needs pyarrow; install it, or save the table as Parquet") from None
    try:
        return [source_grid(open_memory(feather.read_table(str(path)), str(path)))]
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read as an Arrow file: {' '.join(str(error).split())[:200]}") from None


def json_grids(path: Path) -> list[TextGrid]:
    """Records in JSON: a list, lines, or an object whose only list holds them."""
    if path.suffix.lower() != ".json":
        return [source_grid(open_json(path))]
    value = parse_json(read_text(path), path)
    if isinstance(value, dict):
        if (found := json_rows(path, value)) is not None:
            check_size(path, len(found), len(found[0]))
            grid = make_grid(path, [[_json_cell(path, cell) for cell in row] for row in found], word="row")
            return [TextGrid(**{**vars(grid), "head": 1})]
        lists = [part for part in value.values() if isinstance(part, list) and part]
        are_columns = len(lists) == len(value) and not any(isinstance(part[0], dict | list) for part in lists)
        if lists and are_columns and all(len(part) == len(lists[0]) for part in lists):
            value = [dict(zip(value, row, strict=True)) for row in zip(*lists, strict=True)]  # columns by name
        elif len(lists) == 1:
            value = lists[0]
    if not isinstance(value, list) or not value or not all(isinstance(row, dict | list) for row in value):
        raise InputError(f"{path}: holds no table; give a list of records")
    if isinstance(value[0], list):
        grid = make_grid(path, [[_json_cell(path, cell) for cell in row] for row in value], word="row")
        return [grid]
    names = list(dict.fromkeys(str(name) for row in value for name in row))
    check_size(path, len(value), len(names))
    rows: list[list[Cell]] = [[*names], *([_json_cell(path, row.get(name)) for name in names] for row in value)]
    grid = make_grid(path, rows, range(len(rows)), "record")
    return [TextGrid(**{**vars(grid), "head": 1})]


def _json_cell(path: Path, value: object) -> Cell:
    if isinstance(value, dict | list):
        raise InputError(f"{path}: a record holds another record: {str(value)[:60]!r}; give a flat table")
    if isinstance(value, float):
        return _number(repr(value))
    return value if value is None or isinstance(value, int) and not isinstance(value, bool) else str(value)


def sqlite_grids(path: Path, table: str = "") -> list[TextGrid]:
    """All tables of an SQLite file, or the one called `table`."""
    names = table_names(path)
    if table and table not in names:
        raise InputError(f"sheet = {table[:60]!r}: {path} has no such table; there are {', '.join(names)}")
    grids = []
    for name in [table] if table else names:
        with connected(path) as database:
            cursor = database.execute(f"select * from {quoted(name)} limit {MOST_CELLS + 1}")
            head = [column[0] for column in cursor.description]
            records = cursor.fetchmany(MOST_CELLS // max(len(head), 1) + 1)
        check_size(path, len(records), len(head))
        rows: list[list[Cell]] = [[*head], *([_json_cell(path, value) for value in record] for record in records)]
        grid = make_grid(path, rows, range(len(rows)), "row")
        grids.append(TextGrid(**{**vars(grid), "head": 1, "sheet": name if len(names) > 1 else ""}))
    if not grids:
        raise InputError(f"{path}: holds no table")
    return grids


def statistics_grids(path: Path) -> list[TextGrid]:
    """An SPSS or Stata file with its value labels."""
    return [_as_numbers(source_grid((open_spss if path.suffix.lower() == ".sav" else open_stata)(path)))]


def memory_grids(data: object, name: str) -> list[TextGrid]:
    """A DataFrame, an Arrow table or rows."""
    if hasattr(data, "reset_index") and hasattr(data, "index") and _is_labelled(data):
        data = data.reset_index()
    return [_as_numbers(source_grid(open_memory(data, name)))]


def _is_labelled(data: object) -> bool:
    """Whether a pandas frame has labels as its index, not the numbers of its rows."""
    index = getattr(data, "index", None)
    if index is None:
        return False
    is_named = getattr(index, "name", None) is not None or getattr(index, "nlevels", 1) > 1
    return is_named or str(getattr(index, "dtype", "")) in ("object", "str", "string", "category")


def _as_numbers(grid: TextGrid) -> TextGrid:
    """Texts that are integers as a program writes them are the integers they were."""
    rows = [grid.rows[0], *(tuple(_plain(cell) for cell in row) for row in grid.rows[1:])]
    return TextGrid(**{**vars(grid), "rows": tuple(rows)})


def _plain(cell: Cell) -> Cell:
    is_plain = isinstance(cell, str) and cell.isascii() and cell.isdigit() and (cell == "0" or cell[0] != "0")
    return int(str(cell)) if is_plain and len(str(cell)) < 30 else cell
