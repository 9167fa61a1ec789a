"""A pattern: the suppressed cells of linked tables, with the moves that prove them protected.

`Pattern` is what the search found; `PatternCertificate` the document that `check.py` verifies. Both hold true counts of
suppressed cells, so both are confidential; only the tables with their gaps are published.

Objects
    hidden      all cells that are not printed, in a fixed order: suppressed now, before, or in no table
    counts      their counts, of which the certificate's are one population that fits
    move        pairs (place in `hidden`, what is added there): counts + move is another table that prints the same
    lower_bound no pattern has fewer suppressed cells

Invariants
    * Moves refer to places in `hidden`, never to cells: a certificate says nothing of cells that no move needs.
    * `suppressed` and `is_primary` have one order; `exposed`, `known` are subsets of cells by number.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt

from safemargin.core import BoolArray, Hierarchy, IntArray, Lattice
from safemargin.suppress.fewest import FewestProof
from safemargin.suppress.linked import LinkedTables

# Changes of counts that are not printed, as pairs of a position among them and what is added there.
Move = tuple[tuple[StrictInt, StrictInt], ...]
Cell = dict[str, str]
Natural = Annotated[StrictInt, Field(ge=0)]


class _Document(BaseModel):
    model_config = ConfigDict(frozen=True, from_attributes=True, extra="forbid")


class AxisDocument(_Document):
    """One axis of a table: labels of its nodes, and which nodes add up to which."""

    name: str
    labels: tuple[str, ...]
    splits: tuple[tuple[StrictInt, tuple[StrictInt, ...]], ...]

    def tree(self) -> Hierarchy:
        """The axis as a value."""
        return Hierarchy(self.name, self.labels, self.splits)


class TableDocument(_Document):
    """One table that the certificate is about."""

    file: str
    earlier: StrictBool
    axes: tuple[AxisDocument, ...]


class PatternCertificate(_Document):
    """`certificate.json`: true counts of the suppressed cells and changes that lead to tables that print the same.

    It holds the true counts, so it is confidential.
    """

    version: Literal[1] = Field(default=1, alias="schema")
    kind: Literal["safemargin-pattern"] = "safemargin-pattern"
    statement: str = "each suppressed count has values more than tau apart in integer tables that print the same"
    files: dict[str, str]
    tables: tuple[TableDocument, ...]
    suppressed: tuple[Cell, ...]
    people: tuple[Cell, ...]
    counts: tuple[StrictInt, ...]
    changes: tuple[Move, ...]
    primary: tuple[StrictInt, StrictInt]
    tau: Natural
    insiders: Natural
    protect: Natural | None
    lower_bound: Natural
    fewest: dict[str, Any] | None
    extra: Natural
    known_in_range: tuple[Cell, ...]
    known_before: tuple[Cell, ...]
    rule: Literal["rerun", "not shown"] = "not shown"
    rule_tables: Natural = 0


@dataclass(frozen=True)
class Rerun:
    """`shown` if every suppressed count has values far enough apart in tables for which the program may do the same."""

    shown: bool
    tables: int = 0
    same: int = 0


@dataclass(frozen=True)
class Pattern:
    """Tables with `suppressed` cells (ids in `tables`, ascending).

    `hidden` are all cells that are not printed: the suppressed ones, those suppressed before, and those that no table
    lists, with `counts` that fit. Every move leads from there to integer counts that print the same, at least one where
    a cell is suppressed; suppressed counts take values more than `tau` apart in them. No pattern has fewer than
    `lower_bound` cells. `exposed` are the primary cells that are known to hold no more than the largest primary count;
    `known` are those that follow from what was published before. `by_labels` are the axes whose labels are sorted where
    the tables are written, because their order may be one of counts. `fewest` proves the lower bound by addition, as
    far as that goes.
    """

    tables: LinkedTables
    primary: tuple[int, int]
    suppressed: IntArray
    is_primary: BoolArray
    hidden: IntArray
    counts: IntArray
    moves: tuple[Move, ...]
    lower_bound: int
    exposed: IntArray
    known: IntArray
    extra: int = 0
    protect: int | None = None
    tau: int = 0
    insiders: int = 0
    cost: tuple[int, int] = (0, 0)  # of the cells that are not primary, and the least that any pattern costs
    rerun: Rerun = Rerun(False)
    by_labels: frozenset[str] = frozenset()
    fewest: FewestProof | None = None

    @property
    def table(self) -> Lattice:
        """The first table."""
        return self.tables.tables[0]

    @property
    def size(self) -> int:
        """Cells of the tables; a shared cell counts once."""
        return int(self.tables.new.sum())

    @property
    def gap(self) -> int:
        """How many cells more than the lower bound are suppressed."""
        return len(self.suppressed) - self.lower_bound

    def certificate(self, files: Mapping[str, str]) -> dict[str, object]:
        """The document to verify by addition; `files` are the hashes of the files of all tables by name, in order."""
        tables, size = self.tables, len(self.tables.counts)
        return PatternCertificate(
            files=dict(files),
            tables=table_documents(tables, files),
            suppressed=self._cells(self.hidden[self.hidden < size]),
            people=people_documents(tables, self.hidden[self.hidden >= size] - size),
            counts=tuple(self.counts.tolist()),
            changes=self.moves,
            primary=self.primary,
            tau=self.tau,
            insiders=self.insiders,
            protect=self.protect,
            lower_bound=self.lower_bound,
            fewest=None if self.fewest is None else dict(self.fewest.document),
            extra=self.extra,
            known_in_range=self._cells(self.exposed),
            known_before=self._cells(self.known),
            rule="rerun" if self.rerun.shown else "not shown",
            rule_tables=self.rerun.same,
        ).model_dump(mode="json", by_alias=True)

    def _cells(self, ids: IntArray) -> tuple[Cell, ...]:
        return tuple(self.tables.cell(cell_id) for cell_id in ids.tolist())


def table_documents(tables: LinkedTables, files: Iterable[str]) -> tuple[TableDocument, ...]:
    """The axes and sums of all tables, by the names of their files; earlier ones come last.

    The order of files is that of `LinkedTables.axes`: new tables, then earlier ones.
    """
    return tuple(
        TableDocument(
            file=file,
            earlier=index >= len(tables.tables),
            axes=tuple(map(AxisDocument.model_validate, trees)),
        )
        for index, (file, trees) in enumerate(zip(files, tables.axes, strict=True))
    )


def people_documents(tables: LinkedTables, rows: IntArray) -> tuple[Cell, ...]:
    """The categories of people behind tables that form a cycle."""
    nodes = tables.people[rows].tolist()
    return tuple({t.name: t.labels[n] for t, n in zip(tables.trees, row, strict=True)} for row in nodes)
