"""Tables as files: CSV, Parquet, JSON, PX and SDMX-CSV, from tidy rows."""

import csv
import io
import warnings
from collections.abc import Callable, Mapping, Sequence

import duckdb
import numpy as np

from safemargin.core import PublishedTable, label
from safemargin.io.folder import json_bytes
from safemargin.io.interrupts import interruptible
from safemargin.io.px import px_bytes
from safemargin.io.rows import is_formula, quoted
from safemargin.io.scratch import scratch_folder
from safemargin.io.sdmx import observations


class FormulaWarning(UserWarning):
    """A label in a CSV file that a spreadsheet would run as a formula."""


def quoted_formulas(rows: Sequence[Mapping[str, object]]) -> list[dict[str, object]]:
    """Rows with an apostrophe before labels that a spreadsheet would run; `unquoted` takes it away."""
    return [{name: _quoted(text) if isinstance(text, str) else text for name, text in row.items()} for row in rows]


def _quoted(text: str) -> str:
    return f"'{text}" if is_formula(text.lstrip("'")) else text


def roll_bytes(roll: PublishedTable) -> bytes:
    """A roll as CSV with quoted labels, each of which is written once, not once per row: there may be a million."""
    labels = [np.array([_quoted(label(group)) for group in groups], dtype=object) for groups in roll.groups]
    columns = [names[codes] for names, codes in zip(labels, roll.codes.T, strict=True)]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*roll.axes, roll.measure])
    writer.writerows(zip(*columns, roll.lower.tolist(), strict=True))
    return text.getvalue().encode()


def csv_bytes(rows: Sequence[Mapping[str, object]]) -> bytes:
    labels = dict.fromkeys(value for row in rows for value in row.values() if isinstance(value, str))
    if formulas := list(filter(is_formula, labels)):
        more = f" (and {len(formulas) - 1:,} more)" if len(formulas) > 1 else ""
        message = (
            f"{formulas[0][:60]!r}{more}: a spreadsheet takes this label for a formula; rename it, or set "
            "outputs.quote_formulas"
        )
        warnings.warn(message, FormulaWarning, stacklevel=2)
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def parquet_bytes(rows: Sequence[Mapping[str, object]]) -> bytes:
    columns = list(rows[0])
    types = {"count": "BIGINT", "people": "BIGINT"}
    declared = ", ".join(f"{quoted(name)} {types.get(name, 'VARCHAR')}" for name in columns)
    with scratch_folder() as folder, duckdb.connect() as database, interruptible(database):
        database.execute(f"CREATE TABLE tidy ({declared})")
        marks = ", ".join("?" for _ in columns)
        database.executemany(f"INSERT INTO tidy VALUES ({marks})", [[row[name] for name in columns] for row in rows])
        path = folder / "tidy.parquet"
        database.execute("COPY tidy TO ? (FORMAT parquet)", [str(path)])
        return path.read_bytes()


WRITERS: Mapping[str, Callable[[Sequence[Mapping[str, object]]], bytes]] = {
    "csv": csv_bytes,
    "parquet": parquet_bytes,
    "json": json_bytes,
    "px": px_bytes,
    "sdmx.csv": lambda rows: csv_bytes(observations(rows)),
}
"""Formats that a table can be published in, by the ending of the file."""
