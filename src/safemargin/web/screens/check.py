"""Check any table: what somebody can infer from it, the worst cells, a letter, and suppression from there."""

import re
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from safemargin import ui
from safemargin.audit.small import SMALLEST
from safemargin.core import InputError, SafemarginError
from safemargin.io import CONFIDENTIAL, read_tables
from safemargin.web.bench import Bench, Given, Screen
from safemargin.web.shown import tables_in_page

FIELDS = ("path", "roll", "count", "by", "option", "answers", "totals", "suppressed", "rounded", "sheet")
"""What the form says: files, and then options of `audit`."""
READING = ("answers", "totals", "suppressed", "rounded", "sheet")
"""Those that `audit` takes as `--reading NAME=VALUE`."""
GAPS = (("1 to 4", "1-4"), ("0 to 4", "0-4"), ("1 to 9", "1-9"), ("any number", "0-"))
"""What people say most often that a suppressed count may be."""
RULE_NOT_CHECKED = "Not checked: what somebody infers who knows how the cells were chosen."
LISTED = 200
"""Worst cells that are listed."""


def show(bench: Bench, given: Given) -> dict[str, Any]:
    """The form, and what the last check or suppression found."""
    job = None if given.get("path") and not given.get("job") else bench.job(given, "check")
    parts: list[ui.Part] = []
    kind = ""
    if job is not None and job.document is not None:
        kind = job.arguments[0]
        parts = (
            audit_parts(job.document) if kind == "audit" else _suppressed(job.document, job.folder, bool(job.warnings))
        )
        parts += [ui.Paragraph(f"Warning: {line}", "warning") for line in job.warnings]
    return {
        "title": "Check any table",
        "job": job,
        "kind": kind,
        "tables": [] if job is None or job.page is None else tables_in_page(job.page),
        "parts": parts,
        "reading": reading_parts(job.document) if job and job.document and kind == "audit" else [],
        "corrections": corrections(job.document) if job and job.document and kind == "audit" else [],
        "doubtful": bool(job and job.document and any(table["doubts"] for table in job.document.get("reading", ()))),
        "kept": {name: given[name] for name in FIELDS if given.get(name, "").strip()},
        "letter": _letter(job.document, given.get("path", "")) if job and job.document and kind == "audit" else "",
    }


def reading_parts(document: ui.Document) -> list[ui.Part]:
    """How every table was read, before anything that follows from it; amber where that is in doubt."""
    tables = document.get("reading", ())
    doubts = [doubt for table in tables for doubt in table["doubts"]]
    lines: list[ui.Part] = []
    for table in tables:
        name = f"{table['table']}: " if len(tables) > 1 else ""
        lines.append(f"Read as: {name}{table['words']}")
        if table["notes"]:
            lines.append(ui.Paragraph(f"Notes: {name}{'; '.join(table['notes'])}.", "quiet"))
    if not doubts:
        return lines
    return [ui.Headline("partly", "Please confirm how the table was read.", f"{doubts[0]}."), *lines,
            *(ui.Paragraph(f"Doubtful: {doubt}.", "warning") for doubt in doubts[1:])]  # fmt: skip


def corrections(document: ui.Document) -> list[tuple[str, str, str]]:
    """What a person may say about the reading with one click: words, the option, and its value."""
    found: list[tuple[str, str, str]] = []
    tables = [table for table in document.get("reading", ()) if table["role"] == "table"]
    if len(tables) != 1:
        return found
    (table,) = tables
    if any(axis["total"] is not None for axis in table["axes"]):
        found.append(("These are no totals", "totals", "none"))
    for axis in table["axes"] if not table["options"] else ():
        if axis["role"] == "columns" and axis["categories"] == len(axis["labels"]):
            if not any("," in text for text in axis["labels"]):
                found.append(
                    (f"The columns are answers: {', '.join(axis['labels'][:4])}", "answers", ",".join(axis["labels"]))
                )
        elif axis["role"] == "axis" and not axis["name"].startswith("-"):
            found.append((f"{axis['name']} holds answers", "option", axis["name"]))
    if table["gaps"]:
        found += [(f"Gaps are {words}", "suppressed", span) for words, span in GAPS]
    if table["rounded_to"] == 1:
        found += [(f"Counts are rounded to {base}", "rounded", base) for base in ("3", "5", "10")]
    return found


def audit_parts(document: ui.Document) -> list[ui.Part]:
    """The verdict, every attack, and the cells that were disclosed, the smallest counts first."""
    attacks = document["attacks"]
    disclosed = _found(document)
    people = max((attack["people_exposed"] for attack in attacks), default=0)
    doubts = [doubt for table in document.get("reading", ()) for doubt in table["doubts"]]
    if document["safe"] and doubts:
        words = f"{ui.plural(len(attacks), 'attack')} tried, nothing found, but the reading is doubtful."
        verdict = ui.Headline("partly", words, f"{doubts[0]}.")
    elif document["safe"]:
        words = f"{ui.plural(len(attacks), 'attack')} tried, nothing disclosed."
        verdict = ui.Headline("sound", words, "This holds against somebody who knows the tables and what you named.")
    else:
        words = (
            f"Do not publish: {ui.plural(len(disclosed), 'count')} could be inferred or read, "
            f"{ui.plural(people, 'person')} exposed."
        )
        verdict = ui.Headline("unsound", words, "The worst cells are listed below the table.")
    rows = [
        (
            ui.named_cell_label(finding["cell"]) + (f", {finding['option']}" if finding["option"] else ""),
            ui.count_range(finding["lower"], finding["upper"]),
            ui.Tag("disclosed", ", ".join(names)),
            finding["words"],
        )
        for finding, names in disclosed
    ]
    tried = [(attack["attack"], attack["looked_at"], len(attack["findings"]), attack["summary"]) for attack in attacks]
    grid = ui.Grid(("cell", "count", "attack", "how"), rows[:LISTED], total=len(rows), sortable=True)
    return [
        verdict,
        ui.Section("Worst cells", grid) if rows else None,
        ui.Fold("Every attack", ui.Grid(("attack", "looked at", "found", "summary"), tried)),
    ]


