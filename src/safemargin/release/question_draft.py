"""Several questions as one draft: a draft of each, one certificate and one document.

Every question is decided, published in memory and attacked like a release of its own (`drafting.py`). With common
groups the decisions are made together (`decide/shared_groups.py`). The release is certified if every question is, and
its label against somebody who knows the rule is the weakest of theirs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from safemargin.core import Progress, Publication
from safemargin.io import rows_of
from safemargin.release.decide.shared_groups import decide_common
from safemargin.release.derived import Scales
from safemargin.release.draft import Draft, draft_document
from safemargin.release.drafting import draft_of
from safemargin.release.fields import Fields, certificate_fields, combined_fields
from safemargin.release.plan import Action, Certificate, Plan
from safemargin.release.question_inputs import QuestionInputs
from safemargin.release.questions import SurveyQuestion
from safemargin.release.report.answers import Origin
from safemargin.release.report.question_report import (
    questions_answers,
    questions_record,
    questions_report,
    questions_verdict,
)
from safemargin.ui import Document, Report, plural

Rows = Sequence[Mapping[str, object]]
SHARP_COUNTS = 2_000
"""Counts of all questions together up to which attacks bound every cell by programs of its own."""


@dataclass(frozen=True, eq=False)
class QuestionsDraft(Draft):
    """What would be published of several questions; `drafts` are those of each, in the order of `questions`."""

    questions: tuple[SurveyQuestion, ...] = ()
    drafts: tuple[Draft, ...] = ()
    grouping: str = "common"
    fields: Fields = field(default_factory=dict)
    """What the certificate states, but for files."""
    each_fields: tuple[Fields, ...] = ()
    """What the certificate of every question by itself would state."""

    @cached_property
    def published_rows(self) -> Mapping[str, Rows]:
        """The rows of every table with a column `question`; a table holds every question that it is published for."""
        tables: dict[str, list[Mapping[str, object]]] = {}
        for question, draft in zip(self.questions, self.drafts, strict=True):
            for table in draft.publication.tables:
                rows = [{"question": question.name, **row} for row in rows_of(table, self.orders)]
                tables.setdefault(table.name, []).extend(rows)
        return tables

    @property
    def scales(self) -> Scales:
        """The options of every question that is a scale."""
        return {question.name: question.options for question in self.questions if question.is_ordered}

    @property
    def stated(self) -> list[dict[str, object]]:
        """What certificate, manifest and document say about every question."""
        return [
            {
                "question": question.name,
                "label": question.label,
                "theme": question.section.theme,
                "options": list(question.options),
                "ordered": question.is_ordered,
                "people": question.people,
                "members": [member.name for member in question.members],
                "target": draft.plan.target.stated(),
            }
            for question, draft in zip(self.questions, self.drafts, strict=True)
        ]

    @property
    def total_exposes(self) -> bool:
        """Whether the total of some question alone shows how everybody answered it."""
        return any(draft.total_exposes for draft in self.drafts)

    @cached_property
    def shares(self) -> tuple[int, int]:
        """Categories of all axes and questions that are exact, and all of them."""
        decisions = [decision for draft in self.drafts for decision in draft.plan.decisions]
        exact = sum(len(decision.group) for decision in decisions if decision.action is Action.EXACT)
        return exact, sum(len(decision.group) for decision in decisions)

    def document(self, folder: Path | str = "", published: Sequence[str] = ()) -> Document:
        """The document of `release --json`: the cells of all questions, each with its question."""
        whole = draft_document(self.drafts[0], folder, published)
        cells, refused, irregular = [], [], []
        for question, draft in zip(self.questions, self.drafts, strict=True):
            own = draft_document(draft, folder)
            cells += [{"question": question.name, **cell} for cell in own["cells"]]
            refused += [{"question": question.name, **refusal} for refusal in own["refused"]]
            irregular += [f"{question.name}: {group}" for group in own["irregular"]]
        exact, every = self.shares
        state, sentence, detail = questions_verdict(self, self._by_question, self.shares)
        answers = questions_answers(self, self._by_question, self.shares)
        kept = ("schema", "published", "certificate", "guarantees")
        return {
            **{key: whole[key] for key in kept},
            "certified": bool(published or self.preview),
            "command": self.command,
            "questions": self.stated,
            "groups": self.grouping,
            "rule": self.plan.certificate.rule,
            "statement": self.plan.certificate.statement,
            "exact": {"cells": exact, "of": every},
            "total_exposes": self.total_exposes,
            "verdict": {"state": state, "sentence": sentence, "detail": detail},
            "answers": [{"question": asked, "answer": answer, "detail": more} for asked, answer, more in answers],
            "cells": cells,
            "refused": refused,
            "irregular": irregular,
            "notes": list(self.plan.notes),
            **({} if self.ledger is None else {"ledger": dict(self.ledger)}),
        }

    def to_report(
        self, folder: Path | str | None = None, explain: bool = False, published: bool = False, manifest: str = ""
    ) -> Report:
        """The report for the office: reasons look at answers, so it is confidential."""
        return questions_report(self, self._by_question, self.shares, self.origin(folder, published, manifest))

    def record(self, origin: Origin, names: Sequence[str] = ()) -> Report:
        """The record to be printed and signed."""
        return questions_record(self, self._by_question, self.shares, origin, names)

    @property
    def _by_question(self) -> list[tuple[SurveyQuestion, Draft]]:
        return list(zip(self.questions, self.drafts, strict=True))


def draft_questions(inputs: QuestionInputs, progress: Progress) -> QuestionsDraft:
    """Decide all questions, publish them in memory, and attack each."""
    project, battery = inputs.project, inputs.battery
    progress("deciding")
    plans: Sequence[Plan | None] = [None] * len(inputs.each)
    is_common = project.tables.groups == "common" and len(inputs.each) > 1
    if is_common:
        tables, targets = [own.table for own in inputs.each], [own.target for own in inputs.each]
        onlookers = [own.onlookers for own in inputs.each]
        plans = decide_common(battery.table, tables, targets, onlookers, protect=project.protect, progress=progress)
    # Attacks bound single cells by programs where that is quick: the proof does not rest on them.
    sharp = None if sum(own.table.votes[0].counts.size for own in inputs.each) <= SHARP_COUNTS else False
    drafts = []
    for own, plan, question in zip(inputs.each, plans, battery.questions, strict=True):
        draft = draft_of(own, progress, backwards=not is_common, decided=plan, sharp=sharp)
        drafts.append(replace(draft, title=question.label))
    certificate = _certificate(battery.questions, [draft.plan.certificate for draft in drafts])
    each = [
        certificate_fields(draft.publication, draft.plan.certificate, own.table, own.onlookers, project.title)
        for draft, own in zip(drafts, inputs.each, strict=True)
    ]
    fields = combined_fields([question.name for question in battery.questions], each, certificate.rule, project.title)
    certificate = replace(certificate, earlier=fields["earlier"]["held"])
    if certificate.certified:
        certificate = replace(certificate, statement=fields["statement"])
    first = drafts[0].plan
    combined = replace(
        first,
        target=project.target,
        decisions=(),
        refusals=tuple(refusal for draft in drafts for refusal in draft.plan.refusals),
        certificate=certificate,
        notes=(*battery.notes, *_notes(battery.questions, drafts)),
        irregular=(),
        witness=(),
        tables=(),
        shared_sums=(),
        beyond=(),
        data_independent=all(draft.plan.data_independent for draft in drafts),
    )
    every = tuple(table for draft in drafts for table in draft.publication.tables)
    return QuestionsDraft(
        combined,
        Publication(every, project.target, rule=drafts[0].publication.rule),
        tuple(findings for draft in drafts for findings in draft.findings),
        title=project.title or "Release",
        onlookers=drafts[0].onlookers,
        orders=drafts[0].orders,
        questions=battery.questions,
        drafts=tuple(drafts),
        grouping="common" if is_common else "each",
        fields=fields,
        each_fields=tuple(each),
    )


def _notes(questions: Sequence[SurveyQuestion], drafts: Sequence[Draft]) -> list[str]:
    """The notes of every question, those that are the same of all once."""
    said: dict[str, list[str]] = {}
    for question, draft in zip(questions, drafts, strict=True):
        for note in draft.plan.notes:
            said.setdefault(note, []).append(question.name)
    return [note if len(names) == len(questions) else f"{', '.join(names)}: {note}" for note, names in said.items()]


def _certificate(questions: Sequence[SurveyQuestion], certificates: Sequence[Certificate]) -> Certificate:
    """One certificate for all questions: it holds if each of theirs does, and is as weak as the weakest."""
    is_rerun = all(certificate.rule == "rerun" for certificate in certificates)
    said: dict[str, list[str]] = {}
    for question, certificate in zip(questions, certificates, strict=True):
        said.setdefault(certificate.statement, []).append(question.name)
    if len(said) == 1:
        many = "Of the question" if len(questions) == 1 else f"Of each of the {plural(len(questions), 'question')}"
        statement = f"{many} {', '.join(question.name for question in questions)}: {next(iter(said))}"
    else:
        statement = " ".join(f"Of {', '.join(names)}: {words}" for words, names in said.items())
    checked: dict[str, int] = {}
    for certificate in certificates:
        for kind, number in certificate.checked.items():
            checked[kind] = checked.get(kind, 0) + number
    linear = sum(certificate.linear for certificate in certificates)
    return Certificate(
        certified=all(certificate.certified for certificate in certificates),
        statement=statement,
        proved="integer" if all(certificate.proved == "integer" for certificate in certificates) else "linear",
        method="; ".join(dict.fromkeys(certificate.method for certificate in certificates)),
        checked=checked,
        linear=linear,
        rule="rerun" if is_rerun else "not shown",
        witnesses=sum(certificate.witnesses for certificate in certificates),
    )
