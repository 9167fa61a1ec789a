"""Records in any form as a file, and a folder for the result until it is written or dropped."""

import json
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb

from safemargin.core import InputError
from safemargin.io import literal


@dataclass(frozen=True)
class Workspace:
    """A file of records, and a folder that is removed with this value; `name` is what reports call the records."""

    path: Path
    folder: Path
    name: str

    def __post_init__(self) -> None:
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)


@contextmanager
def workspace(data: object) -> Iterator[Workspace]:
    """A file of records; a DataFrame, an Arrow table or rows are first written to one, called `data` in messages."""
    folder = Path(tempfile.mkdtemp(prefix="safemargin-"))  # only its owner may read it
    if isinstance(data, str | Path):
        yield Workspace(Path(data), folder, Path(data).stem)
        return
    space = Workspace(folder / "data.parquet", folder, "data")
    try:
        _write_records(data, space.path)
        yield space
    except InputError as error:
        raise InputError(str(error).replace(str(space.path), "data")) from None


def _write_records(data: object, path: Path) -> None:
    """Rows as JSON lines would read them, anything else as DuckDB reads it."""
    with duckdb.connect(":memory:") as database:
        if isinstance(data, Sequence):
            lines = path.with_suffix(".jsonl")
            lines.write_text("".join(f"{json.dumps(row)}\n" for row in data), encoding="utf-8")
            scan = f"read_json({literal(str(lines))}, format = 'newline_delimited')"
        else:
            scan = "records"
            try:
                database.register("records", data)
            except (duckdb.Error, AttributeError, TypeError):
                kind = type(data).__name__
                raise InputError(
                    f"data: {kind} cannot be read; give a file, a DataFrame, an Arrow table or rows"
                ) from None
        database.execute(f"copy (select * from {scan}) to {literal(str(path))} (format parquet)")
