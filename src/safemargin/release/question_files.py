"""The files of a release of several questions: one tidy file per table with a column `question`, one certificate.

Beside the tables lies `derived.csv` with the figures that follow from them (`derived.py`), and on request one wide file
per table for spreadsheets. Certificate and manifest state the questions, and auditors get their witnesses.
"""

from collections.abc import Mapping, Sequence

from safemargin.audit.findings import tried_document
from safemargin.history.entries import Entry
from safemargin.io import MANIFEST, WRITERS, file_name, hash_bytes, json_bytes, manifest_bytes, quoted_formulas
from safemargin.release.derived import derived_rows, wide_rows
from safemargin.release.publish import PAGE
from safemargin.release.question_draft import QuestionsDraft
from safemargin.release.question_inputs import QuestionInputs
from safemargin.release.question_witnesses import carry_questions
from safemargin.release.recording import LedgerContext, entry_of_questions, entry_of_release
from safemargin.release.report.question_page import questions_page
from safemargin.release.witnesses import auditor_files

DERIVED, WIDE = "derived.csv", "_wide.csv"
COMMON_RULE = (
    " All questions have the same groups of every axis: a group is merged if any question needs it, along blocks that "
    "the roll of everybody decides. Where single groups are suppressed, each question suppresses its own."
)
EACH_RULE = " Every question is decided by itself."


def questions_files(
    draft: QuestionsDraft, inputs: QuestionInputs, ledger: Mapping[str, str] | None = None
) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """Every file for the public, by name, and every file for auditors; docs/certificate.md describes them."""
    outputs = inputs.project.outputs
    auditors = auditor_files(carry_questions(inputs, draft.drafts, draft.each_fields, draft.grouping == "common"))
    tables = draft.published_rows
    files, names = _table_files(tables, outputs.formats, outputs.quote_formulas, outputs.wide)
    derived = derived_rows(tables, draft.scales)
    files[DERIVED] = WRITERS["csv"](quoted_formulas(derived) if outputs.quote_formulas else derived)
    hashes = {name: hash_bytes(content) for name, content in files.items()}
    listed = [
        {**stated, "files": {name: hashes[name] for name in names[stated["name"]]}} for stated in draft.fields["tables"]
    ]
    known = {name for own in names.values() for name in own}
    certificate = {
        **draft.fields,
        "tables": listed,
        "figures": [name for name in files if name not in known],
        "auditors": hash_bytes(auditors[MANIFEST]),
    }
    rule = draft.publication.rule + (COMMON_RULE if draft.grouping == "common" else EACH_RULE)
    files["certificate.json"] = json_bytes(certificate)
    hashes["certificate.json"] = hash_bytes(files["certificate.json"])
    page = questions_page(certificate, draft.questions, tables, draft.scales, hashes, draft.onlookers, rule)
    files[PAGE] = page.encode()
    hashes[PAGE] = hash_bytes(files[PAGE])
    target = draft.plan.target
    said: dict[str, object] = {
        **{key: certificate[key] for key in ("schema", "kind", "title", "statement", "auditors")},
        "questions": draft.stated,
        "groups": draft.grouping,
        "target": {**target.stated(), "guard": target.band},
        "onlookers": list(draft.onlookers),
        "rule": draft.fields["rule"]["label"],
        "rule_text": rule,
        "attacks": [
            {"question": question.name, **tried_document(findings)}
            for question, own in zip(draft.questions, draft.drafts, strict=True)
            for findings in own.findings
        ],
        "guarantees": [],
        **({} if ledger is None else {"ledger": dict(ledger)}),
    }
    files[MANIFEST] = manifest_bytes(said, hashes)
    return files, auditors


def questions_entry(draft: QuestionsDraft, inputs: QuestionInputs, book: LedgerContext, manifest: str) -> Entry:
    """The release as the ledger keeps it: an entry with one of every question in it."""
    each = {}
    for question, own, drafted in zip(draft.questions, inputs.each, draft.drafts, strict=True):
        assert own.book is not None
        each[question.name] = entry_of_release(own.project, own.table, own.book, drafted.publication, manifest)
    return entry_of_questions(inputs.project, inputs.battery.table, book, each)


def _table_files(
    tables: Mapping[str, Sequence[Mapping[str, object]]], formats: Sequence[str], quote: bool, wide: bool
) -> tuple[dict[str, bytes], dict[str, list[str]]]:
    """Every table in each format, by file name; and the names of the files of every table, wide ones excepted."""
    files: dict[str, bytes] = {}
    names: dict[str, list[str]] = {}
    taken = {"certificate", "manifest", "index", "witnesses", "derived"}
    for name, rows in tables.items():
        stem = file_name(name)
        while {stem.lower(), f"{stem}_wide".lower()} & taken:  # an axis may be called like another file
            stem = f"by_{stem}"
        taken |= {stem.lower(), f"{stem}_wide".lower()}
        names[name] = [f"{stem}.{form}" for form in formats]
        for form in formats:
            files[f"{stem}.{form}"] = WRITERS[form](
                quoted_formulas(list(rows)) if form == "csv" and quote else list(rows)
            )
        if wide:
            spread = wide_rows(rows)
            files[f"{stem}{WIDE}"] = WRITERS["csv"](quoted_formulas(spread) if quote else spread)
    return files, names
