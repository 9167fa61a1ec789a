"""Which choices of margins are safe: each is put to the test once, and the answer serves all that say less or more."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from safemargin.bounds.bound import bound
from safemargin.bounds.build import build_system
from safemargin.bounds.certify import certify, certify_with_earlier
from safemargin.bounds.exposure import Exposed, Proof
from safemargin.core import Limits, Onlooker, PublishedTable, Table, onlooker_with_roll, printed
from safemargin.release.decide.candidate import both
from safemargin.release.decide.versions import Version

SMALL = 1_000
"""Profiles up to which every test counts as one; beyond, those that closed forms decide are brief."""
BRIEF = 0.1
SECONDS = 900.0
"""After which no test is begun."""
FEW = 1_000
"""Of so many cells one may be left to a table with fractions of people; the certificate says how many are."""

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

    More tables only narrow what is possible. So what gives somebody away does so with more (`exposed`), and what is
    safe stays safe with less. There is one exception, with a tau above 0: an interval no wider than tau that reaches
    beyond the limits counts as disclosed, and may come to lie within them when it narrows. Such a choice (`narrow`)
    rules out nothing but itself, and one that no test decided (`loose`) nothing at all. A choice that gives somebody
    away only beside earlier releases is narrow too: a further table may show that people changed their answers.
    """

    def __init__(
        self,
        table: Table,
        base: Sequence[PublishedTable],
        margins: Sequence[Margin],
        onlookers: Sequence[Onlooker],
        limits: Limits,
        linear: int = 0,
        tell: Callable[[Choice], None] = lambda choice: None,
    ) -> None:
        self.table, self.base, self.margins = table, tuple(base), tuple(margins)
        self.onlookers, self.limits, self.linear = tuple(onlookers), limits, linear
        self.safe: list[Choice] = []
        self.exposed: list[Choice] = []
        self.narrow: list[Choice] = []
        self.loose: list[Choice] = []
        self.proofs: dict[Choice, Proof] = {}
        self.tell, self.started, self.spent = tell, time.monotonic(), 0.0

    def tables(self, choice: Choice) -> tuple[PublishedTable, ...]:
        """What a choice publishes."""
        chosen = [margin.versions[level - 1] for margin, level in zip(self.margins, choice, strict=True) if level]
        return (*self.base, *(printed(self.table, each.axes, each.partitions) for each in chosen))

    def is_safe(self, choice: Choice) -> bool:
        """Whether a choice is shown to be safe: no cell given away, none left open, few left to fractions of people."""
        if choice in self.safe or (self.limits.tau == 0 and any(within(choice, known) for known in self.safe)):
            return True
        if choice in self.narrow or choice in self.loose or any(within(known, choice) for known in self.exposed):
            return False
        proof = self.proof(choice)
        if self._holds(proof):
            self.safe.append(choice)
            return True
        if any(map(self._persists, proof.exposed)):
            self.exposed.append(choice)
        else:
            (self.narrow if proof.exposed else self.loose).append(choice)
        return False

    def reason(self, choice: Choice, place: int) -> Proof | None:
        """A test that was made and tells why a choice is not safe, because of the margin at `place`; or none."""
        made = [known for known in self.exposed if known[place] and within(known, choice)]
        if made:
            return self.proofs[min(made, key=sum)]
        return self.proofs.get(choice)

    def is_exposed(self, choice: Choice) -> bool:
        """Whether a choice is proved to give somebody away, as far as tests that were made tell."""
        return any(within(known, choice) for known in self.exposed)

    def proof(self, choice: Choice) -> Proof:
        """The test of a choice."""
        if choice not in self.proofs:
            self.tell(choice)
            proof = self.proofs[choice] = self._prove(self.tables(choice))
            self.spent += 1.0 if self.is_small or proof.tables else BRIEF
        return self.proofs[choice]

    @property
    def is_small(self) -> bool:
        """Whether the population is so small that programs decide what nothing else does."""
        return len(self.table.people(self.table.schema.names).codes) <= SMALL

    @property
    def is_late(self) -> bool:
        """Whether testing has taken so long that no other test is begun."""
        return time.monotonic() - self.started > SECONDS

    def screen(self, choice: Choice) -> bool:
        """Whether closed forms already tell that a choice gives somebody away, for good."""
        if self.is_exposed(choice):
            return True
        proof = self._prove(self.tables(choice), quick=True)
        if not any(map(self._persists, proof.exposed)):
            return False
        self.proofs[choice] = proof
        self.exposed.append(choice)
        self.spent += BRIEF
        return True

    def _prove(self, tables: tuple[PublishedTable, ...], quick: bool = False) -> Proof:
        slack = self.table.inconsistency.slack(int(self.table.totals.sum()))
        best = Proof((), {})
        for onlooker in self.onlookers:
            watching = onlooker
            if onlooker.composition(self.table.schema.names) != "joint":
                if exposed := self._told_without_roll(tables, onlooker):
                    return Proof(exposed, {})
                watching = replace(
                    onlooker, roll=onlooker_with_roll(self.table, "joint").roll
                )  # who knows more learns no less
            known = build_system(tables, watching, slack)
            proof = certify(known, self.limits, quick=quick, most_linear=max(self.linear, known.size // FEW))
            if onlooker.past is not None and not proof.exposed and (quick or self._holds(proof)):
                proof = both(proof, certify_with_earlier(tables, onlooker.past, self.limits, slack, quick))
            if not self._holds(proof):
                return proof
            if (proof.linear, sum(proof.checked.values())) >= (best.linear, sum(best.checked.values())):
                best = proof
        return best

    def _persists(self, one: Exposed) -> bool:
        """Whether a cell stays given away, whatever else is published."""
        people = np.array([one.people])
        least, most = int(self.limits.least(people)[0, one.option]), int(self.limits.most(people)[0, one.option])
        outside = one.upper < least or one.lower > most
        return not one.earlier and (outside or one.lower == one.upper or one.people < self.limits.kappa)

    def _holds(self, proof: Proof) -> bool:
        cells = proof.checked.get("joint cells", 0) + proof.checked.get("cells of fewer axes", 0)
        return proof.holds and proof.linear <= max(self.linear, cells // FEW)

    def _told_without_roll(self, tables: tuple[PublishedTable, ...], onlooker: Onlooker) -> tuple[Exposed, ...]:
        """Cells that are known to within tau to somebody who does not know how many people are in them."""
        exposure = bound(tables, onlooker, sharp=None, enough=self.limits.tau)
        whole = [table for table in tables if set(table.axes) == set(exposure.cells.axes)]
        if any(all(len(group) == 1 for groups in table.groups for group in groups) for table in whole):
            return ()  # each cell is printed by itself, and regular
        found = []
        for row, option in np.argwhere(exposure.width <= self.limits.tau).tolist():
            lower, upper = int(exposure.lower[row, option]), int(exposure.upper[row, option])
            people = upper if exposure.people is None else int(exposure.people[row])
            found.append(Exposed(exposure.cells.cell(row), option, people, lower, upper))
        return tuple(found)
