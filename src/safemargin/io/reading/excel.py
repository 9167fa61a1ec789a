"""The sheets of a workbook as grids: numbers as numbers, merged cells, and nothing of formats."""

from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path

from safemargin.core import InputError, TooLargeError
from safemargin.io.reading.grid import MOST_CELLS, Cell, TextGrid, make_grid
from safemargin.io.workbook import cell_text, check_workbook, excel_library, unreadable


def excel_grids(path: Path, sheet: str = "") -> list[TextGrid]:
    """All sheets of a workbook that hold anything, or the one called `sheet`."""
    calamine = excel_library(path)
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
                grid = make_grid(path, rows, word="row")
                if not grid.rows or not grid.width:
                    continue
                height, width = len(grid.rows), grid.width
                merged = tuple(
                    (first[0], first[1], min(last[0], height - 1), min(last[1], width - 1))
                    for first, last in found.merged_cell_ranges or ()
                    if first[0] < height and first[1] < width
                )
                label = name if len(names) > 1 else ""
                grids.append(TextGrid(**{**vars(grid), "merged": merged, "sheet": label}))
    except (calamine.CalamineError, OSError, ValueError) as error:
        raise unreadable(path, error) from None
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
