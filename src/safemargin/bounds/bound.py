"""What each cell discloses: the sharpest interval that follows from what is public.

Objects
    fiber F         all integer tables that agree with what is public and with what the onlooker knows (`system.py`)
    target t        the count of one option in one cell (`targets.py`)
    interval        [min t(x), max t(x)] over x in F: the sharp bound of Lemma 2 of the paper on exact reporting
    method          how it was settled; the number points into `exposure.METHODS`

Method
    1. Tables of single axes and nothing else: a closed form, which is exact (`propagate.order_one_bounds`).
    2. Otherwise a system is built and `methods.settle` runs its table of methods: propagation from outside, integer
       tables from inside, linear and integer programs for what is left.
    3. What an analyst would guess who spreads answers evenly (`entropy.py`) is computed beside; it is no bound.

What callers may rely on
    * Every interval holds: no possible table leaves it. `integer` says where integer tables attain both ends; elsewhere
      it may be wider than the truth, and `complete` is false if work was cut short.
    * Sharp intervals are hard in general: three-way margins express any integer program (De Loera and Onn 2006), so
      `sharp=False` and the limits of `Effort` are needed, and widths may contain gaps (`Fiber.gap`).
    * A contradiction between facts raises with the smallest set of facts that causes it (`conflict.py`).

Example
    Nine of ten people in N said yes, and nine of ten old ones, of 20 people of whom ten said yes. Without a roll:

    >>> from safemargin.core import Axis, Schema, Table, Tally, frozen
    >>> names, codes = ("district", "age"), frozen([[0, 0], [0, 1], [1, 0], [1, 1]], 2)
    >>> axes = Axis("district", ("N", "S")), Axis("age", ("old", "young"))
    >>> votes = Tally(names, codes, frozen([[8, 1], [1, 0], [1, 0], [0, 9]], 2))
    >>> public = exact_margins(Table(Schema(axes, ("yes", "no")), (votes,), ()))
    >>> found = infer(public)
    >>> found.lower[:, 0].tolist(), found.upper[:, 0].tolist()
    ([8, 0, 0, 0], [9, 1, 1, 1])
"""

import math
from collections.abc import Sequence

import numpy as np

from safemargin.bounds.build import build_system
from safemargin.bounds.conflict import explained
from safemargin.bounds.effort import EFFORT
from safemargin.bounds.entropy import fit_maximum_entropy
from safemargin.bounds.exposure import CellIndex, Exposure, Fiber
from safemargin.bounds.fiber_count import glance
from safemargin.bounds.methods import settle
from safemargin.bounds.propagate import closed_form_applies, order_one_bounds, propagate
from safemargin.bounds.search import Targets
from safemargin.bounds.system import (
    System,
    check_totals,
    complete,
    complete_total,
    seen_in,
    stated_population,
    stated_totals,
)
from safemargin.bounds.targets import cells_asked, known_axes, people_of, targets_of
from safemargin.core import (
    BoolArray,
    ContradictionError,
    FloatArray,
    IntArray,
    Onlooker,
    Progress,
    PublishedTable,
    Table,
    TooLargeError,
    exact_margins,
    no_progress,
    onlooker_with_roll,
)


