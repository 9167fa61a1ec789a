"""The state of bounding: what is known so far of any functionals, from outside by proofs, from inside by tables.

Objects
    target      a functional t(x) = offset + sign * (row . x) of the variables: the count of an option in a cell
    outer       [lower, upper]: no possible integer table leaves it; proved
    inner       [inner_lower, inner_upper]: attained by integer tables that were added up
    seen        [seen_lower, seen_upper]: attained by tables with fractions; what linear programs cannot exclude

Statement
    inner is contained in the sharp interval, and the sharp interval in outer. Where they meet, the interval is sharp
    (`attained`). Where the inner one is wider than `enough`, it is `wide` and need not be known better.

Invariants
    * Outer intervals come from integer arithmetic, or from a solver's value widened by its tolerance (`tighten`).
    * `show` and `take` get integer tables that passed `System.admits`, or counts that such tables attain.
    * `see` never closes an interval; it only spares further linear programs.
    * `whole_searches` decides who may cut a search short. A release must not depend on when Ctrl-C was pressed.

Example
    Two counts that add up to 3, and their sum as a target of its own. A table attains two of the four ends:

    >>> two = Targets(sparse.csr_array(np.array([[1, 0], [0, 1]])), np.zeros(2, dtype=int), np.ones(2, dtype=int))
    >>> search = Search(two, np.array([0, 0]), np.array([3, 3]))
    >>> search.take(np.array([3, 0]))
    >>> search.open_above.tolist(), search.open_below.tolist(), search.unsettled()
    ([False, True], [True, False], 2)
    >>> search.take(np.array([0, 3]))
    >>> search.unsettled(), search.attained.tolist()
    (0, [True, True])
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from safemargin.core import BoolArray, FloatArray, IntArray

CLOSED, PROPAGATED, WITNESSED, LINEAR, INTEGER = 0, 1, 2, 3, 4
"""Places in `exposure.METHODS`."""

FAR = np.iinfo(np.int64).max // 4
WHOLE: ContextVar[bool] = ContextVar("whole", default=False)
"""Whether Ctrl-C ends the work; else it ends a search early, and what was found until then is used."""


@contextmanager
def whole_searches() -> Iterator[None]:
    """Inside, no search is cut short by Ctrl-C: what is decided must not depend on when somebody pressed it."""
    token = WHOLE.set(True)
    try:
        yield
    finally:
        WHOLE.reset(token)


@dataclass(frozen=True)
class Targets:
    """Linear functionals `offset + sign * (matrix @ x)` of the variables, one per row.

    `sign` is -1 for an option that is what the others leave: its count is the people (`offset`) less the others.
    """

    matrix: sparse.csr_array
    offset: IntArray
    sign: IntArray

    def of(self, counts: IntArray) -> IntArray:
        """Values of all targets in one table."""
        values: IntArray = self.offset + self.sign * (self.matrix @ counts)
        return values

    def are_joint_cells(self, profiles: int, options: int, free: int) -> bool:
        """Whether target `profile * options + option` is that option in that profile."""
        if len(self.offset) != profiles * options:
            return False
        # Looks at the first option of every profile only: the others stand behind it, as `targets_of` makes them.
        firsts = self.matrix.indices[self.matrix.indptr[:-1:options]]
        return bool(
            (np.diff(self.matrix.indptr)[::options] == 1).all() and (firsts == np.arange(profiles) * free).all()
        )

    @property
    def are_cells(self) -> bool:
        """Whether target `t` is just variable `t`."""
        rows, columns = self.matrix.shape
        return bool(
            rows == columns == self.matrix.nnz
            and (self.matrix.indices == np.arange(rows)).all()
            and (self.sign > 0).all()
            and not self.offset.any()
        )


class Search:
    """From outside the intervals shrink, from inside they grow: by integer tables, and by real-valued ones.

    `enough` is the width beyond which an interval need not be known better, and with `narrow` within which too; None
    asks for the sharp one.
    """

    def __init__(
        self, targets: Targets, low: IntArray, high: IntArray, enough: int | None = None, narrow: bool = False
    ) -> None:
        self.targets, self.enough, self.narrow = targets, enough, narrow
        self.low, self.high = low, high
        self.count = len(targets.offset)
        self.lower, self.upper = self._from_variables()
        self.inner_lower, self.inner_upper = np.full(self.count, FAR), np.full(self.count, -FAR)
        self.seen_lower, self.seen_upper = np.full(self.count, FAR), np.full(self.count, -FAR)
        self.method = np.full(self.count, PROPAGATED, dtype=np.int64)
        self.tables = 0
        self.kept: list[IntArray] | None = None
        """Tables that settled an end, if somebody asks for them."""
        self.is_closed = False

    def narrow_variables(self, low: IntArray, high: IntArray) -> None:
        """Take proved intervals of the variables."""
        self.low, self.high = low, high
        lower, upper = self._from_variables()
        self.lower, self.upper = np.maximum(self.lower, lower), np.minimum(self.upper, upper)

    def _from_variables(self) -> tuple[IntArray, IntArray]:
        """Outer intervals of targets from those of the variables, by interval arithmetic."""
        targets = self.targets
        least, most = targets.matrix @ self.low, targets.matrix @ self.high
        flipped = targets.sign < 0
        # What the other options leave of a cell, each at its most, may be less than nobody.
        lower = np.maximum(targets.offset + np.where(flipped, -most, least), 0)
        return lower, targets.offset + np.where(flipped, -least, most)

    def close(self) -> None:
        """The intervals of the variables are sharp in integers: where they are the targets, nothing is left."""
        self.is_closed = True
        self.method[:] = CLOSED
        if self.targets.are_cells:
            self.inner_lower, self.inner_upper = self.lower.copy(), self.upper.copy()

    def follow_rows(self, rows: sparse.csr_array, lower: IntArray, upper: IntArray) -> None:
        """A target that a published row states outright has that row's range."""
        matrix = self.targets.matrix
        spans = zip(rows.indptr, rows.indptr[1:], strict=False)
        stated = {tuple(rows.indices[a:b].tolist()): row for row, (a, b) in enumerate(spans)}
        for target, (a, b) in enumerate(zip(matrix.indptr, matrix.indptr[1:], strict=False)):
            row = stated.get(tuple(sorted(matrix.indices[a:b].tolist())))
            if row is not None:
                ends = np.array([lower[row], upper[row]])
                ends = self.targets.offset[target] + self.targets.sign[target] * ends
                self.lower[target] = max(self.lower[target], ends.min())
                self.upper[target] = min(self.upper[target], ends.max())

    def take(self, counts: IntArray) -> None:
        """An integer table that satisfies every fact: what it shows can happen."""
        values, before = self.targets.of(counts), 0 if self.kept is None else self.unsettled()
        self.show(values, values)
        self.tables += 1
        if self.kept is not None and self.unsettled() < before:
            self.kept.append(counts)

    def show(self, lower: IntArray, upper: IntArray, places: slice = slice(None)) -> None:
        """Values of targets that integer tables attain."""
        was_open = ~(self.attained | self.wide)
        self.inner_lower[places] = np.minimum(self.inner_lower[places], lower)
        self.inner_upper[places] = np.maximum(self.inner_upper[places], upper)
        self.method[was_open & (self.attained | self.wide) & (self.method == PROPAGATED)] = WITNESSED

    def see(self, values: FloatArray) -> None:
        """A real-valued table: what the linear programs cannot exclude."""
        reached = self.targets.offset + self.targets.sign * (self.targets.matrix @ values)
        # Real-valued tables: they show what LPs cannot exclude, never that an integer table attains it.
        self.seen_upper = np.maximum(self.seen_upper, np.floor(reached + 1e-6).astype(np.int64))
        self.seen_lower = np.minimum(self.seen_lower, np.ceil(reached - 1e-6).astype(np.int64))

    @property
    def wide(self) -> BoolArray:
        """Targets that integer tables show to be wide enough."""
        if self.enough is None:
            return np.zeros(len(self.lower), dtype=bool)
        is_wide: BoolArray = self.inner_upper - self.inner_lower > self.enough
        return is_wide

    @property
    def decided(self) -> BoolArray:
        """Targets whose width is known as well as it need be."""
        if self.enough is None or not self.narrow:
            return self.wide
        is_decided: BoolArray = self.wide | (self.upper - self.lower <= self.enough)
        return is_decided

    @property
    def attained(self) -> BoolArray:
        """Targets both ends of which integer tables attain."""
        is_attained: BoolArray = (self.inner_upper >= self.upper) & (self.inner_lower <= self.lower)
        return is_attained

    @property
    def open_above(self) -> BoolArray:
        """Upper ends that no integer table attains yet."""
        is_open: BoolArray = (self.inner_upper < self.upper) & ~self.decided
        return is_open

    @property
    def open_below(self) -> BoolArray:
        """Lower ends that no integer table attains yet."""
        is_open: BoolArray = (self.inner_lower > self.lower) & ~self.decided
        return is_open

    @property
    def unseen_above(self) -> BoolArray:
        """Upper ends that no table of any kind attains yet."""
        is_unseen: BoolArray = self.open_above & (self.seen_upper < self.upper)
        return is_unseen

    @property
    def unseen_below(self) -> BoolArray:
        """Lower ends that no table of any kind attains yet."""
        is_unseen: BoolArray = self.open_below & (self.seen_lower > self.lower)
        return is_unseen

    def is_open(self, target: int, upwards: bool, linear: bool) -> bool:
        """Whether one end of one target is open; with `linear`, for real-valued tables too."""
        inner, seen = (self.inner_upper, self.seen_upper) if upwards else (self.inner_lower, self.seen_lower)
        end = self.upper if upwards else self.lower
        if self.enough is not None:
            if self.inner_upper[target] - self.inner_lower[target] > self.enough:
                return False
            if self.narrow and self.upper[target] - self.lower[target] <= self.enough:
                return False
        return bool(inner[target] != end[target] and (not linear or seen[target] != end[target]))

    def tighten(self, target: int, upwards: bool, value: float) -> bool:
        """No table goes beyond `value`, found in floating point; whether that moves the end.

        The value is widened by the solver's tolerance before it is rounded to an integer: an end may become too wide,
        never too narrow.
        """
        if not np.isfinite(value):
            return False
        # HiGHS' feasibility tolerance is 1e-7 per row; the root covers sums over many rows. Too large only widens.
        slack = 1e-6 * max(1.0, abs(value)) ** 0.5
        ends = self.upper if upwards else self.lower
        end = int(np.floor(value + slack) if upwards else np.ceil(value - slack))
        if end >= ends[target] if upwards else end <= ends[target]:
            return False
        ends[target] = end
        return True

    def unsettled(self) -> int:
        """How many ends are open."""
        return int(self.open_above.sum() + self.open_below.sum())


@dataclass(frozen=True)
class Settled:
    """Intervals per target, whether integer tables attain both ends, and the method of the last step.

    `complete` is false if the search was cut short: intervals are valid then, and perhaps too wide.
    """

    lower: IntArray
    upper: IntArray
    integer: BoolArray
    method: IntArray
    complete: bool
