"""Intervals of secrets that are sets of several options: halves of a scale, and own sets of a target.

Objects
    S           a set of options, such as the upper half of a scale
    T[e, o]     people of profile e who chose option o; N[e] people in all
    s[c]        people of cell c who chose within S: the sum of T[e, o] over e in c and o in S

How many people of a cell chose within a set is a linear functional of the same variables as the count of one option, so
the same search bounds it: the sum over the options of the set or, where one of them is what the others leave of the
people, the people less the sum over the options outside. The sum of the intervals of single options would be valid,
but wider: of 10 people, 0 to 5 may have chosen each of two options that 5 chose together.

What callers may rely on
    * Intervals are as sharp as those of `infer` for single options, and attained where these are.
    * A set is judged by the same limits as an option, with the share that the total gives it (`Target.limits`).
    * Without a roll there are no sets: what the last option leaves of the people is then not known.

Example
    Ten people per profile and four answers. Nobody can exclude that no old person of N chose "very", nor that none
    chose "rather"; but 14 of the 20 people of N chose one of the two, so at least 4 of the 10 old ones did.

    >>> from safemargin.bounds.bound import infer
    >>> from safemargin.core import Secrets, exact_margins, onlooker_with_roll, table_of
    >>> votes, scale = [[4, 3, 2, 1]] * 4, ("very", "rather", "little", "not")
    >>> table = table_of({"district": ("N", "S"), "age": ("old", "young")}, votes, [10] * 4, scale)
    >>> public, onlooker = exact_margins(table), onlooker_with_roll(table, "joint")
    >>> exposure = infer(public, onlooker)
    >>> exposure.lower[0].tolist(), exposure.upper[0].tolist()
    ([0, 0, 0, 0], [8, 6, 4, 2])
    >>> target = Target(beta=0.1, kappa=10, tau=2, secrets=Secrets(sets=(("very", "rather"),)))
    >>> shown = infer_sets(public, exposure, target)
    >>> shown.options, shown.lower[0].tolist(), shown.upper[0].tolist()
    ((('very', 'rather'),), [4], [10])
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
    """What can be inferred about secrets of several options, per cell (rows) and set (columns).

    `options` has the members of every set by name. `verdicts` are places in `core.VERDICTS`: contained, open,
    disclosed.
    """

    options: tuple[tuple[str, ...], ...]
    lower: IntArray
    upper: IntArray
    verdicts: IntArray

    @property
    def disclosed(self) -> int:
        """How many intervals miss the target."""
        return int((self.verdicts == len(VERDICTS) - 1).sum())

    def entries(self, exposure: Exposure) -> list[dict[str, object]]:
        """One entry per cell and set, for a document; shares are missing where the people of a cell are not known."""
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

    Solved by the same methods as single options, with their own functionals (`_set_targets`). `exposure` must be that
    of the same `public` tables and slack: its single options take part in the verdicts. With `enough`, intervals are
    only made as sharp as it takes to know whether they are wider than that.
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
    """One functional per cell and set, in that order: offset + sign * (sum of variables).

    Where a set holds the last option, which is no variable, the functional counts the others: people of the cell less
    all who chose outside the set. So `sign` is -1 and `offset` the people; else they are 1 and 0.
    """
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
