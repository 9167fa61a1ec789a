"""What a plan has to say about earlier releases, whatever it decides."""

from collections.abc import Sequence

import numpy as np

from safemargin.bounds.differences import Side, refuted_by_totals, sides_of_totals, totals_of
from safemargin.core import Limits, Past, PublishedTable


def remembered(tables: Sequence[PublishedTable], pasts: Sequence[Past], limits: Limits, slack: int) -> tuple[str, ...]:
    """What the totals tell together with earlier ones: they are always exact, so no decision changes it."""
    found: list[str] = []
    options = tables[0].options
    for past in pasts:
        found += [
            f"The totals differ by more than came and went since {cycle}: some who stayed changed their answers."
            for cycle in refuted_by_totals(tables, past, slack)
        ]
        for cycle, side in sides_of_totals(totals_of(tables, options), past, options, slack):
            verdicts = limits.verdicts(side.lower[None, :], side.upper[None, :], np.array([side.people]))[0]
            if (verdicts == 2).any():
                found.append(
                    f"The totals of {cycle} and {past.now} alone tell how the {side.people} "
                    f"{'person' if side.people == 1 else 'people'} who {side.words} answered, "
                    f"if nobody who stayed changed their mind: {_counts(side, options)}."
                )
    return tuple(dict.fromkeys(found))


def _counts(side: Side, options: Sequence[str]) -> str:
    ends = zip(side.lower.tolist(), side.upper.tolist(), options, strict=True)
    return ", ".join(f"{low if low == high else f'{low} to {high}'} {option!r}" for low, high, option in ends)
