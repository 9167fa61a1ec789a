"""Another way to coarsen: a release whose merged blocks can all be explained, where the greedy steps came to one that
cannot.

Objects
    P_0         the first release of the rule, before all tables are looked at together
    way         a release that follows from P_0 by steps of the rule in any order, not only the greedy one
    explained   every merged block of a way has a range of one count beyond a strict limit (`beyond.py`), and the
                release is certified over all tables that agree with it and with such ranges, or with other reasons

Statement
    A way that is explained so may be published with the label `rerun`, however it was found: every table with the
    ranges has it as its first release (`beyond.py`), and the search stops there. What is decided after steps that
    failed is no matter of these tables, so ways may be looked at in any order; this one takes them by rising loss.

Invariants
    * A way publishes at least as many axes as the release that nothing explains: no axis is omitted for the label.
    * A limited number of ways is looked at, fewer for larger systems, so the cost stays that of a few proofs.
"""

import heapq
from collections.abc import Callable
from typing import Protocol, TypeVar

from safemargin.bounds import Exposed, Proof
from safemargin.core import JOINER
from safemargin.release.decide.beyond import ranges_beyond
from safemargin.release.decide.rerun import ExplanationSearch
from safemargin.release.rule.candidates import Candidate, ReleaseRule
from safemargin.release.rule.steps import plainly_exposed

MOST_WAYS, MOST_PROVED, WORK = 60, 6, 80_000
"""Ways that are looked at, fewer where `WORK` counts are fewer than that many systems have, and those that are put to
the proof."""


class Shown(Protocol):
    """What is shown of a release."""

    @property
    def proof(self) -> Proof: ...


S = TypeVar("S", bound=Shown)


def explained_way(rule: ReleaseRule, axes: int, prove: Callable[[Candidate], S]) -> tuple[Candidate, S] | None:
    """The way with at least so many published axes that loses least, of those that are explained; or nothing."""
    if any(cover.hides for cover in rule.covers):
        return None
    first = rule.first()
    waiting: list[tuple[float, int, Candidate]] = [(float(first.loss()), 0, first)]
    seen, proved = {first.key()}, 0
    counts = len(rule.table.people(rule.table.schema.names).codes) * len(rule.table.totals)
    for _ in range(min(MOST_WAYS, max(4, WORK // counts))):
        if not waiting or proved == MOST_PROVED:
            return None
        candidate = heapq.heappop(waiting)[2]
        cells, is_disclosed = plainly_exposed(rule, candidate).exposed, True
        if not cells:
            cells, is_disclosed = _without_range(rule, candidate), False
        if not cells:
            shown, proved = prove(candidate), proved + 1
            if shown.proof.holds:
                return candidate, shown
            cells, is_disclosed = shown.proof.exposed or shown.proof.doubtful, bool(shown.proof.exposed)
        for trial in rule.coarser(candidate, cells, is_disclosed):
            if trial.key() not in seen and len(trial.published) >= axes:
                seen.add(trial.key())
                heapq.heappush(waiting, (float(trial.loss()), len(seen), trial))
    return None


def _without_range(rule: ReleaseRule, candidate: Candidate) -> tuple[Exposed, ...]:
    """The blocks that no range explains, as cells."""
    search = ExplanationSearch(rule, candidate)
    return tuple(
        Exposed(
            {rule.covers[axis].split.axis.name: JOINER.join(sorted(block.whole))},
            0,
            rule.covers[axis].split.size(block.whole),
            0,
            0,
        )
        for axis, block in search.blocks
        if not ranges_beyond(search, axis, block)
    )
