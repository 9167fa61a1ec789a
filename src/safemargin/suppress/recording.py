"""The ledger of suppressed tables: a second table about the same people finds the first by itself.

All tables of one population are held together: what one of them hides, no later one may print or imply. The ledger
keeps the tables as they were printed, with their gaps, and never a count that is not printed. A population has either
suppressed tables or releases: nothing holds the two together, so a mixture is refused.

Example: `suppress ab.csv --ledger ledger.sqlite --population staff --cycle first`, then `suppress abc.csv` with the
same ledger and population and `--cycle second`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from safemargin.core import InputError, Lattice, Target
from safemargin.history.chain import Chain
from safemargin.history.compare import overlap_notes
from safemargin.history.contents import GAP
from safemargin.history.entries import Entry
from safemargin.history.file import open_ledger
from safemargin.history.names import about, name_in, normalised
from safemargin.suppress.order import sorted_labels
from safemargin.suppress.pattern import Pattern

MANY = 10**15
"""More people than there are: what a gap may hold where not even the total is printed."""


@dataclass(frozen=True)
class SuppressionBook:
    """A ledger before tables are published: earlier ones about the population, and what the new ones are called."""

    path: Path
    population: str
    cycle: str
    chain: Chain
    entries: tuple[Entry, ...]
    others: tuple[Entry, ...] = ()
    """What the ledger holds of other populations."""

    def overlaps(self, pattern: Pattern) -> list[str]:
        """Other populations whose tables print nearly the same margins, in words: they may be the same people."""
        now = [printed(pattern, index) for index in range(len(pattern.tables.tables))]
        others = [replace(e, rolls=_margins(e.lattices.values())) if e.lattices else e for e in self.others]
        return overlap_notes(others, self.population, _margins(now))

    @property
    def tables(self) -> dict[str, Lattice]:
        """Earlier tables by file; a name that two publications used has the cycle before it."""
        found: dict[str, Lattice] = {}
        for entry in self.entries:
            for name, table in entry.lattices.items():
                found[name if name not in found else f"{entry.cycle}-{name}"] = table
        return found

    def entry(self, pattern: Pattern, names: tuple[str, ...], manifest: str) -> Entry:
        """The tables with their gaps as the ledger keeps them."""
        people = int(pattern.tables.counts[0])
        return Entry(
            population=self.population,
            cycle=self.cycle,
            title="",
            target=Target(),
            axes={tree.name: tuple(tree.labels[leaf] for leaf in tree.leaves) for tree in pattern.tables.trees},
            options=(),
            people=people,
            answered=people,
            manifest=manifest,
            tables=(),
            lattices={name: printed(pattern, index) for index, name in enumerate(names)},
            limits=_limits(pattern.tau, pattern.insiders, pattern.protect),
        )


def open_book(
    ledger: Path | str | None,
    population: str | None,
    cycle: str | None,
    tau: int = 0,
    insiders: int = 0,
    protect: int | None = None,
) -> SuppressionBook | None:
    """The ledger that a call names; none if it names none. Limits weaker than those of an earlier table are refused."""
    stated = {"ledger": ledger, "population": population, "cycle": cycle}
    if not any(stated.values()):
        return None
    if missing := [name for name, value in stated.items() if not (value and str(value).strip())]:
        raise InputError(f"{missing[0]} is missing: ledger, population and cycle go together")
    path, contents = Path(str(ledger)), open_ledger(Path(str(ledger)), str(population))
    entries = about(contents.entries, str(population))
    others = tuple(e for e in contents.entries if normalised(e.population) != normalised(str(population)))
    book = SuppressionBook(path, name_in(entries, str(population)), str(cycle), contents.chain, entries, others)
    where = f"{path}: population {book.population!r}"
    now = _limits(tau, insiders, protect)
    for entry in entries:
        if normalised(entry.cycle) == normalised(book.cycle):
            raise InputError(f"{where}: cycle {entry.cycle!r} was published already; give cycle another name")
        if entry.tables or entry.questions:
            raise InputError(
                f"{where}: {entry.cycle!r} is a release, which suppressed tables cannot be held together with; "
                "publish further tables about these people by release"
            )
        for name, before in entry.limits.items():
            if now.get(name, 0) < before:
                raise InputError(
                    f"{where}: {name} was {before} in {entry.cycle!r} and is {now.get(name, 0)} now, which is weaker; "
                    f"give {name} = {before}"
                )
    return book


def printed(pattern: Pattern, index: int) -> Lattice:
    """One table as it is printed: a gap where a count is suppressed, and no order that bounds one.

    Everything that is published of a table comes from this value: files, the ledger and the public page.
    """
    table, ids = pattern.tables.tables[index], pattern.tables.cell_ids[index]
    hidden = np.isin(ids, pattern.suppressed).reshape(table.shape)
    return sorted_labels(Lattice(table.trees, np.where(hidden, GAP, table.counts)), pattern.by_labels)


def _margins(tables: Iterable[Lattice]) -> dict[tuple[str, ...], dict[tuple[str, ...], int]]:
    """What tables print of every axis by itself, as rolls have it.

    A gap counts as everybody who is not printed elsewhere along the axis: so no population seems to be another one
    because its counts are hidden.
    """
    found: dict[tuple[str, ...], dict[tuple[str, ...], int]] = {}
    for table in tables:
        for place, tree in enumerate(table.trees):
            along = table.counts[tuple(slice(None) if a == place else 0 for a in range(len(table.trees)))]
            shown = sum(max(int(along[leaf]), 0) for leaf in tree.leaves)
            everybody = int(along[0]) if along[0] != GAP else MANY
            found[(tree.name,)] = {
                (tree.labels[leaf],): int(along[leaf]) if along[leaf] != GAP else max(everybody - shown, 0)
                for leaf in tree.leaves
            }
    return found


def _limits(tau: int, insiders: int, protect: int | None) -> Mapping[str, int]:
    """The limits that later tables about these people may not weaken, without those that ask for nothing.

    >>> dict(_limits(3, 0, None))
    {'tau': 3}
    """
    stated = {"tau": tau, "insiders": insiders, "protect": protect or 0}
    return {name: value for name, value in stated.items() if value}
