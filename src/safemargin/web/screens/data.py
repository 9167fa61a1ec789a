"""Data: the role of every column with a picture of it, names and order of categories, the first rows, warnings."""

import json
import tomllib
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from safemargin.core import InputError, SafemarginError
from safemargin.io import Survey
from safemargin.release.coding import band_names
from safemargin.ui import Fold, Grid, Paragraph, Part, Points, plural
from safemargin.web.bench import Bench, Given, Screen, WrongFields
from safemargin.web.edges import band_edges, labels_of
from safemargin.web.edit import with_content
from safemargin.web.looks import ColumnLook, look_at
from safemargin.web.naming import ask, call, named
from safemargin.web.place import stamp
from safemargin.web.roles import (
    AREA,
    BANDS,
    OPTION,
    QUESTION,
    ROLE_WORDS,
    UNCOUNTED,
    ColumnRoles,
    Content,
    guessed_roles,
    roles_given,
    roles_in,
    said_so_far,
    with_roles,
)

ROWS = 20
MOST_LABELS = 200
"""Values of an axis that the form for labels lists."""
MOST_COUNTED = 1_000
"""Different numbers up to which the page counts people in bands while they are edited."""
ANSWERS = "the answer"


def show(bench: Bench, given: Given) -> dict[str, Any]:
    """The columns of the project's data, and their roles."""
    opened = bench.place
    if opened.project is None:
        raise InputError("no data are open: choose a file on Home")
    context: dict[str, Any] = {"text": given.get("text") or opened.text, "digest": opened.digest, "columns": []}
    context |= {
        "called": "",
        "asked": "",
        "axes": [],
        "chosen": "",
        "labels": "",
        "doubts": [],
        "rows": [],
        "is_said": False,
    }
    try:
        content = tomllib.loads(opened.text)
    except tomllib.TOMLDecodeError:  # the drawer below is where it is mended
        return {"title": "Data", "parts": _warnings(bench), **context}
    context["is_said"] = said_so_far(content)
    context["doubts"] = [
        line.partition("# QUESTION:")[2].strip() for line in opened.text.splitlines() if "# QUESTION:" in line
    ]
    parts: list[Part] = []
    try:
        context |= _table(bench, content, given)
    except SafemarginError as error:
        parts.append(Paragraph(str(error), "warning"))
    if context["is_said"]:
        parts += _warnings(bench)
        context |= named(content, _questions(bench, content), given)
        context |= _names(bench, content, given)
    return {"title": "Data", "parts": parts, **context}


def _data(bench: Bench, content: Content) -> tuple[Path, Survey, tuple[ColumnLook, ...]]:
    """The data file, and a look at its columns; taken again only where the file changed."""
    data = content.get("data", {})
    if not isinstance(data, Mapping) or not isinstance(data.get("file"), str):
        raise InputError(
            "these data are no file on this computer: their columns are described in the project file below"
        )
    path = (bench.place.folder / Path(data["file"]).expanduser()).absolute()
    table, encoding = data.get("table"), data.get("encoding")
    survey, columns = bench.remember(("columns", stamp(path), table, encoding), lambda: look_at(path, table, encoding))
    return path, survey, columns


def _table(bench: Bench, content: Content, given: Given) -> dict[str, Any]:
    """A row per column: its picture, its role, its bands."""
    path, survey, columns = _data(bench, content)
    roles = roles_in(content, [column.name for column in columns])
    doubt = None if said_so_far(content) else guessed_roles(survey, columns)
    roles = doubt or roles
    levels = {level: key for key, axis in content.get("axes", {}).items() for level in axis.get("levels", ())}
    person = content.get("ledger", {}).get("id")
    rows = [_row(place, column, roles, given, levels, person) for place, column in enumerate(columns)]
    names = list(survey.examples)
    listed = zip(*(survey.examples[name][:ROWS] for name in names), strict=True)
    shown = [[str(number), *(value or "" for value in row)] for number, row in enumerate(listed, 1)]
    first = Fold(f"The first {plural(len(shown), 'row')}", Grid(("row", *names), shown, wide=True))
    found = f"{plural(survey.rows, 'row')}, {plural(len(columns), 'column')} in {path.name}."
    return {"columns": rows, "rows": [first], "found": found, "may_be_counts": doubt is not None}


def _row(
    place: int, column: ColumnLook, roles: ColumnRoles, given: Given, levels: Mapping[str, str], person: str | None
) -> dict[str, Any]:
    role = given.get(f"role-{place}") or roles.by_column[column.name]
    bands = given.get(f"bands-{place}", ", ".join(map(str, roles.bands.get(column.name, ()))))
    has_counts = any(each in (OPTION, UNCOUNTED) for each in roles.by_column.values())
    offered = {
        name: words
        for name, words in ROLE_WORDS.items()
        if name == role
        or (name != AREA and (name != BANDS or column.is_scale) and (has_counts or name not in (OPTION, UNCOUNTED)))
    }
    if column.is_whole and not has_counts:
        offered[OPTION] = ROLE_WORDS[OPTION]
    bars, most = column.bars, max((count for _, count in column.bars), default=1) or 1
    note = f"of {levels[column.name]}" if column.name in levels else ""
    note = "says who a person is, for the ledger" if column.name == person else note
    numbers = column.is_number and len(column.values) <= MOST_COUNTED
    return {
        "place": place,
        "name": column.name,
        "words": column.words,
        "distinct": column.distinct,
        "empty": column.empty,
        "bars": [
            (place, text, count, max(4.0, 100 * count / most) if count else 0.0)
            for place, (text, count) in enumerate(bars)
        ],
        "role": role,
        "roles": offered,
        "note": note,
        "is_scale": column.is_scale,
        "bands": bands,
        "counted": _in_bands(column, bands),
        "values": json.dumps([[float(text), count] for text, count in column.values]) if numbers else "",
    }


