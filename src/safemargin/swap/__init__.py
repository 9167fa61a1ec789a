"""Permutation swapping of a file of records: what is held, what is exchanged, and what that promises.

The database counts equal records, `mechanisms.swapping` draws, and the database applies the exchange. What leaves is a
table, or records in the order of their values: the order of the input would tell who is who.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import duckdb

from safemargin.errors import InputError
from safemargin.mechanisms.swap_loss import rates_for, swap_epsilon
from safemargin.mechanisms.swapping import Strata, strata, swap
from safemargin.model.guarantee import Change, Distance, Guarantee
from safemargin.model.universe import Population, Records, counts
from safemargin.publish import new_folder
from safemargin.swap.tables import FORMATS, PEOPLE, Roles, Run, TableError
from safemargin.tabulate.duck import DuckSource, connected, quoted
from safemargin.tabulate.engines import open_source
from safemargin.tabulate.profiles import check_columns

SIZE = "household_size"
STEPS = 5
FORMS = ("table", "records")
FINE = 10**9
"""Rates found for an epsilon are rounded to this fraction, to the side that promises more."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Swapped:
    """One run of swapping. It looks at data, so only the promise and the file leave."""

    roles: Roles
    unit: str
    rate: Fraction
    strata: Strata
    selected: int
    changed: int
    redrawn: int
    guarantee: Guarantee
    errors: tuple[TableError, ...]
    file: str


def swap_file(
    path: Path,
    out: Path,
    swapped: Sequence[str],
    match: Sequence[str] = (),
    hold: Sequence[str] | None = None,
    *,
    rate: Fraction | None = None,
    epsilon: float | None = None,
    higher: bool = False,
    unit: str = "person",
    household: str | None = None,
    form: str = "table",
    file_format: str = "parquet",
    with_errors: bool = True,
    progress: Progress | None = None,
) -> Swapped:
    """Swap the records of a file, and write the result to the new file `out`, or nothing.

    Give the swap `rate`, or the `epsilon` to be promised: of the two rates that have it, the lower or the `higher` one.
    With `household`, records are the households that this column numbers: the people in them stay together.
    """
    if form not in FORMS or file_format not in FORMATS:
        raise InputError(f"form = {form}, format = {file_format}: must be one of {', '.join((*FORMS, *FORMATS))}")
    if (rate is None) == (epsilon is None):
        raise InputError("rate, epsilon: give one of them")
    source = open_source(path)
    if not isinstance(source, DuckSource):
        raise InputError(f"{path}: swapping reads CSV, Parquet and JSON lines only")
    say = _steps(progress)
    with connected(path) as database:
        roles, scan = _roles(path, source, tuple(swapped), tuple(match), hold, household, database)
        if form == "table" and "count" in (*roles.swap, *roles.match, *roles.hold):
            raise InputError(f"{path}: column 'count' would stand twice in the table; choose records")
        run = Run(database, roles)
        run.count(scan)
        say()
        cells, ids = run.cells()
        if not len(ids):
            raise InputError(f"{path}: the table is empty")
        found = strata(cells, run.varies if run.listed else None)
        chosen = _rate(rate, epsilon, higher, found)
        say()
        exchange = swap(cells, chosen)
        say()
        changed = run.apply(cells, ids, exchange)
        run.check()
        say()
        errors = run.errors() if with_errors else ()
        run.write(out, form, file_format, household)
        say()
    what = "household" if household else unit
    return Swapped(
        roles,
        what,
        chosen,
        found,
        len(exchange.cell),
        changed,
        exchange.redrawn,
        promise(roles, what, chosen, found),
        errors,
        out.name,
    )


def swap_folder(path: Path, folder: Path, write: Callable[[Swapped, Path], None], **options: object) -> Swapped:
    """Swap a file into a new folder with `published/` and `inside/`, or leave nothing behind.

    `write` adds what is said about the run to the two folders.
    """
    name = f"swapped.{options.get('file_format', 'parquet')}"
    with new_folder(folder) as draft:
        for part in ("published", "inside"):
            (draft / part).mkdir()
        found = swap_file(path, draft / "published" / name, **options)  # type: ignore[arg-type]
        write(found, draft)
    return found


