"""Which engine reads which data. A new one is a function in an engine and a line here."""

import glob
from collections.abc import Callable, Mapping
from pathlib import Path

from safemargin.core import InputError
from safemargin.io.duck import DuckSource, open_csv, open_csv_parts, open_json, open_memory, open_parquet, open_parts
from safemargin.io.files import require_file, suffix
from safemargin.io.office import open_encoded, open_excel, open_px, open_spss, open_stata, sheet_names
from safemargin.io.places import Address, is_address
from safemargin.io.postgres import open_postgres
from safemargin.io.rows import Countable, Source
from safemargin.io.spark import open_lake, open_spark
from safemargin.io.sqlite import SqliteSource, open_sqlite, table_names

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
    ".xlsx": open_excel,
    ".px": open_px,
    ".sav": open_spss,
    ".dta": open_stata,
}
COUNTING = ("duckdb", "spark")
POSTGRES = ("postgresql", "postgres")
TABLES: Mapping[Callable[[Path, str | None], Source], Callable[[Path], tuple[str, ...]]] = {
    open_sqlite: table_names,
    open_excel: sheet_names,
}
"""Engines for files that hold several tables, and what lists these."""


def open_counted(
    location: Path | Address,
    table: str | None = None,
    encoding: str | None = None,
    engine: str = "duckdb",
    master: str | None = None,
) -> Countable:
    """The table in a file or at an address, to be counted by an engine; `master` is the cluster of Spark."""
    if engine not in COUNTING:
        raise InputError(f"engine = {engine[:60]!r}: must be {' or '.join(COUNTING)}")
    if master is not None and engine != "spark":
        raise InputError(f"master = {master[:60]!r}: is the cluster of Spark; set engine = 'spark', or remove it")
    if isinstance(location, Address):
        if encoding is not None:
            raise InputError(f"data.encoding = {encoding[:60]!r}: only CSV files need it; remove it")
        if location.scheme in POSTGRES:
            if engine == "spark":
                raise InputError(f"{location.shown}: PostgreSQL counts by itself; remove engine = 'spark'")
            return open_postgres(location, table)
        if engine != "spark":
            raise InputError(f"{location.shown}: only Spark reads this address; set engine = 'spark'")
        if table is not None:
            raise InputError(f"data.table = {table!r}: only databases and Excel files hold tables; remove it")
        return open_lake(location, master)
    if engine != "spark":
        return open_source(location, table, encoding)
    if table is not None or encoding is not None:
        raise InputError(f"{location}: Spark reads no data.table and no data.encoding; use engine = 'duckdb'")
    return open_spark(location, parts_of(location), master)


def open_records(data: object, engine: str = "duckdb", master: str | None = None) -> Source | Countable:
    """Records in a file or in memory, for work that needs every row; only files can be read by the engine `spark`."""
    if engine == "duckdb" and master is None:
        return open_data(data)
    if not isinstance(data, str | Path):
        raise InputError(f"engine = {engine[:60]!r}: reads files; write the records to one, or use 'duckdb'")
    place = Address(str(data)) if is_address(str(data)) else Path(data)
    return open_counted(place, engine=engine, master=master)


def open_source(path: Path, table: str | None = None, encoding: str | None = None) -> Source:
    """The table in a file, by the engine for its ending; `encoding` is that of a CSV file that is not UTF-8."""
    if (parts := parts_of(path)) is not None:
        if table is not None or encoding is not None:
            raise InputError(f"{path}: several files have no data.table and no data.encoding; remove it")
        is_csv = bool(parts) and suffix(parts[0]) in CSV
        return open_csv_parts(path, parts) if is_csv else open_parts(path, parts)
    require_file(path)
    engine = ENGINES.get(suffix(path))
    if engine is None:
        raise InputError(
            f"{path}: no engine reads {suffix(path) or 'files without an ending'!r}; use {', '.join(ENGINES)}"
        )
    if table is not None and engine not in TABLES:
        raise InputError(f"data.table = {table!r}: only SQLite and Excel files hold tables; {path} is one table")
    if encoding is not None:
        if engine is not open_csv:
            raise InputError(f"data.encoding = {encoding[:60]!r}: only CSV files need it; remove it for {path}")
        return open_encoded(path, encoding)
    return engine(path, table)


CSV = (".csv", ".tsv")


def parts_of(path: Path) -> tuple[Path, ...] | None:
    """The Parquet or CSV files of a folder, or of a pattern such as `votes/*.csv`; none where it names one file.

    A pattern that no shell expanded arrives here as it was typed. Hidden files are no part of a folder. A folder of
    both kinds is refused: whichever was read, rows would be missing.
    """
    try:
        if path.is_dir() and suffix(path) not in ENGINES:
            named = [file for file in path.rglob("*") if not file.name.startswith(".") and file.is_file()]
        elif path.exists() or not glob.has_magic(str(path)):
            return None
        else:
            named = [Path(name) for name in glob.glob(str(path), recursive=True)]
    except (OSError, ValueError):  # a name that no file can have: the message comes when it is opened
        return None
    parquet = tuple(sorted(file for file in named if suffix(file) == ".parquet"))
    lists = tuple(sorted(file for file in named if suffix(file) in CSV))
    if parquet and lists:
        raise InputError(f"{path}: holds Parquet and CSV files; name one kind with a pattern, such as *.csv")
    return parquet or lists


def tables_in(path: Path) -> tuple[str, ...]:
    """The tables of a file that may hold several; none where the file is one table."""
    listed = TABLES.get(ENGINES.get(suffix(path), open_csv))
    return () if listed is None else listed(path)


def open_data(data: object) -> Source:
    """The table in a file, a DataFrame, an Arrow table or rows, whichever `data` is."""
    if isinstance(data, str | Path):
        return open_source(Path(data))
    return data if isinstance(data, DuckSource | SqliteSource) else open_memory(data)
