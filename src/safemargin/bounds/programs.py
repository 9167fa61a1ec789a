"""Integer tables at the ends that a linear program found, or the proof that there is none.

Objects
    end         the largest (or least) value of one target over all possible tables
    optimum     the value of the linear program for it, and the vertex where it is attained, often fractional
    open end    an end that no integer table attains yet; `Search` and `Level` keep count of them

Statements
    relaxation  the integer maximum is at most the floor of the linear one; where an integer table attains it, it is
    sharp
    LocalMip    the integer program over tables within one or two of a vertex, count by count: solved in a fraction of a
                second, where the same program over all tables takes seconds. A table that it finds is valid; finding
                none says nothing.
    L1Repair    the least sum of |d| with A d = 0 that brings a table x to t(x + d) = v is a linear program with two
                columns per count; its vertices are often integer, and one model serves every table and target.
    branching   what is left gets one integer program over all tables; at a limit the end stays a linear statement.

    Each table is pulled towards all open ends at once, so it settles many.

What callers may rely on
    * Only tables that pass `System.admits` are taken; a solver's word that values are integers is not enough.
    * Outer ends move only by optima with a proof of the solver, widened by its tolerance (`Search.tighten`).
    * What decides about a release is limited in nodes; seconds limit only intervals that are printed.
    * Costs are perturbed by seeded random numbers: optimal faces are large, and a random vertex is rarely degenerate.

Example
    With x + a + b = x + a + c = x + b + c = 31, the linear minimum of x is 0, at a = b = c = 15.5. In integers
    x is odd, so its end is 1, which no multipliers show: branching on a does.
"""

from collections.abc import Callable, Iterator

import numpy as np
from scipy import sparse

from safemargin.bounds.cells import Level, needs, open_cells, show
from safemargin.bounds.effort import EFFORT
from safemargin.bounds.search import INTEGER, LINEAR, Search
from safemargin.bounds.solver import DUAL, Form, Program, add_sum, drop_row, solver_of, values_of
from safemargin.bounds.system import System, integer_table, joint_rows
from safemargin.core import BoolArray, ContradictionError, FloatArray, Generator, IntArray, numpy_generator

SEED = 40_000
NOWHERE = np.zeros(0, dtype=np.int64)


Report = Callable[[], None]


class LocalMip:
    """Integer programs over the tables of one system that lie close to a real-valued one.

    One HiGHS model for all calls: only the box around the values, and one row, change from call to call.
    """

    def __init__(self, program: Program) -> None:
        self.program, count = program, len(program.loose)
        self.every = np.arange(count, dtype=np.int32)
        self.low, self.high = program.form.low, program.form.high
        # Nodes instead of seconds: reproducible on every machine.
        self.solver = solver_of(program.form, {"mip_max_nodes": EFFORT.near_nodes}, whole=True)

    def find(self, values: FloatArray, places: IntArray = NOWHERE, value: int = 0) -> IntArray | None:
        """An integer table near `values`, in which the counts at `places` (if any) add up to `value`; or nothing.

        Tries boxes of growing size (`EFFORT.near_steps`). Callers check the table with `System.admits`.
        """
        counts = np.rint(values).astype(np.int64)
        if np.abs(values - counts).max(initial=0.0) < 1e-6 and (not len(places) or counts[places].sum() == value):
            return counts
        here = values[self.program.loose]
        row = self._fix(places, value - int(counts[np.setdiff1d(places, self.program.loose)].sum()))
        try:
            for step in EFFORT.near_steps:
                low = np.maximum(np.floor(here + 1e-6) - step, self.low)
                high = np.minimum(np.ceil(here - 1e-6) + step, self.high)
                self.solver.changeColsBounds(len(low), self.every, low, high)
                self.solver.run()
                solution = values_of(self.solver)
                if solution is not None:
                    counts[self.program.loose] = np.rint(solution)
                    return counts
            return None
        finally:
            if row >= 0:
                drop_row(self.solver, row)

    def _fix(self, places: IntArray, value: int) -> int:
        """Add the row that the counts at `places` that are not known add up to `value`; returns its number."""
        open_places = np.searchsorted(self.program.loose, np.intersect1d(places, self.program.loose))
        if not len(open_places):
            return -1
        return add_sum(self.solver, open_places, np.ones(len(open_places)), float(value))


