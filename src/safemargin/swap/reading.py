"""The records of a file as swapping needs them: roles checked, equal records counted, strata numbered."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np

from safemargin.core import InputError, IntArray, Progress, no_progress, system_below, system_choices
from safemargin.io import (
    DuckSource,
    Scratch,
    check_columns,
    connected,
    interruptible,
    literal,
    new_scratch,
    open_source,
    quoted,
    respelled,
)
from safemargin.swap.permutation import CellRates, Exchange, Rates, Strata, Stratified, swap, swap_visibly
from safemargin.swap.tables import FORMATS, PEOPLE, Roles, Run

SIZE = "household_size"
PREFIX = "safemargin-swap-"
"""Of folders that hold a result until it is written."""

More = Callable[[DuckSource, duckdb.DuckDBPyConnection], Mapping[str, str]]
"""Columns that a file does not have, in SQL: of one record, or aggregates over the people of a household."""


@dataclass(frozen=True)
class Counted:
    """The records in the database: their cells in order of strata, the row of each there, and how they divide.

    With imputed records, which are never moved, `free` has the cells of the others, and `strata` are of these alone.
    """

    run: Run
    cells: Stratified
    rows: IntArray
    strata: Strata
    free: IntArray | None = None

    @property
    def imputed(self) -> int:
        """Records that are never moved."""
        return int(self.cells.numbers.sum()) - self.strata.records

    def draw(
        self, rate: Rates, *, vacuous: bool = True, near: Sequence[str] = (), near_rate: Fraction | None = None
    ) -> Exchange:
        """One exchange at this rate, or at rates by row; unless `vacuous`, one that changes something.

        With a `near_rate`, a second one follows, as `nearby` draws it.
        """
        free = np.arange(len(self.rows)) if self.free is None else self.free
        cells = self.cells if self.free is None else self.cells.some(free)
        rate = rate.some(free) if isinstance(rate, CellRates) else rate
        if vacuous:
            exchange = swap(cells, rate)
        else:
            held = self.run.kinds([*self.run.match, *self.run.hold])
            exchange = swap_visibly(cells, held[self.rows[free]], rate)
        exchange = Exchange(free[exchange.cell], exchange.swapped, exchange.redrawn)
        return exchange if near_rate is None else self.nearby(exchange, near, near_rate)

    def rates(self, path: Path, name: str) -> CellRates:
        """The rate of every row, from a held or matched column."""
        values, of_row = self.run.rates(path, name)
        return CellRates(values, of_row[self.rows])

    def nearby(self, first: Exchange, near: Sequence[str], rate: Fraction) -> Exchange:
        """A second exchange, of the records as `first` left them, among those that agree on some swapped columns too.

        It reads swapped records only, so it is post-processing of the first.
        """
        cells, swap_columns = self.cells, dict(zip(self.run.roles.swap, self.run.swap, strict=True))
        area = self.run.kinds([swap_columns[name] for name in near], "places", "s")
        left = cells.numbers - np.bincount(first.cell, minlength=len(cells.numbers))
        stayed = np.flatnonzero(left)
        origin = np.concatenate([stayed, first.cell])
        value = np.concatenate([cells.swapped[stayed], first.swapped])
        number = np.concatenate([left[stayed], np.ones(len(first.cell), dtype=np.int64)])
        movable = np.ones(len(origin), dtype=np.bool_) if self.free is None else np.isin(origin, self.free)
        # A near stratum is a stratum and the area that a record is in now, after the first exchange.
        narrow = cells.stratum[origin] * (int(area.max(initial=0)) + 1) + area[value]
        rows = np.flatnonzero(movable)
        rows = rows[np.argsort(narrow[rows], kind="stable")]
        then = swap(Stratified.of(narrow[rows], value[rows], number[rows]), rate)
        picked = rows[then.cell]
        # Who was moved by the first exchange only keeps what it gave; who is picked here gets the new value.
        kept = np.setdiff1d(np.arange(len(stayed), len(origin)), picked)
        return Exchange(
            np.concatenate([origin[kept], origin[picked]]),
            np.concatenate([value[kept], then.swapped]),
            first.redrawn + then.redrawn,
        )


@contextmanager
def opened(
    path: Path,
    swapped: Sequence[str],
    match: Sequence[str],
    hold: Sequence[str] | None,
    household: str | None,
    *,
    unit: str,
    file_format: str = "parquet",
    loose: Sequence[str] = (),
    more: More = lambda source, database: {},
    perturb: Mapping[str, Fraction] | None = None,
) -> Iterator[Run]:
    """The records of a file in the database, at least one.

    Columns that are `loose` are matched on at times only: they are held. Of `more`, what is not matched on is carried.
    Held columns in `perturb` are drawn anew at these rates.
    """
    if not unit.strip():
        raise InputError("unit: say what a record is, e.g. person")
    if file_format not in FORMATS:
        raise InputError(f"format = {file_format}: must be {' or '.join(FORMATS)}")
    source = _duck_source(path)
    with connected(path) as database:
        source = respelled(source, (*swapped, *match, *(source.columns if hold is None else hold), *loose))
        added = more(source, database)
        strict, scan = _roles_of(path, source, tuple(swapped), tuple(match), hold, household, database, added)
        kept = tuple(name for name in strict.match if name not in loose)
        # A loose column is held, not matched: it may differ between two records that exchange.
        run = Run(database, replace(strict, match=kept, hold=(*strict.hold, *dict.fromkeys(loose))))
        for name, rate in (perturb or {}).items():
            if name not in strict.hold:
                raise InputError(f"{path}: column {name!r} is drawn anew, so it must be held, and not matched on")
            scan, run.perturbed[name] = _drawn_anew(database, scan, name, rate)
        run.count(scan, [name for name in added if name not in strict.match])
        if not database.execute("select count(*) from cell").fetchall()[0][0]:
            raise InputError(f"{path}: the table is empty")
        yield run


@contextmanager
def counted(
    path: Path,
    swapped: Sequence[str],
    match: Sequence[str] = (),
    hold: Sequence[str] | None = None,
    household: str | None = None,
    imputed: str | None = None,
    progress: Progress = no_progress,
    unit: str = "person",
    file_format: str = "parquet",
    perturb: Mapping[str, Fraction] | None = None,
) -> Iterator[Counted]:
    """The records of a file, counted.

    `imputed` is a held or matched column that marks records which are never to be moved.
    """
    progress("counting records")
    roles = (swapped, match, hold, household)
    with opened(path, *roles, unit=unit, file_format=file_format, perturb=perturb) as run:
        progress("numbering strata")
        cells, rows = run.cells()
        free = None if imputed is None else np.flatnonzero(~run.marked(path, imputed)[rows])
        strata = run.strata(cells, rows) if free is None else run.strata(cells.some(free), rows[free])
        yield Counted(run, cells, rows, strata, free)


def _drawn_anew(
    database: duckdb.DuckDBPyConnection, scan: str, name: str, rate: Fraction
) -> tuple[str, tuple[Fraction, int]]:
    """Records in which a column is drawn anew at a rate, uniformly among the values that occur, with the rate and the
    number of these values: randomised response."""
    number = len(database.execute("select 1 from duckdb_tables() where temporary").fetchall())
    records, values, column = f"records{number}", f"values{number}", quoted(name)
    database.execute(f"create temp table {records} as select *, row_number() over () - 1 as drawn_row from {scan}")
    distinct = f"select distinct {column} as value from {records}"
    database.execute(f"create temp table {values} as select value, row_number() over () - 1 as v from ({distinct})")
    rows, kinds = (int(database.execute(f"select count(*) from {x}").fetchall()[0][0]) for x in (records, values))
    # Drawn anew, a value may come out as it was: that is part of the response.
    chosen = np.flatnonzero(system_choices(rate, rows))
    database.register("drawn", {"id": chosen, "v": system_below(max(kinds, 1), (len(chosen),))})
    database.execute(f"create temp table drawn{number} as select id, drawn.v, value from drawn join {values} using (v)")
    database.unregister("drawn")
    new = f"case when drawn{number}.id is null then {records}.{column} else drawn{number}.value end as {column}"
    join = f"{records} left join drawn{number} on id = drawn_row"
    return f"(select {records}.* exclude (drawn_row) replace ({new}) from {join})", (rate, kinds)


def _duck_source(path: Path) -> DuckSource:
    """A file of records that the database can read."""
    source = open_source(path)
    if not isinstance(source, DuckSource):
        raise InputError(f"{path}: swapping reads CSV, Parquet and JSON lines only")
    return source


def _roles_of(
    path: Path,
    source: DuckSource,
    swapped: tuple[str, ...],
    match: tuple[str, ...],
    hold: Sequence[str] | None,
    household: str | None,
    database: duckdb.DuckDBPyConnection,
    more: Mapping[str, str],
) -> tuple[Roles, str]:
    """The roles of all columns, and the query that gives the records with these columns and with `more`.

    With `household`, records are the households that this column numbers: the people in them stay together.
    """
    added = {**({SIZE: "count(*)"} if household else {}), **more}
    wanted = [name for name in (*swapped, *match) if name not in added]
    check_columns(path, source.columns, [*wanted, *(hold or ()), *([household] if household else [])])
    held, fields = _held_columns(source, swapped, match, hold, household), source.fields
    roles = Roles(swapped, match, held)
    extra = [f"{sql} as {quoted(name)}" for name, sql in added.items()]
    if household is None:
        selected = [f"{fields[name]} as {quoted(name)}" for name in (*swapped, *match, *held) if name not in added]
        return roles, f"(select {', '.join([*selected, *extra])} from {source.scan})"
    _check_households(path, source, roles, household, wanted, database)
    selected = [f"any_value({fields[name]}) as {quoted(name)}" for name in wanted]
    packed = ", ".join(f"{quoted(name)} := {fields[name]}" for name in held)
    # Sorted, so that households with the same people are equal whatever the order of rows.
    people = f"list_sort(list(struct_pack({packed}))) as {quoted(PEOPLE)}"
    query = f"(select {', '.join([*selected, people, *extra])} from {source.scan} group by {fields[household]})"
    return Roles(swapped, match, (PEOPLE,), held), query


def _held_columns(
    source: DuckSource,
    swapped: Sequence[str],
    match: Sequence[str],
    hold: Sequence[str] | None,
    household: str | None,
) -> tuple[str, ...]:
    """The columns that stay: those that are named, or all that have no other role."""
    rest = (name for name in source.columns if name not in (*swapped, *match, household))
    return tuple(rest if hold is None else hold)


def _check_households(
    path: Path,
    source: DuckSource,
    roles: Roles,
    household: str,
    each: Sequence[str],
    database: duckdb.DuckDBPyConnection,
) -> None:
    """Every person must be in a household, and what is swapped or matched must be one per household."""
    fields = source.fields
    if household in (*roles.swap, *roles.match, *roles.hold):
        raise InputError(f"column {household!r} numbers the households; it has no other role")
    if SIZE in roles.swap:
        raise InputError(f"column {SIZE!r} counts the people of a household; it can be matched on, not swapped")
    for name in (SIZE, PEOPLE):
        if name in source.columns:
            raise InputError(f"{path}: column {name!r} has a name that households need; rename it")
    numbered = f"select count(*) = count({fields[household]}) from {source.scan}"
    if not database.execute(numbered).fetchall()[0][0]:
        raise InputError(f"{path}: column {household!r} is empty for some people; it must number every household")
    for name in each:
        # An absent value is one more value of a household.
        value = f"count(distinct {fields[name]}) + (count({fields[name]}) < count(*))::int"
        query = f"select {fields[household]}::varchar from {source.scan} group by 1 having {value} > 1 limit 1"
        if differing := database.execute(query).fetchone():
            raise InputError(
                f"{path}: column {name!r} differs within household {differing[0]!r}; it must be one per household"
            )


@dataclass(frozen=True)
class Workspace:
    """A file of records, and a folder that is removed with this value; `name` is what reports call the records."""

    path: Path
    scratch: Scratch
    name: str

    @property
    def folder(self) -> Path:
        """Where the result is until it is written."""
        return self.scratch.folder


@contextmanager
def workspace(data: object) -> Iterator[Workspace]:
    """A file of records; a DataFrame, an Arrow table or rows are first written to one, called `data` in messages."""
    scratch = new_scratch(PREFIX)
    if isinstance(data, str | Path):
        yield Workspace(Path(data), scratch, Path(data).stem)
        return
    space = Workspace(scratch.folder / "data.parquet", scratch, "data")
    try:
        _write_records(data, space.path)
        yield space
    except InputError as error:
        raise InputError(str(error).replace(str(space.path), "data")) from None


def _write_records(data: object, path: Path) -> None:
    """Rows as JSON lines would read them, anything else as DuckDB reads it."""
    with duckdb.connect(":memory:") as database, interruptible(database):
        if isinstance(data, Sequence):
            lines = path.with_suffix(".jsonl")
            lines.write_text("".join(f"{json.dumps(row)}\n" for row in data), encoding="utf-8")
            scan = f"read_json({literal(str(lines))}, format = 'newline_delimited')"
        else:
            scan = "records"
            try:
                database.register("records", data)
            except (duckdb.Error, AttributeError, TypeError):
                kind = type(data).__name__
                raise InputError(
                    f"data: {kind} cannot be read; give a file, a DataFrame, an Arrow table or rows"
                ) from None
        database.execute(f"copy (select * from {scan}) to {literal(str(path))} (format parquet)")
