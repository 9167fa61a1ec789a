"""What given tables show by addition alone: for whoever verifies a certificate, without a search or a solver."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from safemargin.bounds.cells import show
from safemargin.bounds.exchange import Exchanges
from safemargin.bounds.levels import labels, levels
from safemargin.bounds.propagate import propagate
from safemargin.bounds.reach import Reach, attain_by_exchanges
from safemargin.bounds.system import System, slice_ranges
from safemargin.core import IntArray, Limits


@dataclass(frozen=True)
class WhatIsShown:
    """How many cells were looked at, and the counts (cell, option, people) that nothing shows to be undisclosed."""

    cells: int
    missing: tuple[tuple[dict[str, str], str, int], ...]


def shown_by(known: System, limits: Limits, tables: Sequence[IntArray]) -> WhatIsShown:
    """What `tables`, and tables one exchange away from them that leave every fact of `known` as it is, show.

    A count is shown if it is within the limits in some table, and two tables are further apart than `tau`; or if all
    tables leave it within the limits, in a cell of `kappa` people. What a total that is public says by itself of a cell
    is not looked at.
    """
    checked = levels(known, slice_ranges(known), limits)
    checked[0].force(*known.listed_ends(*propagate(known)))
    for counts in tables:
        show(checked, known.listed(counts))
    assert known.people is not None
    ends = known.low.reshape(-1, known.free), known.high.reshape(-1, known.free)
    exchanges = Exchanges(known.blocks, known.slices.shape[0], known.people, *ends)
    attain_by_exchanges(checked, known, Reach(exchanges), tables)
    missing = []
    totals, everybody = known.listed(tables[0]).sum(axis=0), int(checked[0].people.sum())
    for level in checked:
        within = (level.lower >= level.least) & (level.upper <= level.most) & level.may_contain[:, None]
        others = everybody - level.people[:, None]
        before = np.maximum(totals - others, 0), np.minimum(totals, level.people[:, None])
        known_before = limits.verdicts(*before, level.people) == 2
        for cell, option in np.argwhere(np.logical_or(*level.needs()) & ~within & ~known_before).tolist():
            missing.append((labels(known, level, cell), known.options[option], int(level.people[cell])))
    return WhatIsShown(sum(len(level.codes) for level in checked), tuple(missing))
