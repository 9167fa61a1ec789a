"""Timeline: what was published about the same people, and how much of the budget is used."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from safemargin.core import InputError, SafemarginError
from safemargin.history.folders import PUBLISHED
from safemargin.io import MANIFEST, hash_file
from safemargin.release.ledger.ledger import ledger
from safemargin.release.ledger.locks import lock_notes
from safemargin.ui import Grid, Paragraph, Part, Section, Tag, named_cell_label, plural
from safemargin.web.bench import Bench, Given, Screen, command
from safemargin.web.place import PastRun

MOST_REASONS = 40


def show(bench: Bench, given: Given) -> dict[str, Any]:
    """The ledger of the project."""
    project = bench.place.load()
    section = project.ledger
    if section is None:
        raise InputError("the project names no ledger: add one under Limits")
    if not section.file.exists():
        return {"title": "Timeline", "parts": ["Nothing was published or locked yet."], "typed_words": ""}
    unforced = section.model_copy(update={"lock": False})  # a lock that is missing yet is no reason to show nothing
    notes = lock_notes(project.model_copy(update={"ledger": unforced}))
    return {
        "title": "Timeline",
        "parts": [*ledger(section.file).to_report().parts, *_reasons(bench, section.file), *notes],
        "typed_words": command("ledger", bench.shown(section.file)),
    }


def _reasons(bench: Bench, file: Path) -> Iterator[Part]:
    """Why counts of each recorded release are not exact, as its confidential folder says where that is still here."""
    runs: dict[str, PastRun] = {}
    for past in bench.place.runs():
        with suppress(InputError):
            runs[hash_file(past.folder / PUBLISHED / MANIFEST)] = past
    parts: list[Part] = []
    for entry in ledger(file).entries:
        run = runs.get(entry.manifest)
        if run is None:
            words = f"{entry.cycle}: the reasons are in the folder of that release, not in this folder."
            parts.append(Paragraph(words, "quiet"))
            continue
        rows = [
            (named_cell_label(each["cell"]), each["people"], Tag(each["action"]), each["reason"])
            for each in run.document["cells"]
            if each["action"] != "exact" and each["cell"]
        ]
        said = plural(len(rows), "group") + f" of {entry.cycle}" if rows else ""
        listed = Grid(("group", "people", "published", "why"), rows, most=MOST_REASONS)
        parts.append(Section(said, listed) if rows else Paragraph(f"{entry.cycle}: every group is exact."))
    if parts:
        yield Section("Why counts are not exact", *parts)


def _is_there(bench: Bench) -> bool:
    try:
        return bench.place.project is not None and bench.place.load().ledger is not None
    except SafemarginError:
        return False


SCREEN = Screen("timeline", "Timeline", show, {}, _is_there)
