"""Tables of what is swapped by one held column, kept as numbers, and what runs at one rate do to them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import fmean, median, stdev

import numpy as np

from safemargin.core import IntArray
from safemargin.guarantees import swap_epsilon
from safemargin.swap.permutation import Exchange, StratumCells
from safemargin.swap.reading import Counted
from safemargin.swap.tables import Run

MOST_CELLS = 1 << 25
"""Of a table that is kept."""


@dataclass(frozen=True)
class HeldTable:
    """The table of what is swapped by one held column, empty cells included.

    Row `starts[c]` up to `starts[c + 1]` of `values` and `weights` say which values a record of cell `c` holds and how
    often: one value once, unless it is a household.
    """

    column: str
    width: int
    starts: IntArray
    values: IntArray
    weights: IntArray
    counts: IntArray

    @property
    def cells(self) -> int:
        """Cells that hold somebody; an error relative to nobody has no meaning."""
        return int(np.count_nonzero(self.counts))

    @property
    def empty(self) -> int:
        """Cells that hold nobody: both values occur, but not together."""
        return len(self.counts) - self.cells

    def error(self, cells: StratumCells, exchange: Exchange) -> tuple[float, int]:
        """What an exchange changes: the mean relative error of cells with somebody, and how many empty it fills."""
        # Only selected records are counted again: a run costs as much as it moves.
        change = self._places(exchange.cell, exchange.swapped) - self._places(
            exchange.cell, cells.swapped[exchange.cell]
        )
        held = self.counts > 0
        relative = float((np.abs(change[held]) / self.counts[held]).mean())
        return relative, int(np.count_nonzero(change[~held]))

    def _places(self, cell: IntArray, swapped: IntArray) -> IntArray:
        """The table of records of these cells if they had these swapped values."""
        starts, lengths = self.starts[cell], np.diff(self.starts)[cell]
        entry = np.arange(int(lengths.sum())) + np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)
        cell_index = np.repeat(swapped, lengths) * self.width + self.values[entry]
        return np.bincount(cell_index, self.weights[entry], len(self.counts)).astype(np.int64)


def held_tables(run: Run, cells: StratumCells, rows: IntArray) -> tuple[list[HeldTable], list[str]]:
    """The tables of all held columns, and the columns whose table would be too large."""
    tables, too_large = [], []
    places = int(cells.swapped.max()) + 1
    for name in run.held_columns():
        width, ids, values, weights = run.held_values(name)
        if places * width > MOST_CELLS:
            too_large.append(name)
            continue
        position = np.empty(len(rows), dtype=np.int64)
        position[rows] = np.arange(len(rows))
        of = position[ids]
        order = np.argsort(of, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(of, minlength=len(rows)))])
        values, weights, of = values[order], weights[order], of[order]
        counts = np.bincount(cells.swapped[of] * width + values, weights * cells.counts[of], places * width)
        tables.append(HeldTable(name, width, starts, values, weights, counts.astype(np.int64)))
    return tables, too_large


@dataclass(frozen=True)
class Tried:
    """What happened to one table at one rate: for each run its mean relative error, and the empty cells it filled."""

    column: str
    errors: tuple[float, ...]
    filled: tuple[int, ...]

    @property
    def mean(self) -> float:
        """Mean error over the runs."""
        return fmean(self.errors)

    @property
    def spread(self) -> dict[str, float]:
        """The errors of the runs in short."""
        deviation = stdev(self.errors) if len(self.errors) > 1 else 0.0
        ends = {"least": min(self.errors), "median": median(self.errors), "most": max(self.errors)}
        return {"mean": self.mean, "deviation": deviation, **ends}


@dataclass(frozen=True)
class Trial:
    """Some runs at one rate: `changed` is how many records got another value, for each run."""

    rate: Fraction
    epsilon: float
    changed: tuple[int, ...]
    tables: tuple[Tried, ...]


@dataclass(frozen=True)
class MeasuredTable:
    """A table of what is swapped by a held column: cells that hold somebody, and empty ones, which errors omit."""

    column: str
    cells: int
    empty: int


def run_trial(data: Counted, rate: Fraction, tables: Sequence[HeldTable], runs: int, done: Callable[[], None]) -> Trial:
    """Swap `runs` times at one rate, and measure every table; `done` is called after each run."""
    changed, errors = [], []
    for _ in range(runs):
        exchange = data.draw(rate)
        changed.append(int((exchange.swapped != data.cells.swapped[exchange.cell]).sum()))
        errors.append([table.error(data.cells, exchange) for table in tables])
        done()
    tried = [
        Tried(table.column, tuple(run[number][0] for run in errors), tuple(run[number][1] for run in errors))
        for number, table in enumerate(tables)
    ]
    return Trial(rate, swap_epsilon(rate, data.strata.largest), tuple(changed), tuple(tried))
