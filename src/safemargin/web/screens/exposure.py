"""Map: whom exact counts would expose, from pairs of axes down to one cell; tables say the same."""

import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any
from urllib.parse import parse_qsl, urlencode

from safemargin import ui
from safemargin.bounds import short_words
from safemargin.core import InputError, SafemarginError
from safemargin.release.inputs import Inputs
from safemargin.release.report.exposed import KINDS, ExposedCell, judge, square
from safemargin.release.report.words import CONTAINED, DISCLOSED, OPEN
from safemargin.web.bench import Bench, Given, Screen, command
from safemargin.web.place import PastRun

MOST_TILES = 2_500
"""Tiles that a browser lays out as elements; more are drawn on a canvas."""
MOST_LISTED = 500
"""Cells that a table lists, the exposed and smallest first."""
MOST_PAIRS = 12
"""Pairs of axes that are judged for the overview, those with the fewest cells first."""
VERDICT_WORDS = {"contained": CONTAINED, "open": OPEN, "disclosed": DISCLOSED}
LISTED = 40
"""Counts of extreme tables that the drawer lists."""


def show(bench: Bench, given: Given) -> dict[str, Any]:
    """The map of the two axes that are asked for, or else of the worst pair; and one cell of it."""
    questions = list(bench.place.each_question())
    question = given["question"] if given.get("question") in questions else questions[0]
    inputs = bench.place.inputs(question)
    names = [axis.name for axis in sorted(inputs.table.schema.axes, key=lambda axis: len(axis.categories))]
    pairs = _judged_pairs(bench, inputs, names, question)
    worst = next(((first, second) for first, second, _, _ in pairs), (names[0], names[-1]))
    rows = given["rows"] if given.get("rows") in names else worst[0]
    columns = given["columns"] if given.get("columns") in names else worst[1]
    cells = _judge(bench, inputs, columns, rows, question)
    exposed = [cell for cell in cells if cell.why]
    chosen = next((cell for cell in cells if cell.cell == _asked(given)), None)
    document = None if chosen is None else _found(bench, given, chosen)
    here = {"rows": rows, "columns": columns, **({"question": question} if question else {})}
    context = {
        "title": "Map of exposed cells",
        "questions": questions if question else [],
        "question": question,
        "names": names,
        "rows": rows,
        "columns": columns,
        "found": f"{ui.plural(len(exposed), 'cell')} of {len(cells):,} would be exposed if published exactly.",
        "tiles": None,
        "parts": [],
        "pairs": _pairs(pairs, len(list(combinations(names, 2))), question) if len(names) > 2 else None,
        "twin": _table(exposed, here) if exposed else "Nobody.",
        "everybody": ui.Fold(f"All {ui.plural(len(cells), 'cell')}", _table(cells, here)),
        "kinds": KINDS,
        "cell": chosen,
        "drawer": [] if chosen is None else _drawer(bench, inputs, chosen, document),
        "typed_words": command("bound", bench.place.name),
        "cell_words": "" if chosen is None else command(*_arguments(bench, chosen.cell)),
        "named": "" if chosen is None else ui.named_cell_label(chosen.cell),
        "encoded": "" if chosen is None else urlencode(chosen.cell),
        "options": inputs.table.schema.options,
        "is_done": document is not None,
    }
    if rows == columns:
        return context
    listed_rows, listed_columns = (_smallest_first(inputs, name, cells) for name in (rows, columns))
    if len(listed_rows) * len(listed_columns) <= MOST_TILES:
        largest = max((cell.people for cell in cells), default=1)
        squares = [replace(square(cell, rows, columns, largest), address=_address(cell.cell, here)) for cell in cells]
        parts: list[ui.Part] = [ui.Map(f"Every {columns} by {rows}", listed_rows, listed_columns, squares, KINDS)]
        return {**context, "parts": parts}
    return {**context, "tiles": _tiles(cells, rows, columns, listed_rows, listed_columns)}


def _judge(bench: Bench, inputs: Inputs, columns: str, rows: str, question: str) -> list[ExposedCell]:
    """Every cell of two axes, judged once as long as project and data stay the same."""
    axes = tuple(dict.fromkeys([columns, rows]))
    found: list[ExposedCell] = bench.remember(
        (bench.place.key(), axes, question), lambda: judge(inputs.table, inputs.target, axes)
    )
    return found


def _smallest_first(inputs: Inputs, name: str, cells: list[ExposedCell]) -> list[str]:
    """The categories of an axis with the smallest groups first; those of an ordered axis in their order."""
    axis = inputs.table.schema.axis(name)
    if inputs.project.axes[name].is_ordered:
        return list(axis.categories)
    people = dict.fromkeys(axis.categories, 0)
    for cell in cells:
        people[cell.cell[name]] += cell.people
    return sorted(axis.categories, key=lambda category: people[category])


