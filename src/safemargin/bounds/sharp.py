"""Sharp intervals of many targets at once: every table found on the way serves all of them.

Integer tables come from walks, exchanges and fits, real-valued ones from linear programs over many targets at a time.
What is left gets a program of its own. Ends that no integer table attains are reported as the linear statement only.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from safemargin.bounds.linear import Program, integer_table
from safemargin.bounds.rounding import Rounder
from safemargin.bounds.search import LINEAR, Search, Targets
from safemargin.bounds.system import System
from safemargin.bounds.walk import Walk
from safemargin.bounds.whole import Attainment, cost_of
from safemargin.bounds.witness import Family
from safemargin.core import BoolArray, FloatArray, IntArray, Progress, no_progress, numpy_generator

__all__ = ["SEED", "Settled", "Targets", "settle"]

MOST_ROWS_TO_FIT = 2_500
TILTS = (8.0, 5.0, 12.0, 3.0, 16.0)
FEW = 200
"""Open ends for which a fit is tilted in every way before a program has to settle them."""
SWEEPS = 300
STALE_SWEEPS = (20, 8)
"""Sweeps in a row that may settle little: when deciding, and when every end is wanted."""
MOST_AXES_TO_WALK = 10
PATIENCE = (0, 2)
"""Ends that a sweep must settle to count: when deciding, and when every end is wanted."""
GROUPS = 60
SHARE = 0.1
"""Of the open targets, how many a program is about: few change little in its basis, and the rest comes along."""
SEED = 20_000

"""Called with how many ends of intervals are settled, of how many."""


@dataclass(frozen=True)
class Settled:
    """Intervals per target, whether integer tables attain both ends, and the method of the last step."""

    lower: IntArray
    upper: IntArray
    integer: BoolArray
    method: IntArray
    complete: bool


def settle(
    known: System,
    targets: Targets,
    progress: Progress = no_progress,
    programs: bool = True,
    given: Sequence[IntArray] = (),
    enough: int | None = None,
    narrow: bool = False,
    whole: bool = True,
) -> Settled:
    """The sharp interval of every target. Ctrl-C ends the search early with valid outer intervals.

    Once an interval is known to be wider than `enough`, or with `narrow` not to be, it is not worked out further.
    Without `whole`, ends that linear programs found are not sought in tables of whole people.
    """
    search = Search(known, targets, enough, narrow)
    total = 2 * len(search.lower)
    complete = True

    def report() -> None:
        if progress is not no_progress:  # an end that a linear program reached is half the way
            unseen = int(search.unseen_above.sum() + search.unseen_below.sum())
            progress("bounding", total - (search.unsettled() + min(unseen, search.unsettled()) + 1) // 2, total)

    try:
        for counts in (search.low, *given):  # the floors are a table where propagation settles everything
            if counts.shape == known.low.shape and known.admits(counts):
                search.take(counts)
        _by_walks(search, report)
        _by_witnesses(search, report, rounds=20 if programs else 0 if search.tables else 2)
        if programs and search.unsettled():
            _by_programs(search, report, whole)
    except KeyboardInterrupt:
        complete = False
    report()
    return Settled(search.lower, search.upper, search.attained | search.wide, search.method, complete)


def _by_walks(search: Search, report: Callable[[], None]) -> None:
    """Integer tables of plain margins: sweeps of moves, first at random, then towards the open ends."""
    known = search.known
    fit = search.grids and search.targets.are_cells and all(grid.is_full for grid in search.grids)
    if not fit or not search.unsettled() or len(known.axes) > MOST_AXES_TO_WALK:
        return
    for option, grid in enumerate(search.grids):
        mine = slice(option, None, known.free)
        walk = Walk(grid, search.high[mine], numpy_generator(SEED + 5 + option))
        table = walk.start()
        if table is None:
            continue
        for want_of in (None, _upwards, _downwards):
            want = None if want_of is None else want_of(search, mine)
            stale = 0
            for reach in walk.sweeps(table, SWEEPS, want):
                before = search.unsettled()
                search.show(reach.least, reach.most, mine)
                table = reach.table.copy()
                stale = 0 if search.unsettled() < before - PATIENCE[search.enough is None] else stale + 1
                if stale > STALE_SWEEPS[search.enough is None] or not search.unsettled():
                    break
            report()


def _upwards(search: Search, mine: slice) -> IntArray:
    return search.open_above[mine].astype(np.int64) - search.open_below[mine]


def _downwards(search: Search, mine: slice) -> IntArray:
    return search.open_below[mine].astype(np.int64) - 2 * search.open_above[mine]


def _by_witnesses(search: Search, report: Callable[[], None], rounds: int) -> None:
    known = search.known
    if known.people is None or len(known.lower) > MOST_ROWS_TO_FIT or not search.unsettled():
        return
    family, rounder = Family(known, search.low, search.high), Rounder(known)
    generator, stale = numpy_generator(SEED), 0
    for turn in range(rounds):
        before = search.unsettled()
        want = search.open_above.astype(np.float64) - search.open_below.astype(np.float64)
        want += generator.choice([-1.0, 1.0], size=len(want)) * (search.open_above & search.open_below)
        lean = search.targets.matrix.T @ (want * search.targets.sign)
        counts = rounder.round(family.fit(tilt=TILTS[stale % len(TILTS)] * np.sign(lean)).values)
        if counts is None:
            return
        search.take(counts)
        report()
        if turn > 3:
            _by_exchanges(search, rounder, counts)
        stale = stale + 1 if turn > 3 and search.unsettled() > 0.97 * before else 0
        if search.unsettled() == 0 or stale == (len(TILTS) if search.unsettled() < FEW else 1):
            return


def _by_exchanges(search: Search, rounder: Rounder, counts: IntArray) -> None:
    """What single exchanges of votes make of a table, where the targets are the joint cells."""
    count = len(search.known.options)
    if not search.are_joint_cells:
        return
    wanted = np.asarray((search.open_above | search.open_below).reshape(-1, count).any(axis=1))
    for least, most in rounder.exchanges.reach(counts, wanted):
        search.show(least[:, :count].ravel(), most[:, :count].ravel())


def _by_programs(search: Search, report: Callable[[], None], whole: bool) -> None:
    program = Program(search.known, search.low, search.high)
    _by_groups(search, program, report)
    for upwards in (True, False):
        for target in np.flatnonzero(search.unseen_above if upwards else search.unseen_below).tolist():
            if search.is_open(target, upwards, linear=True):
                _maximise(search, program, target, upwards)
                report()
    if whole and search.unsettled():
        Attainment(search, program, report).run()
    search.method[~search.attained & ~search.wide & (search.method < LINEAR)] = LINEAR


def _by_groups(search: Search, program: Program, report: Callable[[], None]) -> None:
    """Objectives over all open targets at once: each vertex that is found settles many."""
    generator = numpy_generator(SEED + 1)
    for _ in range(GROUPS):
        above, below = search.unseen_above, search.unseen_below
        before = int(above.sum() + below.sum())
        if before < 8:
            return
        sign = generator.choice([-1.0, 1.0], size=len(above))
        want = np.where(above & below, sign, above.astype(np.float64) - below.astype(np.float64))
        want *= generator.random(len(want)) < SHARE
        _harvest(search, program.maximise(search.targets.matrix.T @ (want * search.targets.sign)).values)
        report()
        if int(search.unseen_above.sum() + search.unseen_below.sum()) > 0.98 * before:
            return


def _harvest(search: Search, values: FloatArray) -> None:
    search.see(values)
    counts = integer_table(search.known, values)
    if counts is not None:
        search.take(counts)


def _maximise(search: Search, program: Program, target: int, upwards: bool) -> None:
    """One end of one target by a linear program."""
    best = program.maximise(cost_of(search, target, upwards))
    offset = int(search.targets.offset[target])
    if search.tighten(target, upwards, offset + (best.value if upwards else -best.value)):
        search.method[target] = LINEAR
    _harvest(search, best.values)
