"""The gate: read, decide, publish, attack; a `Release` exists only where the plan is certified and every attack failed.

Nobody can build a `Release` by hand: the gate issues it from data, never from a plan, findings or a certificate that
somebody passes in, and keeps a list of those it issued.
"""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn
from weakref import WeakSet

from rich.console import Console

from safemargin.audit.attack import attack
from safemargin.audit.findings import Findings, tried_document
from safemargin.audit.rerun import Rerun
from safemargin.audit.situation import Finding, people_in
from safemargin.bounds import whole_searches
from safemargin.core import (
    IntArray,
    Onlooker,
    Progress,
    Publication,
    PublishedTable,
    RefusedError,
    Table,
    Tally,
    Target,
    frozen,
    no_progress,
    numbered,
    one_thread,
    onlooker_with_roll,
)
from safemargin.io import (
    MANIFEST,
    check_folder,
    hash_bytes,
    rows_of,
    write_folder,
)
from safemargin.release.decide.decide import decide
from safemargin.release.decide.maximise import maximise, withdraw_margins
from safemargin.release.decide.search import TABLES_STEP
from safemargin.release.demo import write_city
from safemargin.release.draft import Draft, confidential_files, draft_document
from safemargin.release.explain import carried_by, explain
from safemargin.release.inputs import Inputs, command_of, project_of, read_inputs
from safemargin.release.ledger.entries import Entry
from safemargin.release.ledger.file import PUBLISHED, record
from safemargin.release.ledger.locks import log_change
from safemargin.release.plan import Certificate, Evidence, Plan, Wanted
from safemargin.release.publish import PAGE, frame_of, publish, release_files, roll_file
from safemargin.release.recording import (
    Book,
    entry_of_release,
    floor_notes,
    held_to_earlier,
    inconsistency_notes,
    ledger_document,
)
from safemargin.release.report.alternatives import SECONDS, alternatives
from safemargin.release.report.context import is_wanting
from safemargin.release.report.exposed import exposed
from safemargin.ui import Document, Report, Result, plural, show_report
from safemargin.voting.result import result_document, result_privacy, result_section

_ISSUED: "WeakSet[Release]" = WeakSet()
"""What the gate let through. A copy, an unpickled one or one made by hand is not in it."""
NO_SECTION = ("data", "alternatives", "progress")
"""Arguments of `release` that are no section of a project file."""
STEPS = ("reading", "deciding", TABLES_STEP, "attacking", "looking for alternatives", "writing")
"""What a release consists of, in order; some of it only where it is asked for, or needed."""
_CLOSED = "a Release cannot be built or copied; call safemargin.release, which decides and attacks what it publishes"


