"""Swapping for readers: what a rate promises, and what one run did."""

import math
from collections.abc import Callable

from rich.console import Console
from rich.text import Text

from safemargin.guarantees.guarantee_file import document
from safemargin.guarantees.swap_curves import CAPTION, CURVE_WORDS, rate_chart, rate_words
from safemargin.guarantees.swap_loss import (
    Rate,
    best_rate,
    gap_bound,
    hardest,
    moved,
    rates_for,
    short_rate,
    swap_epsilon,
    tightness,
)
from safemargin.swap.swap import Swapped
from safemargin.ui.charts import Spec, to_svg
from safemargin.ui.document import SCHEMA, Document
from safemargin.ui.markup import element, figure, joined, paragraphs, points, section, table, tiles
from safemargin.ui.page import whole_page
from safemargin.ui.words import percent


def rate_document(rate: Rate, largest: int, wanted: float | None = None) -> Document:
    """What a swap rate promises; where it was found for a `wanted` epsilon, that one is told."""
    epsilon = swap_epsilon(rate, largest) if wanted is None else wanted
    best, least = best_rate(largest) if largest else (None, 0.0)
    bounded = largest > 0 and 0 < rate < 1
    often = hardest(rate, largest) if bounded else None
    return {
        "schema": SCHEMA,
        "rate": float(rate),
        "largest_stratum": largest,
        "epsilon": epsilon if math.isfinite(epsilon) else "infinite",
        "best": None if best is None else {"rate": best, "epsilon": least},
        "lower_bound": tightness(rate, largest).lower if bounded else None,
        "lower_bound_values": None if not bounded else "all different" if often is None else list(often),
        "gap_bound": gap_bound(largest) if largest else None,
        "moved": moved(rate, largest),
        "rates": list(rates_for(max(epsilon, least), largest)) if largest and math.isfinite(epsilon) else None,
    }


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
        console.print(Text(f"epsilon {epsilon:.4f} at a swap rate of {short_rate(rate)} with {stratum}"))
        console.print(
            Text(f"A stratum whose values {_values(rate, largest)} loses {lower:.4f}, so no analysis promises less.")
        )
    console.print(Text(f"The smallest epsilon is {least:.4f}, at a rate of {rate_words(best)}."))


def _values(rate: Rate, largest: int) -> str:
    """The values of a stratum that is the hardest to protect."""
    often = hardest(rate, largest)
    if often is None:
        return "are all different"
    return f"occur {', '.join(f'{each:,}' for each in often[:-1])} and {often[-1]:,} times"


def show_rates(console: Console, epsilon: float, largest: int) -> None:
    """The two rates that promise an epsilon."""
    low, high = map(rate_words, rates_for(epsilon, largest))
    stratum = f"{largest:,} records in the largest stratum"
    console.print(Text(f"epsilon {epsilon:g} with {stratum}: rate {low} or {high}"))


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
    promise = [
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
            section("What is promised", points(promise)),
            section("Epsilon against the swap rate", picture, paragraphs(CURVE_WORDS)),
            section(f"What happened to {', '.join(found.roles.swap)}", table(columns, rows, columns[1:])),
        ]
    )
    return whole_page(title, head, body)
