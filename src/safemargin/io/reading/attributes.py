"""Columns that say something about rows, and are neither axes nor counts: codes, numbers of rows, flags, units.

A statistics office writes a dozen columns beside those that matter. Two laws find them whatever they are called. A
column that numbers the rows, or differs in every row where others identify rows together, is no axis. Nor is one that
follows from the others, where these list every combination of their labels once: with it as an axis, every combination
would have one of its labels only, and nothing would add up.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np

from safemargin.core import STATUSES, IntArray
from safemargin.io.reading.additive import is_counted
from safemargin.io.reading.column_names import ATTRIBUTES, HIDDEN_FLAGS, NOTES, STATUS
from safemargin.io.reading.frame import Frame
from safemargin.io.reading.grid import shown
from safemargin.io.reading.headers import YEARS

FEW = 3
"""Labels from which on one that goes with one number each is no chance."""
MULTIPLES = ("scalar_factor", "powercode", "power code", "unit multiplier")
"""Columns of how many people a unit is."""
MOST_LOOKED = 500_000
"""Cells of a tidy table that is looked at."""
COMPLETE = 1.1
"""How many combinations there may be per row in a table that lists all of them."""
_ZERO_FIRST = re.compile(r"0[0-9]+")


@dataclass
class RowAttributes:
    """Columns of numbers that are labels, and columns that are not used."""

    labels: set[int] = field(default_factory=set)
    ignored: dict[int, str] = field(default_factory=dict)
    """By column why it is not used."""
    doubts: list[str] = field(default_factory=list)
    units: list[str] = field(default_factory=list)
    """The units that columns state, such as `in thousands`."""


class ComparedColumns:
    """The texts of some columns, compared as numbers."""

    def __init__(self, texts: Mapping[int, Sequence[str]]) -> None:
        self.texts = texts
        self.rows = len(next(iter(texts.values()), ()))
        self._codes: dict[int, tuple[IntArray, int]] = {}
        self._says: dict[tuple[int, int], bool] = {}

    def _coded(self, column: int) -> tuple[IntArray, int]:
        if column not in self._codes:
            place: dict[str, int] = {}
            codes = [place.setdefault(text, len(place)) for text in self.texts[column]]
            self._codes[column] = np.array(codes, dtype=np.int64), len(place)
        return self._codes[column]

    def size(self, column: int) -> int:
        """How many different texts a column has."""
        return self._coded(column)[1]

    def says(self, first: int, second: int) -> bool:
        """Whether one column says what another one holds."""
        if (first, second) not in self._says:
            (codes, size), (others, wide) = self._coded(first), self._coded(second)
            self._says[first, second] = len(np.unique(codes * wide + others)) == size
        return self._says[first, second]

    def differ(self, columns: Sequence[int]) -> bool:
        """Whether no two rows are alike in some columns."""
        return len(np.unique(np.column_stack([self._coded(c)[0] for c in columns]), axis=0)) == self.rows


def find_attributes(frame: Frame, name: Callable[[int], str], special: set[int], count: int | None) -> RowAttributes:
    """The columns that are no counts although they hold numbers, and those that are no axes."""
    found = RowAttributes()
    texts = {c: [shown(frame.grid.rows[r][c]) for r in frame.body] for c in range(frame.grid.width) if c not in special}
    measured = [c for c in frame.measured if c in texts and c != count]
    words = [c for c in texts if c not in frame.measured and not _is_mostly_numbers(frame, c)]
    for c in measured:
        others = [m for m in frame.measured if m in texts and m != c and m not in found.labels | set(found.ignored)]
        if not others:
            break
        if name(c).lower().strip() in ATTRIBUTES and not is_counted(frame, c, measured):
            found.ignored[c] = "says how counts are stated"
        elif _is_code(frame, c, texts, words) or _is_one_year(frame, c, texts[c]) or _is_year_of_rows(frame, c, words):
            found.labels.add(c)
    for c in words:
        if name(c).lower().strip() in ATTRIBUTES and c != count:
            found.ignored[c] = "says how counts are stated"
    for c in (c for c in texts if name(c).lower().strip() in MULTIPLES):
        stated = sorted({text.strip().lower() for text in texts[c]} - {"", "0", "units", "unit"})
        found.units += [f"in {text}" for text in stated]
        if stated and len(set(texts[c])) > 1:
            found.doubts.append(f"column {name(c)!r} states several units: {', '.join(sorted(set(texts[c]))[:3])}")
    columns = ComparedColumns(texts)
    keys = [c for c in texts if (c in words or c in found.labels) and c not in found.ignored]
    rest = [m for m in measured if m not in found.labels and m not in found.ignored]
    for c in [*keys, *(rest if len(rest) > 1 or count is not None else [])]:
        left = [k for k in keys if k != c and k not in found.ignored]
        if _numbers_rows(frame, c, columns, left, is_text=c in words):
            found.ignored[c] = "numbers the rows"
    for c in [k for k in keys if k in words and k not in found.ignored]:
        left = [k for k in keys if k != c and k not in found.ignored]
        is_remark = name(c).lower().strip() in NOTES and len(left) > 1 and columns.differ(left)
        if is_remark or _follows(columns, c, left):
            found.ignored[c] = "follows from the labels"
            found.doubts += _flagged(frame, c, texts[c])
    return found


def has_attributes(columns: Mapping[str, Sequence[str]], counted: Collection[str]) -> bool:
    """Whether a tidy table has columns that are no axes, or says of a status what no tidy table does."""
    said = {text.strip() for text in columns.get("status", ())} - {""}
    if said and not said & set(STATUSES):
        return True
    if any("" in map(str.strip, of) for name, of in columns.items() if name not in counted):
        return True  # a blank repeats the label above, or stands for a sum
    texts = {c: of for c, (name, of) in enumerate(columns.items()) if name not in counted}
    compared = ComparedColumns(texts)
    if compared.rows * len(texts) > MOST_LOOKED or len(texts) < 3:
        return False
    left = {c: [k for k in texts if k != c] for c in texts}
    return any(
        _differs(compared, c, left[c])
        or _follows(compared, c, left[c])
        or any(
            k < c and compared.says(c, k) and compared.says(k, c) and 1 < compared.size(c) * 2 <= compared.rows
            for k in texts
        )
        for c in texts
    )


def _is_mostly_numbers(frame: Frame, column: int) -> bool:
    """Whether most cells of a column are numbers: then the others may be gaps, or slips."""
    return sum(frame.values[r, column].kind == "number" for r in frame.body) * 2 > len(frame.body)


def is_status(frame: Frame, column: int) -> bool:
    """Whether a column called `status` says how counts were published: rows differ without it, as labels do not."""
    texts = [c for c in range(frame.grid.width) if c not in frame.measured and c != column]
    numbers = [c for c in frame.measured if len(set(_of(frame, c))) * 2 <= len(frame.body)]
    without = list(zip(*(_below(frame, c) for c in [*texts, *numbers]), strict=True)) or [()] * len(frame.body)
    every = list(zip(without, _of(frame, column), strict=True))
    return len(set(without)) == len(without) or len(set(every)) < len(every)


def _of(frame: Frame, column: int) -> list[str]:
    return [shown(frame.grid.rows[r][column]) for r in frame.body]


def _below(frame: Frame, column: int) -> Iterator[str]:
    """The texts of a column; a blank repeats the label above it."""
    above = ""
    for text in _of(frame, column):
        above = text or above
        yield above


def _is_code(frame: Frame, column: int, texts: dict[int, list[str]], words: Sequence[int]) -> bool:
    """Whether numbers are codes: with zeros in front, or one for each label of a column that repeats them."""
    filled = [text for text in texts[column] if text]
    if len({len(text) for text in filled}) == 1 and len(filled) > 1 and len(filled[0]) > 1:
        cells = [frame.grid.rows[r][column] for r in frame.body]
        if any(isinstance(cell, str) and _ZERO_FIRST.fullmatch(cell.strip()) for cell in cells):
            first = min(c for c in frame.measured if c in texts)  # counts may be padded with zeros too
            return column == first and not is_counted(frame, column, frame.measured)
    return any(_one_for_each(texts[column], texts[c]) for c in words)


def go_together(codes: Sequence[str], labels: Sequence[str]) -> bool:
    """Whether every label has one code and every code one label."""
    pairs = set(zip(codes, labels, strict=True))
    return len({code for code, _ in pairs}) == len(pairs) == len({label for _, label in pairs})


def _one_for_each(codes: Sequence[str], labels: Sequence[str]) -> bool:
    """Whether numbers go together with labels that are all there, in more rows than chance explains."""
    size = len(set(labels))
    return "" not in labels and FEW <= size <= len(labels) / 2 and go_together(codes, labels)


def _is_one_year(frame: Frame, column: int, texts: Sequence[str]) -> bool:
    """Whether all rows hold one year."""
    numbers = {frame.values[r, column].number for r in frame.body}
    return len(texts) > 1 and len(numbers) == 1 and next(iter(numbers)) in YEARS


def _is_year_of_rows(frame: Frame, column: int, words: Sequence[int]) -> bool:
    """Whether different years stand in the first of several rows each, and rows are alike without them."""
    values = [frame.values[r, column] for r in frame.body]
    numbers = [value.number for value in values if value.kind == "number"]
    if values[0].kind != "number" or any(value.kind not in ("number", "empty") for value in values):
        return False
    labels = [c for c in words if c > column]
    is_first = 1 < len(numbers) == len(set(numbers)) < len(values) and all(number in YEARS for number in numbers)
    return is_first and bool(labels) and not distinct(frame, labels) and distinct(frame, [column, *labels])


def _numbers_rows(frame: Frame, column: int, columns: ComparedColumns, left: Sequence[int], is_text: bool) -> bool:
    """Whether a column differs in every row, or counts them up, where others identify rows only together."""
    rows = len(frame.body)
    if not is_text:
        numbers = [frame.values[r, column].number for r in frame.body]
        if numbers not in (list(range(rows)), list(range(1, rows + 1))):
            return False
    return _differs(columns, column, left)


def _differs(columns: ComparedColumns, column: int, left: Sequence[int]) -> bool:
    """Whether a column differs in every row, and others, which have a text in most rows, do so together only."""
    rows = columns.rows
    if len(left) < 2 or rows < 4 or columns.size(column) < rows or any(columns.size(c) == rows for c in left):
        return False
    return all(columns.texts[c].count("") * 2 < rows for c in left) and columns.differ(left)


def _follows(columns: ComparedColumns, column: int, left: Sequence[int]) -> bool:
    """Whether a column follows from all others together and from none alone, and these list every combination once."""
    if len(left) < 2 or columns.size(column) < 2 or any(columns.says(c, column) for c in left):
        return False
    if not columns.differ(left):
        return False
    inner: list[int] = []
    for c in left:  # of columns that go together, the first; less those that follow from one other
        whole = [k for k in left if k != c and columns.says(k, c)]
        if not any(not columns.says(c, k) or k in inner for k in whole):
            inner.append(c)
    return len(inner) > 1 and prod(map(columns.size, inner)) <= COMPLETE * columns.rows


def _flagged(frame: Frame, column: int, texts: Sequence[str]) -> list[str]:
    """Doubts about numbers beside a flag of a suppressed count."""
    flags = dict.fromkeys(
        text for text, r in zip(texts, frame.body, strict=True)
        if text.lower() in (*HIDDEN_FLAGS, "n", "suppressed", "confidential")
        and all(frame.values[r, c].kind == "number" for c in frame.measured)
    )  # fmt: skip
    if not flags or len(set(texts) - {""}) > FEW or "" not in texts:
        return []
    return [f"the flag {next(iter(flags))!r} stands beside a number: is that number suppressed?"]


def status_column(frame: Frame, plain: dict[str, int]) -> int | None:
    """The first column with a name of a status that is none of the labels."""
    named = [plain[name] for name in STATUS if name in plain and plain[name] not in frame.measured]
    return next((c for c in named if is_status(frame, c)), None)


def repeats(frame: Frame, column: int) -> bool:
    """Whether a column of numbers repeats its values, as labels do."""
    texts = [shown(frame.grid.rows[r][column]) for r in frame.body]
    if any(frame.values[r, column].kind in ("gap", "dash") for r in frame.body):
        return False  # labels are not suppressed
    return "" not in texts and len(set(texts)) * 2 <= len(texts)


def distinct(frame: Frame, columns: Sequence[int]) -> bool:
    rows = [tuple(shown(frame.grid.rows[r][c]) for c in columns) for r in frame.body]
    filled, above = [], [""] * len(columns)
    for row in rows:
        if not any(row):
            continue
        # A blank below a label repeats it.
        above = [text or (above[i] if any(row[i + 1 :]) else "") for i, text in enumerate(row)]
        filled.append(tuple(above))
    return len(set(filled)) == len(filled)


def counts_up(frame: Frame, column: int) -> bool:
    """Whether a column of numbers rises by one from row to row."""
    numbers = [value.number for r in frame.body if (value := frame.values[r, column]).kind == "number"]
    return len(numbers) > 3 and numbers == [(numbers[0] or 0) + n for n in range(len(numbers))]