class L1Repair:
    """The least change of an integer table that brings some of its counts to a given sum.

    Columns u and d per count say how far it goes up and down; the rows are A (u - d) within the room of every row.
    Every program starts warm from the dual of the last one, whatever table it is about. `worthwhile` watches how often
    the change was integer.
    """

    def __init__(self, program: Program, generator: Generator) -> None:
        self.loose, self.form = program.loose, program.form
        rows, self.count = program.form.matrix.shape
        both = sparse.csc_array(sparse.hstack([program.form.matrix, -program.form.matrix]))
        # Random costs break ties between shortest ways; vertices of the difference are then often integers.
        cost, still = 1 + 0.01 * generator.random(2 * self.count), np.zeros(2 * self.count)
        self.every, self.rows = np.arange(2 * self.count, dtype=np.int32), np.arange(rows, dtype=np.int32)
        moves = Form(both, cost, still, still, np.zeros(rows), np.zeros(rows))
        self.solver = solver_of(moves, DUAL)
        self.tried = self.found = 0

    @property
    def worthwhile(self) -> bool:
        """Whether enough of the ways found so far were whole."""
        return self.tried < EFFORT.shift_trials or 5 * self.found > self.tried

    def find(self, counts: IntArray, places: IntArray, value: int) -> IntArray | None:
        """The table nearest to `counts` in which those at `places` add up to `value`, if it is whole."""
        self.tried += 1
        here = counts[self.loose].astype(np.float64)
        room = np.r_[self.form.high - here, here - self.form.low]
        self.solver.changeColsBounds(len(room), self.every, np.zeros(len(room)), room)
        sums = self.form.matrix @ here
        change = self.solver.changeRowsBounds  # type: ignore[attr-defined]  # not in the stubs
        change(len(sums), self.rows, self.form.least - sums, self.form.most - sums)
        open_places = np.searchsorted(self.loose, np.intersect1d(places, self.loose))
        signs = np.repeat([1.0, -1.0], len(open_places))
        row = add_sum(
            self.solver, np.r_[open_places, open_places + self.count], signs, float(value - counts[places].sum())
        )
        self.solver.run()
        solution = values_of(self.solver)
        drop_row(self.solver, row)
        if solution is None:
            return None
        change = solution[: self.count] - solution[self.count :]
        whole = np.rint(change).astype(np.int64)
        # A fractional way proves nothing: the next start may give an integer one.
        if np.abs(change - whole).max(initial=0.0) > 1e-6:
            return None
        self.found += 1
        moved = counts.copy()
        moved[self.loose] += whole
        return moved


