"""Records with keys: how many there are in every combination of categories, and the sums of their keys."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np

from safemargin.core import FloatArray, InputError, IntArray, Progress, frozen, no_progress
from safemargin.io import DuckSource, SparkSource, check_columns, check_labels, open_records, respelled
from safemargin.noise.columns import COUNT_MOST, WEIGHT_MOST, RecordColumns, reasons
from safemargin.noise.records_spark import Hash, sum_cells
from safemargin.samplers import DECIMAL, HASHED, KeyForm

MILLIONTHS = 10**6
"""Weights are added up in these, exactly."""
AT_ONCE = 200_000
"""Ids that are fetched and hashed at a time."""
Data = Any
"""A path, a DataFrame (pandas or polars), an Arrow table, or rows as mappings."""


@dataclass(frozen=True, eq=False)
class KeyedRecords:
    """Records by occupied combination of categories: how many, the sum of their keys, and of their weights (in
    millionths, if there are any); `weight_values` are the weights that single records have, in ascending order."""

    axes: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    counts: IntArray
    keys: IntArray
    form: KeyForm
    weights: IntArray | None
    weight_values: FloatArray


def read_cells(
    data: Data,
    columns: RecordColumns,
    form: KeyForm = DECIMAL,
    hashed: Hash | None = None,
    progress: Progress = no_progress,
    engine: str = "duckdb",
    master: str | None = None,
    known: Mapping[str, Sequence[str]] | None = None,
) -> KeyedRecords:
    """The cells of records: keys are in a column, written as `form` says, or `hashed` makes them from ids.

    With the engine `spark`, all of that is done on the cluster `master`. Labels that look the same are one, spelled as
    in `known` where that has them.
    """
    source = open_records(data, engine, master)
    if not isinstance(source, DuckSource | SparkSource):
        raise InputError(f"{data}: records with keys are read from CSV, Parquet and JSON files")
    path = source.path
    if not columns.axes:
        raise InputError(f"{path}: name the axes (by), e.g. sex,age")
    if len(set(columns.axes)) < len(columns.axes):
        raise InputError(f"{path}: by = {','.join(columns.axes)}: names an axis twice")
    if isinstance(source, SparkSource):
        progress("summing keys in Spark")
        summed = sum_cells(source, columns, form, hashed)
        cells = respelled(summed.cells, columns.axes, known)
        return _keyed(cells, summed.weights, summed.columns, summed.form)
    check_columns(path, source.fields, columns.all)
    source = respelled(source, columns.axes, known)
    with source.connected() as database:
        for column, rule, reason in _rules(source, columns, form):
            _refuse(database, source, column, rule, reason)
        if columns.id is not None:
            _refuse_twice(database, source, columns.id)
    return _keyed(source, source, columns, form, hashed, progress)


def _keyed(
    source: DuckSource,
    weighted: DuckSource,
    columns: RecordColumns,
    form: KeyForm,
    hashed: Hash | None = None,
    progress: Progress = no_progress,
) -> KeyedRecords:
    """The cells of records whose values are in order; `weighted` has the weights of single rows."""
    with source.connected() as database:
        labels, counts, weights, keys = _grouped(database, source, columns, form)
        if hashed is not None and columns.id is not None:
            form, keys = HASHED, _hashed(database, source, columns, hashed, len(counts), progress)
    with weighted.connected() as database:
        values = _weight_values(database, weighted, columns)
    for a, name in enumerate(columns.axes):
        check_labels(source.path, name, len({row[a] for row in labels}))
    return KeyedRecords(columns.axes, labels, counts, keys, form, weights, values)


def _weight_values(database: duckdb.DuckDBPyConnection, source: DuckSource, columns: RecordColumns) -> FloatArray:
    """The weights of single records; a row for several has their sum."""
    if columns.weight is None:
        return np.zeros(0)
    count = "1" if columns.count is None else f"{source.fields[columns.count]}::double"
    # Six decimals, as sums are exact in millionths; rows for nobody have no weight of a record.
    mean = f"round({source.fields[columns.weight]}::double / {count}, 6)"
    rows = database.execute(f"select distinct {mean} from {source.scan} where {count} > 0").fetchall()
    return np.array(sorted(value for (value,) in rows))


def _rules(source: DuckSource, columns: RecordColumns, form: KeyForm) -> list[tuple[str, str, str]]:
    """What every value of a column must satisfy, as SQL and as a sentence."""
    rules, said = [], reasons(columns, form)
    if columns.key is not None:
        field = source.fields[columns.key]
        if form.is_decimal:
            rule = f"try_cast({field} as decimal(38, 15)) between 0 and 1"
            rules.append((columns.key, rule, said[columns.key]))
        else:
            rule = f"try_cast({field} as bigint) between 0 and {form.modulus - 1}"
            rules.append((columns.key, rule, said[columns.key]))
    if columns.count is not None:
        integer = f"try_cast({source.fields[columns.count]} as bigint)"
        # A cast to bigint rounds 2.5; comparing with the double refuses it.
        rule = (
            f"{integer} between 0 and {COUNT_MOST} and {integer} = try_cast({source.fields[columns.count]} as double)"
        )
        rules.append((columns.count, rule, said[columns.count]))
    if columns.weight is not None:
        rule = f"try_cast({source.fields[columns.weight]} as decimal(38, 6)) between 0 and {WEIGHT_MOST}"
        rules.append((columns.weight, rule, said[columns.weight]))
    if columns.id is not None:
        rules.append((columns.id, f"coalesce({source.fields[columns.id]}::varchar, '') <> ''", said[columns.id]))
    return rules


def _refuse(database: duckdb.DuckDBPyConnection, source: DuckSource, name: str, rule: str, reason: str) -> None:
    """Refuse a column by the first value that breaks its rule."""
    bad = database.execute(
        f"select {source.fields[name]}::varchar from {source.scan} where not coalesce({rule}, false) limit 1"
    ).fetchone()
    if bad:
        raise InputError(f"{source.path}: column {name!r}: {bad[0]!r}: {reason}")


def _refuse_twice(database: duckdb.DuckDBPyConnection, source: DuckSource, name: str) -> None:
    # A person who is listed twice would have their key added twice: the noise of others' cells would not match.
    twice = database.execute(
        f"select {source.fields[name]}::varchar from {source.scan} group by all having count(*) > 1 limit 1"
    ).fetchone()
    if twice:
        raise InputError(f"{source.path}: column {name!r}: {twice[0]!r} occurs twice; an id belongs to one record")


Grouped = tuple[tuple[tuple[str, ...], ...], IntArray, IntArray | None, IntArray]


def _grouped(database: duckdb.DuckDBPyConnection, source: DuckSource, columns: RecordColumns, form: KeyForm) -> Grouped:
    """Labels, counts, weights and keys of the cells, numbered in the temporary table `cell`."""
    names = [f"k{column}" for column in range(len(columns.axes))]
    texts = ", ".join(
        f"coalesce({source.fields[axis]}::varchar, '') as {name}"
        for axis, name in zip(columns.axes, names, strict=True)
    )
    count = source.number if columns.count is None else f"sum({source.fields[columns.count]}::bigint)"
    weight = "null" if columns.weight is None else f"sum({source.fields[columns.weight]}::decimal(38, 6))"
    # Sums of decimals and bigints are exact in DuckDB (128 bits); doubles would depend on the order of the records.
    if columns.key is None:
        key = "'0'"
    elif form.is_decimal:
        key = f"(sum({source.fields[columns.key]}::decimal(38, 15)) % 1)::varchar"
    else:
        key = f"(sum({source.fields[columns.key]}::bigint) % {form.modulus})::varchar"
    # A fixed order, so that equal files give equal results.
    database.execute(
        f"create temp table cell as select row_number() over (order by {', '.join(names)}) - 1 as place, * from "
        f"(select {texts}, {count}::bigint as n, {weight}::varchar as w, {key} as k from {source.scan} group by "
        f"{', '.join(str(column + 1) for column in range(len(names)))})"
    )
    rows = database.execute(f"select {', '.join(names)}, n, w, k from cell order by place").fetchall()
    if not rows:
        raise InputError(f"{source.path}: the table is empty")
    labels = tuple(row[: len(names)] for row in rows)
    weights = None if columns.weight is None else frozen([_scaled(row[-2], 6) for row in rows])
    digits = 15 if form.is_decimal else 0
    return labels, frozen([row[-3] for row in rows]), weights, frozen([_scaled(row[-1], digits) for row in rows])


def _scaled(text: str, digits: int) -> int:
    """A decimal as an integer number of its last digits.

    >>> _scaled("0.25", 3)
    250
    """
    integer, _, rest = text.partition(".")
    return int(integer + rest.ljust(digits, "0"))


def _hashed(
    database: duckdb.DuckDBPyConnection,
    source: DuckSource,
    columns: RecordColumns,
    hashed: Hash,
    cells: int,
    progress: Progress,
) -> IntArray:
    """Sums of the hashes of ids in every cell."""
    assert columns.id is not None
    same = " and ".join(
        f"coalesce({source.fields[name]}::varchar, '') = cell.k{column}" for column, name in enumerate(columns.axes)
    )
    ((total,),) = database.execute(f"select count(*) from {source.scan}").fetchall()
    cursor = database.execute(
        f"select cell.place, {source.fields[columns.id]}::varchar from {source.scan} join cell on {same}"
    )
    keys, done = np.zeros(cells, dtype=np.int64), 0
    while rows := cursor.fetchmany(AT_ONCE):
        numbers, ids = zip(*rows, strict=True)
        keys = (keys + HASHED.cell_keys(np.array(numbers), hashed(list(ids)), cells)) % HASHED.modulus
        done += len(rows)
        progress("hashing ids", done, total)
    return keys
