"""Ways to publish side by side: figures, document, terminal and page."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

from rich.console import Console
from rich.table import Table
from rich.text import Text

from safemargin.core import Guarantee, Target
from safemargin.guarantees import COLUMNS, side_by_side
from safemargin.guarantees import document as guarantee_document
from safemargin.ui import (
    FAMILY_COLOURS,
    FAMILY_SHAPES,
    SCHEMA,
    TEXT_MARK,
    WIDTH,
    Document,
    Html,
    Result,
    Spec,
    element,
    figure,
    header,
    joined,
    paragraphs,
    percent,
    plural,
    points,
    render_page,
    say,
    section,
    table,
    text_table,
    to_svg,
)


@dataclass(frozen=True)
class Learnt:
    """What one onlooker gets out of what a method publishes.

    `verdicts` counts intervals, `people_exposed` the people in at least one cell that an attack disclosed.
    """

    onlooker: str
    verdicts: dict[str, int] = field(hash=False)
    people_exposed: int
    attacks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Binding:
    """The outcome over everybody: whether its counts are exact, how far off they are, and how often the winner stays.

    `winner_kept` is the share of draws in which the options with most votes are the true ones.
    """

    exact: bool
    mean_error: float | None
    winner_kept: float


@dataclass(frozen=True)
class MeasuredMethod:
    """One method on one table. Errors are None where nothing is published.

    The error of a count is its distance from what a reader takes it for: what is printed, else its share by size of
    what is printed for its merged group or is left of the total. Errors are means over `draws`; so is the worst one.
    """

    method: str
    family: str
    does: str
    draws: int = 0
    mean_error: float | None = None
    standard_error: float | None = None
    worst_error: float | None = None
    mean_relative_error: float | None = None
    worst_relative_error: float | None = None
    exact_cells: float = 0.0
    exact_people: float = 0.0
    binding: Binding = Binding(exact=False, mean_error=None, winner_kept=0.0)
    loss: float | None = None
    learnt: tuple[Learnt, ...] = ()
    is_published: bool = True
    guarantees: tuple[Guarantee, ...] = ()

    @property
    def people_exposed(self) -> int:
        """By the onlooker who gets most."""
        return max((onlooker.people_exposed for onlooker in self.learnt), default=0)


@dataclass(frozen=True)
class PropertyAnswer:
    """Whether a method has a property (`yes`, `partly`, `no`), and the figures that say so."""

    holds: str
    fact: str


@dataclass(frozen=True)
class Comparison(Result):
    """All methods in order, and for every property one answer per method. Errors look at votes: confidential."""

    methods: tuple[MeasuredMethod, ...]
    properties: dict[str, tuple[PropertyAnswer, ...]] = field(hash=False)
    target: Target
    threshold: int
    people: int
    cells: int
    axes: int
    title: str = "Comparison"

    def to_json(self) -> Document:
        """The document of `compare --json`."""
        names = [method.method for method in self.methods]
        return {
            "schema": SCHEMA,
            "methods": [_entry(method) for method in self.methods],
            "properties": {
                name: {method: asdict(answer) for method, answer in zip(names, answers, strict=True)}
                for name, answers in self.properties.items()
            },
            "people": self.people,
            "axes": self.axes,
            "cells": self.cells,
            "threshold": self.threshold,
            "target": asdict(self.target),
        }

    def show(self, console: Console) -> None:
        """Print the figures of every method, what onlookers can infer, and which properties hold."""
        say(console, f"{_scope(self)}\n")
        console.print(_grid(["", "method", *FIGURES], [[f"{n}", *row] for n, row in _figures(self)], 2))
        say(console, "\nWhat onlookers can infer", "bold")
        console.print(_grid(["", *LEARNT], _learnt(self), 3))
        say(console, "\nProperties, by method", "bold")
        held: list[list[str | Text]] = [
            [PROPERTY_WORDS[name], *(Text(answer.holds, HOLDS_STYLES[answer.holds]) for answer in answers)]
            for name, answers in self.properties.items()
        ]
        console.print(text_table(["", *(f"{n}" for n, _ in enumerate(self.methods, 1))], held, space=1))

    def to_html(self) -> str:
        """One page with the picture: confidential, errors look at votes."""
        names = [method.method for method in self.methods]
        title = f"{self.title}: ways to publish"
        banner = ("Confidential.", "The figures on this page look at votes. Do not publish it.")
        caption = "Mean error of a count against people exposed; labels are epsilon"
        figures = [row for _, row in _figures(self)]
        body = joined(
            [
                section("Error and exposure", figure(to_svg(tradeoff_chart(self)), caption), paragraphs(DP_WORDS)),
                section("Figures", table(["method", *FIGURES], figures, FIGURES)),
                section("What onlookers can infer", table(LEARNT, [row[1:] for row in _learnt(self)], LEARNT[2:])),
                section("Guarantees about odds", table(COLUMNS, _guarantees(self)), paragraphs(GUARANTEE_WORDS)),
                section("Properties", *(_property(PROPERTY_WORDS[p], names, a) for p, a in self.properties.items())),
                section("Methods", points(f"{method.method}: {method.does}" for method in self.methods)),
            ]
        )
        return render_page(title, header(title, paragraphs(_scope(self)), banner=banner), body)


def tradeoff_chart(comparison: Comparison) -> Spec:
    """The error of every method against the people it exposes; both scales are logarithmic but for the zero."""
    values: list[Spec] = [
        {
            "family": method.family,
            "error": method.mean_error,
            "people": method.people_exposed,
            "words": "" if method.family != "global DP" else f"{method.loss:g}",
        }
        for method in comparison.methods
        if method.mean_error is not None
    ]
    families = list(dict.fromkeys(value["family"] for value in values))
    x = {"field": "error", **_symlog("mean error of a count", 0.1, [value["error"] for value in values])}
    y = {"field": "people", **_symlog("people exposed", 1, [value["people"] for value in values])}
    family = {"field": "family", "type": "nominal", "legend": {"title": None, "labelFontSize": 12, "labelLimit": 0}}
    colour = {**family, "scale": {"domain": families, "range": FAMILY_COLOURS[: len(families)]}}
    shape = {**family, "scale": {"domain": families, "range": FAMILY_SHAPES[: len(families)]}}
    points = {
        "mark": {"type": "point", "filled": True, "size": 160, "opacity": 0.85},
        "encoding": {"x": x, "y": y, "color": colour, "shape": shape},
    }
    labels = {"mark": {**TEXT_MARK, "dx": 9, "dy": -9}, "encoding": {"x": x, "y": y, "text": {"field": "words"}}}
    return {"data": {"values": values}, "width": WIDTH - 260, "height": 300, "layer": [points, labels]}


def _symlog(title: str, least: float, values: Sequence[float]) -> Spec:
    """A scale that starts with zero and then goes up by tens from `least`."""
    marks = [0.0, least]
    while marks[-1] < max(values, default=0.0):
        marks.append(marks[-1] * 10)
    axis = {"values": marks, "title": title, "grid": True, "format": ",~r"}
    scale = {"type": "symlog", "constant": least, "domain": [0, marks[-1]], "nice": False}
    return {"type": "quantitative", "scale": scale, "axis": axis}


PROPERTY_WORDS = {
    "binding_outcome_exact": "binding outcome exact",
    "regular_cells_exact": "regular cells exact",
    "per_cell_cost": "cost per cell, not flat",
    "cost_computable_in_advance": "cost computable in advance",
    "small_area_resolution": "small-area resolution",
    "guarantee_on_regular_cells": "stated guarantee on regular cells",
    "unconditional_against_auxiliary": "unconditional against auxiliary knowledge",
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


def _entry(method: MeasuredMethod) -> Document:
    plain = {
        name: value
        for name, value in asdict(method).items()
        if name not in ("method", "family", "is_published", "learnt", "binding", "guarantees")
    }
    return {
        "method": method.method,
        "family": method.family,
        "published": method.is_published,
        **plain,
        "people_exposed": method.people_exposed,
        "guarantees": [guarantee_document(guarantee) for guarantee in method.guarantees],
        "binding": asdict(method.binding),
        "onlookers": [
            {
                "onlooker": onlooker.onlooker,
                "verdicts": onlooker.verdicts,
                "people_exposed": onlooker.people_exposed,
                "attacks": list(onlooker.attacks),
            }
            for onlooker in method.learnt
        ],
    }


def _grid(columns: list[str], rows: list[list[str]], words: int) -> Table:
    """A table whose first `words` columns are words, the rest numbers."""
    grid = text_table(columns, rows, space=1)
    for column in grid.columns[words:]:
        column.justify = "right"
    return grid


def _guarantees(comparison: Comparison) -> list[list[str]]:
    return side_by_side([guarantee for method in comparison.methods for guarantee in method.guarantees])


GUARANTEE_WORDS = (
    "These epsilons are on one scale only where all other columns agree. At the same number, a guarantee about "
    "exchanges that leave exact counts unchanged says less than one about anybody more or less. A method without a row "
    "has no guarantee about odds."
)

LEARNT = ["method", "onlooker", "disclosed", "open", "contained", "people exposed"]

DP_WORDS = (
    "Nothing certain follows from noise without bounds, so in this picture global DP exposes nobody at any epsilon. "
    "What it discloses is its loss: one person more or less changes the odds of what is printed by up to e^epsilon."
)


def _property(title: str, names: list[str], answers: tuple[PropertyAnswer, ...]) -> Html:
    rows = [(name, answer.holds, answer.fact) for name, answer in zip(names, answers, strict=True)]
    return joined([element("h3", title), table(("method", "holds", "measured"), rows)])


def _scope(comparison: Comparison) -> str:
    draws = max((method.draws for method in comparison.methods), default=1)
    noise = f" Noise: means over {draws} draws." if draws > 1 else ""
    return (
        f"{plural(comparison.people, 'person')}; {comparison.cells:,} counts in the tables of "
        f"{comparison.axes} {'axis' if comparison.axes == 1 else 'axes'}, and the total.{noise}"
    )


def _figures(comparison: Comparison) -> list[tuple[int, list[str]]]:
    return [(n, [method.method, *_row(method)]) for n, method in enumerate(comparison.methods, 1)]


def _row(method: MeasuredMethod) -> list[str]:
    """Cells of the columns in `FIGURES`."""
    if method.mean_error is None or method.worst_error is None or method.mean_relative_error is None:
        return ["-", "-", "-", "0 %", "0 %", "-", "-", "-", "0"]
    return [
        _number(method.mean_error),
        _number(method.worst_error),
        percent(method.mean_relative_error),
        percent(method.exact_cells),
        percent(method.exact_people),
        "exact" if method.binding.exact else _number(method.binding.mean_error or 0.0),
        percent(method.binding.winner_kept),
        "-" if method.loss is None else f"{method.loss:g}",
        f"{method.people_exposed:,}",
    ]


def _number(value: float) -> str:
    """Three digits.

    >>> _number(0.0), _number(0.1234), _number(1234.5)
    ('0', '0.123', '1,234')
    """
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _learnt(comparison: Comparison) -> list[list[str]]:
    rows = []
    for n, method in enumerate(comparison.methods, 1):
        for onlooker in method.learnt:
            counts = [
                f"{onlooker.verdicts[name]:,}" if onlooker.verdicts else "-"
                for name in ("disclosed", "open", "contained")
            ]
            rows.append([f"{n}", method.method, onlooker.onlooker, *counts, f"{onlooker.people_exposed:,}"])
    return rows