class TightnessSearch:
    """The search for integer tables at the open ends of all targets.

    First tables near tilted optima, for many ends at once; then every end alone: from the nearest table by `L1Repair`,
    near an optimum by `LocalMip`, and last by a program over all tables. The last tables and their values are kept to
    start from.
    """

    def __init__(self, system: System, search: Search, program: Program, report: Report) -> None:
        self.system, self.search, self.program, self.report = system, search, program, report
        self.generator = numpy_generator(SEED)
        self.near, self.shift = LocalMip(program), L1Repair(program, self.generator)
        self.tables: list[IntArray] = []
        self.sums: list[IntArray] = []

    def run(self, hopeful: BoolArray | None = None) -> None:
        """Settle what can be settled; only `hopeful` targets get a program over all tables, if that is given."""
        self._together()
        failures = 0
        for target, upwards in self._open():
            if self.search.is_open(target, upwards, linear=False):
                self._alone(target, upwards)
                may_search = failures < EFFORT.whole_failures and (hopeful is None or hopeful[target])
                if may_search and self.search.is_open(target, upwards, linear=False):
                    failures += not self._over_all(target, upwards)
                self.report()

    def _take(self, counts: IntArray | None) -> None:
        """Take a table if addition finds that it satisfies every fact."""
        if counts is not None and self.system.admits(counts):
            self.search.take(counts)
            self.tables.append(counts)
            self.sums.append(self.search.targets.matrix @ counts)
            del self.tables[: -EFFORT.near_tables], self.sums[: -EFFORT.near_tables]

    def _open(self) -> Iterator[tuple[int, bool]]:
        """Every open end, upper ones first, as the number of the target and whether it is the upper end."""
        for upwards in (True, False):
            for target in np.flatnonzero(self.search.open_above if upwards else self.search.open_below).tolist():
                yield target, upwards

    def _together(self) -> None:
        """Tables pulled towards all open ends at once."""
        stale = 0
        while (
            self.search.unsettled() > EFFORT.near_worthwhile
            and stale < EFFORT.near_stale
            and len(self.tables) < EFFORT.near_groups
        ):
            before = self.search.unsettled()
            self._take(self.near.find(self.program.maximise(self._tilted_objective()).values))
            stale += before - self.search.unsettled() < EFFORT.near_worthwhile
            self.report()

    def _tilted_objective(self) -> FloatArray:
        """An objective over the variables that pulls every target with an open end towards it, with random weights.

        If both ends of a target are open, one of them is drawn.
        """
        above, below = self.search.open_above, self.search.open_below
        chance = self.generator.random(len(above))
        want = np.where(above & below, np.where(chance < 0.5, -1.0, 1.0), above.astype(np.float64) - below)
        targets = self.search.targets
        objective: FloatArray = targets.matrix.T @ (want * (1 + chance) * targets.sign)
        return objective

    def _alone(self, target: int, upwards: bool) -> None:
        """One end, by the least change of the table that comes closest to it, or near a tilted optimum."""
        targets = self.search.targets
        value = int(self._goal(target, upwards) - targets.offset[target]) * int(targets.sign[target])
        places = np.asarray(targets.matrix[[target]].indices, dtype=np.int64)
        if self.tables and self.shift.worthwhile:
            apart = np.abs(np.array([sums[target] for sums in self.sums]) - value)
            for index in np.argsort(apart, kind="stable")[: EFFORT.shift_starts].tolist():
                counts = self.shift.find(self.tables[index], places, value)
                if counts is not None:
                    self._take(counts)
                    break
        if self.search.is_open(target, upwards, linear=False):
            objective = self._tilted_objective() + EFFORT.near_weight * cost_of(self.search, target, upwards)
            self._take(self.near.find(self.program.maximise(objective).values, places, value))

    def _goal(self, target: int, upwards: bool) -> int:
        """The end, or what makes the interval wide enough if that is less."""
        search = self.search
        end = int(search.upper[target] if upwards else search.lower[target])
        if search.enough is None or not search.tables:
            return end
        if upwards:
            return min(end, int(search.inner_lower[target]) + search.enough + 1)
        return max(end, int(search.inner_upper[target]) - search.enough - 1)

    def _over_all(self, target: int, upwards: bool) -> bool:
        """One end by a program over all integer tables; whether it came to its end."""
        # De Loera and Onn: any integer program is one over 3-way tables, so some ends need this, and some run into the
        # limit.
        best = self.program.maximise_integer(cost_of(self.search, target, upwards), EFFORT.integer_program_seconds)
        self._take(np.rint(best.values).astype(np.int64))
        offset = int(self.search.targets.offset[target])
        if self.search.tighten(target, upwards, offset + (best.value if upwards else -best.value)):
            self.search.method[target] = INTEGER
        return best.proved


def cost_of(search: Search, target: int, upwards: bool) -> FloatArray:
    """The objective whose largest value is one end of one target, up to its offset."""
    way = int(search.targets.sign[target]) * (1 if upwards else -1)
    cost: FloatArray = search.targets.matrix[[target]].toarray().ravel().astype(np.float64) * way
    return cost


