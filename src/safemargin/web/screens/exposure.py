"""Map: every cell of two axes, and whom exact counts would expose; a table says the same."""

from collections.abc import Mapping
from typing import Any

from safemargin.core import SafemarginError
from safemargin.release.report.exposed import KINDS, ExposedCell, judge, square
from safemargin.ui import MOST_ROWS, Fold, Grid, Map, Part, Tag, plural
from safemargin.web.bench import Bench, Given, Screen, command

MOST_TILES = 10_000
"""Tiles that a browser lays out as elements; more are drawn on a canvas."""


def show(bench: Bench, given: Given) -> dict[str, Any]:
    """The map of the two axes that are asked for."""
    inputs = bench.place.inputs()
    axes = sorted(inputs.table.schema.axes, key=lambda axis: len(axis.categories))
    names = [axis.name for axis in axes]
    rows = given["rows"] if given.get("rows") in names else names[0]
    columns = given["columns"] if given.get("columns") in names else names[-1]
    row, column = inputs.table.schema.axis(rows), inputs.table.schema.axis(columns)
    cells = judge(inputs.table, inputs.target, tuple(dict.fromkeys([columns, rows])))
    exposed = [cell for cell in cells if cell.why]
    tiles = len(row.categories) * len(column.categories)
    context = {
        "title": "Map of exposed cells",
        "names": names,
        "rows": rows,
        "columns": columns,
        "found": f"{plural(len(exposed), 'cell')} of {len(cells):,} would be exposed if published exactly.",
        "tiles": None,
        "parts": [],
        "twin": _table(exposed) if exposed else "Nobody.",
        "everybody": Fold(f"All {plural(len(cells), 'cell')}", _table(cells)),
        "kinds": KINDS,
        "typed_words": command("bound", bench.place.project.name if bench.place.project is not None else ""),
    }
    if rows == columns:
        return context
    if tiles <= MOST_TILES:
        largest = max((cell.people for cell in cells), default=1)
        squares = [square(cell, rows, columns, largest) for cell in cells]
        caption = f"Every {columns} by {rows}"
        parts: list[Part] = [Map(caption, list(row.categories), list(column.categories), squares, KINDS)]
        return {**context, "parts": parts}
    return {**context, "tiles": _tiles(cells, rows, columns, row.index, column.index)}


def _tiles(
    cells: list[ExposedCell], rows: str, columns: str, row: Mapping[str, int], column: Mapping[str, int]
) -> dict[str, Any]:
    """What the canvas draws: places, people and reasons."""
    places = [[row[cell.cell[rows]], column[cell.cell[columns]], cell.people, cell.why] for cell in cells]
    return {"rows": list(row), "columns": list(column), "cells": places}


def _table(cells: list[ExposedCell]) -> Part:
    """The same as a table: exposed cells first, the largest first among them."""
    ordered = sorted(cells, key=lambda cell: (not cell.why, -cell.people))
    shown = [
        (
            ", ".join(cell.cell.values()),
            cell.people,
            Tag("exposed") if cell.why else Tag("within", "within limits"),
            cell.why or "-",
        )
        for cell in ordered[:MOST_ROWS]
    ]
    return Grid(("cell", "people", "if exact", "why"), shown, total=len(cells), sortable=True)


def _is_there(bench: Bench) -> bool:
    """Sealed tallies of several axes have no cells; neither has a project that cannot be read."""
    try:
        return bench.place.project is not None and bench.place.load().data is not None
    except SafemarginError:
        return False


SCREEN = Screen("map", "Map", show, {}, _is_there)
