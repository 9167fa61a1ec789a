"""Swapping for readers: what a rate promises, what one run did, and the picture of epsilon against the rate."""

import math
from collections.abc import Callable, Sequence

from rich.console import Console
from rich.text import Text

from safemargin.mechanisms.swap_loss import Rate, best_rate, curve, rates_for, swap_epsilon, tightness
from safemargin.model.guarantee_file import document
from safemargin.report.charts import STACK_WIDTH, WORDS, Spec, to_svg
from safemargin.report.document import SCHEMA, Document
from safemargin.report.html import whole_page
from safemargin.report.markup import element, figure, joined, paragraphs, points, section, table, tiles
from safemargin.report.words import percent
from safemargin.swap import Swapped

REFERENCE = (2, 10, 1_000, 1_000_000)
"""Sizes of the largest stratum that a picture shows beside the one at hand."""

TOP = 24.0
COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00"]


def rate_document(rate: Rate, largest: int) -> Document:
    """What a swap rate promises."""
    epsilon = swap_epsilon(rate, largest)
    found: Document = {
        "schema": SCHEMA,
        "rate": float(rate),
        "largest_stratum": largest,
        "epsilon": epsilon if math.isfinite(epsilon) else "infinite",
    }
    if largest:
        best, least = best_rate(largest)
        found["best"] = {"rate": best, "epsilon": least}
        if math.isfinite(epsilon):
            found["lower_bound"] = tightness(rate, largest).lower
            found["rates"] = list(rates_for(max(epsilon, least), largest))
    return found


def show_rate(console: Console, rate: Rate, largest: int) -> None:
    """What a swap rate promises, in words."""
    epsilon = swap_epsilon(rate, largest)
    if largest == 0:
        console.print(Text("epsilon 0: no stratum holds two different records, so nothing is exchanged or protected."))
        return
    best, least = best_rate(largest)
    if math.isinf(epsilon):
        console.print(Text(f"epsilon is infinite at a rate of {float(rate):g}: choose one between 0 and 1."))
    else:
        lower = tightness(rate, largest).lower
        stratum = f"{largest:,} records in the largest stratum"
        console.print(Text(f"epsilon {epsilon:.4f} at a swap rate of {float(rate):g} with {stratum}"))
        console.print(Text(f"Some data of this kind lose {lower:.4f}, so no analysis promises less."))
    console.print(Text(f"The smallest epsilon is {least:.4f}, at a rate of {_rate(best)}."))


def show_rates(console: Console, epsilon: float, largest: int) -> None:
    """The two rates that promise an epsilon."""
    low, high = rates_for(epsilon, largest)
    console.print(
        Text(f"epsilon {epsilon:g} with {largest:,} records in the largest stratum: rate {_rate(low)} or {_rate(high)}")
    )


def _rate(rate: float) -> str:
    """A rate that is not 0 or 1, so as not to look like one of them.

    >>> _rate(0.05), _rate(3e-22), _rate(0.9999999960910615), _rate(1.0)
    ('0.050000', '3e-22', '1 - 3.91e-09', 'just below 1')
    """
    if rate > 1 - 5e-7:
        return f"1 - {1 - rate:.3g}" if rate < 1 else "just below 1"
    return f"{rate:.6f}" if rate > 5e-7 else f"{rate:.3g}" if rate else "just above 0"


def swapped_document(found: Swapped) -> Document:
    """The document of `swap --json`."""
    return {
        "schema": SCHEMA,
        "unit": found.unit,
        "records": found.strata.records,
        "rate": str(found.rate),
        "epsilon": found.guarantee.epsilon,
        "largest_stratum": found.strata.largest,
        "strata": found.strata.number,
        "single_records": found.strata.single,
        "selected": found.selected,
        "changed": found.changed,
        "redrawn": found.redrawn,
        "roles": {"swap": list(found.roles.swap), "match": list(found.roles.match), "hold": list(found.roles.hold)},
        "invariants_kept": True,
        "errors": [
            {"column": each.column, "cells": each.cells, "mean": each.mean, "relative": each.relative}
            for each in found.errors
        ],
        "guarantee": document(found.guarantee),
        "file": found.file,
    }


def show_swapped(console: Console, found: Swapped) -> None:
    """One run in words."""
    for line in _lines(found):
        console.print(Text(line))


def _lines(found: Swapped) -> list[str]:
    guarantee = found.guarantee
    return [
        f"{found.strata.records:,} {found.unit} records; strata: {found.strata.number:,}, the largest with two "
        f"different records holds {found.strata.largest:,}.",
        f"Rate {float(found.rate):g}: {found.selected:,} records selected, {found.changed:,} got another value.",
        f"{guarantee.amount} per {guarantee.change}; kept exactly, and checked: "
        f"{' and '.join(map(str, guarantee.invariants))}.",
        *guarantee.remarks,
    ]


