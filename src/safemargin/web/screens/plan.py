"""Plan: what would be published, before and after, and what other choices would keep."""

from dataclasses import replace
from typing import Any

from safemargin.core import InputError
from safemargin.ui import Fold, Grid, Headline, Paragraph, Part, Points, Section, Tag, percent
from safemargin.web.bench import Bench, Given, Screen, command
from safemargin.web.place import PastRun
from safemargin.web.screens.home import answers_of, estimate
from safemargin.web.screens.limits import PROTECT

ACTIONS = ("exact", "merged", "noised", "suppressed")


def show(bench: Bench, given: Given) -> dict[str, Any]:
    """The newest plan, or the one that is named."""
    project, runs = bench.place.load(), bench.place.own_runs()
    run = bench.place.run(given["run"]) if given.get("run") else next(iter(runs), None)
    before = next((each for each in runs if run is not None and each.moment < run.moment), None)
    name = bench.place.unused("draft")
    return {
        "title": "Plan",
        "run": run,
        "is_new": run is not None and bench.place.is_newer(run),
        "is_own": run is not None and bench.place.project is not None and run.is_of(bench.place.project),
        "answers": answers_of(run) if run else [],
        "parts": [] if run is None else [*_changes(run, before), _axes(run), _groups(run)],
        "alternatives": [] if run is None else run.document.get("alternatives", [])[1:],
        "kept": lambda choice: ", ".join(f"{axis} {kept}" for axis, kept in choice["kept"].items()),
        "percent": percent,
        "protect": project.protect,
        "choices": PROTECT,
        "digest": bench.place.digest,
        "typed_words": command(*_arguments(bench, name)),
    }


def _arguments(bench: Bench, name: str, *options: str) -> list[str]:
    project = bench.place.project
    return ["release", project.name if project is not None else "", "--out", name, "--draft", *options]


def _changes(run: PastRun, before: PastRun | None) -> list[Part]:
    """What a plan gains and loses against the one before it."""
    if before is None:
        return []
    gained, lost = sorted(run.exact - before.exact), sorted(before.exact - run.exact)
    if not gained and not lost:
        return [Paragraph(f"The same groups are exact as in {before.name}.", "quiet")]
    parts: list[Part] = []
    for words, names in (("Gained", gained), ("Lost", lost)):
        title = f"{words} against {before.name}: {len(names):,} exact groups"
        parts.append(Fold(title, Points(names)) if names else Paragraph(f"{title}.", "quiet"))
    return parts


def _axes(run: PastRun) -> Part:
    """Before: every category exact. After: what became of them."""
    tally: dict[str, dict[str, int]] = {}
    people: dict[str, list[int]] = {}
    for cell in run.document["cells"]:
        axis = next(iter(cell["cell"]), None)
        if axis is None:
            continue
        members = cell["cell"][axis].count(" | ") + 1
        tally.setdefault(axis, dict.fromkeys(ACTIONS, 0))[cell["action"]] += members
        kept = people.setdefault(axis, [0, 0])
        kept[0] += cell["people"] if cell["action"] == "exact" else 0
        kept[1] += cell["people"]
    rows = [
        (axis, sum(counts.values()), *(counts[action] or "-" for action in ACTIONS), percent(kept / max(every, 1)))
        for (axis, counts), (kept, every) in zip(tally.items(), people.values(), strict=True)
    ]
    columns = ("axis", "categories before", *ACTIONS, "people in exact groups")
    return Section("Before and after", Grid(columns, rows))


def _groups(run: PastRun) -> Part:
    """Groups that are not exact, with the reason; the exact ones fold away."""
    cells = [cell for cell in run.document["cells"] if cell["cell"]]
    rows = [
        (", ".join(cell["cell"].values()), ", ".join(cell["cell"]), cell["people"], Tag(cell["action"]), cell["reason"])
        for cell in sorted(cells, key=lambda cell: cell["action"] == "exact")
    ]
    changed = [row for row in rows if str(row[3]) != "exact"]
    columns = ("group", "axis", "people", "published", "why")
    return Section(
        "Groups that are not exact",
        Grid(columns, changed, sortable=True) if changed else "Every group is exact.",
        Fold(f"All {len(rows):,} groups", Grid(columns, rows, sortable=True)),
        *(Paragraph(note) for note in run.document.get("notes", [])),
    )


def decide(bench: Bench, given: Given) -> str:
    """Decide, prove and attack; nothing is published, and no release is recorded."""
    bench.place.load()
    options = _options(bench, given)
    name = bench.place.unused("draft")
    first = tuple(estimate(bench))
    if isinstance(first[0], Headline):  # the data cannot be read: say so now
        raise InputError(str(first[0].parts[0]))
    return bench.run(_arguments(bench, name, *options), "The plan", f"plan?run={name}", estimate=first)


def _options(bench: Bench, given: Given) -> list[str]:
    """The options of an alternative that the page offered; nothing else is passed on."""
    wanted = given.get("options", "")
    if not wanted:
        return []
    offered = {each["options"] for run in bench.place.runs() for each in run.document.get("alternatives", [])}
    if wanted not in offered:
        raise InputError(f"{wanted[:60]!r}: is no alternative that a plan here offers")
    return wanted.split()


def adopt(bench: Bench, given: Given) -> str:
    """Write the choices of an alternative into the project file."""
    words = _options(bench, given)
    said = dict(zip(words[::2], words[1::2], strict=True))
    target = bench.place.load().target
    if "--beta" in said:
        target = replace(target, beta=float(said["--beta"]), guard=None)
    bench.place.save_limits(target, said.get("--protect", "auto"), given.get("digest", ""))
    return "plan"


def _is_there(bench: Bench) -> bool:
    return bench.place.project is not None


SCREEN = Screen("plan", "Plan", show, {"decide": decide, "adopt": adopt}, _is_there)
