"""The engine for Parquet."""

import glob
from pathlib import Path

from safemargin.io.duck import DuckSource, described, literal, quoted


def open_parquet(path: Path, table: str | None = None) -> DuckSource:
    """A Parquet file; `table` is not used."""
    scan = f"read_parquet({literal(glob.escape(str(path)))}, hive_partitioning=false)"
    return DuckSource(path, scan, {name: quoted(name) for name in described(path, scan)}, numbered=True)
