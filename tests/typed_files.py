"""One table in files of all formats with types."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest


def documents(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The forms of a table in JSON, some with more beside the table."""
    names = list(rows[0])
    return {
        "records": rows,
        "inside": {"rows": rows, "least": "5002", "most": 5040},
        "lists": {name: [row[name] for row in rows] for name in names},
        "arrays": [names, *([*row.values()] for row in rows)],
        "split": {"columns": names, "index": [*range(len(rows))], "data": [[*row.values()] for row in rows]},
        "columns": {name: {str(n): row[name] for n, row in enumerate(rows)} for name in names},
    }


def write(path: Path, rows: list[dict[str, Any]], form: str) -> Path:
    if form in ("parquet", "arrow"):
        arrow = pytest.importorskip("pyarrow")
        table = arrow.Table.from_pylist(rows)
        module = pytest.importorskip("pyarrow.parquet" if form == "parquet" else "pyarrow.feather")
        (module.write_table if form == "parquet" else module.write_feather)(table, str(path))
    elif form in ("sav", "dta"):
        statistics_file(path, rows)
    elif form == "sqlite":
        database_file(path, rows)
    elif form == "lines":
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    else:
        path.write_text(json.dumps(documents(rows)[form]))
    return path


def statistics_file(path: Path, rows: list[dict[str, Any]]) -> None:
    """An SPSS or Stata file: its first axis has numbers with labels, a label of its counts states one of them."""
    library, pandas = pytest.importorskip("pyreadstat"), pytest.importorskip("pandas")
    areas = {float(n): area for n, area in enumerate(dict.fromkeys(row["area"] for row in rows), 1)}
    codes = {area: n for n, area in areas.items()}
    frame = pandas.DataFrame([{**row, "area": codes[row["area"]]} for row in rows])
    frame.columns = [name.replace(" ", "_") for name in frame.columns]
    names = {"area": areas, **({"count": {9999.0: "5002 of b"}} if "count" in frame else {})}
    library_write = library.write_sav if path.suffix == ".sav" else library.write_dta
    library_write(frame, str(path), file_label="5002 of b", column_labels={"area": "Area"}, variable_value_labels=names)


def database_file(path: Path, rows: list[dict[str, Any]]) -> None:
    """An SQLite database that keeps what was deleted, and the least count in the default of a column."""
    names = ", ".join(f'"{name}" {"INTEGER" if isinstance(rows[0][name], int) else "TEXT"}' for name in rows[0])
    with closing(sqlite3.connect(path)) as database:
        database.execute("pragma secure_delete = off")
        database.execute(f"create table cells ({names})")
        database.execute("create table old (text text default '5002')")
        places = ", ".join("?" * len(rows[0]))
        database.executemany(f"insert into cells values ({places})", [[*row.values()] for row in rows])
        database.execute("insert into old values ('5002 people in the north, b')")
        database.commit()
        database.execute("drop table old")
        database.commit()
