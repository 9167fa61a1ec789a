"""Which sums may be decrypted, and which sums a release publishes.

Groups with fewer ballots than the minimum are merged by public counts alone, before anything is decrypted. What
trustees decrypt among themselves are sums over these groups, which do not overlap: so neither a sum nor a difference
of two sums is over fewer ballots than the minimum. A published count is a sum over some of the groups of one
dimension; parts of its decryption let nobody compute anything but sums of published counts.
"""

import csv
import io
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from safemargin.core import InputError
from safemargin.election.ballots import cells_of
from safemargin.election.checking import CountedBallots
from safemargin.election.group import IDENTITY, Point, Scalar, hash_to_point, name_of
from safemargin.election.keys import canonical
from safemargin.election.manifests import EVERYBODY, NO_ANSWER, TOTAL, KnownElection
from safemargin.election.proofs import EMPTY, Ciphertext, is_decryption, prove_decryption
from safemargin.election.roll import merge_small
from safemargin.io import natural_order

Groups = dict[str, list[str]]
"""Categories behind every group of a dimension."""
JOINER = " | "
OPEN = ("exact", "merged")
"""States of published counts that are true sums."""


@dataclass(frozen=True)
class Cell:
    """One sum: an option over some categories of a dimension."""

    dimension: str
    categories: tuple[str, ...]
    option: str

    @property
    def definition(self) -> bytes:
        """What a proof of decryption is bound to."""
        return canonical([self.dimension, list(self.categories), self.option])


SALT = Cell("", (), "")
"""Names the salt in a proof; no dimension has this name."""


class TallyPlan:
    """What trustees may decrypt of a frozen set of ballots; everybody can compute it from the board."""

    def __init__(self, election: KnownElection, counted: Mapping[str, CountedBallots], root: bytes) -> None:
        self.election, self.counted, self.root = election, counted, root
        self.accepted = {name: each.accepted for name, each in counted.items()}
        self.kappa = election.kappa(self.accepted[TOTAL])
        self.groups = {name: self._groups(name) for name in counted if name != TOTAL and self.is_open(name)}

    def is_open(self, name: str) -> bool:
        """Whether a dimension has enough ballots for anything to be decrypted."""
        return self.accepted[name] >= max(self.election.manifest.least, self.kappa)

    def _groups(self, name: str) -> Groups:
        dimension = self.election.dimension(name)
        if dimension.self_reported:
            return {category: [category] for category in dimension.categories}
        counts = self.counted[name].categories
        return merge_small({category: counts[category] for category in dimension.categories}, self.kappa)

    @property
    def total_cells(self) -> list[Cell]:
        """The binding total; nothing where too few people took part."""
        if not self.is_open(TOTAL):
            return []
        return [Cell(TOTAL, (EVERYBODY,), option) for option in (*self.election.manifest.options, NO_ANSWER)]

    @property
    def private_cells(self) -> list[Cell]:
        """What trustees decrypt among themselves: every option of every group."""
        return [
            Cell(name, tuple(categories), option)
            for name, groups in self.groups.items()
            for categories in groups.values()
            for option in self.election.manifest.options
        ]

    @property
    def list_hash(self) -> str:
        """The name of the list of sums."""
        parts = [self.root, *(cell.definition for cell in (*self.total_cells, *self.private_cells))]
        return name_of("list", parts).hex()

    def is_allowed(self, cell: Cell) -> bool:
        """Whether a sum is on the list, or is a sum of whole groups of one dimension."""
        if cell in self.total_cells:
            return True
        groups = self.groups.get(cell.dimension)
        if groups is None or cell.option not in self.election.manifest.options:
            return False
        whole = [category for part in groups.values() if set(part) <= set(cell.categories) for category in part]
        return bool(whole) and sorted(whole) == sorted(cell.categories)

    def sum(self, cell: Cell) -> Ciphertext:
        """The sum of the ciphertexts behind a cell."""
        dimension, counted = self.election.dimension(cell.dimension), self.counted[cell.dimension]
        places = cells_of(self.election, dimension)
        if not dimension.self_reported:
            return counted.total(cell.categories, places.index(("", cell.option)))
        total = EMPTY
        for category in cell.categories:
            total = total + counted.sums.get((0, places.index((category, cell.option))), EMPTY)
        return total

    def _context(self, trustee: str, cell: Cell) -> list[bytes]:
        return [self.election.mid, trustee.encode(), self.root, cell.definition]

    def part(self, secret: Scalar, trustee: str, cell: Cell) -> dict[str, str]:
        """A trustee's part of one sum, with its proof; a sum that is not on the list is refused."""
        if not self.is_allowed(cell):
            raise InputError(f"{cell.dimension}: {cell.option}: this sum is not one that may be decrypted")
        part, proof = prove_decryption(secret, self.sum(cell), self._context(trustee, cell))
        return {"part": part.hex(), "proof": proof.hex()}

    def is_part(self, trustee: str, cell: Cell, stated: Mapping[str, str]) -> bool:
        """Whether a trustee's part of a sum is right."""
        public = self.election.tally_key.shares[trustee]
        part, proof = bytes.fromhex(stated["part"]), bytes.fromhex(stated["proof"])
        return is_decryption(public, self.sum(cell), part, proof, self._context(trustee, cell))

    @property
    def salt_sum(self) -> Ciphertext:
        """What trustees decrypt beside the sums: a point of the root alone, which gives all of them one secret salt."""
        return Ciphertext(hash_to_point("salt", [self.election.mid, self.root]), IDENTITY)

    def salt(self, parts: Mapping[str, Point]) -> str:
        """The salt of the release: fewer trustees than decrypt know nothing of it, and any that do have the same."""
        return name_of("salt", [self.election.tally_key.combine(self.salt_sum, parts)]).hex()

    def exchanged(self, secret: Scalar, trustee: str) -> list[dict[str, str]]:
        """A trustee's parts of all private cells and of the salt; the parts follow from share and root alone."""
        part, proof = prove_decryption(secret, self.salt_sum, self._context(trustee, SALT))
        made = [self.part(secret, trustee, cell) for cell in self.private_cells]
        return [*made, {"part": part.hex(), "proof": proof.hex()}]

    def exchange_fault(self, trustee: str, stated: Sequence[Mapping[str, str]]) -> str | None:
        """Why parts that a trustee handed over are not its parts of all private cells and of the salt."""
        cells = self.private_cells
        if len(stated) != len(cells) + 1:
            return f"{trustee}: {len(stated)} parts; the list has {len(cells) + 1}"
        for cell, given in zip(cells, stated, strict=False):
            if not self.is_part(trustee, cell, given):
                return f"{trustee}: its part of {cell.dimension}, {cell.option} is wrong"
        public, context = self.election.tally_key.shares[trustee], self._context(trustee, SALT)
        part, proof = bytes.fromhex(stated[-1]["part"]), bytes.fromhex(stated[-1]["proof"])
        if not is_decryption(public, self.salt_sum, part, proof, context):
            return f"{trustee}: its part of the salt is wrong"
        return None

    def decrypt(self, cell: Cell, parts: Mapping[str, Point]) -> int:
        """The number in a sum, from verified parts."""
        return self.election.tally_key.decrypt(self.sum(cell), parts, self.accepted[cell.dimension])


