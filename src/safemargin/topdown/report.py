"""A TopDown release for readers: a JSON document, words in a terminal, and a page with pictures of its errors."""

import math
from collections.abc import Callable, Mapping, Sequence

from rich.console import Console
from rich.measure import Measurement
from rich.segment import Segments
from rich.table import Table
from rich.text import Text

from safemargin.topdown.design import Design
from safemargin.topdown.error_values import CELLS, PEOPLE, Accuracy, Expected
from safemargin.topdown.measure import noise_variance
from safemargin.ui import (
    SCHEMA,
    Document,
    Html,
    Spec,
    element,
    figure,
    joined,
    paragraphs,
    plural,
    points,
    render_page,
    section,
    table,
    tiles,
    to_svg,
)

COLOURS = ["#56b4e9", "#0072b2", "#888888", "#e69f00", "#cc79a7", "#009e73"]
SHAPES = ["circle", "triangle-up", "cross", "square", "diamond", "triangle-down"]
LEGEND: Spec = {
    "title": None,
    "labelFontSize": 12,
    "labelLimit": 0,
    "orient": "bottom",
    "columns": 3,
    "columnPadding": 40,  # a reader's font may be wider than the one that is measured with
}
Promise = Mapping[str, object]

OURS = 3
"""Methods that are always there: the estimate, the tables, and flat noise."""

WIDEST = 300
"""Columns of a table that is not cut to the width of the terminal."""

TWO_SIDED = 1.96
"""Standard errors within which 19 of 20 estimates lie."""


def areas_document(design: Design, promise: Promise, accuracy: Accuracy, published: str, report: str) -> Document:
    """The document of `topdown --json`; errors look at people, so it stays inside."""
    return {
        "schema": SCHEMA,
        "promise": dict(promise),
        "budget": [
            {"level": level, "query": query, "share": share, "variance": variance}
            for level, query, share, variance in _budget(design)
        ],
        "errors_by_level": [
            {"method": e.method, "level": e.level, "areas": e.areas, "counts": e.kind, "rmse": e.error}
            for e in accuracy.levels
        ],
        "errors_by_size": [
            {"method": e.method, "least": e.least, "most": e.most, "areas": e.areas, "rmse": e.error}
            for e in accuracy.sizes
        ],
        "errors_by_query": [
            {
                "level": e.level,
                "query": e.query,
                "standard_error": e.told,
                "estimate": e.estimate,
                "whole_tables": e.whole,
                "covered": e.covered,
            }
            for e in accuracy.queries
        ],
        "published": published,
        "report": report,
    }


def show_areas(console: Console, design: Design, promise: Promise, accuracy: Accuracy, published: str) -> None:
    """The promise, and errors by level, in a few lines."""
    console.print(Text(_scope(design)))
    console.print(Text(_promise_words(promise)))
    for kind in (PEOPLE, CELLS):
        console.print(Text(f"\nRoot mean square error: {kind}", style="bold"))
        grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        methods = _methods(accuracy)
        for name in ("level", "areas", *methods):
            grid.add_column(Text(name), justify="left" if name == "level" else "right")
        for row in _level_rows(accuracy, kind):
            grid.add_row(*map(Text, row))
        _print_whole(console, grid)
    console.print(Text(f"\nWritten to {published}."), soft_wrap=True)


def plan_document(promise: Promise, plan: Sequence[Expected]) -> Document:
    """The document of `topdown --plan --json`."""
    return {
        "schema": SCHEMA,
        "promise": dict(promise),
        "queries": [
            {"level": e.level, "query": e.query, "share": e.share, "noise": e.noise, "standard_error": e.error}
            for e in plan
        ],
    }


def show_plan(console: Console, promise: Promise, plan: Sequence[Expected]) -> None:
    """What would be promised, and how precise every query would be."""
    console.print(Text(f"{_promise_words(promise)}\n"))
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name in ("level", "query", "share of rho", "noise alone", "standard error", "95 % within"):
        grid.add_column(Text(name), justify="left" if name in ("level", "query") else "right", no_wrap=True)
    for each in plan:
        noise = "-" if each.noise is None else _number(each.noise)
        share = "-" if each.noise is None else each.share
        numbers = _number(each.error), _number(TWO_SIDED * each.error)
        grid.add_row(*map(Text, (each.level, each.query, share, noise, *numbers)))
    _print_whole(console, grid)
    for each in plan:
        if each.noise is not None and each.error == 0:
            words = (
                f"{each.query} of every {each.level} follows from exact counts: its share {each.share} buys nothing."
            )
            console.print(Text(words), soft_wrap=True)


def _print_whole(console: Console, grid: Table) -> None:
    """A table whose lines are longer than those of the terminal if they must."""
    options = console.options.update(max_width=WIDEST)
    wide = Measurement.get(console, options, grid).maximum
    console.print(Segments(console.render(grid, options.update(width=wide))), soft_wrap=True, end="")


