"""What is possible once tables are public: the fiber, seen through the cells that are asked about."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

import numpy as np

from safemargin.bounds.asked import cells_asked, people_of, targets_of
from safemargin.bounds.conflict import explained
from safemargin.bounds.fiber import attained, dimension
from safemargin.bounds.fiber_answer import Possible
from safemargin.bounds.fiber_count import UNLIMITED, Count, count_tables
from safemargin.bounds.fiber_sample import chain, reach
from safemargin.bounds.fiber_values import QUANTILES, Drawn, Fiber
from safemargin.bounds.linear import Program, integer_table
from safemargin.bounds.propagate import propagate
from safemargin.bounds.search import Targets
from safemargin.bounds.system import System, system
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

__all__ = ["draw", "glance", "possible"]


MOST_VALUES, MOST_TABLES = 50_000_000, 2_000_000
"""Counts in all listed tables, and tables, up to which they are looked at one by one."""

FEW_VALUES = 1_000_000
MOST_TO_GLANCE = 500
"""The same for a glance, and the variables up to which there is one."""

MOST_DRAWN = 50_000_000
SECONDS_TO_START = 30.0
MOST_TO_REACH, STEPS_INSIDE, SEED = 5_000, 20, 30_000
"""Variables up to which moves from one table tell how many there are at least."""

STOPPED = "stopped"


def possible(
    tables: Sequence[PublishedTable],
    onlooker: Onlooker | None = None,
    *,
    target: tuple[str, ...] | None = None,
    slack: int = 0,
    progress: Progress = no_progress,
) -> Possible:
    """The tables that `onlooker` cannot rule out; `target` asks for the cells of some axes. Ctrl-C ends counting."""
    onlooker = onlooker or Onlooker()
    known, targets, seen = _asked(tables, onlooker, target, slack)
    try:
        flat = dimension(known)
    except ContradictionError as error:
        raise explained(error, tables, onlooker, slack) from None
    most = max(min(MOST_TABLES, MOST_VALUES // max(len(targets.sign), 1)), 1)
    values = None
    try:
        count = count_tables(known, progress=progress)
        if count.exact and count.value is not None and count.value <= most:
            values = _values(known, targets, most)
    except KeyboardInterrupt:
        count = Count(None, False, STOPPED)
    else:
        if not count.exact and count.method != UNLIMITED and known.size <= MOST_TO_REACH:
            count = replace(count, value=max(count.value or 0, _reached(known)))
    return replace(seen, fiber=_fiber(flat, count, values))


def glance(known: System, targets: Targets) -> Fiber:
    """What a fraction of a second tells about a fiber: nothing if it is large."""
    if known.size > MOST_TO_GLANCE:
        return Fiber(None, None)
    count = count_tables(known, quick=True)
    values = None
    if count.exact and count.value is not None and count.value * len(targets.sign) <= FEW_VALUES:
        values = _values(known, targets, count.value)
    return _fiber(dimension(known), count, values)


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

    A tenth as many are drawn before and left out: by then the chain has forgotten where it began.
    """
    known, targets, _ = _asked(tables, onlooker or Onlooker(), target, slack)
    size = len(targets.sign)
    if not 1 < count <= MOST_DRAWN // max(size, 1):
        raise InputError(f"{count:,} tables to draw: give at least 2, and at most {MOST_DRAWN // max(size, 1):,}")
    warm = count // 10
    drawn = np.zeros((count, size), dtype=np.int64)
    done = 0
    try:
        for turn, table in enumerate(chain(known, _some_table(known), numpy_generator(seed), law)):
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
    known = system(tables, onlooker, slack)
    cells, cell_of = cells_asked(known, target)
    options = () if known.options == ("",) else known.options
    people = people_of(known, onlooker, cells, cell_of)
    seen = Possible(cells, options, people, onlooker, Fiber(None, None))
    return known, targets_of(known, cell_of, len(cells)), seen


def _fiber(flat: int, count: Count, values: tuple[tuple[int, ...], ...] | None) -> Fiber:
    number = count.value if count.exact else None
    return Fiber(flat, number, count.value or 0, count.method, values)


def _values(known: System, targets: Targets, most: int) -> tuple[tuple[int, ...], ...] | None:
    """The values that each target takes."""
    found = attained(known, targets.matrix, limit=most)
    if found is None:
        return None
    turns = zip(found, targets.offset.tolist(), targets.sign.tolist(), strict=True)
    return tuple(tuple(sorted(offset + sign * value for value in values)) for values, offset, sign in turns)


def _reached(known: System) -> int:
    """Tables that there are at least, from one in the middle of them."""
    generator = numpy_generator(SEED)
    inside = next(islice(chain(known, _some_table(known), generator), STEPS_INSIDE, None))
    return reach(known, inside, generator)


def _some_table(known: System) -> IntArray:
    """Any table of whole people: the floors, a corner of the linear program, or what an integer program finds."""
    low, high = propagate(known)
    if known.admits(low):
        return low
    program, nothing = Program(known, low, high), np.zeros(known.size)
    found = integer_table(known, program.maximise(nothing).values)
    if found is None:
        found = integer_table(known, program.maximise_integer(nothing, SECONDS_TO_START).values)
    if found is None:
        raise TooLargeError("no table of whole people was found to begin drawing from")
    return found


def _error(drawn: IntArray) -> FloatArray:
    """Standard error of the means: from the means of stretches that are long enough to be nearly independent."""
    stretches = max(int(len(drawn) ** 0.5), 2)
    length = len(drawn) // stretches
    means = drawn[: stretches * length].reshape(stretches, length, -1).mean(axis=1)
    error: FloatArray = means.std(axis=0, ddof=1) / stretches**0.5
    return error
