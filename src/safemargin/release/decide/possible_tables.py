"""Tables of answers that agree with what is public, and the votes by axis that the rule reads of one.

Witnesses live on profiles (all axes together), the rule reads single axes: `votes_by_axis` leads from one to the other.
A table found here agrees with the release by construction; whether it leads to the release is for `rerun.py`.
"""

from dataclasses import replace

from safemargin.bounds import System, propagate, some_table
from safemargin.core import IntArray, Table, Tally
from safemargin.release.rule.split import unmerged_split


def any_table(system: System) -> list[IntArray]:
    """A table that agrees with what is public, if a search finds one."""
    table = some_table(system)
    return [] if table is None else [table]


def only_table(system: System) -> list[IntArray]:
    """The table that alone agrees with what is public, as where all answered alike; it needs no search."""
    least, most = propagate(system)
    return [least] if (least == most).all() else []


def votes_by_axis(table: Table, votes: Tally) -> list[IntArray]:
    """Votes per axis, category and option."""
    other = replace(table, votes=(votes,))
    return [unmerged_split(other, name).votes for name in table.schema.names]