def promise(roles: Roles, unit: str, rate: Fraction, found: Strata) -> Guarantee:
    """What one run promises: Theorem 1 of Bailie, Gong and Meng."""
    kind = f"{unit}s"
    epsilon = swap_epsilon(rate, found.largest)
    agree = ", ".join(roles.match)
    remarks = []
    if found.single:
        alone = "records are alone in their strata: the invariants tell them as they are."
        if found.single == 1:
            alone = "record is alone in its stratum: the invariants tell it as it is."
        remarks.append(f"{found.single:,} {alone}")
    if found.largest == 0:
        remarks.append("No stratum holds two different records: nothing is exchanged, and nothing is protected.")
    elif found.exchanging < found.largest:
        tight = swap_epsilon(rate, found.exchanging)
        remarks.append(
            f"Where all swapped values of a stratum agree nothing changes; without those, epsilon is {tight:.6g}."
        )
    return Guarantee(
        "permutation swapping",
        f"Records {f'that agree on {agree} ' if agree else ''}exchange {', '.join(roles.swap)} at a rate of "
        f"{float(rate):g}. Between any two data sets that agree on the tables named as invariants, each {unit} record "
        f"that differs changes the odds of what is published by at most e^{epsilon:.6g}.",
        epsilon,
        (counts(kind, *roles.match, *roles.hold), counts(kind, *roles.match, *roles.swap)),
        Population(f"{unit} records", records=(Records(kind, (*roles.match, *roles.hold, *roles.swap), True),)),
        Change(Distance.HAMMING, unit),
        varies=f"swap rate {rate}; {found.largest:,} records in the largest stratum with two different ones",
        rule="permutation swapping (Theorem 1)",
        remarks=tuple(remarks),
        rate=rate,
    )


def _rate(rate: Fraction | None, epsilon: float | None, higher: bool, found: Strata) -> Fraction:
    if rate is not None:
        if rate in (0, 1) and found.largest:
            raise InputError(f"rate = {rate}: has no finite epsilon; choose one between 0 and 1")
        return rate
    low, high = rates_for(float(epsilon or 0), found.largest)
    return Fraction(math.floor(high * FINE), FINE) if higher else Fraction(math.ceil(low * FINE), FINE)


def _roles(
    path: Path,
    source: DuckSource,
    swapped: tuple[str, ...],
    match: tuple[str, ...],
    hold: Sequence[str] | None,
    household: str | None,
    database: duckdb.DuckDBPyConnection,
) -> tuple[Roles, str]:
    """The roles of all columns, and the query that gives the records with these columns."""
    wanted = [name for name in (*swapped, *match) if not (household and name == SIZE)]
    check_columns(path, source.columns, [*wanted, *(hold or ()), *([household] if household else [])])
    rest = [name for name in source.columns if name not in (*swapped, *match, household)]
    held = tuple(rest if hold is None else hold)
    fields = source.fields
    if household is None:
        roles = Roles(swapped, match, held)
        shown = ", ".join(f"{fields[name]} as {quoted(name)}" for name in (*swapped, *match, *held))
        return roles, f"(select {shown} from {source.scan})"
    if household in (*swapped, *match, *held):
        raise InputError(f"column {household!r} numbers the households; it has no other role")
    if not database.execute(f"select count(*) = count({fields[household]}) from {source.scan}").fetchall()[0][0]:
        raise InputError(f"{path}: column {household!r} is empty for some people; it must number every household")
    for name in wanted:
        value = f"count(distinct {fields[name]}) + (count({fields[name]}) < count(*))::int"
        query = f"select {fields[household]}::varchar from {source.scan} group by 1 having {value} > 1 limit 1"
        if found := database.execute(query).fetchone():
            raise InputError(
                f"{path}: column {name!r} differs within household {found[0]!r}; it must be one per household"
            )
    each = ", ".join(f"any_value({fields[name]}) as {quoted(name)}" for name in wanted)
    packed = ", ".join(f"{quoted(name)} := {fields[name]}" for name in held)
    people = f"list_sort(list(struct_pack({packed}))) as {quoted(PEOPLE)}, count(*) as {quoted(SIZE)}"
    query = f"(select {each}, {people} from {source.scan} group by {fields[household]})"
    return Roles(swapped, match, (PEOPLE,) if held else ()), query


def _steps(progress: Progress | None) -> Callable[[], None]:
    done = 0

    def say() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, STEPS)

    return say
