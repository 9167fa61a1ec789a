"""Ways to publish side by side: a JSON document, a table in a terminal, a page with a picture."""

from collections.abc import Callable
from dataclasses import asdict

from rich.console import Console
from rich.table import Table
from rich.text import Text

from safemargin.guarantees.guarantee_file import document as promise_document
from safemargin.guarantees.report import COLUMNS, side_by_side
from safemargin.release.compare.charts import tradeoff_chart
from safemargin.release.compare.comparison import Comparison, MeasuredMethod, PropertyAnswer
from safemargin.ui import (
    SCHEMA,
    Document,
    Html,
    Spec,
    element,
    figure,
    joined,
    paragraphs,
    percent,
    plural,
    points,
    render_page,
    section,
    table,
    to_svg,
)

PROPERTY_WORDS = {
    "binding_outcome_exact": "binding outcome exact",
    "regular_cells_exact": "regular cells exact",
    "per_cell_cost": "cost per cell, not flat",
    "cost_computable_in_advance": "cost computable in advance",
    "small_area_resolution": "small-area resolution",
    "guarantee_on_regular_cells": "stated guarantee on regular cells",
    "unconditional_against_auxiliary": "unconditional against auxiliary adversaries",
}
HOLDS_STYLES = {"yes": "green", "partly": "yellow", "no": "red"}

FIGURES = (
    "mean error",
    "worst",
    "relative",
    "exact counts",
    "exact people",
    "totals off",
    "winner kept",
    "epsilon",
    "exposed",
)


def comparison_document(comparison: Comparison) -> Document:
    """The document of `compare --json`."""
    names = [each.method for each in comparison.methods]
    return {
        "schema": SCHEMA,
        "methods": [_entry(each) for each in comparison.methods],
        "properties": {
            name: {method: asdict(answer) for method, answer in zip(names, found, strict=True)}
            for name, found in comparison.properties.items()
        },
        "people": comparison.people,
        "axes": comparison.axes,
        "cells": comparison.cells,
        "threshold": comparison.threshold,
        "target": asdict(comparison.target),
    }


def _entry(each: MeasuredMethod) -> Document:
    plain = {
        name: value
        for name, value in asdict(each).items()
        if name not in ("method", "family", "is_published", "learnt", "binding", "promises")
    }
    return {
        "method": each.method,
        "family": each.family,
        "published": each.is_published,
        **plain,
        "people_exposed": each.people_exposed,
        "promises": [promise_document(promise) for promise in each.promises],
        "binding": asdict(each.binding),
        "onlookers": [
            {
                "onlooker": one.onlooker,
                "verdicts": one.verdicts,
                "people_exposed": one.people_exposed,
                "attacks": list(one.attacks),
            }
            for one in each.learnt
        ],
    }


def show_comparison(console: Console, comparison: Comparison) -> None:
    """Figures of every method, what onlookers learn, and which properties hold."""
    console.print(Text(f"{_scope(comparison)}\n"))
    console.print(_grid(["", "method", *FIGURES], [[f"{n}", *row] for n, row in _figures(comparison)], 2))
    console.print(Text("\nWhat onlookers learn", style="bold"))
    console.print(_grid(["", *LEARNT], _learnt(comparison), 3))
    console.print(Text("\nProperties, by method", style="bold"))
    found = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for name in ("", *(f"{n}" for n, _ in enumerate(comparison.methods, 1))):
        found.add_column(name, no_wrap=bool(name))
    for name, answers in comparison.properties.items():
        held = [Text(answer.holds, HOLDS_STYLES[answer.holds]) for answer in answers]
        found.add_row(Text(PROPERTY_WORDS[name]), *held)
    console.print(found)


def _grid(columns: list[str], rows: list[list[str]], words: int) -> Table:
    """A table whose first `words` columns are words, the rest numbers."""
    grid = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for place, name in enumerate(columns):
        grid.add_column(Text(name), justify="left" if place < words else "right", overflow="fold")
    for row in rows:
        grid.add_row(*map(Text, row))
    return grid


