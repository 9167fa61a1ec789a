"""What is possible once tables are public: the fiber, seen through the cells that are asked about.

Objects
    fiber       all integer tables that agree with everything public (`system.py`)
    possible    how many tables there are, in how many dimensions, and which values each cell takes
    drawn       random tables: mean, standard error and quantiles of every cell

What callers may rely on
    * Numbers of tables are exact or surely reached; `attained` lists all values of a cell, gaps included. Intervals
      (`bound.py`) are hulls: with margins of two or more axes a count between the ends may be impossible.
    * Draws are a picture of what an indifferent onlooker believes. They prove nothing, and no release depends on them.
    * Ctrl-C ends counting or drawing early, with what was found until then.

Example
    The running example leaves nine tables in one dimension: the old people of N may have said yes 2 to 10 times, and
    this fixes the other three profiles.

    >>> from safemargin.core import exact_margins, onlooker_with_roll, table_of
    >>> table = table_of({"district": ("N", "S"), "age": ("old", "young")}, [[6, 4]] * 4, [10] * 4)
    >>> public, onlooker = exact_margins(table), onlooker_with_roll(table, "joint")
    >>> fiber = possible(public, onlooker).fiber
    >>> fiber.tables, fiber.dimension, fiber.attained[0]
    (9, 1, (2, 3, 4, 5, 6, 7, 8, 9, 10))

    Random tables have 6 there in the middle; 5 % of them have at most 2, and 95 % at most 10:

    >>> drawn = draw(public, onlooker, count=500)
    >>> drawn.tables, drawn.quantiles[0].tolist()
    (500, [2, 6, 10])
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

import numpy as np

from safemargin.bounds.build import build_system
from safemargin.bounds.conflict import explained
from safemargin.bounds.effort import EFFORT
from safemargin.bounds.exposure import QUANTILES, Drawn, Fiber, Possible
from safemargin.bounds.fiber_count import UNLIMITED, Count, _fiber, _values, count_tables, dimension
from safemargin.bounds.fiber_sample import chain, reach
from safemargin.bounds.programs import program_of
from safemargin.bounds.propagate import propagate
from safemargin.bounds.search import Targets
from safemargin.bounds.system import System, integer_table
from safemargin.bounds.targets import cells_asked, people_of, targets_of
from safemargin.core import (
    ContradictionError,
    FloatArray,
    InputError,
    IntArray,
    Onlooker,
    Progress,
    PublishedTable,
    TooLargeError,
    no_progress,
    numpy_generator,
)

SEED = 30_000

STOPPED = "stopped"


def possible(
    tables: Sequence[PublishedTable],
    onlooker: Onlooker | None = None,
    *,
    target: tuple[str, ...] | None = None,
    slack: int = 0,
    progress: Progress = no_progress,
) -> Possible:
    """The tables that `onlooker` cannot rule out; `target` asks for the cells of some axes.

    Counting is exact where a method applies (`fiber_count.py`); else `tables` is a number that is surely reached. The
    values of cells are listed for at most `EFFORT.listed_tables` tables. Ctrl-C ends counting, and the answer says so.
    Facts that contradict each other raise `ContradictionError`, which names them.
    """
    onlooker = onlooker or Onlooker()
    system, targets, seen = _asked(tables, onlooker, target, slack)
    try:
        flat = dimension(system)
    except ContradictionError as error:
        raise explained(error, tables, onlooker, slack) from None
    most = max(min(EFFORT.listed_tables, EFFORT.listed_counts // max(len(targets.sign), 1)), 1)
    values = None
    try:
        count = count_tables(system, progress=progress)
        if count.exact and count.value is not None and count.value <= most:
            values = _values(system, targets, most)
    except KeyboardInterrupt:
        count = Count(None, False, STOPPED)
    else:
        if not count.exact and count.method != UNLIMITED and system.size <= EFFORT.reach_counts:
            count = replace(count, value=max(count.value or 0, _reached(system)))
    return replace(seen, fiber=_fiber(flat, count, values))


def draw(
    tables: Sequence[PublishedTable],
    onlooker: Onlooker | None = None,
    *,
    count: int,
    law: str = "uniform",
    seed: int = 0,
    target: tuple[str, ...] | None = None,
    slack: int = 0,
    progress: Progress = no_progress,
) -> Drawn:
    """Means and quantiles of every cell over `count` random tables; Ctrl-C ends with those drawn so far.

    A tenth as many are drawn before and omitted: by then the chain has forgotten where it began. `law` is "uniform"
    (every table alike) or another law of `fiber_sample.py`. `seed` makes a run repeatable: draws illustrate and protect
    nothing.
    """
    system, targets, _ = _asked(tables, onlooker or Onlooker(), target, slack)
    size = len(targets.sign)
    if not 1 < count <= EFFORT.drawn_counts // max(size, 1):
        raise InputError(
            f"{count:,} tables to draw: give at least 2, and at most {EFFORT.drawn_counts // max(size, 1):,}"
        )
    warm = count // 10
    drawn = np.zeros((count, size), dtype=np.int64)
    done = 0
    try:
        for turn, table in enumerate(chain(system, _some_table(system), numpy_generator(seed), law)):
            if turn >= warm:
                drawn[done] = targets.of(table)
                done += 1
            progress("drawing", turn + 1, count + warm)
            if done == count:
                break
    except KeyboardInterrupt:
        if done < 2:
            raise
    drawn = drawn[:done]
    quantiles = np.quantile(drawn, QUANTILES, axis=0, method="inverted_cdf").T.astype(np.int64)
    return Drawn(law, done, seed, drawn.mean(axis=0), _error(drawn), quantiles)


def _asked(
    tables: Sequence[PublishedTable], onlooker: Onlooker, target: tuple[str, ...] | None, slack: int
) -> tuple[System, Targets, Possible]:
    """The system, the targets and an empty answer for the cells that are asked for."""
    system = build_system(tables, onlooker, slack)
    cells, cell_of = cells_asked(system, target)
    options = () if system.options == ("",) else system.options
    people = people_of(system, onlooker, cells, cell_of)
    seen = Possible(cells, options, people, onlooker, Fiber(None, None))
    return system, targets_of(system, cell_of, len(cells)), seen


def _reached(system: System) -> int:
    """Tables that there are at least, from one in the middle of them: every one counted was constructed."""
    generator = numpy_generator(SEED)
    inside = next(islice(chain(system, _some_table(system), generator), EFFORT.steps_inside, None))
    return reach(system, inside, generator)


def _some_table(system: System) -> IntArray:
    """Any integer table: the floors, a corner of the linear program, or what an integer program finds.

    Raises `TooLargeError` if none is found in time; that is no statement about whether there is one.
    """
    low, high = propagate(system)
    if system.admits(low):
        return low
    program, nothing = program_of(system, low, high), np.zeros(system.size)
    table = integer_table(system, program.maximise(nothing).values)
    if table is None:
        table = integer_table(system, program.maximise_integer(nothing, EFFORT.seconds_to_start).values)
    if table is None:
        raise TooLargeError("no integer table was found to begin drawing from")
    return table


def _error(drawn: IntArray) -> FloatArray:
    """Standard error of the means by batch means.

    With n draws in about sqrt(n) batches of sqrt(n) draws, the variance of the batch means over their number estimates
    the variance of the mean, since long batches of a mixing chain are nearly independent (Glynn and Whitt 1991).

    >>> _error(np.tile([[0], [4]], (8, 1))).tolist()
    [0.0]
    """
    # Batch means: the draws of a chain are correlated, the means of long batches nearly not.
    stretches = max(int(len(drawn) ** 0.5), 2)
    length = len(drawn) // stretches
    means = drawn[: stretches * length].reshape(stretches, length, -1).mean(axis=1)
    error: FloatArray = means.std(axis=0, ddof=1) / stretches**0.5
    return error
