"""Swapping tried at several rates, for readers: error against rate with the epsilon of each, as table and picture."""

from collections.abc import Callable
from dataclasses import dataclass
from statistics import fmean, median, stdev

from rich.console import Console
from rich.table import Table
from rich.text import Text

from safemargin.swap.rates import MeasuredTable, Trial, Trials, Tried
from safemargin.ui import (
    SCHEMA,
    STACK_WIDTH,
    Document,
    Spec,
    element,
    figure,
    joined,
    paragraphs,
    plural,
    render_page,
    section,
    table,
    tiles,
    to_svg,
)

MOST_PICTURES = 8
"""Held columns that are drawn; the tables have all of them."""

WIDTH_OF_A_RATE = 52

COLUMNS = ("rate", "epsilon", "records changed", "mean error", "deviation", "least", "median", "most")
FILLED = "cells filled"

BOX: Spec = {
    "type": "boxplot",
    "extent": "min-max",
    "size": 22,
    "box": {"color": "#56b4e9", "stroke": "#0072b2", "strokeWidth": 1.5},
    "median": {"color": "#0072b2", "strokeWidth": 2},
    "rule": {"color": "#0072b2"},
}
"""The middle half of the runs, their median, and a line from the least to the most."""

WORDS = (
    "The error of a table is the mean over its cells of how far a count is off, relative to the count. Cells that hold "
    "nobody are left out of it; cells filled is how many of them came to hold somebody."
)
INSIDE = "The errors look at data: keep them inside."
CHOOSING = (
    "A rate that is picked by these errors tells something about the data that no epsilon counts: prefer a round one, "
    "or try the rates on data that are public."
)


@dataclass(frozen=True)
class Spread:
    """Some numbers in short."""

    mean: float
    deviation: float
    least: float
    middle: float
    most: float


def spread(tried: Tried) -> Spread:
    """The errors of one table at one rate."""
    errors = tried.errors
    deviation = stdev(errors) if len(errors) > 1 else 0.0
    return Spread(fmean(errors), deviation, min(errors), median(errors), max(errors))


def rates_document(found: Trials) -> Document:
    """The document of `swap-rates --json`."""
    return {
        "schema": SCHEMA,
        "unit": found.unit,
        "records": found.strata.records,
        "largest_stratum": found.strata.largest,
        "runs": found.runs,
        "roles": {"swap": list(found.roles.swap), "match": list(found.roles.match), "hold": list(found.roles.hold)},
        "tables": [{"column": each.column, "cells": each.cells, "empty": each.empty} for each in found.tables],
        "too_large": list(found.too_large),
        "rates": [
            {
                "rate": float(trial.rate),
                "rate_exact": str(trial.rate),
                "epsilon": trial.epsilon,
                "changed": fmean(trial.changed),
                "tables": [_tried_document(each) for each in trial.tables],
            }
            for trial in found.rates
        ],
    }


def _tried_document(tried: Tried) -> Document:
    short = spread(tried)
    return {
        "column": tried.column,
        "mean": short.mean,
        "deviation": short.deviation,
        "least": short.least,
        "median": short.middle,
        "most": short.most,
        "filled": fmean(tried.filled),
        "errors": list(tried.errors),
    }


def show_rates_tried(console: Console, found: Trials) -> None:
    """One table per held column."""
    console.print(Text(_head(found)))
    for place, each in enumerate(found.tables):
        console.print(Text(f"\n{_title(found, each)}", style="bold"))
        grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        for name in _columns(each):
            grid.add_column(name, justify="right")
        for row in _rows(found, place):
            grid.add_row(*row)
        console.print(grid)
    for line in (*_left_out(found), INSIDE):
        console.print(Text(line))


def rates_tried_page(title: str, found: Trials, draw: Callable[[Spec], str] = to_svg) -> str:
    """One page for the office with a picture and a table for each held column."""
    head = element(
        "header",
        element("p", element("strong", "For the office. "), "The errors on this page look at data.", class_="banner"),
        element("h1", title),
        paragraphs(_head(found)),
    )
    figures = {
        "records": found.strata.records,
        "largest stratum": found.strata.largest,
        "rates": len(found.rates),
        "runs at each": found.runs,
    }
    parts = [section("What was tried", tiles(figures), paragraphs(WORDS, CHOOSING, *_left_out(found)))]
    for place, each in enumerate(found.tables):
        caption = f"{_title(found, each)}. The mean of the runs, their middle half as a box, and the least to the most"
        fits = _width(found) == STACK_WIDTH
        picture = figure(draw(error_chart(found, place)), caption, fits=fits) if place < MOST_PICTURES else ""
        columns = _columns(each)
        parts.append(section(_name(found, each), picture, table(columns, _rows(found, place), columns)))
    return render_page(title, head, joined(parts))