def swap_page(title: str, found: Swapped, draw: Callable[[Spec], str] = to_svg) -> str:
    """One page with the picture, for the office: errors look at data."""
    head = element(
        "header",
        element("p", element("strong", "For the office. "), "The errors on this page look at data.", class_="banner"),
        element("h1", title),
        paragraphs(*_lines(found)),
    )
    figures = {
        "records": found.strata.records,
        "got another value": found.changed,
        "epsilon": f"{found.guarantee.epsilon:.4g}",
        "largest stratum": found.strata.largest,
    }
    promise = [
        found.guarantee.statement,
        *(f"Unchanged: {each}" for each in found.guarantee.invariants),
        f"Depends on: {found.guarantee.varies}",
        f"Why: {found.guarantee.rule}",
    ]
    rows = [(each.column, each.cells, f"{each.mean:.3g}", percent(each.relative)) for each in found.errors]
    columns = ("by", "cells", "mean error of a count", "mean relative error")
    picture = figure(draw(rate_chart(float(found.rate), found.strata.largest)), CAPTION, fits=True)
    body = joined(
        [
            section("This run", tiles(figures)),
            section("What is promised", points(promise)),
            section("Epsilon against the swap rate", picture, paragraphs(CURVE_WORDS)),
            section(f"What happened to {', '.join(found.roles.swap)}", table(columns, rows, columns[1:])),
        ]
    )
    return whole_page(title, head, body)


def rate_page(rate: float, largest: int, draw: Callable[[Spec], str] = to_svg) -> str:
    """The picture for one rate and stratum."""
    title = f"Swapping at {percent(rate)}"
    epsilon = swap_epsilon(rate, largest)
    words = f"epsilon {epsilon:.4g} with {largest:,} records in the largest stratum"
    head = element("header", element("h1", title), paragraphs(words))
    picture = figure(draw(rate_chart(rate, largest)), CAPTION, fits=True)
    return whole_page(title, head, joined([section("Epsilon", picture, paragraphs(CURVE_WORDS))]))


CAPTION = "Epsilon by rate and size of the largest stratum; the circle is the rate at hand"

CURVE_WORDS = (
    "One line per size of the largest stratum; the diamond is its smallest epsilon. A smaller stratum has a smaller "
    "epsilon because more is fixed, not because more is protected: do not compare lines."
)


def rate_chart(rate: float, largest: int, others: Sequence[int] = REFERENCE) -> Spec:
    """Epsilon against the rate for several sizes of the largest stratum, with the best rate of each and the chosen."""
    sizes = sorted({*others, largest} - {0})
    order = [f"{size:,} records" for size in sizes]
    lines = [
        {"size": f"{size:,} records", "rate": p, "epsilon": epsilon}
        for size in sizes
        for p, epsilon in curve(size)
        if epsilon <= TOP
    ]
    diamonds = [
        {"size": f"{size:,} records", "rate": best, "epsilon": least}
        for size, (best, least) in ((size, best_rate(size)) for size in sizes)
    ]
    x = {
        "field": "rate",
        "type": "quantitative",
        "scale": {"domain": [0, 1], "nice": False},
        "axis": {"format": ".0%", "title": "swap rate", "tickCount": 6, "grid": True},
    }
    y = {
        "field": "epsilon",
        "type": "quantitative",
        "scale": {"domain": [0, TOP], "nice": False},
        "axis": {"title": "epsilon", "grid": True, "tickCount": 6},
    }
    colour = {
        "field": "size",
        "type": "nominal",
        "sort": order,
        "scale": {"domain": order, "range": COLOURS[: len(order)]},
        "legend": {
            "title": "largest stratum",
            "labelFontSize": 12,
            "labelLimit": 0,
            "orient": "bottom",
            "columns": 3,
            "columnPadding": 40,
        },
    }
    layers: list[Spec] = [
        {
            "data": {"values": lines},
            "mark": {"type": "line", "strokeWidth": 2},
            "encoding": {"x": x, "y": y, "color": colour},
        },
        {
            "data": {"values": diamonds},
            "mark": {"type": "point", "shape": "diamond", "filled": True, "size": 110, "opacity": 1},
            "encoding": {"x": x, "y": y, "color": colour},
        },
    ]
    epsilon = swap_epsilon(rate, largest)
    if largest and epsilon <= TOP:
        here = {"values": [{"rate": rate, "epsilon": epsilon, "words": f"epsilon {epsilon:.2f}"}]}
        layers += [
            {
                "data": here,
                "mark": {"type": "point", "filled": False, "size": 220, "strokeWidth": 2, "color": "#888"},
                "encoding": {"x": x, "y": y},
            },
            {
                "data": here,
                "mark": {**WORDS, "dx": 10, "dy": -10},
                "encoding": {"x": x, "y": y, "text": {"field": "words"}},
            },
        ]
    return {"width": STACK_WIDTH, "height": 320, "layer": layers}
