"""Publish: a checklist, a preview of the public page, two names; then what leaves the office."""

from typing import Any

from safemargin.core import InputError
from safemargin.history.folders import PUBLISHED
from safemargin.io import MANIFEST, read_manifest
from safemargin.release.ledger.locks import read_locks
from safemargin.release.project import Project
from safemargin.release.report.answers import RULE_NOT_CHECKED
from safemargin.ui import Grid, Part
from safemargin.web.bench import Bench, Given, Screen, WrongFields, command
from safemargin.web.place import PastRun


def show(bench: Bench, given: Given) -> dict[str, Any]:
    """The newest draft and whether it can be published, or what was published."""
    project, runs = bench.place.load(), bench.place.project_runs()
    if given.get("run"):
        run = bench.place.run(given["run"])
        if run.kind != "published":
            raise InputError(f"{run.name}: nothing was published there")
        return {"title": "Published", "published": run, "parts": _files(run)}
    draft = next((run for run in bench.place.own_runs() if run.kind != "published"), None)
    checks = _checks(bench, project, draft)
    name = bench.place.unused("release")
    return {
        "title": "Publish",
        "published": None,
        "earlier": [run for run in runs if run.kind == "published"],
        "draft": draft,
        "checks": checks,
        "is_ready": all(done for done, needed, _ in checks if needed),
        "noised": draft is not None and any(cell["action"] == "noised" for cell in draft.document["cells"]),
        "typed_words": command(*_arguments(bench, name, given.get("decided", "NAME"), given.get("checked", "NAME"))),
    }


def _arguments(bench: Bench, name: str, decided: str, checked: str) -> list[str]:
    said = ["--out", name, "--decided-by", decided, "--checked-by", checked]
    return ["release", bench.place.name, *said]


def _checks(bench: Bench, project: Project, draft: PastRun | None) -> list[tuple[bool, bool, str]]:
    """Whether each point holds, whether it must, and what it says."""
    locked = project.ledger is not None and bool(read_locks(project.ledger))
    return [
        (draft is not None, True, "There is a plan."),
        (
            draft is not None and bench.place.is_newer(draft),
            True,
            "It was made with the limits of the project, and neither the project nor its files changed since.",
        ),
        (draft is not None and draft.kind == "draft", True, "It is certified, and every attack on it failed."),
        (
            draft is not None and RULE_NOT_CHECKED not in draft.document["verdict"]["detail"],
            False,
            "It holds also against somebody who knows the rule and runs it on other answers.",
        ),
        (locked, project.ledger is not None and project.ledger.lock, "The limits were locked before the count."),
        (project.ledger is not None, False, "A ledger records it, so that the next release is held against it."),
    ]


def _files(run: PastRun) -> list[Part]:
    """Every file that leaves, with its size and hash."""
    folder = run.folder / PUBLISHED
    hashes = read_manifest(folder / MANIFEST).files
    rows = [
        (path.name, path.stat().st_size, hashes.get(path.name, "the file with the hashes"))
        for path in sorted(folder.iterdir())
        if path.is_file()
    ]
    return [Grid(("file", "bytes", "SHA-256"), rows)]


def publish(bench: Bench, given: Given) -> str:
    """Decide, prove and attack once more, and write what may leave; refused unless the gate lets it pass."""
    context = show(bench, {})
    missing = [words for done, needed, words in context["checks"] if needed and not done]
    if missing:
        raise InputError(f"this does not hold yet: {missing[0]}")
    decided, checked = given.get("decided", "").strip(), given.get("checked", "").strip()
    given_names = {"decided": decided, "checked": checked}
    wrong = {field: "two names: a name is missing" for field, name in given_names.items() if not name}
    dash = "two names: a name does not begin with a dash"
    wrong |= {field: dash for field, name in given_names.items() if name.startswith("-")}
    if not wrong and decided.casefold() == checked.casefold():
        wrong["checked"] = "two names: give the names of two different people, who decided it and who checked it"
    if wrong:
        raise WrongFields(wrong)
    name = bench.place.unused("release")
    return bench.run(_arguments(bench, name, decided, checked), "Publishing", f"publish?run={name}")


def _is_there(bench: Bench) -> bool:
    return bench.place.project is not None and bool(bench.place.project_runs())


SCREEN = Screen("publish", "Publish", show, {"publish": publish}, _is_there)
