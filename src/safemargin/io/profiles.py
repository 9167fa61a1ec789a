"""What every engine answers: which combinations of values a file holds, and how often.

Nothing here knows what a column means; `microdata` does.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from safemargin.core import InputError, IntArray

MOST_LABELS = 100_000
"""More distinct values than this in a column that is counted by: an identifier, not an axis."""

EXAMPLES = 1000
"""Rows of which a survey keeps the values."""


@dataclass(frozen=True)
class Profiles:
    """Distinct rows of some columns: `codes` points into the `labels` of each column, `counts` says how many rows.

    An absent value is the empty label. Rows may repeat where different values read the same as text.
    """

    columns: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    codes: IntArray
    counts: IntArray

    def column(self, name: str) -> tuple[tuple[str, ...], IntArray]:
        """The labels and the codes of one column."""
        place = self.columns.index(name)
        return self.labels[place], self.codes[:, place]


@dataclass(frozen=True)
class Survey:
    """How many rows there are, how many distinct values per column, and what the first rows hold."""

    rows: int
    distinct: Mapping[str, int]
    examples: Mapping[str, tuple[str, ...]]


class Source(Protocol):
    """A table that an engine can count."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        ...

    def profiles(self, columns: tuple[str, ...]) -> Profiles:
        """Distinct rows of `columns`."""
        ...

    def survey(self) -> Survey:
        """A first look at every column."""
        ...


def check_columns(path: Path, present: Iterable[str], wanted: Iterable[str]) -> None:
    """Refuse a table that lacks a column."""
    names = list(present)
    for name in wanted:
        if name not in names:
            raise InputError(f"{path}: there is no column {name!r}; the columns are {', '.join(names)}")


def check_labels(path: Path, column: str, distinct: int) -> None:
    """Refuse to count by a column that tells people apart one by one."""
    if distinct > MOST_LABELS:
        raise InputError(
            f"{path}: column {column!r} has {distinct} different values, more than {MOST_LABELS}: "
            "it looks like an identifier; leave it out or band it"
        )


def natural_order(label: str) -> tuple[list[str | int], str]:
    """A sorting key that reads numbers as numbers.

    >>> sorted(["D10", "D2", "10-19", "5-9"], key=natural_order)
    ['5-9', '10-19', 'D2', 'D10']
    """
    parts: list[str | int] = list(re.split("([0-9]+)", label))
    parts[1::2] = [int(digits) for digits in parts[1::2]]
    return parts, label
