"""All tables that somebody names: files, folders, patterns, sheets, data in memory; and the names that link them.

Tables are read together. Axes of the same name are one axis, whatever its capitals. The axis across of a cross table
that has no name takes that of another table with the same categories.
"""

import csv
import glob
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from safemargin.core import InputError
from safemargin.io.combined import Hierarchies
from safemargin.io.files import MOST_COLUMNS, read_text, require_file, suffix
from safemargin.io.reading.columns import COUNTS
from safemargin.io.reading.joined import joined_sheets
from safemargin.io.reading.labels import ACROSS
from safemargin.io.reading.options import ReadingOptions, as_reading
from safemargin.io.reading.read import grids_of, read_grid, read_sheet_table
from safemargin.io.reading.table import ReadTable
from safemargin.io.reading.unlinked import unlinked
from safemargin.io.reading.unseen import unseen
from safemargin.io.rows import Sheet
from safemargin.io.sdmx import of_observations
from safemargin.io.sheets import read_any_sheet

TABLES = (
    ".csv",
    ".tsv",
    ".txt",
    ".xlsx",
    ".xls",
    ".ods",
    ".parquet",
    ".arrow",
    ".feather",
    ".px",
    ".tab",
    ".sav",
    ".dta",
    ".json",
)
"""Endings of files of a folder that may be tables."""
NO_TABLES = ("manifest.json", "certificate.json", "session_summary.csv", "proposals.json")
SMALL = 4
"""Cells from which on a sheet is a table beside others."""
COVER = re.compile(
    r"read ?me|cover|contents?|index|\bnotes?|info|about|meta|legend|glossary|deckblatt|inhalt|titel|impressum|"
    r"vorbemerk|erläut|hinweis|sommaire|notice|lisez|portada|índice|notas|leeswijzer|toelichting|innehåll|informa",
    re.I,
)
"""Names of sheets that are about the tables."""
BY_SHEET = (".px", ".tab")
"""Formats that are read by their own rules alone."""


def load(
    data: Any,
    *,
    count: str = "count",
    option: str = "option",
    reading: ReadingOptions | Mapping[str, Any] | Sequence[str] | None = None,
) -> ReadTable:
    """Read one table as it is found: a file of any format, a DataFrame, an Arrow table or rows.

    `reading` corrects how it is read (`{"totals": "All", "suppressed": "1-4"}`, see the options of `audit`). The result
    states what it was taken for: axes, which labels are sums, gaps with the range of each, notes, and doubts. An
    error if the file holds several tables; name one with `sheet`.
    """
    reads = read_all([data], count=count, option=option, reading=as_reading(reading))
    if len(reads) > 1:
        raise InputError(
            f"{data}: holds {len(reads)} tables; name one of them as sheet: {', '.join(r.form.sheet for r in reads)}"
        )
    return reads[0]


def read_all(
    files: Sequence[object],
    *,
    count: str = "count",
    option: str = "option",
    axes: tuple[str, ...] | None = None,
    skip: Sequence[tuple[str, str]] = (),
    hierarchies: Hierarchies | None = None,
    reading: ReadingOptions | None = None,
    trusted: bool = False,
) -> tuple[ReadTable, ...]:
    """The tables of all files: tidy ones, the outputs of other tools, and tables as they are found.

    `count` and `option` name the columns of counts and answers, `axes` those of axes. A folder or pattern stands for
    all tables in it. With `trusted`, sums of tidy tables have a name.
    """
    reading = reading or ReadingOptions()
    items = [item for file in files for item in _expanded(file)]
    reads: list[ReadTable] = []
    for number, item in enumerate(items, 1):
        name = f"table {number}" if len(items) > 1 else "table"
        doubts = unseen(item, reading.sheet) if isinstance(item, Path) else []
        found = _tables_of(item, name, count, option, axes, skip, hierarchies or {}, reading, trusted)
        reads += [found[0].doubted(*doubts), *found[1:]] if doubts else found
    reads = _linked(reads)
    names = dict.fromkeys(axis.name for read in reads for axis in read.axes)
    for axis_name in hierarchies or {}:
        if axis_name not in names:
            listed = ", ".join(names) or "(none)"
            raise InputError(f"--hierarchy {axis_name}: there is no such axis; the axes are {listed}")
    return tuple(reads)


