"""Which engine reads which data. A new one is a function in an engine and a line here."""

from collections.abc import Callable, Mapping
from pathlib import Path

from safemargin.core import InputError
from safemargin.io.duck import DuckSource, open_csv, open_json, open_memory, open_parquet
from safemargin.io.files import Source, require_file, suffix
from safemargin.io.sqlite import SqliteSource, open_sqlite

ENGINES: Mapping[str, Callable[[Path, str | None], Source]] = {
    ".csv": open_csv,
    ".tsv": open_csv,
    ".txt": open_csv,
    ".parquet": open_parquet,
    ".jsonl": open_json,
    ".ndjson": open_json,
    ".json": open_json,
    ".sqlite": open_sqlite,
    ".sqlite3": open_sqlite,
    ".db": open_sqlite,
}


def open_source(path: Path, table: str | None = None) -> Source:
    """The table in a file, by the engine for its ending."""
    require_file(path)
    engine = ENGINES.get(suffix(path))
    if engine is None:
        raise InputError(
            f"{path}: no engine reads {suffix(path) or 'files without an ending'!r}; use {', '.join(ENGINES)}"
        )
    if table is not None and engine is not open_sqlite:
        raise InputError(f"data.table = {table!r}: only SQLite files hold tables; {path} is one table")
    return engine(path, table)


def open_data(data: object, table: str | None = None) -> Source:
    """The table in a file, a DataFrame, an Arrow table or rows, whichever `data` is."""
    if isinstance(data, str | Path):
        return open_source(Path(data), table)
    return data if isinstance(data, DuckSource | SqliteSource) else open_memory(data)
