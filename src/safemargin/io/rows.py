"""Rows of tables as every reader gives them: numbers in texts, distinct rows with their counts, sheets of texts."""

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from safemargin.core import BoolArray, InputError, IntArray
from safemargin.io.same_labels import one_spelling, spelling_notes

MOST_LABELS = 100_000
"""More distinct values than this in a column that is counted by: an identifier, not an axis."""
EXAMPLES = 1000
"""Rows of which a survey keeps the values."""
LONGEST_VALUE = 60
"""How much of a wrong value a message repeats."""
MOST_LISTED = 20
"""How many columns a message lists."""
VALUE, PROTECTION = "OBS_VALUE", "PROTECTION"
"""The columns of counts and of how each was published, in SDMX-CSV and in PX files as we read them."""
FORMULA = ("=", "+", "-", "@")
"""Signs at which a spreadsheet takes a label for a formula."""
MOST_PEOPLE = 20_000_000_000
"""No count of people is larger."""
AMOUNTS = "these look like amounts, not counts of people; use a tool for magnitude tables (p % rule, dominance rule)"
"""Why numbers that are no counts are refused, and what to use instead."""
_AMBIGUOUS = re.compile(r"[0-9]{1,3}(?:\.[0-9]{3})+")
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")


class BadText(ValueError):
    """A text that does not say what it should; its message says why."""


def whole_number(text: str) -> int:
    """The count that `text` says.

    >>> whole_number("3.0"), whole_number("1e3")
    (3, 1000)
    """
    plain = text.strip()
    if plain.isascii() and plain.isdigit() and len(plain) <= 10:
        return int(plain)
    if not _NUMBER.fullmatch(plain):
        raise BadText("is not finite" if is_number(plain) else "is not a number")
    if _AMBIGUOUS.fullmatch(plain):
        raise BadText("may be thousands or a fraction; write it without the dot")
    value = Decimal(plain)
    if value != value.to_integral_value():
        raise BadText(f"is not a whole number; {AMOUNTS}")
    if value < 0:
        raise BadText("is negative")
    if value > MOST_PEOPLE:
        raise BadText(f"is larger than any number of people; {AMOUNTS}")
    return int(value)


def is_number(text: str) -> bool:
    """Whether `text` says any number at all, also one that is no count."""
    try:
        float(text)
    except ValueError:
        return False
    return text.isascii() and "_" not in text


def is_finite(text: str) -> bool:
    """Whether `text` says a finite number."""
    return is_number(text) and math.isfinite(float(text))


@dataclass(frozen=True)
class Profiles:
    """Distinct rows of some columns: `codes` points into the `labels` of each column, `counts` says how many rows.

    An absent value is the empty label. Rows may repeat where different values read the same as text.
    """

    columns: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    codes: IntArray
    counts: IntArray
    notes: tuple[str, ...] = ()
    """Which labels look the same and are one."""

    def column(self, name: str) -> tuple[tuple[str, ...], IntArray]:
        """The labels and the codes of one column."""
        position = self.columns.index(name)
        return self.labels[position], self.codes[:, position]

    def where(self, keep: BoolArray) -> "Profiles":
        """The rows to keep, with the labels that they have."""
        if keep.all():
            return self
        rows, codes = self.codes[keep], np.empty((int(keep.sum()), len(self.columns)), dtype=np.int64)
        labels = []
        for column, texts in enumerate(self.labels):
            used, codes[:, column] = np.unique(rows[:, column], return_inverse=True)
            labels.append(tuple(texts[code] for code in used.tolist()))
        return Profiles(self.columns, tuple(labels), codes, self.counts[keep])

    def relabelled(self, name: str, texts: Sequence[str]) -> "Profiles":
        """The same rows with other labels in one column, in their order; equal labels become one."""
        places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
        position, codes = self.columns.index(name), self.codes.copy()
        codes[:, position] = np.array([places[text] for text in texts], dtype=np.int64)[codes[:, position]]
        labels = (*self.labels[:position], tuple(places), *self.labels[position + 1 :])
        return Profiles(self.columns, labels, codes, self.counts, self.notes)

    def with_same_labels(self, values: Collection[str] = ()) -> "Profiles":
        """The same rows, with labels that look the same as one; columns in `values` hold no labels."""
        found, notes = self, list(self.notes)
        for name in self.columns:
            texts = self.labels[self.columns.index(name)]
            if name not in values and (plain := tuple(one_spelling(texts))) != texts:
                notes += [f"{note}." for note in spelling_notes(name, texts)]
                found = found.relabelled(name, plain)
        return replace(found, notes=tuple(notes))


@dataclass(frozen=True)
class Survey:
    """How many rows there are, how many distinct values per column, and what the first rows hold."""

    rows: int
    distinct: Mapping[str, int]
    examples: Mapping[str, tuple[str, ...]]


