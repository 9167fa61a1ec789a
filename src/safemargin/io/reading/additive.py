"""Whether a column adds up as counts do, whatever it is called.

Names mislead: a column `SE` may hold standard errors or Sweden, `low` and `high` the ends of a range or two groups of
people. Shares, means and rates do not add up: the rate of all is between those of the parts. Counts do, down a column
to a row that is the total of other columns too, or across a row to the total of it. So a column of whole numbers is
ignored by its name only if it does not add up.

Example
    >>> rows = [[40, 3, 43], [25, 8, 33], [65, 11, 76]]
    >>> adds_down([row[0] for row in rows], [row[1] for row in rows]), adds_across(rows, 1)
    (True, True)
    >>> adds_down([40, 25, 65], [12, 15, 13])  # rates
    False
"""

from collections.abc import Callable, Sequence
from decimal import Decimal

from safemargin.io.reading.frame import Frame

FEWEST = 2
"""Rows without a gap in which a sum across holds, and is no chance."""
WHOLE_SHARE = 100
"""What shares add up to."""


def is_counted(frame: Frame, column: int, others: Sequence[int]) -> bool:
    """Whether a column of whole numbers and gaps adds up with `others`, which are columns of numbers."""
    if not is_whole(frame, column):
        return False
    mine = _numbers(frame, column)
    theirs = [c for c in others if c != column and is_whole(frame, c)]
    if any(adds_down(_numbers(frame, c), mine) for c in theirs):
        return True
    rows = [[_number(frame, r, c) for c in (*theirs, column)] for r in frame.body]
    return len(theirs) > 1 and adds_across(rows, len(theirs))


def is_whole(frame: Frame, column: int) -> bool:
    """Whether a column holds whole numbers, and else signs of gaps or nothing."""
    values = [frame.values[r, column] for r in frame.body]
    return all(value.kind != "share" and (value.kind != "number" or value.is_whole) for value in values) and any(
        value.kind == "number" for value in values
    )


def has_gap(frame: Frame, column: int) -> bool:
    """Whether something in a column is no number."""
    return any(frame.values[r, column].kind != "number" for r in frame.body)


def repeats_gaps(frame: Frame, column: int, counts: set[int]) -> bool:
    """Whether every gap of a column stands in a row in which a count is a gap too, as shares of gaps do."""
    return all(any(frame.values[r, c].kind != "number" for c in counts)
               for r in frame.body if frame.values[r, column].kind != "number")  # fmt: skip


def fractions_of(frame: Frame, name: Callable[[int], str], measured: Sequence[int]) -> set[int]:
    """Columns of fractions up to 100 that repeat the names of columns of whole numbers: their shares."""
    numbers = {c: [v.number for r in frame.body if (v := frame.values[r, c]).kind == "number"] for c in measured}
    broken = {
        c
        for c, of in numbers.items()
        if any(isinstance(n, Decimal) for n in of) and all(0 <= (n or 0) <= 100 for n in of)
    }
    whole = {name(c) for c in measured if all(isinstance(n, int) for n in numbers[c])}
    shares = {c for c in broken if name(c) in whole}
    return shares | {c for c in measured if shares and numbers[c] and all(n == 100 for n in numbers[c])}


def adds_down(other: Sequence[int | None], mine: Sequence[int | None]) -> bool:
    """Whether a row is the sum of all others in one column, and may be in another that is no share of 100."""
    if None in other or len(other) <= FEWEST:
        return False
    for total, value in enumerate(other):
        whole = mine[total]
        if value is None or 2 * value != sum(part or 0 for part in other) or whole is None:
            continue
        parts = [part for row, part in enumerate(mine) if row != total]
        known = sum(part for part in parts if part is not None)
        if whole != WHOLE_SHARE and (known == whole if None not in parts else known <= whole):
            return any(parts)
    return False


def adds_across(rows: Sequence[Sequence[int | None]], column: int) -> bool:
    """Whether one number of every row that has no gap is the sum of all others, and this column is one of them."""
    full = [[value or 0 for value in row] for row in rows if None not in row]
    if len(full) < FEWEST or not any(row[column] for row in full):
        return False
    return any(all(2 * row[total] == sum(row) for row in full) for total in range(len(full[0])))


def _numbers(frame: Frame, column: int) -> list[int | None]:
    return [_number(frame, r, column) for r in frame.body]


def _number(frame: Frame, row: int, column: int) -> int | None:
    value = frame.values[row, column]
    return int(value.number) if value.kind == "number" and value.number is not None else None
