"""The records of a file as swapping needs them: roles checked, equal records counted, strata numbered."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb

from safemargin.errors import InputError
from safemargin.mechanisms.swapping import Cells, Strata, strata
from safemargin.model.arrays import IntArray
from safemargin.swap.tables import PEOPLE, Roles, Run
from safemargin.tabulate.duck import DuckSource, connected, quoted
from safemargin.tabulate.engines import open_source
from safemargin.tabulate.profiles import check_columns

SIZE = "household_size"


@dataclass(frozen=True)
class Asked:
    """The columns as the user names them; `hold` is None for all that have no other role.

    With `household`, records are the households that this column numbers: the people in them stay together.
    """

    swap: tuple[str, ...]
    match: tuple[str, ...] = ()
    hold: tuple[str, ...] | None = None
    household: str | None = None

    def roles(self, columns: Sequence[str]) -> Roles:
        """What every column does, and for households each column of the people."""
        rest = (name for name in columns if name not in (*self.swap, *self.match, self.household))
        return Roles(self.swap, self.match, tuple(rest) if self.hold is None else self.hold)


def asked(
    swap: Sequence[str], match: Sequence[str] = (), hold: Sequence[str] | None = None, household: str | None = None
) -> Asked:
    """The same from lists of names."""
    return Asked(tuple(swap), tuple(match), None if hold is None else tuple(hold), household)


def check_unit(unit: str) -> None:
    """Raise if nobody could read what a record is."""
    if not unit.strip():
        raise InputError("unit: say what a record is, e.g. person")


@dataclass(frozen=True)
class Counted:
    """The records in the database: their cells in order of strata, the row of each there, and how they divide."""

    run: Run
    cells: Cells
    rows: IntArray
    strata: Strata


@contextmanager
def counted(path: Path, names: Asked, done: Callable[[], None] = lambda: None) -> Iterator[Counted]:
    """The records of a file, counted; `done` is called after the first of two steps."""
    source = open_source(path)
    if not isinstance(source, DuckSource):
        raise InputError(f"{path}: swapping reads CSV, Parquet and JSON lines only")
    with connected(path) as database:
        roles, scan = _records(path, source, names, database)
        run = Run(database, roles, names.roles(source.columns).hold if names.household else ())
        run.count(scan)
        done()
        cells, rows = run.cells()
        if not len(rows):
            raise InputError(f"{path}: the table is empty")
        yield Counted(run, cells, rows, strata(cells, run.varies if run.listed else None))


def _records(path: Path, source: DuckSource, names: Asked, database: duckdb.DuckDBPyConnection) -> tuple[Roles, str]:
    """The roles of all columns, and the query that gives the records with these columns."""
    each = [name for name in (*names.swap, *names.match) if not (names.household and name == SIZE)]
    wanted = [*each, *(names.hold or ())]
    check_columns(path, source.columns, wanted if names.household is None else [*wanted, names.household])
    roles = names.roles(source.columns)
    if names.household is None:
        shown = ", ".join(
            f"{source.fields[name]} as {quoted(name)}" for name in (*roles.swap, *roles.match, *roles.hold)
        )
        return roles, f"(select {shown} from {source.scan})"
    _check_households(path, source, names, each, database)
    return _households(source, names.household, roles, each)


def _households(source: DuckSource, household: str, roles: Roles, each: Sequence[str]) -> tuple[Roles, str]:
    fields = source.fields
    columns = ", ".join(f"any_value({fields[name]}) as {quoted(name)}" for name in each)
    packed = ", ".join(f"{quoted(name)} := {fields[name]}" for name in roles.hold)
    people = f"list_sort(list(struct_pack({packed}))) as {quoted(PEOPLE)}, count(*) as {quoted(SIZE)}"
    query = f"(select {columns}, {people} from {source.scan} group by {fields[household]})"
    return Roles(roles.swap, roles.match, (PEOPLE,)), query


def _check_households(
    path: Path, source: DuckSource, names: Asked, each: Sequence[str], database: duckdb.DuckDBPyConnection
) -> None:
    """Every person must be in a household, and what is swapped or matched must be one per household."""
    household, fields = names.household or "", source.fields
    if household in (*names.swap, *names.match, *(names.hold or ())):
        raise InputError(f"column {household!r} numbers the households; it has no other role")
    if SIZE in names.swap:
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
        if found := database.execute(query).fetchone():
            raise InputError(
                f"{path}: column {name!r} differs within household {found[0]!r}; it must be one per household"
            )
