"""SPSS and Stata files with gaps: a missing value with the label `suppressed` where a count was.

The library that reads and writes them crashes on some damaged files, so a process of its own does both; see
`statistics_gaps.py`. What is written back is read here, as any file is.
"""

import json
import subprocess
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from safemargin.core import InputError, python_command, safe_environment
from safemargin.io import statistics_gaps
from safemargin.io.reading.grid import Cell
from safemargin.io.scratch import scratch_folder


def statistics_bytes(
    path: Path, kind: str, changes: Mapping[tuple[int, int], Cell], order: Sequence[int], word: str
) -> bytes:
    """The file with other values; row 0 of a grid holds the names of the columns."""
    if find_spec("pandas") is None:
        raise InputError(f"{path}: to write .{kind}, install pandas")
    with scratch_folder() as folder:
        asked, written = folder / "changes.json", folder / f"table.{kind}"
        said = [[r - 1, c, new is not None] for (r, c), new in changes.items()]
        asked.write_text(json.dumps({"changes": said, "order": [row - 1 for row in order if row], "word": word}))
        command = python_command("-m", statistics_gaps.__name__, kind, str(path.resolve()), str(asked), str(written))
        ran = subprocess.run(command, env=safe_environment(), capture_output=True, check=False)
        if ran.returncode != 0:
            raise InputError(f"{path}: cannot be written with gaps; save it as CSV")
        return written.read_bytes()
