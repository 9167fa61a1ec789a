"""Which cells of tables with all their margins are suppressed, and why nobody can tell what is in them."""

from collections.abc import Mapping
from dataclasses import dataclass

from safemargin.bounds.certificate import SUPPRESSION
from safemargin.core import BoolArray, IntArray, Lattice, Tree
from safemargin.suppress.linked import Linked

KIND = SUPPRESSION

Move = tuple[tuple[int, int], ...]
"""Changes of counts that are not printed, as pairs of a place among them and what is added there."""


@dataclass(frozen=True)
class Pattern:
    """Tables less their `suppressed` cells (numbers in `tables`, ascending).

    `hidden` are all cells that are not printed: the suppressed ones, then those suppressed before, then those that no
    table tells, with `counts` that fit. Every move leads from there to others with whole counts, at least one where a
    cell is suppressed, that print the same; suppressed counts take values more than `tau` apart in them. No pattern has
    fewer than `lower_bound` cells. `exposed` are the primary cells that are known to hold no more than the largest
    primary count; `known` are those that follow from what was published before.
    """

    tables: Linked
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

    @property
    def table(self) -> Lattice:
        """The first table."""
        return self.tables.tables[0]

    @property
    def size(self) -> int:
        """Cells of the tables, each counted once."""
        return int(self.tables.new.sum())

    @property
    def gap(self) -> int:
        """How many cells more than the lower bound are suppressed."""
        return len(self.suppressed) - self.lower_bound

    def certificate(self, files: Mapping[str, str]) -> dict[str, object]:
        """For a checker who adds: the axes, a count for each cell that is not printed, and changes that lead to others.

        `files` are the hashes of the files of all tables by name, in their order. The true counts are in it: it stays
        inside.
        """
        cells = len(self.tables.counts)
        people = [self._person(number - cells) for number in self.hidden[self.hidden >= cells].tolist()]
        new = len(self.tables.tables)
        return {
            "schema": 1,
            "kind": KIND,
            "statement": "each suppressed count has values more than tau apart in whole tables that print the same",
            "files": dict(files),
            "tables": [
                {"file": file, "earlier": at >= new, "axes": [_axis(tree) for tree in trees]}
                for at, (file, trees) in enumerate(zip(files, self.tables.every, strict=True))
            ],
            "suppressed": [self.tables.cell(number) for number in self.hidden[self.hidden < cells].tolist()],
            "people": people,
            "counts": self.counts.tolist(),
            "changes": [[list(step) for step in move] for move in self.moves],
            "primary": list(self.primary),
            "tau": self.tau,
            "insiders": self.insiders,
            "protect": self.protect,
            "lower_bound": self.lower_bound,
            "extra": self.extra,
            "known_in_range": [self.tables.cell(number) for number in self.exposed.tolist()],
            "known_before": [self.tables.cell(number) for number in self.known.tolist()],
        }

    def _person(self, place: int) -> dict[str, str]:
        nodes = self.tables.people[place].tolist()
        return {tree.name: tree.labels[node] for tree, node in zip(self.tables.trees, nodes, strict=True)}


def _axis(tree: Tree) -> dict[str, object]:
    return {"name": tree.name, "labels": list(tree.labels), "splits": [[p, list(c)] for p, c in tree.splits]}
