"""Earlier releases in a decision: merges against differences, and what the totals disclose in any case.

`by_subtraction` gives the rule what it has to merge away: groups of people who came or went whose answers follow from
two releases (`bounds.differences` has the statement and its proof). `remembered` says what no merge can change, since
totals are always exact. Invariant: the order of findings is fixed (people, then name), as the rule follows the first.
"""

from collections.abc import Sequence

import numpy as np

from safemargin.bounds import CountedGroups, Exposed, Side, differences, refuted_by_totals, sides_of_totals, totals_of
from safemargin.core import Limits, Past, PublishedTable
from safemargin.release.rule.split import AxisPartition


def by_subtraction(
    split: AxisPartition, past: Past, options: Sequence[str], limits: Limits, slack: int
) -> list[Exposed]:
    """Who came or went since, as differences of groups from an earlier release disclose them, the largest first.

    Each entry names a union of groups of the axis whose newcomers, or leavers, are few or of one mind. Hiding the
    largest often hides others, so the rule takes the first and looks again.
    """
    parts: CountedGroups = [(group, split.counts(group)) for group in split.groups]
    exposed = differences(split.axis.name, parts, options, past, limits, slack)[0] if split.is_published else []
    # Hiding the largest union often hides smaller ones. Ties by name: the order of a set must not decide.
    return sorted(exposed, key=lambda exposure: (-exposure.people, str(exposure.cell)))


def earlier_words(exposed: Exposed, history: str) -> str:
    """Why a count is not published once earlier releases are remembered."""
    cell = ", ".join(f"{axis} {value}" for axis, value in exposed.cell.items() if axis != history)
    who = f" who {exposed.cell[history]}" if history in exposed.cell else ""
    return (
        f"together with the release of {exposed.earlier} it would disclose the answers of the {exposed.people:,} "
        f"{'person' if exposed.people == 1 else 'people'}{who}{f' with {cell}' if cell else ''}"
    )


def remembered(tables: Sequence[PublishedTable], pasts: Sequence[Past], limits: Limits, slack: int) -> tuple[str, ...]:
    """What the totals disclose together with earlier ones: they are always exact, so no decision changes it."""
    notes: list[str] = []
    options = tables[0].options
    for past in pasts:
        notes += [
            f"The totals differ by more than came and went since {cycle}: some who stayed changed their answers."
            for cycle in refuted_by_totals(tables, past, slack)
        ]
        for cycle, side in sides_of_totals(totals_of(tables, options), past, options, slack):
            verdicts = limits.verdicts(side.lower[None, :], side.upper[None, :], np.array([side.people]))[0]
            if (verdicts == 2).any():
                notes.append(
                    f"The totals of {cycle} and {past.now} alone disclose how the {side.people:,} "
                    f"{'person' if side.people == 1 else 'people'} who {side.words} answered, "
                    f"if nobody who stayed changed their mind: {_counts(side, options)}."
                )
    return tuple(dict.fromkeys(notes))


def _counts(side: Side, options: Sequence[str]) -> str:
    """The interval of every option, in words: one value where both ends agree."""
    ends = zip(side.lower.tolist(), side.upper.tolist(), options, strict=True)
    return ", ".join(f"{low if low == high else f'{low} to {high}'} {option!r}" for low, high, option in ends)
