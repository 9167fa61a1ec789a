"""What a plan would publish. A draft says why; it is confidential, and nothing can write it to a `published` folder."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date
from itertools import zip_longest
from pathlib import Path

from rich.console import Console

from safemargin import __version__
from safemargin.core import OutputError
from safemargin.history.folders import PUBLISHED
from safemargin.io import json_bytes, rows_of, write_folder
from safemargin.release.plan import Evidence
from safemargin.release.report.answers import (
    Origin,
    alternatives_rows,
    alternatives_section,
    files_section,
    noised_section,
    remedies_section,
    three_answers,
    verdict,
)
from safemargin.release.report.before_after import choices_block, remedies_block, strips_section, tables_section
from safemargin.release.report.context import ReportContext, headline, kept_of_asked
from safemargin.release.report.document import release_document
from safemargin.release.report.sections import (
    certificate_section,
    cost_section,
    decisions_section,
    exposed_section,
    glossary_section,
    margins_section,
    onlookers_section,
    rejected_section,
)
from safemargin.ui import (
    Answers,
    Columns,
    Document,
    Figures,
    Fold,
    Grid,
    Headline,
    InTerminal,
    OnPage,
    Paragraph,
    Part,
    Points,
    Report,
    Result,
    Section,
    Signatures,
    exact_percent,
    render_report,
    show_report,
)

PREVIEW = "confidential/preview.html"
"""The page for the public, as it would be."""
EVIDENCE = "confidential/refused"
"""Where it is proved what tables that were rejected would disclose."""


@dataclass(frozen=True, eq=False)
class Draft(ReportContext, Result):
    """What a plan would publish, with its certificate, what every attack found, and the reason for each decision.

    `ledger` is what the document says about earlier releases, `command` how to make the release again.
    """

    evidence: Evidence = field(default_factory=Evidence)
    ledger: Mapping[str, object] | None = None
    command: str = ""
    roll: bytes = b""
    """The joint roll as a file, with which others verify what is published."""
    preview: bytes = b""
    """The page that the public would see, where the release passed the gate and is not written yet."""

    @property
    def published_rows(self) -> Mapping[str, Sequence[Mapping[str, object]]]:
        """The rows of every published table, by its name."""
        return {table.name: rows_of(table, self.orders) for table in self.publication.tables}

    def to_json(self, folder: Path | str = "") -> Document:
        """The document of `release --json` for a release that is refused: nothing is published."""
        return self.document(folder)

    def document(self, folder: Path | str = "", published: Sequence[str] = ()) -> Document:
        """The document where these files are `published`."""
        return draft_document(self, folder, published)

    def record(self, origin: Origin, names: Sequence[str] = ()) -> Report:
        """The record to be printed and signed."""
        return decision_record(self, origin, names)

    def to_report(
        self, folder: Path | str | None = None, explain: bool = False, published: bool = False, manifest: str = ""
    ) -> Report:
        """The report: reasons look at votes, so it is confidential.

        With `explain` the terminal also says whom each omitted table of several axes would expose. `manifest` is the
        hash of the manifest of what is `published` in the `folder`.
        """
        names = self.evidence.certificates if explain else {}
        certificates = {name: str(Path(folder or "", EVIDENCE, file)) for name, file in names.items()}
        return release_report(self, self.origin(folder, published, manifest), certificates if explain else None)

    def origin(self, folder: Path | str | None = None, published: bool = False, manifest: str = "") -> Origin:
        """Where the release is and where it comes from."""
        facts = {"date": date.today().isoformat(), "made with": f"safemargin {__version__}"}
        command = f"{self.command} --out {folder}" if self.command and folder else self.command
        hashed = {"SHA-256 of the manifest": manifest} if manifest else {}
        return Origin(str(folder or ""), published, command, facts | hashed)

    def show(self, console: Console, folder: Path | str | None = None, explain: bool = False) -> None:
        """Print what was decided; with `explain` also whom each omitted table of several axes would expose."""
        show_report(console, self.to_report(folder, explain))

    @property
    def headline(self) -> str:
        """The verdict in a few words."""
        return headline(self)

    def write(self, path: Path | str) -> Path:
        """Write the confidential report and evidence into a new folder; a draft is never published."""
        folder = Path(path)
        if PUBLISHED in folder.resolve().parts:
            raise OutputError(f"{folder}: a draft is confidential; name a folder that is not called {PUBLISHED!r}")
        write_folder(folder, confidential_files(self, self.to_json(folder), folder))
        return folder


def draft_document(draft: Draft, folder: Path | str = "", published: Sequence[str] = ()) -> Document:
    """The document where these files are `published`; names are those of files in `folder`."""
    state, sentence, detail = verdict(draft)
    document = release_document(
        draft,
        [str(Path(folder, PUBLISHED, name)) for name in published],
        {name: str(Path(folder, EVIDENCE, file)) for name, file in draft.evidence.certificates.items()},
    )
    document |= {
        "certified": bool(published or draft.preview),
        "command": draft.command,
        "kept": {name: {"exact": shown, "asked": asked} for name, (shown, asked) in kept_of_asked(draft).items()},
        "verdict": {"state": state, "sentence": sentence, "detail": detail},
        "answers": [
            {"question": question, "answer": answer, "detail": more} for question, answer, more in three_answers(draft)
        ],
        "causes": list(draft.causes),
        "remedies": [asdict(remedy) for remedy in draft.tried],
        "alternatives": [
            {
                "words": choice.words,
                "options": choice.options(draft.plan.target.beta),
                "limit": choice.beta,
                "kept": dict(choice.kept),
                "share": choice.share,
                "state": choice.state,
            }
            for choice in draft.alternatives
        ],
    }
    return document if draft.ledger is None else document | {"ledger": dict(draft.ledger)}


def confidential_files(
    draft: Draft,
    document: Document,
    folder: Path | str = "",
    published: bool = False,
    manifest: str = "",
    names: Sequence[str] = (),
) -> dict[str, bytes]:
    """The files that explain the decisions; `document` is what `plan.json` says, `names` sign the record."""
    report = draft.to_report(folder, published=published, manifest=manifest)
    record = draft.record(draft.origin(folder, published, manifest), names)
    return {
        **{f"{EVIDENCE}/{name}": content for name, content in draft.evidence.files.items()},
        "confidential/plan.json": json_bytes(document),
        "confidential/report.html": render_report(report).encode(),
        "confidential/record.html": render_report(record).encode(),
        **({"confidential/roll.csv": draft.roll} if published and draft.roll else {}),
        **({PREVIEW: draft.preview} if draft.preview else {}),
    }


TASKS = ("decided by", "checked by")
"""What the two who sign a decision record did."""
BANNER = ("Confidential.", "The reasons on this page look at votes. Do not publish it.")


def release_report(context: ReportContext, origin: Origin, certificates: Mapping[str, str] | None = None) -> Report:
    """Everything for the office that made the release. It holds reasons that look at votes.

    `certificates` are files by table of several axes: the terminal then says whom each omitted one would expose.
    """
    plan = context.plan
    rejected = rejected_section(context)
    printed = [
        *first_screen(context, origin),
        *(Paragraph(note, "warning") for note in plan.notes),
        exposed_section(context),
        cost_section(context),
        margins_section(context, certificates),
        onlookers_section(context),
        rejected if plan.refusals else None,
        certificate_section(context),
    ]
    return Report(context.title, InTerminal(*printed), OnPage(*_page(context, origin)), banner=BANNER)


def _page(context: ReportContext, origin: Origin) -> list[Part]:
    """The page: verdict, what was lost and would help, before and after, what is published; then what it rests on."""
    state, sentence, detail = verdict(context)
    decisions, choices = decisions_section(context), choices_block(context)
    as_table = alternatives_section(context, origin)
    return [
        Headline(state, sentence, detail),
        Answers(three_answers(context)),
        remedies_block(context),
        *(Paragraph(note, "warning") for note in context.plan.notes),
        strips_section(context),
        Columns(choices, decisions) if choices else decisions,
        Fold("Other choices in figures, with their commands", as_table) if as_table else None,
        noised_section(context),
        tables_section(context),
        exposed_section(context),
        margins_section(context, None),
        onlookers_section(context),
        rejected_section(context),
        context.result,
        certificate_section(context),
        files_section(origin),
        Fold("Cost by axis", cost_section(context)),
        glossary_section(context),
    ]


def first_screen(context: ReportContext, origin: Origin) -> list[Part]:
    """May I publish, what did it cost, who would be exposed; the folders; what else could be done."""
    state, sentence, detail = verdict(context)
    return [
        Headline(state, sentence, detail),
        Answers(three_answers(context)),
        remedies_section(context),
        noised_section(context),
        files_section(origin),
        alternatives_section(context, origin),
    ]


def decision_record(context: ReportContext, origin: Origin, names: Sequence[str] = ()) -> Report:
    """The record to be printed and signed: limits, attempts, what was decided, and by whom."""
    _, sentence, detail = verdict(context)
    target = context.plan.target
    limits = {
        "no share may be inferred below": exact_percent(target.beta),
        "or above": exact_percent(1 - target.beta),
        "least people of a published group": target.kappa,
        "a count is disclosed if its interval is no wider than": target.tau,
    }
    columns, rows = alternatives_rows(context)
    return Report(
        f"Decision record: {context.title}",
        Paragraph(sentence, "strong"),
        detail,
        files_section(origin),
        Section(
            "Limits",
            Figures(limits),
            f"Onlookers considered: {', '.join(context.onlookers) or 'none'}.",
            Points(context.plan.notes),
        ),
        Section("Attempts", Grid(columns, rows), Points([str(refusal) for refusal in context.plan.refusals[:10]])),
        cost_section(context),
        Section("Certificate", context.plan.certificate.statement),
        Signatures([f"{task} {name}".rstrip() for task, name in zip_longest(TASKS, names, fillvalue="")]),
        banner=BANNER,
    )
