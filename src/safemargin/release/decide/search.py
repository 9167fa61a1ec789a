"""The most valuable safe choice of margins, and a bound on what any safe choice is worth.

Objects
    choice      per margin how finely it is published: 0 not at all, then its versions from the coarsest
    value       what a choice counts for: a sum over its margins
    conflict    a choice that discloses an answer; with more tables it still does, so all larger choices are ruled out
    test        `SafetyOracle.is_safe`: expensive, and the only thing that makes a choice safe

Method
    Release maximisation is a search over a downward closed family given by an oracle. Conflicts are kept as small as
    they are found; a small integer program (`_relaxed`) gives the best choice that contains none. It is put to the
    test:
    if it is safe it is the best of all; if not it yields a new conflict (implicit hitting sets). When tests run out,
    the
    value of the best choice without a *proved* conflict bounds what is possible.

Invariants
    * What is returned was tested and found safe, or is the `start` that the caller knows to be safe.
    * The bound uses proved conflicts only; undecided choices never lower it.
    * Families are downward closed only for tau = 0; with tau above it, choices that are merely too narrow rule out
      nothing but themselves (`SafetyOracle` says why).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from safemargin.bounds import Proof
from safemargin.core import Progress, no_progress
from safemargin.release.decide.crossed import Version

TINY = 1e-6
TABLES_STEP = "choosing tables of several axes"
"""What progress calls this work."""
UNDECIDED = 5
"""Choices from a large population that may stay undecided before no better one is looked for."""


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
    """Whether a choice says nothing that the other does not.

    >>> within((0, 1), (1, 1)), within((2, 0), (1, 1))
    (True, False)
    """
    return all(a <= b for a, b in zip(less, more, strict=True))


class Tests(Protocol):
    """Tests of choices that are kept: which were safe, exposed, too narrow, or stayed undecided (`loose`)."""

    margins: tuple[Margin, ...]
    exposed: list[Choice]
    narrow: list[Choice]
    loose: list[Choice]
    proofs: dict[Choice, Proof]
    spent: float

    @property
    def is_small(self) -> bool: ...
    @property
    def is_late(self) -> bool: ...
    def is_safe(self, choice: Choice) -> bool: ...
    def is_exposed(self, choice: Choice) -> bool: ...
    def screen(self, choice: Choice) -> bool: ...


def maximal(judge: Tests, start: Choice, most: int, progress: Progress = no_progress) -> tuple[Choice, float]:
    """The best choice found with about `most` tests, and the bound. `start` is a choice known to be safe."""
    search = _Search(judge, start, most, progress)
    # Tests of single margins pay if at least half of the budget is left for choices of several.
    search.alone(by_closed_forms=2 * sum(len(margin.versions) for margin in judge.margins) > most)
    search.fill((0,) * len(judge.margins))
    search.improve()
    search.fill(search.best)
    return search.best, max(_relaxed(judge.margins, judge.exposed, judge.narrow)[1], search.value(search.best))


class _Search:
    """The state of a search: the best safe choice so far, and how much testing is left."""

    def __init__(self, judge: Tests, start: Choice, most: int, progress: Progress) -> None:
        self.judge, self.best, self.most, self.progress = judge, start, most, progress
        self.margins = judge.margins

    def value(self, choice: Choice) -> float:
        """What a choice is worth."""
        return math.fsum(margin.values[level - 1] for margin, level in zip(self.margins, choice, strict=True) if level)

    @property
    def is_over(self) -> bool:
        """Whether the tests, or the time for them, have run out."""
        return self.judge.spent >= self.most or self.judge.is_late

    def is_safe(self, choice: Choice) -> bool:
        """Test a choice; the best safe one is kept."""
        safe = self.judge.is_safe(choice)
        if safe and self.is_complete(choice) and self.value(choice) > self.value(self.best) + TINY:
            self.best = choice
        self.progress(TABLES_STEP, min(int(self.judge.spent), self.most), self.most)
        return safe

    def is_complete(self, choice: Choice) -> bool:
        """Whether every margin comes with the single axes that it needs."""
        return all(
            choice[need] for margin, level in zip(self.margins, choice, strict=True) if level for need in margin.needs
        )

    def alone(self, by_closed_forms: bool) -> None:
        """How finely each margin may be published with nothing beside it but what it needs."""
        for index, margin in enumerate(self.margins):
            for level in range(len(margin.versions), 0, -1):
                choice = self.with_level((0,) * len(self.margins), index, level)
                if not self.judge.screen(choice) if by_closed_forms else self.is_safe(choice):
                    break

    def with_level(self, choice: Choice, index: int, level: int) -> Choice:
        """The choice with one margin at another level, and what it needs."""
        levels = list(choice)
        levels[index] = level
        for need in self.margins[index].needs if level else ():
            levels[need] = max(levels[need], 1)
        return tuple(levels)

    def fill(self, choice: Choice) -> None:
        """Add margins to a choice, the most valuable first, each as finely as is safe."""
        for index in sorted(range(len(self.margins)), key=lambda index: -self.margins[index].values[-1]):
            for level in range(len(self.margins[index].versions), choice[index], -1):
                if self.is_over:
                    return
                trial = self.with_level(choice, index, level)
                if self.is_safe(trial):
                    choice = trial
                    break

    def improve(self) -> None:
        """Test the best choice without a conflict until one is safe, or tests run out."""
        undecided = 0
        while not self.is_over and undecided < UNDECIDED:
            choice, most = _relaxed(self.margins, [*self.judge.exposed, *self.judge.loose], self.judge.narrow)
            if most <= self.value(self.best) + TINY or self.is_safe(choice):
                return
            if choice in self.judge.loose and not self.judge.is_small:
                undecided += 1  # tables in a circle: parts of them stay undecided too
            elif choice not in self.judge.narrow:
                self._shrink(choice)

    def _shrink(self, choice: Choice) -> None:
        """Publish less of a choice, margin by margin, as long as it stays a conflict: small conflicts rule out more.

        Margins that have least to do with the disclosed cell are reduced first: omitted if possible, else published
        one version coarser. A choice that is proved a conflict at the start only ever shrinks to proved ones; of any
        other, whatever is not safe counts as a conflict. Every test counts against the budget. What is found stays in
        `judge`, and a trial that proves safe may become `best`.
        """
        proved = self.judge.is_exposed(choice)
        for index in sorted(range(len(choice)), key=lambda index: self._distance(choice, index), reverse=True):
            while choice[index] and not self.is_over:
                less = tuple(level - (position == index) for position, level in enumerate(choice))
                none = tuple(0 if position == index else level for position, level in enumerate(choice))
                smaller = next((trial for trial in (none, less) if self._conflicts(trial, proved)), None)
                if smaller is None:
                    break
                choice = smaller

    def _conflicts(self, choice: Choice, proved: bool) -> bool:
        """Whether a choice is not safe; with `proved`, whether it is proved to disclose an answer."""
        safe = self.is_safe(choice)
        return not safe and (not proved or self.judge.is_exposed(choice))

    def _distance(self, choice: Choice, index: int) -> int:
        """How little a margin has to do with the cell that a choice discloses."""
        proof = self.judge.proofs.get(choice)
        cells = (proof.exposed or proof.doubtful)[:1] if proof else ()
        if not cells or not choice[index]:
            return 0
        return len(set(self.margins[index].versions[0].axes) - set(cells[0].cell))


def _relaxed(margins: Sequence[Margin], conflicts: Sequence[Choice], barred: Sequence[Choice]) -> tuple[Choice, float]:
    """The most valuable choice that contains no conflict and is not barred, and a bound on its value.

    A small integer program with one variable per version, which is 1 if the margin is published so or more finely. If
    no choice is left, the bound is zero.

    One table worth 3, another worth 1 or 2 by version. If the first discloses an answer beside the finer version of the
    second, the best that may be left is both with the coarser one:

    >>> two = [Margin((None,), (3.0,)), Margin((None, None), (1.0, 2.0))]
    >>> _relaxed(two, [], []), _relaxed(two, [(1, 2)], []), _relaxed(two, [(1, 1)], [])
    (((1, 2), 5.0), ((1, 1), 4.0), ((1, 0), 3.0))
    """
    first = np.cumsum([0, *(len(margin.versions) for margin in margins)])
    size = int(first[-1])
    if not size:
        return (), 0.0
    from scipy.optimize import Bounds, LinearConstraint, milp  # takes long to import, and few releases ask for more

    # A finer version is the coarser one plus a gain, so a choice is a prefix of ones per margin.
    gain = np.concatenate([np.diff([0.0, *margin.values]) for margin in margins])
    rows: list[tuple[dict[int, int], int]] = []
    for index, margin in enumerate(margins):
        start = int(first[index])
        rows += [({start + level: 1, start + level - 1: -1}, 0) for level in range(1, len(margin.versions))]
        rows += [({start: 1, int(first[need]): -1}, 0) for need in margin.needs]
    smallest = [
        conflict
        for conflict in conflicts
        if not any(other != conflict and within(other, conflict) for other in conflicts)
    ]
    for conflict in dict.fromkeys(smallest):
        columns = [int(first[index]) + level - 1 for index, level in enumerate(conflict) if level]
        rows.append((dict.fromkeys(columns, 1), len(columns) - 1))
    for point in barred:  # some margin is published less finely, or more
        entries = {int(first[index]) + level - 1: 1 for index, level in enumerate(point) if level}
        finer = {int(first[p]) + level: -1 for p, level in enumerate(point) if level < len(margins[p].versions)}
        rows.append((entries | finer, len(entries) - 1))
    matrix = np.zeros((len(rows), size))
    for row, (entries, _) in enumerate(rows):
        matrix[row, list(entries)] = list(entries.values())
    limits = [LinearConstraint(matrix, -np.inf, np.array([most for _, most in rows]))] if rows else []
    whole = np.ones(size, dtype=np.int64)
    best = milp(-gain, constraints=limits, integrality=whole, bounds=Bounds(0, 1), options={"mip_rel_gap": 0.0})
    if best.x is None or best.mip_dual_bound is None:
        return (0,) * len(margins), 0.0
    taken = np.rint(best.x).astype(np.int64)
    choice = tuple(int(taken[first[index] : first[index + 1]].sum()) for index in range(len(margins)))
    # The dual bound, not the value: it holds even if the solver stopped early.
    return choice, float(-best.mip_dual_bound)