def _expanded(file: object) -> list[object]:
    """The files of a folder or pattern; else what was given."""
    if not isinstance(file, str | Path):
        return [file]
    path = Path(file)
    try:
        is_folder, exists = path.is_dir(), path.exists()
    except (OSError, ValueError):
        return [path]
    if is_folder:
        inside = sorted(part for part in path.iterdir() if _may_be_table(part))
        if not inside:
            raise InputError(f"{path}: the folder holds no table")
        return list(inside)
    if not exists and glob.has_magic(str(path)):
        found = sorted(Path(name) for name in glob.glob(str(path), recursive=True))
        if not found:
            raise InputError(f"{path}: no file has such a name")
        return [*found]
    return [path]


def _may_be_table(path: Path) -> bool:
    return (
        path.is_file()
        and suffix(path) in TABLES
        and path.name not in NO_TABLES
        and not path.name.startswith((".", "~$"))
    )


def _tables_of(
    item: object, name: str, count: str, option: str, axes: tuple[str, ...] | None, skip: Sequence[tuple[str, str]],
    hierarchies: Hierarchies, reading: ReadingOptions, trusted: bool,
) -> list[ReadTable]:  # fmt: skip
    sheet = None
    if not reading.is_about_layout or (isinstance(item, Path) and suffix(item) in BY_SHEET):
        sheet = _sheet(item, name, count)
    if sheet is not None:
        found = read_sheet_table(
            sheet,
            count=count,
            option=option,
            axes=axes,
            skip=skip,
            hierarchies=hierarchies,
            reading=reading,
            trusted=trusted,
        )
        if found is not None:
            return [found]
    grids = grids_of(item, name, reading)
    if any(cell == "UNIT_MULT" for grid in grids for cell in (grid.rows or ((),))[0]):
        raise InputError(
            f"{grids[0].name}: states units (UNIT_MULT), which plain SDMX-CSV alone may: no options, no symbols"
        )
    reads, failed = [], []
    for grid in grids:
        try:
            read = read_grid(grid, count=count, option=option, axes=axes, skip=skip, reading=reading, own=trusted)
            reads.append(read)
        except InputError as error:
            failed.append((grid, error))
    if not reads or (failed and len(grids) == 1):
        raise failed[0][1]
    reads = _without_covers(reads)
    if (one := joined_sheets(reads, reading)) is not None:
        reads = [one]
    if failed:
        words = [
            f"sheet {grid.sheet!r} is not used: {str(error).partition(': ')[2] or error}" for grid, error in failed
        ]
        texts_only = [_holds_no_number(grid.rows) for grid, _ in failed]
        for said, is_text in zip(words, texts_only, strict=True):
            reads[0] = reads[0].noted(said) if is_text else reads[0].doubted(said)
    return reads


def _without_covers(reads: list[ReadTable]) -> list[ReadTable]:
    """The sheets of a workbook less those that list contents, or state whom to call, with a note on another one.

    A sheet without a name of that kind is skipped only if it holds one number, and that is a doubt.
    """
    large = [read for read in reads if len(read.cells.lower) >= SMALL]
    kept = list(reads)
    for read in reads:
        is_cover = COVER.search(read.form.sheet) is not None and not read.checked
        if read in large[:1] or not large or not (is_cover or len(read.cells.lower) == 1):
            continue
        kept.remove(read)
        at = kept.index(next(other for other in large if other in kept))
        words = f"sheet {read.form.sheet!r} is not used: it holds no table"
        kept[at] = kept[at].noted(words) if is_cover else kept[at].doubted(words)
    return kept


def _holds_no_number(rows: Sequence[Sequence[object]]) -> bool:
    """Whether a sheet is a cover or a list of notes: few numbers among its cells."""
    cells = [cell for row in rows for cell in row if cell is not None]
    return sum(not isinstance(cell, str) or cell.strip().isdigit() for cell in cells) * 5 < len(cells)


