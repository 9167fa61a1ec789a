"""The tables of a run of swapping in the database, and the roles of their columns."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np

from safemargin.core import (
    BoolArray,
    InputError,
    IntArray,
    OutputError,
    Population,
    Records,
)
from safemargin.guarantees import rate_of
from safemargin.io import literal, quoted
from safemargin.swap.permutation import Exchange, Strata, Stratified, strata
from safemargin.ui import Document

CONFIDENTIAL = ("Confidential: do not publish. ", "The errors on this page are computed from the data.")
"""On top of every report of a run."""
PEOPLE = "people"
FIRST_ROWS = 200_000
MIN_DUPLICATION = 3
"""Duplication factor above which identical records are grouped first."""
WHOLE = 1_000_000
"""Rows of a table that is compared whole."""
MANY = 20
"""Rows of which all are different that are not so by chance."""
YES = ("1", "true", "t", "yes", "y")
NO = ("0", "false", "f", "no", "n", "")
"""What a column that marks imputed records may hold, in any case."""
FORMATS = {"parquet": "format parquet", "csv": "format csv, header"}


@dataclass(frozen=True)
class Roles:
    """What a column does: its values are exchanged, have to agree for that, or stay where they are.

    Where records are households, the held column `PEOPLE` lists who is in one, with the columns `people` of each.
    """

    swap: tuple[str, ...]
    match: tuple[str, ...]
    hold: tuple[str, ...]
    people: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.swap:
            raise InputError("swap: name at least one column whose values are exchanged")
        if not self.hold:
            raise InputError("hold: at least one column must stay that is not matched on; else nothing would change")
        seen: dict[str, str] = {}
        for name in (*self.swap, *self.match, *self.hold):
            other = seen.get(name.casefold())
            if other == name:
                raise InputError(f"column {name!r} has two roles; a column is swapped, matched or held")
            if other is not None:
                raise InputError(f"columns {other!r} and {name!r} differ in case only; rename one of them")
            seen[name.casefold()] = name

    def to_json(self) -> Document:
        """The roles in a document."""
        return {"swap": list(self.swap), "match": list(self.match), "hold": list(self.hold)}

    def population(self, unit: str) -> Population:
        """The data sets of records with these columns, and what follows from whom a household lists."""
        columns = Records(f"{unit}s", (*self.match, *self.hold, *self.swap), True)
        listed = tuple((PEOPLE, name) for name in self.people)
        return Population(f"{unit} records", records=(columns,), determines=listed)


@dataclass(frozen=True)
class TableError:
    """What swapping did to the table of what is swapped by one held column."""

    column: str
    cells: int
    mean: float
    relative: float
    """Mean over cells that hold somebody."""

    def to_json(self) -> Document:
        """The error in a document."""
        return {"column": self.column, "cells": self.cells, "mean": self.mean, "relative": self.relative}


class Run:
    """The tables of one run: `cell` before, `result` after."""

    def __init__(self, database: duckdb.DuckDBPyConnection, roles: Roles) -> None:
        self.database, self.roles = database, roles
        self.listed = False
        self.perturbed: dict[str, tuple[Fraction, int]] = {}
        """Held columns that were drawn anew: the rate of that, and the values among which."""
        self.plain: set[str] = set()
        """Tables of numbers without absent values: they are joined by plain equality."""
        self.match = [f"m{n}" for n in range(len(roles.match))]
        self.hold = [f"h{n}" for n in range(len(roles.hold))]
        self.swap = [f"s{n}" for n in range(len(roles.swap))]

    def count(self, scan: str, carried: Sequence[str] = ()) -> None:
        """The records, with equal ones counted if that makes them fewer; strata and swapped values numbered.

        Records with `carried` columns, which are kept beside them for this run, are never counted together.
        """
        named = [*zip(self.roles.match, self.match, strict=True), *zip(self.roles.hold, self.hold, strict=True)]
        named += zip(self.roles.swap, self.swap, strict=True)
        columns = ", ".join([*(f"{quoted(name)} as {key}" for name, key in named), *map(quoted, carried)])
        # Approximate distinct counts of a hash cost one pass; whether records are grouped changes speed only.
        hashed = f"hash({', '.join(quoted(name) for name, _ in named)})"
        self.listed = bool(carried)
        for rows in (f"(select * from {scan} limit {FIRST_ROWS})", scan):  # the first rows may settle it
            if carried:
                break
            query = f"select approx_count_distinct({hashed}) * {MIN_DUPLICATION} > count(*) from {rows}"
            self.listed = bool(self.database.execute(query).fetchall()[0][0])
            if not self.listed:
                break
        counted = "1::bigint as n" if self.listed else "count(*) as n"
        grouped = "" if self.listed else " group by all"
        self.database.execute(f"create temp table cell as select {columns}, {counted} from {scan}{grouped}")
        self._number("strata", "m", self.match)
        self._number("places", "s", self.swap)

    def unique(self) -> int:
        """Records that no other one equals in all columns."""
        columns = ", ".join((*self.match, *self.hold, *self.swap))
        query = f"select count(*) from (select 1 from cell group by {columns} having sum(n) = 1)"
        return int(self.database.execute(query).fetchall()[0][0])

    def kinds(self, columns: Sequence[str], table: str = "cell", order: str = "rowid") -> IntArray:
        """A number for the values of some columns, by row of a table."""
        ranks = f"dense_rank() over (order by {', '.join(columns)}) - 1" if columns else "0"
        rows = self.database.execute(f"select {order} as id, {ranks} as kind from {table}").fetchnumpy()
        kinds = np.empty(len(rows["id"]), dtype=np.int64)
        kinds[np.asarray(rows["id"], dtype=np.int64)] = rows["kind"]
        return kinds

    def rates(self, path: Path, name: str) -> tuple[tuple[Fraction, ...], IntArray]:
        """The different rates that a held or matched column gives, ascending, and the rate of every row of `cell`."""
        named = dict(zip((*self.roles.match, *self.roles.hold), (*self.match, *self.hold), strict=True))
        if name not in named:
            raise InputError(f"{path}: column {name!r} gives rates, so it must be held or matched: it is published")
        kinds = self.kinds([named[name]])
        query = f"select distinct {named[name]}::varchar from cell order by {named[name]}"
        texts = [str(text) for (text,) in self.database.execute(f"select * from ({query})").fetchall()]
        rates = []
        for text in texts:
            try:
                rates.append(rate_of(text))
            except InputError:
                rates.append(Fraction(0))
            if not 0 < rates[-1] < 1:
                raise InputError(f"{path}: column {name!r}: {text!r}: a rate must be a number between 0 and 1")
        values = tuple(sorted(set(rates)))
        return values, np.array([values.index(rate) for rate in rates], dtype=np.int64)[kinds]

    def strata(self, cells: Stratified, rows: IntArray) -> Strata:
        """How these cells divide; `rows` has the row that each has in the database, where equal ones may be listed."""
        return strata(cells, (lambda places: self._varies(rows[places])) if self.listed else None)

    def _varies(self, rows: IntArray) -> bool:
        """Whether two of these records differ."""
        columns = ", ".join((*self.match, *self.hold, *self.swap))
        self.database.register("picked", {"id": rows})
        inside = "cell where rowid in (select id from picked)"
        query = f"select count(*) from (select distinct {columns} from {inside} limit 2)"
        # `limit 2` ends the search at the second record that differs.
        different = int(self.database.execute(query).fetchall()[0][0])
        self.database.unregister("picked")
        return different > 1

    def marked(self, path: Path, name: str) -> BoolArray:
        """For every row of `cell`, whether a held or matched column marks it; marked records are never moved.

        A household is marked if everybody in it is.
        """
        named = dict(zip((*self.roles.match, *self.roles.hold), (*self.match, *self.hold), strict=True))
        if name in named:
            values = f"(select rowid as id, {named[name]} as field from cell)"
        elif name in self.roles.people:
            people = f"(select rowid as id, unnest({named[PEOPLE]}) as person from cell)"
            values = f"(select id, person[{literal(name)}] as field from {people})"
        else:
            raise InputError(f"{path}: column {name!r} marks imputed records, so it must be held or matched")
        share = imputed_share("field", parts=False)
        odd = f"select coalesce(field::varchar, '') from {values} where ({share}) is null limit 1"
        if unclear := self.database.execute(odd).fetchone():
            raise InputError(
                f"{path}: column {name!r}: {unclear[0]!r} does not say whether a record was imputed (0 or 1)"
            )
        query = f"select id, min({share}) = 1 as marked from {values} group by id"
        rows = self.database.execute(query).fetchnumpy()
        marked = np.zeros(len(rows["id"]), dtype=np.bool_)
        marked[np.asarray(rows["id"], dtype=np.int64)] = rows["marked"]
        return marked

    def _number(self, table: str, key: str, columns: list[str]) -> None:
        if not columns:
            self.database.execute(f"create temp table {table} as select 0::bigint as {key}")
            return
        listed = ", ".join(columns)
        distinct = f"(select distinct {listed} from cell)"
        self.database.execute(
            f"create temp table {table} as select {listed}, row_number() over () - 1 as {key} from {distinct}"
        )
        absent = " or ".join(f"{name} is null" for name in columns)
        if not self.database.execute(f"select count(*) from {table} where {absent}").fetchall()[0][0]:
            self.plain.add(table)

    def cells(self) -> tuple[Stratified, IntArray]:
        """The cells in order of their strata, and the row that each has in the database."""
        joins = f"join strata on {self._same('strata', self.match)} join places on {self._same('places', self.swap)}"
        counted = "" if self.listed else ", cell.n as n"
        query = f"select strata.m as m, places.s as s, cell.rowid as id{counted} from cell {joins} order by strata.m"
        rows = self.database.execute(query).fetchnumpy()
        m, s, ids = (np.asarray(rows[name], dtype=np.int64) for name in ("m", "s", "id"))
        n = np.ones(len(m), dtype=np.int64) if self.listed else np.asarray(rows["n"], dtype=np.int64)
        return Stratified.of(m, s, n), ids

    def _same(self, table: str, columns: list[str]) -> str:
        # Absent values are values here: plain equality would drop their records from the join.
        sign = "=" if table in self.plain else "is not distinct from"
        return " and ".join(f"cell.{name} {sign} {table}.{name}" for name in columns) or "true"

    def apply(self, cells: Stratified, ids: IntArray, exchange: Exchange) -> int:
        """Give the selected records their new values, and check that; how many of them are others than before."""
        # A selected record may get an equal value: nothing to write for it.
        other = exchange.swapped != cells.swapped[exchange.cell]
        places, values = exchange.cell[other], exchange.swapped[other]
        check_exchange(cells.stratum[places], cells.swapped[places], values)
        rows = ids[places]
        self.database.register("moves", {"id": rows, "s": values})
        counted = "1 as k from moves" if self.listed else "count(*) as k from moves group by all"
        self.database.execute(f"create temp table moved as select id, s, {counted}")
        self.database.unregister("moves")
        listed = ", ".join((*self.match, *self.hold, *self.swap))
        held = ", ".join(f"cell.{name}" for name in (*self.match, *self.hold))
        moves = "moved join places on places.s = moved.s"
        old, new = (", ".join(f"{table}.{name}" for name in self.swap) for table in ("cell", "places"))
        if self.listed:  # a record moves once, or not at all
            stayed = f"select {held}, {old}, n from cell where rowid not in (select id from moved)"
            gone = f"select {held}, {new}, moved.k from {moves} join cell on cell.rowid = moved.id"
            query = f"{stayed} union all {gone}"
        else:
            taken = "(select id, sum(k) as k from moved group by id)"
            query = (
                f"select {listed}, sum(n)::bigint as n from ("
                f"select {held}, {old}, cell.n - coalesce(taken.k, 0) as n from cell "
                f"left join {taken} taken on cell.rowid = taken.id where cell.n > coalesce(taken.k, 0) "
                f"union all select {held}, {new}, moved.k from {moves} join cell on cell.rowid = moved.id) group by all"
            )
        self.database.execute(f"create temp table result as {query}")
        self.check()
        return len(rows)

    def forget(self) -> None:
        """Drop the result, so that another exchange can be applied to the same records."""
        self.database.execute("drop table moved")
        self.database.execute("drop table result")

    def check(self) -> None:
        """Both invariants: what is held by stratum, and what is swapped by stratum.

        Small tables are compared whole, large ones by a checksum that is linear in the counts; the exchange itself was
        checked whole.
        """
        small = self.database.execute(f"select count(*) <= {WHOLE} from cell").fetchall()[0][0]
        # The two tables of Proposition 4, compared after the fact: a mistake anywhere above would show here.
        for columns in ((*self.match, *self.hold), (*self.match, *self.swap)):
            if self._differs(columns) if small else self._sum("cell", columns) != self._sum("result", columns):
                raise AssertionError(f"swapping changed the table of {', '.join(columns)}; nothing was written")

    def _differs(self, columns: tuple[str, ...]) -> bool:
        listed = ", ".join(columns)
        signed = f"select {listed}, n from cell union all select {listed}, -n from result"
        query = f"select count(*) from (select sum(n) as n from ({signed}) group by {listed} having sum(n) <> 0)"
        return bool(self.database.execute(query).fetchall()[0][0])

    def _sum(self, table: str, columns: tuple[str, ...]) -> tuple[int, ...]:
        query = f"select sum(n), sum(hash({', '.join(columns)})::hugeint * n) from {table}"
        return tuple(self.database.execute(query).fetchall()[0])

    def held_columns(self) -> tuple[str, ...]:
        """The held columns, those of the people of households among them."""
        return (*self.roles.people, *(name for name in self.roles.hold if not (self.roles.people and name == PEOPLE)))

    def _held(self, name: str) -> str:
        """The values of a held column, one row for each person of a household."""
        if name in self.roles.people:
            return f"unnest({self.hold[self.roles.hold.index(PEOPLE)]}).{quoted(name)}"
        return self.hold[self.roles.hold.index(name)]

    def held_values(self, name: str) -> tuple[int, IntArray, IntArray, IntArray]:
        """How many values a held column has, and for rows of `cell` which of them a record has, and how often."""
        values_by_row = f"select rowid as id, {self._held(name)} as value from cell"
        weighted = (
            f"(select id, value, count(*) as w from ({values_by_row}) group by all)"
            if self.roles.people
            else f"({values_by_row})"
        )
        number = "(select value, row_number() over () - 1 as v from (select distinct value from rows))"
        query = f"with rows as {weighted}, number as {number} select rows.*, v from rows join number on "
        rows = self.database.execute(f"{query} rows.value is not distinct from number.value").fetchnumpy()
        ids, values = (np.asarray(rows[key], dtype=np.int64) for key in ("id", "v"))
        weights = np.asarray(rows["w"], dtype=np.int64) if self.roles.people else np.ones(len(ids), dtype=np.int64)
        return int(values.max(initial=-1)) + 1, ids, values, weights

    def naming(self) -> tuple[str, ...]:
        """Held columns whose values, `MANY` or more, each stand in one record alone, as keys do."""
        names = []
        for name in self.held_columns() if self.listed else ():  # counted records are alike in all of them
            values = f"(select distinct rowid as id, {self._held(name)} as value from cell)"
            # An exact count of distinct values is slow; most columns fail the approximate one.
            guess = f"select count(value) >= {MANY} and approx_count_distinct(value) * 2 > count(value) from {values}"
            exact = f"select count(distinct value) = count(value) from {values}"
            if all(self.database.execute(query).fetchall()[0][0] for query in (guess, exact)):
                names.append(name)
        return tuple(names)

    def errors(self, depth: int | None = None) -> tuple[TableError, ...]:
        """The tables of what is swapped (of its first columns up to `depth`) by each held column, before and after."""
        errors = []
        swapped = ", ".join(self.swap[:depth])
        for name in self.held_columns():
            value = f"{swapped}, {self._held(name)} as value"
            sides = f"select {value}, n as old, 0 as new from cell", f"select {value}, 0 as old, n as new from result"
            both = " union all ".join(sides)
            cell = f"select sum(old)::bigint as old, sum(new)::bigint as new from ({both}) group by {swapped}, value"
            query = (
                f"select count(*), avg(abs(new - old)), avg(abs(new - old) / old) filter (where old > 0) from ({cell})"
            )
            ((number, mean, relative),) = self.database.execute(query).fetchall()
            errors.append(TableError(name, number, float(mean), float(relative)))
        return tuple(errors)

    def errors_by_area(self) -> dict[str, tuple[TableError, ...]]:
        """These errors for every area, where the swapped columns go from wide to narrow."""
        return {name: self.errors(depth + 1) for depth, name in enumerate(self.roles.swap)}

    def write(self, folder: Path, form: str, file_format: str, household: str | None) -> str:
        """Write the result as a table or as records, ordered by their values, and return the name of the file."""
        out = folder / f"swapped.{file_format}"
        names = [*self.roles.match, *self.roles.hold, *self.roles.swap]
        keys = [*self.match, *self.hold, *self.swap]
        shown = ", ".join(f"{key} as {quoted(name)}" for key, name in zip(keys, names, strict=True))
        # In the order of values: the order of the input would disclose who is who.
        query = f"select {shown}, n as count from result order by all"
        if self.listed:
            query = f"select {shown}, sum(n)::bigint as count from result group by all order by all"
        if form == "records":
            records = "result" if self.listed else "(select *, unnest(range(n)) as copy from result)"
            query = f"select {shown} from {records} order by all"
            if household is not None:
                listed = ", ".join(keys)
                numbered = f"(select row_number() over (order by {listed}) as number, {listed} from {records})"
                others = [(key, name) for key, name in zip(keys, names, strict=True) if name != PEOPLE]
                shown = ", ".join(f"{key} as {quoted(name)}" for key, name in others)
                people = f"unnest({self.hold[self.roles.hold.index(PEOPLE)]}, recursive := true)"
                query = f"select number as {quoted(household)}, {shown}, {people} from {numbered} order by all"
        try:
            self.database.execute(f"copy ({query}) to {literal(str(out))} ({FORMATS[file_format]})")
        except duckdb.IOException as error:
            raise OutputError(f"{out}: cannot be written ({error})") from None
        return out.name


def imputed_share(field: str, *, parts: bool) -> str:
    """SQL: which share of a record was imputed: 1 or 0 by what `field` says, with `parts` a number, or null."""
    text = f"coalesce(lower(trim({field}::varchar)), '')"
    yes, no = (", ".join(map(literal, texts)) for texts in (YES, NO))
    other = f"try_cast({text} as double)" if parts else "null"
    return f"case when {text} in ({yes}) then 1 when {text} in ({no}) then 0 else {other} end"


def check_exchange(strata: IntArray, before: IntArray, after: IntArray) -> None:
    """Every stratum gets as many of each value as it gives."""
    # Proposition 4: within a stratum the multiset of swapped values is unchanged.
    # Stratum and value in one number, so that one sort compares all strata.
    span = int(max(before.max(initial=0), after.max(initial=0))) + 1
    if not np.array_equal(np.sort(strata * span + before), np.sort(strata * span + after)):
        raise AssertionError("swapping moved a value between strata; nothing was written")
