"""What is believed about counts beforehand: a file of probabilities, or the sizes of the cells of a table."""

from pathlib import Path

from safemargin.core import InputError
from safemargin.io import BadText, Sheet, count_column, is_finite, read_sheet, whole_number


def read_prior(path: Path, count: str | None = None) -> dict[int, float]:
    """Weights of counts: columns `count` and `probability`, or how many cells of a table have each count."""
    sheet = read_sheet(path)
    found: dict[int, float] = {}
    if set(sheet.columns) == {"count", "probability"}:
        for row, text in enumerate(sheet.columns["probability"]):
            if not is_finite(text) or float(text) < 0:
                raise sheet.fault(row, "probability", "is not a number of at least 0")
            found[_count(sheet, "count", row)] = found.get(_count(sheet, "count", row), 0.0) + float(text)
        if not sum(found.values()) > 0:
            raise InputError(f"{path}: column 'probability': all are 0; some must be positive")
        return found
    for number in _counts(sheet, path, count):
        found[number] = found.get(number, 0.0) + 1.0
    return found


def read_counts(path: Path, count: str | None = None) -> list[int]:
    """The counts of all cells that a file lists."""
    return _counts(read_sheet(path), path, count)


def _counts(sheet: Sheet, path: Path, count: str | None) -> list[int]:
    name = count or count_column(tuple(sheet.columns))
    if name is None or name not in sheet.columns:
        raise InputError(
            f"{path}: which column holds the counts? Say it with --count; there are {', '.join(sheet.columns)}"
        )
    return [_count(sheet, name, row) for row in range(len(sheet.columns[name]))]


def _count(sheet: Sheet, column: str, row: int) -> int:
    try:
        return whole_number(sheet.columns[column][row])
    except BadText as error:
        raise sheet.fault(row, column, str(error)) from None