def areas_page(
    title: str, design: Design, promise: Promise, accuracy: Accuracy, draw: Callable[[Spec], str] = to_svg
) -> str:
    """One page with pictures, for the office: errors look at people."""
    banner = element("strong", "For the office. ")
    head = element(
        "header",
        element("p", banner, "The errors on this page look at people. Do not publish it.", class_="banner"),
        element("h1", title),
        paragraphs(_scope(design), _promise_words(promise)),
    )
    numbers = {
        "areas": design.spine.areas,
        "counts in each": design.attributes.cells(design.attributes.detailed),
        "rho": str(promise["rho"]),
        f"epsilon at delta {design.delta:g}": f"{promise['epsilon']:.2f}",
        "by the losses of all counts": f"{promise['epsilon_by_losses']:.2f}",
    }
    methods = _methods(accuracy)
    levels = [
        joined(
            [element("h3", kind), table(("level", "areas", *methods), _level_rows(accuracy, kind), ["areas", *methods])]
        )
        for kind in (PEOPLE, CELLS)
    ]
    body = joined(
        [
            section("In short", tiles(numbers)),
            section(
                "Error by level",
                figure(draw(levels_chart(accuracy)), LEVELS_CAPTION),
                paragraphs(FLAT_WORDS, _beside(accuracy)),
            ),
            section("Error by size of area", figure(draw(sizes_chart(accuracy)), SIZES_CAPTION), _sizes(accuracy)),
            section("Figures", *levels),
            *([_queries(accuracy)] if accuracy.queries else []),
            section("What is exact, and what is taken for known", _known(promise)),
            section("Budget", table(BUDGET, [_shown(row) for row in _budget(design)], BUDGET[2:])),
        ]
    )
    return render_page(title, head, body)


LEVELS_CAPTION = "Root mean square error by level, from the widest areas to the smallest"
SIZES_CAPTION = "Root mean square error of the number of people of an area, by its size, on all levels"
FLAT_WORDS = (
    "The unbiased estimate may be negative and has fractions; use it, with its standard errors, for statistics. "
    "The whole tables hold whole people, add up, and keep every constraint; counts of nobody are too large on average, "
    "and others a little too small. Flat noise has the same loss, all of it spent on the smallest areas and added up; "
    "its errors are expected ones, and it keeps nothing exact."
)
QUERY_COLUMNS = ("level", "query", "standard error told", "estimate", "within 1.96", "whole tables")
QUERY_WORDS = (
    "Standard errors are told with the release; errors of the estimate should be as large, and 95 % of the counts "
    "within 1.96 of them. On a level with few areas, chance moves both."
)
BESIDE_WORDS = (
    "Errors say nothing about promises: other methods keep other counts exact and protect people otherwise. "
    "Compare what is promised before you compare errors."
)
BUDGET = ("level", "query", "share of rho", "standard deviation")


def _beside(accuracy: Accuracy) -> str:
    return BESIDE_WORDS if len(_methods(accuracy)) > OURS else ""


def levels_chart(accuracy: Accuracy) -> Spec:
    """Errors of every method by level, people and detailed counts side by side."""
    order = list(dict.fromkeys(each.level for each in accuracy.levels))
    values = [
        {"method": each.method, "at": each.level, "kind": each.kind, "error": each.error} for each in accuracy.levels
    ]
    layers = _lines([each.error for each in accuracy.levels], _methods(accuracy), order, "")
    return {
        "data": {"values": values},
        "facet": {"field": "kind", "type": "nominal", "sort": [PEOPLE, CELLS]},
        "columns": 2,
        "spacing": 30,
        "spec": {"width": 290, "height": 280, "layer": layers},
    }


def sizes_chart(accuracy: Accuracy) -> Spec:
    """Errors of every method by size of area."""
    values = [
        {"method": each.method, "at": _class(each.least, each.most), "error": each.error} for each in accuracy.sizes
    ]
    order = list(dict.fromkeys(value["at"] for value in values))
    errors = [each.error for each in accuracy.sizes]
    layers = _lines(errors, _methods(accuracy), order, "people of the area")
    return {"data": {"values": values}, "width": 620, "height": 280, "layer": layers}


