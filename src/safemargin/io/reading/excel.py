"""The sheets of a workbook as grids: numbers as numbers, merged cells, and nothing of formats."""

import json
import subprocess
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path

from safemargin.core import InputError, TooLargeError, python_command, safe_environment
from safemargin.io import workbook_file
from safemargin.io.files import suffix
from safemargin.io.plain import TOO_LARGE
from safemargin.io.reading.grid import MOST_CELLS, Cell, TextGrid, make_grid
from safemargin.io.workbook import cell_text, check_packed, check_workbook, excel_library, unreadable

OTHER_BOOKS = (".xls", ".xlsb", ".ods")
"""Workbooks that a process of its own reads."""


def excel_grids(path: Path, sheet: str = "") -> list[TextGrid]:
    """All sheets of a workbook that hold anything, or the one called `sheet`."""
    calamine = excel_library(path)
    if suffix(path) in OTHER_BOOKS:
        return _other_grids(path, sheet)
    check_workbook(path)
    grids = []
    try:
        with calamine.CalamineWorkbook.from_path(path) as book:
            names = book.sheet_names
            if sheet and sheet not in names:
                raise InputError(f"sheet = {sheet[:60]!r}: {path} has no such sheet; there are {', '.join(names)}")
            for name in [sheet] if sheet else names:
                found = book.get_sheet_by_name(name)
                if found.total_height * found.total_width > MOST_CELLS:
                    raise TooLargeError(
                        f"{path}: sheet {name!r} has more than {MOST_CELLS:,} cells; save it as tidy CSV"
                    )
                rows = [[_cell(value) for value in row] for row in found.to_python(skip_empty_area=False)]
                ranges = [(*first, *last) for first, last in found.merged_cell_ranges or ()]
                grids += _sheet_grid(path, rows, ranges, name if len(names) > 1 else "")
    except (calamine.CalamineError, OSError, ValueError) as error:
        raise unreadable(path, error) from None
    if not grids:
        raise InputError(f"{path}: the table is empty")
    return grids


def _sheet_grid(
    path: Path, rows: Sequence[Sequence[Cell]], ranges: Sequence[Sequence[int]], label: str
) -> list[TextGrid]:
    """A sheet with what is merged inside of it; nothing for an empty one."""
    grid = make_grid(path, rows, word="row")
    if not grid.rows or not grid.width:
        return []
    height, width = len(grid.rows), grid.width
    merged = tuple(
        (top, left, min(bottom, height - 1), min(right, width - 1))
        for top, left, bottom, right in ranges
        if top < height and left < width
    )
    return [TextGrid(**{**vars(grid), "merged": merged, "sheet": label})]


def _other_grids(path: Path, sheet: str) -> list[TextGrid]:
    """The sheets of an old, a binary or an OpenDocument workbook."""
    check_packed(path)
    command = python_command("-m", workbook_file.__name__, str(path.resolve()), str(MOST_CELLS))
    ran = subprocess.run(command, env=safe_environment(), capture_output=True, check=False)
    if ran.returncode == TOO_LARGE:
        raise TooLargeError(f"{path}: a sheet has more than {MOST_CELLS:,} cells; save it as tidy CSV")
    if ran.returncode != 0:
        said = ran.stderr.decode(errors="replace").strip().splitlines()
        reason = said[-1][:200] if said and ran.returncode == 1 else "it is damaged, or asks for too much memory"
        reason = "it has a password" if ran.returncode == workbook_file.DENIED else reason
        raise InputError(f"{path}: cannot be read as a workbook: {reason}")
    sheets = json.loads(ran.stdout)
    names = [name for name, _, _ in sheets]
    if sheet and sheet not in names:
        raise InputError(f"sheet = {sheet[:60]!r}: {path} has no such sheet; there are {', '.join(names)}")
    grids: list[TextGrid] = []
    for name, rows, ranges in sheets:
        if sheet in ("", name):
            cells = [[Decimal(cell[0]) if isinstance(cell, list) else cell for cell in row] for row in rows]
            grids += _sheet_grid(path, cells, ranges, name if len(names) > 1 else "")
    if not grids:
        raise InputError(f"{path}: the table is empty")
    return grids


def _cell(value: object) -> Cell:
    if isinstance(value, bool) or value is None:
        return None if value is None else str(value)
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() else Decimal(repr(value))
    if isinstance(value, date | datetime | time | timedelta):
        return cell_text(value)
    return str(value)
