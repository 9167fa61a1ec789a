"""Published files of any kind that can be told by their header, all together."""

from collections.abc import Sequence
from pathlib import Path

from safemargin.core import InputError, PublishedTable
from safemargin.io.combined import Hierarchies, is_combined, read_any_sheet, read_combined
from safemargin.io.crosstab import ACROSS, columns_of, is_crosstab, read_crosstab
from safemargin.io.tidy import Sheet, read_tidy


def read_published(
    paths: Sequence[Path],
    *,
    count: str = "count",
    option: str = "option",
    axes: tuple[str, ...] | None = None,
    skip: Sequence[tuple[str, str]] = (),
    hierarchies: Hierarchies | None = None,
) -> tuple[PublishedTable, ...]:
    """The tables of all files: tidy ones, the outputs of other tools, and cross tables.

    A file read by columns that the caller names is a tidy table.
    """
    plain = axes is None and not skip
    sheets = {path: read_any_sheet(path) for path in paths if plain and path.suffix.lower() != ".parquet"}
    wide = [path for path, sheet in sheets.items() if not is_combined(sheet) and _is_wide(sheet, count, option)]
    found: dict[Path, tuple[PublishedTable, ...]] = {}
    for path in paths:
        if path in wide:
            continue
        if path in sheets and is_combined(sheets[path]):
            found[path] = read_combined(sheets[path], hierarchies or {}, count).tables()
        else:
            found[path] = (read_tidy(path, count=count, option=option, axes=axes, skip=skip),)
    others: dict[str, Sequence[str]] = {
        axis: sorted({name for group in table.groups[a] for name in group})
        for tables in found.values()
        for table in tables
        for a, axis in enumerate(table.axes)
    }
    for path in wide:
        others |= {name: sheets[path].columns[name] for name in tuple(sheets[path].columns)[:1]}
    others.setdefault(ACROSS, [name for path in wide for name in columns_of(sheets[path])])
    for path in wide:
        found[path] = read_crosstab(sheets[path], others)
    tables = tuple(table for path in paths for table in found[path])
    _check_axes(hierarchies or {}, tables)
    return tables


def _check_axes(hierarchies: Hierarchies, tables: Sequence[PublishedTable]) -> None:
    names = tuple(dict.fromkeys(axis for table in tables for axis in table.axes))
    for name in hierarchies:
        if name not in names:
            raise InputError(f"--hierarchy {name}: there is no such axis; the axes are {', '.join(names) or '(none)'}")


def _is_wide(sheet: Sheet, count: str, option: str) -> bool:
    return not {count, option} & set(sheet.columns) and is_crosstab(sheet)
