"""Timeline: what was published about the same people, and how much of the budget is used."""

from typing import Any

from safemargin.core import InputError, SafemarginError
from safemargin.release.ledger.ledger import ledger
from safemargin.release.ledger.locks import lock_notes
from safemargin.web.bench import Bench, Given, Screen, command


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
        "parts": [*ledger(section.file).to_report().parts, *notes],
        "typed_words": command("ledger", bench.shown(section.file)),
    }


def _is_there(bench: Bench) -> bool:
    try:
        return bench.place.project is not None and bench.place.load().ledger is not None
    except SafemarginError:
        return False


SCREEN = Screen("timeline", "Timeline", show, {}, _is_there)