class Release(Result):
    """Tables that may be published: the plan is certified, and every attack of every onlooker failed.

    `write` gives the folder of the release, `tables` what is published as DataFrames.
    """

    _draft: Draft
    _files: Mapping[str, bytes]
    _record: "tuple[Book, Entry] | None"

    def __new__(cls, *_: object, **__: object) -> "Release":
        raise RefusedError(_CLOSED)

    def __init_subclass__(cls) -> NoReturn:
        raise RefusedError(_CLOSED)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a Release does not change: {name} cannot be set")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a Release does not change: {name} cannot be deleted")

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise RefusedError(_CLOSED)

    @property
    def _passed(self) -> Draft:
        """The draft that passed the gate; only where this value came out of it."""
        if self not in _ISSUED:
            raise RefusedError(_CLOSED)
        return self._draft

    @property
    def plan(self) -> Plan:
        """Every decision with its reason: confidential."""
        return self._passed.plan

    @property
    def draft(self) -> Draft:
        """What would be published, with a preview of the public page: to look at before `write`, and confidential."""
        return replace(self._passed, preview=self._files[PAGE])

    @property
    def certificate(self) -> Certificate:
        """What was proved."""
        return self._passed.plan.certificate

    @property
    def findings(self) -> tuple[Findings, ...]:
        """What every onlooker can infer, and the attacks that failed."""
        return self._passed.findings

    @property
    def tables(self) -> dict[str, Any]:
        """Every published table as a DataFrame, by name."""
        return {table.name: self.frame(table.name) for table in self._passed.publication.tables}

    def frame(self, name: str) -> Any:
        """One published table as a DataFrame: the rows of its file."""
        by_name = {table.name: table for table in self._passed.publication.tables}
        if name not in by_name:
            raise KeyError(f"there is no published table {name!r}; there are {', '.join(by_name)}")
        return frame_of(rows_of(by_name[name], self._draft.orders))

    def to_json(self, folder: Path | str = "") -> Document:
        """The document of `release --json`; files are named as they are, or will be, in `folder`."""
        return draft_document(self._passed, folder, tuple(self._files))

    def show(self, console: Console, folder: Path | str | None = None, explain: bool = False) -> None:
        """Print what is published; with `explain` also whom each omitted table of several axes would expose."""
        show_report(console, self.to_report(folder, explain))

    def to_report(self, folder: Path | str | None = None, explain: bool = False) -> Report:
        """The report of the office: reasons look at votes, so it is confidential."""
        return self._passed.to_report(folder, explain, published=True, manifest=self._manifest)

    @property
    def _manifest(self) -> str:
        return hash_bytes(self._files[MANIFEST])

    def write(self, path: Path | str, names: Sequence[str] = ()) -> Path:
        """Write the release into a new folder, the public part under `published`, and record it in its ledger.

        `names` are who decided it and who checked it, for the decision record.
        """
        folder, draft = Path(path), self._passed
        files = {f"{PUBLISHED}/{name}": content for name, content in self._files.items()}
        files |= confidential_files(draft, self.to_json(folder), folder, True, self._manifest, names)
        if self._record is None:
            write_folder(folder, files)
            return folder
        book, entry = self._record
        record(book.section.file, entry, book.chain, len(book.entries), folder, files)
        return folder


def release(
    data: object,
    *,
    answer: str | None = None,
    by: Sequence[str] | Mapping[str, Mapping[str, object]] | None = None,
    roll: object = None,
    options: Sequence[str] | None = None,
    blank: str | None = None,
    count: str | None = None,
    missing: Sequence[str] | None = None,
    skip: Mapping[str, Sequence[str]] | None = None,
    contest: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    table: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    engine: str | None = None,
    master: str | None = None,
    target: Target | None = None,
    protect: str | None = None,
    onlookers: Sequence[Mapping[str, object]] | None = None,
    ledger: Mapping[str, object] | None = None,
    tables: Mapping[str, object] | None = None,
    outputs: Mapping[str, object] | None = None,
    title: str | None = None,
    alternatives: bool = False,
    progress: Progress = no_progress,
) -> Release:
    """Decide what may be published of `data`, prove it, attack it; refuse with `RefusedError` if the target is not met.

    `data` is a project (a `Project` or a `.toml` file), which says everything itself; or a data file, an address, a
    DataFrame, an Arrow table or rows, and then `answer` names the column with the answers and `by` the columns to count
    by (or maps each to what a project file says about an axis). The other arguments are the sections of a project file.
    `RefusedError.draft` says what was tried and why it is unsafe. `alternatives` computes every other choice that a
    report lists, however long that takes.
    """
    # Evaluated first, before there are other names here.
    said = {name: value for name, value in locals().items() if name not in NO_SECTION and value is not None}
    project, source = project_of(data, said)
    progress = numbered(progress, STEPS)
    progress("reading")
    seconds = math.inf if alternatives else SECONDS
    return pass_gate(read_inputs(project, source), progress, command_of(data, answer, by, protect, target), seconds)


def pass_gate(inputs: Inputs, progress: Progress = no_progress, command: str = "", seconds: float = SECONDS) -> Release:
    """The only place where a `Release` comes from: everything that it rests on is computed here, from the data."""
    with one_thread(), whole_searches():
        return _pass_gate(inputs, progress, command, seconds)


