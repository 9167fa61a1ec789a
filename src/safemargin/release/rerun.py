"""The whole program as a function of votes: decide, choose tables of several axes, publish.

What an onlooker runs who knows the rule, on other votes of the same people; what a draft is attacked with, and what
`verify --rerun` runs on the first witness. It reads no file: a plan and its tables are all it makes.
"""

from collections.abc import Sequence
from dataclasses import replace

from safemargin.audit.rerun import Rerun
from safemargin.core import (
    IntArray,
    Onlooker,
    PublishedTable,
    Table,
    Tally,
    Target,
    frozen,
    onlooker_with_roll,
)
from safemargin.release.decide.decide import decide
from safemargin.release.decide.maximise import maximise
from safemargin.release.plan import Wanted
from safemargin.release.publish import publish


def rule_of(
    table: Table, target: Target, onlookers: Sequence[Onlooker], protect: str, wanted: Sequence[Wanted] = ()
) -> Rerun | None:
    """The whole rule as a function of votes, for an onlooker who runs it backwards; none without a joint roll."""
    if not table.knows_composition:
        return None
    roll = onlooker_with_roll(table, "joint").roll[0]
    codes = frozen(roll.codes[roll.lower > 0], len(roll.axes))

    def rerun(votes: IntArray) -> tuple[PublishedTable, ...]:
        other = replace(table, votes=(Tally(roll.axes, codes, frozen(votes, votes.shape[1])),))
        plan = decide(other, target, onlookers, protect=protect)
        if wanted:
            plan = maximise(plan, other, wanted, onlookers, protect=protect)
        return publish(plan, other).tables

    return rerun