def program_of(system: System, low: IntArray, high: IntArray) -> Program:
    """Programs over the tables of a system with counts from `low` to `high`.

    The people of profiles are rows of their own where options share them (`system.joint_rows`).
    """
    return Program(joint_rows(system), low, high, EFFORT.rows_to_thin, EFFORT.presolved_counts)


def nearby(
    system: System, values: FloatArray, low: IntArray, high: IntArray, want: FloatArray | None = None
) -> IntArray | None:
    """Whole counts within `low` and `high` that satisfy every fact, near `values`; or none.

    `want` says per variable which way it should rather go. For systems whose margins stand in a circle, where exchanges
    do not suffice; limited in nodes, over boxes of growing size.
    """
    if system.size > EFFORT.circle_counts:
        return None
    start = np.clip(np.nan_to_num(values), low, high)
    # Without a wish, towards the nearer integer.
    cost = start - np.floor(start) - 0.5 if want is None else want
    for distance in EFFORT.circle_distances:
        bottom = np.maximum(low, np.floor(start).astype(np.int64) - distance)
        top = np.minimum(high, np.ceil(start).astype(np.int64) + distance)
        try:
            best = program_of(system, bottom, top).maximise_integer(cost, nodes=EFFORT.circle_nodes)
        except ContradictionError:
            continue
        counts = integer_table(system, best.values)
        if counts is not None:
            return counts
    return None


def near_optimum(system: System, program: Program, seed: int) -> IntArray | None:
    """An integer table near some vertex, if there is one; a random objective avoids the degenerate ones."""
    optimum = program.maximise(numpy_generator(seed).standard_normal(system.size))
    counts = LocalMip(program).find(optimum.values)
    return counts if counts is not None and system.admits(counts) else None


def attain_by_programs(
    system: System, search: Search, program: Program, whole: bool, seed: int, report: Callable[[], None]
) -> None:
    """Linear programs for ends that no table attains, many at once and then one by one; then integer tables there."""
    _by_groups(system, search, program, seed, report)
    for upwards in (True, False):
        for target in np.flatnonzero(search.unseen_above if upwards else search.unseen_below).tolist():
            if search.is_open(target, upwards, linear=True):
                best = program.maximise(cost_of(search, target, upwards))
                offset = int(search.targets.offset[target])
                if search.tighten(target, upwards, offset + (best.value if upwards else -best.value)):
                    search.method[target] = LINEAR
                _harvest(system, search, best.values)
                report()
    if whole and search.unsettled():
        TightnessSearch(system, search, program, report).run()
    search.method[~search.attained & ~search.wide & (search.method < LINEAR)] = LINEAR


def _by_groups(system: System, search: Search, program: Program, seed: int, report: Callable[[], None]) -> None:
    """Objectives over some open targets at once: each vertex serves many."""
    generator = numpy_generator(seed)
    for _ in range(EFFORT.group_programs):
        above, below = search.unseen_above, search.unseen_below
        before = int(above.sum() + below.sum())
        if before < 8:
            return
        sign = generator.choice([-1.0, 1.0], size=len(above))
        want = np.where(above & below, sign, above.astype(np.float64) - below.astype(np.float64))
        want *= generator.random(len(want)) < EFFORT.group_share
        _harvest(system, search, program.maximise(search.targets.matrix.T @ (want * search.targets.sign)).values)
        report()
        if int(search.unseen_above.sum() + search.unseen_below.sum()) > 0.98 * before:
            return


def _harvest(system: System, search: Search, values: FloatArray) -> None:
    """Every vertex is a table that the linear programs cannot exclude, and perhaps an integer one."""
    search.see(values)
    counts = integer_table(system, values)
    if counts is not None:
        search.take(counts)


def is_many_cycles(system: System) -> bool:
    """Whether few unknowns are in many tables, as those of one small population in one release after the other."""
    return len(system.blocks) > EFFORT.many_blocks and system.size <= EFFORT.changed_early


