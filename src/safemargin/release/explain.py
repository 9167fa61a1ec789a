"""Evidence beside a release: certificates that say why tables are not published."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from safemargin.bounds import SourceFile, infer, prove_intervals
from safemargin.core import Onlooker, Publication, PublishedTable, Table, as_published, printed
from safemargin.io import WRITERS, file_name, hash_file, read_tidy, rows_of, scratch_folder
from safemargin.release.plan import Evidence, Plan, Rejected

MOST_COUNTS = 2_000
"""Counts to be bounded up to which a certificate takes seconds at most."""


def explain(plan: Plan, publication: Publication, table: Table, facts: Iterable[PublishedTable] = ()) -> Evidence:
    """Certificates of what margins that were rejected would disclose, beside everything that is published.

    They hold for somebody who knows the joint roll and the `facts`. There is none where a cell stayed undecided, where
    it is made of merged groups, and for large populations.
    """
    profiles = len(table.people(table.schema.names).codes)
    small = profiles * len(table.schema.options) <= MOST_COUNTS
    rejected = {
        name: alternative for name, alternative in plan.rejected.items() if small and _can_be_shown(table, alternative)
    }
    if not rejected:
        return Evidence()
    orders = {axis.name: axis.categories for axis in table.schema.axes}
    roll = as_published(table.people(table.schema.names), table.schema, "roll", roll=True)
    known = tuple(facts)
    files: dict[str, bytes] = {}
    certificates: dict[str, str] = {}
    for name, alternative in rejected.items():
        margin = printed(table, alternative.axes, dict(zip(alternative.axes, alternative.groups, strict=True)))
        stem = file_name(margin.name)
        while f"{stem}/certificate.json" in files:
            stem = f"{stem}_"
        # A folder for each: `verify` refuses files that the certificate does not speak about.
        with scratch_folder() as folder:
            desk = EvidenceWriter(folder, orders)
            sources = [desk.write("table", other) for other in (*publication.tables, margin)]
            sources += [desk.write("roll", roll), *(desk.write("fact", fact) for fact in known)]
            document = desk.prove(sources, tuple(alternative.refusal.cell), plan)
        certificates[name] = f"{stem}/certificate.json"
        files |= {f"{stem}/{file}": content for file, content in desk.files.items()}
        files[certificates[name]] = (json.dumps(document, ensure_ascii=False) + "\n").encode()
    return Evidence(files, certificates)


def _can_be_shown(table: Table, rejected: Rejected) -> bool:
    cell = rejected.refusal.cell
    return rejected.refusal.proved and all(name in table.schema.axis(axis).index for axis, name in cell.items())


class EvidenceWriter:
    """Writes tables as tidy files and reads them again, as whoever checks a certificate will."""

    def __init__(self, folder: Path, orders: Mapping[str, tuple[str, ...]]) -> None:
        self.folder, self.orders = folder, orders
        self.files: dict[str, bytes] = {}

    def write(self, role: str, table: PublishedTable) -> SourceFile:
        """A table as a file, and how a certificate names it."""
        stem = file_name(table.name)
        while f"{stem}.csv".lower() in {name.lower() for name in self.files}:
            stem = f"{role}_{stem}"
        name = f"{stem}.csv"
        self.files[name] = WRITERS["csv"](rows_of(table, self.orders))
        path = self.folder / name
        path.write_bytes(self.files[name])
        return SourceFile(path.name, role, hash_file(path), count="people" if role == "roll" else "count")

    def prove(self, sources: Sequence[SourceFile], target: tuple[str, ...], plan: Plan) -> dict[str, object]:
        """The intervals of all cells over `target`, with their proofs."""
        read = [(source.role, read_tidy(self.folder / source.name, count=source.count)) for source in sources]
        tables = tuple(table for role, table in read if role == "table")
        rolls, facts = (tuple(table for kind, table in read if kind == role) for role in ("roll", "fact"))
        onlooker = Onlooker("public", rolls, facts)
        exposure = infer(tables, onlooker, target=target)
        return prove_intervals(tables, onlooker, exposure, sources, target=plan.target).document()
