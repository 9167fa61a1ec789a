"""The gate: read, decide, publish, attack; a `Release` exists only where the plan is certified and every attack failed.

Nobody can build a `Release` by hand: the gate issues it from data, never from a plan, findings or a certificate that
somebody passes in, and keeps a list of those it issued.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn
from weakref import WeakSet

from rich.console import Console

from safemargin.audit.findings import Findings, tried_document
from safemargin.bounds import whole_searches
from safemargin.core import (
    InputError,
    Progress,
    RefusedError,
    Target,
    no_progress,
    numbered,
    one_thread,
)
from safemargin.history.entries import Entry
from safemargin.history.file import record
from safemargin.history.folders import PUBLISHED
from safemargin.io import (
    AUDITORS,
    MANIFEST,
    check_folder,
    hash_bytes,
    write_folder,
)
from safemargin.release.carry import carried_by
from safemargin.release.decide.search import TABLES_STEP
from safemargin.release.demo import is_begun, write_city
from safemargin.release.draft import Draft, confidential_files
from safemargin.release.drafting import draft_of
from safemargin.release.fields import certificate_fields
from safemargin.release.inputs import Inputs, command_of, project_of, read_inputs
from safemargin.release.ledger.locks import log_change
from safemargin.release.plan import Certificate, Plan
from safemargin.release.publish import PAGE, frame_of, release_files
from safemargin.release.question_draft import QuestionsDraft, draft_questions
from safemargin.release.question_files import questions_entry, questions_files
from safemargin.release.question_inputs import QuestionInputs, read_questions
from safemargin.release.recording import (
    LedgerContext,
    entry_of_release,
    ledger_document,
)
from safemargin.release.report.alternatives import WORK, alternatives, effort
from safemargin.release.report.context import is_wanting
from safemargin.release.report.plot import ReleasePlot, release_plot
from safemargin.release.tried import tried_remedies
from safemargin.ui import Document, Report, Result, show_report

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
    _auditors: Mapping[str, bytes]
    _record: "tuple[LedgerContext, Entry] | None"

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
        return {name: self.frame(name) for name in self._passed.published_rows}

    def frame(self, name: str) -> Any:
        """One published table as a DataFrame: the rows of its file."""
        by_name = self._passed.published_rows
        if name not in by_name:
            raise KeyError(f"there is no published table {name!r}; there are {', '.join(by_name)}")
        return frame_of(by_name[name])

    def plot(self, axis: str | None = None, question: str | None = None) -> ReleasePlot:
        """The result as a bar, and how the groups of every axis, or of one, differ. Only published counts are drawn.

        With several questions, `question` names one of them; without it, the first is drawn.
        """
        draft = _draft_of_question(self._passed, question)
        return release_plot(draft.title, draft.publication.tables, draft.orders, axis)

    def to_json(self, folder: Path | str = "") -> Document:
        """The document of `release --json`; files are named as they are, or will be, in `folder`."""
        return self._passed.document(folder, tuple(self._files))

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
        """Write the release into a new folder, the public part under `published`, what auditors may hold under
        `auditors`, and record it in its ledger.

        `names` are who decided it and who checked it, for the decision record.
        """
        folder, draft = Path(path), self._passed
        files = {f"{PUBLISHED}/{name}": content for name, content in self._files.items()}
        files |= {f"{AUDITORS}/{name}": content for name, content in self._auditors.items()}
        files |= confidential_files(draft, self.to_json(folder), folder, True, self._manifest, names)
        if self._record is None:
            write_folder(folder, files)
            return folder
        book, entry = self._record
        record(book.section.file, entry, book.chain, book.seen, folder, files)
        return folder


def _draft_of_question(draft: Draft, question: str | None) -> Draft:
    """The draft of one of several questions, or the draft itself."""
    asked = draft.questions if isinstance(draft, QuestionsDraft) else ()
    names = [each.name for each in asked]
    if question is not None and question not in names:
        listed = f"choose one of {', '.join(names)}" if names else "the release is about one question"
        raise InputError(f"question = {question[:60]!r}: there is no such question; {listed}")
    if not isinstance(draft, QuestionsDraft):
        return draft
    return draft.drafts[0 if question is None else names.index(question)]


def release(
    data: object,
    *,
    answer: str | None = None,
    answers: str | Sequence[str] | None = None,
    by: Sequence[str] | Mapping[str, Mapping[str, object]] | None = None,
    roll: object = None,
    questions: Mapping[str, Mapping[str, object]] | None = None,
    options: Sequence[str] | Mapping[str, object] | None = None,
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
    by (or maps each to what a project file says about an axis). With several questions, `answers` names their columns,
    or is a pattern such as `"q*"`, and `questions` says more about each. The other arguments are the sections of a
    project file. `RefusedError.draft` says what was tried and why it is unsafe. `alternatives` computes every other
    choice that a report lists, however long that takes.
    """
    # Evaluated first, before there are other names here.
    overrides = {name: value for name, value in locals().items() if name not in NO_SECTION and value is not None}
    project, source = project_of(data, overrides)
    progress = numbered(progress, STEPS)
    progress("reading")
    work, command = math.inf if alternatives else WORK, command_of(data, answer, by, protect, target, answers)
    if project.data is not None and project.data.has_questions:
        return _pass_questions(read_questions(project, source), progress, command)
    return pass_gate(read_inputs(project, source), progress, command, work)


