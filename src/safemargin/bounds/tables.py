"""Bound every cell of published tables: the function behind the command `bound`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rich.console import Console

from safemargin.bounds.bound import infer as bound_cells
from safemargin.bounds.certificate import SourceFile
from safemargin.bounds.exposure import Exposure
from safemargin.bounds.report import cell_rows, cells_csv, exposure_document, exposure_parts
from safemargin.bounds.system import measured_slack
from safemargin.core import InputError, Onlooker, Progress, PublishedTable, Table, Target, no_progress
from safemargin.io import axes, hash_file, onlooker_from_files, read_tables, skip_rules, with_earlier_tables
from safemargin.ui import MOST_ROWS, Document, Headline, OnPage, Report, Result, override_target, plural, show_report

Data = Any
"""A path, a DataFrame (pandas or polars), an Arrow table, or rows as mappings; or several of these in a list."""


@dataclass(frozen=True)
class Bounds(Result):
    """What `bound` found: the intervals, and the target they are judged by."""

    exposure: Exposure
    target: Target

    @property
    def disclosed(self) -> int:
        """How many intervals miss the target."""
        return self.exposure.tallied(self.target)["disclosed"]

    def to_json(self) -> Document:
        """The document of `bound --json`."""
        return exposure_document(self.exposure, self.target)

    def to_csv(self) -> str:
        """All cells as one CSV text, for a spreadsheet."""
        return cells_csv(self.exposure, self.target)

    def to_frame(self) -> Any:
        """All cells as a DataFrame of pandas or else polars; as rows where neither is installed."""
        rows = cell_rows(self.exposure, self.target)
        for library in ("pandas", "polars"):
            if find_spec(library):
                return import_module(library).DataFrame(rows)
        return rows

    def to_report(self, limit: int = MOST_ROWS, sort: str = "verdict") -> Report:
        """The tally of verdicts and the cells, the most revealing first."""
        count = self.disclosed
        headline = f"{plural(count, 'interval')} of {self.exposure.lower.size:,} would be disclosed."
        verdict = Headline("unsound" if count else "sound", headline if count else "No count or share is disclosed.")
        return Report(
            "What an onlooker can infer", OnPage(verdict), *exposure_parts(self.exposure, self.target, limit, sort)
        )

    def show(self, console: Console, limit: int = 30, sort: str = "verdict") -> None:
        """Print the cells that disclose most."""
        show_report(console, self.to_report(limit, sort))


def bound(
    tables: Data | Table | Sequence[PublishedTable],
    onlooker: Onlooker | None = None,
    *,
    roll: Data = (),
    facts: Data = (),
    target: str | Sequence[str] | None = None,
    aim: Target | None = None,
    beta: float | None = None,
    kappa: int | None = None,
    tau: int | None = None,
    count: str = "count",
    option: str = "option",
    by: str | Sequence[str] | None = None,
    skip: Sequence[str] = (),
    tolerance: float = 0.0,
    decide: bool = False,
    progress: Progress = no_progress,
) -> Bounds:
    """Bound the count of every cell that an onlooker can infer from `tables`.

    `tables` are tidy tables: files, DataFrames, Arrow tables or rows; or one `Table` of counts, which stands for its
    total and the exact margin of every axis. The onlooker also knows `roll` and `facts` (tables too), unless `onlooker`
    says what they know. `target` names the axes whose cells are asked for. `beta`, `kappa` and `tau` override those of
    `aim`. With `decide`, cells are only classified against `tau`: faster, but intervals are not tightened.
    """
    aim = override_target(aim or Target(), beta, kappa, tau)
    slack = 0
    shown: Table | Sequence[PublishedTable]
    if isinstance(tables, Table):
        shown = tables
    else:
        shown, seen = read_public(tables, roll, facts, count=count, option=option, by=by, skip=skip)
        onlooker = onlooker or seen
        slack = measured_slack(shown, checked_tolerance(tolerance))
    exposure = bound_cells(
        shown,
        onlooker,
        target=axis_names(target),
        slack=slack,
        enough=aim.tau if decide else None,
        fiber=not decide,
        progress=progress,
    )
    return Bounds(exposure, aim)


def read_public(
    tables: Data,
    roll: Data = (),
    facts: Data = (),
    *,
    count: str = "count",
    option: str = "option",
    by: str | Sequence[str] | None = None,
    skip: Sequence[str] = (),
    hierarchy: Sequence[str] = (),
    earlier: Data = (),
    earlier_roll: Data = (),
    knows_rule: bool = False,
) -> tuple[tuple[PublishedTable, ...], Onlooker]:
    """The tables, and the onlooker who sees them, knows `roll` and `facts`, and kept the `earlier` tables."""
    listed = _listed(tables)
    if not listed:
        raise InputError("tables: give at least one table")
    names = by if by is None or isinstance(by, str) else ",".join(by)
    shown = tuple(table for table in listed if isinstance(table, PublishedTable))
    files = [table for table in listed if not isinstance(table, PublishedTable)]
    shown += read_tables(files, count, option, names, list(skip), list(hierarchy))
    onlooker = onlooker_from_files(shown, _listed(roll), _listed(facts), count, option, knows_rule)
    return shown, with_earlier_tables(onlooker, _listed(earlier), _listed(earlier_roll), count, option)


def axis_names(target: str | Sequence[str] | None) -> tuple[str, ...] | None:
    """Axes from names, or from one text with commas; none for the joint cells."""
    return axes(target) if target is None or isinstance(target, str) else tuple(target)


def checked_tolerance(tolerance: float) -> float:
    """The share by which totals may disagree."""
    if not 0 <= tolerance < 1:
        raise InputError(f"tolerance = {tolerance}: must be at least 0 and below 1")
    return tolerance


def _listed(data: Data) -> list[Any]:
    """Several tables as they are; one table (rows are one) in a list; files by their path."""
    one = not isinstance(data, list | tuple) or (data and all(isinstance(row, Mapping) for row in data))
    return [Path(table) if isinstance(table, str) else table for table in ([data] if one else data)]


def sources_of(
    files: list[Path] | None, role: str, count: str, option: str, by: str | None = None, skip: list[str] | None = None
) -> list[SourceFile]:
    """How `files` are read, for a certificate."""
    names, rules = axes(by), skip_rules(skip)
    return [SourceFile(file.name, role, hash_file(file), count, option, names, rules) for file in files or []]
