"""Earlier releases in a decision: merges against differences, and what the totals disclose in any case."""

from collections.abc import Sequence

import numpy as np

from safemargin.bounds import CountedGroups, Exposed, Side, differences, refuted_by_totals, sides_of_totals, totals_of
from safemargin.core import JOINER, Limits, Past, PublishedTable
from safemargin.release.decide.split import Split

MOST_PARTNERS = 8
"""Groups that a merge is tried with before the best of them is taken."""


def by_difference(split: Split, pasts: Sequence[Past], options: Sequence[str], limits: Limits, slack: int) -> Split:
    """Merge until no difference of a group from an earlier release discloses who came or went since."""
    for past in pasts:
        while split.is_published:
            exposed = _by_subtraction(split, past, options, limits, slack)
            if not exposed:
                break
            # The largest exposed union first: hiding it often hides smaller ones. Ties by name, so that the order of
            # a set does not decide what is published.
            worst = max(exposed, key=lambda exposure: (exposure.people, str(exposure.cell)))
            union = frozenset(worst.cell[split.axis.name].split(JOINER))
            group = min((other for other in split.groups if other & union), key=split.size)
            # A partner from inside the union would leave its sum, which is what the difference discloses, as it is.
            partners = [other for other in split.partners(group) if not other & union] or split.partners(group)
            trials = [split.merge(group, other, earlier_words(worst, past.axis)) for other in partners[:MOST_PARTNERS]]
            split = min(trials, key=lambda trial: _people(_by_subtraction(trial, past, options, limits, slack)))
    return split


def _by_subtraction(split: Split, past: Past, options: Sequence[str], limits: Limits, slack: int) -> list[Exposed]:
    parts: CountedGroups = [(group, split.counts(group)) for group in split.groups]
    return differences(split.axis.name, parts, options, past, limits, slack)[0] if split.is_published else []


def _people(exposed: Sequence[Exposed]) -> int:
    return sum({str(exposure.cell): exposure.people for exposure in exposed}.values())


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
    ends = zip(side.lower.tolist(), side.upper.tolist(), options, strict=True)
    return ", ".join(f"{low if low == high else f'{low} to {high}'} {option!r}" for low, high, option in ends)