def _pass_gate(inputs: Inputs, progress: Progress, command: str, seconds: float) -> Release:
    started = time.process_time()
    draft = replace(_draft(inputs, progress), command=command)
    if is_wanting(draft) or math.isinf(seconds):
        progress("looking for alternatives")
        attempt, project = partial(_attempt, inputs), inputs.project
        taken = time.process_time() - started
        left = seconds - taken if taken < seconds / 2 else 0.0
        draft = replace(draft, alternatives=alternatives(draft, project.protect, inputs.target, attempt, left))
    if inputs.book is not None:
        log_change(inputs.project)
    if not draft.is_sound:
        draft = replace(draft, ledger=ledger_document(inputs.book, None))
        raise RefusedError(f"{draft.headline}. {draft.plan.certificate.statement}", draft)
    progress("writing")
    project = inputs.project
    files = release_files(
        draft.publication,
        draft.plan.certificate,
        formats=project.outputs.formats,
        quote_formulas=project.outputs.quote_formulas,
        orders=draft.orders,
        onlookers=draft.onlookers,
        title=project.title,
        ledger=None if inputs.book is None else inputs.book.chain.document(),
        inconsistency=inputs.table.inconsistency.document() if inputs.table.inconsistency.totals else None,
        carried=carried_by(project, inputs.table, inputs.onlookers, draft.plan, draft.publication),
        attacks=[tried_document(findings) for findings in draft.findings],
    )
    recorded = None
    if inputs.book is not None:
        entry = entry_of_release(project, inputs.table, inputs.book, draft.publication, hash_bytes(files[MANIFEST]))
        recorded = inputs.book, entry
        draft = replace(draft, ledger=ledger_document(inputs.book, entry))
    issued: Release = object.__new__(Release)
    for name, value in (("_draft", draft), ("_files", MappingProxyType(files)), ("_record", recorded)):
        object.__setattr__(issued, name, value)
    _ISSUED.add(issued)
    return issued


def _attempt(inputs: Inputs, protect: str, target: Target, progress: Progress) -> Draft:
    """What another choice would publish."""
    aims = inputs.project.aims.model_copy(update={"protect": protect, "beta": target.beta})
    book = None if inputs.book is None else replace(inputs.book, target=target)
    other = replace(inputs, project=inputs.project.model_copy(update={"aims": aims}), book=book)
    return _draft(other, progress, backwards=False)


def _draft(inputs: Inputs, progress: Progress, backwards: bool = True) -> Draft:
    """Decide, publish in memory, and attack that; an alternative is not attacked by running the rule `backwards`."""
    project, table, onlookers = inputs.project, inputs.table, inputs.onlookers
    progress("deciding")
    single = decide(table, inputs.target, onlookers, protect=project.protect, progress=progress)
    notes = [*inputs.notes, *single.notes, *inconsistency_notes(table)]
    if inputs.book is not None:
        notes += floor_notes(inputs.book.entries, table, single)
    single = replace(single, notes=tuple(notes))
    plan = single
    if project.wanted:
        progress(TABLES_STEP)
        plan = maximise(plan, table, project.wanted, onlookers, protect=project.protect, progress=progress)
    progress("attacking")
    publication = publish(plan, table)
    # Where witnesses show that the rule publishes the same for other answers, running it on every possible table, which
    # only small populations have few of, adds nothing; where they do not, it is the only evidence.
    is_open = backwards and plan.certificate.rule != "rerun"
    rerun = rule_of(table, inputs.target, onlookers, project.protect, project.wanted) if is_open else None
    findings = _attack(publication, inputs, rerun)
    if plan.maximum is not None and not all(result.is_safe for result in findings):
        plan = withdraw_margins(single, plan, "an attack on the release with it succeeded")
        publication = publish(plan, table)
        findings = _attack(publication, inputs, rerun)
    if inputs.book is not None and inputs.book.weaker:
        plan = held_to_earlier(plan, publication, table, onlookers, inputs.book)
    if plan.certificate.rule == "rerun":
        shown = {"rerun": "the certificate holds witnesses, and the program publishes the same for each of them"}
        findings = tuple(replace(result, skipped={**result.skipped, **shown}) for result in findings)
    facts = [fact for onlooker in onlookers for fact in onlooker.facts]
    privacy = result_privacy(table.schema.options, table.totals.tolist(), project.outcome.belief)
    return Draft(
        plan,
        publication,
        findings,
        title=project.title or "Release",
        onlookers=tuple(onlooker.name for onlooker in onlookers),
        orders={axis.name: axis.categories for axis in table.schema.axes},
        outcome=None if privacy is None else result_document(privacy),
        result=None if privacy is None else result_section(privacy),
        exposed=exposed(table, inputs.target, [wanted.axes for wanted in project.wanted]),
        roll=roll_file(table) if backwards else b"",
        evidence=explain(plan, publication, table, facts) if plan.rejected and backwards else Evidence(),
    )


