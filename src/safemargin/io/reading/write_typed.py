"""Formats with types, with gaps: the columns, types and rows of the file that was read, and null for each gap.

JSON has no place for a footnote. A column of statuses, where there is one, says `suppressed`. Of a JSON object, or of a
database, only the table is written: what stands beside it may state what is suppressed. What was written is read again,
and holds what it should and nothing else, or is not returned.
"""

import io
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from safemargin.core import InputError
from safemargin.io.duck import DuckSource, literal, open_memory, open_parquet
from safemargin.io.files import parse_json, read_text
from safemargin.io.reading.grid import Cell, TextGrid, cleaned, shown
from safemargin.io.reading.typed import NUMERIC, json_grids, source_grid, sqlite_grids, statistics_grids
from safemargin.io.reading.write_cube import cube_of, gapped_cube
from safemargin.io.reading.write_database import byte_columns, sqlite_bytes
from safemargin.io.reading.write_statistics import statistics_bytes
from safemargin.io.rows import quoted
from safemargin.io.scratch import scratch_folder
from safemargin.io.sqlite import table_names

ARROWS, JSONS, LINES = ("arrow", "feather", "ipc"), ("json", "jsonl", "ndjson"), ("jsonl", "ndjson")
DATABASES, STATISTICS = ("sqlite", "sqlite3", "db"), ("sav", "dta")
TYPED = ("parquet", *ARROWS, *JSONS, *DATABASES, *STATISTICS)
GAPPED = "suppressed"
FOOTNOTE = "* suppressed, so that no small count can be inferred"
ROW = "(row)"
SIMPLE = frozenset(("VARCHAR", "BOOLEAN", "DATE", "TIME", "UUID"))
"""Types of columns, beside numbers and timestamps, that are written; another one may hold anything."""
Changes = dict[tuple[int, int], Cell]
"""By row and column of a grid, what stands there from now on."""
Spot = tuple[Any, Any]
"""What holds a value of a JSON file, and its key or place in it."""


def typed_source(path: Path, kind: str) -> DuckSource:
    """A Parquet or Arrow file."""
    if kind == "parquet":
        return open_parquet(path)
    return open_memory(import_module("pyarrow.feather").read_table(str(path)), str(path))


def typed_grid(path: Path, kind: str, sheet: str = "") -> TextGrid | None:
    """The cells of a file; None for a database of several tables."""
    if kind in DATABASES:
        grids = sqlite_grids(path, sheet)
        return replace(grids[0], sheet=sheet or table_names(path)[0]) if len(grids) == 1 else None
    if kind in STATISTICS:
        return statistics_grids(path)[0]
    if kind not in JSONS:
        return source_grid(typed_source(path, kind))
    return json_grids(path)[0]


def typed_bytes(
    path: Path, kind: str, grid: TextGrid, rows: Sequence[Sequence[Cell]], order: Sequence[int] | None = None
) -> bytes:
    """The file with other `rows`: what differs from the `grid` is null, or the word of a status.

    With an `order`, rows are written in it; the row of names comes first.
    """
    changes = {
        (r, c): new
        for r, row in enumerate(rows)
        for c, new in enumerate(row)
        if new != grid.rows[r][c] or isinstance(new, str) != isinstance(grid.rows[r][c], str)
    }
    order = list(range(len(rows))) if order is None else order
    if kind in JSONS:
        content = _json(path, kind, grid, changes, order)
    elif kind in DATABASES:
        content = sqlite_bytes(path, grid, changes, order, FOOTNOTE.removeprefix("* "))
    elif kind in STATISTICS:
        content = statistics_bytes(path, kind, changes, order, GAPPED)
    else:
        content = _columns(path, kind, grid, changes, order)
    with scratch_folder() as folder:
        written = folder / f"table.{kind}"
        written.write_bytes(content)
        try:
            again = typed_grid(written, kind, grid.sheet)
        except InputError:
            again = None
    if again is None or not _is_alike(again.rows, [rows[row] for row in order]):
        raise InputError(f"{path}: cannot be written with gaps; save it as CSV")
    return content


