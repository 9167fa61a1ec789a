"""Permutation swapping of a file of records: what is held, what is exchanged, and what that guarantees.

The database counts equal records, `permutation` draws, and the database applies the exchange. The result is a table, or
records in the order of their values: the order of the input would disclose who is who.
"""

import math
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from rich.console import Console

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
    short_rate,
    swap_epsilon,
)
from safemargin.io import new_folder
from safemargin.swap.permutation import Strata
from safemargin.swap.reading import counted
from safemargin.swap.tables import CONFIDENTIAL, Roles, TableError, swap_guarantee
from safemargin.swap.workspace import Workspace, workspace

FORMS = ("table", "records")
DIGITS = (9, 12, 15, 18)
"""Rates found for an epsilon are rounded to as many, to the side that guarantees more, or more where needed."""


@dataclass(frozen=True)
class Swapped(ui.Result):
    """One run of swapping. It reads confidential data: only the guarantee and the file may be published."""

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
    imputed: int | None = None
    """Records that were not to be moved, where some are marked; `strata` are of the others."""
    naming: tuple[str, ...] = ()
    """Held columns that are different for every record, such as a key: they are published."""
    space: Workspace | None = None

    def to_json(self) -> ui.Document:
        return {
            "schema": ui.SCHEMA,
            "unit": self.unit,
            "records": self.strata.records,
            "rate": float(self.rate),
            "rate_exact": str(self.rate),
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
            f"Rate {short_rate(self.rate)}: {self.selected:,} records selected, {self.changed:,} got another value.",
            f"{self.guarantee.amount} per {self.guarantee.change}; kept exactly, and checked: {exact}.",
            *self.guarantee.remarks,
            *(
                f"Column {name!r} has no value twice in different records, and is published: omit it from the held "
                "columns if it identifies them."
                for name in self.naming
            ),
        ]

    def show(self, console: Console) -> None:
        for line in self._lines:
            ui.say(console, line)

    def to_html(self) -> str:
        title = f"{self.space.name if self.space else 'records'}, swapped"
        figures = {
            "records": self.strata.records,
            "got another value": self.changed,
            "epsilon": f"{self.guarantee.epsilon:.4g}",
            "largest stratum": self.strata.largest,
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
        picture = ui.figure(ui.to_svg(rate_chart(self.rate, self.strata.largest)), CAPTION, fits=True)
        body = [
            ui.section("This run", ui.tiles(figures)),
            ui.section("What is guaranteed", ui.points(stated)),
            ui.section("Epsilon against the swap rate", picture, ui.paragraphs(CURVE_NOTE)),
            ui.section(f"What happened to {', '.join(self.roles.swap)}", ui.table(columns, rows, columns[1:])),
        ]
        return ui.render_page(
            title, ui.header(title, ui.paragraphs(*self._lines), banner=CONFIDENTIAL), ui.joined(body)
        )

    def write(self, path: Path | str) -> Path:
        """Write a new folder: `published/` with result and guarantee, `confidential/` with the confidential report."""
        if self.space is None:
            raise InputError("the result was written to a file already; call `swap` for a folder")
        with new_folder(Path(path)) as draft:
            for part in ("published", "confidential"):
                (draft / part).mkdir()
            shutil.copyfile(self.space.folder / self.file, draft / "published" / self.file)
            ui.write_text(draft / "published" / GUARANTEE_FILE, guarantee_text(self.guarantee))
            ui.write_text(draft / "confidential" / "report.html", self.to_html())
        return Path(path)


def swap(
    data: object,
    *,
    swapped: Sequence[str],
    match: Sequence[str] = (),
    hold: Sequence[str] | None = None,
    rate: str | Rate | None = None,
    epsilon: float | None = None,
    higher: bool = False,
    unit: str = "person",
    household: str | None = None,
    imputed: str | None = None,
    form: str = "table",
    file_format: str = "parquet",
    progress: Progress = no_progress,
) -> Swapped:
    """Exchange values between records at random: two tables stay exact, the rest gets a guarantee.

    `data` is a file, a DataFrame, an Arrow table or rows. Records that agree on the columns `match` exchange the
    columns `swapped`; the columns `hold` stay (all others if not given). Give the swap `rate`, or the `epsilon` to be
    guaranteed: of its two rates, the lower or the `higher` one. With `household`, records are the households that this
    column numbers: the people in them stay together. Records that the column `imputed` marks are never moved. Nothing
    is written before `write(folder)` is called on the result.
    """
    with workspace(data) as space:
        return swap_file(
            space.path,
            space.folder / f"swapped.{file_format}",
            swapped,
            match,
            hold,
            rate=None if rate is None else rate_of(rate),
            epsilon=epsilon,
            higher=higher,
            unit=unit,
            household=household,
            imputed=imputed,
            form=form,
            file_format=file_format,
            progress=progress,
            space=space,
        )


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
    imputed: str | None = None,
    form: str = "table",
    file_format: str = "parquet",
    with_errors: bool = True,
    progress: Progress = no_progress,
    space: Workspace | None = None,
) -> Swapped:
    """Swap the records of a file as `swap` does, and write the result to the new file `out`, or nothing."""
    _check_options(rate, epsilon, higher, form)
    with counted(path, swapped, match, hold, household, imputed, progress, unit=unit, file_format=file_format) as data:
        run, roles = data.run, data.run.roles
        _check_names(path, roles, form)
        chosen = _rate(rate, epsilon, higher, data.strata)
        progress("drawing the exchange")
        exchange = data.draw(chosen)
        progress("applying the exchange")
        changed = run.apply(data.cells, data.rows, exchange)
        run.check()
        progress("writing the result")
        errors = run.errors() if with_errors else ()
        naming = run.naming()
        run.write(out, form, file_format, household)
    record = "household" if household else unit
    frozen = None if imputed is None else data.imputed
    return Swapped(
        roles,
        record,
        chosen,
        data.strata,
        len(exchange.cell),
        changed,
        exchange.redrawn,
        swap_guarantee(roles, record, chosen, data.strata, frozen),
        errors,
        out.name,
        frozen,
        naming,
        space,
    )


def _check_options(rate: Fraction | None, epsilon: float | None, higher: bool, form: str) -> None:
    if form not in FORMS:
        raise InputError(f"form = {form}: must be {' or '.join(FORMS)}")
    if (rate is None) == (epsilon is None):
        raise InputError("give either `rate` or `epsilon`")
    if higher and epsilon is None:
        raise InputError("`higher` needs `epsilon`: two swap rates give the same epsilon")


def _check_names(path: Path, roles: Roles, form: str) -> None:
    """A table has a column of its own, which no other may be named like."""
    for name in (*roles.swap, *roles.match, *roles.hold):
        if form == "table" and name.casefold() == "count":
            raise InputError(f"{path}: column {name!r} would stand twice in the table; choose records, or omit it")


def _rate(rate: Fraction | None, epsilon: float | None, higher: bool, strata: Strata) -> Fraction:
    """The rate that was asked for; one found for an epsilon never guarantees less than that, but for rounding."""
    if rate is not None:
        if rate in (0, 1) and strata.largest:
            raise InputError(f"rate = {rate}: has no finite epsilon; choose one between 0 and 1")
        return rate
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
