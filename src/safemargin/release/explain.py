"""Why a table is not published, as files that anybody in the office can check: the tables, the roll, a certificate."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from safemargin.bounds.bound import bound
from safemargin.bounds.certificate import SourceFile
from safemargin.bounds.proof import certificate
from safemargin.core import Onlooker, Publication, PublishedTable, Table, as_published, printed
from safemargin.io import WRITERS, file_name, hash_file, read_tidy, rows_of
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
    rejected = {name: each for name, each in plan.rejected.items() if small and _can_be_shown(table, each)}
    if not rejected:
        return Evidence()
    orders = {axis.name: axis.categories for axis in table.schema.axes}
    roll = as_published(table.people(table.schema.names), table.schema, "roll", roll=True)
    found: dict[str, str] = {}
    with TemporaryDirectory() as folder:
        desk = EvidenceWriter(Path(folder), orders)
        tables = [desk.write("table", each) for each in publication.tables]
        beside = [desk.write("roll", roll), *(desk.write("fact", each) for each in facts)]
        for name, each in rejected.items():
            margin = printed(table, each.axes, dict(zip(each.axes, each.groups, strict=True)))
            mine = desk.write("table", margin)
            found[name] = f"{Path(mine.name).stem}.json"
            document = desk.prove([*tables, mine, *beside], tuple(each.refusal.cell), plan)
            desk.files[found[name]] = (json.dumps(document, ensure_ascii=False) + "\n").encode()
    return Evidence(desk.files, found)


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
        read = [(each.role, read_tidy(self.folder / each.name, count=each.count)) for each in sources]
        tables = tuple(table for role, table in read if role == "table")
        rolls, facts = (tuple(table for mine, table in read if mine == role) for role in ("roll", "fact"))
        onlooker = Onlooker("public", rolls, facts)
        exposure = bound(tables, onlooker, target=target)
        return certificate(tables, onlooker, exposure, sources, target=plan.target).document()
