"""Withholding with as few cells as possible: nobody who sees the rest can tell what is in a withheld cell."""

import numpy as np

from safemargin.decide.withhold.pool import Pool
from safemargin.decide.withhold.problem import Problem, problem
from safemargin.decide.withhold.search import Progress, Search, Unprotectable
from safemargin.errors import InputError, RefusedError
from safemargin.model.arrays import BoolArray, IntArray
from safemargin.model.lattice import Lattice
from safemargin.model.pattern import Move, Pattern

__all__ = ["SECONDS", "withhold"]

SECONDS = 120.0


def withhold(
    table: Lattice,
    primary: tuple[int, int] = (1, 3),
    *,
    protect: int | None = None,
    extra: int | None = None,
    seconds: float = SECONDS,
    progress: Progress | None = None,
) -> Pattern:
    """Protect the counts from `primary[0]` to `primary[1]`, of inner cells and margins alike.

    The onlooker sees every other cell and knows that zeros are published, so that a withheld count is a whole number of
    at least one. With `protect`, every primary count could as well be `protect` or more. `extra` more cells than needed
    may be withheld so that fewer primary counts are known to be primary; by default one in eighty, where that is known
    of more than half of them. `seconds` limits how long fewer cells are looked for once there is a pattern.
    """
    least, most = primary
    if not 1 <= least <= most:
        raise InputError(f"primary counts {least}-{most}: the first must be at least 1 and not above the last")
    if protect is not None and protect <= most:
        raise InputError(f"protect = {protect}: must be more than the largest primary count, {most}")
    if extra is not None and extra < 0:
        raise InputError(f"extra = {extra}: must be at least 0")
    if not seconds >= 0:
        raise InputError(f"seconds = {seconds}: must be a number of at least 0")
    asked = problem(table, primary, protect)
    try:
        found = Search(asked, seconds, progress).run(extra)
    except Unprotectable as error:
        cell = table.cell(int(asked.places[error.cell]))
        words = ", ".join(f"{axis} {label}" for axis, label in cell.items())
        if error.need:
            reason = f"protect = {protect} cannot be attained, whatever else is withheld"
            raise RefusedError(f"{words}: {reason}") from None
        raise RefusedError(f"{words}: the count follows from the grand total whatever else is withheld") from None
    withheld = found.withheld
    order = np.flatnonzero(withheld)
    return Pattern(
        table=table,
        primary=primary,
        withheld=asked.places[order],
        is_primary=asked.primary[order],
        moves=_moves(asked, found.pool, withheld),
        lower_bound=found.lower_bound,
        exposed=asked.places[found.exposed],
        extra=found.extra,
        protect=protect,
    )


def _moves(asked: Problem, pool: Pool, withheld: BoolArray) -> tuple[Move, ...]:
    """Few moves of the pool that meet every requirement: those that meet most are taken first."""
    matrix = pool.matrix[pool.inside(withheld)].tocsr()
    place = np.cumsum(withheld) - 1
    missing = withheld.copy()
    met: list[IntArray] = []
    for row in range(matrix.shape[0]):
        part = slice(matrix.indptr[row], matrix.indptr[row + 1])
        cells, changes = matrix.indices[part], matrix.data[part]
        met.append(cells[(asked.needs[cells] == 0) | (changes >= asked.needs[cells])])
    left = sorted(range(len(met)), key=lambda row: -len(met[row]))
    chosen: list[Move] = []
    while missing.any():
        best = max(left, key=lambda row: int(missing[met[row]].sum()))
        if not missing[met[best]].any():
            raise RefusedError("a withheld cell has no move that changes it")
        part = slice(matrix.indptr[best], matrix.indptr[best + 1])
        steps = zip(place[matrix.indices[part]].tolist(), matrix.data[part].tolist(), strict=True)
        chosen.append(tuple(sorted(steps)))
        missing[met[best]] = False
        left = [row for row in left if missing[met[row]].any()]
    return tuple(chosen)
