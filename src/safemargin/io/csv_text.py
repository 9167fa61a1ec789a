"""The engine for CSV and TSV: every column as text, a header, UTF-8, nothing guessed but the delimiter."""

import glob
from pathlib import Path

from safemargin.io.duck import DuckSource, literal
from safemargin.io.files import csv_header


def open_csv(path: Path, table: str | None = None) -> DuckSource:
    """A CSV file, also packed as `.csv.gz`; `table` is not used."""
    names, delimiter = csv_header(path)
    # Columns go by number: DuckDB does not tell `A` from `a`.
    types = ", ".join(f"c{place}: 'VARCHAR'" for place in range(len(names)))
    scan = (
        f"read_csv({literal(glob.escape(str(path)))}, columns={{{types}}}, auto_detect=false, header=true, "
        f"delim={literal(delimiter)}, quote='\"', escape='\"', strict_mode=true, null_padding=false, "
        "hive_partitioning=false)"
    )
    return DuckSource(path, scan, {name: f"c{place}" for place, name in enumerate(names)})
