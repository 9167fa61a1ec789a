"""Every end of every interval with its proof: a dual that nothing lies beyond it, and a table that attains it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from safemargin.bounds.build import build_system
from safemargin.bounds.certificate import (
    DUAL,
    SEARCH,
    UNLIMITED,
    VERDICT_RULE,
    Claim,
    End,
    IntervalCertificate,
    SourceFile,
)
from safemargin.bounds.duals import DualProgram, Facts, Limit, Shortcuts, form_of, goal_of
from safemargin.bounds.effort import EFFORT
from safemargin.bounds.exposure import Exposure
from safemargin.bounds.propagate import propagate
from safemargin.bounds.search import Targets
from safemargin.bounds.solver import PRIMAL, add_sum, drop_row, limits, solver_of, values_of
from safemargin.bounds.system import System
from safemargin.bounds.targets import places_in, targets_of
from safemargin.core import (
    UNBOUNDED,
    BoolArray,
    FloatArray,
    IntArray,
    Onlooker,
    Progress,
    PublishedTable,
    Target,
    no_progress,
    numpy_generator,
)

if TYPE_CHECKING:
    from highspy import Highs

ATTAIN_SEED = 30_000


class Attained:
    """Which table attains each end; -1 for none. `above[t]` is for the upper end of target `t`."""

    def __init__(self, facts: Facts, targets: Targets, lower: IntArray, upper: IntArray) -> None:
        self.facts, self.targets, self.lower, self.upper = facts, targets, lower, upper
        self.tables: list[IntArray] = []
        self.above = np.full(len(upper), -1, dtype=np.int64)
        self.below = np.full(len(lower), -1, dtype=np.int64)
        self.unlimited = upper >= UNBOUNDED

    @property
    def open_above(self) -> BoolArray:
        """Upper ends without a table."""
        is_open: BoolArray = (self.above < 0) & ~self.unlimited
        return is_open

    @property
    def open_below(self) -> BoolArray:
        """Lower ends without a table."""
        is_open: BoolArray = self.below < 0
        return is_open

    def left(self) -> int:
        """How many ends have no table."""
        return int(self.open_above.sum() + self.open_below.sum())

    def take(self, counts: IntArray) -> bool:
        """Keep a table if it attains an end that none did; it must satisfy every fact."""
        values = self.targets.of(counts)
        above, below = self.open_above & (values == self.upper), self.open_below & (values == self.lower)
        if not (above.any() or below.any()) or not self.facts.known.admits(counts):
            return False
        # One table may close hundreds of ends, so fewer tables make a shorter certificate.
        self.above[above] = self.below[below] = len(self.tables)
        self.tables.append(counts)
        return True

    def take_near(self, values: FloatArray | None) -> bool:
        """Keep a real-valued table if rounding makes it an integer table."""
        return values is not None and self.take(np.rint(values).astype(np.int64))

    def thinned(self) -> tuple[IntArray, ...]:
        """Few tables for the same ends: those that attain most are chosen first."""
        shape = len(self.tables), len(self.lower)
        values = np.array([self.targets.of(counts) for counts in self.tables]).reshape(shape)
        missing = np.hstack([self.above >= 0, self.below >= 0])
        attains = np.hstack([values == self.upper, values == self.lower])
        chosen: list[IntArray] = []
        self.above[:], self.below[:] = -1, -1
        while missing.any():
            # Greedy set cover: within ln(n) of the fewest tables.
            best = int((attains & missing).sum(axis=1).argmax())
            closed = attains[best] & missing
            self.above[closed[: len(self.upper)]] = len(chosen)
            self.below[closed[len(self.upper) :]] = len(chosen)
            missing &= ~closed
            chosen.append(self.tables[best])
        self.tables = chosen
        return tuple(chosen)


class Nearby:
    """Linear and integer programs over the tables of one system that look for integer tables."""

    def __init__(self, facts: Facts) -> None:
        self.facts, count = facts, facts.known.size
        self.low, self.high = propagate(facts.known)
        self.every = np.arange(count, dtype=np.int32)
        form = form_of(facts, self.low, self.high)
        self.linear, self.integer = solver_of(form, PRIMAL), solver_of(form, whole=True)

    def find(self, pull: FloatArray, places: IntArray, value: int, patient: bool) -> IntArray | None:
        """An integer table far along `pull`, in which the counts at `places` (if any) add up to `value`."""
        solvers = (self.linear, self.integer) if len(places) else ()
        fixed = [(solver, add_sum(solver, places, np.ones(len(places)), float(value))) for solver in solvers]
        try:
            return self._search(pull, patient)
        finally:
            for solver, row in fixed:
                drop_row(solver, row)

    def _search(self, pull: FloatArray, patient: bool) -> IntArray | None:
        vertex = _run(self.linear, self.every, pull)
        if vertex is None:
            return None
        counts = np.rint(vertex).astype(np.int64)
        if np.abs(vertex - counts).max(initial=0.0) < 1e-6:
            return counts
        for step in EFFORT.near_steps:
            counts_near = self._whole(
                np.floor(vertex + 1e-6) - step, np.ceil(vertex - 1e-6) + step, EFFORT.witness_seconds_near
            )
            if counts_near is not None:
                return counts_near
        if not patient or self.facts.known.size > EFFORT.witness_counts:
            return None
        return self._whole(self.low.astype(np.float64), self.high.astype(np.float64), EFFORT.witness_seconds)

    def _whole(self, low: FloatArray, high: FloatArray, seconds: float) -> IntArray | None:
        highest = limits(np.minimum(high, self.high))
        self.integer.changeColsBounds(len(low), self.every, np.maximum(low, self.low), highest)
        self.integer.setOptionValue("time_limit", seconds)
        values = _run(self.integer, self.every, np.zeros(len(low)))
        return None if values is None else np.rint(values).astype(np.int64)


def attain(attained: Attained, given: Sequence[IntArray], hopeful: BoolArray, report: Callable[[], None]) -> None:
    """Find tables for as many ends as possible. Only `hopeful` targets get a long search of their own."""
    for counts in given:
        if counts.shape == attained.facts.known.low.shape:
            attained.take(counts)
    if attained.left():
        nearby = Nearby(attained.facts)
        attained.take(nearby.low)
        _by_groups(attained, nearby, report)
        _one_by_one(attained, nearby, hopeful, report)


def _pull(attained: Attained, chance: FloatArray) -> FloatArray:
    """Towards the open ends of all targets at once; where both are open, either."""
    above, below = attained.open_above, attained.open_below
    want = np.where(above & below, np.where(chance < 0.5, -1.0, 1.0), above.astype(np.float64) - below)
    pull: FloatArray = attained.targets.matrix.T @ (want * (1 + chance) * attained.targets.sign)
    return pull


def _by_groups(attained: Attained, nearby: Nearby, report: Callable[[], None]) -> None:
    generator = numpy_generator(ATTAIN_SEED)
    nowhere = np.zeros(0, dtype=np.int64)
    for _ in range(EFFORT.witness_groups):
        before = attained.left()
        if before <= EFFORT.witness_worthwhile:
            return
        counts = nearby.find(_pull(attained, generator.random(len(attained.lower))), nowhere, 0, patient=False)
        if counts is None or not attained.take(counts) or before - attained.left() < EFFORT.witness_worthwhile:
            return
        report()


def _one_by_one(attained: Attained, nearby: Nearby, hopeful: BoolArray, report: Callable[[], None]) -> None:
    targets, generator = attained.targets, numpy_generator(ATTAIN_SEED + 1)
    for target in range(len(attained.lower)):
        for ends, is_open in ((attained.upper, attained.open_above), (attained.lower, attained.open_below)):
            if not is_open[target]:
                continue
            value = int(ends[target] - targets.offset[target]) * int(targets.sign[target])
            a, b = targets.matrix.indptr[target], targets.matrix.indptr[target + 1]
            places = np.asarray(targets.matrix.indices[a:b], dtype=np.int64)
            pull = _pull(attained, generator.random(len(attained.lower)))
            counts = nearby.find(pull, places, value, bool(hopeful[target]))
            if counts is not None:
                attained.take(counts)
            report()


def _run(solver: "Highs", every: NDArray[np.int32], pull: FloatArray) -> FloatArray | None:
    solver.changeColsCost(len(every), every, -pull)
    solver.run()
    return values_of(solver)


@dataclass(frozen=True)
class Proofs:
    """Both ends of every target, and the integer tables that they refer to by number."""

    lower: tuple[End, ...]
    upper: tuple[End, ...]
    tables: tuple[IntArray, ...] = field(hash=False, compare=False)


def prove(
    known: System,
    targets: Targets,
    lower: IntArray,
    upper: IntArray,
    *,
    given: Sequence[IntArray] = (),
    attained: BoolArray | None = None,
    progress: Progress = no_progress,
) -> Proofs:
    """Prove what can be proved of the intervals `[lower, upper]` of all targets.

    Integer tables that are `given` are checked and used. No long search is made for tables that attain the ends of
    targets that are not `attained`. Ctrl-C leaves the remaining ends without proof.
    """
    facts = Facts(known)
    ends_attained = Attained(facts, targets, lower, upper)
    limits: dict[tuple[int, bool], Limit | None] = {}

    def report() -> None:
        progress("proving", len(limits) + 2 * len(lower) - ends_attained.left(), 4 * len(lower))

    try:
        _limit_all(ends_attained, limits, report)
        attain(ends_attained, given, np.ones(len(lower), dtype=bool) if attained is None else attained, report)
    except KeyboardInterrupt:
        pass
    tables = ends_attained.thinned()
    ends = [
        tuple(_end(ends_attained, limits.get((target, upwards)), target, upwards) for target in range(len(lower)))
        for upwards in (False, True)
    ]
    return Proofs(ends[0], ends[1], tables)


def _limit_all(attained: Attained, limits: dict[tuple[int, bool], Limit | None], report: Callable[[], None]) -> None:
    """The best limit of every end: shortcuts first, a program where they do not reach."""
    shortcuts, program = Shortcuts(attained.facts), None
    for target in range(len(attained.lower)):
        for upwards in (False, True):
            best = None
            if not (upwards and attained.unlimited[target]):
                end = int(attained.upper[target] if upwards else attained.lower[target])
                goal = goal_of(attained.targets, target, upwards, end)
                # Most ends follow from one or two rows; a program is solved only where those do not reach.
                best = shortcuts.prove(goal)
                if best is None or best.value > goal.wanted:
                    program = program or DualProgram(attained.facts)
                    other, values = program.prove(goal)
                    best = min((limit for limit in (best, other) if limit), key=lambda limit: limit.value, default=None)
                    attained.take_near(values)
            limits[target, upwards] = best
            report()


def _end(attained: Attained, limit: Limit | None, target: int, upwards: bool) -> End:
    value = int(attained.upper[target] if upwards else attained.lower[target])
    if value >= UNBOUNDED:
        return End(None, None, UNLIMITED)
    number = int(attained.above[target] if upwards else attained.below[target])
    witness = number if number >= 0 else None
    if limit is None:
        return End(value, None, SEARCH, None, witness)
    offset = int(attained.targets.offset[target])
    outer = offset + limit.value if upwards else offset - limit.value
    if outer <= value if upwards else outer >= value:
        return End(value, value, DUAL, limit.dual, witness)
    return End(value, outer, SEARCH, limit.dual, witness)


def prove_intervals(
    tables: Sequence[PublishedTable],
    onlooker: Onlooker,
    exposure: Exposure,
    sources: Sequence[SourceFile],
    *,
    slack: int = 0,
    target: Target | None = None,
    known: System | None = None,
    progress: Progress = no_progress,
) -> IntervalCertificate:
    """The intervals of `exposure`, as they follow from `tables` and what `onlooker` holds, with all proofs.

    `sources` are the files of the tables, rolls and facts, in this order. `known` is the system of these facts, if the
    caller has built it.
    """
    known = known or build_system(tables, onlooker, slack)
    targets = targets_of(known, places_in(known, exposure.cells), len(exposure.cells))
    proofs = prove(
        known,
        targets,
        exposure.lower.ravel(),
        exposure.upper.ravel(),
        attained=np.asarray(exposure.integer).ravel(),
        progress=progress,
    )
    counts = None if target is None else replace(exposure, fiber=None).tallied(target)  # by the intervals alone
    verdict = {"rule": VERDICT_RULE, "target": asdict(target), "counts": counts} if target else None
    return IntervalCertificate(
        sources=tuple(sources),
        axes=known.axes,
        categories=known.categories,
        options=known.options,
        slack=slack,
        rows=len(known.lower),
        variables=known.size,
        target=exposure.cells.axes,
        tables=tuple(
            {int(variable): int(counts[variable]) for variable in np.flatnonzero(counts)} for counts in proofs.tables
        ),
        claims=tuple(_claims(exposure, proofs)),
        verdict=verdict,
    )


def _claims(exposure: Exposure, proofs: Proofs) -> Iterator[Claim]:
    options: tuple[str | None, ...] = exposure.options or (None,)
    for number, (lower, upper) in enumerate(zip(proofs.lower, proofs.upper, strict=True)):
        cell, option = divmod(number, len(options))
        yield Claim(exposure.cells.cell(cell), lower, upper, options[option])
