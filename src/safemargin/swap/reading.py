"""The records of a file as swapping needs them: roles checked, equal records counted, strata numbered."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np

from safemargin.core import InputError, IntArray, Progress, no_progress
from safemargin.io import DuckSource, check_columns, connected, open_source, quoted
from safemargin.swap.permutation import Exchange, Strata, StratumCells, swap
from safemargin.swap.tables import FORMATS, PEOPLE, Roles, Run

SIZE = "household_size"

More = Callable[[DuckSource, duckdb.DuckDBPyConnection], Mapping[str, str]]
"""Columns that a file does not have, in SQL: of one record, or aggregates over the people of a household."""


@dataclass(frozen=True)
class Counted:
    """The records in the database: their cells in order of strata, the row of each there, and how they divide.

    With imputed records, which are never moved, `free` has the cells of the others, and `strata` are of these alone.
    """

    run: Run
    cells: StratumCells
    rows: IntArray
    strata: Strata
    free: IntArray | None = None

    @property
    def imputed(self) -> int:
        """Records that are never moved."""
        return int(self.cells.counts.sum()) - self.strata.records

    def draw(self, rate: Fraction) -> Exchange:
        """One exchange at this rate."""
        if self.free is None:
            return swap(self.cells, rate)
        exchange = swap(_some(self.cells, self.free), rate)
        return Exchange(self.free[exchange.cell], exchange.swapped, exchange.redrawn)


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
) -> Iterator[Run]:
    """The records of a file in the database, at least one.

    Columns that are `loose` are matched on at times only: they are held. Of `more`, what is not matched on is carried.
    """
    if not unit.strip():
        raise InputError("unit: say what a record is, e.g. person")
    if file_format not in FORMATS:
        raise InputError(f"format = {file_format}: must be {' or '.join(FORMATS)}")
    source = _duck_source(path)
    with connected(path) as database:
        added = more(source, database)
        strict, scan = _roles_of(path, source, tuple(swapped), tuple(match), hold, household, database, added)
        kept = tuple(name for name in strict.match if name not in loose)
        # A loose column is held, not matched: it may differ between two records that exchange.
        run = Run(database, replace(strict, match=kept, hold=(*strict.hold, *dict.fromkeys(loose))))
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
    *,
    unit: str = "person",
    file_format: str = "parquet",
) -> Iterator[Counted]:
    """The records of a file, counted.

    `imputed` is a held or matched column that marks records which are never to be moved.
    """
    progress("counting records")
    with opened(path, swapped, match, hold, household, unit=unit, file_format=file_format) as run:
        progress("numbering strata")
        cells, rows = run.cells()
        free = None if imputed is None else np.flatnonzero(~run.marked(path, imputed)[rows])
        strata = run.strata(cells, rows) if free is None else run.strata(_some(cells, free), rows[free])
        yield Counted(run, cells, rows, strata, free)


def _some(cells: StratumCells, places: IntArray) -> StratumCells:
    return StratumCells(cells.stratum[places], cells.swapped[places], cells.counts[places])


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
        value = f"count(distinct {fields[name]}) + (count({fields[name]}) < count(*))::int"
        query = f"select {fields[household]}::varchar from {source.scan} group by 1 having {value} > 1 limit 1"
        if differing := database.execute(query).fetchone():
            raise InputError(
                f"{path}: column {name!r} differs within household {differing[0]!r}; it must be one per household"
            )