def _is_alike(written: Sequence[Sequence[Cell]], rows: Sequence[Sequence[Cell]]) -> bool:
    """Whether a file that was written holds what it should, and nothing else."""
    width = max(len(row) for row in (*written, *rows))
    one, other = ([[*map(shown, row), *[""] * (width - len(row))] for row in table] for table in (written, rows))
    return len(one) == len(other) and one == other


def _columns(path: Path, kind: str, grid: TextGrid, changes: Changes, order: Sequence[int]) -> bytes:
    source = typed_source(path, kind)
    with source.connected() as database:
        database.execute("set preserve_insertion_order = true")
        database.execute("set threads = 1")
        columns = database.execute(f"describe select * from {source.scan}").fetchall()
        wanted = []
        for c, (name, (held, sort, *_)) in enumerate(zip(source.columns, columns, strict=True)):
            said = {r: new for (r, column), new in changes.items() if column == c}
            cases = [
                f"when {quoted(ROW)} in ({', '.join(str(r) for r in said if said[r] == new)}) then "
                f"{'null' if new is None else literal(shown(new))}::{sort}"
                for new in dict.fromkeys(said.values())
            ]
            text = f"case {' '.join(cases)} else {quoted(held)} end" if cases else quoted(held)
            wanted.append(f"{text} as {quoted(name)}")
        query = (
            f"select {', '.join(wanted)} from (select *, row_number() over () as {quoted(ROW)} from {source.scan}) "
            f"order by list_position({list(order[1:])}, {quoted(ROW)})"
        )
        if kind != "parquet":
            content = io.BytesIO()
            table = database.execute(query).to_arrow_table()
            import_module("pyarrow.feather").write_feather(table, content)
            return content.getvalue()
        with scratch_folder() as folder:
            written = folder / "table.parquet"
            noted = f"kv_metadata {{note: {literal(FOOTNOTE.removeprefix('* '))}}}"
            database.execute(f"copy ({query}) to {literal(str(written))} (format parquet, {noted})")
            return written.read_bytes()


def opaque_columns(path: Path, kind: str, grid: TextGrid) -> set[int]:
    """Columns of lists, structures or bytes, which may hold anything."""
    if kind in DATABASES:
        return byte_columns(path, grid.sheet)
    if kind in (*JSONS, *STATISTICS):
        return set()
    source = typed_source(path, kind)
    with source.connected() as database:
        kinds = [row[1] for row in database.execute(f"describe select * from {source.scan}").fetchall()]
    return {
        c
        for c, sort in enumerate(kinds)
        if sort.split("(")[0] not in SIMPLE | NUMERIC and not sort.startswith("TIMESTAMP") or sort.endswith("]")
    }


def _json(path: Path, kind: str, grid: TextGrid, changes: Changes, order: Sequence[int]) -> bytes:
    text = read_text(path)
    if kind in LINES:
        value: Any = [json.loads(line) for line in text.splitlines() if line.strip()]
        spot = _of_records(path, grid, value)
    else:
        value = parse_json(text, path)
        cube = cube_of(value)
        if cube is not None and order == list(range(len(order))):
            return (json.dumps(gapped_cube(cube, changes, grid, FOOTNOTE.removeprefix("* ")), ensure_ascii=False)
                    + "\n").encode()  # fmt: skip
        if cube is not None:
            raise InputError(f"{path}: its categories cannot be sorted, and their order bounds suppressed counts")
        value, spot = _form(path, grid, value)
    for (r, c), new in changes.items():
        holder, key = spot(r, c)
        holder[key] = True if isinstance(holder[key], bool) and new is not None else new
    if order != list(range(len(order))):
        value = _reordered(path, value, order)
    if kind in LINES:
        return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in value).encode()
    indent = 2 if "\n" in text.strip() else None
    return (json.dumps(value, ensure_ascii=False, indent=indent) + "\n").encode()


