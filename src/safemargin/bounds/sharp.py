"""Sharp intervals of many targets at once: every table found on the way serves all of them.

From outside the intervals shrink (propagation, programs), from inside they grow (integer tables). A target is settled
when both meet. What stays apart is reported as the linear statement only.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from safemargin.bounds.linear import Program, integer_table
from safemargin.bounds.propagate import propagate
from safemargin.bounds.rounding import Rounder
from safemargin.bounds.system import System
from safemargin.bounds.witness import Family
from safemargin.model.arrays import BoolArray, FloatArray, IntArray
from safemargin.randomness import numpy_generator

PROPAGATED, WITNESSED, LINEAR, INTEGER = 1, 2, 3, 4
"""Places in `model.exposure.METHODS`."""

MOST_ROWS_TO_FIT = 2_500
MOST_VARIABLES_FOR_INTEGERS = 20_000
SECONDS_PER_INTEGER_PROGRAM = 20.0
SEED = 20_000

Progress = Callable[[int, int], None]
"""Called with how many ends of intervals are settled, of how many."""


@dataclass(frozen=True)
class Targets:
    """Linear functionals `offset + sign * (matrix @ x)` of the variables, one per row."""

    matrix: sparse.csr_array
    offset: IntArray
    sign: IntArray

    def of(self, counts: IntArray) -> IntArray:
        """Values of all targets in one table."""
        values: IntArray = self.offset + self.sign * (self.matrix @ counts)
        return values


@dataclass(frozen=True)
class Settled:
    """Intervals per target, whether integer tables attain both ends, and the method of the last step."""

    lower: IntArray
    upper: IntArray
    integer: BoolArray
    method: IntArray
    complete: bool


class _Search:
    """Outer and inner intervals of all targets while they are being settled."""

    def __init__(self, known: System, targets: Targets) -> None:
        self.known, self.targets = known, targets
        self.low, self.high = propagate(known)
        least, most = targets.matrix @ self.low, targets.matrix @ self.high
        flipped = targets.sign < 0
        self.lower = targets.offset + np.where(flipped, -most, least)
        self.upper = targets.offset + np.where(flipped, -least, most)
        self._follow_rows()
        far = np.iinfo(np.int64).max // 4
        self.inner_lower = np.full(len(self.lower), far)
        self.inner_upper = np.full(len(self.lower), -far)
        self.method = np.full(len(self.lower), PROPAGATED, dtype=np.int64)
        self.tables = 0

    def _follow_rows(self) -> None:
        """A target that a published row states outright has that row's range."""
        stated = (
            {
                tuple(self.known.rows.indices[a:b].tolist()): row
                for row, (a, b) in enumerate(zip(self.known.rows.indptr, self.known.rows.indptr[1:], strict=False))
            }
            if len(self.lower) <= 20_000
            else {}
        )
        matrix = self.targets.matrix
        for t, (a, b) in enumerate(zip(matrix.indptr, matrix.indptr[1:], strict=False)):
            row = stated.get(tuple(sorted(matrix.indices[a:b].tolist()))) if stated and b - a > 1 else None
            if row is None:
                continue
            ends = self.targets.offset[t] + self.targets.sign[t] * np.array(
                [self.known.lower[row], self.known.upper[row]]
            )
            self.lower[t], self.upper[t] = max(self.lower[t], ends.min()), min(self.upper[t], ends.max())

    def take(self, counts: IntArray) -> None:
        """An integer table that satisfies every fact: what it shows can happen."""
        values = self.targets.of(counts)
        self.inner_lower = np.minimum(self.inner_lower, values)
        self.inner_upper = np.maximum(self.inner_upper, values)
        self.tables += 1

    @property
    def open_above(self) -> BoolArray:
        return self.inner_upper < self.upper

    @property
    def open_below(self) -> BoolArray:
        return self.inner_lower > self.lower

    def is_open(self, target: int, upwards: bool) -> bool:
        """Whether one end of one target is open."""
        if upwards:
            return bool(self.inner_upper[target] < self.upper[target])
        return bool(self.inner_lower[target] > self.lower[target])

    def unsettled(self) -> int:
        """How many ends are open."""
        return int(self.open_above.sum() + self.open_below.sum())