def _found(document: ui.Document) -> list[tuple[ui.Document, list[str]]]:
    """Every count that was found, with the attacks that found it, in whatever order of axes; the smallest first."""
    found: dict[object, tuple[ui.Document, list[str]]] = {}
    for attack in document["attacks"]:
        for finding in attack["findings"]:
            _, names = found.setdefault((frozenset(finding["cell"].items()), finding["option"]), (finding, []))
            names.append(attack["attack"])
    return sorted(found.values(), key=lambda each: (each[0]["upper"], str(each[0]["cell"])))


def _letter(document: ui.Document, path: str) -> str:
    """A letter to the office that published the table; nothing where nothing was found."""
    findings = [finding for finding, _ in _found(document)]
    if not findings:
        return ""
    worst = findings[:3]
    lines = [f"- {ui.named_cell_label(finding['cell'])}: {finding['words']}" for finding in worst]
    return "\n".join(
        [
            f"About: {Path(path).name}",
            "",
            f"We checked this table and found that it discloses {ui.plural(len(findings), 'count')} about small "
            "groups. For example:",
            "",
            *lines,
            "",
            "We suggest to suppress these counts, and as few others as are needed to keep them from being inferred.",
            "The check can be repeated with: safemargin audit, and the tables be protected with: safemargin suppress.",
        ]
    )


def _suppressed(document: ui.Document, folder: Path, is_warned: bool) -> list[ui.Part]:
    """What was suppressed, and where the table with its gaps is; amber where something was not shown."""
    cells = document["suppressed"]
    primary = sum(cell["primary"] for cell in cells)
    rows = [(ui.named_cell_label(cell["cell"]), "primary" if cell["primary"] else "secondary") for cell in cells]
    place = folder / Path(document["certificate"]).parent.parent
    best = "No pattern that protects them has fewer cells."
    more = f"Every pattern that protects them has at least {ui.plural(document['lower_bound'], 'cell')}."
    shown = document["rule"] == "rerun"
    except_for = "" if shown and not is_warned else ", with the exceptions below"
    said = f"{ui.plural(len(cells), 'count')} suppressed: {primary:,} primary, {len(cells) - primary:,} secondary."
    return [
        ui.Headline(
            "partly" if except_for else "sound",
            f"You may publish the table in {place.name}/published{except_for}.",
            f"{said} {best if document['gap'] == 0 else more}",
        ),
        ui.Particulars({"to publish": str(place / "published"), "confidential": str(place / "confidential")}),
        ui.Paragraph("" if shown else RULE_NOT_CHECKED, "warning"),
        ui.Fold("Suppressed cells (confidential)", ui.Grid(("cell", "suppression"), rows, sortable=True)),
    ]


def _estimate(path: Path, count: str, by: str | None) -> tuple[ui.Part, ...]:
    """What the table itself prints: quick, and not certified."""
    try:
        tables = read_tables([path], count=count, by=by)
    except SafemarginError:
        return ()  # the command states what is wrong
    exact = [table.lower[table.lower == table.upper] for table in tables]
    small = sum(int(((counts > 0) & (counts <= SMALLEST)).sum()) for counts in exact)
    rows = sum(len(table.lower) for table in tables)
    words = f"{ui.plural(small, 'printed count')} of {rows:,} from 1 to {SMALLEST}. What else can be inferred follows."
    return ui.Paragraph("Estimate, not certified.", "strong"), ui.Paragraph(words)


def audit(bench: Bench, given: Given) -> str:
    """Attack the table."""
    path = bench.existing(given.get("path", ""), "table")
    arguments = ["audit", path]
    if given.get("roll", "").strip():
        arguments += ["--roll", bench.existing(given["roll"], "roll")]
    count, by = given.get("count", "").strip(), given.get("by", "").strip()
    for name in FIELDS[2:]:
        value = given.get(name, "").strip()
        if value.startswith("-"):
            raise InputError(f"{value[:60]!r}: a column does not begin with a dash here")
        asked = ["--reading", f"{name}={value}"] if name in READING else [f"--{name}", value]
        arguments += asked if value else []
    first = _estimate(bench.place.folder / path, count or "count", by or None)
    names = {name: given[name] for name in FIELDS if given.get(name, "").strip()}
    link = f"check?{urlencode(names)}"
    return bench.run(arguments, "The check", link, estimate=first, back=link, page=bench.new_page())


def suppress(bench: Bench, given: Given) -> str:
    """Suppress small counts of the table, and as few others as possible."""
    path = bench.existing(given.get("path", ""), "table")
    primary = given.get("primary", "").strip()
    if not re.fullmatch("[0-9]{1,9}(-[0-9]{1,9})?", primary):
        raise InputError(f"counts to protect: {primary[:60]!r} must be the smallest and the largest, such as 1-3")
    folder = bench.place.unused(f"{Path(path).name.split('.')[0]}-suppressed")
    arguments = ["suppress", path, "--primary", primary, "--out", folder]
    for flag, name in (("--count", "count"), ("--by", "by")):
        value = given.get(name, "").strip()
        arguments += [flag, value] if value and not value.startswith("-") else []
    link = f"check?{urlencode({'path': path})}"
    page = bench.place.folder / folder / CONFIDENTIAL / "report.html"
    return bench.run(arguments, "The suppression", link, back=link, page=page)


SCREEN = Screen("check", "Check any table", show, {"audit": audit, "suppress": suppress})
