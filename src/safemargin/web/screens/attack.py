"""Attack it: what somebody could infer from a release that was published, with what they know."""

from pathlib import Path
from typing import Any

from safemargin.core import InputError
from safemargin.history.folders import PUBLISHED
from safemargin.io import CONFIDENTIAL, MANIFEST
from safemargin.ui import Part
from safemargin.web.bench import Bench, Given, Screen, command
from safemargin.web.place import PastRun
from safemargin.web.screens.check import audit_parts
from safemargin.web.shown import tables_in_page

FORMATS = (".csv", ".parquet")
ROLL = f"{CONFIDENTIAL}/roll.csv"


def show(bench: Bench, given: Given) -> dict[str, Any]:
    """The releases to attack, and what the last attack found."""
    runs = _published(bench)
    if not runs:
        raise InputError("nothing is published here yet: make a plan and publish it first")
    run = next((run for run in runs if run.name == given.get("run")), runs[0])
    job = bench.job(given, f"attack?run={run.name}")
    parts: list[Part] = audit_parts(job.document) if job is not None and job.document is not None else []
    return {
        "title": "Attack it",
        "runs": runs,
        "run": run,
        "has_roll": (run.folder / ROLL).is_file(),
        "job": job,
        "parts": parts,
        "tables": [] if job is None or job.page is None else tables_in_page(job.page),
        "facts_head": ",".join([*list(bench.place.load().axes)[:2], "option", "count"]),
        "typed_words": command(*_arguments(bench, run, True, None)),
    }


def _published(bench: Bench) -> list[PastRun]:
    runs = bench.place.project_runs()
    return [run for run in runs if run.kind == "published" and "questions" not in run.document]


def _arguments(bench: Bench, run: PastRun, knows_roll: bool, facts: Path | None) -> list[str]:
    folder = run.folder / PUBLISHED
    tables = next((found for form in FORMATS if (found := sorted(folder.glob(f"*{form}")))), [])
    if not tables:
        raise InputError(f"{run.name}: has no tables in CSV or Parquet to attack")
    arguments = ["audit", *map(bench.shown, tables), "--manifest", bench.shown(folder / MANIFEST)]
    if knows_roll and (run.folder / ROLL).is_file():
        arguments += ["--roll", bench.shown(run.folder / ROLL)]
    return arguments + (["--fact", str(facts)] if facts is not None else [])


def attack(bench: Bench, given: Given) -> str:
    """Run every attack as somebody who knows what the form says."""
    run = bench.place.run(given.get("run", ""))
    if run.kind != "published":
        raise InputError(f"{run.name}: nothing was published there")
    text = given.get("facts", "").strip()
    facts = bench.keep("facts.csv", ("\n".join(text.splitlines()) + "\n").encode()) if text else None
    arguments = _arguments(bench, run, given.get("knows") == "roll", facts)
    return bench.run(arguments, "The attack", f"attack?run={run.name}", page=bench.new_page())


def _is_there(bench: Bench) -> bool:
    """A release of several questions was attacked when it was made; files of one question are attacked here."""
    return bench.place.project is not None and bool(_published(bench))


SCREEN = Screen("attack", "Attack it", show, {"attack": attack}, _is_there)