def _in_bands(column: ColumnLook, text: str) -> str:
    """How many rows each band holds, in words; nothing where that is not known."""
    try:
        edges = [Decimal(str(edge)) for edge in band_edges(text) if isinstance(edge, int | float)]
    except InputError:
        return ""
    if not edges or not column.is_number:
        return ""
    counts = [0] * (len(edges) + 1)
    for value, count in column.values:
        counts[sum(Decimal(value) >= edge for edge in edges)] += count
    return " · ".join(f"{name}: {count:,}" for name, count in zip(band_names(tuple(edges)), counts, strict=True))


def _warnings(bench: Bench) -> list[Part]:
    try:
        notes = bench.place.inputs().notes
    except SafemarginError as error:
        return [Paragraph(str(error), "warning")]
    return [Paragraph("Please look at this", "strong"), Points(list(notes))] if notes else []


def choose(bench: Bench, given: Given) -> str:
    """Write the roles of all columns into the project file."""
    content = tomllib.loads(bench.place.text)
    path, _, columns = _data(bench, content)
    said = roles_given(given, columns)
    changed = with_roles(content, said, columns, path)
    text = "\n".join(line for line in bench.place.text.splitlines() if "# QUESTION:" not in line) + "\n"
    bench.place.save(with_content(text, changed), given.get("digest", ""))
    return "data"


def _names(bench: Bench, content: Content, given: Given) -> dict[str, Any]:
    """What the form for the categories of one axis, or for the answers, is filled with."""
    sections = content.get("axes", {})
    asked = [key for key, section in sections.items() if not section.get("bands")]
    if isinstance(content.get("data"), Mapping) and content["data"].get("answer"):
        asked = [ANSWERS, *asked]  # first: short codes of answers are on every table
    if not asked:
        return {}
    chosen = given["axis"] if given.get("axis") in asked else asked[0]
    section, key = (content["data"], "options") if chosen == ANSWERS else (sections[chosen], "categories")
    known = dict(section.get("labels", {}))
    seen = _seen(bench, content, chosen, section.get(key))
    shown = {text: label for label in seen for text in ([value for value in known if known[value] == label] or [label])}
    lines = [f"{value} = {label}" for value, label in shown.items()]
    return {
        "axes": asked,
        "chosen": chosen,
        "labels": given.get("labels", "\n".join(lines[: max(MOST_LABELS, len(known))])),
        "is_ordered": bool(section.get("ordered")) if "labels" not in given else given.get("ordered") == "yes",
    }


def _seen(bench: Bench, content: Content, chosen: str, listed: object) -> Sequence[str]:
    """The categories or answers, in their order."""
    label = chosen if chosen == ANSWERS else content["axes"][chosen].get("label", chosen)
    try:
        schema = bench.place.inputs().table.schema
        return schema.options if chosen == ANSWERS else schema.axis(label).categories
    except SafemarginError:  # the form may be what mends it
        return list(map(str, listed)) if isinstance(listed, list) else []


def _questions(bench: Bench, content: Content) -> tuple[str, ...]:
    """The columns that are questions, in the order of the file."""
    try:
        _, survey, _ = _data(bench, content)
    except SafemarginError:
        return ()
    return roles_in(content, list(survey.distinct)).of(QUESTION)


def name_questions(bench: Bench, given: Given) -> str:
    """Write what the questions ask."""
    return ask(bench, given, _questions(bench, tomllib.loads(bench.place.text)))


def describe(bench: Bench, given: Given) -> str:
    """Write names and order of the categories of one axis, or of the answers, into the project file."""
    content = tomllib.loads(bench.place.text)
    chosen = given.get("axis", "")
    if chosen != ANSWERS and chosen not in content.get("axes", {}):
        raise InputError(f"axis: there is no axis {chosen[:60]!r}")
    section, key = (content["data"], "options") if chosen == ANSWERS else (content["axes"][chosen], "categories")
    try:
        said = labels_of(given.get("labels", ""))
    except InputError as error:
        raise WrongFields({"labels": f"names: {error}"}) from None
    changed = {name: value for name, value in section.items() if name not in ("labels", "ordered")}
    if labels := {value: label for value, label in said.items() if value != label}:
        changed["labels"] = labels
    if given.get("ordered") == "yes":
        changed["ordered"] = True
        changed[key] = list(dict.fromkeys(said[value] if chosen == ANSWERS else value for value in said))
    elif section.get("ordered"):
        changed.pop(key, None)
    made = {**content, "data": changed} if chosen == ANSWERS else content
    if chosen != ANSWERS:
        made = {**content, "axes": {**content["axes"], chosen: changed}}
    bench.place.save(with_content(bench.place.text, made), given.get("digest", ""))
    return f"data?{urlencode({'axis': chosen})}"


def save(bench: Bench, given: Given) -> str:
    """Write the project file as it was edited."""
    bench.place.save(given.get("text", ""), given.get("digest", ""))
    return "data"


def _is_there(bench: Bench) -> bool:
    return bench.place.project is not None


SCREEN = Screen(
    "data",
    "Data",
    show,
    {"roles": choose, "save": save, "describe": describe, "call": call, "ask": name_questions},
    _is_there,
)
