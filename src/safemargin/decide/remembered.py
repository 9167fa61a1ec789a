"""What a plan has to say about earlier releases, whatever it decides."""

from collections.abc import Sequence

import numpy as np

from safemargin.bounds.differences import refuted_by_totals, sides_of_totals, totals_of
from safemargin.model.past import Past
from safemargin.model.published import PublishedTable
from safemargin.model.target import Limits


def remembered(tables: Sequence[PublishedTable], pasts: Sequence[Past], limits: Limits, slack: int) -> tuple[str, ...]:
    """What the totals tell together with earlier ones: they are always exact, so no decision changes it."""
    found: dict[str, None] = {}
    options = tables[0].options
    for past in pasts:
        for cycle in refuted_by_totals(tables, past, slack):
            found[
                f"People who stayed since {cycle} changed their answers: the totals differ by more than came and went."
            ] = None
        for cycle, side in sides_of_totals(totals_of(tables, options), past, options, slack):
            verdicts = limits.verdicts(side.lower[None, :], side.upper[None, :], np.array([side.people]))[0]
            for option in np.flatnonzero(verdicts == 2).tolist():
                low, high = int(side.lower[option]), int(side.upper[option])
                count = f"{low}" if low == high else f"{low} to {high}"
                found[
                    f"The totals of {cycle} and {past.now} alone tell that {count} of the {side.people} "
                    f"{'person' if side.people == 1 else 'people'} who {side.words} chose {options[option]!r}, "
                    "if nobody who stayed changed their answer."
                ] = None
    return tuple(found)
