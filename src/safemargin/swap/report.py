"""Swapping for readers: what a rate guarantees, and what one run did."""

from collections.abc import Callable

from rich.console import Console
from rich.text import Text

from safemargin.guarantees.guarantee_file import document
from safemargin.guarantees.swap_curves import CAPTION, CURVE_NOTE, rate_chart
from safemargin.guarantees.swap_loss import short_rate
from safemargin.swap.swap import Swapped
from safemargin.ui import (
    SCHEMA,
    Document,
    Spec,
    element,
    figure,
    joined,
    paragraphs,
    percent,
    points,
    render_page,
    section,
    table,
    tiles,
    to_svg,
)


def swapped_document(found: Swapped) -> Document:
    """The document of `swap --json`."""
    return {
        "schema": SCHEMA,
        "unit": found.unit,
        "records": found.strata.records,
        "rate": float(found.rate),
        "rate_exact": str(found.rate),
        "epsilon": found.guarantee.epsilon,
        "largest_stratum": found.strata.largest,
        **({} if found.imputed is None else {"imputed": found.imputed}),
        "strata": found.strata.number,
        "single_records": found.strata.single,
        "selected": found.selected,
        "changed": found.changed,
        "redrawn": found.redrawn,
        "roles": {"swap": list(found.roles.swap), "match": list(found.roles.match), "hold": list(found.roles.hold)},
        "naming": list(found.naming),
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
    beside = f" beside {found.imputed:,} imputed ones" if found.imputed else ""
    return [
        f"{found.strata.records:,} {found.unit} records{beside}; strata: {found.strata.number:,}, the largest with two "
        f"different records holds {found.strata.largest:,}.",
        f"Rate {short_rate(found.rate)}: {found.selected:,} records selected, {found.changed:,} got another value.",
        f"{guarantee.amount} per {guarantee.change}; kept exactly, and checked: "
        f"{' and '.join(map(str, guarantee.invariants))}.",
        *guarantee.remarks,
        *(
            f"Column {name!r} has no value twice in different records, and is published: leave it out with --hold if "
            "it tells who they are."
            for name in found.naming
        ),
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
    guarantee = [
        found.guarantee.statement,
        *(f"Unchanged: {each}" for each in found.guarantee.invariants),
        f"Depends on: {found.guarantee.varies}",
        f"Why: {found.guarantee.rule}",
    ]
    rows = [(each.column, each.cells, f"{each.mean:.3g}", percent(each.relative)) for each in found.errors]
    columns = ("by", "cells", "mean error of a count", "mean relative error")
    picture = figure(draw(rate_chart(found.rate, found.strata.largest)), CAPTION, fits=True)
    body = joined(
        [
            section("This run", tiles(figures)),
            section("What is guaranteed", points(guarantee)),
            section("Epsilon against the swap rate", picture, paragraphs(CURVE_NOTE)),
            section(f"What happened to {', '.join(found.roles.swap)}", table(columns, rows, columns[1:])),
        ]
    )
    return render_page(title, head, body)
