"""Figures that follow from the tables of several questions: shares, means, and wide files for spreadsheets.

They are made again from the tidy rows of the same folder, and must be the same.
"""

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from safemargin.checker import Files
from safemargin.io import unquoted
from safemargin.release.derived import derived_rows, wide_rows

Row = dict[str, Any]
DERIVED, WIDE = "derived.csv", "_wide.csv"


def figure_failures(
    names: Sequence[str], files: Files, tables: Mapping[str, tuple[str, Sequence[Row]]], scales: Mapping[str, Any]
) -> list[str]:
    """Files of figures that do not follow from the tables, which are given by name with the stem of their files."""
    failures = []
    by_stem = {stem: rows for stem, rows in tables.values()}
    for name in names:
        stem = name.removesuffix(WIDE)
        if name == DERIVED:
            made = derived_rows({table: rows for table, (_, rows) in tables.items()}, scales)
            keys: tuple[str, ...] = ("question", "table", "group", "figure", "value")
        elif stem != name and stem in by_stem:
            made = wide_rows(by_stem[stem])
            keys = tuple(made[0]) if made else ()
        else:
            failures.append(f"{name}: holds no figures that follow from the tables")
            continue
        text = io.StringIO(files[name].decode("utf-8", "replace"), newline="")
        read = [tuple(unquoted(row.get(key) or "") for key in keys) for row in csv.DictReader(text)]
        wanted = [tuple("" if row[key] is None else unquoted(str(row[key])) for key in keys) for row in made]
        if sorted(read) != sorted(wanted):
            failures.append(f"{name}: does not follow from the tables of the release")
    return failures
