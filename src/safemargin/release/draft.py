"""What a plan would publish. A draft says why; it is confidential, and nothing can write it to a `published` folder."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from rich.console import Console

from safemargin.core import OutputError
from safemargin.io import json_bytes, write_folder
from safemargin.release.ledger.file import PUBLISHED
from safemargin.release.plan import Evidence
from safemargin.release.report.context import ReportContext
from safemargin.release.report.document import release_document
from safemargin.release.report.page import release_page
from safemargin.release.report.text import show_release
from safemargin.release.report.words import headline
from safemargin.ui import Document, Result

EVIDENCE = "confidential/refused"
"""Where it is proved what tables that were rejected would disclose."""


@dataclass(frozen=True, eq=False)
class Draft(ReportContext, Result):
    """What a plan would publish, with its certificate, what every attack found, and the reason for each decision.

    `ledger` is what the document says about earlier releases.
    """

    evidence: Evidence = field(default_factory=Evidence)
    ledger: Mapping[str, object] | None = None

    def to_json(self, folder: Path | str = "") -> Document:
        """The document of `release --json` for a release that is refused: nothing is published."""
        return draft_document(self, folder)

    def show(self, console: Console, folder: Path | str | None = None, explain: bool = False) -> None:
        """Print what was decided; with `explain` also whom each omitted table of several axes would expose."""
        show_draft(self, console, folder, explain)

    def to_html(self) -> str:
        """The report: reasons look at votes, so it is confidential."""
        return self._page

    @cached_property
    def _page(self) -> str:
        return release_page(self)

    @property
    def headline(self) -> str:
        """The verdict in a few words."""
        return headline(self)

    def write(self, path: Path | str) -> Path:
        """Write the confidential report and evidence into a new folder; a draft is never published."""
        folder = Path(path)
        if PUBLISHED in folder.resolve().parts:
            raise OutputError(f"{folder}: a draft is confidential; name a folder that is not called {PUBLISHED!r}")
        write_folder(folder, confidential_files(self, self.to_json(folder)))
        return folder


def draft_document(draft: Draft, folder: Path | str = "", published: Sequence[str] = ()) -> Document:
    """The document where these files are `published`; names are those of files in `folder`."""
    document = release_document(
        draft,
        [str(Path(folder, PUBLISHED, name)) for name in published],
        {name: str(Path(folder, EVIDENCE, file)) for name, file in draft.evidence.certificates.items()},
    )
    return document if draft.ledger is None else document | {"ledger": dict(draft.ledger)}


def show_draft(
    draft: Draft, console: Console, folder: Path | str | None, explain: bool, published: bool = False
) -> None:
    """Print what was decided, and where the files are."""
    names = draft.evidence.certificates if explain else {}
    certificates = {name: str(Path(folder or "", EVIDENCE, file)) for name, file in names.items()}
    show_release(console, draft, folder, certificates if explain else None, published)


def confidential_files(draft: Draft, document: Document) -> dict[str, bytes]:
    """The files that explain the decisions; `document` is what `plan.json` says."""
    return {
        **{f"{EVIDENCE}/{name}": content for name, content in draft.evidence.files.items()},
        "confidential/plan.json": json_bytes(document),
        "confidential/report.html": draft.to_html().encode(),
    }
