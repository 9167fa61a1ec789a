"""Whether a row with numbers names columns: years, or numbers in order."""

from collections.abc import Sequence
from decimal import Decimal

from safemargin.io.reading.grid import TextGrid, shown
from safemargin.io.reading.values import Value

YEARS = range(1800, 2201)


def names_columns(grid: TextGrid, stated: Sequence[Sequence[Value]], first: int, data: Sequence[int]) -> bool:
    """Whether the first row with numbers is a header of years or of small numbers in order: `Region, 2019, 2020`."""
    numbers = [value.number for value in stated[first] if value.kind == "number"]
    if _are_years(numbers) and _left_of_numbers(stated[first]) and any(r > first for r in data):
        return True
    if _are_bands(stated[first]) and not any(sum(c is not None for c in grid.rows[r]) > 1 for r in range(first)):
        return any(r > first for r in data)
    above = [r for r in range(first) if sum(cell is not None for cell in grid.rows[r]) > 1]
    if len(numbers) == 1 and numbers[0] in YEARS and not above and _is_full_header(grid, stated, first, data):
        return True
    later = [r for r in data if r > first]
    if not later or any(value.kind in ("gap", "share") for value in stated[first]):
        return False
    if any(value.kind == "text" for value in stated[first][1:]) and not above:
        # Texts where the rows below have numbers: names of columns.
        texts = [c for c, value in enumerate(stated[first]) if value.kind == "text"]
        return any(stated[r][c].kind in ("number", "gap") for c in texts for r in later[:3])
    if len(numbers) < 2 or not all(isinstance(number, int) for number in numbers):
        return False
    steps = {int(b or 0) - int(a or 0) for a, b in zip(numbers, numbers[1:], strict=False)}
    return not above and steps == {1} and stated[first][0].kind in ("text", "empty") and numbers[0] in (0, 1)


def _are_bands(row: Sequence[Value]) -> bool:
    """Whether a row names labels, and bands that rise from a number: `Hours, 0, 1-15, 16-34, 35+, Total`."""
    values = list(row[1:])
    while values and values[-1].kind in ("text", "empty"):
        values.pop()
    if row[0].kind != "text" or len(values) < 3 or not all(value.kind in ("number", "gap") for value in values):
        return False
    lows = [value.number if value.kind == "number" else value.low for value in values]
    ranges = [value for value in values if value.kind == "gap" and value.low]
    return len(ranges) > 1 and all((a or 0) < (b or 0) for a, b in zip(lows, lows[1:], strict=False))


def _is_full_header(grid: TextGrid, stated: Sequence[Sequence[Value]], first: int, data: Sequence[int]) -> bool:
    """Whether a row of texts and one year names columns: `area, sex, 2023` above rows that hold none of these texts."""
    texts = [c for c, value in enumerate(stated[first]) if value.kind == "text"]
    later = [r for r in data if r > first]
    if len(texts) != grid.width - 1 or len(later) < 2:
        return False
    return all(shown(grid.rows[r][c]) != shown(grid.rows[first][c]) for r in later for c in texts)


def _are_years(numbers: Sequence[int | Decimal | None]) -> bool:
    """Whether numbers are years at one distance, or the same such years block by block.

    >>> _are_years([2019, 2020, 2019, 2020]), _are_years([2019, 2044, 2020])
    (True, False)
    """
    years = [number for number in numbers if isinstance(number, int) and number in YEARS]
    if len(years) < 2 or len(years) < len(numbers):
        return False
    size = next((n for n in range(1, len(years)) if years[n] == years[0]), len(years))
    steps = {b - a for a, b in zip(years[:size], years[1:size], strict=False)}
    blocks = {tuple(years[n : n + size]) for n in range(0, len(years), size)}
    return len(blocks) == 1 and len(steps) == 1 and steps <= {1, -1, 5, 10, 2, 4, 3, -5, -10}


def _left_of_numbers(row: Sequence[Value]) -> bool:
    """Whether all that is beside the numbers of a row is texts, with one or nothing in front of them."""
    return row[0].kind in ("text", "empty") and all(value.kind in ("text", "empty", "number") for value in row)
