"""Where in a grid the table is: titles, header rows, body, footnotes.

The body is every row with a number or a gap in a column of values, between the first and the last such row. Header rows
stand right above it: rows with two cells or more, or one that spans columns of values. What stands above is a title;
what stands below, with nothing in the columns of values, is a footnote. A row of the body with a label alone is a
heading.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from safemargin.core import UNBOUNDED, InputError
from safemargin.io.reading.column_names import NOTES, SHARES, STATUS
from safemargin.io.reading.grid import Cell, TextGrid, shown, taken, without_empty
from safemargin.io.reading.headers import YEARS, names_columns
from safemargin.io.reading.shares import shares_below_gaps
from safemargin.io.reading.symbols import own_symbols
from safemargin.io.reading.values import Style, Value, number_style, other_digits, read_value

FOOT = re.compile(
    r"\s*(?:sources?|notes?|n\.?b|quellen?|anmerkung|hinweis|fuente|nota|remarks?|last updated|stand|tables?|figure|"
    r"tabelle|tableau|©|\(c\)|generated|downloaded|extracted|unit|contact|see|for more)\b|\s*[*†‡§©]\s*\S",
    re.I,
)
"""How a line starts that is about the table, not in it."""
_NUMBERED = re.compile(r"(?:[(\[]?[0-9]{1,2}[)\].]?[ ]?)+")
"""A row below the header that numbers the columns."""
COUNTED = re.compile(r"^(?:count|counts|freq|frequency|n|obs_value|value|values|people|persons|number)$", re.I)


@dataclass(frozen=True)
class Frame:
    """A grid cut into its parts: `head` and `body` are rows of `grid`, `values` what the cells of the body state.

    `measured` are the columns that hold numbers and gaps only, `style` how their numbers are written.
    """

    grid: TextGrid
    head: tuple[int, ...]
    body: tuple[int, ...]
    titles: tuple[str, ...]
    footnotes: tuple[str, ...]
    style: Style
    values: dict[tuple[int, int], Value]
    measured: tuple[int, ...]
    notes: tuple[str, ...] = ()
    guessed: tuple[str, ...] = ()
    """Signs taken for gaps that nothing explains."""


def find_frame(grid: TextGrid, header: int | None = None, decimal: str = "", thousands: str = "") -> Frame:
    """The parts of a grid; `header` is the number of header rows where somebody says it."""
    whole = grid
    grid = without_empty(grid)
    if not grid.rows:
        raise InputError(f"{grid.name}: the table is empty")
    texts = [cell for row in grid.rows for cell in row if isinstance(cell, str)]
    foreign = other_digits(texts) and not any(isinstance(cell, int | Decimal) for row in grid.rows for cell in row)
    style = replace(number_style(texts, decimal, thousands), other_digits=foreign)
    known, guessed = own_symbols(grid, style)
    style = replace(style, symbols=known | guessed)
    notes = list(grid.notes)
    if grid.head is not None and header is None:
        head, body, titles, footers = _typed_parts(grid)
    else:
        head, body, titles, footers = _parts(grid, style, header)
    if len(grid.rows) < len(whole.rows) or grid.width < whole.width:
        rows, columns = len(whole.rows) - len(grid.rows), whole.width - grid.width
        skipped = [f"{rows} empty {whole.word}s" if rows > 1 else f"an empty {whole.word}"] if rows else []
        skipped += [f"{columns} empty columns" if columns > 1 else "an empty column"] if columns else []
        notes.append(f"skipped {' and '.join(skipped)}")
    numbering = [
        r
        for r in head
        if len(head) > 1 and _NUMBERED.fullmatch(" ".join(_texts(grid.rows[r]))) and _in_order(grid.rows[r])
    ]
    if numbering and len(numbering) < len(head):
        head = [r for r in head if r not in numbering]
        notes.append("skipped a row that numbers the columns")
    grid, head, body = _shifted(grid, head, body)
    kept, dropped = _without_repeats(grid, style, head, body)
    notes += dropped
    if doubt := shares_below_gaps(grid, style, body, kept):
        grid = replace(grid, doubts=(*grid.doubts, doubt))
    body = kept
    values = {(r, c): read_value(grid.rows[r][c], style) for r in body for c in range(grid.width)}
    lines = [" ".join(shown(cell) for cell in grid.rows[r] if cell is not None) for r in (*titles, *footers)]
    if lines:
        notes.append(f"skipped {len(lines)} {'line' if len(lines) == 1 else 'lines'} of title and notes")
    return Frame(
        grid,
        tuple(head),
        tuple(body),
        tuple(lines[: len(titles)]),
        tuple(lines[len(titles) :]),
        style,
        values,
        _measured(grid, head, body, values),
        tuple(notes),
        tuple(sorted(guessed)),
    )


def _typed_parts(grid: TextGrid) -> tuple[list[int], list[int], list[int], list[int]]:
    count = grid.head or 0
    return list(range(count)), list(range(count, len(grid.rows))), [], []


def _parts(grid: TextGrid, style: Style, header: int | None) -> tuple[list[int], list[int], list[int], list[int]]:
    """Rows of the header, of the body, of titles and of footnotes."""
    stated = [[read_value(cell, style) for cell in row] for row in grid.rows]
    width = [sum(cell is not None for cell in row) for row in grid.rows]
    numeric = [sum(value.kind in ("number", "share") for value in row) for row in stated]
    marked = [sum(value.kind in ("gap", "dash") for value in row) for row in stated]
    data = [
        r for r in range(len(grid.rows))
        if (numeric[r] and width[r] > 1 and (numeric[r] > 1 or stated[r][0].kind != "number" or width[r] > 2))
        or (marked[r] > 0 and width[r] > marked[r] and any(v.kind in ("gap", "dash") for v in stated[r][1:])
            and _is_short(grid.rows[r]))
        or (grid.width == 1 and numeric[r])
    ]  # fmt: skip
    data = [r for r in data if not (FOOT.match(shown(grid.rows[r][0])) and width[r] * 2 <= max(width))]
    stated_years = _years_above(grid, stated, width)
    data = [r for r in data if r not in stated_years]
    first = next((r for r in data if numeric[r]), -1)
    if first < 0:
        raise InputError(f"{grid.name}: no row holds a label and a number; where is the table?")
    if header is not None:
        if header >= len(grid.rows):
            raise InputError(f"header = {header}: {grid.name} has {len(grid.rows)} rows; say how many name the columns")
        top = next((r for r in range(len(grid.rows)) if width[r] > 1), 0)
        head = list(range(top, top + header))
        body_start = top + header
    else:
        if names_columns(grid, stated, first, data):
            first = next((r for r in data if r > first and numeric[r]), first)
        first = _with_gaps_above(grid, stated, width, first)
        head = _head_above(grid, width, first)
        _check_counts_in_head(grid, stated, head, first)
        body_start = (head[-1] + 1) if head else first
    last = max(data)
    while last + 1 < len(grid.rows) and width[last + 1] == max(width) and _is_short(grid.rows[last + 1]):
        last += 1  # a full row is no footnote, whatever it holds
    last = _with_gaps_below(grid, stated, width, body_start, last)
    body = [r for r in range(body_start, last + 1)]
    titles = [r for r in range(head[0] if head else body_start)]
    return head, body, titles, list(range(last + 1, len(grid.rows)))


def _years_above(grid: TextGrid, stated: Sequence[Sequence[Value]], width: Sequence[int]) -> set[int]:
    """Rows that say of what year a table is, as `Date, 2021` does: above an empty line and rows twice as wide."""
    below = next((r for r in range(1, len(width)) if width[r] > 3 and grid.lines[r] - grid.lines[r - 1] > 1), 0)
    if any(size > 2 for size in width[:below]):
        return set()
    numbers = {r: [value.number for value in stated[r] if value.kind == "number"] for r in range(below)}
    return {r for r, found in numbers.items() if len(found) == 1 and found[0] in YEARS}


def _without_repeats(grid: TextGrid, style: Style, head: Sequence[int], body: list[int]) -> tuple[list[int], list[str]]:
    """The body less rows that repeat the header, as on every page, and less rows of shares below rows of counts."""
    names = [grid.rows[r] for r in head if sum(cell is not None for cell in grid.rows[r]) > 1]
    again = [r for r in body if grid.rows[r] in names]
    again += [r - 1 for r in again if r - 1 in body and _repeats_a_title(grid, r - 1, head)]
    again += [r for r in body[:1] if r not in again and _counts_columns(grid, style, r, body[1:])]
    stated = {r: [read_value(cell, style).kind for cell in grid.rows[r]] for r in body}
    shares = [
        r for r in body
        if ("share" in stated[r] and not {"number"} & set(stated[r])) or _is_of_rates(grid, style, r, body)
    ]  # fmt: skip
    rows = (
        "a row that repeats the header or numbers"
        if len(again) == 1
        else f"{len(again)} rows that repeat the header or number"
    )
    notes = [f"skipped {rows} the columns"] if again else []
    counted = any("number" in kinds for kinds in stated.values())
    columns = {c for r in shares for c, kind in enumerate(stated[r]) if kind in ("share", "number")}
    if len(shares) == 1 and sum(kind == "share" for kind in stated[shares[0]]) == 1 and grid.width == 2:
        shares = [r for r in shares if SHARES.search(shown(grid.rows[r][0]))]  # `7%` among counts may be a slip
    rest = [r for r in body if r not in shares]
    if not counted or not shares or not any(stated[r][c] == "number" for c in columns for r in rest):
        return [r for r in body if r not in again], notes
    notes.append(f"ignored {'a row' if len(shares) == 1 else f'{len(shares)} rows'} of shares, means or rates")
    return [r for r in body if r not in again and r not in shares], notes


def _repeats_a_title(grid: TextGrid, row: int, head: Sequence[int]) -> bool:
    """Whether a row holds one text that goes on with a line above the header: `Table 4 (continued)`."""
    texts = _texts(grid.rows[row])
    titles = [" ".join(_texts(grid.rows[r])).casefold() for r in range(head[0])]
    return len(texts) == 1 and any(title and texts[0].casefold().startswith(title) for title in titles)


def _is_of_rates(grid: TextGrid, style: Style, row: int, body: Sequence[int]) -> bool:
    """Whether a row below others is called a mean or a share, and holds fractions where they have none."""
    if row == body[0] or not SHARES.search(shown(grid.rows[row][0])):
        return False
    numbers = [value.number for value in (read_value(cell, style) for cell in grid.rows[row]) if value.kind == "number"]
    return any(isinstance(number, Decimal) for number in numbers)


def _counts_columns(grid: TextGrid, style: Style, row: int, others: Sequence[int]) -> bool:
    """Whether a row below the header numbers the columns, 1, 2, 3 and on: its label is a number, all others are not."""
    numbers = [value.number for value in (read_value(cell, style) for cell in grid.rows[row])]
    labels = [read_value(grid.rows[r][0], style).kind for r in others if grid.rows[r][0] is not None]
    return numbers == [*range(1, len(numbers) + 1)] and bool(labels) and set(labels) == {"text"}


def _is_short(row: Sequence[Cell]) -> bool:
    return all(len(shown(cell)) < 60 for cell in row)


def _texts(row: Sequence[Cell]) -> list[str]:
    return [shown(cell) for cell in row if cell is not None]


def _in_order(row: Sequence[Cell]) -> bool:
    """Whether numbers in brackets, or letters, stand in their order: `(1) (2) (3)`."""
    numbers = [int(text) for text in re.findall("[0-9]+", " ".join(_texts(row)))]
    return len(numbers) > 1 and numbers == [*range(numbers[0], numbers[0] + len(numbers))] and numbers[0] in (0, 1, 2)


def _with_gaps_above(grid: TextGrid, stated: Sequence[Sequence[Value]], width: Sequence[int], first: int) -> int:
    """The first row of the body, where rows above the first number have gaps alone."""
    columns = [c for c, value in enumerate(stated[first]) if value.kind == "number"]
    named = any(number == grid.width for number in width[: first - 1])
    above = first - 1
    while grid.width == 2 and above > 0 and width[above] == 1 and grid.rows[above][0] is not None:
        above -= 1  # labels without a count right below the names of both columns
    if above < first - 1 and width[above] == 2 and grid.lines[first] - grid.lines[above] == first - above:
        return above + 1
    while first > 1 and width[first - 2] > 1:
        kinds = [stated[first - 1][c].kind for c in columns]
        labels = [c for c in range(grid.width) if c not in columns]
        marked = any(kind in ("gap", "dash") for kind in kinds) and all(
            kind in ("gap", "dash", "empty") for kind in kinds
        )
        marked = marked and not _are_bands([stated[first - 1][c] for c in columns])
        # Under names of all columns, a row with all labels and no number is one of the body.
        blank = len(labels) > 1 and set(kinds) == {"empty"} and named
        if not marked and not (blank and all(grid.rows[first - 1][c] is not None for c in labels)):
            break
        first -= 1
    return first


def _with_gaps_below(
    grid: TextGrid, stated: Sequence[Sequence[Value]], width: Sequence[int], start: int, last: int
) -> int:
    """The last row of the body, where rows below the last number have all labels and no count."""
    body = range(start, last + 1)
    texts = [c for c in range(grid.width) if all(stated[r][c].kind not in ("number", "share") for r in body)]
    labels = [c for c in texts if all(grid.rows[r][c] is not None for r in body)]
    after = last + 1
    while (
        len(labels) > 1
        and after < len(grid.rows)
        and grid.lines[after] == grid.lines[after - 1] + 1
        and width[after] == len(labels)
        and all(grid.rows[after][c] is not None for c in labels)
        and _is_short(grid.rows[after])
    ):
        after += 1
    return after - 1


def _are_bands(values: Sequence[Value]) -> bool:
    """Whether cells are names of bands, each above the one before: `0-14`, `15-64`, `65+`; not ranges of counts."""
    lows = [value.low for value in values if value.kind == "gap" and (value.low or value.high < UNBOUNDED)]
    return len(lows) == len(values) > 1 and all(a < b for a, b in zip(lows, lows[1:], strict=False))


def _head_above(grid: TextGrid, width: Sequence[int], first: int) -> list[int]:
    """The rows right above the body that name columns, the highest first."""
    head: list[int] = []
    start = first - 1
    named = start > 0 and (width[start - 1] > 1 or any(cell is not None for cell in grid.rows[start - 1][1:]))
    if start > 0 and width[start] == 1 and named:
        start -= _heads_a_section(grid, start)  # a heading of the first rows is no header
    for r in range(start, -1, -1):
        cells = [c for c, cell in enumerate(grid.rows[r]) if cell is not None]
        spans = len(cells) == 1 and cells[0] > 0
        names_rows = len(cells) == 1 and cells[0] == 0 and not head and r > 0 and width[r - 1] > 1 and grid.width > 2
        gap = grid.lines[r + 1] - grid.lines[r] > 1 if head else False
        if len(cells) > 1 or spans or (names_rows and _is_short(grid.rows[r])):
            if gap and len(cells) < 2:
                break
            if len(head) >= 1 and gap and grid.word == "line":
                break
            head.insert(0, r)
        else:
            break
    # A heading of the first rows, such as a section, is no header.
    if (
        len(head) > 1
        and width[head[-1]] == 1
        and grid.rows[head[-1]][0] is not None
        and _heads_a_section(grid, head[-1])
    ):
        head.pop()
    return head


def _check_counts_in_head(grid: TextGrid, stated: Sequence[Sequence[Value]], head: Sequence[int], first: int) -> None:
    """Refuse a row with a text for its count that stands right below names of all columns: it is no second header."""
    for upper, lower in zip(head, head[1:], strict=False):
        if any(cell is None for row in (upper, lower) for cell in grid.rows[row]):
            continue
        names = [shown(cell) for cell in grid.rows[upper]]
        counted = [c for c, name in enumerate(names) if COUNTED.match(name) and stated[first][c].kind == "number"]
        if len(counted) == 1 and len(set(names)) == len(names):
            name, value = names[counted[0]], shown(grid.rows[lower][counted[0]])
            raise InputError(f"{grid.name}: {grid.place(lower)}: {name} = {value[:60]!r}: is not a number")


def _heads_a_section(grid: TextGrid, row: int) -> bool:
    """Whether a label alone is followed later by another label alone among rows of numbers."""
    at = next((c for c, cell in enumerate(grid.rows[row]) if cell is not None), 0)
    return any(
        r > row + 1 and grid.rows[r][at] is not None and sum(cell is not None for cell in grid.rows[r]) == 1
        and any(cell is not None for cell in grid.rows[r + 1][at + 1 :])
        for r in range(len(grid.rows) - 1)
    )  # fmt: skip


def _shifted(grid: TextGrid, head: list[int], body: list[int]) -> tuple[TextGrid, list[int], list[int]]:
    """R writes no name over the names of rows: then the header has one field less than every row."""
    if len(head) != 1 or not body or grid.head is not None:
        return grid, head, body
    row = grid.rows[head[0]]
    if (
        grid.lines[head[0]] in grid.short
        and row[-1] is None
        and all(cell is not None for cell in row[:-1])
        and all(grid.rows[r][-1] is not None for r in body)
    ):
        rows = list(grid.rows)
        rows[head[0]] = (None, *row[:-1])
        grid = TextGrid(**{**vars(grid), "rows": tuple(rows)})
    return grid, head, body


def _measured(
    grid: TextGrid, head: Sequence[int], body: Sequence[int], values: dict[tuple[int, int], Value]
) -> tuple[int, ...]:
    """Columns with nothing but numbers, shares, gaps and blanks, at least one of them a number.

    A column of gaps alone is one too, if it stands right of a column of numbers, has a name, and no cell is empty where
    that one has a number.
    """
    found: list[int] = []
    for c in range(grid.width):
        kinds = [values[r, c].kind for r in body]
        texts = sum(kind == "text" for kind in kinds)
        numbers = sum(kind in ("number", "share") for kind in kinds)
        if numbers and texts == 0:
            found.append(c)
        elif found and texts == 0 and c in _between(grid, body, values, found[-1]):
            name = next((shown(grid.rows[r][c]) for r in reversed(head) if grid.rows[r][c] is not None), "")
            if (
                name
                and name.lower() not in (*STATUS, *NOTES)
                and all(
                    kind in ("gap", "dash")
                    for r, kind in zip(body, kinds, strict=True)
                    if values[r, found[-1]].kind != "empty"
                )
            ):
                found.append(c)
    return tuple(found)


def _between(grid: TextGrid, body: Sequence[int], values: dict[tuple[int, int], Value], left: int) -> range:
    """The columns right of one, up to the last that holds nothing but numbers and gaps."""
    last = max(
        c for c in range(left, grid.width)
        if c == left or any(values[r, c].kind == "number" for r in body)
        and all(values[r, c].kind != "text" for r in body)
    )  # fmt: skip
    return range(left + 1, last)


def cut_rows(frame: Frame, rows: Sequence[int]) -> Frame:
    """The frame with some rows of its body."""
    keep = [*frame.head, *rows]
    grid = taken(frame.grid, keep, range(frame.grid.width))
    place = {old: new for new, old in enumerate(keep)}
    values = {(place[r], c): value for (r, c), value in frame.values.items() if r in place}
    head, body = tuple(place[r] for r in frame.head), tuple(place[r] for r in rows)
    return Frame(
        grid, head, body, frame.titles, frame.footnotes, frame.style, values, frame.measured, frame.notes, frame.guessed
    )  # fmt: skip