def published_cells(
    files: Mapping[str, bytes], groups: Mapping[str, Groups], options: Sequence[str]
) -> dict[Cell, int]:
    """Every count that a release publishes about a dimension, with the sum that it must be.

    These are the rows of the tables that are neither suppressed nor noised, and the totals of dimensions that the
    manifest of the release states where they disagree with the binding total.
    """
    cells: dict[Cell, int] = {}
    for name, parts in groups.items():
        table = files.get(f"{name}.csv")
        if table is None:
            continue
        for row in csv.DictReader(io.StringIO(table.decode())):
            if not row["count"]:
                continue
            if row["status"] not in OPEN:
                raise InputError(f"{name}.csv: a count is {row['status']!r}; only true sums can be proved")
            labels = row[name].split(JOINER)
            categories = tuple(category for label in labels for category in parts[label])
            for option in row["option"].split(JOINER):
                if option not in options:
                    raise InputError(f"{name}.csv: there is no option {option[:60]!r}")
            cells[Cell(name, categories, row["option"])] = int(row["count"])
    stated = json.loads(files["manifest.json"]).get("inconsistency") or {}
    order = sorted(options, key=natural_order)
    for name, totals in (stated.get("totals") or {}).items():
        everybody = tuple(category for part in groups[name].values() for category in part)
        for option, count in zip(order, totals, strict=True):
            cells[Cell(name, everybody, option)] = int(count)
    return cells


def counts_by_group(plan: TallyPlan, numbers: Mapping[Cell, int]) -> dict[str, dict[str, Counter[str]]]:
    """Decrypted sums as tallies: dimension, group, option."""
    found: dict[str, dict[str, Counter[str]]] = {}
    for name, groups in plan.groups.items():
        found[name] = {
            group: Counter(
                {option: numbers[Cell(name, tuple(categories), option)] for option in plan.election.manifest.options}
            )
            for group, categories in groups.items()
        }
    return found