def comparison_page(title: str, comparison: Comparison, draw: Callable[[Spec], str] = to_svg) -> str:
    """One page with the picture, for the office: errors look at votes."""
    names = [each.method for each in comparison.methods]
    banner = element("strong", "For the office. ")
    head = element(
        "header",
        element("p", banner, "The figures on this page look at votes. Do not publish it.", class_="banner"),
        element("h1", title),
        paragraphs(_scope(comparison)),
    )
    caption = "Mean error of a count against people exposed; labels are epsilon"
    body = joined(
        [
            section("Error and exposure", figure(draw(tradeoff_chart(comparison)), caption), paragraphs(DP_WORDS)),
            section("Figures", table(["method", *FIGURES], [row for _, row in _figures(comparison)], FIGURES)),
            section("What onlookers learn", table(LEARNT, [row[1:] for row in _learnt(comparison)], LEARNT[2:])),
            section("Promises about odds", table(COLUMNS, _promises(comparison)), paragraphs(PROMISE_WORDS)),
            section("Properties", *(_property(PROPERTY_WORDS[p], names, a) for p, a in comparison.properties.items())),
            section("Methods", points(f"{each.method}: {each.does}" for each in comparison.methods)),
        ]
    )
    return render_page(title, head, body)


def _promises(comparison: Comparison) -> list[list[str]]:
    return side_by_side([promise for each in comparison.methods for promise in each.promises])


PROMISE_WORDS = (
    "These epsilons are on one scale only where all other columns agree: at the same number, a promise about exchanges "
    "that leave exact counts as they are says less than one about anybody more or less. Methods without a row promise "
    "nothing about odds."
)

LEARNT = ["method", "onlooker", "disclosed", "open", "contained", "people exposed"]

DP_WORDS = (
    "Nothing certain follows from noise without bounds, so in this picture global DP exposes nobody at any epsilon. "
    "What it gives away is its loss: one person more or less changes the odds of what is printed by up to e^epsilon."
)


def _property(words: str, names: list[str], answers: tuple[PropertyAnswer, ...]) -> Html:
    rows = [(name, answer.holds, answer.fact) for name, answer in zip(names, answers, strict=True)]
    return joined([element("h3", words), table(("method", "holds", "measured"), rows)])


def _scope(comparison: Comparison) -> str:
    draws = max((each.draws for each in comparison.methods), default=1)
    noise = f" Noise: means over {draws} draws." if draws > 1 else ""
    return (
        f"{plural(comparison.people, 'person')}; {comparison.cells:,} counts in the tables of "
        f"{comparison.axes} {'axis' if comparison.axes == 1 else 'axes'}, and the total.{noise}"
    )


def _figures(comparison: Comparison) -> list[tuple[int, list[str]]]:
    return [(n, [each.method, *_row(each)]) for n, each in enumerate(comparison.methods, 1)]


def _row(each: MeasuredMethod) -> list[str]:
    """Cells of the columns in `FIGURES`."""
    if each.mean_error is None or each.worst_error is None or each.mean_relative_error is None:
        return ["-", "-", "-", "0 %", "0 %", "-", "-", "-", "0"]
    return [
        _number(each.mean_error),
        _number(each.worst_error),
        percent(each.mean_relative_error),
        percent(each.exact_cells),
        percent(each.exact_people),
        "exact" if each.binding.exact else _number(each.binding.mean_error or 0.0),
        percent(each.binding.winner_kept),
        "-" if each.loss is None else f"{each.loss:g}",
        f"{each.people_exposed:,}",
    ]


def _number(value: float) -> str:
    """Three digits.

    >>> _number(0.0), _number(0.1234), _number(1234.5)
    ('0', '0.123', '1,234')
    """
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _learnt(comparison: Comparison) -> list[list[str]]:
    rows = []
    for n, each in enumerate(comparison.methods, 1):
        for one in each.learnt:
            counts = [f"{one.verdicts[name]:,}" if one.verdicts else "-" for name in ("disclosed", "open", "contained")]
            rows.append([f"{n}", each.method, one.onlooker, *counts, f"{one.people_exposed:,}"])
    return rows
