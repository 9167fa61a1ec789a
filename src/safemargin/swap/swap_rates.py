"""Swapping tried at several rates: what each guarantees, and what it does to the tables. Nothing is published."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from statistics import fmean, median, stdev

import numpy as np

from safemargin import ui
from safemargin.core import InputError, IntArray, Progress, no_progress
from safemargin.guarantees import Rate, rate_of, swap_epsilon
from safemargin.swap.permutation import Exchange, Strata, Stratified
from safemargin.swap.reading import Counted, counted, workspace
from safemargin.swap.tables import CONFIDENTIAL, Roles, Run

RATES = tuple(Fraction(percent, 100) for percent in (1, 2, 5, 10, 20, 30, 40, 50))
RUNS = 20
MOST_PICTURES = 8
"""Held columns that are drawn; the tables have all of them."""

WIDTH_OF_A_RATE = 52

COLUMNS = ("rate", "epsilon", "records changed", "mean error", "deviation", "least", "median", "most")
FILLED = "cells filled"

BOX: ui.Spec = {
    "type": "boxplot",
    "extent": "min-max",
    "size": 22,
    "box": {"color": "#56b4e9", "stroke": "#0072b2", "strokeWidth": 1.5},
    "median": {"color": "#0072b2", "strokeWidth": 2},
    "rule": {"color": "#0072b2"},
}
"""The middle half of the runs, their median, and a line from the least to the most."""

NOTE = (
    "The error of a table is the mean over its cells of how far a count is off, relative to the count. Cells that hold "
    "nobody are excluded; cells filled is how many of them came to hold somebody."
)
NOT_PUBLIC = "The errors are computed from the data: do not publish them."
CHOOSING = (
    "A rate that is picked by these errors discloses something about the data that no epsilon counts: prefer a round "
    "one, or try the rates on data that are public."
)


MOST_CELLS = 1 << 25
"""Of a table that is kept."""


@dataclass(frozen=True)
class HeldColumn:
    """The table of what is swapped by one held column, empty cells included.

    Row `starts[c]` up to `starts[c + 1]` of `values` and `weights` say which values a record of cell `c` holds and how
    often: one value once, unless it is a household.
    """

    column: str
    width: int
    starts: IntArray
    values: IntArray
    weights: IntArray
    counts: IntArray

    @property
    def cells(self) -> int:
        """Cells that hold somebody; an error relative to nobody has no meaning."""
        return int(np.count_nonzero(self.counts))

    @property
    def empty(self) -> int:
        """Cells that hold nobody: both values occur, but not together."""
        return len(self.counts) - self.cells

    def error(self, cells: Stratified, exchange: Exchange) -> tuple[float, int]:
        """What an exchange changes: the mean relative error of cells with somebody, and how many empty it fills."""
        # Only selected records are counted again: a run costs as much as it moves.
        change = self._places(exchange.cell, exchange.swapped) - self._places(
            exchange.cell, cells.swapped[exchange.cell]
        )
        held = self.counts > 0
        # MAPE of section 3.4; an error relative to nobody has no meaning, so empty cells are counted apart.
        relative = float((np.abs(change[held]) / self.counts[held]).mean())
        return relative, int(np.count_nonzero(change[~held]))

    def _places(self, cell: IntArray, swapped: IntArray) -> IntArray:
        """The table of records of these cells if they had these swapped values."""
        starts, lengths = self.starts[cell], np.diff(self.starts)[cell]
        entry = np.arange(int(lengths.sum())) + np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)
        cell_index = np.repeat(swapped, lengths) * self.width + self.values[entry]
        return np.bincount(cell_index, self.weights[entry], len(self.counts)).astype(np.int64)


def held_columns(run: Run, cells: Stratified, rows: IntArray) -> tuple[list[HeldColumn], list[str]]:
    """The tables of all held columns, and the columns whose table would be too large."""
    tables, too_large = [], []
    places = int(cells.swapped.max()) + 1
    for name in run.held_columns():
        width, ids, values, weights = run.held_values(name)
        if places * width > MOST_CELLS:
            too_large.append(name)
            continue
        position = np.empty(len(rows), dtype=np.int64)
        position[rows] = np.arange(len(rows))
        of = position[ids]
        order = np.argsort(of, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(of, minlength=len(rows)))])
        values, weights, of = values[order], weights[order], of[order]
        counts = np.bincount(cells.swapped[of] * width + values, weights * cells.numbers[of], places * width)
        tables.append(HeldColumn(name, width, starts, values, weights, counts.astype(np.int64)))
    return tables, too_large


@dataclass(frozen=True)
class Tried:
    """What happened to one table at one rate: for each run its mean relative error, and the empty cells it filled."""

    column: str
    errors: tuple[float, ...]
    filled: tuple[int, ...]

    @property
    def mean(self) -> float:
        """Mean error over the runs."""
        return fmean(self.errors)

    @property
    def spread(self) -> dict[str, float]:
        """The errors of the runs in short."""
        deviation = stdev(self.errors) if len(self.errors) > 1 else 0.0
        ends = {"least": min(self.errors), "median": median(self.errors), "most": max(self.errors)}
        return {"mean": self.mean, "deviation": deviation, **ends}


@dataclass(frozen=True)
class Trial:
    """Some runs at one rate: `changed` is how many records got another value, for each run."""

    rate: Fraction
    epsilon: float
    changed: tuple[int, ...]
    tables: tuple[Tried, ...]


def run_trial(
    data: Counted, rate: Fraction, tables: Sequence[HeldColumn], runs: int, done: Callable[[], None]
) -> Trial:
    """Swap `runs` times at one rate, and measure every table; `done` is called after each run."""
    changed, errors = [], []
    for _ in range(runs):
        exchange = data.draw(rate)
        changed.append(int((exchange.swapped != data.cells.swapped[exchange.cell]).sum()))
        errors.append([table.error(data.cells, exchange) for table in tables])
        done()
    tried = [
        Tried(table.column, tuple(run[number][0] for run in errors), tuple(run[number][1] for run in errors))
        for number, table in enumerate(tables)
    ]
    return Trial(rate, swap_epsilon(rate, data.strata.largest), tuple(changed), tuple(tried))


@dataclass(frozen=True)
class Trials(ui.Result):
    """Runs at several rates. They read confidential data, so they are not published."""

    roles: Roles
    unit: str
    strata: Strata
    runs: int
    tables: tuple[HeldColumn, ...]
    too_large: tuple[str, ...]
    """Held columns whose table was not measured."""
    rates: tuple[Trial, ...]
    name: str = "records"

    def to_json(self) -> ui.Document:
        return {
            "schema": ui.SCHEMA,
            "unit": self.unit,
            "records": self.strata.records,
            "largest_stratum": self.strata.largest,
            "runs": self.runs,
            "roles": self.roles.to_json(),
            "tables": [{"column": t.column, "cells": t.cells, "empty": t.empty} for t in self.tables],
            "too_large": list(self.too_large),
            "rates": [
                {
                    "rate": float(trial.rate),
                    "rate_exact": str(trial.rate),
                    "epsilon": trial.epsilon,
                    "changed": fmean(trial.changed),
                    "tables": [
                        {"column": t.column, **t.spread, "filled": fmean(t.filled), "errors": list(t.errors)}
                        for t in trial.tables
                    ],
                }
                for trial in self.rates
            ],
        }

    @property
    def _summary(self) -> str:
        matched = f" between records that agree on {', '.join(self.roles.match)}" if self.roles.match else ""
        return (
            f"{self.strata.records:,} {self.unit} records; {', '.join(self.roles.swap)} exchanged{matched}, "
            f"{ui.plural(self.runs, 'run')} at each rate. The largest stratum with two different records holds "
            f"{self.strata.largest:,}."
        )

    @property
    def _not_measured(self) -> list[str]:
        listed = ", ".join(self.too_large)
        return [f"Not measured, as the table would be too large: {listed}."] if listed else []

    def _name(self, measured: HeldColumn) -> str:
        return " x ".join((*self.roles.swap, measured.column))

    def _title(self, measured: HeldColumn) -> str:
        empty = f"{ui.plural(measured.empty, 'empty cell')} excluded" if measured.empty else "no cell is empty"
        return f"{self._name(measured)}: {ui.plural(measured.cells, 'cell')}, {empty}"

    def _columns(self, number: int) -> tuple[str, ...]:
        return (*COLUMNS, FILLED) if self.tables[number].empty else COLUMNS

    def _rows(self, number: int) -> list[list[str]]:
        rows = []
        for trial in self.rates:
            tried = trial.tables[number]
            row = [_percent(float(trial.rate)), f"{trial.epsilon:.2f}", f"{fmean(trial.changed):,.0f}"]
            row += [_percent(share) for share in tried.spread.values()]
            rows.append([*row, f"{fmean(tried.filled):,.1f}"][: len(self._columns(number))])
        return rows

    def to_report(self) -> ui.Report:
        figures: dict[str, ui.Cell] = {
            "records": self.strata.records,
            "largest stratum": self.strata.largest,
            "rates": len(self.rates),
            "runs at each": self.runs,
        }
        parts = []
        for number, measured in enumerate(self.tables):
            caption = f"{self._title(measured)}. Mean of the runs, a box for their middle half, least and most"
            spec = partial(error_chart, self, number)
            picture = ui.Chart(spec, caption, fits=_width(self) == ui.STACK_WIDTH) if number < MOST_PICTURES else None
            grid = ui.Grid(self._columns(number), self._rows(number))
            parts.append(ui.Section(self._title(measured), picture, grid))
        return ui.Report(
            f"{self.name}: swap rates",
            self._summary,
            ui.OnPage(ui.Figures(figures), NOTE, CHOOSING),
            *parts,
            *self._not_measured,
            NOT_PUBLIC,
            banner=CONFIDENTIAL,
        )


def swap_rates(
    data: object,
    *,
    swapped: Sequence[str],
    match: Sequence[str] = (),
    hold: Sequence[str] | None = None,
    rates: Sequence[str | Rate] = RATES,
    runs: int = RUNS,
    unit: str = "person",
    household: str | None = None,
    imputed: str | None = None,
    progress: Progress = no_progress,
) -> Trials:
    """What swapping would do to the tables at several rates, and what each guarantees; nothing is published.

    `data` and the roles of columns are as in `swap`. The error of a table is the mean over its cells of how far a count
    is off, relative to the count; cells that hold nobody are excluded and counted.
    """
    chosen = _checked_rates(rates, runs)
    with workspace(data) as space, counted(space.path, swapped, match, hold, household, imputed, unit=unit) as records:
        if records.strata.exchanging == 0:
            raise InputError(f"{space.path}: no two records that agree on what is matched differ in what is swapped")
        tables, too_large = held_columns(records.run, records.cells, records.rows)
        if not tables:
            raise InputError(f"{space.path}: the tables of all held columns are too large to be measured")
        roles = records.run.roles
    finished = 0

    def done() -> None:
        nonlocal finished
        finished += 1
        progress("swapping", finished, runs * len(chosen))

    return Trials(
        roles,
        "household" if household else unit,
        records.strata,
        runs,
        tuple(tables),
        tuple(too_large),
        tuple(run_trial(records, rate, tables, runs, done) for rate in chosen),
        space.name,
    )


def _checked_rates(rates: Sequence[str | Rate], runs: int) -> tuple[Fraction, ...]:
    if not rates:
        raise InputError("rates: name at least one")
    chosen = {rate_of(rate) for rate in rates}
    for rate in chosen:
        if not 0 < rate < 1:
            raise InputError(f"rate = {rate}: has no finite epsilon; choose one between 0 and 1")
    if runs < 1:
        raise InputError(f"runs = {runs}: must be at least 1")
    return tuple(sorted(chosen))


def error_chart(trials: Trials, number: int) -> ui.Spec:
    """Boxes of the errors of one table against the rate, with the epsilon of each rate below it."""
    order = [_tick(trial) for trial in trials.rates]
    tried = [(tick, trial.tables[number]) for tick, trial in zip(order, trials.rates, strict=True)]
    errors = [{"rate": tick, "error": error} for tick, runs in tried for error in runs.errors]
    means = [{"rate": tick, "error": max(runs.errors), "text": _percent(runs.mean)} for tick, runs in tried]
    x, y = _rate_axis(order), _error_axis()
    labels = {"type": "text", "align": "center", "dy": -9}
    return {
        "width": _width(trials),
        "height": 260,
        "layer": [
            {"data": {"values": errors}, "mark": BOX, "encoding": {"x": x, "y": y}},
            {"data": {"values": means}, "mark": labels, "encoding": {"x": x, "y": y, "text": {"field": "text"}}},
        ],
    }


def _width(trials: Trials) -> int:
    """Room for the labels of every rate."""
    return max(ui.STACK_WIDTH, WIDTH_OF_A_RATE * len(trials.rates))


def _rate_axis(order: list[str]) -> ui.Spec:
    axis = {
        "labelExpr": "split(datum.label, '|')",
        "labelAngle": 0,
        "labelLimit": 0,
        "title": "swap rate, and its epsilon",
        "titlePadding": 8,
    }
    return {"field": "rate", "type": "ordinal", "sort": order, "axis": axis}


def _error_axis() -> ui.Spec:
    axis = {"format": "~%", "title": "mean relative error", "grid": True, "tickCount": 5}
    return {"field": "error", "type": "quantitative", "scale": {"zero": True, "nice": True}, "axis": axis}


def _tick(trial: Trial) -> str:
    return f"{_percent(float(trial.rate))}|{trial.epsilon:.1f}"


def _percent(share: float) -> str:
    """A share to three digits, also where it is far below one percent.

    >>> _percent(0.05), _percent(0.13597), _percent(0.000371)
    ('5 %', '13.6 %', '0.0371 %')
    """
    return f"{share * 100:.3g} %"
