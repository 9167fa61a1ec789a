"""A whole project from its file to its folder: tabulate, decide, publish, audit, report."""

import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

from safemargin.audit.audit import audit
from safemargin.audit.backwards import Rerun
from safemargin.audit.findings import Findings
from safemargin.core import (
    COMPOSITIONS,
    IntArray,
    Onlooker,
    Profile,
    Progress,
    PublishedTable,
    Table,
    Tally,
    Target,
    frozen,
    knowing,
    no_progress,
)
from safemargin.io import check_folder, check_project_facts, read_many, write_folder
from safemargin.release.decide.decide import decide
from safemargin.release.decide.maximise import maximise, withdrawn
from safemargin.release.draft import Draft
from safemargin.release.explain import Explained, explain
from safemargin.release.ledger.budget import budget, recommended_kappa
from safemargin.release.ledger.entry import Entry, Person, person, roll_of
from safemargin.release.ledger.file import read_ledger, recording
from safemargin.release.ledger.remember import check_same, remember
from safemargin.release.maximum import Wanted
from safemargin.release.plan import Plan
from safemargin.release.project import Project
from safemargin.release.publish import publish, release_files
from safemargin.release.report.document import release_document
from safemargin.release.report.margins import margins_document
from safemargin.release.report.page import html_report
from safemargin.release.sections import LedgerSection
from safemargin.release.tabulate import tabulate
from safemargin.release.tabulate.people import tabulate_people
from safemargin.ui import Painter
from safemargin.voting.result import ResultPrivacy, result_privacy
from safemargin.voting.result_report import result_document

REFUSED = "inside/refused"
"""Where it is proved what tables that were refused would give away."""


@dataclass(frozen=True)
class Outcome:
    """Everything that a run produced; `files` are what it wrote or would write."""

    table: Table
    plan: Plan
    release: Draft
    findings: tuple[Findings, ...]
    document: dict[str, object]
    certificates: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def is_safe(self) -> bool:
        """Whether the certificate holds and no attack found anything."""
        return self.plan.certificate.certified and all(each.is_safe for each in self.findings)


@dataclass(frozen=True)
class Book:
    """The ledger as a run finds it: earlier releases about its population, and its people under their own names."""

    section: LedgerSection
    entries: tuple[Entry, ...] = ()
    members: Mapping[Person, Profile] | None = None


def onlookers_of(project: Project, table: Table, book: Book | None = None) -> tuple[Onlooker, ...]:
    """The onlookers that a project names, with the rolls and facts they hold and what they remember."""
    found = []
    for each in project.onlookers:
        onlooker = knowing(table, each.composition, each.name, each.knows_rule)
        past = None
        if book is not None:
            rolls = roll_of(table, each.composition)
            by_group = book.section.assume == "groups"
            past = remember(book.entries, table.schema.names, book.section.cycle, rolls, book.members or {}, by_group)
        facts = read_many(each.facts)
        check_project_facts(facts, table.schema)
        found.append(replace(onlooker, facts=facts, past=past))
    return tuple(found)


def open_book(project: Project, table: Table) -> Book | None:
    """The ledger of a project, checked against it; none if it has none."""
    section = project.ledger
    if section is None:
        return None
    entries = read_ledger(section.file, section.population)
    check_same(section.file, entries, section.population, section.cycle, table.schema)
    members = None
    if section.id is not None:
        people = tabulate_people(project, section.id)
        members = {person(section.population, name): profile for name, profile in people.items()}
    return Book(section, entries, members)


def rule_of(
    table: Table, target: Target, onlookers: Sequence[Onlooker], protect: str, wanted: Sequence[Wanted] = ()
) -> Rerun | None:
    """The whole rule as a function of votes, for an onlooker who runs it backwards; none without a joint roll."""
    if not table.knows_composition:
        return None
    roll = knowing(table, "joint").roll[0]
    codes = frozen(roll.codes[roll.lower > 0], len(roll.axes))

    def rerun(votes: IntArray) -> tuple[PublishedTable, ...]:
        other = replace(table, votes=(Tally(roll.axes, codes, frozen(votes, votes.shape[1])),))
        plan = decide(other, target, onlookers, protect=protect)
        return publish(maximise(plan, other, wanted, onlookers) if wanted else plan, other).tables

    return rerun


def run(project: Project, folder: Path, progress: Progress = no_progress) -> Outcome:
    """Draft a project into `folder`. A release that is not certified is refused: only the report is written."""
    check_folder(folder)
    progress("reading")
    table = tabulate(project)
    book = open_book(project, table)
    with Painter() as painter:
        return _release(project, table, book, folder, painter, progress)


def privacy_of(project: Project, table: Table) -> ResultPrivacy | None:
    """What the exact total, which is always published, tells about one person."""
    return result_privacy(table.schema.options, table.totals.tolist(), project.outcome.belief)


