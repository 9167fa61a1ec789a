"""Home: the three answers, the next step, and what was done so far."""

import tomllib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from safemargin.core import InputError, SafemarginError, one_line, write_whole
from safemargin.io import read_bytes
from safemargin.release.demo import write_city
from safemargin.release.init import init
from safemargin.release.inputs import Inputs
from safemargin.release.project import Project
from safemargin.release.report.exposed import ExposedGroup, exposed
from safemargin.ui import Answers, Headline, Paragraph, Part, named_cell_label, plural
from safemargin.web.bench import Bench, Given, Screen, WrongFields
from safemargin.web.edit import set_keys
from safemargin.web.place import PROJECT, PastRun
from safemargin.web.roles import is_table_of_counts, said_so_far, unsaid
from safemargin.web.screens import check
from safemargin.web.uploads import adopt, made_here, private_folder, remove_project, sign

ESTIMATE = "Estimate, not certified."
MOST_JOBS = 10
MOST_QUESTIONS = 40
"""Questions that an estimate looks at."""
DEMO_PEOPLE = 50_000


def show(bench: Bench, given: Given) -> dict[str, Any]:
    """What is open, what was decided about it, and what comes next."""
    opened = bench.place
    if opened.project is None:
        return {"title": "Workbench", "parts": [], "runs": [], "step": None, "jobs": [], "removable": []}
    shared = {
        "jobs": bench.jobs.of(bench.store)[:MOST_JOBS],
        "removable": [path.name for path in made_here(opened.folder)],
    }
    if not said_so_far(tomllib.loads(opened.text)):
        step = (
            "data",
            "Choose the columns",
            "Say which column holds the answer, and by which ones people are counted.",
        )
        return {"title": opened.project.name, "parts": [], "runs": [], "step": step, **shared}
    project, runs = opened.load(), opened.project_runs()
    decided = next(iter(opened.own_runs()), None)
    return {
        "title": project.title or opened.project.name,
        "parts": answers_of(decided) if decided else estimate(bench),
        "runs": runs,
        "step": _next_step(bench, decided),
        **shared,
    }


def answers_of(run: PastRun) -> list[Part]:
    """The sentence that counts, and the three answers, as the report of a run states them."""
    verdict, answers = run.document["verdict"], run.document["answers"]
    return [
        Headline(verdict["state"], verdict["sentence"], verdict["detail"]),
        Answers([(each["question"], each["answer"], each["detail"]) for each in answers]),
    ]


def estimate(bench: Bench) -> list[Part]:
    """What can be said before anything is decided: who would be exposed by exact tables."""
    try:
        each = bench.place.each_question()
    except SafemarginError as error:
        return [Headline("unsound", "The data cannot be read as the project says.", str(error))]
    inputs, seen, question = bench.remember((bench.place.key(), "exposed"), lambda: _worst(each))
    return [Paragraph(ESTIMATE, "strong"), Answers(_estimated(inputs, seen, question, len(each)))]


def _worst(each: Mapping[str, Inputs]) -> tuple[Inputs, ExposedGroup, str]:
    """The question in which exact tables would expose most people."""
    judged = [
        (inputs, exposed(inputs.table, inputs.target, [wanted.axes for wanted in inputs.project.wanted]), name)
        for name, inputs in list(each.items())[:MOST_QUESTIONS]
    ]
    return max(judged, key=lambda one: one[1].people)


def _estimated(inputs: Inputs, seen: ExposedGroup, question: str, questions: int) -> list[tuple[str, str, str]]:
    people = int(inputs.table.people(()).counts.sum())
    axes = ", ".join(f"{axis.name} ({len(axis.categories):,})" for axis in inputs.table.schema.axes)
    named = [f"{named_cell_label(cell.cell)} ({cell.why})" for cell in seen.cells[:3]]
    more = f" and {len(seen.cells) - 3:,} more" if len(seen.cells) > 3 else ""
    who = plural(seen.people, "person") + f" in {plural(len(seen.cells), 'group')}" if seen.cells else "Nobody by size"
    why = f"{'; '.join(named)}{more}." if named else "Every group is large enough and within the limits by itself."
    where = f"In {question}, the question with most of them: " if question and named else ""
    asked = f"{plural(questions, 'question')}, " if question else ""
    return [
        ("May I publish?", "Not decided yet", "Make a plan: it decides, proves and attacks."),
        ("What is there?", asked + plural(people, "person"), f"Counted by {axes}."),
        ("Who would be exposed if every table asked for were exact?", who, where + why),
    ]