def program_budget(system: System) -> int:
    """How many programs a system of this size is worth; options that share the people of each profile cost more."""
    # Options that share the people of a profile tie their columns together: they are charged with their square.
    work = system.size * (system.n_free_options**2)
    # Rows and steps of the simplex method both grow with the blocks.
    if len(system.blocks) > EFFORT.many_blocks and not is_many_cycles(system):
        work *= (len(system.blocks) // 4) ** 2
    return 400 if work <= EFFORT.work_for_400_programs else 60 if work <= EFFORT.work_for_60_programs else 0


def solve_open_ends(system: System, checked: list[Level], program: Program, tables: list[IntArray]) -> None:
    """Linear programs for what is open, and integer ones if the system is small; tables that clear a cell are added.

    Changes levels and `tables` in place. Where an assumption is tested (`hypothetical`), one disclosed cell ends it.
    """
    _programs(system, checked, program, tables, program_budget(system))
    if checked[0].limits.hypothetical and any(level.exposed().any() for level in checked):
        return
    if open_cells(checked) and system.size <= EFFORT.integer_program_counts:
        _programs(system, checked, program, tables, None)


def probe(system: System, checked: list[Level], program: Program, tables: list[IntArray]) -> None:
    """A few linear programs for the largest open cells, which end at the first that is disclosed."""
    _programs(system, checked, program, tables, min(program_budget(system), EFFORT.probes), first=True)


def _programs(
    system: System,
    checked: list[Level],
    program: Program,
    tables: list[IntArray],
    budget: int | None,
    first: bool = False,
) -> None:
    """One program per open end: linear ones up to a `budget`, cells with most people first; integer ones without."""
    for level in sorted(checked, key=lambda level: len(level.names)):
        up, down = level.needs()
        places = np.argwhere(up | down).tolist()
        if budget is not None:
            places.sort(key=lambda place: -level.people[place[0]])
        for cell, option in places:
            for way in (1, -1):
                if budget is not None and program.solves >= budget:
                    return
                if level.needs()[way < 0][cell, option]:
                    values = _solve_end(system, level, program, (cell, option, way), budget is None)
                    if (first or level.limits.hypothetical) and level.exposed()[cell, option]:
                        return  # sums that are only assumed: one cell that they disclose rules them out
                    counts = integer_table(system, values)
                    if counts is not None:
                        before = needs(checked)
                        show(checked, system.listed(counts))
                        tables += [counts] if needs(checked) < before else []


def _solve_end(system: System, level: Level, program: Program, end: tuple[int, int, int], integer: bool) -> FloatArray:
    """One end (1: upper, -1: lower) of one cell and option by a program; returns the table at its optimum.

    If the solver proved its optimum, the outer interval of the cell shrinks to it, widened by the solver's tolerance.
    """
    cell, option, way = end
    profiles = level.members(cell)
    cost = np.zeros((len(system.codes), system.n_free_options))
    offset, sign = 0, 1
    count = len(system.options)
    chosen = (option,) if option < count else level.limits.sets[option - count]
    if all(each < system.n_free_options for each in chosen):
        cost[profiles[:, None], list(chosen)] = 1.0
    else:  # the reference option is what the others leave of the people
        cost[profiles[:, None], [each for each in range(system.n_free_options) if each not in chosen]] = 1.0
        offset, sign = int(level.people[cell]), -1
    wanted = (cost * way * sign).ravel()
    nodes = EFFORT.integer_program_nodes
    best = program.maximise_integer(wanted, nodes=nodes) if integer else program.maximise(wanted)
    if best.proved:
        # Integer counts below a floating-point optimum: the tolerance grows like the root of the value, as measured
        # errors of HiGHS do; a tolerance that is too large only leaves the interval too wide, which is the safe side.
        reached = int(np.floor(best.value + 1e-6 * max(1.0, abs(best.value)) ** 0.5))
        lower, upper = level.outer_lower.copy(), level.outer_upper.copy()
        if way > 0:
            upper[cell, option] = offset + reached
        else:
            lower[cell, option] = offset - reached
        level.force(lower, upper)
    return best.values
