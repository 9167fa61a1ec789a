"""Clients' answers as a table of whole numbers: one row per client, a column per question."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from safemargin.core import InputError, IntArray
from safemargin.io import require_file

LARGEST_ANSWER = 2**20
"""Answers are bits or small counts; a mask has a matrix row for every binary digit."""

Data = Path | str | Sequence[Mapping[str, object]]
"""A CSV file, or rows."""


@dataclass(frozen=True)
class ClientAnswers:
    """Names of clients and questions, and the answers."""

    clients: tuple[str, ...]
    questions: tuple[str, ...]
    values: IntArray
    named: bool = True
    """Whether the data name the clients; else they are numbered, which names nothing from one file to the next."""

    @property
    def largest(self) -> int:
        """The smallest `2^d - 1` that holds every answer: public, so as coarse as it can be."""
        return (1 << max(1, int(self.values.max(initial=0)).bit_length())) - 1


def read_answers(data: Data, client: str = "client") -> ClientAnswers:
    """Answers from a CSV file or rows; the column `client`, if there is one, names the clients."""
    name = str(data) if isinstance(data, str | Path) else "data"
    rows = _csv_rows(Path(data)) if isinstance(data, str | Path) else _mapping_rows(data)
    header, *lines = rows
    if any("\0" in column for column in header):
        raise InputError(f"{name}: is not a CSV file: a name in the header holds a NUL byte")
    if len(set(header)) < len(header) or "" in header:
        odd = next((column for column in header if header.count(column) > 1), "")
        raise InputError(f"{name}: column {odd!r} is there twice or has no name")
    questions = tuple(column for column in header if column != client)
    if not questions:
        raise InputError(f"{name}: there is no question; give a column for each")
    clients: dict[str, int] = {}
    values = np.empty((len(lines), len(questions)), dtype=np.int64)
    for number, line in enumerate(lines, 1):
        if len(line) != len(header):
            raise InputError(f"{name}: row {number} has {len(line)} values, the header has {len(header)}")
        row = dict(zip(header, line, strict=True))
        owner = row.pop(client, str(number))
        if owner in clients:
            raise InputError(f"{name}: rows {clients[owner]} and {number} are both of client {owner[:60]!r}")
        clients[owner] = number
        values[number - 1] = [parse_answer(name, number, question, row[question]) for question in questions]
    return ClientAnswers(tuple(clients), questions, values, client in header)


def _csv_rows(path: Path) -> list[list[str]]:
    require_file(path)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.reader(file, strict=True))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except (csv.Error, UnicodeDecodeError) as error:
        raise InputError(f"{path}: is not a CSV file in UTF-8 ({error})") from None
    rows = [row for row in rows if row]
    if not rows:
        raise InputError(f"{path}: is empty; the first row names the questions")
    return rows


def _mapping_rows(rows: Iterable[Mapping[str, object]]) -> list[list[str]]:
    listed = list(rows)
    if not listed:
        raise InputError("data: there are no rows")
    header = list(listed[0])
    for number, row in enumerate(listed, 1):
        if set(row) != set(header):
            raise InputError(f"data: row {number} has other columns than the first one")
    return [[str(column) for column in header], *([str(row[column]) for column in header] for row in listed)]


def parse_answer(name: str, number: int, question: str, text: str) -> int:
    """A whole number from its digits; anything else is refused with its place."""
    if not (text.isascii() and text.isdigit() and len(text) < 12 and int(text) <= LARGEST_ANSWER):
        raise InputError(
            f"{name}: row {number}, column {question!r}: {text[:60]!r} must be a whole number up to {LARGEST_ANSWER:,}"
        )
    return int(text)
