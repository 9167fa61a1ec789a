"""Intervals of secrets that are sets of several options: halves of a scale, and own sets of a target.

How many people of a cell chose within a set is a linear functional of the same variables as the count of one option, so
the same search bounds it: the sum over the options of the set or, where one of them is what the others leave of the
people, the people less the sum over the options outside. The sum of the intervals of single options would be valid,
but wider: of 10 people, 0 to 5 may have chosen each of two options that 5 chose together.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from safemargin.bounds.build import build_system
from safemargin.bounds.exposure import Exposure
from safemargin.bounds.methods import settle
from safemargin.bounds.search import Targets
from safemargin.bounds.system import System
from safemargin.bounds.targets import places_in
from safemargin.core import VERDICTS, IntArray, Progress, PublishedTable, Target, no_progress


@dataclass(frozen=True)
class SetIntervals:
    """What can be inferred about secrets of several options, per cell (rows) and set (columns)."""

    options: tuple[tuple[str, ...], ...]
    lower: IntArray
    upper: IntArray
    verdicts: IntArray

    @property
    def disclosed(self) -> int:
        """How many intervals miss the target."""
        return int((self.verdicts == len(VERDICTS) - 1).sum())

    def entries(self, exposure: Exposure) -> list[dict[str, object]]:
        """One entry per cell and set, for a document."""
        rows: list[dict[str, object]] = []
        for row in range(len(self.lower)):
            people = None if exposure.people is None else int(exposure.people[row])
            for column, options in enumerate(self.options):
                lower, upper = int(self.lower[row, column]), int(self.upper[row, column])
                rows.append(
                    {
                        "cell": exposure.cells.cell(row),
                        "options": list(options),
                        "people": people,
                        "lower": lower,
                        "upper": upper,
                        "width": upper - lower,
                        "interval": [lower / people, upper / people] if people else None,
                        "verdict": str(VERDICTS[int(self.verdicts[row, column])]),
                    }
                )
        return rows


def infer_sets(
    public: Sequence[PublishedTable],
    exposure: Exposure,
    target: Target,
    *,
    slack: int = 0,
    enough: int | None = None,
    progress: Progress = no_progress,
) -> SetIntervals | None:
    """The intervals of all further sets of a target in the cells of an exposure; None where there are no such sets.

    Solved by the same methods as single options, with their own functionals (`_set_targets`).
    """
    limits = exposure.limits(target)
    if not limits.sets or exposure.people is None:
        return None
    system = build_system(public, exposure.onlooker, slack)
    targets = _set_targets(system, limits.sets, places_in(system, exposure.cells), len(exposure.cells))
    settled = settle(system, targets, progress, enough=enough)
    shape = (len(exposure.cells), len(limits.sets))
    lower, upper = settled.lower.reshape(shape), settled.upper.reshape(shape)
    both = [np.concatenate(pair, axis=1) for pair in ((exposure.lower, lower), (exposure.upper, upper))]
    verdicts = limits.verdicts(both[0], both[1], exposure.people)[:, limits.options :]
    names = tuple(tuple(exposure.options[option] for option in members) for members in limits.sets)
    return SetIntervals(names, lower, upper, verdicts)


def _set_targets(system: System, sets: Sequence[tuple[int, ...]], cell_of: IntArray, cells: int) -> Targets:
    """One functional per cell and set, in that order."""
    count, free = len(sets), system.n_free_options
    profiles = np.arange(len(cell_of))
    rows, columns = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    offset, sign = np.zeros((cells, count), dtype=np.int64), np.ones((cells, count), dtype=np.int64)
    for number, members in enumerate(sets):
        variables = [option for option in members if option < free]
        if len(variables) < len(members):  # the last option is what the others leave of the people
            assert system.people is not None
            np.add.at(offset[:, number], cell_of, system.people)
            sign[:, number] = -1
            variables = [option for option in range(free) if option not in members]
        for variable in variables:
            rows.append(cell_of * count + number)
            columns.append(profiles * free + variable)
    at = np.concatenate(rows), np.concatenate(columns)
    matrix = sparse.csr_array((np.ones(len(at[0]), dtype=np.int64), at), shape=(cells * count, system.size))
    return Targets(matrix, offset.ravel(), sign.ravel())
