"""Permutation swapping of a file of records: what is held, what is exchanged, and what that guarantees.

The database counts equal records, `permutation` draws, and the database applies the exchange. The result is a table, or
records in the order of their values: the order of the input would disclose who is who.
"""

import math
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path

from safemargin import ui
from safemargin.core import Guarantee, InputError, Progress, no_progress
from safemargin.guarantees import (
    CAPTION,
    CURVE_NOTE,
    GUARANTEE_FILE,
    Rate,
    document,
    guarantee_text,
    rate_chart,
    rate_of,
    rates_for,
    swap_epsilon,
)
from safemargin.io import SparkSource, new_folder, open_records, write_manifest
from safemargin.swap.guarantee import Method, swap_guarantee
from safemargin.swap.permutation import CellRates, Rates, Strata
from safemargin.swap.reading import Workspace, counted, workspace
from safemargin.swap.small_strata import exact_epsilon
from safemargin.swap.swap_spark import swap_in_spark
from safemargin.swap.tables import CONFIDENTIAL, Roles, TableError

FORMS = ("table", "records")
MICRODATA = Fraction(1, 2)
"""Share of records that are unique from which on a table is as good as the records themselves."""
DIGITS = (9, 12, 15, 18)
"""Rates found for an epsilon are rounded to as many, to the side that guarantees more, or more where needed."""


@dataclass(frozen=True)
class Swapped(ui.Result):
    """One run of swapping. It reads confidential data: only the guarantee and the file may be published."""

    roles: Roles
    unit: str
    method: Method
    strata: Strata
    unique: int
    selected: int
    changed: int
    redrawn: int
    errors: tuple[TableError, ...]
    file: str
    space: Workspace
    naming: tuple[str, ...]
    """Held columns that are different for every record, such as a key: they are published."""
    imputed: int | None = None
    """Records that were not to be moved, where some are marked; `strata` are of the others."""
    exact: float | None = None
    """The exact loss, where all strata are small."""

    @cached_property
    def guarantee(self) -> Guarantee:
        """What the run guarantees, which may be published."""
        return swap_guarantee(self.roles, self.unit, self.method, self.strata, self.imputed, self.exact)

    def to_json(self) -> ui.Document:
        return {
            "schema": ui.SCHEMA,
            "unit": self.unit,
            "records": self.strata.records,
            "rate": float(self.method.rate),
            "rate_exact": str(self.method.rate),
            "rate_most": None if self.method.most is None else float(self.method.most),
            "unique": self.unique,
            "epsilon": self.guarantee.epsilon,
            "largest_stratum": self.strata.largest,
            **({} if self.imputed is None else {"imputed": self.imputed}),
            "strata": self.strata.number,
            "single_records": self.strata.single,
            "selected": self.selected,
            "changed": self.changed,
            "redrawn": self.redrawn,
            "roles": self.roles.to_json(),
            "naming": list(self.naming),
            "errors": [error.to_json() for error in self.errors],
            "guarantee": document(self.guarantee),
            "file": self.file,
        }

    @property
    def _lines(self) -> list[str]:
        beside = f" beside {self.imputed:,} imputed ones" if self.imputed else ""
        exact = " and ".join(map(str, self.guarantee.invariants))
        return [
            f"{self.strata.records:,} {self.unit} records{beside}; strata: {self.strata.number:,}, the largest with "
            f"two different records holds {self.strata.largest:,}.",
            f"Rate {self.method.rates}: {self.selected:,} records selected, {self.changed:,} got another value.",
            f"{self.unique:,} of {self.strata.records + (self.imputed or 0):,} records are unique in the columns that "
            "are published: whoever knows these of a record finds it, unless it was exchanged.",
            f"{self.guarantee.amount} per {self.guarantee.change}; kept exactly, and checked: {exact}.",
            *self.guarantee.remarks,
            *(
                f"Column {name!r} has no value twice in different records, and is published: omit it from the held "
                "columns if it identifies them."
                for name in self.naming
            ),
        ]

    def to_report(self) -> ui.Report:
        figures: dict[str, ui.Cell] = {
            "records": self.strata.records,
            "selected": self.selected,
            "got another value": self.changed,
            "epsilon": self.guarantee.amount,
        }
        stated = [
            self.guarantee.statement,
            *(f"Unchanged: {invariant}" for invariant in self.guarantee.invariants),
            f"Depends on: {self.guarantee.varies}",
            f"Why: {self.guarantee.rule}",
        ]
        rows = [
            (error.column, error.cells, f"{error.mean:.3g}", ui.exact_percent(error.relative)) for error in self.errors
        ]
        columns = ("by", "cells", "mean error of a count", "mean relative error")
        picture = ui.Chart(lambda: rate_chart(self.method.rate, self.strata.largest), CAPTION, fits=True)
        return ui.Report(
            f"{self.space.name}, swapped",
            *self._lines,
            ui.OnPage(
                ui.Section("This run", ui.Figures(figures)),
                ui.Section("What is guaranteed", ui.Points(stated)),
                ui.Section("Epsilon against the swap rate", picture, CURVE_NOTE),
                ui.Section(f"What happened to {', '.join(self.roles.swap)}", ui.Grid(columns, rows)),
            ),
            banner=CONFIDENTIAL,
        )

    def write(self, path: Path | str) -> Path:
        """Write a new folder: `published/` with result, guarantee and manifest, `confidential/` with the report."""
        with new_folder(Path(path)) as draft:
            for part in ("published", "confidential"):
                (draft / part).mkdir()
            result = self.space.folder / self.file
            copy = shutil.copytree if result.is_dir() else shutil.copyfile
            copy(result, draft / "published" / self.file)
            ui.write_text(draft / "published" / GUARANTEE_FILE, guarantee_text(self.guarantee))
            write_manifest(draft / "published", {"kind": "swapped records"})
            ui.write_text(draft / "confidential" / "report.html", self.to_html())
        return Path(path)