def settle(
    known: System,
    targets: Targets,
    progress: Progress | None = None,
    programs: bool = True,
    given: Sequence[IntArray] = (),
) -> Settled:
    """The sharp interval of every target. Ctrl-C ends the search early with valid outer intervals."""
    search = _Search(known, targets)
    total = 2 * len(search.lower)
    complete = True

    def report() -> None:
        if progress is not None:
            progress(total - search.unsettled(), total)

    try:
        if known.admits(search.low):  # often so where propagation settles everything
            search.take(search.low)
        for counts in given:
            if counts.shape == known.low.shape and known.admits(counts):
                search.take(counts)
        _by_witnesses(search, report, rounds=12 if programs else 0 if search.tables else 2)
        if programs and search.unsettled():
            _by_programs(search, report)
    except KeyboardInterrupt:
        complete = False
    report()
    integer = ~search.open_above & ~search.open_below
    return Settled(search.lower, search.upper, integer, search.method, complete)


def _by_witnesses(search: _Search, report: Callable[[], None], rounds: int) -> None:
    known = search.known
    if known.people is None or len(known.lower) > MOST_ROWS_TO_FIT or not search.unsettled():
        return
    family, rounder = Family(known, search.low, search.high), Rounder(known)
    generator = numpy_generator(SEED)
    for turn in range(rounds):
        before = search.unsettled()
        want = search.open_above.astype(np.float64) - search.open_below.astype(np.float64)
        want += generator.choice([-1.0, 1.0], size=len(want)) * (search.open_above & search.open_below)
        lean = search.targets.matrix.T @ (want * search.targets.sign)
        counts = rounder.round(family.fit(tilt=8.0 * np.sign(lean)).values)
        if counts is None:
            return
        was_open = search.open_above | search.open_below
        search.take(counts)
        search.method[was_open & ~search.open_above & ~search.open_below] = WITNESSED
        report()
        if search.unsettled() == 0 or (turn > 3 and search.unsettled() > 0.97 * before):
            return


def _by_programs(search: _Search, report: Callable[[], None]) -> None:
    program = Program(search.known, search.low, search.high)
    generator = numpy_generator(SEED + 1)
    _by_groups(search, program, generator.choice([-1.0, 1.0], size=(40, len(search.lower))), report)
    for upwards in (True, False):
        for target in np.flatnonzero(search.open_above if upwards else search.open_below).tolist():
            if search.is_open(target, upwards):
                _settle_end(search, program, target, upwards)
                report()


def _by_groups(search: _Search, program: Program, signs: FloatArray, report: Callable[[], None]) -> None:
    """Objectives over all open targets at once: each vertex that is an integer table settles many."""
    for sign in signs:
        before = search.unsettled()
        above, below = search.open_above, search.open_below
        want = np.where(above & below, sign, above.astype(np.float64) - below.astype(np.float64))
        if before < 8:
            return
        _harvest(search, program.maximise(search.targets.matrix.T @ (want * search.targets.sign)).values)
        report()
        if search.unsettled() > 0.99 * before:
            return


def _harvest(search: _Search, values: FloatArray) -> bool:
    counts = integer_table(search.known, values)
    if counts is not None:
        search.take(counts)
    return counts is not None


def _settle_end(search: _Search, program: Program, target: int, upwards: bool) -> None:
    """Settle the upper or lower end of one target by a linear program and, where it has a gap, an integer one."""
    targets, way = search.targets, 1.0 if upwards else -1.0
    sign, offset = int(targets.sign[target]), int(targets.offset[target])
    row = targets.matrix[[target]].toarray().ravel().astype(np.float64) * sign * way
    best = program.maximise(row)
    search.method[target] = LINEAR
    _tighten(search, target, upwards, offset, way, best.value)
    _harvest(search, best.values)
    if not search.is_open(target, upwards):
        return
    if search.known.size > MOST_VARIABLES_FOR_INTEGERS:
        return
    whole = program.maximise_integer(row, SECONDS_PER_INTEGER_PROGRAM)
    _harvest(search, whole.values)
    if whole.proved:
        search.method[target] = INTEGER
        _tighten(search, target, upwards, offset, way, whole.value)


def _tighten(search: _Search, target: int, upwards: bool, offset: int, way: float, value: float) -> None:
    if not np.isfinite(value):
        return
    reached = int(np.floor(value + 1e-6 * max(1.0, abs(value)) ** 0.5))
    if upwards:
        search.upper[target] = min(search.upper[target], offset + reached)
    else:
        search.lower[target] = max(search.lower[target], offset - reached)
