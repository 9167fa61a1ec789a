"""Every end of every interval with its proof: a dual that nothing lies beyond it, and a table that attains it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace

import numpy as np

from safemargin.bounds.asked import places_in, targets_of
from safemargin.bounds.attain import Attained, attain
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
from safemargin.bounds.duals import DualProgram, Facts, Limit, Shortcuts, goal_of
from safemargin.bounds.exposure import Exposure
from safemargin.bounds.search import Targets
from safemargin.bounds.system import System, system
from safemargin.core import UNBOUNDED, BoolArray, IntArray, Onlooker, Progress, PublishedTable, Target, no_progress

__all__ = ["Proofs", "certificate", "prove"]


@dataclass(frozen=True)
class Proofs:
    """Both ends of every target, and the integer tables that they refer to by number."""

    lower: tuple[End, ...]
    upper: tuple[End, ...]
    tables: tuple[IntArray, ...] = field(hash=False, compare=False)


def prove(
    known: System,
    targets: Targets,
    lower: IntArray,
    upper: IntArray,
    *,
    given: Sequence[IntArray] = (),
    attained: BoolArray | None = None,
    progress: Progress = no_progress,
) -> Proofs:
    """Prove what can be proved of the intervals `[lower, upper]` of all targets.

    Integer tables that are `given` are checked and used. No long search is made for tables that attain the ends of
    targets that are not `attained`. Ctrl-C leaves the remaining ends without proof.
    """
    facts = Facts(known)
    found = Attained(facts, targets, lower, upper)
    limits: dict[tuple[int, bool], Limit | None] = {}

    def report() -> None:
        progress("proving", len(limits) + 2 * len(lower) - found.left(), 4 * len(lower))

    try:
        _limit_all(found, limits, report)
        attain(found, given, np.ones(len(lower), dtype=bool) if attained is None else attained, report)
    except KeyboardInterrupt:
        pass
    tables = found.thinned()
    ends = [
        tuple(_end(found, limits.get((target, upwards)), target, upwards) for target in range(len(lower)))
        for upwards in (False, True)
    ]
    return Proofs(ends[0], ends[1], tables)


def _limit_all(found: Attained, limits: dict[tuple[int, bool], Limit | None], report: Callable[[], None]) -> None:
    """The best limit of every end: shortcuts first, a program where they do not reach."""
    shortcuts, program = Shortcuts(found.facts), None
    for target in range(len(found.lower)):
        for upwards in (False, True):
            best = None
            if not (upwards and found.unlimited[target]):
                end = int(found.upper[target] if upwards else found.lower[target])
                goal = goal_of(found.targets, target, upwards, end)
                best = shortcuts.prove(goal)
                if best is None or best.value > goal.wanted:
                    program = program or DualProgram(found.facts)
                    other, values = program.prove(goal)
                    best = min((each for each in (best, other) if each), key=lambda each: each.value, default=None)
                    found.take_near(values)
            limits[target, upwards] = best
            report()


def _end(found: Attained, limit: Limit | None, target: int, upwards: bool) -> End:
    value = int(found.upper[target] if upwards else found.lower[target])
    if value >= UNBOUNDED:
        return End(None, None, UNLIMITED)
    number = int(found.above[target] if upwards else found.below[target])
    witness = number if number >= 0 else None
    if limit is None:
        return End(value, None, SEARCH, None, witness)
    offset = int(found.targets.offset[target])
    outer = offset + limit.value if upwards else offset - limit.value
    if outer <= value if upwards else outer >= value:
        return End(value, value, DUAL, limit.dual, witness)
    return End(value, outer, SEARCH, limit.dual, witness)


def certificate(
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

    `sources` are the files of the tables, rolls and facts, in this order.
    """
    known = system(tables, onlooker, slack)
    targets = targets_of(known, places_in(known, exposure.cells), len(exposure.cells))
    proofs = prove(
        known,
        targets,
        exposure.lower.ravel(),
        exposure.upper.ravel(),
        attained=np.asarray(exposure.integer).ravel(),
        progress=progress,
    )
    counts = None if target is None else replace(exposure, fiber=None).tallied(target)  # by the intervals alone
    verdict = {"rule": VERDICT_RULE, "target": asdict(target), "counts": counts} if target else None
    return IntervalCertificate(
        sources=tuple(sources),
        axes=known.axes,
        categories=known.categories,
        options=known.options,
        slack=slack,
        rows=len(known.lower),
        variables=known.size,
        target=exposure.cells.axes,
        tables=tuple({int(at): int(counts[at]) for at in np.flatnonzero(counts)} for counts in proofs.tables),
        claims=tuple(_claims(exposure, proofs)),
        verdict=verdict,
    )


def _claims(exposure: Exposure, proofs: Proofs) -> Iterator[Claim]:
    options: tuple[str | None, ...] = exposure.options or (None,)
    for place, (lower, upper) in enumerate(zip(proofs.lower, proofs.upper, strict=True)):
        cell, option = divmod(place, len(options))
        yield Claim(exposure.cells.cell(cell), options[option], lower, upper)