def _next_step(bench: Bench, run: PastRun | None) -> tuple[str, str, str]:
    """The screen to go to, its name, and why."""
    if run is None:
        return "data", "Look at the data", "Check how every column was read, then set the limits and make a plan."
    if run.kind == "published" and "questions" in run.document:
        where = f"publish?{urlencode({'run': run.name})}"
        return (
            where,
            "Look at what leaves",
            f"The folder {run.name} is published, with one certificate for all questions.",
        )
    if run.kind == "published":
        return (
            "attack",
            "Attack it",
            f"The folder {run.name} is published. See what somebody could infer from it with what they know.",
        )
    if run.kind == "refused":
        return "plan", "Look at the plan", "Nothing may be published with these limits. The plan lists other choices."
    if not bench.place.is_newer(run):
        return "plan", "Make a new plan", "The project or its data changed after the last plan."
    return "publish", "Publish", "The plan is certified and every attack on it failed. Two people sign it."


def open_place(bench: Bench, given: Given) -> str:
    """Open a project, a folder, or a file: a project is made from data, and a table of counts is checked."""
    text = given.get("path", "").strip()
    if not text:
        raise WrongFields({"path": "path: name a project file, a folder or a data file"})
    if bench.jobs.running is not None:
        raise InputError("a command is still running: wait for it or cancel it")
    try:
        path = bench.place.folder / Path(text).expanduser()
        if path.suffix != ".toml" and path.is_file():
            return _open_data(bench, path.absolute())
        bench.open(path)
    except (OSError, ValueError):
        raise InputError(f"{text[:60]!r}: is no name that a file can have") from None
    except InputError as error:
        raise WrongFields({"path": one_line(str(error))}) from None
    return "data" if bench.place.data is not None else "./"


def _open_data(bench: Bench, path: Path) -> str:
    """A project for a data file: the one that is there, or a new one whose columns are a guess."""
    is_dropped = path.is_relative_to(bench.uploads)
    if not is_dropped and (there := _project_of(path)) is not None:
        bench.open(there)
        return "./"
    try:
        proposal = init(path).text
    except InputError as error:
        if is_table_of_counts(path):
            return check.audit(bench, {"path": str(path)})  # a table of counts is checked at once
        proposal = unsaid(path, str(error))
    path = adopt(bench, path) if is_dropped else path
    project = _unused(path.parent)
    text = set_keys(proposal, "data", {"file": path.name})
    write_whole(project, text.encode(), 0o600 if is_dropped else 0o644)
    bench.open(project)
    return "data"


def _project_of(path: Path) -> Path | None:
    """The project in the same folder that is about this file."""
    for project in sorted(path.parent.glob("*.toml")):
        with suppress(SafemarginError, OSError):
            data = Project.load(project).data
            if data is not None and data.file is not None and data.file.resolve() == path.resolve():
                is_copy = read_bytes(project).startswith(b"# A copy of ")
                return None if is_copy else project
    return None


def _unused(folder: Path) -> Path:
    names = [PROJECT, *(f"project-{number}.toml" for number in range(2, 1000))]
    return folder / next(name for name in names if not (folder / name).exists())


def demo(bench: Bench, given: Given) -> str:
    """Write the demo city into a private folder, and open it."""
    folder = private_folder(bench.base, "demo-city")
    project = write_city(folder, DEMO_PEOPLE)
    sign(folder, ["voters.parquet"])
    bench.open(project)
    return "./"


def remove(bench: Bench, given: Given) -> str:
    """Remove a project that was made from a dropped file, with the file."""
    if given.get("sure") != "yes":
        raise WrongFields({"sure": "tick the box: what is removed cannot be brought back"})
    remove_project(bench)
    return "./"


SCREEN = Screen("home", "Home", show, {"open": open_place, "demo": demo, "remove": remove})