def _attack(publication: Publication, inputs: Inputs, rerun: Rerun | None) -> tuple[Findings, ...]:
    """Every attack of every onlooker, less what the total and the facts of the onlooker disclose by themselves."""
    findings = []
    for onlooker in inputs.onlookers:
        # To run the rule on all that is possible takes the people of every profile, which only a joint roll gives.
        again = rerun if onlooker.composition(inputs.table.schema.names) == "joint" else None
        result = attack(publication, onlooker, slack=inputs.slack, sharp=None, rule_again=again)
        if not result.is_safe:
            known: set[object] = set()
            if onlooker.facts or len(publication.tables) == 1:
                total = replace(publication, tables=publication.tables[:1], guarantees=(), rule="", witness=())
                before = attack(total, replace(onlooker, past=None), slack=inputs.slack, sharp=None)
                known = {_key(finding) for attempt in before.attempts for finding in attempt.findings}
            result = _less(result, known, _unanimous(inputs.table))
        findings.append(result)
    return tuple(findings)


def _unanimous(table: Table) -> set[str | None]:
    """Options that everybody or nobody chose: the total says so of every group."""
    people = int(table.people(()).counts.sum())
    return {
        name for name, total in zip(table.schema.options, table.totals.tolist(), strict=True) if total in (0, people)
    }


def _less(findings: Findings, known: set[object], settled: set[str | None]) -> Findings:
    """Findings without those that were possible before the release, for the same cell and with the same interval."""
    attempts = []
    for attempt in findings.attempts:
        new = tuple(
            finding for finding in attempt.findings if _key(finding) not in known and finding.option not in settled
        )
        if len(new) < len(attempt.findings):
            old = len(attempt.findings) - len(new)
            summary = f"{attempt.summary}; {plural(old, 'cell')} known before the release"
            attempt = replace(attempt, findings=new, summary=summary, people_exposed=people_in(new))
        attempts.append(attempt)
    return replace(findings, attempts=tuple(attempts))


def _key(finding: Finding) -> tuple[object, ...]:
    return tuple(sorted(finding.cell.items())), finding.option, finding.lower, finding.upper


def rule_of(
    table: Table, target: Target, onlookers: Sequence[Onlooker], protect: str, wanted: Sequence[Wanted] = ()
) -> Rerun | None:
    """The whole rule as a function of votes, for an onlooker who runs it backwards; none without a joint roll."""
    if not table.knows_composition:
        return None
    roll = onlooker_with_roll(table, "joint").roll[0]
    codes = frozen(roll.codes[roll.lower > 0], len(roll.axes))

    def rerun(votes: IntArray) -> tuple[PublishedTable, ...]:
        other = replace(table, votes=(Tally(roll.axes, codes, frozen(votes, votes.shape[1])),))
        plan = decide(other, target, onlookers, protect=protect)
        if wanted:
            plan = maximise(plan, other, wanted, onlookers, protect=protect)
        return publish(plan, other).tables

    return rerun


def demo(
    folder: Path | str = "demo", *, people: int = 500_000, seed: int = 2026, progress: Progress = no_progress
) -> Release:
    """Write a synthetic city into `folder` and release it into `folder/release`."""
    place = Path(folder)
    check_folder(place)
    made = release(write_city(place, people, seed), progress=progress)
    made.write(place / "release")
    return made
