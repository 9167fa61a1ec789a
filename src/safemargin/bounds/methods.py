"""The table of methods, and the two schedules that run it: bounding (`settle`) and certifying (`clear`).

Objects
    task        a question about one system (`tasks.py`): `Bounding` for intervals, `Certifying` for cells
    method      one way to settle targets or cells, with two sides: `tighten` narrows intervals from outside by proofs
                that hold for every table, `attain` widens what integer tables attain from inside
    METHODS     all of them, cheap ones first, each with a condition under which it is of use

Statement
    Every `tighten` keeps all possible tables, and every table of an `attain` was added up. So any schedule ends with
    valid results: order and limits decide how long it takes and how much stays open, never whether a result is true.

The order
    propagation, closed forms and the shuttle cost microseconds per cell and settle most. Then tables: given ones, walks
    on plain grids, exchanges from a guess, rounded fits. Programs come last, since one costs milliseconds to seconds.
    What no method settles stays open: an interval is then reported as not sharp, a cell as undecided, which is unsafe.

What may be changed
    A method may be added, dropped or moved without touching another one. The witnesses of old releases may then differ,
    so whoever reruns an old release needs the version that made it; tests of reruns say if that happens.

Example
    `bound.py` has one in which the closed form settles all; with a roll, propagation and walks do:

    >>> [method.name for method in METHODS if method.tighten]
    ['propagation', 'closed form', 'shuttle', 'stated rows']
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from safemargin.bounds.cells import coefficients_of_variables, wanted_changes, with_rest
from safemargin.bounds.changes import Changes
from safemargin.bounds.effort import EFFORT, SEED
from safemargin.bounds.grid import junction
from safemargin.bounds.mend import MarginRepair, attain_by_mending, can_mend
from safemargin.bounds.perturb import perturb_and_repair, random_walk
from safemargin.bounds.programs import (
    attain_by_programs,
    is_many_cycles,
    near_optimum,
    nearby,
    program_budget,
    solve_open_ends,
)
from safemargin.bounds.propagate import by_option, decomposable, propagate, shuttle
from safemargin.bounds.rounding import attain_by_fits
from safemargin.bounds.search import WHOLE, Search, Settled, Targets
from safemargin.bounds.system import System
from safemargin.bounds.tasks import Bounding, Certifying, Task, attain_by_changes
from safemargin.bounds.walk import attain_by_walks
from safemargin.bounds.wide import attain_within, is_wide
from safemargin.bounds.widths import attain_widths
from safemargin.bounds.witness import cleared_by_fits
from safemargin.core import FloatArray, IntArray, Progress, no_progress, numpy_generator


@dataclass(frozen=True)
class SettlingMethod:
    """One way to settle intervals or cells: where it is of use, and its two sides, of which it may have one only.

    `applies` is asked immediately before each side runs, so it may look at what earlier methods left open.
    """

    name: str
    applies: Callable[[Task], bool]
    tighten: Callable[[Task], None] | None = None
    attain: Callable[[Task], None] | None = None


def settle(
    system: System,
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
    If `whole` is false, optima of linear programs are not rounded to integer tables.
    """
    search = Search(targets, system.low, system.high, enough, narrow)
    task = Bounding(system, given, progress, search, programs, whole)
    tighten(task)
    complete = True
    try:
        attain(task)
    except KeyboardInterrupt:
        if WHOLE.get():
            raise
        complete = False
    task.report()
    return Settled(search.lower, search.upper, search.attained | search.wide, search.method, complete)


def tighten(task: Task) -> None:
    """Every method of the table that works from outside, in order: each is asked whether it applies, then narrows."""
    for method in METHODS:
        if method.tighten is not None and method.applies(task):
            method.tighten(task)


def attain(task: Task) -> None:
    """Every method of the table that works from inside, in order, as long as something is open.

    A method that finds the task over (`is_over`: a cell is exposed for certain) ends the schedule.
    """
    for method in METHODS:
        if method.attain is not None and task.open and not task.is_over and method.applies(task):
            method.attain(task)


def _is_decomposable(task: Task) -> bool:
    """Caps break the formulas: never with a roll, and never where a combination is known to be empty."""
    free = isinstance(task, Bounding) and task.system.people is None and not (task.system.high == 0).any()
    return free and bool(task.grids) and all(grid.is_full and junction(grid.faces) for grid in task.grids)


