"""Tidy tables: tallies, rolls and published tables as people exchange them, in CSV or Parquet."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from safemargin.core import (
    JOINER,
    RESERVED,
    STATUSES,
    UNBOUNDED,
    BoolArray,
    Group,
    InputError,
    IntArray,
    PublishedTable,
    frozen,
    row_keys,
)
from safemargin.io.rows import BadText, Sheet, check_columns, check_labels, is_finite, unquoted, whole_number
from safemargin.io.same_labels import plain_label, same_label

T = TypeVar("T")


@dataclass(frozen=True)
class Numbers:
    """One column of counts; `absent` marks the rows that hold none."""

    values: IntArray
    absent: BoolArray

    def filled(self, default: int) -> IntArray:
        """The counts, with `default` where there is none."""
        return np.where(self.absent, default, self.values)


def tidy_table(
    sheet: Sheet,
    *,
    count: str = "count",
    option: str = "option",
    axes: tuple[str, ...] | None = None,
    skip: Sequence[tuple[str, str]] = (),
    wider: Mapping[str, Mapping[str, Group]] | None = None,
) -> PublishedTable:
    """The table of a tidy sheet. Without `axes` every column that is not reserved is one; else others are ignored.

    Rows that hold a value in a column as `skip` says are omitted. `wider` gives the categories of every code in the
    hierarchies of an axis.
    """
    for column, value in skip:
        sheet = sheet.without(column, value)
    measure = _measure(sheet, count)
    if axes is None:
        axes = tuple(name for name in sheet.columns if name not in {*RESERVED, count, option})
    check_columns(sheet.path, sheet.columns, axes)
    parsers = {name: _inside(codes) for name, codes in (wider or {}).items()}
    coded = [_coded(sheet, name, parsers.get(name, _groups())) for name in axes]
    for name, (listed, _) in zip(axes, coded, strict=True):
        check_labels(sheet.path, name, len(listed))
    codes = np.column_stack([np.zeros((len(sheet.rows), 0), dtype=np.int64), *(column for _, column in coded)])
    options: tuple[str, ...] = ()
    chosen: IntArray = np.full(len(sheet.rows), -1, dtype=np.int64)
    if option in sheet.columns:
        options, chosen = _coded(sheet, option, _answers())
    _check_repeated(sheet, np.column_stack([codes, chosen + 1]))
    groups = tuple(distinct for distinct, _ in coded)
    merged = np.zeros(len(sheet.rows), dtype=bool)
    for a, distinct in enumerate(groups):
        merged |= np.array([len(group) > 1 for group in distinct])[codes[:, a]]
    lower, upper, status = _ranges(sheet, measure, merged)
    return PublishedTable(
        sheet.path.name,
        axes,
        groups,
        frozen(codes, len(axes)),
        options,
        frozen(chosen),
        frozen(lower),
        frozen(upper),
        status,
        measure="people" if measure == "people" else "count",
        noisy=_noisy(sheet, measure, status),
    )


def _measure(sheet: Sheet, count: str) -> str | None:
    """The column with counts, if there is one; else there is a range."""
    measures = [name for name in dict.fromkeys((count, "people")) if name in sheet.columns]
    if len(measures) > 1:
        raise InputError(
            f"{sheet.path}: has both {measures[0]!r} and {measures[1]!r}; a table counts answers or people"
        )
    if not measures and not {"lower", "upper"} & set(sheet.columns):
        wanted = ", ".join(repr(name) for name in dict.fromkeys((count, "people", "lower")))
        names = ", ".join(sheet.columns)
        raise InputError(f"{sheet.path}: there is no column {wanted} or 'upper'; there are {names}")
    return measures[0] if measures else None


def _coded(sheet: Sheet, column: str, parse: Callable[[str], T]) -> tuple[tuple[T, ...], IntArray]:
    """Distinct parsed values of a column in order of appearance, and the place of each row's value among them."""
    places: dict[T, int] = {}
    known: dict[str, int] = {}
    texts = sheet.columns[column]
    for text in dict.fromkeys(texts):
        try:
            known[text] = places.setdefault(parse(text), len(places))
        except BadText as error:
            raise sheet.fault(texts.index(text), column, str(error)) from None
    return tuple(places), np.array([known[text] for text in texts], dtype=np.int64)


def _groups() -> Callable[[str], Group]:
    """What reads the groups of one column: categories that look the same are one, in the spelling of the first."""
    spelling: dict[str, str] = {}

    def parse(text: str) -> Group:
        return frozenset(spelling.setdefault(same_label(member), member) for member in _group(text))

    return parse


def _group(text: str) -> Group:
    members = [plain_label(member) for member in unquoted(text).split(JOINER)]
    if "" in members:
        raise BadText("a category is empty")
    if len(set(members)) < len(members):
        raise BadText("names a category twice")
    return frozenset(members)


