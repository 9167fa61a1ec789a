"""Records with keys: how many there are in every combination of categories, and what their keys add up to."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np

from safemargin.core import InputError, IntArray, Progress, frozen, no_progress
from safemargin.io import DuckSource, check_columns, check_labels, connected, open_source
from safemargin.samplers.cell_key import DECIMAL, HASHED, KeyForm

MILLIONTHS = 10**6
"""Weights are added up in these, exactly."""

AT_ONCE = 200_000


@dataclass(frozen=True, eq=False)
class KeyedCells:
    """Occupied cells: their categories, records, keys and weights (in millionths, if there are any)."""

    axes: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    counts: IntArray
    keys: IntArray
    form: KeyForm
    weights: IntArray | None


@dataclass(frozen=True)
class Columns:
    """Which columns are axes, and which hold the key or the id of a record, the number of records, and their weight."""

    axes: tuple[str, ...]
    key: str | None = None
    id: str | None = None
    count: str | None = None
    weight: str | None = None


Hash = Callable[[list[str]], IntArray]


def read_cells(
    path: Path,
    columns: Columns,
    form: KeyForm = DECIMAL,
    hashed: Hash | None = None,
    progress: Progress = no_progress,
) -> KeyedCells:
    """The cells of a file of records: keys are in a column, written as `form` says, or `hashed` makes them from ids."""
    source = open_source(path)
    if not isinstance(source, DuckSource):
        raise InputError(f"{path}: records with keys are read from CSV, Parquet and JSON files")
    if not columns.axes:
        raise InputError(f"{path}: name the axes with --by, e.g. --by sex,age")
    if len(set(columns.axes)) < len(columns.axes):
        raise InputError(f"{path}: --by {','.join(columns.axes)}: names an axis twice")
    check_columns(path, source.fields, tuple(name for name in _names(columns) if name is not None))
    with connected(path) as database:
        _check(database, source, columns, form)
        labels, counts, weights, keys = _grouped(database, source, columns, form)
        if hashed is not None and columns.id is not None:
            form, keys = HASHED, _hashed(database, source, columns, hashed, len(counts), progress)
    for place, name in enumerate(columns.axes):
        check_labels(path, name, len({row[place] for row in labels}))
    return KeyedCells(columns.axes, labels, counts, keys, form, weights)


def _names(columns: Columns) -> tuple[str | None, ...]:
    return (*columns.axes, columns.key, columns.id, columns.count, columns.weight)


def _check(database: duckdb.DuckDBPyConnection, source: DuckSource, columns: Columns, form: KeyForm) -> None:
    """Refuse values that are not what their column says, by the first of them."""
    if columns.key is not None:
        field = source.fields[columns.key]
        if form.is_decimal:
            good, words = (
                f"try_cast({field} as decimal(38, 15)) between 0 and 1",
                "a record key is a number from 0 to 1",
            )
        else:
            good = f"try_cast({field} as bigint) between 0 and {form.modulus - 1}"
            words = f"a record key is a whole number from 0 to {form.modulus - 1}"
        _refuse(database, source, columns.key, good, words)
    if columns.count is not None:
        field = source.fields[columns.count]
        whole = f"try_cast({field} as bigint)"
        good = f"{whole} between 0 and {2**53} and {whole} = try_cast({field} as double)"
        _refuse(database, source, columns.count, good, "a count is a whole number, not negative")
    if columns.weight is not None:
        good = f"try_cast({source.fields[columns.weight]} as decimal(38, 6)) between 0 and {10**12}"
        _refuse(database, source, columns.weight, good, "a weight is a number, not negative")
    if columns.id is not None:
        field = source.fields[columns.id]
        _refuse(database, source, columns.id, f"coalesce({field}::varchar, '') <> ''", "an id must not be empty")
        twice = database.execute(
            f"select {field}::varchar from {source.scan} group by all having count(*) > 1 limit 1"
        ).fetchone()
        if twice:
            raise InputError(
                f"{source.path}: column {columns.id!r}: {twice[0]!r} occurs twice; an id belongs to one record"
            )


def _refuse(database: duckdb.DuckDBPyConnection, source: DuckSource, name: str, good: str, words: str) -> None:
    bad = database.execute(
        f"select {source.fields[name]}::varchar from {source.scan} where not coalesce({good}, false) limit 1"
    ).fetchone()
    if bad:
        raise InputError(f"{source.path}: column {name!r}: {bad[0]!r}: {words}")


Grouped = tuple[tuple[tuple[str, ...], ...], IntArray, IntArray | None, IntArray]


def _grouped(database: duckdb.DuckDBPyConnection, source: DuckSource, columns: Columns, form: KeyForm) -> Grouped:
    """Labels, counts, weights and keys of the cells, numbered in the temporary table `cell`."""
    places = [f"k{place}" for place in range(len(columns.axes))]
    texts = ", ".join(
        f"coalesce({source.fields[name]}::varchar, '') as {key}" for name, key in zip(columns.axes, places, strict=True)
    )
    count = "count(*)" if columns.count is None else f"sum({source.fields[columns.count]}::bigint)"
    weight = "null" if columns.weight is None else f"sum({source.fields[columns.weight]}::decimal(38, 6))"
    if columns.key is None:
        key = "'0'"
    elif form.is_decimal:
        key = f"(sum({source.fields[columns.key]}::decimal(38, 15)) % 1)::varchar"
    else:
        key = f"(sum({source.fields[columns.key]}::bigint) % {form.modulus})::varchar"
    # Fixed order, so that equal files give equal results.
    database.execute(
        f"create temp table cell as select row_number() over (order by {', '.join(places)}) - 1 as place, * from "
        f"(select {texts}, {count}::bigint as n, {weight}::varchar as w, {key} as k from {source.scan} group by "
        f"{', '.join(str(place + 1) for place in range(len(places)))})"
    )
    rows = database.execute(f"select {', '.join(places)}, n, w, k from cell order by place").fetchall()
    if not rows:
        raise InputError(f"{source.path}: the table is empty")
    labels = tuple(row[: len(places)] for row in rows)
    counts = frozen([row[-3] for row in rows])
    weights = None if columns.weight is None else frozen([_scaled(row[-2], 6) for row in rows])
    digits = 15 if form.is_decimal else 0
    return labels, counts, weights, frozen([_scaled(row[-1], digits) for row in rows])


def _scaled(text: str, digits: int) -> int:
    """A decimal as a whole number of its last digits.

    >>> _scaled("0.25", 3)
    250
    """
    whole, _, rest = text.partition(".")
    return int(whole + rest.ljust(digits, "0"))


def _hashed(
    database: duckdb.DuckDBPyConnection,
    source: DuckSource,
    columns: Columns,
    hashed: Hash,
    cells: int,
    progress: Progress,
) -> IntArray:
    """Sums of the hashes of ids in every cell."""
    assert columns.id is not None
    same = " and ".join(
        f"coalesce({source.fields[name]}::varchar, '') = cell.k{place}" for place, name in enumerate(columns.axes)
    )
    ((total,),) = database.execute(f"select count(*) from {source.scan}").fetchall()
    found = database.execute(
        f"select cell.place, {source.fields[columns.id]}::varchar from {source.scan} join cell on {same}"
    )
    keys, done = np.zeros(cells, dtype=np.int64), 0
    while rows := found.fetchmany(AT_ONCE):
        numbers, ids = zip(*rows, strict=True)
        keys = (keys + HASHED.cell_keys(np.array(numbers), hashed(list(ids)), cells)) % HASHED.modulus
        done += len(rows)
        progress("hashing ids", done, total)
    return keys