def infer(
    public: Table | Sequence[PublishedTable],
    onlooker: Onlooker | None = None,
    *,
    target: tuple[str, ...] | None = None,
    slack: int = 0,
    sharp: bool | None = True,
    given: Sequence[IntArray] = (),
    enough: int | None = None,
    fiber: bool = False,
    whole: bool = True,
    progress: Progress = no_progress,
) -> Exposure:
    """What `onlooker` can infer about every cell once `public` is published.

    A `Table` stands for its total and the exact margin of every axis. `target` asks for the cells of some axes only.
    Without `sharp`, cells that would need a program of their own keep a valid interval that may be too wide; None
    leaves it to the number of cells. Integer tables that are `given` are checked and used. Once integer tables show an
    interval to be wider than `enough`, it is not worked out further: deciding is much cheaper than bounding. If `whole`
    is false, LP optima are not rounded to integer tables. `fiber` asks for a first look at the possible tables.
    """
    if isinstance(public, Table):
        onlooker = onlooker or onlooker_with_roll(public, "joint")
        slack = slack or public.inconsistency.slack(int(public.totals.sum()))
        public = exact_margins(public)
    onlooker = onlooker or Onlooker()
    if slack == 0 and closed_form_applies(public, onlooker):
        check_totals(public, slack, seen_in(public))
        return _in_closed_form(tuple(public), onlooker, target, fiber)
    try:
        system = build_system(public, onlooker, slack)
        return _bound(public, onlooker, system, target, sharp, given, enough, fiber, whole, progress)
    except ContradictionError as error:
        raise explained(error, public, onlooker, slack) from None


def _bound(
    public: Sequence[PublishedTable],
    onlooker: Onlooker,
    system: System,
    target: tuple[str, ...] | None,
    sharp: bool | None,
    given: Sequence[IntArray],
    enough: int | None,
    fiber: bool,
    whole: bool,
    progress: Progress,
) -> Exposure:
    """Bound every target of a system that is built: settle, then put the results in the shape of cells and options.

    Where no roll states the people of a cell, a narrow interval is disclosed whatever its share, so it need not be
    known better than `enough` from inside either (`narrow`).
    """
    if sharp is None:
        sharp = system.size <= EFFORT.sharp_counts and system.size * system.n_free_options**2 <= EFFORT.sharp_work
    cells, cell_of = cells_asked(system, target)
    targets = targets_of(system, cell_of, len(cells))
    people = people_of(system, onlooker, cells, cell_of)
    settled = settle(
        system,
        targets,
        progress,
        programs=sharp,
        given=given,
        # Wide enough is wide enough: an interval is not tightened further once tables show that.
        enough=enough,
        narrow=people is None,  # a cell of known size may be safe though its interval is narrow
        whole=whole,
    )
    shape = (len(cells), len(system.options))
    lower, upper = settled.lower.reshape(shape), settled.upper.reshape(shape)
    return Exposure(
        cells=cells,
        options=() if system.options == ("",) else system.options,
        people=people,
        lower=lower,
        upper=upper,
        integer=settled.integer.reshape(shape),
        method=settled.method.reshape(shape),
        onlooker=onlooker,
        totals=stated_totals(system, (*public, *complete(onlooker))),
        population=stated_population(system, onlooker.roll),
        fitted=None if people is None else _fitted(system, cell_of, people, lower, upper, onlooker.correlations),
        complete=settled.complete and (sharp or bool(settled.integer.all())),
        fiber=_seen(system, targets) if fiber else None,
    )


def _seen(system: System, targets: Targets) -> Fiber:
    """A first look at the fiber, from `fiber_count.glance`; raises if no integer table is in it."""
    fiber = glance(system, targets)
    if fiber.tables == 0:
        raise ContradictionError("the facts contradict each other: no integer table satisfies all of them")
    return fiber


