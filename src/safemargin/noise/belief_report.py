"""What an onlooker believes behind noised counts: a JSON document, a table in a terminal, a page with a picture."""

from collections.abc import Callable

from rich.console import Console
from rich.table import Table
from rich.text import Text

from safemargin.noise.belief import Beliefs, CountBelief
from safemargin.ui import (
    SCHEMA,
    Document,
    Spec,
    element,
    figure,
    joined,
    paragraphs,
    percent,
    render_page,
    section,
    table,
    tiles,
    to_svg,
)

ALONE = "One cell at a time, as somebody who knows the p-table and nothing about other cells."
MOST_DRAWN = 40


def beliefs_document(found: Beliefs) -> Document:
    """The document of `noise posterior --json`."""
    return {
        "schema": SCHEMA,
        "small": found.small,
        "right_before": found.before,
        "right_after": found.after,
        "printed_is_true": found.kept,
        "printed": [
            {
                "printed": each.printed,
                "cells": each.cells,
                "chance": each.chance,
                "guess": each.guess,
                "probability": each.sure,
                "unchanged": each.of(each.printed, each.printed),
                "small": each.of(1, found.small),
                "empty": each.of(0, 0),
                "counts": dict(zip(map(str, each.counts), each.probabilities, strict=True)),
            }
            for each in found.each
        ],
    }


def show_beliefs(console: Console, found: Beliefs) -> None:
    """A line per printed number, and how much is learnt on the whole."""
    columns, rows = _grid(found)
    grid = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for name in columns:
        grid.add_column(Text(name), justify="right")
    for row in rows:
        grid.add_row(*map(Text, row))
    console.print(grid)
    for line in _overall(found):
        console.print(line, soft_wrap=True)


def beliefs_page(title: str, found: Beliefs, draw: Callable[[Spec], str] = to_svg) -> str:
    """One page with the picture."""
    banner = element("strong", "For the office. ")
    warning = element("p", banner, "The prior may come from your data. Do not publish this page.", class_="banner")
    known = "" if found.after is not None else " All counts are equally likely beforehand."
    head = element(
        "header",
        *([warning] if found.after is not None else []),
        element("h1", title),
        paragraphs(ALONE + known),
    )
    figures = {} if found.after is None else dict(_figures(found))
    columns, rows = _grid(found)
    picture = figure(draw(beliefs_chart(found)), "Probability of true counts, by printed number")
    body = joined(
        [
            *([tiles(figures)] if figures else []),
            section("What a printed number tells", picture, paragraphs(*_overall(found))),
            section("Figures", table(columns, rows, columns)),
        ]
    )
    return render_page(title, head, body)


def beliefs_chart(found: Beliefs) -> Spec:
    """A row of squares per printed number, darker where a true count is more likely."""
    values = [
        {
            "printed": each.printed,
            "true": count,
            "probability": chance,
            "words": f"{chance:.2f}" if chance >= 0.1 else "",
        }
        for each in found.each[:MOST_DRAWN]
        for count, chance in zip(each.counts, each.probabilities, strict=True)
    ]
    title = {"title": "true count", "labelAngle": 0, "orient": "top"}
    x = {"field": "true", "type": "ordinal", "axis": title}
    y = {"field": "printed", "type": "ordinal", "axis": {"title": "printed"}}
    scale = {"domain": [0, 1], "range": ["#e8f1f8", "#0072b2"]}
    colour = {"field": "probability", "type": "quantitative", "scale": scale, "legend": None}
    light = {"condition": {"test": "datum.probability > 0.5", "value": "#fff"}, "value": "#000"}
    return {
        "data": {"values": values},
        "width": {"step": 34},
        "height": {"step": 24},
        "layer": [
            {"mark": {"type": "rect", "stroke": "#8884"}, "encoding": {"x": x, "y": y, "color": colour}},
            {
                "mark": {"type": "text", "fontSize": 10},
                "encoding": {"x": x, "y": y, "text": {"field": "words"}, "color": light},
            },
        ],
    }


def _grid(found: Beliefs) -> tuple[list[str], list[list[str]]]:
    with_cells = any(each.cells for each in found.each)
    columns = ["printed", *(["cells"] if with_cells else []), "true count", "guess", "right", "unchanged", "0"]
    columns.append("1" if found.small == 1 else f"1 to {found.small}")
    return columns, [_row(each, found.small, with_cells) for each in found.each]


def _row(each: CountBelief, small: int, with_cells: bool) -> list[str]:
    likely = [count for count, chance in zip(each.counts, each.probabilities, strict=True) if chance > 0]
    return [
        f"{each.printed}",
        *([f"{each.cells:,}"] if with_cells else []),
        f"{likely[0]} to {likely[-1]}" if len(likely) > 1 else f"{likely[0]}",
        f"{each.guess}",
        percent(each.sure),
        percent(each.of(each.printed, each.printed)),
        percent(each.of(0, 0)),
        percent(each.of(1, small)),
    ]


def _figures(found: Beliefs) -> list[tuple[str, str]]:
    assert found.before is not None and found.after is not None and found.kept is not None
    return [
        ("best guess right before", percent(found.before)),
        ("best guess right after", percent(found.after)),
        ("printed as counted", percent(found.kept)),
    ]


def _overall(found: Beliefs) -> list[str]:
    lines = []
    if found.after is not None and found.before is not None and found.kept is not None:
        lines.append(
            f"Over all cells of the prior, the best guess is right for {percent(found.after)} of them, and for "
            f"{percent(found.before)} without the table; {percent(found.kept)} print their true count."
        )
    surest = max(found.each, key=lambda each: each.sure, default=None)
    if surest is not None:
        lines.append(
            f"The surest guess: who sees {surest.printed} and says {surest.guess} is right in {percent(surest.sure)} "
            "of cases."
        )
    return lines
