"""Wide tables as pandas and ACRO write them: a column per category, `All` for margins, nothing where suppressed.

The name of the axis across is not in such a file. It is taken from the `session_summary.csv` that ACRO leaves beside
it, from another table that has the same categories, or is `columns`. One column that none of them names holds counts.
"""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from safemargin.core import RESERVED, UNBOUNDED, InputError, PublishedTable, frozen
from safemargin.io.files import read_text
from safemargin.io.rows import BadText, Sheet, is_finite, whole_number

MARGIN = "All"
ACROSS = "columns"


def is_crosstab(sheet: Sheet) -> bool:
    """Whether all but the first columns hold numbers or nothing, and none has a name that tidy tables use."""
    names = tuple(sheet.columns)
    # Names of tidy tables and of tau-ARGUS say that the file is not wide.
    if {*RESERVED, "freq"} & set(names) or len(names) < 2:
        return False
    first = _first_number(sheet)
    return 0 < first < len(names)


def _first_number(sheet: Sheet) -> int:
    """Where the columns with counts start: after the last one that holds a text."""
    names = tuple(sheet.columns)
    texts = [
        column for column, name in enumerate(names) if any(text and not is_finite(text) for text in sheet.columns[name])
    ]
    return max(texts, default=-1) + 1


def columns_of(sheet: Sheet) -> tuple[str, ...]:
    """The categories across, if there are several."""
    names = tuple(name for name in tuple(sheet.columns)[_first_number(sheet) :] if name != MARGIN)
    return names if len(names) > 1 else ()


def read_crosstab(sheet: Sheet, others: Mapping[str, Sequence[str]] | None = None) -> tuple[PublishedTable, ...]:
    """The inner table, and its margins unless they only add up what is shown.

    `others` are the categories of the axes of other tables. A suppressed count may be zero.
    """
    names = tuple(sheet.columns)
    first = _first_number(sheet)
    down, across = names[:first], names[first:]
    labels = [tuple(sheet.columns[name][row] or MARGIN for name in down) for row in range(len(sheet.rows))]
    cells: dict[tuple[str, ...], int | None] = {}
    for row, before in enumerate(labels):
        for name in across:
            text = sheet.columns[name][row].strip()
            if (*before, name) in cells:
                raise InputError(f"{sheet.path}: {sheet.place(row)}: the row {', '.join(before)} is there twice")
            try:
                cells[*before, name] = whole_number(text) if text else None
            except BadText as error:
                raise sheet.fault(row, name, str(error)) from None
    categories = [name for name in across if name != MARGIN]
    axis = _across(sheet.path, down, categories, others or {})
    axes = (*down, axis or ACROSS)
    if axis is None and len(across) == len(categories) == 1:
        axes, cells = down, {cell[:-1]: count for cell, count in cells.items()}
    inner = {cell: count for cell, count in cells.items() if MARGIN not in cell}
    if not inner:
        raise InputError(f"{sheet.path}: holds no counts beside margins")
    tables = [_table(sheet.path, axes, inner)]
    margins = {cell: count for cell, count in cells.items() if MARGIN in cell}
    if any(count is None for count in inner.values()) and _only_shown(inner, margins):
        return tuple(tables)
    for used in sorted({tuple(label != MARGIN for label in cell) for cell in margins}):
        part = {
            tuple(label for label in cell if label != MARGIN): count
            for cell, count in margins.items()
            if tuple(label != MARGIN for label in cell) == used
        }
        tables.append(_table(sheet.path, tuple(axis for axis, kept in zip(axes, used, strict=True) if kept), part))
    return tuple(tables)


def _only_shown(inner: Mapping[tuple[str, ...], int | None], margins: Mapping[tuple[str, ...], int | None]) -> bool:
    """Whether every margin is the sum of the counts shown in it: it adds nothing then."""
    for cell, count in margins.items():
        shown = [
            value
            for other, value in inner.items()
            if all(wanted in (MARGIN, label) for wanted, label in zip(cell, other, strict=True))
        ]
        if count is not None and count != sum(value or 0 for value in shown):
            return False
    return True


def _across(
    path: Path, down: Sequence[str], categories: Sequence[str], others: Mapping[str, Sequence[str]]
) -> str | None:
    summary = path.parent / "session_summary.csv"
    if summary.is_file():
        try:
            records = list(csv.DictReader(read_text(summary).splitlines(), restval=""))
        except csv.Error as error:
            raise InputError(f"{summary}: cannot be read: {error}") from None
        for record in records:
            if path.stem.startswith(f"{record.get('uid', '')}_"):
                used = [name.strip() for name in record.get("independent_variables", "").split(";")]
                left = [name for name in used if name and name not in down]
                if len(left) == 1:
                    return left[0]
    for axis, listed in others.items():
        if axis not in down and set(categories) <= set(listed):
            return axis
    return None


def _table(path: Path, axes: tuple[str, ...], cells: Mapping[tuple[str, ...], int | None]) -> PublishedTable:
    names = [tuple(dict.fromkeys(cell[a] for cell in cells)) for a in range(len(axes))]
    counts = list(cells.values())
    hidden = np.array([count is None for count in counts])
    known = np.array([count or 0 for count in counts], dtype=np.int64)
    return PublishedTable(
        name=f"{path.name} ({' x '.join(axes) or 'total'})",
        axes=axes,
        groups=tuple(tuple(frozenset([label]) for label in labels) for labels in names),
        codes=frozen([[labels.index(cell[a]) for a, labels in enumerate(names)] for cell in cells], len(axes)),
        options=(),
        option=frozen(np.full(len(counts), -1)),
        lower=frozen(known),
        upper=frozen(np.where(hidden, UNBOUNDED, known)),
        status=tuple(np.where(hidden, "suppressed", "exact").tolist()),
    )