def _inside(wider: Mapping[str, Group]) -> Callable[[str], Group]:
    """Groups by the codes of a hierarchy: a wider one stands for all categories in it."""

    def parse(text: str) -> Group:
        parts = [wider.get(code) for code in sorted(_group(text))]
        if None in parts:
            raise BadText("is not in the hierarchy")
        return frozenset().union(*(part for part in parts if part is not None))

    return parse


def _answers() -> Callable[[str], str]:
    spelling: dict[str, str] = {}

    def parse(text: str) -> str:
        if not (plain := plain_label(unquoted(text))):
            raise BadText("the option is empty")
        return spelling.setdefault(same_label(plain), plain)

    return parse


def _check_repeated(sheet: Sheet, codes: IntArray) -> None:
    keys = row_keys(codes, [int(codes[:, column].max()) + 1 for column in range(codes.shape[1])])
    # The first row of each cell is compared with all others of it.
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    again = np.flatnonzero(first[inverse] != np.arange(len(keys)))
    if len(again):
        row, before = int(again[0]), int(first[inverse[again[0]]])
        raise InputError(
            f"{sheet.path}: {sheet.place(row)}: the same cell as {sheet.place(before)}; give each cell once"
        )


def _numbers(sheet: Sheet, column: str | None, noised: BoolArray) -> Numbers:
    """Counts of one column. A noised one is no count: it only has to be a number."""
    values = np.zeros(len(sheet.rows), dtype=np.int64)
    absent = np.ones(len(sheet.rows), dtype=bool)
    if column is None or column not in sheet.columns:
        return Numbers(values, absent)
    known: dict[str, int] = {}
    for row, text in enumerate(sheet.columns[column]):
        if not text.strip():
            continue
        if noised[row]:
            if not is_finite(text):
                raise sheet.fault(row, column, "is not a number")
            continue
        if text not in known:
            try:
                known[text] = whole_number(text)
            except BadText as error:
                raise sheet.fault(row, column, str(error)) from None
        values[row], absent[row] = known[text], False
    return Numbers(values, absent)


def _noisy(sheet: Sheet, column: str | None, status: Sequence[str]) -> IntArray | None:
    """What noised rows print, if there are any and all print whole numbers."""
    if column is None or column not in sheet.columns or "noised" not in status:
        return None
    values = np.zeros(len(status), dtype=np.int64)
    for row, word in enumerate(status):
        if word == "noised":
            try:
                values[row] = int(sheet.columns[column][row])
            except (ValueError, OverflowError):
                return None
    return frozen(values)


def _ranges(sheet: Sheet, measure: str | None, merged: BoolArray) -> tuple[IntArray, IntArray, tuple[str, ...]]:
    """Least and most people of every row, and how it was published."""
    said = sheet.columns.get("status", [""] * len(sheet.rows))
    for line, status in enumerate(said):
        if status and status not in STATUSES:
            raise sheet.fault(line, "status", f"must be one of {', '.join(STATUSES)}, or empty")
    noised = np.array([status == "noised" for status in said])
    count, least, most = (_numbers(sheet, column, noised) for column in (measure, "lower", "upper"))
    lower = np.where(count.absent, least.filled(0), count.values)
    upper = np.where(count.absent, most.filled(UNBOUNDED), count.values)
    suppressed = count.absent & least.absent & most.absent & ~noised
    _check_ranges(sheet, measure, lower, upper, (least.filled(0), most.filled(UNBOUNDED)))
    # A status that the file states wins; otherwise it follows from what the row holds.
    derived = np.where(suppressed, "suppressed", np.where(merged, "merged", np.where(lower != upper, "range", "exact")))
    for row in np.flatnonzero(lower != upper):
        if said[int(row)] == "exact":
            raise sheet.fault(int(row), "status", "but the row has no single count")
    return lower, upper, tuple(given or known for given, known in zip(said, derived.tolist(), strict=True))


def _check_ranges(
    sheet: Sheet, measure: str | None, lower: IntArray, upper: IntArray, given: tuple[IntArray, IntArray]
) -> None:
    for row in np.flatnonzero(lower > upper):
        raise sheet.fault(int(row), "lower", f"is more than upper = {upper[row]}")
    for row in np.flatnonzero((lower < given[0]) | (upper > given[1])):
        raise sheet.fault(int(row), measure or "lower", f"lies outside [{given[0][row]}, {given[1][row]}]")


def rows_of(table: PublishedTable, orders: Mapping[str, tuple[str, ...]]) -> list[dict[str, object]]:
    """A table as tidy rows: labels, option, count (none if suppressed), status."""
    rows: list[dict[str, object]] = []
    for row, status in enumerate(table.status):
        line: dict[str, object] = dict(table.cell(row, dict(orders)))
        if table.options:
            line["option"] = table.options[table.option[row]]
        count: int | None = int(table.lower[row])
        if status == "noised" and table.noisy is not None:
            count = int(table.noisy[row])
        elif status == "suppressed":
            count = None
        rows.append({**line, table.measure: count, "status": status})
    return rows