def _reordered(path: Path, value: Any, order: Sequence[int]) -> Any:
    """The rows of a document in another order; `order` counts the row of names, which a list of lists has too."""
    if isinstance(value, list):
        first = 0 if isinstance(value[0], list) else 1
        return [value[row - first] for row in order[first:]]
    lists = [part for part in value.values() if isinstance(part, list)]
    if set(value) >= {"columns", "data"}:
        index = value.get("index")
        moved = {"data": [value["data"][row - 1] for row in order[1:]]}
        if index is not None and index != list(range(len(index))):
            moved["index"] = [index[row - 1] for row in order[1:]]
        return {**value, **moved}
    if len(lists) == len(value) and len({len(part) for part in lists}) == 1 and len(lists[0]) == len(order) - 1:
        return {name: [part[row - 1] for row in order[1:]] for name, part in value.items()}  # columns by name
    if len(value) == 1 and lists:
        return {name: _reordered(path, part, order) for name, part in value.items()}
    raise InputError(f"{path}: its rows cannot be sorted by their labels, and their order bounds suppressed counts")


def _form(path: Path, grid: TextGrid, value: Any) -> tuple[Any, Callable[[int, int], Spot]]:
    """The table of a JSON document without what stands beside it, and where each of its cells is."""
    if isinstance(value, list):
        if isinstance(value[0], list):
            return value, lambda r, c: (value[r], c)
        return value, _of_records(path, grid, value)
    if isinstance(value.get("columns"), list) and isinstance(value.get("data"), list):
        return {name: value[name] for name in ("columns", "index", "data") if name in value}, _of_parts(value)
    parts = list(value.values())
    if len(parts) > 1 and all(isinstance(part, dict) and part for part in parts):
        return value, _by_name(value)
    lists = {name: part for name, part in value.items() if isinstance(part, list) and part}
    are_columns = len(lists) == len(value) and not any(isinstance(part[0], dict | list) for part in lists.values())
    if are_columns:
        names = list(value)
        return value, lambda r, c: (value[names[c]], r - 1)
    ((name, records),) = lists.items()
    table, spot = _form(path, grid, records)
    return {name: table}, spot


def _of_records(path: Path, grid: TextGrid, records: list[dict[str, Any]]) -> Callable[[int, int], Spot]:
    keys = {cleaned(str(key)): key for record in records for key in record}
    names = [shown(name) for name in grid.rows[0]]
    if any(isinstance(value, dict | list) for record in records for value in record.values()):
        raise InputError(f"{path}: a record holds another record")
    unread = {key for name, key in keys.items() if name not in names}
    if any(record.get(key) is not None for record in records for key in unread):
        raise InputError(f"{path}: cannot be written with gaps; save it as CSV")
    if len(records) != len(grid.rows) - 1 or not set(names) <= keys.keys():
        raise InputError(f"{path}: cannot be written with gaps; save it as CSV")
    return lambda r, c: (records[r - 1], keys[names[c]])


def _of_parts(frame: dict[str, Any]) -> Callable[[int, int], Spot]:
    data, index = frame["data"], frame.get("index")
    if not isinstance(index, list) or len(index) != len(data) or index == list(range(len(index))):
        return lambda r, c: (data[r - 1], c)
    width = max((len(key) if isinstance(key, list) else 1 for key in index), default=1)

    def spot(r: int, c: int) -> Spot:
        if c >= width:
            return data[r - 1], c - width
        return (index[r - 1], c) if isinstance(index[r - 1], list) else (index, r - 1)

    return spot


def _by_name(value: dict[str, dict[str, Any]]) -> Callable[[int, int], Spot]:
    names = list(value)
    inner = list(dict.fromkeys(key for part in value.values() for key in part))
    if all(key.isdigit() for key in inner):
        return lambda r, c: (value[names[c]], inner[r - 1])
    return lambda r, c: (value[names[r - 1]], inner[c - 1])