def _lines(errors: Sequence[float], methods: list[str], order: Sequence[object], title: str) -> list[Spec]:
    marks = [0.0, 1.0]
    while marks[-1] < max(errors, default=0.0):
        marks.append(marks[-1] * 10)
    scale = {"type": "symlog", "constant": 1, "domain": [0, marks[-1]], "nice": False}
    axis = {"values": marks, "title": "error (people)", "grid": True, "format": ",~r"}
    x = {
        "field": "at",
        "type": "ordinal",
        "sort": list(order),
        "axis": {"title": title or None, "labelAngle": 0, "labelLimit": 0},
    }
    method = {"field": "method", "type": "nominal", "legend": LEGEND}
    colour = {**method, "scale": {"domain": methods, "range": COLOURS[: len(methods)]}}
    shape = {**method, "scale": {"domain": methods, "range": SHAPES[: len(methods)]}}
    y = {"field": "error", "type": "quantitative", "scale": scale, "axis": axis}
    return [
        {"mark": {"type": "line", "opacity": 0.6}, "encoding": {"x": x, "y": y, "color": colour}},
        {
            "mark": {"type": "point", "filled": True, "size": 90},
            "encoding": {"x": x, "y": y, "color": colour, "shape": shape},
        },
    ]


def _methods(accuracy: Accuracy) -> list[str]:
    return list(dict.fromkeys(each.method for each in accuracy.levels))


def _level_rows(accuracy: Accuracy, kind: str) -> list[list[str]]:
    rows: dict[str, list[str]] = {}
    for each in accuracy.levels:
        if each.kind == kind:
            rows.setdefault(each.level, [each.level, f"{each.areas:,}"]).append(_number(each.error))
    return list(rows.values())


def _queries(accuracy: Accuracy) -> Html:
    rows = [
        [
            each.level,
            each.query,
            *map(_number, (each.told, each.estimate)),
            "-" if each.covered is None else f"{100 * each.covered:.1f} %",
            _number(each.whole),
        ]
        for each in accuracy.queries
    ]
    return section("Error by query", paragraphs(QUERY_WORDS), table(QUERY_COLUMNS, rows, QUERY_COLUMNS[2:]))


def _sizes(accuracy: Accuracy) -> Html:
    methods = _methods(accuracy)
    rows: dict[str, list[str]] = {}
    for each in accuracy.sizes:
        name = _class(each.least, each.most)
        rows.setdefault(name, [name, f"{each.areas:,}"]).append(_number(each.error))
    return table(("people", "areas", *methods), rows.values(), ["areas", *methods])


def _class(least: int, most: int) -> str:
    """A class of sizes.

    >>> _class(0, 0), _class(10, 99), _class(1000, 9999), _class(10000000, 99999999)
    ('0', '10+', '1k+', '10M+')
    """
    if most == 0:
        return "0"
    for unit, size in (("M", 10**6), ("k", 10**3)):
        if least >= size:
            return f"{least // size}{unit}+"
    return f"{least}+"


def _number(value: float) -> str:
    """Three digits.

    >>> _number(0.0), _number(1e-12), _number(12.345), _number(1234.5)
    ('0', '0', '12.3', '1,234')
    """
    return "0" if value < 1e-6 else f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _scope(design: Design) -> str:
    cells = design.attributes.cells(design.attributes.detailed)
    words = ", ".join(
        f"{name} {len(areas):,}" for name, areas in zip(design.spine.levels, design.spine.names, strict=True)
    )
    return f"{plural(design.spine.areas, 'area')} ({words}) with {plural(cells, 'count')} each."


def _promise_words(promise: Promise) -> str:
    kept = _texts(promise, "invariants")
    more = promise.get("with_earlier")
    both = ""
    if isinstance(more, dict):
        both = f" With the earlier releases that tables agree with: rho {more['rho']} (epsilon {more['epsilon']:.2f})."
    return (
        f"rho {promise['rho']} in zero-concentrated differential privacy (epsilon {promise['epsilon']:.2f} at delta "
        f"{promise['delta']:g}, {promise['epsilon_by_losses']:.2f} by the losses of all counts), for "
        f"{promise['neighbours']}. Exact: {'; '.join(kept)}.{both}"
    )


def _texts(promise: Promise, key: str) -> list[str]:
    found = promise[key]
    return [str(each) for each in found] if isinstance(found, list) else []


def _known(promise: Promise) -> Html:
    nobody = promise.get("impossible_cells")
    return points(
        [
            *(f"exact: {each}" for each in _texts(promise, "invariants")),
            *([f"counts of an area that are zero in all data: {nobody}"] if nobody else []),
            *(f"public bounds: {each}" for each in _texts(promise, "public_bounds")),
            *(f"as published before: {each}" for each in _texts(promise, "earlier_tables")),
        ]
    )


def _budget(design: Design) -> list[tuple[str, str, str, float]]:
    found = []
    for place, level in enumerate(design.spine.levels):
        for query, parameter in design.measured(place).items():
            share = design.shares[place] * design.queries[place][query]
            found.append((level, design.attributes.title(query), str(share), noise_variance(parameter)))
    return found


def _shown(row: tuple[str, str, str, float]) -> tuple[str, str, str, str]:
    return (*row[:3], f"{math.sqrt(row[3]):.2f}")