def _release(
    project: Project, table: Table, book: Book | None, folder: Path, painter: Painter, progress: Progress
) -> Outcome:
    title = project.title or "Release"
    watching = onlookers_of(project, table, book)
    progress("deciding")
    with ThreadPoolExecutor(1) as beside:
        asked = beside.submit(privacy_of, project, table)
        plan = decide(table, project.target, watching, protect=project.protect, progress=progress)
        privacy = asked.result()
    if book is not None:
        plan = replace(plan, notes=(*plan.notes, *_floor_notes(book.entries, table, plan)))
    single = plan
    if project.wanted:
        progress("choosing tables of several axes")
        plan = maximise(plan, table, project.wanted, watching, progress=progress)
    release = publish(plan, table, [onlooker.name for onlooker in watching])
    orders = {axis.name: axis.categories for axis in table.schema.axes}
    # pictures that no finding changes
    html_report(title, plan, release, (), orders=orders, draw=painter.order, privacy=privacy)
    progress("attacking")
    rerun = rule_of(table, project.target, watching, project.protect, project.wanted)
    findings = _attacked(release, table, watching, rerun)
    if plan.maximum is not None and not all(each.is_safe for each in findings):
        plan = withdrawn(single, plan, "an attack on the release with it succeeded")
        release = publish(plan, table, release.onlookers)
        findings = _attacked(release, table, watching, rerun)
    progress("writing")
    facts = [fact for onlooker in watching for fact in onlooker.facts]
    explained = explain(plan, release, table, facts) if plan.rejected else Explained()
    certificates = {name: f"{REFUSED}/{file}" for name, file in explained.certificates.items()}
    files: dict[str, bytes] = {}
    entry = None
    if plan.certificate.certified and all(each.is_safe for each in findings):
        public = release_files(release, project.outputs.formats, orders, project.title or "")
        files = {f"published/{name}": content for name, content in public.items()}
        if book is not None:
            manifest = hashlib.sha256(public["manifest.json"]).hexdigest()
            slack = table.inconsistency.slack(int(table.totals.sum()))
            entry = _entry(project, table, release, book, manifest, slack)
    document = release_document(
        plan,
        release,
        [str(folder / name) for name in files],
        str(folder / "published" / "certificate.json") if files else "",
        orders=orders,
    )
    document["certified"] = bool(files)
    if book is not None:
        document["ledger"] = _ledger_document(book, entry)
    if privacy is not None:
        document["outcome"] = result_document(privacy)
    document |= margins_document(plan, {name: str(folder / file) for name, file in certificates.items()}, orders)
    files |= {f"{REFUSED}/{name}": content for name, content in explained.files.items()}
    files["inside/plan.json"] = (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode()
    page = html_report(title, plan, release, findings, orders=orders, draw=painter.draw, privacy=privacy)
    files["inside/report.html"] = page.encode()
    _write(folder, files, book, entry)
    return Outcome(table, plan, release, findings, document, certificates)


def _attacked(release: Draft, table: Table, onlookers: Sequence[Onlooker], rerun: Rerun | None) -> tuple[Findings, ...]:
    slack = table.inconsistency.slack(int(table.totals.sum()))
    return tuple(audit(release, onlooker, slack=slack, sharp=None, rerun=rerun) for onlooker in onlookers)


def _write(folder: Path, files: Mapping[str, bytes], book: Book | None, entry: Entry | None) -> None:
    """The folder and the record of it, or neither."""
    if book is None or entry is None:
        write_folder(folder, files)
        return
    written = False
    try:
        with recording(book.section.file, entry, len(book.entries)):
            write_folder(folder, files)
            written = True
    except BaseException:
        if written:  # what is not recorded must not look published
            shutil.rmtree(folder, ignore_errors=True)
        raise


def _entry(project: Project, table: Table, release: Draft, book: Book, manifest: str, slack: int) -> Entry:
    known = max((each.composition for each in project.onlookers), key=COMPOSITIONS.index)
    return Entry(
        population=book.section.population,
        cycle=book.section.cycle,
        title=project.title,
        target=release.target,
        axes={axis.name: axis.categories for axis in table.schema.axes},
        options=table.schema.options,
        people=int(table.people(()).counts.sum()),
        answered=int(table.totals.sum()),
        manifest=manifest,
        tables=release.tables,
        rolls=roll_of(table, known),
        members=book.members or {},
        slack=slack,
        epsilon=sum(guarantee.epsilon or 0.0 for guarantee in release.guarantees),
    )


def _floor_notes(entries: Sequence[Entry], table: Table, plan: Plan) -> list[str]:
    answered = int(table.totals.sum())
    kappa = recommended_kappa(entries, answered)
    if not entries or kappa <= plan.target.kappa:
        return []
    fewest = min(entries, key=lambda entry: entry.answered)
    return [
        f"{answered:,} people answered, {fewest.answered:,} in {fewest.cycle}: "
        f"kappa = {kappa} would be as strict as the floor then, target.kappa is {plan.target.kappa}."
    ]


def _ledger_document(book: Book, entry: Entry | None) -> dict[str, object]:
    entries = (*book.entries, *([] if entry is None else [entry]))
    return {
        "file": str(book.section.file),
        "population": book.section.population,
        "cycle": book.section.cycle,
        "recorded": entry is not None,
        "earlier": [each.cycle for each in book.entries],
        "budget": budget(entries).document(),
    }