def _found(bench: Bench, given: Given, chosen: ExposedCell) -> ui.Document | None:
    """What the command found about a cell: just now, or before, if neither project nor data changed."""
    jobs = [bench.job(given)] if given.get("job") else bench.jobs.of(bench.store)
    for job in jobs:
        if job is None or job.arguments[0] != "bound" or job.document is None or job.state != "done":
            continue
        extremes = job.document.get("extremes") or {}
        if extremes.get("cell") == chosen.cell and bench.place.is_since(job.moment):
            return job.document
    return None


def _asked(given: Given) -> dict[str, str]:
    """The cell that the address names."""
    return dict(parse_qsl(given.get("cell", ""), keep_blank_values=True))


def _address(cell: Mapping[str, str], here: Mapping[str, str]) -> str:
    return f"map?{urlencode({**here, 'cell': urlencode(cell)})}#cell"


def _arguments(bench: Bench, cell: Mapping[str, str], option: str = "") -> list[str]:
    named = [f"--cell={axis}={category}" for axis, category in cell.items()]
    return ["bound", bench.place.name, *named, *([f"--cell=option={option}"] if option else [])]


def _judged_pairs(bench: Bench, inputs: Inputs, names: list[str], question: str) -> list[tuple[str, str, int, int]]:
    """Pairs of axes with their cells and how many would be exposed, the worst first; of many pairs the smallest."""
    sizes = {axis.name: len(axis.categories) for axis in inputs.table.schema.axes}
    pairs = sorted(combinations(names, 2), key=lambda pair: sizes[pair[0]] * sizes[pair[1]])
    judged = []
    for first, second in pairs[:MOST_PAIRS]:
        cells = _judge(bench, inputs, second, first, question)
        judged.append((first, second, len(cells), sum(bool(cell.why) for cell in cells)))
    return sorted(judged, key=lambda pair: -pair[3] / max(pair[2], 1))


def _pairs(judged: list[tuple[str, str, int, int]], total: int, question: str) -> ui.Part:
    """How many cells of each pair of axes would be exposed: where to drill down."""
    asked = {"question": question} if question else {}
    rows = [
        (
            ui.Link(f"{second} by {first}", f"map?{urlencode({'rows': first, 'columns': second, **asked})}"),
            cells,
            exposed,
        )
        for first, second, cells, exposed in judged
    ]
    grid = ui.Grid(("pair of axes", "cells", "exposed if exact"), rows, total=total, sortable=True)
    return ui.Fold(f"All pairs of axes ({total:,}), the worst first", grid)


def _drawer(bench: Bench, inputs: Inputs, cell: ExposedCell, document: ui.Document | None) -> list[ui.Part]:
    """What is known of one cell at once, and what the command found about it."""
    words = f"{ui.plural(cell.people, 'person')}. If it were published exactly: {cell.why or 'within the limits'}."
    parts: list[ui.Part] = [ui.Paragraph(words), *_planned(bench, cell.cell)]
    others = [name for name in inputs.table.schema.names if name not in cell.cell]
    if document is not None:
        parts += [_intervals(document), *_tables(document), _remedies(document)]
    axis, category = next(iter(cell.cell.items()))
    links = [
        (ui.Link(f"{axis} by {name}", f"map?{urlencode({'rows': name, 'columns': axis, 'find': category})}"),)
        for name in others
    ]
    return [*parts, ui.Fold("Look at it by another axis", ui.Grid(("map",), links))] if links else parts


def _planned(bench: Bench, cell: Mapping[str, str]) -> list[ui.Part]:
    """What the newest plan does with the groups of the cell: the certified remedy, and its price."""
    run: PastRun | None = next(iter(bench.place.own_runs()), None)
    rows = []
    for decided in [] if run is None else run.document["cells"]:
        if len(decided["cell"]) == 1 and (axis := next(iter(decided["cell"]))) in cell:
            group = decided["cell"][axis]
            if cell[axis] in group.split(" | "):
                rows.append((f"{axis} {group}", ui.Tag(decided["action"]), decided["people"], decided["reason"]))
    if run is None or not rows:
        return [ui.Paragraph("There is no plan yet that says what is done with it.", "quiet")]
    title = f"What the plan in {run.name} does"
    return [ui.Section(title, ui.Grid(("group", "published", "people", "why"), rows))]


def _intervals(document: ui.Document) -> ui.Part:
    entries = document["cells"]
    bars = [
        ui.Bar(
            entry.get("option", "count"),
            entry["interval"][0],
            entry["interval"][1],
            f"{ui.count_range(entry['lower'], entry['upper'])} of {entry['people']:,} "
            f"({ui.percent_range(entry['interval'])}), {ui.kind_words(entry['verdict'])}",
            entry["verdict"],
        )
        for entry in entries
        if entry["interval"]
    ]
    ticks = [ui.percent(tick / 4) for tick in range(5)]
    scale = "share of the people in the cell"
    words = "Shares that somebody cannot exclude, if every axis were published exactly"
    seen = dict.fromkeys(bar.kind for bar in bars)
    meanings = ui.Points([f"{ui.kind_words(verdict)}: {VERDICT_WORDS[verdict]}" for verdict in seen])
    return ui.Section("What could be inferred", ui.Bars(words, bars, ticks, scale), meanings)