def _close(task: Task) -> None:
    """Dobra and Fienberg (2000): sharp in integers for decomposable margins."""
    assert isinstance(task, Bounding)
    task.narrow(*by_option(task.grids, lambda grid, low, high: decomposable(grid), task.low, task.high))
    task.search.close()


def _has_stated_targets(task: Task) -> bool:
    """Whether targets are sums that published rows may state outright, few enough to be compared with all rows."""
    search = task.search if isinstance(task, Bounding) else None
    return search is not None and not search.targets.are_cells and search.count <= EFFORT.targets_compared_with_rows


def _follow_rows(task: Task) -> None:
    """Give a target that a published row states the range of that row."""
    assert isinstance(task, Bounding)
    task.search.follow_rows(task.system.rows, task.system.lower, task.system.upper)


def _take_given(task: Task) -> None:
    """Tables that somebody else found; nothing is believed before it is added up."""
    tables = [counts for counts in task.given if counts.shape == task.low.shape and task.system.admits(counts)]
    if isinstance(task, Bounding):  # the floors are a table where propagation settles everything
        for counts in [task.low, *tables] if task.system.admits(task.low) else tables:
            task.search.take(counts)
    else:
        for counts in tables:
            task.take(counts)
        task.exchange(tables)


def _can_walk(task: Task) -> bool:
    """Whether the margins are plain and the grid full, with few enough axes for moves of 2^axes corners."""
    plain = isinstance(task, Bounding) and bool(task.grids) and task.search.targets.are_cells
    return plain and all(grid.is_full for grid in task.grids) and len(task.system.axes) <= EFFORT.walk_axes


def _walk(task: Task) -> None:
    """Sweep over the grid by moves that keep all margins (`walk.py`), from a table that rounding or a program finds.

    Where widths alone are asked for, there is no start by a program: people are few where rounding finds none, and
    moves from such a table show hardly any width; `_hold` raises counts instead.
    """
    assert isinstance(task, Bounding)

    def start() -> IntArray | None:
        return near_optimum(task.system, task.program, SEED + 6) if task.programs else None

    # Where rounding finds no table, people are few, and moves from one found otherwise show hardly any width.
    attain_by_walks(task.grids, task.search, SEED + 5, task.report, None if _can_hold(task) else start)


def _can_hold(task: Task) -> bool:
    """Whether widths are asked for, of single variables, and programs may be used."""
    if not isinstance(task, Bounding) or task.search.enough is None:
        return False
    return task.programs and task.whole and task.search.targets.are_cells


def _hold(task: Task) -> None:
    """Raise many counts at once by one program (`widths.py`)."""
    assert isinstance(task, Bounding)
    attain_widths(task.system, task.search, task.program, numpy_generator(SEED + 10), task.report)


def _shuffle_guess(task: Task) -> None:
    """A first table near the published shares, and further ones by exchanges; for very wide systems by programs
    instead.
    """
    assert isinstance(task, Certifying)
    if is_wide(task.system):  # everything else takes long there
        attain_within(
            task.system, task.levels, (task.low, task.high), task.limits, task.take, numpy_generator(SEED + 7)
        )
    elif task.rounder.possible:
        _shuffle(task, task.rounder.guess())


def _shuffle(task: Certifying, near: FloatArray) -> None:
    """Integer tables from one `near` these values by exchanging votes, each time towards what is still open."""
    system, rounder, generator = task.system, task.rounder, numpy_generator(SEED + 2)
    counts, left = rounder.round(near), task.open
    for turn in range(EFFORT.shuffles):
        if counts is None or not left:
            break
        task.take(counts)
        if turn in (0, EFFORT.shuffles - 1):  # further tables clear larger cells at less cost, where one can be had
            task.exchange([counts], task.levels[:1] if turn == 0 and rounder.scaling is None else None)
        before, left = left, task.open
        if left < EFFORT.few_cells or turn == EFFORT.shuffles - 1 or (turn > 2 and left > 0.9 * before):
            break  # fits clear few cells better
        want = with_rest(wanted_changes(task.levels, generator), system.reference)
        counts = rounder.exchanges.shuffle(counts, want, generator)
        task.report(turn + 1)


def _can_fit(task: Task) -> bool:
    """Whether a real-valued fit is affordable: Newton's method solves a dense system with one unknown per row."""
    if isinstance(task, Bounding):
        return task.system.people is not None and len(task.system.lower) <= EFFORT.fitted_rows
    return not task.is_hopeless


