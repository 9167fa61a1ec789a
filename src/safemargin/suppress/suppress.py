"""Suppressing with as few cells as possible: nobody who sees the rest can tell what is in a suppressed cell."""

import numpy as np
from scipy import sparse

from safemargin.core import InputError, IntArray, Lattice, Progress, RefusedError, no_progress
from safemargin.suppress.evidence import evidence
from safemargin.suppress.linked import Linked, alone
from safemargin.suppress.pattern import Move, Pattern
from safemargin.suppress.problem import Problem, problem
from safemargin.suppress.search import Found, Search, Unprotectable

__all__ = ["SECONDS", "suppress"]

SECONDS = 120.0


def suppress(
    table: Lattice | Linked,
    primary: tuple[int, int] = (1, 3),
    *,
    protect: int | None = None,
    tau: int = 0,
    insiders: int = 0,
    extra: int | None = None,
    seconds: float = SECONDS,
    progress: Progress = no_progress,
) -> Pattern:
    """Protect the counts from `primary[0]` to `primary[1]`, of inner cells and margins alike.

    The onlooker sees every other cell of all tables, earlier ones included, and knows that zeros are published, so that
    a suppressed count is a whole number of at least one; none is known to within `tau`. So many `insiders` together,
    who know their own answers and whether others are in their cells, cannot infer any other suppressed count. With
    `protect`, every primary count could as well be `protect` or more. `extra` more cells than needed may be suppressed
    so that fewer primary counts are known to be primary; by default one in eighty, where that is known of more than
    half of them. `seconds` limits how long fewer cells are looked for once there is a pattern.
    """
    least, most = primary
    if not 1 <= least <= most:
        raise InputError(f"primary counts {least}-{most}: the first must be at least 1 and not above the last")
    if protect is not None and protect <= most:
        raise InputError(f"protect = {protect}: must be more than the largest primary count, {most}")
    for name, value in (("extra", extra or 0), ("tau", tau), ("insiders", insiders)):
        if value < 0:
            raise InputError(f"{name} = {value}: must be at least 0")
    if not seconds >= 0:
        raise InputError(f"seconds = {seconds}: must be a number of at least 0")
    tables = alone(table) if isinstance(table, Lattice) else table
    settled: list[int] = []
    while True:
        asked = problem(tables, primary, protect, tau, insiders, settled)
        try:
            found = Search(asked, seconds, progress).run(extra)
            break
        except Unprotectable as error:
            cell = int(asked.places[error.cell])
            if not tables.known[0] or error.need or asked.width > 1 or error.view.known or error.view.at_least:
                raise RefusedError(_refusal(tables, asked, error)) from None
            settled.append(cell)
    return _pattern(tables, asked, found, (primary, protect, tau, insiders), settled)


def _pattern(
    tables: Linked,
    asked: Problem,
    found: Found,
    wanted: tuple[tuple[int, int], int | None, int, int],
    settled: list[int],
) -> Pattern:
    primary, protect, tau, insiders = wanted
    suppressed = np.flatnonzero(found.suppressed & asked.counted)
    proof = evidence(asked, found.pool, found.suppressed | asked.untold)
    used = np.zeros(asked.size, dtype=bool)
    used[proof.indices] = True
    before = np.flatnonzero(found.suppressed & ~asked.counted)
    untold = np.flatnonzero(asked.untold & (used | (asked.counts > 0)))
    told_then = np.flatnonzero(np.isin(asked.places, settled) & ~asked.counted)
    order = np.r_[suppressed, before, told_then, untold]
    known = np.flatnonzero(tables.known & tables.new & (tables.counts >= primary[0]) & (tables.counts <= primary[1]))
    return Pattern(
        tables=tables,
        primary=primary,
        suppressed=asked.places[suppressed],
        is_primary=asked.primary[suppressed],
        hidden=asked.places[order],
        counts=asked.counts[order],
        moves=_moves(order, proof),
        lower_bound=found.lower_bound,
        exposed=asked.places[found.exposed],
        known=np.union1d(known, np.array(settled, dtype=np.int64)),
        extra=found.extra,
        protect=protect,
        tau=tau,
        insiders=insiders,
    )


def _moves(order: IntArray, proof: sparse.csr_array) -> tuple[Move, ...]:
    """Rows of a matrix, with cells by their place in an order."""
    starts, cells, changes = proof.indptr, proof.indices, proof.data
    place = np.full(proof.shape[1], -1, dtype=np.int64)
    place[order] = np.arange(len(order))
    return tuple(
        tuple(sorted(zip(place[cells[a:b]].tolist(), changes[a:b].tolist(), strict=True)))
        for a, b in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)
    )


def _refusal(tables: Linked, asked: Problem, error: Unprotectable) -> str:
    """Which count cannot be protected, and from whom."""

    def words(place: int) -> str:
        return ", ".join(f"{axis} {label}" for axis, label in tables.cell(int(asked.places[place])).items())

    cell = words(error.cell)
    if error.need:
        level = error.need + int(asked.counts[error.cell])
        return f"{cell}: protect = {level} cannot be attained, whatever else is suppressed"
    insiders = [*error.view.known, *(place for place, _ in error.view.at_least)]
    if insiders:
        who = " and ".join(f"({words(place)})" for place in insiders)
        return f"{cell}: those in {who} can tell the count whatever else is suppressed"
    if asked.width > 1:
        return f"{cell}: the count follows to within tau = {asked.width - 1} whatever else is suppressed"
    return f"{cell}: the count follows from the grand total whatever else is suppressed"
