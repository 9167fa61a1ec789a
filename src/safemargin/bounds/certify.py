"""Is anybody exposed? Deciding is far cheaper than computing every interval.

A handful of integer tables that all satisfy the public facts show, for almost every cell at once, that it is neither
forced outside the limits nor known to within tau. Only cells that no table clears get a program of their own. Checked are
the cells of the joint table and of every smaller set of axes: a pair of axes can be given away although each profile in
it, taken alone, is open.
"""

from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from scipy import sparse

from safemargin.bounds.propagate import propagate
from safemargin.bounds.rounding import Rounder
from safemargin.bounds.sharp import SEED, Progress, Targets, settle
from safemargin.bounds.system import System
from safemargin.bounds.witness import Family
from safemargin.model.arrays import BoolArray, FloatArray, IntArray, row_keys
from safemargin.model.target import Limits
from safemargin.randomness import numpy_generator

ROUNDS = 10
PULL = 8.0
MOST_CELLS_TO_SETTLE = 300
MOST_CELLS_TO_SUM = 400_000


@dataclass(frozen=True)
class Exposed:
    """A cell that the facts give away: its labels, option, people and interval."""

    cell: dict[str, str] = field(hash=False)
    option: int
    people: int
    lower: int
    upper: int


@dataclass(frozen=True)
class Proof:
    """What deciding found. `tables` are the integer witnesses, `unsettled` the cells proved in real numbers only."""

    exposed: tuple[Exposed, ...]
    checked: dict[str, int] = field(hash=False)
    unsettled: int
    undecided: int
    tables: tuple[IntArray, ...] = field(hash=False, compare=False, default=())

    @property
    def holds(self) -> bool:
        """Whether every cell was shown to be safe."""
        return not self.exposed and self.undecided == 0


