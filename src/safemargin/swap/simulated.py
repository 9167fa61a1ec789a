"""Ways to swap that have no known guarantee, for comparison: what one run did, and the confidential folder it fills."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from safemargin import ui
from safemargin.core import Guarantee, IntArray
from safemargin.guarantees import GUARANTEE_FILE, document, guarantee_text
from safemargin.io import new_folder
from safemargin.swap.guarantee import swap_guarantee
from safemargin.swap.permutation import Stratified, swap
from safemargin.swap.reading import Workspace
from safemargin.swap.tables import Roles, Run, TableError

COLOURS = ("#0072b2", "#e69f00")
PERMUTATION = "permutation swapping"
BANNER = (
    "Nothing is guaranteed. ",
    "This is a simulation for comparison, computed from the data. It is confidential: do not publish it.",
)
CAPTION = "What happened to how many records"
ERRORS_CAPTION = "Mean relative error of a count by table, and that of permutation swapping at the same rate"
Errors = Mapping[str, tuple[TableError, ...]]
"""Errors of tables by area."""


@dataclass(frozen=True)
class Baseline:
    """Permutation swapping of the same records, once, at the rate of those that changed: what it guarantees and does.

    In small strata it changes fewer: no record is exchanged alone.
    """

    guarantee: Guarantee
    rate: Fraction
    changed: int
    errors: Errors


@dataclass(frozen=True)
class Simulated(ui.Result):
    """One run. It reads confidential data, and has no guarantee that would let the result be published.

    `counts` are what happened to records, under a heading each.
    """

    method: str
    roles: Roles
    unit: str
    rate: Fraction
    records: int
    selected: int
    changed: int
    counts: Mapping[str, Mapping[str, int]]
    guarantee: Guarantee
    errors: Errors
    beside: Baseline | None
    file: str
    space: Workspace

    def to_json(self) -> ui.Document:
        beside = self.beside
        return {
            "schema": ui.SCHEMA,
            "method": self.method,
            "unit": self.unit,
            "records": self.records,
            "rate": float(self.rate),
            "rate_exact": str(self.rate),
            "selected": self.selected,
            "changed": self.changed,
            "counts": {heading: dict(parts) for heading, parts in self.counts.items()},
            "roles": self.roles.to_json(),
            "errors": _error_documents(self.errors),
            "guarantee": document(self.guarantee),
            "beside": None
            if beside is None
            else {
                "rate": float(beside.rate),
                "rate_exact": str(beside.rate),
                "changed": beside.changed,
                "errors": _error_documents(beside.errors),
                "guarantee": document(beside.guarantee),
            },
            "file": self.file,
        }

    @property
    def _lines(self) -> list[str]:
        lines = [
            f"{self.records:,} {self.unit} records; rate {float(self.rate):g}: {self.selected:,} selected, "
            f"{self.changed:,} got another {' or '.join(self.roles.swap)}."
        ]
        for heading, parts in self.counts.items():
            listed = ", ".join(f"{name} {number:,}" for name, number in parts.items())
            lines.append(f"{heading.capitalize()}: {listed}.")
        lines.append(f"Kept exactly, and checked: {' and '.join(map(str, self.guarantee.invariants))}.")
        return lines

    @property
    def _compared(self) -> list[str]:
        if self.beside is None:
            return []
        other = self.beside.guarantee
        same = set(other.invariants) == set(self.guarantee.invariants)
        kept = "the same tables" if same else " and ".join(map(str, other.invariants))
        return [
            f"Permutation swapping at a rate of {float(self.beside.rate):.3g} gave {self.beside.changed:,} records "
            f"another value, keeps {kept} and guarantees {other.amount} per {other.change}."
        ]

    def to_report(self) -> ui.Report:
        figures: dict[str, ui.Cell] = {
            "records": self.records,
            "selected": self.selected,
            "got another place": self.changed,
            "guarantee": self.guarantee.amount,
        }
        said = [self.guarantee.statement, *(f"Unchanged: {invariant}" for invariant in self.guarantee.invariants)]
        others = self.errors if self.beside is None else self.beside.errors
        rows = [
            (
                area,
                error.column,
                error.cells,
                f"{error.mean:.3g}",
                ui.exact_percent(error.relative),
                "" if self.beside is None else ui.exact_percent(other.relative),
            )
            for area, errors in self.errors.items()
            for error, other in zip(errors, others[area], strict=True)
        ]
        columns = ("table of", "by", "cells", "mean error of a count", "mean relative error", "by permutation")
        stated = f"{self.guarantee.amount.capitalize()}. {' '.join(self.guarantee.remarks)}"
        return ui.Report(
            f"{self.space.name}: {self.method}, simulated",
            *self._lines,
            stated,
            *self._compared,
            ui.OnPage(
                ui.Section("This run", ui.Figures(figures)),
                ui.Section("What is guaranteed", ui.Points([*said, f"Why: {self.guarantee.rule}"])),
                ui.Section("What happened", ui.Chart(lambda: counts_chart(self.counts), CAPTION, fits=True)),
                ui.Section(
                    "What it did to tables",
                    ui.Chart(lambda: errors_chart(self), ERRORS_CAPTION, fits=True),
                    ui.Grid(columns, rows),
                ),
            ),
            banner=BANNER,
        )

    def write(self, path: Path | str) -> Path:
        """Write a new folder; all of it is `confidential/`: confidential."""
        with new_folder(Path(path)) as draft:
            inside = draft / "confidential"
            inside.mkdir()
            shutil.copyfile(self.space.folder / self.file, inside / self.file)
            ui.write_text(inside / GUARANTEE_FILE, guarantee_text(self.guarantee))
            ui.write_text(inside / "report.html", self.to_html())
        return Path(path)


def baseline(run: Run, cells: Stratified, ids: IntArray, roles: Roles, unit: str, rate: Fraction) -> Baseline | None:
    """The same records by permutation swapping within the strata of `cells`; None at a rate of 0 or 1.

    The result of `run` is replaced by this one.
    """
    if not 0 < rate < 1:
        return None
    # The same records and strata, exchanged once more: only the method differs.
    run.forget()
    changed = run.apply(cells, ids, swap(cells, rate))
    return Baseline(swap_guarantee(roles, unit, rate, run.strata(cells, ids)), rate, changed, run.errors_by_area())


def _error_documents(errors: Errors) -> list[ui.Document]:
    return [{"area": area, **error.to_json()} for area, listed in errors.items() for error in listed]


def counts_chart(counts: Mapping[str, Mapping[str, int]]) -> ui.Spec:
    """One bar per number, under their headings; every heading has a scale of its own."""
    names = [name for parts in counts.values() for name in parts]
    room = int(ui.LETTER * max(map(len, names))) + 12
    width = ui.STACK_WIDTH - room
    return {"vconcat": [_bars(heading, parts, room, width) for heading, parts in counts.items()], "spacing": 16}


def _bars(heading: str, parts: Mapping[str, int], room: int, width: int) -> ui.Spec:
    values = [{"what": name, "count": number, "text": f"{number:,}"} for name, number in parts.items()]
    top = max([1, *parts.values()])
    scale = {"domain": [0, top * (1 + 11 * ui.LETTER / width)], "nice": False}
    x = {"field": "count", "type": "quantitative", "scale": scale, "axis": None}
    axis = {"minExtent": room, "maxExtent": room}
    return {
        "data": {"values": values},
        "title": {"text": heading, "anchor": "start", "fontSize": 13},
        "width": width,
        "height": {"step": 24},
        "encoding": {"y": {"field": "what", "type": "nominal", "sort": list(parts), "axis": axis}, "x": x},
        "layer": [
            {"mark": {"type": "bar", "height": {"band": 0.7}, "color": COLOURS[0]}},
            {"mark": ui.TEXT_MARK, "encoding": {"text": {"field": "text"}}},
        ],
    }


def errors_chart(run: Simulated) -> ui.Spec:
    """The mean relative error of every table, by this way to swap and by permutation swapping beside it."""
    sides = {run.method: run.errors, **({} if run.beside is None else {PERMUTATION: run.beside.errors})}
    values = [
        {"table": f"{area} by {error.column}", "error": error.relative, "method": method}
        for method, errors in sides.items()
        for area, listed in errors.items()
        for error in listed
    ]
    tables = list(dict.fromkeys(str(value["table"]) for value in values))
    room = int(ui.LETTER * max(map(len, tables))) + 20
    legend = {"title": None, "orient": "bottom", "labelFontSize": 12, "labelLimit": 0, "columnPadding": 40}
    scale = {"domain": list(sides), "range": list(COLOURS[: len(sides)])}
    return {
        "data": {"values": values},
        "width": ui.STACK_WIDTH - room,
        "height": {"step": 24},
        "mark": {"type": "point", "filled": True, "size": 110, "opacity": 0.85},
        "encoding": {
            "y": {
                "field": "table",
                "type": "nominal",
                "sort": tables,
                "axis": {"minExtent": room, "maxExtent": room, "grid": True, "labelPadding": 14},
            },
            "x": {
                "field": "error",
                "type": "quantitative",
                "scale": {"zero": True},
                "axis": {"format": ".0%", "title": "mean relative error", "grid": True, "tickCount": 5},
            },
            "color": {"field": "method", "type": "nominal", "scale": scale, "legend": legend},
            "shape": {
                "field": "method",
                "type": "nominal",
                "scale": {"domain": list(sides), "range": ["circle", "diamond"][: len(sides)]},
                "legend": legend,
            },
        },
    }
