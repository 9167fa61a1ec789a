"""The result of `suppress`: as JSON, in a terminal, as a page, and as files."""

import csv
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path

from safemargin import ui
from safemargin.core import IntArray, Lattice
from safemargin.history.contents import GAP
from safemargin.history.file import record
from safemargin.history.folders import PUBLISHED
from safemargin.io import (
    CONFIDENTIAL,
    MANIFEST,
    ReadingOptions,
    ReadTable,
    hash_bytes,
    manifest_bytes,
    reading_document,
    reading_lines,
    write_folder,
)
from safemargin.suppress.coloured import coloured_patterns
from safemargin.suppress.pattern import Pattern
from safemargin.suppress.public_proof import PublicProof, prove_in_public
from safemargin.suppress.recording import SuppressionBook, printed
from safemargin.suppress.written import WrittenBack, written_back

PATTERN, CERTIFICATE, PAGE = "pattern.csv", f"{CONFIDENTIAL}/certificate.json", "report.html"
PROOF = "certificate.json"
"""The certificate beside the published tables, which holds nothing that is not printed."""
MAX_LISTED = 30
STATEMENT = "no suppressed count can be inferred to an interval no wider than tau from all printed counts together"


@dataclass(frozen=True)
class Suppression(ui.Result):
    """A pattern, the names of the files to write, and the contents of the files published before.

    With a `book`, `write` also records the tables in its ledger.
    """

    pattern: Pattern
    names: tuple[str, ...]
    earlier: Mapping[str, bytes]
    book: SuppressionBook | None = None
    found: tuple[ReadTable | None, ...] = ()
    """Tables that are not tidy, as they were read; they are also written in the form that they had."""
    files: tuple[Path | None, ...] = ()
    """The files of all tables; those of a format with types are written in it, tidy or not."""
    count: str | None = None
    rows: tuple[IntArray | None, ...] = ()
    """For every row of each file its place in the table."""
    reading: ReadingOptions = ReadingOptions()

    @property
    def reads(self) -> tuple[ReadTable, ...]:
        """How tables were read that are not tidy."""
        return tuple(read for read in self.found if read is not None)

    def to_json(self) -> ui.Document:
        """The suppressed cells and the lower bound. It names primary cells, so it is confidential."""
        pattern = self.pattern
        return {
            "schema": ui.SCHEMA,
            "suppressed": [
                {"cell": pattern.tables.cell(cell_id), "primary": primary}
                for cell_id, primary in zip(pattern.suppressed.tolist(), pattern.is_primary.tolist(), strict=True)
            ],
            "lower_bound": pattern.lower_bound,
            "gap": pattern.gap,
            "cost": dict(zip(("suppressed", "at_least"), pattern.cost, strict=True)),
            "rule": "rerun" if pattern.rerun.shown else "not shown",
            "certificate": CERTIFICATE,
            "reading": reading_document(self.reads),
        }

    def to_html(self) -> str:
        """The page; every gap has two tables that print the same, and the certificates can be checked in it."""
        return ui.render_report(self._report(noted=True), ui.CHECK)

    def to_report(self) -> ui.Report:
        return self._report(noted=False)

    def _report(self, noted: bool) -> ui.Report:
        pattern = self.pattern
        rows = [
            (pattern.tables.name(cell_id), "primary" if primary else "secondary")
            for cell_id, primary in zip(pattern.suppressed.tolist(), pattern.is_primary.tolist(), strict=True)
        ]
        also = [f"also suppressed: {name}" for name, kind in rows if kind == "secondary"]
        summary = list(self._summary())
        state, headline = "sound", "You may publish the tables in published/."
        if len(pattern.exposed) or len(pattern.known) or not pattern.rerun.shown:
            state, headline = "partly", "You may publish the tables in published/, with the exceptions below."
        return ui.Report(
            "Suppressed cells",
            *reading_lines(self.reads),
            ui.OnPage(*(ui.Paragraph(f"Warning: {line}", "warning") for line in self.warnings())),
            ui.OnPage(ui.Headline(state, headline, summary[0])),
            ui.InTerminal(summary[0]),
            *summary[1:],
            *self._back.lines,
            ui.InTerminal(ui.Points(also, most=MAX_LISTED)),
            *(ui.Section(table.caption, table) for table in coloured_patterns(pattern, self.names, noted)),
            ui.OnPage(ui.Fold("The suppressed cells as a list", ui.Grid(("cell", "suppression"), rows, sortable=True))),
            banner=("Confidential.", "Primary cells are named: do not publish this page."),
        )

    def write(self, path: Path | str) -> Path:
        """Write the tables with their gaps, and the certificate, into a new folder, and record them in their ledger."""
        folder = Path(path)
        texts = {name: pattern_csv(self.pattern, index).encode() for index, name in enumerate(self.names)}
        hashes = {name: hash_bytes(content) for name, content in {**texts, **self.earlier}.items()}
        proof = json.dumps(self.pattern.certificate(hashes), ensure_ascii=False) + "\n"
        public = self._public.certificate(hashes) if self._public is not None else {"statement": STATEMENT}
        # Nothing about the rerun: whether it was shown depends on counts that are hidden.
        stated: dict[str, object] = {"kind": "suppressed tables", "statement": public["statement"]}
        stated["tau"] = self.pattern.tau
        if self.book is not None:
            stated["ledger"] = self.book.chain.document()
        alike = self._back.files
        if self._public is not None:
            alike = {**alike, PROOF: (json.dumps(public, ensure_ascii=False) + "\n").encode()}
        listed = {name: hashes[name] for name in texts} | {name: hash_bytes(text) for name, text in alike.items()}
        manifest = manifest_bytes(stated, listed)
        files = {f"{PUBLISHED}/{name}": text for name, text in {**texts, **alike, MANIFEST: manifest}.items()}
        files |= {CERTIFICATE: proof.encode(), f"{CONFIDENTIAL}/{PAGE}": self.to_html().encode()}
        if self.book is None:
            write_folder(folder, files)
        else:
            entry = self.book.entry(self.pattern, self.names, hash_bytes(manifest))
            record(self.book.path, entry, self.book.chain, len(self.book.entries), folder, files)
        return folder

    @cached_property
    def _public(self) -> PublicProof | None:
        """What everybody may hold as a proof; it is found from what is printed."""
        return prove_in_public(self.pattern)

    @cached_property
    def _back(self) -> WrittenBack:
        """Tables in the form that they had; found once, since files may change."""
        return written_back(self.pattern, self.found, self.files, self.rows, self.count, self.reading)

    def warnings(self) -> list[str]:
        """What limits the protection, one line each."""
        known, lines = self.pattern.known, []
        if len(known):
            cells = "; ".join(self.pattern.tables.name(cell_id) for cell_id in known[:3].tolist())
            more = f" and {len(known) - 3:,} more" if len(known) > 3 else ""
            lines.append(f"known from what was published before, whatever is suppressed now: {cells}{more}")
        if self.pattern.tables.cycle_too_large:
            lines.append("the tables form a cycle too large to list the people behind it; their sums alone are checked")
        return lines + ([] if self.book is None else self.book.overlaps(self.pattern))

    def _summary(self) -> Iterator[str]:
        pattern = self.pattern
        count, primary = len(pattern.suppressed), int(pattern.is_primary.sum())
        where = f" in {len(pattern.tables.tables)} tables" if len(pattern.tables.tables) > 1 else ""
        kinds = f"{primary:,} primary, {count - primary:,} secondary"
        yield f"{count:,} of {pattern.size:,} cells{where} suppressed: {kinds}."
        if pattern.gap == 0:
            yield "No pattern that protects them has fewer cells."
        else:
            yield f"Every pattern that protects them has at least {pattern.lower_bound:,} cells."
        secondary, least = pattern.cost
        if secondary > count - primary:
            yield f"The secondary cells cost {secondary:,}; every pattern costs at least {least:,}."
        if pattern.extra:
            yield f"{ui.plural(pattern.extra, 'extra cell')} suppressed to hide which suppressions were primary."
        if not count:
            return
        least, most = pattern.primary
        known = f"to an interval no wider than {pattern.tau}" if pattern.tau else "exactly"
        if len(pattern.exposed):
            exposed = ui.plural(len(pattern.exposed), "primary count")
            yield f"{exposed} can be inferred to lie in {least} to {most}, none {known}."
        else:
            yield f"No primary count can be inferred to lie in {least} to {most}, or {known}."
        if pattern.insiders:
            people = "A respondent" if pattern.insiders == 1 else f"A coalition of {pattern.insiders} respondents"
            yield f"{people} cannot infer a suppressed count that includes others."
        if pattern.rerun.shown:
            same = f"the same gaps may be printed for {pattern.rerun.same:,} of them"
            yield "Rerunning the program discloses no count either."
            yield f"Other tables that fit and were tried: {pattern.rerun.tables:,}; {same}."
        else:
            yield "Not shown: what somebody infers who knows this program and reruns it on every table that fits."


def pattern_csv(pattern: Pattern, index: int = 0) -> str:
    """Every cell of one table with its count, empty where it is suppressed."""
    return gaps_csv(printed(pattern, index))


def gaps_csv(lattice: Lattice) -> str:
    """Every cell of a table with gaps as a file."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*(tree.name for tree in lattice.trees), "count", "status"])
    cells = product(*(tree.labels for tree in lattice.trees))  # in the order of the array
    for labels, count in zip(cells, lattice.counts.ravel().tolist(), strict=True):
        writer.writerow([*labels, "" if count == GAP else count, "suppressed" if count == GAP else "exact"])
    return text.getvalue()