def swap(
    data: object,
    *,
    swapped: Sequence[str],
    hold: Sequence[str],
    match: Sequence[str] = (),
    rate: str | Rate | None = None,
    epsilon: float | None = None,
    higher: bool = False,
    rate_by: str | None = None,
    near: Sequence[str] = (),
    near_rate: str | Rate | None = None,
    vacuous: bool = True,
    perturb: Mapping[str, str | Rate] | None = None,
    unit: str = "person",
    household: str | None = None,
    imputed: str | None = None,
    form: str = "table",
    file_format: str = "parquet",
    engine: str = "duckdb",
    master: str | None = None,
    progress: Progress = no_progress,
) -> Swapped:
    """Exchange values between records at random: two tables stay exact, the rest gets a guarantee.

    `data` is a file, a DataFrame, an Arrow table or rows. Records that agree on the columns `match` exchange the
    columns `swapped`; the columns `hold` stay, and all others are omitted. Give the swap `rate`, the `epsilon` to be
    guaranteed (of its two rates, the lower or the `higher` one), or a column `rate_by` with the rate of each record.
    With `near`, a second exchange follows at `near_rate` among records that agree on these swapped columns. Unless
    `vacuous`, exchanges that change nothing are drawn again. `perturb` draws held columns anew at a rate before that.
    With `household`, records are the households that this column numbers: the people in them stay together. Records
    that the column `imputed` marks are never moved. With the engine `spark`, records are read, exchanged and written on
    the cluster `master`. Nothing is written before `write(folder)` is called on the result.
    """
    anew = {name: rate_of(value) for name, value in (perturb or {}).items()}
    asked = _asked_rate(rate, epsilon, rate_by, higher)
    _check_method(form, swapped, tuple(near), near_rate, vacuous, anew, household, imputed)
    then = None if near_rate is None else rate_of(near_rate)
    if engine != "duckdb" or master is not None:
        more = (rate_by, near, not vacuous, anew, household, imputed, file_format != "parquet")
        columns = Roles(tuple(swapped), tuple(match), tuple(hold))
        return _in_spark(open_records(data, engine, master), columns, asked, more, unit, form, progress)
    given = (swapped, match, tuple(hold), household, imputed, progress, unit, file_format, anew)
    with workspace(data) as space, counted(space.path, *given) as records:
        run, unique = records.run, records.run.unique()
        _check_table(space.path, run.roles, unique, int(records.cells.numbers.sum()), form)
        progress("drawing the exchange")
        rates: Rates = _rate(*asked, records.strata) if rate_by is None else records.rates(space.path, rate_by)
        exchange = records.draw(rates, vacuous=vacuous, near=near, near_rate=then)
        progress("applying the exchange")
        moved = (len(exchange.cell), run.apply(records.cells, records.rows, exchange), exchange.redrawn)
        progress("writing the result")
        exact = None
        if isinstance(rates, Fraction) and vacuous and not near and not anew and imputed is None:
            held = run.kinds([*run.match, *run.hold])
            exact = exact_epsilon(records.cells, held[records.rows], rates, records.strata.most)
        file = run.write(space.folder, form, file_format, household)
        errors, naming = run.errors(), run.naming()
    least, most = (rates.values[0], rates.values[-1]) if isinstance(rates, CellRates) else (rates, None)
    method = Method(least, most, rate_by, tuple(near), then, vacuous, run.perturbed)
    record, still = "household" if household else unit, None if imputed is None else records.imputed
    return Swapped(run.roles, record, method, records.strata, unique, *moved, errors, file, space, naming, still, exact)


