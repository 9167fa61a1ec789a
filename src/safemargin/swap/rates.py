"""Swapping tried at several rates: what each guarantees, and what it does to the tables. Nothing is published."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from safemargin.core import InputError, Progress, no_progress
from safemargin.guarantees.swap_loss import swap_epsilon
from safemargin.swap.held import HeldTable, held_tables
from safemargin.swap.permutation import Strata
from safemargin.swap.reading import Counted, counted
from safemargin.swap.tables import Roles

RATES = tuple(Fraction(percent, 100) for percent in (1, 2, 5, 10, 20, 30, 40, 50))
RUNS = 20


@dataclass(frozen=True)
class Tried:
    """What happened to one table at one rate: for each run its mean relative error, and the empty cells it filled."""

    column: str
    errors: tuple[float, ...]
    filled: tuple[int, ...]


@dataclass(frozen=True)
class Trial:
    """Some runs at one rate: `changed` is how many records got another value, for each run."""

    rate: Fraction
    epsilon: float
    changed: tuple[int, ...]
    tables: tuple[Tried, ...]


@dataclass(frozen=True)
class MeasuredTable:
    """A table of what is swapped by a held column: cells that hold somebody, and empty ones, which errors leave out."""

    column: str
    cells: int
    empty: int


@dataclass(frozen=True)
class Trials:
    """Runs at several rates. They look at data, so they stay inside."""

    roles: Roles
    unit: str
    strata: Strata
    runs: int
    tables: tuple[MeasuredTable, ...]
    too_large: tuple[str, ...]
    """Held columns whose table was not measured."""
    rates: tuple[Trial, ...]


def try_rates(
    path: Path,
    swapped: Sequence[str],
    match: Sequence[str] = (),
    hold: Sequence[str] | None = None,
    *,
    rates: Sequence[Fraction] = RATES,
    runs: int = RUNS,
    unit: str = "person",
    household: str | None = None,
    imputed: str | None = None,
    progress: Progress = no_progress,
) -> Trials:
    """Swap the records of a file `runs` times at each of the `rates`, and measure the tables of what is swapped.

    Roles are those of `swap_file`. The error of a table is the mean over its cells of how far a count is off, relative
    to the count; cells that hold nobody are left out and counted.
    """
    chosen = _checked(rates, runs)
    with counted(path, swapped, match, hold, household, imputed, unit=unit) as data:
        if data.strata.exchanging == 0:
            raise InputError(f"{path}: no two records that agree on what is matched differ in what is swapped")
        tables, too_large = held_tables(data.run, data.cells, data.rows)
        if not tables:
            raise InputError(f"{path}: the tables of all held columns are too large to be measured")
    done = 0
    found = []
    for rate in chosen:
        several = []
        for _ in range(runs):
            several.append(_run(data, rate, tables))
            done += 1
            progress("swapping", done, runs * len(chosen))
        found.append(_trial(rate, swap_epsilon(rate, data.strata.largest), tables, several))
    return Trials(
        data.run.roles,
        "household" if household else unit,
        data.strata,
        runs,
        tuple(MeasuredTable(each.column, each.cells, each.empty) for each in tables),
        tuple(too_large),
        tuple(found),
    )


_Run = tuple[int, list[tuple[float, int]]]
"""Records that got another value, and the error and filled cells of each table."""


def _run(data: Counted, rate: Fraction, tables: Sequence[HeldTable]) -> _Run:
    cells, exchange = data.cells, data.draw(rate)
    changed = int((exchange.swapped != cells.swapped[exchange.cell]).sum())
    return changed, [table.error(cells, exchange) for table in tables]


def _trial(rate: Fraction, epsilon: float, tables: Sequence[HeldTable], several: Sequence[_Run]) -> Trial:
    tried = [
        Tried(
            table.column,
            tuple(run[1][place][0] for run in several),
            tuple(run[1][place][1] for run in several),
        )
        for place, table in enumerate(tables)
    ]
    return Trial(rate, epsilon, tuple(run[0] for run in several), tuple(tried))


def _checked(rates: Sequence[Fraction], runs: int) -> tuple[Fraction, ...]:
    if not rates:
        raise InputError("rates: name at least one")
    for rate in rates:
        if not 0 < rate < 1:
            raise InputError(f"rate = {rate}: has no finite epsilon; choose one between 0 and 1")
    if runs < 1:
        raise InputError(f"runs = {runs}: must be at least 1")
    return tuple(sorted(set(rates)))
