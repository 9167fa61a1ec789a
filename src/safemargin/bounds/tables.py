"""Bound every cell of published tables: the function behind the command `bound`."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from safemargin.bounds.bound import infer as bound_cells
from safemargin.bounds.report import Bounds
from safemargin.bounds.system import measured_slack
from safemargin.core import InputError, Onlooker, Progress, PublishedTable, Table, Target, no_progress
from safemargin.io import axes, onlooker_from_files, read_tables, with_earlier_tables
from safemargin.ui import override_target

Data = Any
"""A path, a DataFrame (pandas or polars), an Arrow table, or rows as mappings; or several of these in a list."""


def bound(
    tables: Data | Table | Sequence[PublishedTable],
    onlooker: Onlooker | None = None,
    *,
    roll: Data = (),
    facts: Data = (),
    target: str | Sequence[str] | None = None,
    aim: Target | None = None,
    beta: float | None = None,
    kappa: int | None = None,
    tau: int | None = None,
    count: str = "count",
    option: str = "option",
    by: str | Sequence[str] | None = None,
    skip: Sequence[str] = (),
    tolerance: float = 0.0,
    decide: bool = False,
    progress: Progress = no_progress,
) -> Bounds:
    """Bound the count of every cell that an onlooker can infer from `tables`.

    `tables` are tidy tables: files, DataFrames, Arrow tables or rows; or one `Table` of counts, which stands for its
    total and the exact margin of every axis. The onlooker also knows `roll` and `facts` (tables too), unless `onlooker`
    says what they know. `target` names the axes whose cells are asked for. `beta`, `kappa` and `tau` override those of
    `aim`. With `decide`, cells are only classified against `tau`: faster, but intervals are not tightened.
    """
    aim = override_target(aim or Target(), beta, kappa, tau)
    slack = 0
    shown: Table | Sequence[PublishedTable]
    if isinstance(tables, Table):
        shown = tables
    else:
        shown, seen = read_public(tables, roll, facts, count=count, option=option, by=by, skip=skip)
        onlooker = onlooker or seen
        slack = measured_slack(shown, checked_tolerance(tolerance))
    exposure = bound_cells(
        shown,
        onlooker,
        target=axis_names(target),
        slack=slack,
        enough=aim.tau if decide else None,
        fiber=not decide,
        progress=progress,
    )
    return Bounds(exposure, aim)


def read_public(
    tables: Data,
    roll: Data = (),
    facts: Data = (),
    *,
    count: str = "count",
    option: str = "option",
    by: str | Sequence[str] | None = None,
    skip: Sequence[str] = (),
    hierarchy: Sequence[str] = (),
    earlier: Data = (),
    earlier_roll: Data = (),
    knows_rule: bool = False,
) -> tuple[tuple[PublishedTable, ...], Onlooker]:
    """The tables, and the onlooker who sees them, knows `roll` and `facts`, and kept the `earlier` tables."""
    listed = _listed(tables)
    if not listed:
        raise InputError("tables: give at least one table")
    with TemporaryDirectory() as folder:
        here = Path(folder)
        shown = tuple(table for table in listed if isinstance(table, PublishedTable))
        paths = [_path(table, here / "table") for table in listed if not isinstance(table, PublishedTable)]
        names = by if by is None or isinstance(by, str) else ",".join(by)
        shown += read_tables(paths, count, option, names, list(skip), list(hierarchy))
        rolls = [_path(table, here / "roll") for table in _listed(roll)]
        known = [_path(table, here / "fact") for table in _listed(facts)]
        onlooker = onlooker_from_files(shown, rolls, known, count, option, knows_rule)
        before = [_path(table, here / "earlier") for table in _listed(earlier)]
        rolls_then = [_path(table, here / "earlier roll") for table in _listed(earlier_roll)]
        return shown, with_earlier_tables(onlooker, before, rolls_then, count, option)


def axis_names(target: str | Sequence[str] | None) -> tuple[str, ...] | None:
    """Axes from names, or from one text with commas; none for the joint cells."""
    return axes(target) if target is None or isinstance(target, str) else tuple(target)


def checked_tolerance(tolerance: float) -> float:
    """The share by which totals may disagree."""
    if not 0 <= tolerance < 1:
        raise InputError(f"tolerance = {tolerance}: must be at least 0 and below 1")
    return tolerance


def _listed(data: Data) -> list[Any]:
    """Several tables as they are; one table (rows are one) in a list."""
    if not isinstance(data, list | tuple):
        return [data]
    return [data] if data and all(isinstance(row, Mapping) for row in data) else list(data)


def _path(data: Data, stem: Path) -> Path:
    """A file as it is; what is in memory, written to a file beside `stem`."""
    if isinstance(data, str | Path):
        return Path(data)
    number = len(list(stem.parent.glob(f"{stem.name}*"))) + 1
    path = stem.with_name(f"{stem.name} {number}.csv")
    rows = list(_rows(data))
    if not rows:
        raise InputError(f"{path.stem}: has no rows")
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
    return path


def _rows(data: Data) -> Iterable[Mapping[str, Any]]:
    """The rows of a DataFrame or an Arrow table; no library is imported that the caller did not."""
    for method, arguments in (("to_dicts", ()), ("to_pylist", ()), ("to_dict", ("records",))):
        if hasattr(data, method):
            rows: Iterable[Mapping[str, Any]] = getattr(data, method)(*arguments)
            return rows
    if isinstance(data, list) and all(isinstance(row, Mapping) for row in data):
        return data
    raise InputError(f"a table must be a file, a DataFrame, an Arrow table or rows, not {type(data).__name__}")


def _cell(value: object) -> object:
    """A value as tidy files write it: nothing for what is absent, and integers that a missing value made floats."""
    if value is None or value != value:  # only NaN differs from itself
        return ""
    return int(value) if isinstance(value, float) and value.is_integer() else value
