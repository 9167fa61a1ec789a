"""What a value of a column means: no answer, a band of numbers or dates, and the label that is published."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from functools import cached_property
from pathlib import Path

from safemargin.core import InputError
from safemargin.io import BadText, natural_order

Edge = Decimal | date
_PLAIN = re.compile(r"[+-]?[0-9]{1,18}(\.[0-9]{1,18})?")
_DATE = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})([T ][0-9:.]+(Z|[+-][0-9:]+)?)?")


@dataclass(frozen=True)
class Coding:
    """How the texts of one axis, or of the answer, become categories.

    `absent` are the values that mean nothing was said, `missing` is the category for them, and `labels` are the names
    under which values are published. A text that is already a band or a label stands for itself, so that rolls may
    use either.
    """

    absent: frozenset[str] = frozenset()
    missing: str = ""
    labels: Mapping[str, str] | None = None
    bands: tuple[Edge, ...] = ()
    age_on: date | None = None
    decimal: str = "."

    def category(self, text: str) -> str:
        """The category that a text means; empty where it means none."""
        if not text or text in self.absent or (text.strip() or text) in self.absent:
            return self.missing
        return self.label(text if not self.bands or text in self.known else self._band(text))

    def label(self, category: str) -> str:
        """The name under which a category is published."""
        return (self.labels or {}).get(category, category)

    @cached_property
    def band_names(self) -> tuple[str, ...]:
        """The bands from low to high."""
        return band_names(self.bands)

    @cached_property
    def known(self) -> frozenset[str]:
        """Texts that are categories as they stand."""
        return frozenset({*self.band_names, *(self.labels or {}), *(self.labels or {}).values(), self.missing})

    def categories(self, declared: tuple[str, ...] | None, seen: Iterable[str]) -> tuple[str, ...]:
        """All categories in order: the bands, or those declared, or those seen; the one for no answer is the last."""
        found = set(seen)
        if self.bands or declared:
            listed = [self.label(name) for name in self.band_names or declared or ()]
        else:
            listed = sorted(found - {self.missing}, key=natural_order)
        is_new = self.missing and self.missing not in listed and (self.missing in found or self.bands or declared)
        return tuple(dict.fromkeys([*listed, *([self.missing] if is_new else [])]))

    def _band(self, text: str) -> str:
        value = self._value(text)
        return self.band_names[bisect_right(self.bands, value)]

    def _value(self, text: str) -> Edge:
        if self.age_on is not None:
            return Decimal(_age(_date(text), self.age_on))
        return _date(text) if isinstance(self.bands[0], date) else number(text, self.decimal)


def number(text: str, decimal: str = ".") -> Decimal:
    """The number that a text says, with a decimal point or, if `decimal` says so, a comma."""
    plain = text.strip()
    if decimal == "," and "." not in plain:
        plain = plain.replace(",", ".", 1)
    elif "," in plain and _PLAIN.fullmatch(plain.replace(",", ".", 1)):
        raise BadText('has a comma; set data.decimal = "," if that is the decimal sign')
    if not _PLAIN.fullmatch(plain):
        raise BadText("is not a number")
    return Decimal(plain)


def _date(text: str) -> date:
    match = _DATE.fullmatch(text.strip())
    try:
        if match:
            return date.fromisoformat(match[1])
    except ValueError:
        pass
    raise BadText("is not a date such as 1980-12-31")


def _age(born: date, day: date) -> int:
    if born > day:
        raise BadText(f"lies after {day}, on which the age is asked")
    return day.year - born.year - ((day.month, day.day) < (born.month, born.day))


def band_names(edges: tuple[Edge, ...]) -> tuple[str, ...]:
    """What the bands between some edges are called; each edge is the lowest value of its band.

    >>> band_names((Decimal(18), Decimal(30), Decimal(31)))
    ('under 18', '18-29', '30', '31 and over')
    >>> band_names((date(1950, 1, 1), date(1980, 1, 1)))
    ('before 1950', '1950-1979', '1980 and later')
    """
    if not edges:
        return ()
    first, last = edges[0], edges[-1]
    pairs = list(zip(edges, edges[1:], strict=False))
    dates = [edge for edge in edges if isinstance(edge, date)]
    if dates and all((day.month, day.day) == (1, 1) for day in dates):
        years = [day.year for day in dates]
        inner = [_span(low, high - 1) for low, high in zip(years, years[1:], strict=False)]
        return (f"before {years[0]}", *inner, f"{years[-1]} and later")
    if dates:
        inner = [f"{low} to {high - timedelta(1)}" for low, high in zip(dates, dates[1:], strict=False)]
        return (f"before {first}", *inner, f"{last} and later")
    numbers = [edge for edge in edges if isinstance(edge, Decimal)]
    if all(edge == edge.to_integral_value() for edge in numbers):
        whole = [int(edge) for edge in numbers]
        inner = [_span(low, high - 1) for low, high in zip(whole, whole[1:], strict=False)]
        return (f"under {whole[0]}", *inner, f"{whole[-1]} and over")
    return (f"under {first}", *(f"{low} to under {high}" for low, high in pairs), f"{last} and over")


def _span(low: int, high: int) -> str:
    if low == high:
        return str(low)
    return f"{low}-{high}" if low >= 0 else f"{low} to {high}"


def coded(
    path: Path, column: str, texts: Iterable[str], category: Callable[[str], str], advice: str = ""
) -> tuple[str, ...]:
    """The category of every text; an error names file, column and value."""
    names = []
    for text in texts:
        try:
            names.append(category(text))
        except BadText as error:
            shown = repr(text) if len(text) <= 60 else f"{text[:60]!r}..."
            raise InputError(f"{path}: column {column!r}: {shown} {error}{advice}") from None
    return tuple(names)