def _in_closed_form(
    tables: tuple[PublishedTable, ...], onlooker: Onlooker, target: tuple[str, ...] | None, fiber: bool
) -> Exposure:
    """The exposure of tables of single axes, without a system: cells may be far more than a system could hold.

    Cells by `target` need the tables of these axes only, as the other axes say nothing about them; of the total,
    without an axis, every count is exact.
    """
    axes = tuple(axis for table in tables for axis in table.axes)
    wanted = axes if target is None else known_axes(target, axes)
    chosen = tuple(table for table in tables if set(table.axes) <= set(wanted)) or tables[:1]
    categories = tuple(
        tuple(name for group in table.groups[0] for name in sorted(group))
        for axis in wanted
        for table in tables
        if table.axes == (axis,)
    )
    count = math.prod(len(names) for names in categories)
    if count > EFFORT.profiles:
        raise TooLargeError(f"{count:,} combinations of {' x '.join(wanted)}: ask for fewer axes (--target)")
    if wanted:
        codes = np.indices([len(names) for names in categories]).reshape(len(wanted), -1).T.astype(np.int64)
        lower, upper = order_one_bounds(chosen, wanted, categories, codes)
    else:
        lower = upper = np.array([complete_total(tables[0], {})], dtype=np.int64)
        codes = np.zeros((1, 0), dtype=np.int64)
    return Exposure(
        cells=CellIndex(wanted, categories, codes),
        options=tables[0].options,
        people=None,
        lower=lower,
        upper=upper,
        integer=np.ones(lower.shape, dtype=bool),
        method=np.zeros(lower.shape, dtype=np.int64),
        onlooker=onlooker,
        totals=complete_total(tables[0], {}) or (),
        fiber=_seen_in_closed_form(tables, onlooker, wanted, fiber),
    )


def _seen_in_closed_form(
    tables: tuple[PublishedTable, ...], onlooker: Onlooker, wanted: tuple[str, ...], fiber: bool
) -> Fiber | None:
    """A first look where there is no system yet; cells are in the order of `wanted`."""
    sizes = [len(frozenset().union(*groups)) for table in tables for groups in table.groups]
    if not fiber or math.prod(sizes) * max(len(tables[0].options), 1) > EFFORT.quick_counts:
        return Fiber(None, None) if fiber else None
    system = build_system(tables, onlooker)
    cells, cell_of = cells_asked(system, wanted)
    return _seen(system, targets_of(system, cell_of, len(cells)))


def _fitted(
    system: System,
    cell_of: IntArray,
    people: IntArray,
    lower: IntArray,
    upper: IntArray,
    correlations: PublishedTable | None,
) -> FloatArray | None:
    """What the maximum-entropy analyst believes, under stated correlations: expected count per cell and option."""
    if system.people is None or len(system.lower) > EFFORT.fitted_rows or system.size > EFFORT.fitted_counts:
        return None
    # Counts shown to be 0, by the bounds of single profiles and of the cells asked for, have no finite effects.
    least, most = system.listed_ends(*propagate(system))
    possible = _may_occur(least, most, system.people, system.n_free_options + 1)
    possible &= _may_occur(lower, upper, people, system.n_free_options + 1)[cell_of]
    values = fit_maximum_entropy(system, possible, None if correlations is None else _prior(system, correlations))
    if values is None:
        return None
    return np.stack(
        [np.bincount(cell_of, values[:, o], minlength=len(lower)) for o in range(len(system.options))], axis=1
    )


def _prior(system: System, stated: PublishedTable) -> FloatArray:
    """Shares per profile and option as stated counts have them; half an answer more each, so that none is excluded."""
    counts = np.full((len(system.codes), system.n_free_options + 1), 0.5)
    for row in range(len(stated.lower)):
        inside = np.ones(len(system.codes), dtype=bool)
        for a, axis in enumerate(stated.axes):
            column, group = system.axes.index(axis), stated.groups[a][stated.codes[row, a]]
            inside &= np.array([name in group for name in system.categories[column]])[system.codes[:, column]]
        option = system.options.index(stated.options[stated.option[row]])
        counts[inside, min(option, system.n_free_options)] += stated.lower[row]
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))


def _may_occur(lower: IntArray, upper: IntArray, people: IntArray, columns: int) -> BoolArray:
    """Which options somebody may have, by cell; without a reference option, the last column is no listed option.

    An option may occur where its ceiling, and what the floors of the others leave of the people, are both positive.
    """
    if lower.shape[1] < columns:
        lower = np.column_stack([lower, np.zeros_like(people)])
        upper = np.column_stack([upper, people])
    left = people[:, None] - (lower.sum(axis=1, keepdims=True) - lower)
    possible: BoolArray = np.minimum(upper, left) > 0
    return possible
