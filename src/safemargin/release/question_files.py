"""The files of a release of several questions: one tidy file per table with a column `question`, one certificate.

Beside the tables lies `derived.csv` with the figures that follow from them (`derived.py`), and on request one wide file
per table for spreadsheets. Certificate and manifest state the questions; witnesses are not carried.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from safemargin.audit.findings import tried_document
from safemargin.bounds import QUESTIONS
from safemargin.io import MANIFEST, WRITERS, file_name, hash_bytes, json_bytes, manifest_bytes, quoted_formulas
from safemargin.release.derived import derived_rows, wide_rows
from safemargin.release.project import Project
from safemargin.release.publish import PAGE
from safemargin.release.question_draft import QuestionsDraft
from safemargin.release.report.question_report import questions_page

SEVERAL = "the release has several questions, and the witnesses of these are not carried"
DERIVED, WIDE = "derived.csv", "_wide.csv"
COMMON_RULE = (
    " All questions have the same groups of every axis: a group is merged if any question needs it, along blocks that "
    "the roll of everybody decides. Where single groups are suppressed, each question suppresses its own."
)
EACH_RULE = " Every question is decided by itself."


def questions_files(draft: QuestionsDraft, project: Project) -> dict[str, bytes]:
    """Every file of the release by name."""
    tables, outputs = draft.published_rows, project.outputs
    files = _table_files(tables, outputs.formats, outputs.quote_formulas, outputs.wide)
    derived = derived_rows(tables, draft.scales)
    files[DERIVED] = WRITERS["csv"](quoted_formulas(derived) if outputs.quote_formulas else derived)
    hashes = {name: hash_bytes(content) for name, content in files.items()}
    certificate, target = draft.plan.certificate, draft.plan.target
    rule = draft.publication.rule + (COMMON_RULE if draft.grouping == "common" else EACH_RULE)
    public: dict[str, object] = {
        "schema": 1,
        "kind": QUESTIONS,
        "title": project.title,
        "questions": draft.stated,
        "groups": draft.grouping,
        "target": {**target.stated(), "guard": target.band},
        "onlookers": list(draft.onlookers),
        "rule": certificate.rule,
        "rule_text": rule,
        "attacks": [
            {"question": question.name, **tried_document(findings)}
            for question, own in zip(draft.questions, draft.drafts, strict=True)
            for findings in own.findings
        ],
    }
    stated: dict[str, object] = {**public, "statement": certificate.statement, "guarantees": []}
    held = {"carried": {"reason": SEVERAL}, "files": hashes}
    files["certificate.json"] = json_bytes({**public, **asdict(certificate), **held})
    hashes["certificate.json"] = hash_bytes(files["certificate.json"])
    page = questions_page(
        project.title, draft.questions, tables, draft.scales, certificate, hashes, draft.onlookers, rule
    )
    files[PAGE] = page.encode()
    hashes[PAGE] = hash_bytes(files[PAGE])
    files[MANIFEST] = manifest_bytes(stated, hashes)
    return files


def _table_files(
    tables: Mapping[str, Sequence[Mapping[str, object]]], formats: Sequence[str], quote: bool, wide: bool
) -> dict[str, bytes]:
    """Every table in each format, by file name."""
    files: dict[str, bytes] = {}
    taken = {"certificate", "manifest", "index", "witnesses", "derived"}
    for name, rows in tables.items():
        stem = file_name(name)
        while {stem.lower(), f"{stem}_wide".lower()} & taken:  # an axis may be called like another file
            stem = f"by_{stem}"
        taken |= {stem.lower(), f"{stem}_wide".lower()}
        for form in formats:
            files[f"{stem}.{form}"] = WRITERS[form](
                quoted_formulas(list(rows)) if form == "csv" and quote else list(rows)
            )
        if wide:
            spread = wide_rows(rows)
            files[f"{stem}{WIDE}"] = WRITERS["csv"](quoted_formulas(spread) if quote else spread)
    return files
