"""One question about one system, with what methods need of it: sharp intervals, or whether a cell is disclosed.

Objects
    Bounding    the sharp interval of every target; its state is a `Search`
    Certifying  whether any cell of some levels is disclosed; its state are the levels and the tables found so far
    tools       the rounder, the dual, the programs and the exchange graph of the system, each made on first use

`methods.py` runs one list of methods over a task. A method reads the tools it needs here, narrows intervals from
outside (`narrow`) or adds integer tables (`Search.take`, `Certifying.take`), and looks at `open` to see what is left.

Invariants
    * Tools depend on public facts only, never on the counts behind them: whoever knows the release and the roll can run
      the same search and gets the same tables (all seeds are fixed).
    * `take` trusts its caller: the table must have passed `System.admits`.
    * `tables` keep their order. Rerunning a rule, and certificates, refer to them by number.
    * `is_over` ends a search early, when an assumption is refuted; it never turns an open cell into a safe one.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from safemargin.bounds.cells import Level, open_cells, show
from safemargin.bounds.changes import Changes, aims_of
from safemargin.bounds.effort import EFFORT
from safemargin.bounds.grid import MarginGrid
from safemargin.bounds.programs import (
    program_of,
)
from safemargin.bounds.propagate import grids
from safemargin.bounds.reach import ExchangeGraph, attain_by_exchanges
from safemargin.bounds.rounding import Rounder
from safemargin.bounds.search import Search
from safemargin.bounds.solver import Program
from safemargin.bounds.system import System
from safemargin.bounds.wide import is_wide
from safemargin.bounds.witness import SoftmaxDual
from safemargin.core import IntArray, Limits, Progress, no_progress


@dataclass(eq=False)
class InferenceTask(ABC):
    """One question about one system, with what several methods need of it; each tool is made when it is first used.

    `low` and `high` are proved intervals of the variables, `given` tables that somebody else found.
    """

    system: System
    given: Sequence[IntArray]
    progress: Progress

    def __post_init__(self) -> None:
        self.low, self.high = self.system.low, self.system.high

    @property
    @abstractmethod
    def open(self) -> int:
        """How much is still to be shown."""

    is_over = False
    """Whether the answer is known, whatever else is shown."""

    def narrow(self, low: IntArray, high: IntArray) -> None:
        """Take proved intervals of the variables."""
        self.low, self.high = low, high

    @cached_property
    def grids(self) -> tuple[MarginGrid, ...]:
        """The plain margins per option; none if the system is not plain."""
        return grids(self.system)

    @cached_property
    def rounder(self) -> Rounder:
        """Rounds tables of this system."""
        return Rounder(self.system)

    @cached_property
    def dual(self) -> SoftmaxDual:
        """Fits tables of this system."""
        return SoftmaxDual(self.system, self.low, self.high)

    @cached_property
    def program(self) -> Program:
        """Linear and integer programs over this system."""
        return program_of(self.system, self.low, self.high)


@dataclass(eq=False)
class Bounding(InferenceTask):
    """The sharp interval of every target. `programs` allows programs, `whole` integer tables at their optima.

    `search` holds the proved interval of every target (`lower`, `upper`) around the attained one (`inner_lower`,
    `inner_upper`); a target is settled when they meet.
    """

    search: Search
    programs: bool
    whole: bool

    @property
    def open(self) -> int:
        """Ends that no table attains yet."""
        return self.search.unsettled()

    def narrow(self, low: IntArray, high: IntArray) -> None:
        """Take proved intervals of the variables, and what they say of the targets."""
        super().narrow(low, high)
        self.search.narrow_variables(low, high)

    def report(self) -> None:
        """Report progress: an end that a linear program reached is half the way."""
        if self.progress is not no_progress:
            search, total = self.search, 2 * len(self.search.lower)
            unseen = int(search.unseen_above.sum() + search.unseen_below.sum())
            self.progress("bounding", total - (self.open + min(unseen, self.open) + 1) // 2, total)


@dataclass(eq=False)
class Certifying(InferenceTask):
    """Whether any cell of `levels` is disclosed; `tables` are the integer tables that cleared some, in order.

    `linear` counts the cells that fractional tables alone cleared, at most `most_linear` of them if that is given;
    `turn` is for progress only.
    """

    levels: list[Level]
    limits: Limits
    most_linear: int | None
    tables: list[IntArray] = field(default_factory=list)
    linear: int = 0
    turn: float = 0.0
    failed: list[tuple[Level, int, int]] = field(default_factory=list)
    """Cells and columns that no program settled: these are in doubt for certain."""

    @property
    def open(self) -> int:
        """Cells that no table cleared yet."""
        return open_cells(self.levels)

    @cached_property
    def reach(self) -> ExchangeGraph:
        """What single exchanges lead to."""
        return ExchangeGraph(self.rounder.exchanges)

    @property
    def is_hopeless(self) -> bool:
        """Whether fractions are of no use and nothing here rounds tables of this kind and size."""
        few = self.most_linear is None or self.tables or self.system.size <= EFFORT.circle_counts
        return is_wide(self.system) or (not few and self.rounder.in_circles)

    def narrow(self, low: IntArray, high: IntArray) -> None:
        """Take proved intervals of the variables; the first level has the profiles as cells."""
        super().narrow(low, high)
        self.levels[0].force(*self.system.listed_ends(low, high))

    def take(self, counts: IntArray) -> None:
        """Add an integer table and what it shows."""
        self.tables.append(counts)
        show(self.levels, self.system.listed(counts))

    def exchange(self, tables: Sequence[IntArray], levels: list[Level] | None = None) -> None:
        """What tables one exchange away from these show."""
        for table in tables:  # one takes up to seconds: who waits may stop in between
            attain_by_exchanges(self.levels if levels is None else levels, self.system, self.reach, [table])
            self.report(self.turn)

    def report(self, turn: float, share: float = 0.0) -> None:
        """Report how many of all rounds are done, and what share of the next, in hundredths."""
        self.turn = turn + 0.99 * share
        self.progress("certifying", int(100 * self.turn), 100 * (EFFORT.shuffles + EFFORT.rounds))


Task = Bounding | Certifying


def attain_by_changes(task: Certifying, changes: Changes) -> None:
    """Settle open cells one by one by the least change of a table; ends with the first few that nothing settles.

    Every table that is found is exchanged further after a batch, as it often clears neighbours. If a program proves
    that a cell cannot be cleared, its outer interval shrinks instead, which may disclose it: then the task is over.
    """
    fresh: list[IntArray] = []
    while (place := _next_open(task)) is not None and changes.tried < EFFORT.changes:
        level, cell, column = place
        found = _settle_cell(task, changes, place)
        if level.exposed()[cell, column]:
            task.is_over = True
            return
        if found is not None:
            fresh.append(found)
        elif level.needs()[0][cell, column] or level.needs()[1][cell, column]:
            task.failed.append(place)
            if len(task.failed) >= EFFORT.change_failures:
                return
        if len(fresh) >= EFFORT.change_batch:
            task.exchange(fresh[-1:])
            fresh = []
        task.report(task.turn)


def _next_open(task: Certifying) -> tuple[Level, int, int] | None:
    """An open cell with its column, the cells of most axes first; without those that failed.

    Cells of most axes first, since what clears a small cell often clears the larger ones that hold it.
    """
    for level in task.levels:
        if level.open_cells:
            up, down = level.needs()
            places = up | down
            for failed, cell, column in task.failed:
                if failed is level:
                    places[cell, column] = False
            cells, columns = np.nonzero(places)
            if len(cells):
                return level, int(cells[0]), int(columns[0])
    return None


def _settle_cell(task: Certifying, changes: Changes, place: tuple[Level, int, int]) -> IntArray | None:
    """A table that shows one more end of a cell; where a program proves that there is none, the cell is narrowed.

    `aims_of` lists what would clear the cell. An impossible aim moves the outer end before the aimed count.
    """
    level, cell, column = place
    for aim, higher in aims_of(task.system, level, cell, column):
        change = changes.find(task.tables[-EFFORT.change_starts :], aim)
        if change.table is not None:
            task.take(change.table)
            return change.table
        if change.impossible:
            lower, upper = level.outer_lower.copy(), level.outer_upper.copy()
            ends = upper if higher else lower
            ends[cell, column] = aim.count - 1 if higher else aim.count + 1
            level.force(lower, upper)
    return None