def _sheet(item: object, name: str, count: str) -> Sheet | None:
    """The sheet of a file that has names of columns in its first row; None where it is not as simple."""
    if isinstance(item, Path):
        require_file(item)
        if suffix(item) in (".json", ".jsonl", ".ndjson", ".sqlite", ".sqlite3", ".db", ".arrow", ".feather", ".ipc"):
            return None
        if suffix(item) in BY_SHEET:
            return of_observations(read_any_sheet(item, name), count)
    try:
        sheet = read_any_sheet(item, name)
    except InputError:
        if isinstance(item, Path) and suffix(item) in (".parquet", ".sav", ".dta"):
            raise
        if isinstance(item, Path) and _first_is_tidy(item, count):
            raise
        return None
    return of_observations(sheet, count)


def _first_is_tidy(path: Path, count: str) -> bool:
    """Whether the first line of a text file is the header of a tidy table: then an error in it is an error."""
    try:
        with path.open("rb") as file:
            first = file.readline(100_000).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return False
    fields = {text.strip().strip('"') for sign in ",;\t" for text in first.strip().split(sign)}
    return bool({count, "people"} & fields) and len(fields) <= MOST_COLUMNS and bool({"option", "status"} & fields)


def _linked(reads: list[ReadTable]) -> list[ReadTable]:
    """Tables whose axes have one name for one thing."""
    spelling: dict[str, str] = {}
    for read in reads:
        for axis in read.axes:
            spelling.setdefault(" ".join(axis.name.casefold().split()), axis.name)
    linked = []
    for read in reads:
        names = {axis.name: spelling[" ".join(axis.name.casefold().split())] for axis in read.axes}
        changed = {old: new for old, new in names.items() if old != new and new not in names}  # `TIME` beside `Time`
        read = read.renamed(changed)
        linked.append(read.noted(*(f"axis {old!r} is {new!r} of another table" for old, new in changed.items())))
    named = [_named_across(read, linked) for read in linked]
    placed = [_placed(read, named) for read in named]
    return [read.doubted(*unlinked(read, placed[:number])) for number, read in enumerate(placed)]


def _placed(read: ReadTable, reads: Sequence[ReadTable]) -> ReadTable:
    """A table of one column of counts whose name is a category of another table: then it counts that category."""
    counted = read.form.counts
    if not counted or counted.lower() in COUNTS or read.form.is_tidy:
        return read
    for other in reads:
        for axis in other.axes:
            if other is not read and axis.name not in {own.name for own in read.axes} and counted in axis.categories:
                return read.within(axis.name, counted)
    return read


def _named_across(read: ReadTable, reads: Sequence[ReadTable]) -> ReadTable:
    """A cross table with a name for its axis across: of ACRO's summary, or of a table with the same categories."""
    across = next((axis for axis in read.axes if axis.name == ACROSS), None)
    if across is None:
        return read
    down = {axis.name for axis in read.axes}
    categories = set(across.categories)
    if (named := _of_summary(read, down)) is not None:
        return read.renamed({ACROSS: named})
    for other in reads:
        for axis in other.axes:
            if axis.name not in down and categories <= set(axis.labels):
                return read.renamed({ACROSS: axis.name})
    for other in reads:
        if other is read:
            return read
        theirs = next((axis for axis in other.axes if axis.name == ACROSS), None)
        if theirs is not None and not categories & set(theirs.categories):
            note = "its columns are another axis than those of other tables"
            return read.renamed({ACROSS: f"{ACROSS} of {read.name}"}).noted(note)
    return read


def _of_summary(read: ReadTable, down: set[str]) -> str | None:
    """The name of the axis across in the `session_summary.csv` that ACRO leaves beside its tables."""
    path = read.form.path
    summary = path.parent / "session_summary.csv" if path is not None else None
    if path is None or summary is None or not summary.is_file():
        return None
    try:
        records = list(csv.DictReader(read_text(summary).splitlines(), restval=""))
    except csv.Error as error:
        raise InputError(f"{summary}: cannot be read: {error}") from None
    for record in records:
        if path.stem.startswith(f"{record.get('uid', '')}_"):
            used = [name.strip() for name in record.get("independent_variables", "").split(";")]
            left = [name for name in used if name and name not in down]
            if len(left) == 1:
                return left[0]
    return None
