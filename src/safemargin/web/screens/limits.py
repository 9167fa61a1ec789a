"""Limits: what nobody may be able to infer, in words; presets with their sources; lock before the count."""

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from safemargin.core import InputError, Target, write_whole
from safemargin.release.forecast import STATES
from safemargin.release.ledger.locks import lock_notes, read_forecast, read_locks
from safemargin.release.project import Project
from safemargin.release.report.forecast import chances_chart
from safemargin.ui import Chart, Grid, Paragraph, Part, Points, percent, plural
from safemargin.web import known
from safemargin.web.bench import Bench, Given, Screen, WrongFields, command, has_project
from safemargin.web.edit import set_keys, with_content
from safemargin.web.known import who_knows

PROTECT = {
    "auto": "merge neighbours if there are any, else suppress (auto)",
    "merge": "merge groups (merge)",
    "suppress": "suppress the group and a few others (suppress)",
    "noise": "add noise to them (noise)",
}


@dataclass(frozen=True)
class Preset:
    """Limits that an office uses, and where they are written."""

    name: str
    share: float
    people: int
    known: int
    source: str


PRESETS = (
    Preset("Proposed", 100 - 100 * Target.beta, Target.kappa, Target.tau, "The default of safemargin."),
    Preset(
        "Results by precinct",
        95,
        30,
        0,
        "Florida Statutes 98.0981(2)(a): no counts for groups of 1 to 29 votes. It says nothing about shares; 95 % is "
        "the default of safemargin.",
    ),
    Preset(
        "Output of researchers",
        90,
        10,
        0,
        "ESSnet SDC, Guidelines for the checking of output based on microdata research (2010), rules of thumb: at "
        "least 10 units behind every count, and no count with 90 % or more of its row or column.",
    ),
    Preset(
        "Health claims in the USA",
        95,
        11,
        0,
        "Cell size policy of the Centers for Medicare and Medicaid Services: no count from 1 to 10. It says nothing "
        "about shares; 95 % is the default of safemargin.",
    ),
)


def show(bench: Bench, given: Given) -> dict[str, Any]:
    """The limits of the project, and whether they are locked."""
    project = bench.place.load()
    target = project.target
    values = {"share": f"{100 - 100 * target.beta:.10g}", "people": str(target.kappa), "known": str(target.tau)}
    preset = next((entry for entry in PRESETS if entry.name == given.get("preset")), None)
    if preset is not None:
        values = {"share": f"{preset.share:g}", "people": str(preset.people), "known": str(preset.known)}
    values |= {name: given[name] for name in values if name in given}
    ledger, job = project.ledger, bench.job(given, "limits")
    seen = job.document if job is not None and job.arguments[0] == "forecast" else None
    seen = seen or (read_forecast(ledger) if ledger is not None else None)
    return {
        "title": "Limits",
        "forecast": forecast_parts(seen) if seen else [],
        "forecast_command": command("forecast", bench.place.name),
        "values": values,
        "protect": given.get("protect", project.protect),
        "choices": PROTECT,
        "presets": PRESETS,
        "digest": bench.place.digest,
        **_tables(project),
        **who_knows(project),
        "ledger": ledger,
        "has_data": project.data is not None and project.data.file is not None,
        "locked": bool(ledger is not None and read_locks(ledger)),
        "lock_notes": lock_notes(project.model_copy(update={"ledger": _unforced(ledger)})),
        "lock_command": command("lock", bench.place.name),
    }


MOST_PAIRS = 28
FORMATS = {"csv": "CSV", "json": "JSON", "xlsx": "Excel", "parquet": "Parquet", "px": "PX", "sdmx.csv": "SDMX"}
NOT_HERE = ("margins", "pairs", "order")


def _tables(project: Project) -> dict[str, Any]:
    """Pairs of axes that can be asked for, and the formats of the files."""
    names = list(project.axes)
    asked = {tuple(sorted(wanted.axes)) for wanted in project.wanted if len(wanted.axes) == 2}
    pairs = [(first, second, tuple(sorted((first, second))) in asked) for first, second in combinations(names, 2)]
    formats = [(name, words, name in project.outputs.formats) for name, words in FORMATS.items()]
    return {"pairs": pairs[:MOST_PAIRS] if project.data is not None else [], "formats": formats}


def choose_tables(bench: Bench, given: Given) -> str:
    """Write the tables of two axes and the formats into the project file; larger tables that it names stay."""
    project, content = bench.place.load(), tomllib.loads(bench.place.text)
    names = list(project.axes)
    keys = {section.get("label", key): key for key, section in content["axes"].items()}
    formats = [name for name in FORMATS if given.get(f"format-{name}") == "yes"]
    if not formats:
        raise WrongFields({"formats": "files: choose at least one format"})
    offered = list(combinations(names, 2))[:MOST_PAIRS]
    asked = [list(pair) for place, pair in enumerate(offered) if given.get(f"pair-{place}") == "yes"]
    larger = [list(wanted.axes) for wanted in project.wanted if len(wanted.axes) > 2]
    unseen = [list(wanted.axes) for wanted in project.wanted if len(wanted.axes) == 2 and _pair(wanted.axes, names)]
    margins = [[keys.get(name, name) for name in margin] for margin in [*asked, *unseen, *larger]]
    changed = {key: value for key, value in content.items() if key not in ("tables", "outputs")}
    tables = {key: value for key, value in content.get("tables", {}).items() if key not in NOT_HERE}
    tables |= {"margins": margins} if margins else {}
    outputs = {key: value for key, value in content.get("outputs", {}).items() if key not in NOT_HERE}
    changed |= {"tables": tables} if tables else {}
    changed["outputs"] = {**outputs, "formats": formats}
    bench.place.save(with_content(bench.place.text, changed), given.get("digest", ""))
    return "limits"


