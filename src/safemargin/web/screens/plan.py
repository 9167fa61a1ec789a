"""Plan: what would be published, before and after, and what other choices would keep."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from safemargin import ui
from safemargin.core import JOINER, InputError, write_whole
from safemargin.io import read_bytes
from safemargin.release.columns import JOINED
from safemargin.release.project import Project
from safemargin.release.report.alternatives import PROTECTION_WORDS
from safemargin.release.report.charts import strictness_chart
from safemargin.release.report.groups import NOT_COMPUTED, Choice
from safemargin.web.bench import Bench, Given, Screen, command, has_project
from safemargin.web.place import PastRun
from safemargin.web.screens.home import answers_of, estimate

SHORT = 10
"""Groups gained or lost that are listed at once."""
ACTIONS = ("exact", "merged", "noised", "suppressed")
ALL = "--alternatives"
"""The option of `release` that computes every other choice, however long it takes."""
FIELDS = ("axis", "members", "how", "options")
"""What a change is: of categories by hand, or another choice that the plan offers."""


def show(bench: Bench, given: Given) -> dict[str, Any]:
    """The newest plan, or the one that is named."""
    project, runs = bench.place.load(), bench.place.own_runs()
    run = bench.place.run(given["run"]) if given.get("run") else next(iter(runs), None)
    before = next((each for each in runs if run is not None and each.moment < run.moment), None)
    choices = [] if run is None else _choices(run, project.target.beta)
    name = bench.place.unused("draft")
    return {
        "title": "Plan",
        "run": run,
        "is_new": run is not None and bench.place.is_newer(run),
        "is_own": run is not None and bench.place.project is not None and run.is_of(bench.place.project),
        "answers": answers_of(run) if run else [],
        "changes": [] if run is None else _changes(run, before),
        "parts": [] if run is None else [_axes(run), _groups(run)],
        "choices": choices,
        "curve": None if run is None or "questions" in run.document else _curve(choices),
        "asks": any(choice.state == NOT_COMPUTED for choice in choices) or not choices,
        "typed_all": command(*_arguments(bench, name, ALL)),
        "digest": bench.place.digest,
        "typed_words": command(*_arguments(bench, name)),
        "axes": list(project.axes),
        "by_hand": _by_hand(project),
        "fields": FIELDS,
        "exact_percent": ui.exact_percent,
        "tried": _trial_words(given) if run is not None and run.name.startswith("trial") else "",
        "typed_trial": "" if run is None else command("release", f"{run.name}.toml", "--out", run.name, "--draft"),
        "has_ledger": project.ledger is not None,
    }


def _arguments(bench: Bench, name: str, *options: str) -> list[str]:
    return ["release", bench.place.name, "--out", name, "--draft", *options]


HOW = {"keep": "never merge", "join": "join", "free": "let the program decide about"}
"""What can be done with categories by hand."""


def _by_hand(project: Project) -> list[str]:
    """What the project keeps or joins by hand, in words."""
    kept = [f"{axis}: never merge {name}" for axis, section in project.axes.items() for name in section.keep]
    joined = [f"{axis}: join {JOINER.join(group)}" for axis, section in project.axes.items() for group in section.join]
    return kept + joined


def _choices(run: PastRun, beta: float) -> list[Choice]:
    """What a plan and other choices keep, as the plan states it; the plan itself comes first."""
    choices = []
    for each in run.document.get("alternatives", []):
        said = _said(each["options"])
        counted = sum(int(kept.partition(" of ")[0].replace(",", "")) for kept in each["kept"].values())
        limit = each.get("limit", float(said.get("--beta", beta)))  # plans of earlier versions state it in options only
        choices.append(
            Choice(each["words"], said["--protect"], limit, each["kept"], each["share"], each["state"], counted)
        )
    return choices


def _said(options: str) -> dict[str, str]:
    words = options.split()
    return dict(zip(words[::2], words[1::2], strict=True))


def _curve(choices: list[Choice]) -> ui.Part:
    """Exact categories against the limit, with the plan marked, which the table states too; or why there is none."""
    drawn = [choice for choice in choices if choice.state == "certified" and choice.protect == choices[0].protect]
    if len({choice.beta for choice in drawn}) > 1:
        caption = (
            "Categories that stay exact, by the limit: no group may be shown closer to one mind than this. The table "
        )
        caption += "below has the same figures."
        return ui.Chart(lambda: strictness_chart(choices), caption, fits=True)
    if not choices:
        return ui.Paragraph(
            "Most of every axis is exact, so other choices were not computed. There is no curve without them."
        )
    if any(choice.state == NOT_COMPUTED for choice in choices):
        return ui.Paragraph("There is no curve: the plan took long, so not all other choices were computed.")
    return ui.Paragraph("There is no curve: no other limit that was computed gives a release that may be published.")


def _members(bench: Bench, given: Given) -> tuple[str, list[str]]:
    """The axis and the categories that a form names."""
    axis = given.get("axis", "")
    schema = bench.place.inputs().table.schema
    if axis not in schema.names:
        raise InputError(f"axis: there is no axis {axis[:60]!r}")
    names = [name.strip() for name in given.get("members", "").split(JOINER.strip()) if name.strip()]
    known = {*schema.axis(axis).categories, *(name for group in bench.place.load().axes[axis].join for name in group)}
    for name in names:
        if name not in known:
            raise InputError(f"categories: {axis} has no category {name[:60]!r}")
    if not names:
        raise InputError("categories: name at least one")
    return axis, names


def _changed(bench: Bench, given: Given) -> str:
    """The project file with the change that a form asks for."""
    if given.get("options"):
        return _with_choice(bench, given["options"])
    axis, names = _members(bench, given)
    section, how = bench.place.load().axes[axis], given.get("how", "")
    if how not in HOW:
        raise InputError("change: choose what to do")
    if how == "join" and len(names) < 2:
        raise InputError("categories: name at least two to join")
    listed = {part for name in names for part in name.split(JOINED)}
    keep = [name for name in section.keep if name not in listed]
    join = [list(group) for group in section.join if not listed & set(group)]
    keep += names if how == "keep" else []
    join += [[part for name in names for part in name.split(JOINED)]] if how == "join" else []
    return bench.place.with_axis(axis, {"keep": keep, "join": join})


def _with_choice(bench: Bench, options: str) -> str:
    """The project file with an alternative that a plan here offered; no others are written."""
    offered = {each["options"] for run in bench.place.project_runs() for each in run.document.get("alternatives", [])}
    if options not in offered:
        raise InputError(f"{options[:60]!r}: is no alternative that a plan here offers")
    said, target = _said(options), bench.place.load().target
    if "--beta" in said:
        target = replace(target, beta=float(said["--beta"]), guard=None)
    return bench.place.with_limits(target, said["--protect"])


def _trial_words(given: Given) -> str:
    """What is tried, in words."""
    if given.get("options"):
        said = _said(given["options"])
        limit = f", limit {ui.exact_percent(float(said['--beta']))}" if "--beta" in said else ""
        return PROTECTION_WORDS.get(said["--protect"], said["--protect"]) + limit
    return f"{given.get('axis', '')}: {HOW.get(given.get('how', ''), '')} {given.get('members', '')}"


def attempt(bench: Bench, given: Given) -> str:
    """Make a plan of a copy of the project with the change; it shows what would be gained and lost."""
    text = _changed(bench, given)
    if not bench.place.own_runs():
        raise InputError("make a plan first: a change is held against it")
    name = bench.place.unused("trial")
    file = bench.place.folder / f"{name}.toml"
    write_whole(file, bench.place.copied(text).encode())
    said = urlencode({key: given[key] for key in FIELDS if given.get(key)})
    arguments = ["release", file.name, "--out", name, "--draft"]
    return bench.run(arguments, "The trial", f"plan?run={name}&{said}", estimate=tuple(estimate(bench)), back="plan")


def write(bench: Bench, given: Given) -> str:
    """Write the change to the project file, if it is the one that was tried."""
    text = _changed(bench, given)
    files = [run.folder.with_suffix(".toml") for run in bench.place.project_runs() if run.name == given.get("run")]
    if not any(file.is_file() and read_bytes(file) == bench.place.copied(text).encode() for file in files):
        raise InputError("try it first: a trial shows what this change gains and loses")
    bench.place.save(text, given.get("digest", ""))
    return "plan"


def _changes(run: PastRun, before: PastRun | None) -> list[ui.Part]:
    """What a plan gains and loses against the one before it."""
    if before is None:
        return []
    gained, lost = sorted(run.exact - before.exact), sorted(before.exact - run.exact)
    shares = [ui.percent(each) for each in (_share(before), _share(run))]
    parts: list[ui.Part] = [
        ui.Paragraph(f"People in exact groups: {shares[0]} in {before.name}, {shares[1]} in {run.name}.")
    ]
    if not gained and not lost:
        return [*parts, ui.Paragraph(f"The same groups are exact as in {before.name}.")]
    for words, names in (("Gained", gained), ("Lost", lost)):
        title = f"{words} against {before.name}: {ui.plural(len(names), 'exact group')}"
        parts.append(
            ui.Fold(title, ui.Points(names), is_open=len(names) <= SHORT)
            if names
            else ui.Paragraph(f"{title}.", "quiet")
        )
    return parts


def _share(run: PastRun) -> float:
    """The share of people in exact groups, over all axes."""
    people = [(int(cell["people"]), cell["action"] == "exact") for cell in run.document["cells"] if cell["cell"]]
    return sum(count for count, is_exact in people if is_exact) / max(sum(count for count, _ in people), 1)


def _axes(run: PastRun) -> ui.Part:
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
        (axis, sum(counts.values()), *(counts[action] or "-" for action in ACTIONS), ui.percent(kept / max(every, 1)))
        for (axis, counts), (kept, every) in zip(tally.items(), people.values(), strict=True)
    ]
    before = "results before" if "questions" in run.document else "categories before"
    columns = ("axis", before, *ACTIONS, "people in exact groups")
    return ui.Section("Before and after", ui.Grid(columns, rows))


def _together(rows: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """One row for a group that is published in one way, and for one reason, in several questions."""
    found: dict[tuple[object, ...], list[tuple[Any, ...]]] = {}
    for row in rows:
        name, _, axis, _, done, why = row
        found.setdefault((str(name), axis, str(done), why), []).append(row)
    merged = []
    for same in found.values():
        name, question, axis, people, done, why = same[0]
        sizes = [row[3] for row in same]
        asked = question if len(same) == 1 else ui.plural(len(same), "question")
        merged.append(
            (name, asked, axis, people if len(same) == 1 else ui.count_range(min(sizes), max(sizes)), done, why)
        )
    return merged


def _groups(run: PastRun) -> ui.Part:
    """Groups that are not exact, with the reason; the exact ones fold away."""
    cells = [cell for cell in run.document["cells"] if cell["cell"]]
    rows = [
        (
            _name(cell["cell"]),
            *([cell["question"]] if "question" in cell else []),
            ", ".join(cell["cell"]),
            cell["people"],
            ui.Tag(cell["action"]),
            cell["reason"],
        )
        for cell in sorted(cells, key=lambda cell: cell["action"] == "exact")
    ]
    changed = [row for row in rows if str(row[-2]) != "exact"]
    if "questions" in run.document:
        changed = _together(changed)
    question = ("question",) if "questions" in run.document else ()
    columns = ("group", *question, "axis", "people", "published", "why")
    return ui.Section(
        "Groups that are not exact",
        ui.Grid(columns, changed, sortable=True) if changed else "Every group is exact.",
        ui.Fold(f"All {len(rows):,} groups", ui.Grid(columns, rows, sortable=True)),
        *(ui.Paragraph(note) for note in run.document.get("notes", [])),
    )


def _name(cell: dict[str, str]) -> ui.Link | str:
    """A group; one of a single axis leads to the form that changes it."""
    names = ", ".join(cell.values())
    if len(cell) > 1:
        return names
    return ui.Link(names, f"plan?{urlencode({'axis': next(iter(cell)), 'members': names})}#change")


def decide(bench: Bench, given: Given) -> str:
    """Decide, prove and attack; nothing is published, and no release is recorded."""
    bench.place.load()
    options = [ALL] if given.get("all") else []
    name = bench.place.unused("draft")
    first = tuple(estimate(bench))
    if isinstance(first[0], ui.Headline):  # the data cannot be read: say so now
        raise InputError(str(first[0].parts[0]))
    return bench.run(_arguments(bench, name, *options), "The plan", f"plan?run={name}", estimate=first)


SCREEN = Screen("plan", "Plan", show, {"decide": decide, "try": attempt, "write": write}, has_project)
