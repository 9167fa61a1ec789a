"""Home: the three answers, the next step, and what was done so far."""

from pathlib import Path
from typing import Any

from safemargin.core import InputError, SafemarginError
from safemargin.release.inputs import Inputs
from safemargin.release.report.exposed import ExposedGroup, exposed
from safemargin.ui import Answers, Headline, Paragraph, Part, cell_label, plural
from safemargin.web.bench import Bench, Given, PastRun, Screen

ESTIMATE = "Estimate, not certified."


def show(bench: Bench, given: Given) -> dict[str, Any]:
    """What is open, what was decided about it, and what comes next."""
    opened = bench.place
    if opened.project is None:
        return {"title": "Workbench", "parts": [], "runs": [], "step": None}
    project, runs = opened.load(), opened.runs()
    decided = next(iter(opened.own_runs()), None)
    return {
        "title": project.title or opened.project.name,
        "parts": answers_of(decided) if decided else estimate(bench),
        "runs": runs,
        "step": _next_step(bench, decided),
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
        inputs = bench.place.inputs()
    except SafemarginError as error:
        return [Headline("unsound", "The data cannot be read as the project says.", str(error))]
    seen = exposed(inputs.table, inputs.target, [wanted.axes for wanted in inputs.project.wanted])
    return [Paragraph(ESTIMATE, "strong"), Answers(_estimated(inputs, seen))]


def _estimated(inputs: Inputs, seen: ExposedGroup) -> list[tuple[str, str, str]]:
    people = int(inputs.table.people(()).counts.sum())
    axes = ", ".join(f"{axis.name} ({len(axis.categories):,})" for axis in inputs.table.schema.axes)
    named = [f"{cell_label(cell.cell)} ({cell.why})" for cell in seen.cells[:3]]
    more = f" and {len(seen.cells) - 3:,} more" if len(seen.cells) > 3 else ""
    who = plural(seen.people, "person") + f" in {plural(len(seen.cells), 'group')}" if seen.cells else "Nobody by size"
    why = f"{'; '.join(named)}{more}." if named else "Every group is large enough and within the limits by itself."
    return [
        ("May I publish?", "Not decided yet", "Make a plan: it decides, proves and attacks."),
        ("What is there?", plural(people, "person"), f"Counted by {axes}."),
        ("Who would be exposed if you published everything?", who, why),
    ]


def _next_step(bench: Bench, run: PastRun | None) -> tuple[str, str, str]:
    """The screen to go to, its name, and why."""
    if run is None:
        return "data", "Look at the data", "Check how every column was read, then set the limits and make a plan."
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
    """Open another project, folder or data file."""
    text = given.get("path", "").strip()
    if not text:
        raise InputError("path: name a project file, a folder or a data file")
    if bench.jobs.running is not None:
        raise InputError("a command is still running: wait for it or cancel it")
    try:
        bench.place.open(bench.place.folder / Path(text).expanduser())
    except (OSError, ValueError):
        raise InputError(f"{text[:60]!r}: is no name that a file can have") from None
    return "data" if bench.place.data is not None else "./"


SCREEN = Screen("home", "Home", show, {"open": open_place})