class _Level:
    """The cells of one set of axes and what integer tables have shown of them so far."""

    def __init__(self, known: System, columns: tuple[int, ...], limits: Limits) -> None:
        assert known.people is not None
        self.columns = columns
        codes = known.codes[:, list(columns)]
        sizes = [len(known.categories[c]) for c in columns]
        _, first, inverse = np.unique(row_keys(codes, sizes), return_index=True, return_inverse=True)
        self.cell_of = inverse.astype(np.int64)
        self.codes = codes[first]
        count = len(known.options)
        self.people = np.zeros(len(first), dtype=np.int64)
        np.add.at(self.people, self.cell_of, known.people)
        self.least, self.most, self.tau = limits.least(self.people), limits.most(self.people), limits.tau
        self.kappa = limits.kappa
        self.lower = np.full((len(first), count), np.iinfo(np.int64).max // 4)
        self.upper = np.full((len(first), count), -np.iinfo(np.int64).max // 4)

    def take(self, listed: IntArray) -> None:
        for option in range(listed.shape[1]):
            sums = np.bincount(self.cell_of, listed[:, option], minlength=len(self.codes)).astype(np.int64)
            np.minimum(self.lower[:, option], sums, out=self.lower[:, option])
            np.maximum(self.upper[:, option], sums, out=self.upper[:, option])

    def needs(self) -> tuple[BoolArray, BoolArray]:
        """Cells (rows) and options that still need a higher, or a lower, count to be shown possible."""
        narrow = (self.upper - self.lower <= self.tau) & (self.upper - self.lower < self.people[:, None])
        return (self.upper < self.least) | narrow, (self.lower > self.most) | narrow


def certify(known: System, limits: Limits, progress: Progress | None = None) -> Proof:
    """Decide whether any cell of `known` is disclosed under `limits`; needs a joint roll."""
    levels = _levels(known, limits)
    tables: list[IntArray] = []
    low, high = propagate(known)
    family, rounder = Family(known, low, high), Rounder(known)
    generator = numpy_generator(SEED + 2)
    inside = family.fit(floors=_floors(known, limits))
    values: FloatArray | None = inside.values
    for turn in range(ROUNDS):
        if values is not None and (counts := rounder.round(values)) is not None:
            tables.append(counts)
            listed = known.listed(counts)
            for level in levels:
                level.take(listed)
        open_cells = sum(int((up | down).sum()) for up, down in (level.needs() for level in levels))
        if progress is not None:
            progress(turn + 1, ROUNDS + 1)
        if open_cells == 0 or (turn > 1 and not tables):
            break
        lean = _lean(known, levels, generator.choice([-1.0, 1.0], size=len(known.codes)))
        values = family.fit(tilt=lean).values
    return _settle_rest(known, limits, levels, tables, inside.found)


def _floors(known: System, limits: Limits) -> FloatArray:
    least = np.array([float(f) for f in limits.floors])
    rest = np.array([1 - float(c) for c in limits.ceilings])
    if known.free == 1:
        return np.array([least[0], rest[0]])
    return least if known.reference else np.append(least, 0.0)


def _levels(known: System, limits: Limits) -> list[_Level]:
    """The joint cells, then every set of axes from the smallest up while there is room."""
    count = len(known.axes)
    levels = [_Level(known, tuple(range(count)), limits)]
    summed = 0
    for order in range(2, count):
        chosen = list(combinations(range(count), order))
        if order > 2 and summed + len(chosen) * len(known.codes) > MOST_CELLS_TO_SUM:
            break
        levels.extend(_Level(known, columns, limits) for columns in chosen)
        summed += len(chosen) * len(known.codes)
    return levels


def _lean(known: System, levels: list[_Level], sign: FloatArray) -> FloatArray:
    """Which way to pull each variable so that the next table clears the cells that are still open."""
    want = np.zeros((len(known.codes), len(known.options)))
    for level in levels:
        up, down = level.needs()
        pull = up.astype(np.float64) - down.astype(np.float64)
        both = (up & down)[level.cell_of]
        want += (1.0 if len(level.columns) == len(known.axes) else 0.5) * pull[level.cell_of]
        want += both * sign[:, None] * np.where(np.arange(want.shape[1]) % 2 == 0, 1.0, -1.0)
    want = PULL * np.clip(want, -1.0, 1.0)
    if known.reference:
        return np.asarray((want[:, :-1] - want[:, -1:]).ravel())
    return np.asarray(want.ravel())


def _settle_rest(
    known: System, limits: Limits, levels: list[_Level], tables: list[IntArray], inside: bool
) -> Proof:
    """Programs for the cells that no table cleared, the most telling first."""
    exposed: list[Exposed] = []
    unsettled = undecided = 0
    budget = MOST_CELLS_TO_SETTLE
    for level in sorted(levels, key=lambda level: len(level.columns)):
        up, down = level.needs()
        cells = np.flatnonzero((up | down).any(axis=1))
        cells = cells[np.argsort(-level.people[cells], kind="stable")]
        now, later = cells[:budget], cells[budget:]
        budget -= len(now)
        if len(later):
            unsettled += len(later) if inside else 0
            undecided += 0 if inside else len(later)
        if len(now):
            found, linear = _programs(known, limits, level, now)
            exposed.extend(found)
            unsettled += linear
    exposed.sort(key=lambda one: (-one.people, len(one.cell)))
    checked = {
        "joint": len(levels[0].codes),
        "smaller": sum(len(level.codes) for level in levels[1:]),
        "order": max((len(level.columns) for level in levels[1:]), default=len(known.axes)),
    }
    return Proof(tuple(exposed), checked, unsettled, undecided, tuple(tables))


def _programs(known: System, limits: Limits, level: _Level, cells: IntArray) -> tuple[list[Exposed], int]:
    targets = _functionals(known, level, cells)
    settled = settle(known, targets)
    shape = (len(cells), len(known.options))
    lower, upper = settled.lower.reshape(shape), settled.upper.reshape(shape)
    verdicts = limits.verdicts(lower, upper, level.people[cells])
    exposed = []
    for at, option in np.argwhere(verdicts == 2).tolist():
        labels = {known.axes[c]: known.categories[c][level.codes[cells[at], i]] for i, c in enumerate(level.columns)}
        people = int(level.people[cells[at]])
        exposed.append(Exposed(labels, option, people, int(lower[at, option]), int(upper[at, option])))
    linear = int((~settled.integer.reshape(shape) & (verdicts != 2)).any(axis=1).sum())
    return exposed, linear


def _functionals(known: System, level: _Level, cells: IntArray) -> Targets:
    place = np.full(len(level.codes), -1, dtype=np.int64)
    place[cells] = np.arange(len(cells))
    mine = place[level.cell_of]
    profiles = np.flatnonzero(mine >= 0)
    count, free = len(known.options), known.free
    rows, columns = [], []
    for option in range(count):
        for variable in [option] if option < free else range(free):
            rows.append(mine[profiles] * count + option)
            columns.append(profiles * free + variable)
    at, to = np.concatenate(rows), np.concatenate(columns)
    matrix = sparse.csr_array((np.ones(len(at), dtype=np.int64), (at, to)), shape=(len(cells) * count, known.size))
    offset, sign = np.zeros((len(cells), count), dtype=np.int64), np.ones((len(cells), count), dtype=np.int64)
    if known.reference:
        offset[:, -1], sign[:, -1] = level.people[cells], -1
    return Targets(matrix, offset.ravel(), sign.ravel())
