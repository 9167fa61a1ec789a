"""Records with keys in Spark: ids are hashed and keys are summed on the cluster; cells and their sums come here.

What comes is a table like that of the records, with a row for each combination of values: DuckDB makes texts of the
values and orders them, as it does for a file, so that the published bytes are the same.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from safemargin.core import InputError, IntArray
from safemargin.io import DuckSource, SparkFrame, SparkSource, open_counts, quiet
from safemargin.noise.columns import COUNT_MOST, WEIGHT_MOST, RecordColumns, reasons
from safemargin.samplers import HASHED, KeyForm

Hash = Callable[[list[str]], IntArray]
INTEGERS = ("byte", "short", "integer", "long")
FLOATS = ("double", "float")


@dataclass(frozen=True)
class KeyedSums:
    """Cells with the sums of keys, counts and weights under the names in `columns`, and the weights of single rows."""

    cells: DuckSource
    weights: DuckSource
    columns: RecordColumns
    form: KeyForm


def sum_cells(source: SparkSource, columns: RecordColumns, form: KeyForm, hashed: Hash | None) -> KeyedSums:
    """The cells of records that Spark reads; `hashed` makes keys from ids, in Python on the workers."""
    return source.run(columns.all, partial(_sum_cells, columns=columns, form=form, hashed=hashed))


def _sum_cells(table: SparkFrame, *, columns: RecordColumns, form: KeyForm, hashed: Hash | None) -> KeyedSums:
    keys = [f"{table.column(name)} as k{number}" for number, name in enumerate(columns.axes)]
    values = _values(table, columns, form)
    bad = [f"if({sql} is null, coalesce(cast({table.column(name)} as string), ''), null)" for name, sql in values]
    rows = table.frame.selectExpr(
        *keys,
        "odd",
        *(f"{sql} as v{number}" for number, (_, sql) in enumerate(values)),
        *(f"{sql} as bad{number}" for number, sql in enumerate(bad)),
    )
    if columns.id is not None and hashed is not None:
        number = [name for name, _ in values].index(columns.id)
        _refuse_twice(table, rows, columns.id, f"v{number}")
        form, columns = HASHED, replace(columns, key=columns.id, id=None)
        rows = _with_hashes(rows, f"v{number}", hashed)
    sums = [f"min(bad{number}) as bad{number}" for number in range(len(values))]
    for number, (name, _) in enumerate(values):
        total = f"sum(cast(v{number} as decimal({'38, 15' if name == columns.key and form.is_decimal else '38, 6'})))"
        if name == columns.key:  # modulo here, so that what comes is a key again
            total = f"{total} % 1" if form.is_decimal else f"sum(cast(v{number} as decimal(38, 0))) % {form.modulus}"
        sums.append(f"{total} as k{len(columns.axes) + number}")
    with _shipped(hashed):
        cells = table.collected([f"k{number}" for number in range(len(columns.axes))], sums, rows)
    said = reasons(columns, form)
    for number, (name, _) in enumerate(values):
        if wrong := [text for text in cells.column(f"bad{number}").to_pylist() if text is not None]:
            raise InputError(f"{table.path}: column {name!r}: {min(wrong)!r}: {said[name]}")
    beside = tuple(filter(None, (columns.weight, columns.count if columns.weight else None)))
    weights = table.collected(
        [f"{table.column(name)} as k{number}" for number, name in enumerate(beside)] or ["1 as k0"]
    )
    named = (*columns.axes, *(name for name, _ in values))
    return KeyedSums(open_counts(table.path, named, cells), open_counts(table.path, beside, weights), columns, form)


def _values(table: SparkFrame, columns: RecordColumns, form: KeyForm) -> list[tuple[str, str]]:
    """Columns with the SQL of their values; it is null where a value breaks the rule of its column."""
    values = []
    if columns.key is not None:
        if form.is_decimal:
            values.append((columns.key, _decimal(table, columns.key, 15, 1)))
        else:
            values.append((columns.key, _integer(table, columns.key, form.modulus - 1)))
    if columns.id is not None:
        if table.kind(columns.id) not in ("string", *INTEGERS):
            raise InputError(f"{table.path}: column {columns.id!r}: Spark hashes ids that are texts or integers")
        text = f"cast({table.column(columns.id)} as string)"
        values.append((columns.id, f"if({text} <> '', {text}, null)"))
    if columns.count is not None:
        values.append((columns.count, _integer(table, columns.count, COUNT_MOST)))
    if columns.weight is not None:
        values.append((columns.weight, _decimal(table, columns.weight, 6, WEIGHT_MOST)))
    return values


def _decimal(table: SparkFrame, name: str, digits: int, most: int) -> str:
    """A number from 0 to `most` rounded to `digits`, halves up, as DuckDB does; null if it is none."""
    column, kind = table.column(name), table.kind(name)
    if kind in FLOATS:
        # DuckDB multiplies in floating point and rounds; Spark would round the shortest decimal form. Adding a half
        # before `floor` would round once more, so the fraction, which is exact, is compared with it.
        scaled = f"cast({column} as double) * 1e{digits}"
        units = f"floor({scaled}) + if({scaled} - floor({scaled}) >= 0.5, 1, 0)"
        value = f"cast({units} as decimal(19, 0)) * 0.{'1'.zfill(digits)}BD"
        return f"case when {column} between 0 and {most} then {value} end"
    if kind not in ("string", "decimal", *INTEGERS):
        raise InputError(f"{table.path}: column {name!r}: holds {kind} values; they must be numbers or texts")
    value = f"try_cast({column} as decimal(38, {digits}))"
    return f"case when {value} between 0 and {most} then {value} end"


def _integer(table: SparkFrame, name: str, most: int) -> str:
    """An integer from 0 to `most`; null if it is none."""
    value = _decimal(table, name, 6, most)
    return f"case when ({value}) = floor({value}) then {value} end"


def _refuse_twice(table: SparkFrame, rows: Any, name: str, value: str) -> None:
    twice = rows.where(f"{value} is not null").groupBy(value).count().where("count > 1").limit(1).collect()
    if twice:
        raise InputError(f"{table.path}: column {name!r}: {twice[0][0]!r} occurs twice; an id belongs to one record")


def _with_hashes(rows: Any, column: str, hashed: Hash) -> Any:
    """Rows whose ids are replaced by their keys."""
    from pyspark.sql.types import LongType, StructField, StructType

    def hash_ids(batches: Iterator[Any]) -> Iterator[Any]:  # runs on the workers, which need no safemargin
        import pyarrow  # type: ignore[import-untyped]

        for batch in batches:
            place = batch.schema.get_field_index(column)
            keys = hashed([text or "" for text in batch.column(place).to_pylist()])
            yield batch.set_column(place, column, pyarrow.array(keys, pyarrow.int64()))

    fields = [field if field.name != column else StructField(column, LongType()) for field in rows.schema]
    with quiet():
        return rows.mapInArrow(hash_ids, StructType(fields))


@contextmanager
def _shipped(function: Hash | None) -> Iterator[None]:
    """Send the code of a function to the workers, not its name: they hash as this process would, whatever they have."""
    if function is None:
        yield
        return
    from pyspark import cloudpickle

    module = sys.modules[getattr(function, "func", function).__module__]
    cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        cloudpickle.unregister_pickle_by_value(module)
