"""Data: how every column was read, the first rows, warnings, and the project file to edit."""

import re
from datetime import date
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from safemargin.core import InputError, SafemarginError
from safemargin.io import Survey, open_source, tables_in
from safemargin.release.init import init
from safemargin.release.project import Project
from safemargin.ui import Grid, Paragraph, Part, Points, plural
from safemargin.web.bench import Bench, Given, Screen, command
from safemargin.web.jobs import Job

ROWS = 20
MOST_LABELS = 200
"""Values of an axis that the form for labels lists."""
COLUMNS = ("column", "read as", "different values", "first values")


def show(bench: Bench, given: Given) -> dict[str, Any]:
    """The data of the project, or of a file that has no project yet."""
    opened = bench.place
    if opened.project is None:
        return _without_project(bench, opened.data)
    context: dict[str, Any] = {"proposal": "", "text": given.get("text") or opened.text, "digest": opened.digest}
    context |= {"axes": [], "chosen": "", "labels": "", "bands": ""}
    try:
        project = opened.load()
        context |= _forms(bench, project, given)
        parts: list[Part] = [*_columns(project), *_warnings(bench)]
    except SafemarginError as error:  # the editor below is where it is mended
        parts = [Paragraph(str(error), "warning")]
    return {"title": "Data", "parts": parts, **context}


def _forms(bench: Bench, project: Project, given: Given) -> dict[str, Any]:
    """What the forms for one axis are filled with."""
    chosen = given["axis"] if given.get("axis") in project.axes else next(iter(project.axes))
    section = project.axes[chosen]
    try:
        seen = bench.place.inputs().table.schema.axis(chosen).categories
    except SafemarginError:  # the forms may be what mends it
        seen = ()
    known = dict(section.labels)
    lines = [
        f"{value} = {known.get(value, value)}" for value in (*known, *(n for n in seen if n not in known.values()))
    ]
    return {
        "axes": list(project.axes),
        "chosen": chosen,
        "labels": given.get("labels", "\n".join(lines[: max(MOST_LABELS, len(known))])),
        "bands": given.get("bands", ", ".join(map(str, section.bands))),
    }


def describe(bench: Bench, given: Given) -> str:
    """Write the labels and the bands of one axis into the project file."""
    axis = given.get("axis", "")
    section = bench.place.load().axes.get(axis)
    if section is None:
        raise InputError(f"axis: there is no axis {axis[:60]!r}")
    values: dict[str, object] = {"labels": _labels(given.get("labels", ""))}
    if edges := [edge.strip() for edge in given.get("bands", "").split(",") if edge.strip()]:
        values["bands"] = [_edge(edge) for edge in edges]
    elif section.bands:
        raise InputError("bands: to remove them, edit the project file below")
    values = {key: value for key, value in values.items() if value or section.labels}
    bench.place.save(bench.place.with_axis(axis, values), given.get("digest", ""))
    return f"data?{urlencode({'axis': axis})}"


def _labels(text: str) -> dict[str, str]:
    """Labels from lines, without those that are the value itself."""
    labels = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        value, sign, label = (part.strip() for part in line.partition("="))
        if not sign or not value or not label:
            raise InputError(f"labels: {line[:60]!r}: write VALUE = LABEL, such as M = Men")
        labels[value] = label
    return {value: label for value, label in labels.items() if value != label}


def _edge(text: str) -> object:
    """The lowest value of a band: a number or a date."""
    if re.fullmatch(r"-?[0-9]{1,15}", text):
        return int(text)
    if re.fullmatch(r"-?[0-9]{1,12}\.[0-9]{1,12}", text):
        return float(text)
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise InputError(
            f"bands: {text[:60]!r}: write numbers or dates with commas between, such as 18, 30, 65"
        ) from None


