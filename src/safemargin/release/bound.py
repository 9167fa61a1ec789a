"""Bound every cell of published tables: the function behind the command `bound`."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from rich.console import Console

from safemargin.audit.joint import printed_cells
from safemargin.bounds import (
    Data,
    Exposure,
    Extremes,
    RelativeWidths,
    SetIntervals,
    axis_names,
    bound_cell,
    cell_rows,
    cells_csv,
    checked_tolerance,
    closest_calls,
    coloured_cells,
    exposure_document,
    exposure_parts,
    extremes_document,
    extremes_parts,
    infer,
    infer_sets,
    measured_slack,
    read_public,
)
from safemargin.core import (
    VERDICTS,
    BoolArray,
    InputError,
    Onlooker,
    Progress,
    PublishedTable,
    Table,
    Target,
    Verdict,
    exact_margins,
    no_progress,
)
from safemargin.io import ReadingOptions, ReadTable, doubt_lines, reading_document, reading_lines
from safemargin.release.remedies import Remedy, remedies, remedy_parts
from safemargin.ui import (
    MOST_ROWS,
    Document,
    Grid,
    Headline,
    InTerminal,
    OnPage,
    Paragraph,
    Part,
    Report,
    Result,
    Section,
    Tag,
    cell_label,
    count_range,
    override_target,
    plural,
    show_report,
    target_of_tables,
)

NOTHING = "No count or share is disclosed."


@dataclass(frozen=True)
class Bounds(Result):
    """What `bound` found: the intervals, and the target they are judged by.

    Of one cell also the two `extremes` of its interval, and what would protect it; these are confidential.
    """

    exposure: Exposure
    target: Target
    extremes: Extremes | None = None
    remedies: tuple[Remedy, ...] = ()
    reads: tuple[ReadTable, ...] = ()
    """How every table was read."""
    sets: SetIntervals | None = None
    """Intervals of secrets that are sets of several options, where the target has any."""
    widths: RelativeWidths | None = None
    printed: BoolArray | None = field(default=None, compare=False)
    """Cells that the tables print."""
    """How the intervals compare with a relative width, where one was asked for."""

    @property
    def doubts(self) -> list[str]:
        """What is doubtful about how the tables were read."""
        return doubt_lines(self.reads)

    @property
    def disclosed(self) -> int:
        """How many intervals miss the target."""
        return self.exposure.tallied(self.target)["disclosed"] + (self.sets.disclosed if self.sets else 0)

    def to_json(self) -> Document:
        """The document of `bound --json`."""
        document = {**exposure_document(self.exposure, self.target), "reading": reading_document(self.reads)}
        if self.sets is not None:
            document["sets"] = self.sets.entries(self.exposure)
        if self.widths is not None:
            document["rho"] = {**asdict(self.widths), "holds": self.widths.holds}
        if self.extremes is None:
            return document
        found = [remedy.to_json() for remedy in self.remedies]
        return {**document, "extremes": extremes_document(self.extremes), "remedies": found}

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
        verdict = self._verdict()
        parts: list[Part] = [*reading_lines(self.reads)]
        parts += [Paragraph(f"Doubtful: {line}.", "warning") for line in self.doubts]
        coloured = None if self.extremes is not None else coloured_cells(self.exposure, self.target, self.printed)
        parts.append(OnPage(coloured, closest_calls(self.exposure, self.target, self.printed)))
        listed = self.exposure, self.target, limit, sort
        parts.append(InTerminal(*exposure_parts(*listed)))
        parts.append(OnPage(*exposure_parts(*listed, printed=self.printed)))
        parts += [] if self.sets is None else [self._sets_section(limit)]
        parts += [] if self.widths is None else [_width_words(self.widths)]
        if self.extremes is not None:
            parts += extremes_parts(self.extremes, limit)
            parts += remedy_parts(self.remedies, self.extremes.option)
        return Report("What an onlooker can infer", OnPage(verdict), *parts)

    def _verdict(self) -> Headline:
        """What could be inferred, beside what the tables print: to read that takes nobody anything."""
        rows = np.zeros(len(self.exposure.cells), dtype=bool) if self.printed is None else self.printed
        verdicts = self.exposure.verdicts(self.target)[~rows]
        count = int((verdicts == VERDICTS.index(Verdict.DISCLOSED)).sum()) + (self.sets.disclosed if self.sets else 0)
        looked = verdicts.size + (self.sets.lower.size if self.sets else 0)
        read = f"{plural(int(rows.sum()), 'cell')} {'is' if rows.sum() == 1 else 'are'} printed."
        if rows.all() and not count:
            return Headline("partly", f"All {plural(len(rows), 'cell')} are printed: nothing has to be inferred.")
        said = f"{count:,} of {plural(looked, 'interval')} would be disclosed." if count else NOTHING
        return Headline("unsound" if count else "sound", said, read if rows.any() else "")

    def _sets_section(self, limit: int) -> Section:
        """Secrets of several options, those that disclose most first."""
        assert self.sets is not None
        order = {"disclosed": 0, "open": 1, "contained": 2}
        entries = sorted(self.sets.entries(self.exposure), key=lambda entry: order[str(entry["verdict"])])
        rows = []
        for entry in entries[:limit]:
            cell, people, ends = entry["cell"], entry["people"], (entry["lower"], entry["upper"])
            assert isinstance(cell, dict) and isinstance(people, int)
            chosen = " or ".join(entry["options"]) if isinstance(entry["options"], list) else ""
            low, high = (end for end in ends if isinstance(end, int))
            rows.append([cell_label(cell), chosen, people, count_range(low, high), Tag(str(entry["verdict"]))])
        more = len(entries) - len(rows)
        said = Paragraph(f"and {more:,} more" if more > 0 else "", "quiet")
        return Section("Sets of options", Grid(("cell", "chose", "people", "count", "verdict"), rows), said)

    def show(self, console: Console, limit: int = 30, sort: str = "verdict") -> None:
        """Print the cells that disclose most."""
        show_report(console, self.to_report(limit, sort))


def _width_words(widths: RelativeWidths) -> Paragraph:
    """Whether every share stays as uncertain as was asked for."""
    asked, count = f"{100 * widths.asked:g} %", plural(widths.intervals, "interval")
    smallest = f"The narrowest is {100 * widths.least:.3g} % wide."
    if widths.holds:
        return Paragraph(f"Relative width: each of {count} is at least {asked} of its people wide. {smallest}")
    unproved = f", and {widths.unproved:,} may be, as no whole table was found at their ends" if widths.unproved else ""
    return Paragraph(
        f"Relative width: {widths.narrower:,} of {count} are narrower than {asked} of their people{unproved}. "
        f"{smallest}",
        "warning",
    )


def bound(
    tables: Data | Table | Sequence[PublishedTable],
    onlooker: Onlooker | None = None,
    *,
    roll: Data = (),
    facts: Data = (),
    target: str | Sequence[str] | None = None,
    cell: Mapping[str, str] | None = None,
    aim: Target | None = None,
    beta: float | None = None,
    kappa: int | None = None,
    tau: int | None = None,
    rho: float | None = None,
    count: str = "count",
    option: str = "option",
    by: str | Sequence[str] | None = None,
    skip: Sequence[str] = (),
    tolerance: float = 0.0,
    decide: bool = False,
    reading: ReadingOptions | Mapping[str, Any] | Sequence[str] | None = None,
    progress: Progress = no_progress,
) -> Bounds:
    """Bound the count of every cell that an onlooker can infer from `tables`.

    `tables` are tidy tables: files, DataFrames, Arrow tables or rows; or one `Table` of counts, which stands for its
    total and the exact margin of every axis. The onlooker also knows `roll` and `facts` (tables too), unless `onlooker`
    says what they know. `target` names the axes whose cells are asked for; `cell` asks for one cell (and `option`, such
    as `{"age": "young", "option": "yes"}`) with the tables at both ends of its interval, and for a `Table` of counts
    what would protect it. `beta`, `kappa` and `tau` override those of `aim`. With `decide`, cells are only classified
    against `tau`: faster, but intervals are not tightened. With `rho`, intervals are also compared with that share of
    the people of their cell. `reading` corrects how tables are read.
    """
    if rho is not None and (decide or cell is not None):
        raise InputError("rho: needs all intervals, as narrow as they are; remove decide and cell")
    slack = 0
    reads: tuple[ReadTable, ...] = ()
    shown: Table | Sequence[PublishedTable]
    if isinstance(tables, Table):
        shown = tables
    else:
        columns: dict[str, Any] = {"count": count, "option": option, "by": by, "skip": skip}
        shown, seen, reads = read_public(tables, roll, facts, **columns, reading=reading)
        onlooker = onlooker or seen
        slack = measured_slack(shown, checked_tolerance(tolerance))
    if aim is None and onlooker is not None:
        aim = target_of_tables(onlooker, beta, kappa, tau)
    else:
        aim = override_target(aim or Target(), beta, kappa, tau)
    if cell is not None:
        if target is not None:
            raise InputError("cell: names its axes itself; remove target")
        one, extremes = bound_cell(shown, onlooker, cell, aim, slack=slack, progress=progress)
        ways = remedies(shown, onlooker, cell, extremes.option, aim) if isinstance(shown, Table) else ()
        return Bounds(one, aim, extremes, ways, reads)
    exposure = infer(
        shown,
        onlooker,
        target=axis_names(target),
        slack=slack,
        enough=aim.tau if decide else None,
        fiber=not decide,
        progress=progress,
    )
    public = exact_margins(shown) if isinstance(shown, Table) else shown
    slack = slack or (shown.inconsistency.slack(int(shown.totals.sum())) if isinstance(shown, Table) else 0)
    sets = infer_sets(public, exposure, aim, slack=slack, enough=aim.tau if decide else None, progress=progress)
    widths = None if rho is None else RelativeWidths.of(exposure, rho)
    printed = None if isinstance(shown, Table) else printed_cells(exposure.cells, shown)
    return Bounds(exposure, aim, reads=reads, sets=sets, widths=widths, printed=printed)
