"""Which public facts cannot hold together: a set of them that no fact can be taken from, in words.

Objects
    facts       rows of a system, and *caps*: the people of profiles that a joint roll states
    conflict    facts that no table with fractions satisfies together

Statement
    Minimise the total violation of the rows over x >= 0 (phase one of the simplex method). It is positive if and only
    if the facts contradict each other, and then the rows with a non-zero dual already do (Farkas). Removing one fact
    after the other, as long as the rest still contradicts itself, leaves an irreducible set (Chinneck 1997).

What callers may rely on
    * Every fact that is named is needed: without it the others can hold together, up to `EFFORT.conflict_rows`.
    * Contradictions between integers only are not explained by rows; the message says that fractions would do.
    * This is for messages. Whether there is a contradiction is decided elsewhere, in integers.

Example
    This week's table has 12 yes in N, last week's has 10, and both have the same totals. Two rows of eight are named:

    >>> from safemargin.core import as_published, onlooker_with_roll, table_of
    >>> square = {"district": ("N", "S"), "age": ("old", "young")}
    >>> now, before = table_of(square, [[6, 4]] * 4, [10] * 4), table_of(square, [[5, 5], [5, 5], [7, 3], [7, 3]])
    >>> public = [as_published(each.margin(("district",)), each.schema, "district") for each in (now, before)]
    >>> onlooker = onlooker_with_roll(now, "joint")
    >>> system = build_system(public, onlooker, check=False, conclude=False)
    >>> found = conflict(system)
    >>> [(system.explain(row), int(system.lower[row])) for row in found.rows]
    [('district (district N, yes)', 12), ('district (district N, yes)', 10)]
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from safemargin.bounds.build import build_system
from safemargin.bounds.effort import EFFORT
from safemargin.bounds.solver import Form, limits, solver_of
from safemargin.bounds.system import System, cell_text, joint_roll
from safemargin.core import UNBOUNDED, ContradictionError, IntArray, MismatchError, Onlooker, PublishedTable

FRACTIONS = "the facts contradict each other: fractional tables satisfy all of them, integer tables cannot"


@dataclass(frozen=True)
class Conflict:
    """Rows of a system, and profiles whose people on a joint roll cap them, that contradict each other.

    Its length counts both: smaller conflicts are easier to read.
    """

    rows: IntArray
    caps: IntArray

    def __len__(self) -> int:
        return len(self.rows) + len(self.caps)


def explained(
    error: ContradictionError, tables: Sequence[PublishedTable], onlooker: Onlooker, slack: int
) -> ContradictionError:
    """The same error with the facts that cause it, where they can be found.

    Builds the system without its own checks, so that rows which contradict each other can stand in it.
    """
    if isinstance(error, MismatchError):
        return error
    try:
        system = build_system(tables, onlooker, slack, check=False, conclude=False)
    except ContradictionError:
        return error
    conflicting = conflict(system)
    if conflicting is None:
        return error if _narrowed(system, _all(system)) else ContradictionError(FRACTIONS)
    facts = [_words(system, row) for row in conflicting.rows.tolist()]
    axes = tuple(dict.fromkeys(axis for table in (*tables, *onlooker.facts) for axis in table.axes))
    roll = joint_roll(onlooker.roll, axes)
    if roll is not None:
        facts = facts[: EFFORT.conflict_named] + _of_roll(
            system, roll.name, conflicting, max(EFFORT.conflict_named - len(facts), 1)
        )
    more = (
        f" and {len(conflicting.rows) - EFFORT.conflict_named} more"
        if len(conflicting.rows) > EFFORT.conflict_named
        else ""
    )
    named = "; ".join(facts if roll is not None else facts[: EFFORT.conflict_named])
    unlisted = ", if cells that a table does not list are empty" if _needs_unlisted(system, conflicting) else ""
    return ContradictionError(f"these facts cannot all hold: {named}{more}{unlisted}")


def conflict(system: System) -> Conflict | None:
    """Facts of which no proper part contradicts itself but all together do; none if real-valued tables satisfy all.

    Beyond `MOST_TO_FILTER` caps these are only those of a proof, and some may not be needed.
    """
    alone = _one_row(system)
    if alone is not None:
        return alone
    whole = _all(system)
    suspects = _narrowed(system, whole)
    if suspects is None or len(suspects.rows) > EFFORT.conflict_rows:
        return None
    starts = [suspects.rows[::-1]]  # what is tried last stays: facts that are listed first
    if len(whole.rows) <= EFFORT.conflict_reordered:
        starts += [whole.rows[::-1], whole.rows]
    conflicts = [_filtered(system, replace(whole, rows=rows)) for rows in starts]
    return min(conflicts, key=lambda each: (len(each), each.rows.tolist()))


def _all(system: System) -> Conflict:
    """All facts of a system: its rows, and the people of every profile."""
    return Conflict(np.arange(len(system.lower)), np.arange(0 if system.people is None else len(system.people)))


def _one_row(system: System) -> Conflict | None:
    """The row that the fewest caps contradict by themselves: a count above the people who could have been counted.

    None if every row alone can hold beside the roll. Only caps of profiles that the row adds up are named with it.
    """
    if system.people is None:
        return None
    room = system.high.reshape(-1, system.n_free_options) > 0
    best: Conflict | None = None
    for weights in np.unique(system.weights, axis=0):
        open_ = (room & (weights > 0)).any(axis=1)
        most = system.slices @ np.where(open_, system.people, 0)
        alike = (system.weights == weights).all(axis=1)
        for row in np.flatnonzero(alike & (most[system.slice_of] < system.lower)).tolist():
            inside = _slice(system, row)
            candidate = Conflict(np.array([row]), inside[open_[inside]])
            best = candidate if best is None or len(candidate) < len(best) else best
    return best


def _filtered(system: System, facts: Conflict) -> Conflict:
    """Take out one fact after the other, rows first, wherever the others still contradict each other.

    The deletion filter (Chinneck and Dravnieks 1991): what is tried last stays, so the order decides which conflict is
    found, not whether the result is irreducible.
    """
    for row in facts.rows.tolist():
        if row in facts.rows:
            narrowed = _narrowed(system, replace(facts, rows=facts.rows[facts.rows != row]))
            facts = facts if narrowed is None else replace(facts, rows=narrowed.rows)
    facts = _narrowed(system, facts) or facts
    caps = facts.caps.tolist() if len(facts.caps) <= EFFORT.conflict_rows else []
    for cap in caps:
        if cap in facts.caps:
            facts = _narrowed(system, replace(facts, caps=facts.caps[facts.caps != cap])) or facts
    return Conflict(np.sort(facts.rows), np.sort(facts.caps))


def _narrowed(system: System, facts: Conflict) -> Conflict | None:
    """Some of `facts` that contradict each other, or none if they do not: those that a proof uses."""
    used = _proof(system, facts)
    if used is None or len(used) == len(facts):
        return used
    return used if _proof(system, used) is not None else facts


def _proof(system: System, facts: Conflict) -> Conflict | None:
    """The facts with a price in the program that breaks rows as little as possible, or none if none need break.

    Every row r gets two slacks: (A x)[r] + s - t within its range, minimise the sum of s and t. Rows without a price
    can be dropped without changing the optimum, which is above 0.
    """
    rows = system.rows[facts.rows]
    columns = np.unique(rows.indices)
    profiles = columns // system.n_free_options
    caps = facts.caps[np.isin(facts.caps, profiles)]
    count, capped = len(facts.rows), np.flatnonzero(np.isin(profiles, caps))
    cap_rows = np.searchsorted(caps, profiles[capped])
    shared = sparse.csc_array((np.ones(len(cap_rows)), (cap_rows, capped)), shape=(len(caps), len(columns)))
    slack = sparse.vstack([sparse.identity(count), sparse.csc_array((len(caps), count))])
    matrix = sparse.csc_array(sparse.hstack([sparse.vstack([rows[:, columns], shared]), slack, -slack]))
    cost = np.r_[np.zeros(len(columns)), np.ones(2 * count)]
    high = np.r_[_ceilings(system)[columns], np.full(2 * count, np.inf)]
    people = np.zeros(0, dtype=np.int64) if system.people is None else system.people[caps]
    least = np.r_[system.lower[facts.rows], np.zeros(len(caps))].astype(float)
    most = limits(np.r_[system.upper[facts.rows], people])
    if not count:
        return None
    solver = solver_of(Form(matrix, cost, np.zeros(len(cost)), high, least, most))
    solver.run()
    # Phase one of the simplex method: the least total violation is 0 iff real-valued tables satisfy all rows.
    if solver.getInfo().objective_function_value < 1e-6:
        return None
    # Farkas: rows with a non-zero dual alone are infeasible; deleting one by one leaves a minimal set (Chinneck).
    priced = np.abs(np.asarray(solver.getSolution().row_dual)) > 1e-7
    return Conflict(facts.rows[priced[:count]], caps[priced[count:]])


def _ceilings(system: System) -> np.ndarray:
    """Ceilings that are no entry of a roll: 0 where a table lists no cell.

    With a joint roll the other ceilings are the roll's people, and these are facts themselves (`caps`).
    """
    return np.where(system.high == 0, 0.0, np.inf) if system.people is not None else limits(system.high)


def _needs_unlisted(system: System, conflicting: Conflict) -> bool:
    """Whether the facts contradict each other only because cells that a table does not list are empty."""
    if (system.high > 0).all():
        return False
    high = np.full(system.size, UNBOUNDED) if system.people is None else np.repeat(system.people, system.n_free_options)
    return _proof(replace(system, high=high), conflicting) is None


def _slice(system: System, row: int) -> IntArray:
    """The profiles that a row adds up."""
    number = int(system.slice_of[row])
    inside: IntArray = system.slices.indices[system.slices.indptr[number] : system.slices.indptr[number + 1]].astype(
        np.int64
    )
    return np.sort(inside)


def _words(system: System, row: int) -> str:
    """One fact in words: its table, its cell and what is said of it."""
    table, entry = system.sources[row]
    low, high = int(table.lower[entry]), int(table.upper[entry])
    value = f"= {low}" if low == high else f"at least {low}" if high >= UNBOUNDED else f"from {low} to {high}"
    return f"{system.explain(row)} {value}{' people' if table.is_roll else ''}"


def _of_roll(system: System, name: str, conflicting: Conflict, most: int) -> list[str]:
    """What a joint roll says: its entries, or their sum where they are many; and rows that it has nobody in.

    At most `most` entries are named one by one; the sum is named by the row that it contradicts, if there is one.
    """
    assert system.people is not None
    nobody = [
        f"{name} ({cell_text(system.sources[row][0].cell(system.sources[row][1]))}) = 0 people"
        for row in conflicting.rows.tolist()
        if not len(_slice(system, row))
    ]
    if len(conflicting.caps) <= most:
        return nobody + list(_entries(system, name, conflicting.caps))
    total = int(system.people[conflicting.caps].sum())
    for row in conflicting.rows.tolist():
        if np.array_equal(_slice(system, row), np.sort(conflicting.caps)):
            table, entry = system.sources[row]
            return [*nobody, f"{name} ({cell_text(table.cell(entry))}) = {total} people"]
    return [*nobody, f"{name} ({len(conflicting.caps)} entries) = {total} people"]


def _entries(system: System, name: str, caps: IntArray) -> Iterator[str]:
    """Entries of the roll in words."""
    assert system.people is not None
    for cap in caps.tolist():
        yield f"{name} ({cell_text(system.cell(cap))}) = {system.people[cap]} people"
