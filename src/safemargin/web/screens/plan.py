"""Plan: what would be published, before and after, and what other choices would keep."""

from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from safemargin.core import JOINER, InputError
from safemargin.io import write_whole
from safemargin.release.columns import JOINED
from safemargin.release.project import Project
from safemargin.ui import Chart, Fold, Grid, Headline, Link, Paragraph, Part, Points, Section, Tag, percent, plural
from safemargin.web.bench import Bench, Given, PastRun, Screen, command
from safemargin.web.edit import without
from safemargin.web.screens.home import answers_of, estimate
from safemargin.web.screens.limits import PROTECT

SHORT = 10
"""Groups gained or lost that are listed at once."""
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
        "changes": [] if run is None else _changes(run, before),
        "parts": [] if run is None else [_axes(run), _groups(run)],
        "alternatives": [] if run is None else run.document.get("alternatives", [])[1:],
        "kept": lambda choice: ", ".join(f"{axis} {kept}" for axis, kept in choice["kept"].items()),
        "percent": percent,
        "protect": project.protect,
        "choices": PROTECT,
        "digest": bench.place.digest,
        "typed_words": command(*_arguments(bench, name)),
        "axes": list(project.axes),
        "by_hand": _by_hand(project),
        "curve": _curve(run, project.target.beta),
        "tried": given.get("how", "") if run is not None and run.name.startswith("trial") else "",
    }


def _arguments(bench: Bench, name: str, *options: str) -> list[str]:
    project = bench.place.project
    return ["release", project.name if project is not None else "", "--out", name, "--draft", *options]


HOW = {"keep": "never merge", "join": "join", "free": "let the program decide about"}
"""What can be done with categories by hand."""


def _by_hand(project: Project) -> list[str]:
    """What the project keeps or joins by hand, in words."""
    kept = [f"{axis}: never merge {name}" for axis, section in project.axes.items() for name in section.keep]
    joined = [f"{axis}: join {JOINER.join(group)}" for axis, section in project.axes.items() for group in section.join]
    return kept + joined


def _curve(run: PastRun | None, beta: float) -> Part | None:
    """The share of people in exact groups against the limit, of certified choices; the table says the same."""
    points: list[dict[str, Any]] = []
    for choice in [] if run is None else run.document.get("alternatives", []):
        words = str(choice["options"]).split()
        limit = float(words[words.index("--beta") + 1]) if "--beta" in words else beta
        if choice["state"] == "certified":
            points.append({"limit": 100 * limit, "share": 100 * choice["share"], "protect": words[1]})
    points = [point for point in points if point["protect"] == points[0]["protect"]]
    if len({point["limit"] for point in points}) < 2:
        return None
    encoding = {
        "x": {"field": "limit", "type": "quantitative", "title": "nobody shown to be below (%)"},
        "y": {
            "field": "share",
            "type": "quantitative",
            "title": "people in exact groups (%)",
            "scale": {"zero": False},
        },
    }
    line = {"mark": {"type": "line", "color": "#0072b2"}}
    dots = {"mark": {"type": "point", "size": 80, "filled": True, "color": "#0072b2"}}
    spec = {"data": {"values": points}, "encoding": encoding, "layer": [line, dots], "width": 420, "height": 200}
    return Section("Trade-off", Chart(spec, "What stricter limits cost", fits=True))


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


def attempt(bench: Bench, given: Given) -> str:
    """Make a plan of a copy of the project with the change; it shows what would be gained and lost."""
    if not bench.place.own_runs():
        raise InputError("make a plan first: a change is held against it")
    name = bench.place.unused("trial")
    file = bench.place.folder / f"{name}.toml"
    write_whole(file, without(_changed(bench, given), "ledger").encode())
    said = urlencode({key: given.get(key, "") for key in ("axis", "members", "how")})
    arguments = ["release", file.name, "--out", name, "--draft"]
    return bench.run(arguments, "The trial", f"plan?run={name}&{said}", estimate=tuple(estimate(bench)), back="plan")


def write(bench: Bench, given: Given) -> str:
    """Write the change that was tried to the project file."""
    bench.place.save(_changed(bench, given), given.get("digest", ""))
    return "plan"


def _changes(run: PastRun, before: PastRun | None) -> list[Part]:
    """What a plan gains and loses against the one before it."""
    if before is None:
        return []
    gained, lost = sorted(run.exact - before.exact), sorted(before.exact - run.exact)
    if not gained and not lost:
        return [Paragraph(f"The same groups are exact as in {before.name}.", "quiet")]
    parts: list[Part] = []
    for words, names in (("Gained", gained), ("Lost", lost)):
        title = f"{words} against {before.name}: {plural(len(names), 'exact group')}"
        parts.append(
            Fold(title, Points(names), is_open=len(names) <= SHORT) if names else Paragraph(f"{title}.", "quiet")
        )
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
        (_name(cell["cell"]), ", ".join(cell["cell"]), cell["people"], Tag(cell["action"]), cell["reason"])
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


def _name(cell: dict[str, str]) -> Link | str:
    """A group; one of a single axis leads to the form that changes it."""
    names = ", ".join(cell.values())
    if len(cell) > 1:
        return names
    return Link(names, f"plan?{urlencode({'axis': next(iter(cell)), 'members': names})}#change")


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


SCREEN = Screen("plan", "Plan", show, {"decide": decide, "adopt": adopt, "try": attempt, "write": write}, _is_there)