def _in_spark(
    source: object,
    roles: Roles,
    asked: tuple[Fraction | None, float | None, bool],
    more: Sequence[object],
    unit: str,
    form: str,
    progress: Progress,
) -> Swapped:
    """A run on a cluster, which takes no `more` options."""
    assert isinstance(source, SparkSource)  # no other engine takes a master
    if any(more):
        raise InputError(
            "engine = 'spark': swaps at one rate and writes Parquet; use 'duckdb' for `rate_by`, `near`, `vacuous`, "
            "`perturb`, `household`, `imputed` and CSV"
        )
    if not unit.strip():
        raise InputError("unit: say what a record is, e.g. person")

    def rate(strata: Strata, unique: int) -> Fraction:
        _check_table(source.path, roles, unique, strata.records, form)
        return _rate(*asked, strata)

    with workspace(source.path) as space:
        run = swap_in_spark(source, roles, rate, space.folder / "swapped", form, progress)
    moved = (len(run.exchange.cell), run.changed, run.exchange.redrawn)
    stated = (roles, unit, Method(run.rate), run.strata, run.unique)
    return Swapped(*stated, *moved, run.errors, "swapped", space, run.naming)


def _asked_rate(
    rate: str | Rate | None, epsilon: float | None, rate_by: str | None, higher: bool
) -> tuple[Fraction | None, float | None, bool]:
    """The rate, or the epsilon and which of its two rates; neither where a column has the rates."""
    if sum(value is not None for value in (rate, epsilon, rate_by)) != 1:
        raise InputError("give one of `rate`, `epsilon` and `rate_by`")
    if higher and epsilon is None:
        raise InputError("`higher` needs `epsilon`: two swap rates give the same epsilon")
    return None if rate is None else rate_of(rate), epsilon, higher


def _check_method(
    form: str,
    swapped: Sequence[str],
    near: tuple[str, ...],
    near_rate: object,
    vacuous: bool,
    perturb: Mapping[str, Fraction],
    household: str | None,
    imputed: str | None,
) -> None:
    """Refuse a form that there is not, and combinations that no proof covers."""
    if form not in FORMS:
        raise InputError(f"form = {form}: must be {' or '.join(FORMS)}")
    if bool(near) != (near_rate is not None):
        raise InputError("give both `near` and `near_rate`, or neither")
    if near and not set(near) < set(swapped):
        raise InputError(
            f"near = {', '.join(near)}: must be some of the swapped columns ({', '.join(swapped)}), not all"
        )
    if near and not vacuous:
        raise InputError("`near` needs `vacuous`: the second exchange may undo the first")
    if perturb and (household is not None or imputed is not None):
        raise InputError("`perturb` cannot be combined with `household` or `imputed`: no bound is known")
    for name, rate in perturb.items():
        if not 0 < rate <= 1:
            raise InputError(f"perturb: {name} = {rate}: the rate must be above 0 and at most 1")


def _check_table(path: Path, roles: Roles, unique: int, records: int, form: str) -> None:
    """A table has a column of its own, which no other may be named like. One in which most records stand alone is a
    file of records: somebody has to say that this is meant.
    """
    if form != "table":
        return
    for name in (*roles.swap, *roles.match, *roles.hold):
        if name.casefold() == "count":
            raise InputError(f"{path}: column {name!r} would stand twice in the table; choose records, or omit it")
    # A function of all columns, so it is stated to the office and stops the run, and is not published.
    if unique > records * MICRODATA:
        raise InputError(
            f"{path}: {unique:,} of {records:,} records are unique in the columns that would be published, so the "
            "table would be nearly complete microdata; hold fewer columns, or say form = records if that is meant"
        )


def _rate(rate: Fraction | None, epsilon: float | None, higher: bool, strata: Strata) -> Fraction:
    """The rate that was asked for; one found for an epsilon never guarantees less than that, but for rounding."""
    if rate is not None:
        if rate in (0, 1) and strata.largest:
            raise InputError(f"rate = {rate}: has no finite epsilon; choose one between 0 and 1")
        return rate
    # The rate must be a fraction that is drawn exactly, so it is rounded to some digits.
    asked = float(epsilon or 0)
    low, _ = rates_for(asked, strata.largest)
    # Rounded up, the smaller part gives an epsilon of at most the one asked for: Eq. E.8 is monotone on either side.
    part = 1 / (1 + math.exp(min(asked, 700.0))) if higher else low  # who stays, or who is selected
    for digits in DIGITS:
        whole = Fraction(max(math.ceil(Fraction(part) * 10**digits), 1), 10**digits)
        chosen = 1 - whole if higher else whole
        if swap_epsilon(chosen, strata.largest) <= asked:
            break
    return chosen
