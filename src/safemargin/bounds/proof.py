"""Every end of every interval with its proof: a dual that nothing lies beyond it, and a table that attains it.

Objects
    end         one end of the interval of one target; `upwards` says which
    limit       the best dual found for it (`duals.py`): no possible table goes beyond its value
    witness     an integer table whose value is the end itself
    claim       both ends of one cell and option, as a certificate states them (`certificate.py`)

Statement
    An end with a limit equal to it and a witness is the sharp one, and whoever has the files can verify both by integer
    addition. With a limit alone the interval is valid; with a gap between limit and end, a search claims what no
    multipliers show, and the certificate says so (`SEARCH`).

Invariants
    * Nothing is claimed that was not computed by `Facts.limit` or added up as a table.
    * Ctrl-C leaves the remaining ends without proof; it does not invent one. Inside `whole_searches` it ends the work.
    * Few tables serve many ends (greedy set cover), since certificates carry them all.

Example
    In the running example the first count lies in [2, 10]. Row 2 of the facts, with multiplier -1, shows the lower end,
    the people of the profile show the upper one, and two tables attain all ends of all eight counts:

    >>> from safemargin.bounds.targets import cells_asked
    >>> from safemargin.core import exact_margins, onlooker_with_roll, table_of
    >>> table = table_of({"district": ("N", "S"), "age": ("old", "young")}, [[6, 4]] * 4, [10] * 4)
    >>> system = build_system(exact_margins(table), onlooker_with_roll(table, "joint"))
    >>> cells, cell_of = cells_asked(system, None)
    >>> targets = targets_of(system, cell_of, len(cells))
    >>> proofs = prove(system, targets, np.array([2, 0] * 4), np.array([10, 8] * 4))
    >>> low, high = proofs.lower[0], proofs.upper[0]
    >>> (low.value, low.outer, low.dual.rows), (high.value, high.outer, high.dual.rows)
    ((2, 2, {2: -1}), (10, 10, {}))
    >>> [counts.tolist() for counts in proofs.tables]
    [[2, 10, 10, 2], [10, 2, 2, 10]]
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from safemargin.bounds.build import build_system
from safemargin.bounds.certificate import (
    DUAL,
    SEARCH,
    UNLIMITED,
    VERDICT_RULE,
    Claim,
    End,
    IntervalCertificate,
    SourceFile,
)
from safemargin.bounds.duals import DualProgram, Facts, Shortcuts, UpperLimit, goal_of
from safemargin.bounds.effort import EFFORT
from safemargin.bounds.exposure import Exposure
from safemargin.bounds.programs import TightnessSearch, program_of
from safemargin.bounds.propagate import propagate
from safemargin.bounds.search import WHOLE, Search, Targets
from safemargin.bounds.system import System, integer_table
from safemargin.bounds.targets import places_in, targets_of
from safemargin.core import (
    UNBOUNDED,
    BoolArray,
    IntArray,
    Onlooker,
    Progress,
    PublishedTable,
    Target,
    no_progress,
)


@dataclass(frozen=True)
class Proofs:
    """Both ends of every target, and the integer tables that they refer to by number.

    `lower[t].witness` is a place in `tables`, or None. The order of ends is that of the targets.
    """

    lower: tuple[End, ...]
    upper: tuple[End, ...]
    tables: tuple[IntArray, ...] = field(hash=False, compare=False)


def prove(
    system: System,
    targets: Targets,
    lower: IntArray,
    upper: IntArray,
    *,
    attained: BoolArray | None = None,
    progress: Progress = no_progress,
) -> Proofs:
    """Prove what can be proved of the intervals `[lower, upper]` of all targets.

    Limits first, since a program for a limit often ends in an integer table (`search.take`); then tables for the ends
    that none attains yet. No long search is made for tables that attain the ends of targets that are not `attained`.
    Ctrl-C leaves the remaining ends without proof. The intervals must hold; they are not made narrower here.
    """
    search = Search(targets, *propagate(system))
    search.lower, search.upper, search.kept = lower.copy(), upper.copy(), []
    unlimited = upper >= UNBOUNDED
    search.inner_upper[unlimited] = upper[unlimited]  # no table attains these
    limits: dict[tuple[int, bool], UpperLimit | None] = {}

    def report() -> None:
        progress("proving", len(limits) + 2 * len(lower) - search.unsettled(), 4 * len(lower))

    try:
        _limit_all(system, search, unlimited, limits, report)
        if system.admits(search.low):
            search.take(search.low)
        if search.unsettled():
            hopeful = np.ones(len(lower), dtype=bool) if attained is None else attained
            program = program_of(system, search.low, search.high)
            TightnessSearch(system, search, program, report).run(hopeful & (system.size <= EFFORT.witness_counts))
    except KeyboardInterrupt:
        if WHOLE.get():
            raise
    values = np.array([targets.of(counts) for counts in search.kept]).reshape(len(search.kept), len(lower))
    chosen, (above, below) = _few(np.stack([(values == upper) & ~unlimited, values == lower], axis=1))
    ends = [
        tuple(
            _end(limits.get((target, upwards)), targets, int(claimed[target]), int(witness[target]), target, upwards)
            for target in range(len(lower))
        )
        for upwards, claimed, witness in ((False, lower, below), (True, upper, above))
    ]
    return Proofs(ends[0], ends[1], tuple(search.kept[number] for number in chosen))


def _few(attains: BoolArray) -> tuple[list[int], IntArray]:
    """Few tables for the same ends (which `attains`, by table and side): their numbers, and the place of each end's.

    Greedy set cover, within ln(n) of the fewest (Chvatal 1979): one table may close hundreds of ends. A place of -1
    says that no table attains the end.

    >>> one, both = [[True, False], [False, False]], [[True, True], [False, True]]
    >>> chosen, places = _few(np.array([one, both]))
    >>> chosen, places.tolist()
    ([1], [[0, 0], [-1, 0]])
    """
    missing, witness = attains.any(axis=0), np.full(attains.shape[1:], -1, dtype=np.int64)
    chosen: list[int] = []
    while missing.any():
        best = int((attains & missing).sum(axis=(1, 2)).argmax())
        witness[attains[best] & missing] = len(chosen)
        missing &= ~attains[best]
        chosen.append(best)
    return chosen, witness


def _limit_all(
    system: System,
    search: Search,
    unlimited: BoolArray,
    limits: dict[tuple[int, bool], UpperLimit | None],
    report: Callable[[], None],
) -> None:
    """The best limit of every end: shortcuts first, a program where they do not reach.

    Fills `limits` by target and side; None marks an end without any limit. Tables that programs end in are handed to
    `search`, as they often attain an end.
    """
    facts = Facts(system)
    shortcuts, program = Shortcuts(facts), None
    for target in range(search.count):
        for upwards in (False, True):
            best = None
            if not (upwards and unlimited[target]):
                end = int(search.upper[target] if upwards else search.lower[target])
                goal = goal_of(search.targets, target, upwards, end)
                # Most ends follow from one or two rows; a program is solved only where those do not reach.
                best = shortcuts.prove(goal)
                if best is None or best.value > goal.wanted:
                    program = program or DualProgram(facts)
                    other, values = program.prove(goal)
                    best = min((limit for limit in (best, other) if limit), key=lambda limit: limit.value, default=None)
                    counts = None if values is None else integer_table(system, values)
                    if counts is not None:
                        search.take(counts)
            limits[target, upwards] = best
            report()


def _end(limit: UpperLimit | None, targets: Targets, value: int, number: int, target: int, upwards: bool) -> End:
    """One end with its proof: by its dual alone, or by a search where the dual leaves a gap.

    `limit` bounds the sum of variables, `outer` the target: offset + limit upwards, offset - limit downwards.
    """
    if value >= UNBOUNDED:
        return End(None, None, UNLIMITED)
    witness = number if number >= 0 else None
    if limit is None:
        return End(value, None, SEARCH, None, witness)
    offset = int(targets.offset[target])
    outer = offset + limit.value if upwards else offset - limit.value
    if outer <= value if upwards else outer >= value:
        return End(value, value, DUAL, limit.dual, witness)
    return End(value, outer, SEARCH, limit.dual, witness)


def prove_intervals(
    tables: Sequence[PublishedTable],
    onlooker: Onlooker,
    exposure: Exposure,
    sources: Sequence[SourceFile],
    *,
    slack: int = 0,
    target: Target | None = None,
    progress: Progress = no_progress,
) -> IntervalCertificate:
    """The intervals of `exposure`, as they follow from `tables` and what `onlooker` holds, with all proofs.

    `sources` are the files of the tables, rolls and facts, in this order; `check` builds the same system from them, so
    the numbers of rows and variables in the certificate mean the same there. With a `target`, the certificate also
    states how many cells are contained, open and disclosed.
    """
    system = build_system(tables, onlooker, slack)
    targets = targets_of(system, places_in(system, exposure.cells), len(exposure.cells))
    proofs = prove(
        system,
        targets,
        exposure.lower.ravel(),
        exposure.upper.ravel(),
        attained=np.asarray(exposure.integer).ravel(),
        progress=progress,
    )
    counts = None if target is None else replace(exposure, fiber=None).tallied(target)  # by the intervals alone
    verdict = {"rule": VERDICT_RULE, "target": target.stated(), "counts": counts} if target else None
    return IntervalCertificate(
        sources=tuple(sources),
        axes=system.axes,
        categories=system.categories,
        options=system.options,
        slack=slack,
        rows=len(system.lower),
        variables=system.size,
        target=exposure.cells.axes,
        tables=tuple(
            {int(variable): int(counts[variable]) for variable in np.flatnonzero(counts)} for counts in proofs.tables
        ),
        claims=tuple(_claims(exposure, proofs)),
        verdict=verdict,
    )


def _claims(exposure: Exposure, proofs: Proofs) -> Iterator[Claim]:
    """Claims of all cells and options, in the order of the exposure."""
    options: tuple[str | None, ...] = exposure.options or (None,)
    for number, (lower, upper) in enumerate(zip(proofs.lower, proofs.upper, strict=True)):
        cell, option = divmod(number, len(options))
        yield Claim(exposure.cells.cell(cell), lower, upper, options[option])
