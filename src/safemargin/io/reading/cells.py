"""The cells of a table with the label of each on every axis, and the range of its count: before sums are known."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from safemargin.core import UNBOUNDED, BoolArray, InputError, IntArray
from safemargin.io.reading.column_names import HIDDEN_WORDS, NO, YES
from safemargin.io.reading.columns import TableColumns
from safemargin.io.reading.footnotes import Explained
from safemargin.io.reading.frame import Frame
from safemargin.io.reading.grid import shown
from safemargin.io.reading.labels import SUM, Labels
from safemargin.io.reading.options import ReadingOptions
from safemargin.io.reading.sums import LIKELY, TOTAL, total_among
from safemargin.io.reading.values import Value
from safemargin.io.same_labels import spelling_notes

SECRET = re.compile("disclos|conf|secre|suppress", re.I)
"""Names of columns in which `N` stands for what is not to be disclosed."""


@dataclass
class SheetCells:
    """One row per cell: a code into the labels of every axis, the range of the count, and where it stands in the file.

    `dashes` marks cells that print a dash, which is zero or a gap; `symbols` what every gap prints.
    """

    axes: list[str]
    labels: list[list[str]]
    codes: IntArray
    lower: IntArray
    upper: IntArray
    hidden: BoolArray
    dashes: BoolArray
    symbols: list[str]
    places: IntArray
    notes: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    inside: dict[int, dict[str, list[str]]] = field(default_factory=dict)
    code_of: dict[str, str] = field(default_factory=dict)
    """By label a code that says where in a hierarchy it is."""


def find_cells(
    frame: Frame, columns: TableColumns, rows: Labels, across: Labels, said: Explained, reading: ReadingOptions
) -> SheetCells:
    """The cells of the body."""
    axes = [*rows.names, *across.names]
    for n, name in enumerate(axes):
        if name in axes[:n]:
            axes[n] = f"{name} ({n + 1})"
    keys: list[tuple[str, ...]] = []
    values: list[Value] = []
    places: list[tuple[int, int]] = []
    for r, labels in rows.of.items():
        for c in columns.counts or (columns.ends or ())[:1]:
            keys.append((*labels, *across.of.get(c, ())))
            values.append(_value(frame, columns, r, c))
            places.append((r, c))
    if not values:
        raise InputError(f"{frame.grid.name}: the table is empty")
    labels_of, codes = _coded(keys, len(axes))
    _check_once(frame, len(rows.names), keys, places)
    lower, upper, hidden, dashes, symbols = _ranges(frame, values, places, said, reading)
    grid = frame.grid
    spots = np.array([(grid.lines[r], grid.columns[c]) for r, c in places], dtype=np.int64)
    found = SheetCells(axes, labels_of, codes, lower, upper, hidden, dashes, symbols, spots, code_of=columns.code_of)
    if rows.inside:
        found.inside[0] = rows.inside
    for name, texts in zip(axes, labels_of, strict=True):
        found.notes += spelling_notes(name, texts)
    for word in _unknown_words(frame, columns)[:3]:
        column = columns.name(columns.status or 0)
        found.doubts.append(f"column {column!r} says {word[:60]!r} of a number: is that number suppressed?")
    if any(value.mark for value in values):
        marks = sorted({value.mark for value in values if value.mark})
        found.notes.append(f"ignored the marks {', '.join(marks)} after numbers")
        bracketed = [mark for mark in (value.mark for value in values) if re.fullmatch(r"\([0-9]+\)", mark)]
        if len(bracketed) * 2 > len(values) and len(set(bracketed)) > 1:
            found.doubts.append(f"numbers in brackets such as {bracketed[0]!r} stand after counts, and are not used")
        if any("*" in mark for mark in marks) and any(value.symbol == "*" for value in values):
            found.doubts.append("the sign * stands both after numbers and in place of them")
    return found


def _value(frame: Frame, columns: TableColumns, row: int, column: int) -> Value:
    value = frame.values[row, column]
    if columns.ends is not None and value.number is None or (columns.ends and not columns.counts):
        low, high = (frame.values[row, c] for c in columns.ends)
        if low.number is not None or high.number is not None:
            least, most = int(low.number or 0), int(UNBOUNDED if high.number is None else high.number)
            if least > most:
                raise InputError(
                    f"{frame.grid.name}: {frame.grid.place(row)}: lower = {least} is more than upper = {most}"
                )
            return Value("number", least) if least == most else Value("range", low=least, high=most)
    if columns.status is not None:
        word = shown(frame.grid.rows[row][columns.status]).lower()
        is_secret = SECRET.search(columns.name(columns.status)) is not None and _says_secret(frame, columns, word)
        if (word in HIDDEN_WORDS or is_secret) and value.kind == "number":
            return Value("gap", symbol=f"status {word}")
    return value


def _unknown_words(frame: Frame, columns: TableColumns) -> list[str]:
    """What a column about secrecy says of numbers, and nobody here understands: neither that they are secret nor that
    they are published.
    """
    if columns.status is None or SECRET.search(columns.name(columns.status)) is None:
        return []
    numbered = [r for r in frame.body if any(frame.values[r, c].kind == "number" for c in columns.counts)]
    said = dict.fromkeys(shown(frame.grid.rows[r][columns.status]).strip() for r in numbered)
    return [word for word in said if word.lower() not in (*HIDDEN_WORDS, *YES, *NO)]


def _says_secret(frame: Frame, columns: TableColumns, word: str) -> bool:
    """Whether a word in a column about secrecy says that a count is secret: `yes`; `N`, not for publication, else."""
    if word in YES:
        return True
    column = columns.status or 0
    return word == "n" and not any(shown(frame.grid.rows[r][column]).lower() in YES for r in frame.body)


def _coded(keys: Sequence[tuple[str, ...]], width: int) -> tuple[list[list[str]], IntArray]:
    labels: list[list[str]] = []
    codes = np.zeros((len(keys), width), dtype=np.int64)
    for axis in range(width):
        seen = dict.fromkeys(key[axis] for key in keys)
        total = _sum_name([label for label in seen if label])
        names = list(dict.fromkeys(label if label != SUM else total for label in seen))
        place = {name: code for code, name in enumerate(names)}
        labels.append(names)
        codes[:, axis] = [place[key[axis] if key[axis] != SUM else total] for key in keys]
    return labels, codes


def _sum_name(labels: Sequence[str]) -> str:
    """What the sum over an axis is called: by its labels, else `Total`."""
    likely = [label for label in labels if LIKELY.fullmatch(label.strip())]
    return total_among(labels) or (likely[0] if len(likely) == 1 else TOTAL)


def _check_once(frame: Frame, down: int, keys: Sequence[tuple[str, ...]], places: Sequence[tuple[int, int]]) -> None:
    seen: dict[tuple[str, ...], int] = {}
    for key, (row, _) in zip(keys, places, strict=True):
        if key in seen:
            words = ", ".join(filter(None, key[:down])) or "without a label"
            first = frame.grid.place(seen[key])
            raise InputError(
                f"{frame.grid.name}: {frame.grid.place(row)}: the row {words} is there twice, first in {first}; "
                "give each cell once"
            )
        seen[key] = row


def _ranges(
    frame: Frame, values: Sequence[Value], places: Sequence[tuple[int, int]], said: Explained, reading: ReadingOptions
) -> tuple[IntArray, IntArray, BoolArray, BoolArray, list[str]]:
    size = len(values)
    lower, upper = np.zeros(size, dtype=np.int64), np.full(size, UNBOUNDED, dtype=np.int64)
    hidden, dashes = np.zeros(size, dtype=bool), np.zeros(size, dtype=bool)
    symbols = [""] * size
    for n, value in enumerate(values):
        if value.kind == "number" and value.number is not None:
            lower[n] = upper[n] = int(value.number) * said.unit
            continue
        if value.kind == "range":
            lower[n], upper[n] = value.low, value.high
            continue
        if value.kind == "share":
            r, c = places[n]
            raise InputError(
                f"{frame.grid.name}: {frame.grid.place(r)}: {shown(frame.grid.rows[r][c])!r} is a share, not a count"
            )
        symbols[n] = value.symbol
        if value.symbol in said.zeros:
            upper[n] = 0
            continue
        dashes[n] = value.kind == "dash" and value.symbol not in said.gaps and reading.gap is None
        hidden[n] = True
        lower[n], upper[n] = gap_range(value, said.gaps, reading)
    return lower, upper, hidden, dashes, symbols


def gap_range(value: Value, gaps: Mapping[str, tuple[int, int]], reading: ReadingOptions) -> tuple[int, int]:
    """The range of a gap: what its symbol says, else the option, else the footnote."""
    if value.low or value.high < UNBOUNDED:
        return value.low, value.high
    if reading.gap is not None:
        return reading.gap
    symbol = value.symbol.lower()
    return gaps.get(symbol, gaps.get("", (0, UNBOUNDED)))
