"""The tables of a run of swapping in the database, and the roles of their columns."""

from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np

from safemargin.errors import InputError, OutputError
from safemargin.mechanisms.swapping import Cells, Exchange
from safemargin.model.arrays import IntArray
from safemargin.tabulate.duck import literal, quoted

PEOPLE = "people"
FORMATS = {"parquet": "format parquet", "csv": "format csv, header"}


@dataclass(frozen=True)
class Roles:
    """What a column does: its values are exchanged, have to agree for that, or stay where they are."""

    swap: tuple[str, ...]
    match: tuple[str, ...]
    hold: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.swap:
            raise InputError("swap: name at least one column whose values are exchanged")
        if not self.hold:
            raise InputError("hold: at least one column must stay that is not matched on; else nothing would change")
        seen: set[str] = set()
        for name in (*self.swap, *self.match, *self.hold):
            if name in seen:
                raise InputError(f"column {name!r} has two roles; a column is swapped, matched or held")
            seen.add(name)


@dataclass(frozen=True)
class TableError:
    """What swapping did to the table of what is swapped by one held column."""

    column: str
    cells: int
    mean: float
    relative: float
    """Mean over cells that hold somebody."""


class Run:
    """The tables of one run: `cell` before, `result` after."""

    def __init__(self, database: duckdb.DuckDBPyConnection, roles: Roles) -> None:
        self.database, self.roles = database, roles
        self.match = [f"m{n}" for n in range(len(roles.match))]
        self.hold = [f"h{n}" for n in range(len(roles.hold))]
        self.swap = [f"s{n}" for n in range(len(roles.swap))]

    def count(self, scan: str) -> None:
        """Equal records, counted; strata and swapped values numbered."""
        named = [*zip(self.roles.match, self.match, strict=True), *zip(self.roles.hold, self.hold, strict=True)]
        named += zip(self.roles.swap, self.swap, strict=True)
        columns = ", ".join(f"{quoted(name)} as {key}" for name, key in named)
        self.database.execute(f"create temp table cell as select {columns}, count(*) as n from {scan} group by all")
        self._number("strata", "m", self.match)
        self._number("places", "s", self.swap)

    def _number(self, table: str, key: str, columns: list[str]) -> None:
        if not columns:
            self.database.execute(f"create temp table {table} as select 0::bigint as {key}")
            return
        listed = ", ".join(columns)
        distinct = f"(select distinct {listed} from cell)"
        self.database.execute(
            f"create temp table {table} as select {listed}, row_number() over () - 1 as {key} from {distinct}"
        )

    def cells(self) -> tuple[Cells, IntArray]:
        """The cells in order of their strata, and the row that each has in the database."""
        joins = f"join strata on {self._same('strata', self.match)} join places on {self._same('places', self.swap)}"
        query = f"select strata.m as m, places.s as s, cell.n as n, cell.rowid as id from cell {joins}"
        found = {name: np.asarray(column) for name, column in self.database.execute(query).fetchnumpy().items()}
        order = np.argsort(found["m"], kind="stable")
        m, s, n, ids = (found[name][order].astype(np.int64) for name in ("m", "s", "n", "id"))
        return Cells(m, s, n), ids

    def _same(self, table: str, columns: list[str]) -> str:
        return " and ".join(f"cell.{name} is not distinct from {table}.{name}" for name in columns) or "true"

    def apply(self, cells: Cells, ids: IntArray, exchange: Exchange) -> int:
        """Give the selected records their new values; how many of them are others than before."""
        other = exchange.swapped != cells.swapped[exchange.cell]
        rows, values = ids[exchange.cell[other]], exchange.swapped[other]
        self.database.register("moves", {"id": rows, "s": values})
        self.database.execute("create temp table moved as select id, s, count(*) as k from moves group by all")
        self.database.unregister("moves")
        taken = "(select id, sum(k) as k from moved group by id)"
        before = ", ".join(f"cell.{name}" for name in (*self.match, *self.hold))
        old, new = (", ".join(f"{table}.{name}" for name in self.swap) for table in ("cell", "places"))
        listed = ", ".join((*self.match, *self.hold, *self.swap))
        self.database.execute(
            f"create temp table result as select {listed}, sum(n)::bigint as n from ("
            f"select {before}, {old}, cell.n - coalesce(taken.k, 0) as n from cell "
            f"left join {taken} taken on cell.rowid = taken.id where cell.n > coalesce(taken.k, 0) "
            f"union all select {before}, {new}, moved.k from moved "
            f"join cell on cell.rowid = moved.id join places on places.s = moved.s) group by all"
        )
        return len(rows)

    def check(self) -> None:
        """Both invariants, on the tables as they are: what is held by stratum, and what is swapped by stratum."""
        for columns in ((*self.match, *self.hold), (*self.match, *self.swap)):
            if self._differs(columns):
                raise AssertionError(f"swapping changed the table of {', '.join(columns)}; nothing was written")

    def _differs(self, columns: tuple[str, ...]) -> bool:
        listed = ", ".join(columns)
        signed = f"select {listed}, n from cell union all select {listed}, -n from result"
        query = f"select count(*) from (select sum(n) as n from ({signed}) group by {listed} having sum(n) <> 0)"
        return bool(self.database.execute(query).fetchall()[0][0])

    def errors(self) -> tuple[TableError, ...]:
        """The tables of what is swapped by each held column, before and after."""
        found = []
        for name, key in zip(self.roles.hold, self.hold, strict=True):
            listed = ", ".join((*self.swap, key))
            sides = f"select {listed}, n as old, 0 as new from cell", f"select {listed}, 0 as old, n as new from result"
            both = " union all ".join(sides)
            cell = f"select sum(old)::bigint as old, sum(new)::bigint as new from ({both}) group by {listed}"
            query = (
                f"select count(*), avg(abs(new - old)), avg(abs(new - old) / old) filter (where old > 0) from ({cell})"
            )
            ((number, mean, relative),) = self.database.execute(query).fetchall()
            found.append(TableError(name, number, float(mean), float(relative)))
        return tuple(found)

    def write(self, out: Path, form: str, file_format: str, household: str | None) -> None:
        """The result as a table or as records, ordered by their values."""
        names = [*self.roles.match, *self.roles.hold, *self.roles.swap]
        keys = [*self.match, *self.hold, *self.swap]
        shown = ", ".join(f"{key} as {quoted(name)}" for key, name in zip(keys, names, strict=True))
        query = f"select {shown}, n as count from result order by all"
        if form == "records":
            each = "(select *, unnest(range(n)) as copy from result)"
            query = f"select {shown} from {each} order by all"
            if household is not None:
                listed = ", ".join(keys)
                numbered = f"(select row_number() over (order by {listed}) as number, {listed} from {each})"
                others = [(key, name) for key, name in zip(keys, names, strict=True) if key not in self.hold]
                shown = ", ".join(f"{key} as {quoted(name)}" for key, name in others)
                people = f"unnest({self.hold[0]}, recursive := true)"
                query = f"select number as {quoted(household)}, {shown}, {people} from {numbered} order by all"
        try:
            self.database.execute(f"copy ({query}) to {literal(str(out))} ({FORMATS[file_format]})")
        except duckdb.IOException as error:
            raise OutputError(f"{out}: cannot be written ({error})") from None