def numbered_profiles(
    path: Path, table: str, columns: tuple[str, ...], values: Collection[str], rows: Iterable[Sequence[Any]]
) -> Profiles:
    """The profiles in rows of texts, each followed by its count, as a database gives them."""
    numbers: list[dict[str, int]] = [{} for _ in columns]
    codes: list[list[int]] = []
    counts: list[int] = []
    for *labels, count in rows:
        codes.append([seen.setdefault(x, len(seen)) for seen, x in zip(numbers, labels, strict=True)])
        counts.append(count)
    if not counts:
        raise InputError(f"{path}: table {table!r} is empty")
    for name, seen in zip(columns, numbers, strict=True):
        if name not in values:
            check_labels(path, name, len(seen))
    coded = np.array(codes, dtype=np.int64).reshape(len(counts), len(columns))
    found = Profiles(columns, tuple(tuple(seen) for seen in numbers), coded, np.array(counts, dtype=np.int64))
    return found.with_same_labels(values)


class Countable(Protocol):
    """A table that an engine can count, wherever it is."""

    def profiles(self, columns: tuple[str, ...], values: Collection[str] = ()) -> Profiles:
        """Distinct rows of `columns`; those in `values` may hold any number of different texts."""
        ...


class Source(Countable, Protocol):
    """A table in a file or in memory."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        ...

    def survey(self) -> Survey:
        """A first look at every column."""
        ...


def check_columns(path: Path, present: Iterable[str], wanted: Iterable[str]) -> None:
    """Refuse a table that lacks a column."""
    names = list(present)
    more = f" and {len(names) - MOST_LISTED:,} more" if len(names) > MOST_LISTED else ""
    for name in wanted:
        if name not in names:
            listed = ", ".join(names[:MOST_LISTED]) + more
            raise InputError(f"{path}: there is no column {name!r}; the columns are {listed}")


def check_labels(path: Path, column: str, distinct: int) -> None:
    """Refuse to count by a column that identifies single people."""
    if distinct > MOST_LABELS:
        raise InputError(
            f"{path}: column {column!r} has {distinct} different values, more than {MOST_LABELS}: "
            "it looks like an identifier; omit it or band it"
        )


def natural_order(label: str) -> tuple[list[str | tuple[int, str]], str]:
    """A sorting key that reads numbers as numbers.

    >>> sorted(["D10", "D2", "10-19", "5-9"], key=natural_order)
    ['5-9', '10-19', 'D2', 'D10']
    """
    parts: list[str | tuple[int, str]] = list(re.split("([0-9]+)", label))
    # Longer numbers are larger; as texts, since a label may have more digits than Python makes a number of.
    parts[1::2] = [(len(plain), plain) for plain in (str(digits).lstrip("0") for digits in parts[1::2])]
    return parts, label


@dataclass(frozen=True)
class Sheet:
    """The columns of a tidy file as texts, and what each row is called in messages."""

    path: Path
    columns: Mapping[str, Sequence[str]]
    rows: Sequence[int]
    row_word: str = "line"
    base: int = 1
    """What its counts are rounded to, where it states a unit."""
    notes: tuple[str, ...] = ()
    is_observed: bool = False
    """Whether its rows are observations of a statistics office, of which a suppressed one may be zero."""

    def without(self, column: str, value: str) -> "Sheet":
        """The sheet less the rows that hold `value` in `column`."""
        check_columns(self.path, self.columns, (column,))
        keep = [row for row, text in enumerate(self.columns[column]) if text != value]
        if not keep:
            raise InputError(f"{self.path}: no row is left without {column} = {value!r}")
        columns = {name: [texts[row] for row in keep] for name, texts in self.columns.items()}
        return replace(self, columns=columns, rows=[self.rows[row] for row in keep])

    def place(self, row: int) -> str:
        """Where a row stands."""
        return f"{self.row_word} {self.rows[row]}"

    def fault(self, row: int, column: str, reason: str) -> InputError:
        """An error that names file, row, column and value."""
        value = repr(self.columns[column][row])
        value = value if len(value) <= LONGEST_VALUE else f"{value[:LONGEST_VALUE]}..."
        return InputError(f"{self.path}: {self.place(row)}: {column} = {value}: {reason}")


def quoted(name: str) -> str:
    """A column or table name as SQL."""
    return '"' + name.replace('"', '""') + '"'


def unquoted(label: str) -> str:
    """A label without the apostrophe that `quoted_formulas` puts before it.

    >>> unquoted("'=1+1"), unquoted("'s-Hertogenbosch"), unquoted("-5")
    ('=1+1', "'s-Hertogenbosch", '-5')
    """
    return label[1:] if label.startswith("'") and is_formula(label.lstrip("'")) else label


def is_formula(label: str) -> bool:
    """Whether a spreadsheet would run this label."""
    return label[:1] in FORMULA and not is_number(label)
