"""What somebody says about a table beside the table: the options that correct how it is read.

>>> ReadingOptions(suppressed="1-4").gap
(1, 4)
>>> ReadingOptions(suppressed="0-").gap == (0, UNBOUNDED)
True
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from safemargin.core import UNBOUNDED, InputError

NO_TOTALS = "none"
"""What `totals` says where no category is a sum of others."""
SIGNS = {"comma": ",", "dot": ".", "point": ".", "space": " ", "apostrophe": "'", "none": ""}
"""Words for separators, which are hard to type in a shell."""


@dataclass(frozen=True)
class ReadingOptions:
    """How a table is to be read; what is None or empty is worked out from the table.

    `rows` and `columns` name the label columns of a cross table and its axis across, or in a long table the axes.
    `answers` are columns that hold the counts of one answer each. `totals` is the name of the categories that are
    sums, `none` where there are none. `suppressed` is the range of a gap, `rounded` the base that counts are rounded
    to.
    """

    rows: str = ""
    columns: str = ""
    answers: str = ""
    totals: str = ""
    suppressed: str = ""
    rounded: int = 0
    encoding: str = ""
    decimal: str = ""
    thousands: str = ""
    sheet: str = ""
    header: int | None = None
    skip_lines: int = 0

    def __post_init__(self) -> None:
        self.gap  # noqa: B018  (a range that is none is refused here)
        for name in ("decimal", "thousands"):
            sign = SIGNS.get(getattr(self, name), getattr(self, name))
            if sign not in SIGNS.values() or (name == "decimal" and sign not in ("", ",", ".")):
                raise InputError(f"{name} = {sign[:60]!r}: must be a comma, dot, space or apostrophe")
            object.__setattr__(self, name, sign)
        if self.rounded < 0 or self.skip_lines < 0 or (self.header or 0) < 0:
            name = next(n for n in ("rounded", "skip_lines", "header") if (getattr(self, n) or 0) < 0)
            raise InputError(f"{name} = {getattr(self, name)}: must be at least 0")

    @property
    def gap(self) -> tuple[int, int] | None:
        """The range of a suppressed count, if it is stated."""
        if not self.suppressed:
            return None
        match = re.fullmatch(r"([0-9]{1,15})(?:\s*[-–]\s*([0-9]{1,15})?)?", self.suppressed.strip())
        if match is None:
            raise InputError(
                f"suppressed = {self.suppressed[:60]!r}: give the smallest and the largest count, e.g. 1-4"
            )
        least = int(match[1])
        most = least if "-" not in self.suppressed and "–" not in self.suppressed else int(match[2] or UNBOUNDED)
        if most < least:
            raise InputError(f"suppressed = {self.suppressed[:60]!r}: the first must not be above the last")
        return least, most

    @property
    def is_about_layout(self) -> bool:
        """Whether it says where in the file the table is, or how its columns are to be taken."""
        return self.header is not None or bool(
            self.rows or self.columns or self.answers or self.encoding or self.decimal
            or self.thousands or self.sheet or self.skip_lines
        )  # fmt: skip

    @property
    def row_names(self) -> tuple[str, ...]:
        """The label columns that are named."""
        return _names(self.rows)

    @property
    def answer_names(self) -> tuple[str, ...]:
        """The columns of answers that are named."""
        return _names(self.answers)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


NUMBERS = ("rounded", "header", "skip_lines")


def _stated(text: str) -> tuple[str, str | int]:
    """A name and its value, from NAME=VALUE."""
    name, sign, value = text.partition("=")
    name = name.strip().replace("-", "_")
    if not sign or not name:
        raise InputError(f"reading = {text[:60]!r}: write NAME=VALUE, such as totals=All")
    if name not in NUMBERS:
        return name, value
    if not (value.isascii() and value.isdigit() and len(value) < 16):
        raise InputError(f"{name} = {value[:60]!r}: must be a whole number")
    return name, int(value)


def as_reading(given: "ReadingOptions | Mapping[str, Any] | Sequence[str] | None") -> ReadingOptions:
    """Options as a program or a command gives them: a `ReadingOptions`, a mapping, texts NAME=VALUE, or nothing.

    >>> as_reading(["totals=All", "header=2"]) == as_reading({"totals": "All", "header": 2})
    True
    """
    if isinstance(given, ReadingOptions):
        return given
    if given is not None and not isinstance(given, Mapping):
        given = dict(map(_stated, [given] if isinstance(given, str) else given))
    known = {field.name for field in fields(ReadingOptions)}
    if unknown := sorted(set(given or {}) - known):
        raise InputError(f"reading: there is no {unknown[0]!r}; there are {', '.join(sorted(known))}")
    return ReadingOptions(**{name: value for name, value in (given or {}).items() if value is not None})