def _pair(axes: tuple[str, ...], names: list[str]) -> bool:
    """Whether a pair of axes is not among those that the form offers."""
    offered = list(combinations(names, 2))[:MOST_PAIRS]
    return not any(set(axes) == set(pair) for pair in offered)


def _unforced(ledger: Any) -> Any:
    """The ledger without the demand for a lock, which this screen is there to make."""
    return None if ledger is None else ledger.model_copy(update={"lock": False})


def save(bench: Bench, given: Given) -> str:
    """Write the limits into the project file; all errors are stated at once."""
    wrong: dict[str, str] = {}
    share, people, known = (_number(given, name, kind, wrong) for name, kind in KINDS.items())
    protect = given.get("protect", "")
    if protect not in PROTECT:
        wrong["protect"] = f"protect = {protect[:60]!r}: choose one of the list"
    if wrong:
        raise WrongFields(wrong)
    # 100 - 95.1 is no round number of base two
    beta = round((100 - share) / 100, 12)
    target = replace(bench.place.load().target, beta=beta, kappa=int(people), tau=int(known), guard=None)
    bench.place.save(bench.place.with_limits(target, protect), given.get("digest", ""))
    if given.get("do") == "price":
        return bench.run(["forecast", bench.place.name], "The forecast", "limits")
    return "limits"


LABELS = {"share": "share of one mind", "people": "people of a group", "known": "width at which a count is disclosed"}
KINDS: Mapping[str, type[float] | type[int]] = {"share": float, "people": int, "known": int}


def _number(given: Given, name: str, kind: type[float] | type[int], wrong: dict[str, str]) -> float:
    text = given.get(name, "").strip()
    try:
        number = float(kind(text)) if text.isascii() else math.nan
    except ValueError:
        number = math.nan
    if not 0 <= number < 1e15:
        wrong[name] = f"{LABELS[name]}: {text[:60]!r} is no number that fits; write it with the digits 0 to 9"
    elif name == "share" and not 50 < number < 100:
        wrong[name] = f"{LABELS[name]}: {text[:60]} must be above 50 % and below 100 %"
    elif name == "people" and number < 1:
        wrong[name] = f"{LABELS[name]}: must be at least 1"
    return number


def add_ledger(bench: Bench, given: Given) -> str:
    """Name the ledger in the project file."""
    population, cycle = given.get("population", "").strip(), given.get("cycle", "").strip()
    wrong = {} if population else {"population": "population and cycle: say whom the release is about"}
    wrong |= {} if cycle else {"cycle": "population and cycle: say which of its releases this is, such as the year"}
    if wrong:
        raise WrongFields(wrong)
    values = {"turnover": "net", "answers": "kept", "cycle": cycle, "population": population, "file": "ledger.sqlite"}
    bench.place.save(set_keys(bench.place.text, "ledger", values), given.get("digest", ""))
    return "limits"


def rehearse(bench: Bench, given: Given) -> str:
    """Make a plan with the saved limits on other data, such as those of last year; nothing is recorded."""
    other = bench.existing(given.get("other", ""), "other data", "other")
    file = bench.place.unused("rehearsal")
    text = bench.place.copied(set_keys(bench.place.text, "data", {"file": other}))
    project = bench.place.folder / f"{file}.toml"
    Project.parse(text, folder=bench.place.folder, name=project.name)
    write_whole(project, text.encode())
    arguments = ["release", project.name, "--out", file, "--draft"]
    return bench.run(arguments, "The rehearsal", f"plan?run={file}", back="limits")


def forecast(bench: Bench, given: Given) -> str:
    """Read off the roll what the saved limits will cost."""
    arguments = ["forecast", bench.place.name]
    if given.get("last", "").strip():
        arguments += ["--votes", bench.existing(given["last"], "data of last year", "last")]
    return bench.run(arguments, "The forecast", "limits")


def forecast_parts(document: Mapping[str, Any]) -> list[Part]:
    """A forecast, made now or written down with the lock: what is certain, and how probable the rest is."""
    if "missing" in document:
        return [Paragraph(str(document["missing"]), "quiet")]
    certain = document["certain"]
    lines = [f"{axis}: merged for their size: {'; '.join(groups[:5])}" for axis, groups in certain["merged"].items()]
    lines += [f"{axis}: suppressed for their size: {'; '.join(g[:5])}" for axis, g in certain["suppressed"].items()]
    lines += [f"{axis}: cannot be published, whatever people answer" for axis in certain["lost"]]
    rows = [[name, *(percent(states[state]) for state in STATES)] for name, states in document["tables"].items()]
    said = f"{percent(document['people_exact'])} of the people will be in exact groups, on average." if rows else ""
    chart = Chart(lambda: chances_chart(document["tables"]), "Share of draws in which a table is exact, merged or lost")
    return [
        Paragraph(said, "strong"),
        Points(lines or ["Every group is large enough to stand by itself."]),
        Grid(("table", *STATES), rows),
        chart if rows else None,
        Paragraph(
            f"{document['assumed']} {plural(document['draws'], 'draw')}. No answer of this year is used.", "quiet"
        ),
    ]


def lock(bench: Bench, given: Given) -> str:
    """Lock the limits before the count."""
    if given.get("digest") != bench.place.digest:
        raise InputError("the project was changed meanwhile, in another window or program: look again")
    return bench.run(["lock", bench.place.name], "Locking the limits", "limits")


SCREEN = Screen(
    "limits",
    "Limits",
    show,
    {
        "save": save,
        "price": save,
        "tables": choose_tables,
        **known.ACTIONS,
        "ledger": add_ledger,
        "lock": lock,
        "rehearse": rehearse,
        "forecast": forecast,
    },
    has_project,
)
