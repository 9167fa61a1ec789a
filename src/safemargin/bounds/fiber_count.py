"""How many integer tables satisfy all facts: what is open is cut into pieces, each counted the cheapest way."""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

from safemargin.bounds.fiber_form import FiberForm, parts, standard
from safemargin.bounds.fiber_search import FiberSearch
from safemargin.bounds.fiber_states import count_by_grid, count_by_states
from safemargin.bounds.fiber_vertices import count_by_vertices
from safemargin.bounds.system import System
from safemargin.core import ContradictionError, Progress, TooLargeError, no_progress

LITTLE_SEARCH, LONG_SEARCH, SEARCH_PER_TABLE = 20_000_000, 400_000_000, 1_000
FEW_SUMS, MANY_SUMS = 4_000_000, 60_000_000
SMALL_GRID, LARGE_GRID = 60_000_000, 1_200_000_000
FEW_VERTICES, MOST_VERTICES = 2_000, 20_000
"""Work that is a fraction of a second, and some seconds, of each way to count."""

MOST_FOR_QUICK = 500
"""Open counts beyond which even a first look takes longer."""

STEPS = 1_000
"""Parts in which progress within a piece is told."""

Report = Callable[[float], None]
Way = tuple[str, Callable[[], int | None]]
"""A method in words, and what it finds."""

CONTRADICTION = "propagation finds a contradiction"
UNLIMITED = "nothing that is published limits some count"
FIXED = "propagation fixes every count"
UNTIED = "no equation ties the counts that are open"
TOO_MANY = "too many counts are open"
SEARCH = "search over the counts that the equations leave free"
VERTICES = "generating function of the vertices"
STATES = "partial sums, one count after the other"


@dataclass(frozen=True)
class Count:
    """Number of tables; unless `exact`, `value` is a number that is surely reached, or None. `method` says how."""

    value: int | None
    exact: bool
    method: str


def count_tables(
    known: System, limit: int = 2_000_000, *, quick: bool = False, progress: Progress = no_progress
) -> Count:
    """The number of integer tables; tables are listed one by one only up to `limit`.

    With `quick`, only what takes a fraction of a second is tried. So is, for the other pieces, once one was too large.
    """
    try:
        pieces = [form for _, form in parts(standard(known))]
    except ContradictionError:
        return Count(0, True, CONTRADICTION)
    except TooLargeError:
        return Count(None, False, UNLIMITED)
    counts: list[Count] = []
    for place, piece in enumerate(pieces):
        patient = not quick and all(count.exact for count in counts)
        counts.append(_count_piece(piece, limit, patient, _portion(progress, place, len(pieces))))
        if counts[-1].exact and counts[-1].value == 0:
            return counts[-1]
        if quick and not counts[-1].exact:
            break
    methods = tuple(dict.fromkeys(count.method for count in counts))
    values = [count.value for count in counts if count.value is not None]
    exact = all(count.exact for count in counts)
    value = prod(values) if len(values) == len(pieces) else None
    return Count(value, exact, "; ".join(methods) or FIXED)


def _portion(progress: Progress, place: int, pieces: int) -> Report:
    """Report a share of one piece as part of all of them."""

    def report(done: float) -> None:
        progress("counting", int(STEPS * (place + min(done, 1.0))), STEPS * pieces)

    return report


def _count_piece(form: FiberForm, limit: int, patient: bool, report: Report) -> Count:
    """Number of solutions of one connected piece: every way with little effort, then, if `patient`, with more."""
    if not form.matrix.shape[0]:
        return Count(prod((form.room + 1).tolist()), True, UNTIED)
    if not patient and form.matrix.shape[1] > MOST_FOR_QUICK:
        return Count(None, False, TOO_MANY)
    count = _by_search(form, limit, LITTLE_SEARCH, report)
    if count.exact:
        return count
    quick: list[Way] = [
        (STATES, lambda: count_by_states(form, FEW_SUMS)),
        (STATES, lambda: count_by_grid(form, SMALL_GRID)),
        (VERTICES, lambda: count_by_vertices(form, MOST_VERTICES if patient else FEW_VERTICES)),
    ]
    if (found := _first(quick)) is not None or not patient:
        return found or count
    count = _by_search(form, limit, LONG_SEARCH, report)
    if count.exact:
        return count
    slow: list[Way] = [
        (STATES, lambda: count_by_states(form, MANY_SUMS)),
        (STATES, lambda: count_by_grid(form, LARGE_GRID)),
    ]
    if (found := _first(slow)) is not None:
        return found
    enough = (count.value or 0) > limit or SEARCH_PER_TABLE * limit <= LONG_SEARCH
    return count if enough else _by_search(form, limit, SEARCH_PER_TABLE * limit, report)


def _first(ways: list[Way]) -> Count | None:
    """What the first way that applies finds."""
    for method, way in ways:
        found = way()
        if found is not None:
            return Count(found, True, method)
    return None


def _by_search(form: FiberForm, limit: int, work: int, report: Report) -> Count:
    """By listing, as far as `limit` and `work` allow."""
    found = 0
    try:
        search = FiberSearch(form)
        for bar in search.bars(work):
            found += int(bar.count.sum())
            report(search.work / work)
            if found > limit:
                return Count(found, False, f"{SEARCH}, stopped beyond {limit:,} tables")
    except TooLargeError as reason:
        return Count(found or None, False, f"{SEARCH}: {reason}")
    return Count(found, True, SEARCH)
