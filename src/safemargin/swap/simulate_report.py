"""Swapping without a guarantee for readers: what one run did, and that it is for comparison only."""

from collections.abc import Callable, Mapping

from rich.console import Console
from rich.text import Text

from safemargin.core import Guarantee
from safemargin.guarantees.guarantee_file import document
from safemargin.swap.simulated import Baseline, Simulated
from safemargin.swap.tables import TableError
from safemargin.ui import (
    LETTER,
    SCHEMA,
    STACK_WIDTH,
    TEXT_MARK,
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

COLOURS = ("#0072b2", "#e69f00")
PERMUTATION = "permutation swapping"
BANNER = "This is a simulation for comparison, not a protection with a guarantee. It looks at data: keep it inside."


def simulated_document(found: Simulated) -> Document:
    """The document of `simulate --json`."""
    return {
        "schema": SCHEMA,
        "method": found.method,
        "unit": found.unit,
        "records": found.records,
        "rate": float(found.rate),
        "rate_exact": str(found.rate),
        "selected": found.selected,
        "changed": found.changed,
        "counts": {heading: dict(parts) for heading, parts in found.counts.items()},
        "roles": {"swap": list(found.roles.swap), "match": list(found.roles.match), "hold": list(found.roles.hold)},
        "errors": _errors(found.errors),
        "guarantee": document(found.guarantee),
        "beside": None if found.beside is None else _beside(found.beside),
        "file": found.file,
    }


def _errors(errors: Mapping[str, tuple[TableError, ...]]) -> list[Document]:
    return [
        {"area": area, "column": each.column, "cells": each.cells, "mean": each.mean, "relative": each.relative}
        for area, found in errors.items()
        for each in found
    ]


def _beside(other: Baseline) -> Document:
    return {
        "rate": float(other.rate),
        "rate_exact": str(other.rate),
        "changed": other.changed,
        "errors": _errors(other.errors),
        "guarantee": document(other.guarantee),
    }


def show_simulated(console: Console, found: Simulated) -> None:
    """One run in words."""
    for line in _lines(found):
        console.print(Text(line))


def _lines(found: Simulated) -> list[str]:
    return [
        f"{found.records:,} {found.unit} records; rate {float(found.rate):g}: {found.selected:,} selected, "
        f"{found.changed:,} got another {' or '.join(found.roles.swap)}.",
        *(
            f"{heading.capitalize()}: {', '.join(f'{words} {number:,}' for words, number in parts.items())}."
            for heading, parts in found.counts.items()
        ),
        f"Kept exactly, and checked: {' and '.join(map(str, found.guarantee.invariants))}.",
        f"{found.guarantee.amount.capitalize()}. {' '.join(found.guarantee.remarks)}",
        *([] if found.beside is None else [_compared(found.beside, found.guarantee)]),
    ]


def _compared(other: Baseline, mine: Guarantee) -> str:
    same = set(other.guarantee.invariants) == set(mine.invariants)
    kept = "the same tables" if same else " and ".join(map(str, other.guarantee.invariants))
    return (
        f"Permutation swapping at a rate of {float(other.rate):.3g} gave {other.changed:,} records another value, "
        f"keeps {kept} and guarantees {other.guarantee.amount} per {other.guarantee.change}."
    )


def simulated_page(title: str, found: Simulated, draw: Callable[[Spec], str] = to_svg) -> str:
    """One page with the picture, for the office."""
    head = element(
        "header",
        element("p", element("strong", "Nothing is guaranteed. "), BANNER, class_="banner"),
        element("h1", title),
        paragraphs(*(line for line in _lines(found) if not line.endswith(" ".join(found.guarantee.remarks)))),
    )
    figures = {
        "records": found.records,
        "selected": found.selected,
        "got another place": found.changed,
        "guarantee": found.guarantee.amount,
    }
    guarantee = [
        found.guarantee.statement,
        *found.guarantee.remarks,
        *(f"Unchanged: {each}" for each in found.guarantee.invariants),
        f"Why: {found.guarantee.rule}",
    ]
    others = _errors(found.errors if found.beside is None else found.beside.errors)
    rows = [
        (
            each["area"],
            each["column"],
            each["cells"],
            f"{each['mean']:.3g}",
            percent(each["relative"]),
            "" if found.beside is None else percent(other["relative"]),
        )
        for each, other in zip(_errors(found.errors), others, strict=True)
    ]
    columns = ("table of", "by", "cells", "mean error of a count", "mean relative error", "by permutation")
    body = joined(
        [
            section("This run", tiles(figures)),
            section("What is guaranteed", points(guarantee)),
            section("What happened", figure(draw(counts_chart(found.counts)), CAPTION, fits=True)),
            section(
                "What it did to tables",
                figure(draw(errors_chart(found)), ERRORS_CAPTION, fits=True),
                table(columns, rows, columns[2:]),
            ),
        ]
    )
    return render_page(title, head, body)


CAPTION = "What happened to how many records"
ERRORS_CAPTION = "Mean relative error of a count by table, and that of permutation swapping at the same rate"


def counts_chart(counts: Mapping[str, Mapping[str, int]]) -> Spec:
    """One bar per number, under their headings; every heading has a scale of its own."""
    names = [name for parts in counts.values() for name in parts]
    room = int(LETTER * max(map(len, names))) + 12
    width = STACK_WIDTH - room
    return {"vconcat": [_bars(heading, parts, room, width) for heading, parts in counts.items()], "spacing": 16}


def _bars(heading: str, parts: Mapping[str, int], room: int, width: int) -> Spec:
    values = [{"what": words, "count": number, "words": f"{number:,}"} for words, number in parts.items()]
    top = max([1, *parts.values()])
    scale = {"domain": [0, top * (1 + 11 * LETTER / width)], "nice": False}
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
            {"mark": TEXT_MARK, "encoding": {"text": {"field": "words"}}},
        ],
    }


def errors_chart(found: Simulated) -> Spec:
    """The mean relative error of every table, by this way to swap and by permutation swapping beside it."""
    sides = {found.method: found.errors, **({} if found.beside is None else {PERMUTATION: found.beside.errors})}
    values = [
        {"table": f"{each['area']} by {each['column']}", "error": each["relative"], "method": method}
        for method, errors in sides.items()
        for each in _errors(errors)
    ]
    tables = list(dict.fromkeys(value["table"] for value in values))
    room = int(LETTER * max(map(len, tables))) + 20
    legend = {"title": None, "orient": "bottom", "labelFontSize": 12, "labelLimit": 0, "columnPadding": 40}
    scale = {"domain": list(sides), "range": list(COLOURS[: len(sides)])}
    return {
        "data": {"values": values},
        "width": STACK_WIDTH - room,
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
