"""Which choices of margins are safe: each is put to the test once, and the answer serves all that say less or more."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from safemargin.bounds import bound
from safemargin.bounds.certify import Exposed, Proof, certify
from safemargin.bounds.system import system
from safemargin.decide.versions import Version
from safemargin.model.margins import knowing, printed
from safemargin.model.onlooker import Onlooker
from safemargin.model.published import PublishedTable
from safemargin.model.table import Table
from safemargin.model.target import Limits

Choice = tuple[int, ...]
"""Per margin how finely it is published: 0 not at all, then its versions from the coarsest to the finest."""


@dataclass(frozen=True)
class Margin:
    """A margin under consideration: its versions from the coarsest to the finest, and what each counts for.

    `needs` are the places of margins (single axes) without which it is not published.
    """

    versions: tuple[Version, ...]
    values: tuple[float, ...]
    needs: tuple[int, ...] = ()


def within(less: Choice, more: Choice) -> bool:
    """Whether a choice says nothing that the other does not."""
    return all(a <= b for a, b in zip(less, more, strict=True))


class Judge:
    """Tests choices of margins on top of tables that are published anyhow, against every onlooker.

    More tables only narrow what is possible. So what is safe stays safe with less, and what gives somebody away does so
    with more.
    """

    def __init__(
        self,
        table: Table,
        base: Sequence[PublishedTable],
        margins: Sequence[Margin],
        onlookers: Sequence[Onlooker],
        limits: Limits,
        linear: int = 0,
    ) -> None:
        self.table, self.base, self.margins = table, tuple(base), tuple(margins)
        self.onlookers, self.limits, self.linear = tuple(onlookers), limits, linear
        self.safe: list[Choice] = []
        self.exposed: list[Choice] = []
        self.unproved: list[Choice] = []
        self.proofs: dict[Choice, Proof] = {}

    def tables(self, choice: Choice) -> tuple[PublishedTable, ...]:
        """What a choice publishes."""
        chosen = [margin.versions[level - 1] for margin, level in zip(self.margins, choice, strict=True) if level]
        return (*self.base, *(printed(self.table, each.axes, each.partitions) for each in chosen))

    def is_safe(self, choice: Choice) -> bool:
        """Whether a choice is shown to be safe: no cell given away, none left open or to fractions of people."""
        if any(within(choice, known) for known in self.safe):
            return True
        if any(within(known, choice) for known in (*self.exposed, *self.unproved)):
            return False
        proof = self.proof(choice)
        if proof.holds and proof.linear <= self.linear:
            self.safe.append(choice)
            return True
        (self.exposed if proof.exposed else self.unproved).append(choice)
        return False

    def is_exposed(self, choice: Choice) -> bool:
        """Whether a choice is proved to give somebody away, as far as tests that were made tell."""
        return any(within(known, choice) for known in self.exposed)

    def proof(self, choice: Choice) -> Proof:
        """The test of a choice."""
        if choice not in self.proofs:
            self.proofs[choice] = self._prove(self.tables(choice))
        return self.proofs[choice]

    def _prove(self, tables: tuple[PublishedTable, ...]) -> Proof:
        slack = self.table.inconsistency.slack(int(self.table.totals.sum()))
        best = Proof((), {})
        for onlooker in self.onlookers:
            watching = onlooker
            if onlooker.composition(self.table.schema.names) != "joint":
                if exposed := self._told_without_roll(tables, onlooker):
                    return Proof(exposed, {})
                watching = replace(onlooker, roll=knowing(self.table, "joint").roll)  # who knows more learns no less
            proof = certify(system(tables, watching, slack), self.limits)
            if not proof.holds or proof.linear > self.linear:
                return proof
            if (proof.linear, sum(proof.checked.values())) >= (best.linear, sum(best.checked.values())):
                best = proof
        return best

    def _told_without_roll(self, tables: tuple[PublishedTable, ...], onlooker: Onlooker) -> tuple[Exposed, ...]:
        """Cells that are known to within tau to somebody who does not know how many people are in them."""
        exposure = bound(tables, onlooker, sharp=None, enough=self.limits.tau)
        if any(set(table.axes) == set(exposure.cells.axes) for table in tables):  # each cell is printed, and regular
            return ()
        found = []
        for row, option in np.argwhere(exposure.width <= self.limits.tau).tolist():
            lower, upper = int(exposure.lower[row, option]), int(exposure.upper[row, option])
            people = upper if exposure.people is None else int(exposure.people[row])
            found.append(Exposed(exposure.cells.cell(row), option, people, lower, upper))
        return tuple(found)
