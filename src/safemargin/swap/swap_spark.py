"""Permutation swapping in Spark: strata are counted, and records read, exchanged, checked and written, on a cluster.

The draw stays in this process. Spark runs a task again when a worker dies; a permutation that is drawn in a task would
then be drawn twice, and parts of both could be published. All that comes here is the number of records by matched and
swapped values, which is an invariant: it is published anyway. Which record of such a cell is selected is said by its
place in the order of held values. The draw does not depend on that order, so the law is that of `permutation.swap`.
"""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from safemargin.core import InputError, IntArray, OutputError, Progress
from safemargin.io import SparkFrame, SparkSource, open_counts, open_parts, quiet, respelled_frame
from safemargin.swap.permutation import Exchange, Strata, Stratified, strata, swap
from safemargin.swap.tables import MANY, Roles, TableError, check_exchange

Rate = Callable[[Strata, int], Fraction]
"""The rate of a run, from how its records divide and how many of them are unique."""


@dataclass(frozen=True)
class SparkRun:
    """What one run drew and wrote."""

    rate: Fraction
    strata: Strata
    unique: int
    exchange: Exchange
    changed: int
    errors: tuple[TableError, ...]
    naming: tuple[str, ...]


@dataclass(frozen=True)
class _Columns:
    """SQL names of the columns of records: matched, held and swapped."""

    match: tuple[str, ...]
    hold: tuple[str, ...]
    swap: tuple[str, ...]

    @property
    def all(self) -> tuple[str, ...]:
        return (*self.match, *self.hold, *self.swap)

    @property
    def cell(self) -> tuple[str, ...]:
        """What is counted for the draw."""
        return (*self.match, *self.swap)


def swap_in_spark(source: SparkSource, roles: Roles, rate: Rate, out: Path, form: str, progress: Progress) -> SparkRun:
    """Swap the records of a table, and write the folder `out` of Parquet files, as a table or as records."""

    def run(table: SparkFrame) -> SparkRun:
        names = [(*roles.match,), (*roles.hold,), (*roles.swap,)]
        columns = _Columns(
            *(tuple(f"{k}{n}" for n in range(len(listed))) for k, listed in zip("mhs", names, strict=True))
        )
        named = zip((*roles.match, *roles.hold, *roles.swap), columns.all, strict=True)
        table = respelled_frame(table, (*roles.match, *roles.hold, *roles.swap))
        records = table.frame.selectExpr(*(f"{table.column(name)} as {key}" for name, key in named), "odd")
        progress("counting records")
        cells, counted, varies = _counted(table, records, columns)
        unique = int(records.groupBy(*columns.all).count().where("count = 1").count())
        divided = strata(cells, lambda rows: len(rows) > 1 or bool(varies[rows].any()))
        chosen = rate(divided, unique)
        progress("drawing the exchange")
        exchange = swap(cells, chosen)
        progress("applying the exchange")
        result, changed = _applied(table, records, columns, cells, counted, exchange)
        try:
            _check(records, result, columns)
            errors = tuple(
                _error(records, result, columns, name, key) for name, key in zip(roles.hold, columns.hold, strict=True)
            )
            naming = _naming(records, roles.hold, columns.hold)
            progress("writing the result")
            _write(result, columns, roles, out, form, divided.records)
        finally:
            result.unpersist()
        return SparkRun(chosen, divided, unique, exchange, changed, errors, naming)

    return source.run((*roles.match, *roles.hold, *roles.swap), run)


def _counted(table: SparkFrame, records: Any, columns: _Columns) -> tuple[Stratified, Any, IntArray]:
    """Records by stratum and swapped value, these values as an Arrow table with the same rows, and where held values
    differ."""
    held = f"struct({', '.join(columns.hold)})"
    keys = [f"{name} as k{place}" for place, name in enumerate(columns.cell)]
    counted = table.collected(keys, [f"not (min({held}) <=> max({held})) as varies"], records)
    if not counted.num_rows:
        raise InputError(f"{table.path}: the table is empty")
    places = [f"k{place}" for place in range(len(columns.cell))]
    width = len(columns.match)

    def rank(listed: Sequence[str]) -> str:
        return f"dense_rank() over (order by {', '.join(listed)}) - 1" if listed else "0"

    rows = counted.append_column("i", [np.arange(counted.num_rows)])
    source = open_counts(table.path, columns.cell, rows)
    with source.connected() as database:
        query = f"select i, {rank(places[:width])} as m, {rank(places[width:])} as s from {source.scan}"
        codes = database.execute(query).fetchnumpy()
    i, m, s = (np.asarray(codes[name], dtype=np.int64) for name in ("i", "m", "s"))
    order = np.lexsort((s, m))
    counted = counted.take(i[order])
    numbers = np.asarray(counted.column("n"), dtype=np.int64)
    cells = Stratified.of(m[order], s[order], numbers)
    return cells, counted.select(places), np.asarray(counted.column("varies"), dtype=np.bool_)