def _without_project(bench: Bench, data: Path | None) -> dict[str, Any]:
    if data is None:
        raise InputError("no data are open: name a project or a data file on Home")
    proposal = init(data).text
    survey = _survey(data, None, None)
    parts = [plural(survey.rows, "row") + f" in {data.name}.", *_rows(survey)]
    name = bench.place.unused("project.toml").replace(".toml-", "-")
    file = name if name.endswith(".toml") else f"{name}.toml"
    typed = command("init", data.name, "--out", file)
    return {"title": "Data", "parts": parts, "proposal": proposal, "file": file, "typed_words": typed, "text": ""}


def _survey(file: Path, table: str | None, encoding: str | None) -> Survey:
    listed = () if table is not None else tables_in(file)
    return open_source(file, listed[0] if listed else table, encoding).survey()


def _columns(project: Project) -> list[Part]:
    """What each column of the data is taken for; sealed tallies by their files."""
    if project.data is None:
        files = project.tallies.files if project.tallies is not None else {}
        return [Grid(("axis", "tally file"), [(axis, str(file)) for axis, file in files.items()])]
    roles = {project.data.answer: "the answer"} if project.data.answer else {}
    if (counts := project.data.side_by_side) is not None:
        roles |= {name: "counts of an option" for name in counts.options}
        roles |= {name: "part of the total, no option" for name in counts.uncounted}
    if project.data.count is not None:
        roles[project.data.count] = "how many people a row stands for"
    for name, axis in project.axes.items():
        how = "bands of numbers" if axis.bands else "an axis in order" if axis.is_ordered else "an axis"
        roles[project.column(name)] = how if project.column(name) == name else f"{how}, called {name}"
        roles |= {level: f"wider area of {name}" for level in axis.levels or ()}
    if project.ledger is not None and project.ledger.id is not None:
        roles[project.ledger.id] = "who a person is, for the ledger"
    if project.data.file is None:  # a first look would read all of a distant table
        return [f"{project.data.place}, read when a plan is made.", Grid(COLUMNS[:2], list(roles.items()))]
    survey = _survey(project.data.file, project.data.table, project.data.encoding)
    rows = [
        (name, roles.get(name, "not used"), distinct, ", ".join(_first(survey, name)))
        for name, distinct in survey.distinct.items()
    ]
    return [f"{plural(survey.rows, 'row')} in {project.data.file.name}.", Grid(COLUMNS, rows), *_rows(survey)]


def _first(survey: Survey, name: str) -> list[str]:
    return list(islice(dict.fromkeys(text if text else "(empty)" for text in survey.examples[name]), 4))


def _rows(survey: Survey) -> list[Part]:
    names = list(survey.examples)
    rows = list(zip(*(survey.examples[name][:ROWS] for name in names), strict=True))
    shown = [[str(number), *(value or "" for value in row)] for number, row in enumerate(rows, 1)]
    return [Paragraph(f"The first {plural(len(rows), 'row')}:", "strong"), Grid(("row", *names), shown, wide=True)]


def _warnings(bench: Bench) -> list[Part]:
    try:
        notes = bench.place.inputs().notes
    except SafemarginError as error:
        notes = (str(error),)
    return [Paragraph("Warnings", "strong"), Points(list(notes))] if notes else ["No warnings."]


def propose(bench: Bench, given: Given) -> str:
    """Write a first project file for the data, and open it."""
    if bench.place.data is None:
        raise InputError("no data are open: name a data file on Home")
    file = given.get("file", "").strip()
    if not file.endswith(".toml") or Path(file).name != file:
        raise InputError(f"file = {file[:60]!r}: name a file that ends in .toml, such as project.toml")
    folder = bench.place.folder

    def opened(_: Job) -> None:
        bench.place.open(folder / file)

    return bench.run(["init", bench.place.data.name, "--out", file], "Reading the columns", "data", after=opened)


def save(bench: Bench, given: Given) -> str:
    """Write the project file as it was edited."""
    bench.place.save(given.get("text", ""), given.get("digest", ""))
    return "data"


def _is_there(bench: Bench) -> bool:
    return bench.place.project is not None or bench.place.data is not None


SCREEN = Screen("data", "Data", show, {"init": propose, "save": save, "describe": describe}, _is_there)