def _tables(document: ui.Document) -> list[ui.Part]:
    """The two extreme tables: the cell first, then what differs most."""
    extremes = document["extremes"]
    option, ends = extremes.get("option"), (extremes["lower"], extremes["upper"])
    counted = [row for row in extremes["tables"] if None not in (row["lowest"], row["highest"])]
    if not counted:
        return [ui.Paragraph("No integer tables at its ends were found; the interval holds.", "warning")]
    own = [row for row in counted if row["cell"] == extremes["cell"]]
    rest = [row for row in counted if row["cell"] != extremes["cell"] and row["lowest"] != row["highest"]]
    rest.sort(key=lambda row: -abs(row["highest"] - row["lowest"]))
    rows = [
        (", ".join(row["cell"].values()), row.get("option", "-"), row["lowest"], row["highest"])
        for row in [*own, *rest][:LISTED]
    ]
    here = [(row["lowest"], row["highest"]) for row in own if row.get("option") == option]
    reached = here[0] if here else ends
    what = f"The answer '{option}' in this cell" if option else "The count of this cell"
    words = "Both agree with every published count and with all that the onlooker knows."
    return [
        ui.Section(
            "Two tables that nobody can exclude",
            f"{words} {what} is lowest in the first and highest in the second.",
            ui.Paragraph(short_words(ends, reached), "warning"),
            ui.Grid(("cell", "option", "lowest", "highest"), rows, total=len(own) + len(rest), sortable=True),
        )
    ]


def _change(axis: str, merged: str | None) -> ui.Link | str:
    """A remedy in words; a merge leads to where it can be tried."""
    if not merged:
        return f"omit {axis}"
    return ui.Link(f"join {merged}", f"plan?{urlencode({'axis': axis, 'members': merged})}#change")


def _remedies(document: ui.Document) -> ui.Part:
    rows = [
        (
            _change(remedy["axis"], remedy["merged"]),
            f"{ui.plural(remedy['price']['categories'], 'category')}, {ui.plural(remedy['price']['people'], 'person')}",
            ui.count_range(remedy["lower"], remedy["upper"]) + (f" ({remedy['option']})" if remedy["option"] else ""),
            ui.Tag(remedy["verdict"], "" if remedy["proved"] else f"{ui.kind_words(remedy['verdict'])} (estimate)"),
        )
        for remedy in document["remedies"]
    ]
    words = "Each change is looked at alone, with all other axes exact. A plan decides about all cells together."
    return ui.Section(
        "What would protect it", words, ui.Grid(("change", "lose a count of their own", "then it is", "verdict"), rows)
    )


def look(bench: Bench, given: Given) -> str:
    """Bound the cell, and find its two extreme tables."""
    cell, option = _asked(given), given.get("option", "").strip()
    axes = bench.place.inputs().table.schema
    if not cell or any(axis not in axes.names or name not in axes.axis(axis).index for axis, name in cell.items()):
        raise InputError(f"cell: {ui.named_cell_label(cell)[:60]!r} is no cell of these data")
    if option and option not in axes.options:
        raise InputError(f"option: there is no option {option[:60]!r}")
    here = {name: given[name] for name in ("rows", "columns") if re.fullmatch(".+", given.get(name, ""))}
    link = f"map?{urlencode({**here, 'cell': urlencode(cell)})}"
    return bench.run(_arguments(bench, cell, option), "The interval of one cell", link, back=link)


def _tiles(
    cells: list[ExposedCell], rows: str, columns: str, listed_rows: list[str], listed_columns: list[str]
) -> dict[str, Any]:
    """What the canvas draws: places, people and reasons."""
    row = {name: place for place, name in enumerate(listed_rows)}
    column = {name: place for place, name in enumerate(listed_columns)}
    places = [[row[cell.cell[rows]], column[cell.cell[columns]], cell.people, cell.why] for cell in cells]
    return {"rows": listed_rows, "columns": listed_columns, "cells": places, "names": {"row": rows, "column": columns}}


def _table(cells: list[ExposedCell], here: Mapping[str, str]) -> ui.Part:
    """The same as a table: exposed cells first, the smallest first among them."""
    ordered = sorted(cells, key=lambda cell: (not cell.why, cell.people))
    shown = [
        (
            ui.Link(", ".join(cell.cell.values()), _address(cell.cell, here)),
            cell.people,
            ui.Tag("exposed") if cell.why else ui.Tag("within"),
            cell.why or "-",
        )
        for cell in ordered[:MOST_LISTED]
    ]
    return ui.Grid(("cell", "people", "if exact", "why"), shown, total=len(cells), sortable=True)


def _is_there(bench: Bench) -> bool:
    """Sealed tallies of several axes have no cells; neither has a project that cannot be read."""
    try:
        return bench.place.project is not None and bench.place.load().data is not None
    except SafemarginError:
        return False


SCREEN = Screen("map", "Map", show, {"look": look}, _is_there)