def _fit(task: Task) -> None:
    """Fit real-valued tables towards what is open and round them: for targets, or for cells after a first table."""
    if isinstance(task, Bounding):
        rounds = EFFORT.fits if task.programs else 0 if task.search.tables else EFFORT.fits_without_programs
        attain_by_fits(task.rounder, task.dual.tilted, task.search, rounds, SEED, task.report)
    else:
        if not task.tables:  # no integer table near the guess
            scaling, noise = task.rounder.scaling, numpy_generator(SEED + 5).standard_normal(task.system.size)
            _shuffle(task, task.dual.fit().values if scaling is None else scaling.fit(0.1 * noise))
        if not task.given:
            _tilted_fits(task)


def _tilted_fits(task: Certifying) -> None:
    """Add integer tables near fits that are tilted towards what is still open.

    One round: exchanges and repairs of the last tables where few cells are left, then a fit with a tilt, rounded; where
    that fails, a program near the fit or an exchange of an earlier table. It ends when nothing is open, when several
    rounds cleared under a tenth of what was open, or when programs are expected to be quicker.
    """
    system, rounder, tables, generator = task.system, task.rounder, task.tables, numpy_generator(SEED + 3)
    left, stuck = task.open, 0
    first = task.dual.independent(rounder.middle) if system.n_free_options >= EFFORT.many_options else None
    theta = first
    for turn in range(EFFORT.rounds):
        if not left or stuck > EFFORT.stuck_rounds[rounder.scaling is not None] or (turn > 2 and not tables):
            break
        if stuck and left <= EFFORT.few_ends_to_solve and system.size > EFFORT.presolved_counts and _can_solve(task):
            break
        if stuck and is_many_cycles(system):  # few people in many releases: one program is quicker than one repair
            break
        if rounder.scaling is not None:
            random_walk(task.levels, system, task.reach, tables, generator)
        if stuck and not rounder.in_circles:
            cleared = partial(task.report, EFFORT.shuffles + turn)
            perturb_and_repair(task.levels, system, task.reach, rounder.round, tables, generator, cleared)
        if not task.open:
            break
        want = EFFORT.tilt * (1 + stuck) * wanted_changes(task.levels, generator)
        if stuck and left < EFFORT.few_cells:  # neighbours stand in each other's way: aim at some of them only
            want *= generator.random((len(want), 1)) < 1 / (1 + stuck)
        if rounder.scaling is not None:
            values = rounder.scaling.fit(coefficients_of_variables(want, system.reference))
        else:
            fit = task.dual.fit(tilt=coefficients_of_variables(want, system.reference), start=theta)
            theta, values = fit.multipliers if fit.residual < 1 and not fit.impossible else first, fit.values
        counts = rounder.round(values)
        if counts is None and rounder.in_circles:
            counts = nearby(system, values, task.low, task.high, coefficients_of_variables(want, system.reference))
        if counts is None and tables:  # no integer table near the fit: exchange votes in an earlier one instead
            counts = rounder.exchanges.shuffle(tables[turn % len(tables)], with_rest(want, system.reference), generator)
        if counts is not None:
            task.take(counts)
            task.exchange(tables if left < EFFORT.few_cells and turn % 4 == 2 else [counts])
        task.report(EFFORT.shuffles + turn + 1)
        before, left = left, task.open
        stuck = stuck + 1 if left > 0.9 * before else 0


def _mend(task: Task) -> None:
    """Vertices of linear programs, rounded and mended by sets of people (`mend.py`): for many axes and few people."""
    assert isinstance(task, Certifying)
    if not task.failed and not task.is_hopeless and can_mend(task.rounder.ranges, task.rounder.exchanges):
        mender = MarginRepair(task.system, task.rounder.exchanges, task.rounder.least, numpy_generator(SEED + 8))
        attain_by_mending(mender, task.levels, task.rounder.near, task.program, task.take)
        if len(task.system.blocks) <= EFFORT.plain_blocks:  # with more, hardly any two profiles exchange votes
            task.exchange(task.tables)


def _can_solve(task: Task) -> bool:
    """Whether programs are allowed and a system of this size is worth any; one with many slices takes seconds each."""
    if isinstance(task, Bounding):
        return task.programs
    few = task.system.slices.shape[0] <= EFFORT.dense_slices
    return few and not task.is_hopeless and program_budget(task.system) > 0