def _pass_questions(inputs: QuestionInputs, progress: Progress, command: str) -> Release:
    """The gate for several questions: one release, if each of them is certified and every attack failed."""
    with one_thread(), whole_searches():
        draft = replace(draft_questions(inputs, progress), command=command)
        if inputs.book is not None:
            log_change(inputs.project)
        if not draft.is_sound:
            draft = replace(draft, ledger=ledger_document(inputs.book, None))
            raise RefusedError(f"{draft.headline}. {draft.plan.certificate.statement}", draft)
        progress("writing")
        book = inputs.book
        files, auditors = questions_files(draft, inputs, None if book is None else book.chain.document())
        if book is None:
            return _issued(draft, files, auditors, None)
        entry = questions_entry(draft, inputs, book, hash_bytes(files[MANIFEST]))
        return _issued(replace(draft, ledger=ledger_document(book, entry)), files, auditors, (book, entry))


def pass_gate(
    inputs: Inputs,
    progress: Progress = no_progress,
    command: str = "",
    work: float = WORK,
    salt: str | None = None,
) -> Release:
    """The only place where a `Release` comes from: everything that it rests on is computed here, from the data.

    `salt` hides the folder for auditors where several parties compute one release; otherwise it is drawn.
    """
    with one_thread(), whole_searches():
        return _pass_gate(inputs, progress, command, work, salt)


def _pass_gate(inputs: Inputs, progress: Progress, command: str, work: float, salt: str | None) -> Release:
    draft = replace(draft_of(inputs, progress), command=command)
    if is_wanting(draft) or math.isinf(work):
        progress("looking for alternatives")
        attempt, project = partial(_attempt, inputs), inputs.project
        causes, tried = tried_remedies(inputs, draft, partial(draft_of, progress=no_progress, backwards=False), work)
        pasts = [each.past for each in inputs.onlookers if each.past is not None]
        most = work / 2 / effort(inputs.table, pasts)  # remedies are worth more than choices that were not asked for
        others = alternatives(draft, project.protect, inputs.target, attempt, most)
        draft = replace(draft, alternatives=others, causes=causes, tried=tried)
    if inputs.book is not None:
        log_change(inputs.project)
    if not draft.is_sound:
        draft = replace(draft, ledger=ledger_document(inputs.book, None))
        raise RefusedError(f"{draft.headline}. {draft.plan.certificate.statement}", draft)
    progress("writing")
    project = inputs.project
    fields = certificate_fields(
        draft.publication, draft.plan.certificate, inputs.table, inputs.onlookers, project.title
    )
    files, auditors = release_files(
        draft.publication,
        fields,
        carried_by(project, inputs.table, inputs.onlookers, draft.plan, draft.publication, fields),
        formats=project.outputs.formats,
        quote_formulas=project.outputs.quote_formulas,
        orders=draft.orders,
        onlookers=draft.onlookers,
        ledger=None if inputs.book is None else inputs.book.chain.document(),
        inconsistency=inputs.table.inconsistency.document() if inputs.table.inconsistency.totals else None,
        attacks=[tried_document(findings) for findings in draft.findings],
        salt=salt,
    )
    recorded = None
    if inputs.book is not None:
        entry = entry_of_release(project, inputs.table, inputs.book, draft.publication, hash_bytes(files[MANIFEST]))
        recorded = inputs.book, entry
        draft = replace(draft, ledger=ledger_document(inputs.book, entry))
    return _issued(draft, files, auditors, recorded)


def _issued(
    draft: Draft,
    files: Mapping[str, bytes],
    auditors: Mapping[str, bytes],
    recorded: "tuple[LedgerContext, Entry] | None",
) -> Release:
    issued: Release = object.__new__(Release)
    for name, value in (
        ("_draft", draft),
        ("_files", MappingProxyType(dict(files))),
        ("_auditors", MappingProxyType(dict(auditors))),
        ("_record", recorded),
    ):
        object.__setattr__(issued, name, value)
    _ISSUED.add(issued)
    return issued


def _attempt(inputs: Inputs, protect: str, target: Target) -> Draft:
    """What another choice would publish."""
    aims = inputs.project.aims.model_copy(update={"protect": protect, "beta": target.beta})
    book = None if inputs.book is None else replace(inputs.book, target=target)
    other = replace(inputs, project=inputs.project.model_copy(update={"aims": aims}), book=book)
    return draft_of(other, no_progress, backwards=False)


def demo(
    folder: Path | str = "demo", *, people: int = 500_000, seed: int = 2026, progress: Progress = no_progress
) -> Release:
    """Write a synthetic city into `folder` and release it into `folder/release`."""
    place = Path(folder)
    if not is_begun(place):
        check_folder(place)
    made = release(write_city(place, people, seed), progress=progress)
    made.write(place / "release")
    return made
