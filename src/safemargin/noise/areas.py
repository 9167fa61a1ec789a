"""Areas with counts from a file, one row each."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from safemargin.core import InputError, IntArray
from safemargin.io import Sheet, check_columns, read_sheet


def read_areas(path: Path, names: Sequence[str], counts: Sequence[str]) -> tuple[tuple[str, ...], IntArray, int]:
    """Names of areas (columns joined by a comma), their counts by column, and how many rows have no count."""
    sheet = read_sheet(path)
    check_columns(path, sheet.columns, (*names, *counts))
    rows = [row for row in range(len(sheet.rows)) if all(sheet.columns[column][row].strip() for column in counts)]
    if not rows:
        raise InputError(f"{path}: no row has a count in {', '.join(counts)}")
    values = np.array([[_whole(sheet, row, column) for column in counts] for row in rows], dtype=np.int64)
    texts = [[sheet.columns[name][row] for name in names] for row in rows]
    labels = tuple(", ".join(filter(None, each)) or sheet.place(row) for row, each in zip(rows, texts, strict=True))
    return labels, values, len(sheet.rows) - len(rows)


def _whole(sheet: Sheet, row: int, column: str) -> int:
    """A whole number, which may be negative where noise was added, and may be written as 12.0."""
    try:
        number = float(sheet.columns[column][row])
    except ValueError:
        raise sheet.fault(row, column, "is not a number") from None
    if not number.is_integer() or abs(number) > 2**53:
        raise sheet.fault(row, column, "is not a whole number")
    return int(number)