def _solve(task: Task) -> None:
    """Linear programs for open ends, and integer ones where the system is small (`programs.py`)."""
    if isinstance(task, Bounding):
        attain_by_programs(task.system, task.search, task.program, task.whole, SEED + 1, task.report)
    else:
        solve_open_ends(task.system, task.levels, task.program, task.tables)


def _can_change(task: Task) -> bool:
    """Whether a few cells are left, some table is known, and no cell is known to resist."""
    if not isinstance(task, Certifying) or task.failed or (task.given and not _is_small(task)):
        return False  # with tables that are given, no others are searched for
    return _is_small(task) or (bool(task.tables) and task.open <= EFFORT.changed_cells)


def _can_change_last(task: Task) -> bool:
    """Whether single cells may get integer programs after everything else, with tables that were given only if it is
    small.
    """
    return isinstance(task, Certifying) and not task.failed and (not task.given or _is_small(task))


def _is_small(task: Task) -> bool:
    """Whether programs are quicker than all that is tried before them for larger systems: so few counts that one takes
    milliseconds.
    """
    return isinstance(task, Certifying) and task.system.size <= EFFORT.changed_early


def _change(task: Task) -> None:
    """Integer programs for single cells that are still open; ends with the first few that nothing settles."""
    assert isinstance(task, Certifying)
    system, tables = task.system, task.tables
    if task.open > EFFORT.changed_open and system.n_free_options > 1 and not _is_small(task):
        return  # each program clears a few: the release is treated as undecided, and a coarser one is tried
    if not tables and system.size <= EFFORT.changed_whole and not is_wide(system):
        found = near_optimum(system, task.program, SEED + 12)
        if found is not None:
            task.take(found)
            task.exchange([found])
    if tables:
        attain_by_changes(task, Changes(system, task.low, task.high, numpy_generator(SEED + 13)))


def _may_be_linear(task: Task) -> bool:
    """Whether fractional tables may clear what is left: the limits allow the weaker statement, few cells need it."""
    if isinstance(task, Bounding) or task.is_hopeless or not task.limits.allow_linear:
        return False
    return task.open <= (task.system.size if task.most_linear is None else task.most_linear)


def _clear_by_real_tables(task: Task) -> None:
    """Count the cells that fractional tables clear; they are reported as `linear`, apart from the others."""
    assert isinstance(task, Certifying)
    task.linear = cleared_by_fits(task.levels, task.dual, task.limits, numpy_generator(SEED + 4))


METHODS = (  # from outside first: proofs by integer addition alone
    SettlingMethod("propagation", lambda task: True, tighten=lambda task: task.narrow(*propagate(task.system))),
    SettlingMethod("closed form", _is_decomposable, tighten=_close),
    SettlingMethod(
        "shuttle",
        lambda task: isinstance(task, Bounding) and not task.search.is_closed,
        tighten=lambda task: task.narrow(*by_option(task.grids, shuttle, task.low, task.high)),
    ),
    SettlingMethod("stated rows", _has_stated_targets, tighten=_follow_rows),
    # from inside: searches, whose tables are proofs once they are added up
    SettlingMethod("given tables", lambda task: True, attain=_take_given),
    SettlingMethod("walk", _can_walk, attain=_walk),
    SettlingMethod("exchanges", lambda task: isinstance(task, Certifying) and not task.tables, attain=_shuffle_guess),
    SettlingMethod("rounded fits", _can_fit, attain=_fit),
    SettlingMethod("programs of small systems", lambda task: _is_small(task) and _can_solve(task), attain=_solve),
    SettlingMethod("least changes", _can_change, attain=_change),
    SettlingMethod("mended optima", lambda task: isinstance(task, Certifying), attain=_mend),
    # from both sides: HiGHS finds limits in floating point; `proof.py` makes them exact for a certificate
    SettlingMethod("held counts", _can_hold, attain=_hold),
    SettlingMethod("programs", lambda task: _can_solve(task) and not _is_small(task), attain=_solve),
    SettlingMethod("last changes", _can_change_last, attain=_change),
    SettlingMethod("real tables", _may_be_linear, attain=_clear_by_real_tables),
)
"""All methods, the cheap ones first."""