def _applied(
    table: SparkFrame, records: Any, columns: _Columns, cells: Stratified, counted: Any, exchange: Exchange
) -> tuple[Any, int]:
    """All records after the exchange, and how many of them got another value."""
    assert exchange.slot is not None
    other = exchange.swapped != cells.swapped[exchange.cell]
    moved, values = exchange.cell[other], exchange.swapped[other]
    check_exchange(cells.stratum[moved], cells.swapped[moved], values)
    # A row with each swapped value: new values come from the rows of other records, as they were read.
    _, first = np.unique(cells.swapped, return_index=True)
    new = counted.select([f"k{number}" for number in range(len(columns.match), len(columns.cell))]).take(first[values])
    new = new.rename_columns([f"t{number}" for number in range(len(columns.swap))])
    new = new.append_column("cell", [moved]).append_column("slot", [exchange.slot[other]])
    numbered = counted.append_column("cell", [np.arange(counted.num_rows)])
    with quiet():
        lookup, moves = (table.spark.createDataFrame(rows) for rows in (numbered, new))
    within, ordered = ", ".join(columns.cell), ", ".join(columns.hold)
    # Equal records may come in any order: whichever of them is moved, the result is the same.
    slot = f"cast(row_number() over (partition by {within} order by {ordered}) - 1 as bigint) as slot"
    slots = records.selectExpr(*columns.all, slot)
    # Absent values are values here: plain equality would drop their records from the join.
    same = [slots[name].eqNullSafe(lookup[f"k{number}"]) for number, name in enumerate(columns.cell)]
    joined = slots.join(lookup, same).join(moves.selectExpr("*", "true as moved"), ["cell", "slot"], "left")
    swapped = [f"if(moved, t{number}, {name}) as {name}" for number, name in enumerate(columns.swap)]
    return joined.selectExpr(*columns.match, *columns.hold, *swapped).persist(), int(other.sum())


def _check(records: Any, result: Any, columns: _Columns) -> None:
    """Both invariants: what is held by stratum, and what is swapped by stratum, compared whole."""
    for kept in ((*columns.match, *columns.hold), columns.cell):
        signed = records.selectExpr(*kept, "1 as n").unionAll(result.selectExpr(*kept, "-1 as n"))
        if signed.groupBy(*kept).sum("n").where("`sum(n)` <> 0").limit(1).count():
            raise AssertionError(f"swapping changed the table of {', '.join(kept)}; nothing was written")


def _error(records: Any, result: Any, columns: _Columns, name: str, key: str) -> TableError:
    """What swapping did to the table of swapped values by one held column."""
    keys = (*columns.swap, key)
    old, new = records.selectExpr(*keys, "1 as o", "0 as e"), result.selectExpr(*keys, "0 as o", "1 as e")
    cells = old.unionAll(new).groupBy(*keys).sum("o", "e").toDF(*keys, "o", "e")
    row = cells.selectExpr("count(*)", "avg(abs(e - o))", "avg(if(o > 0, abs(e - o) / o, null))").collect()[0]
    return TableError(name, int(row[0]), float(row[1]), float(row[2]))


def _naming(records: Any, names: Sequence[str], keys: Sequence[str]) -> tuple[str, ...]:
    """Held columns whose values, `MANY` or more, each stand in one record alone, as keys do."""
    guesses = [f"count({key}) >= {MANY} and approx_count_distinct({key}) * 2 > count({key})" for key in keys]
    likely = records.selectExpr(*guesses).collect()[0]
    asked = [(name, key) for name, key, guess in zip(names, keys, likely, strict=True) if guess]
    exact = (records.selectExpr(f"count(distinct {key}) = count({key})").collect()[0][0] for _, key in asked)
    return tuple(name for (name, _), alone in zip(asked, exact, strict=True) if alone)


def _write(result: Any, columns: _Columns, roles: Roles, out: Path, form: str, expected: int) -> None:
    """Parquet files in the order of values: the order of the input would disclose who is who."""
    names = (*roles.match, *roles.hold, *roles.swap)
    shown = [f"{key} as `{name.replace('`', '``')}`" for key, name in zip(columns.all, names, strict=True)]
    if form == "table":
        result, shown = result.groupBy(*columns.all).count(), [*shown, "count"]
    drafts = out.with_name(f"{out.name}.drafts")
    result.orderBy(*columns.all).selectExpr(*shown).write.parquet(f"file://{drafts.resolve()}")
    out.mkdir()
    for place, part in enumerate(sorted(drafts.glob("part-*.parquet"))):
        part.rename(out / f"part-{place:05}.parquet")
    shutil.rmtree(drafts, ignore_errors=True)
    parts = tuple(sorted(out.iterdir()))
    written = 0
    if parts:
        source = open_parts(out, parts)
        number = "coalesce(sum(count), 0)::bigint" if form == "table" else "count(*)"
        with source.connected() as database:
            written = int(database.execute(f"select {number} from {source.scan}").fetchall()[0][0])
    if written != expected:
        raise OutputError(
            f"{out.parent}: the workers wrote {written:,} of {expected:,} records there; set TMPDIR to a folder on a "
            "disk that all of them and this machine share"
        )