def error_chart(found: Trials, place: int) -> Spec:
    """Boxes of the errors of one table against the rate, with the epsilon of each rate below it."""
    order = [_tick(trial) for trial in found.rates]
    tried = [(tick, trial.tables[place]) for tick, trial in zip(order, found.rates, strict=True)]
    errors = [{"rate": tick, "error": error} for tick, each in tried for error in each.errors]
    means = [{"rate": tick, "error": max(each.errors), "words": _percent(fmean(each.errors))} for tick, each in tried]
    x, y = _rate_axis(order), _error_axis()
    labels = {"type": "text", "align": "center", "dy": -9}
    return {
        "width": _width(found),
        "height": 260,
        "layer": [
            {"data": {"values": errors}, "mark": BOX, "encoding": {"x": x, "y": y}},
            {"data": {"values": means}, "mark": labels, "encoding": {"x": x, "y": y, "text": {"field": "words"}}},
        ],
    }


def _width(found: Trials) -> int:
    """Room for the words at every rate."""
    return max(STACK_WIDTH, WIDTH_OF_A_RATE * len(found.rates))


def _rate_axis(order: list[str]) -> Spec:
    axis = {
        "labelExpr": "split(datum.label, '|')",
        "labelAngle": 0,
        "labelLimit": 0,
        "title": "swap rate, and its epsilon",
        "titlePadding": 8,
    }
    return {"field": "rate", "type": "ordinal", "sort": order, "axis": axis}


def _error_axis() -> Spec:
    axis = {"format": "~%", "title": "mean relative error", "grid": True, "tickCount": 5}
    return {"field": "error", "type": "quantitative", "scale": {"zero": True, "nice": True}, "axis": axis}


def _tick(trial: Trial) -> str:
    return f"{_percent(float(trial.rate))}|{trial.epsilon:.1f}"


def _columns(each: MeasuredTable) -> tuple[str, ...]:
    return (*COLUMNS, FILLED) if each.empty else COLUMNS


def _rows(found: Trials, place: int) -> list[list[str]]:
    width = len(_columns(found.tables[place]))
    return [_row(trial, trial.tables[place])[:width] for trial in found.rates]


def _row(trial: Trial, tried: Tried) -> list[str]:
    short = spread(tried)
    return [
        _percent(float(trial.rate)),
        f"{trial.epsilon:.2f}",
        f"{fmean(trial.changed):,.0f}",
        *(_percent(each) for each in (short.mean, short.deviation, short.least, short.middle, short.most)),
        f"{fmean(tried.filled):,.1f}",
    ]


def _percent(share: float) -> str:
    """A share to three digits, also where it is far below one percent.

    >>> _percent(0.05), _percent(0.13597), _percent(0.000371)
    ('5 %', '13.6 %', '0.0371 %')
    """
    return f"{share * 100:.3g} %"


def _head(found: Trials) -> str:
    matched = f" between records that agree on {', '.join(found.roles.match)}" if found.roles.match else ""
    return (
        f"{found.strata.records:,} {found.unit} records; {', '.join(found.roles.swap)} exchanged{matched}, "
        f"{plural(found.runs, 'run')} at each rate. The largest stratum with two different records holds "
        f"{found.strata.largest:,}."
    )


def _name(found: Trials, each: MeasuredTable) -> str:
    return " x ".join((*found.roles.swap, each.column))


def _title(found: Trials, each: MeasuredTable) -> str:
    empty = f"{plural(each.empty, 'empty cell')} left out" if each.empty else "no cell is empty"
    return f"{_name(found, each)}: {plural(each.cells, 'cell')}, {empty}"


def _left_out(found: Trials) -> list[str]:
    if not found.too_large:
        return []
    return [f"Not measured, as the table would be too large: {', '.join(found.too_large)}."]
