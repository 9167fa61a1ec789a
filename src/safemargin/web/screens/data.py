"""Data: how every column was read, the first rows, warnings, and the project file to edit."""

from itertools import islice
from pathlib import Path
from typing import Any

from safemargin.core import InputError, SafemarginError
from safemargin.io import Survey, open_source, tables_in
from safemargin.release.init import init
from safemargin.release.project import Project
from safemargin.ui import Grid, Paragraph, Part, Points, plural
from safemargin.web.bench import Bench, Given, Screen, command
from safemargin.web.jobs import Job

ROWS = 20
COLUMNS = ("column", "read as", "different values", "first values")


def show(bench: Bench, given: Given) -> dict[str, Any]:
    """The data of the project, or of a file that has no project yet."""
    place = bench.place
    if place.project is None:
        return _without_project(bench, place.data)
    context = {"proposal": "", "text": given.get("text") or place.text, "digest": place.digest}
    try:
        project = place.load()
        parts: list[Part] = [*_columns(project), *_warnings(bench)]
    except SafemarginError as error:  # the editor below is where it is mended
        parts = [Paragraph(str(error), "warning")]
    return {"title": "Data", "parts": parts, **context}


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
    roles = {project.data.answer: "the answer"}
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


SCREEN = Screen("data", "Data", show, {"init": propose, "save": save}, _is_there)
