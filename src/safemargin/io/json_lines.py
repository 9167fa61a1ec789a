"""The engine for JSON: one object per line, or one array of objects."""

import glob
from pathlib import Path

from safemargin.io.duck import DuckSource, described, literal, quoted


def open_json(path: Path, table: str | None = None) -> DuckSource:
    """A JSON file with every value as text; `table` is not used."""
    shared = f"{literal(glob.escape(str(path)))}, records=true, hive_partitioning=false"
    names = described(path, f"read_json({shared}, sample_size=-1, maximum_depth=1, map_inference_threshold=-1)")
    types = ", ".join(f"{quoted(name)}: 'VARCHAR'" for name in names)
    scan = f"read_json({shared}, columns={{{types}}})"
    return DuckSource(path, scan, {name: quoted(name) for name in names})
