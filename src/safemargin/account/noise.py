"""What noise costs a person, counted on the changes that leave everything exact as it is."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from safemargin.model.arrays import row_keys
from safemargin.model.domain import Schema
from safemargin.model.published import Group
from safemargin.model.table import Table


@dataclass(frozen=True)
class NoiseBudget:
    """Noise for the flagged groups of all axes: `epsilon` per noised count, `loss` of one person over the release."""

    epsilon: float
    sensitivity: int
    loss: float


def noise_budget(schema: Schema, noised_axes: int, covers_everybody: bool, epsilon_max: float) -> NoiseBudget:
    """Split `epsilon_max` over the noised axes.

    The exact rest fixes the sum of the noised groups of an axis, so a vote can only change together with another one:
    exchanging the answers of two people moves two groups. Where two options cover everybody, one noised count per group
    says it all and two counts move by one; otherwise two options move in each group.
    """
    sensitivity = 2 if one_count_suffices(schema, covers_everybody) else 4
    return NoiseBudget(epsilon_max / (sensitivity * noised_axes), sensitivity, epsilon_max)


def one_count_suffices(schema: Schema, covers_everybody: bool) -> bool:
    """Whether the count of one option determines the rest of its group."""
    return len(schema.options) == 1 or (len(schema.options) == 2 and covers_everybody)


def is_vacuous(table: Table, axis: str, flagged: Sequence[Group]) -> bool:
    """Whether no two people of different flagged groups agree on every other axis.

    Then no exchange of two answers leaves the exact counts as they are, and a promise about such exchanges is empty.
    """
    if not table.knows_composition:
        return False
    roll = table.people(table.schema.names)
    at = roll.axes.index(axis)
    index = table.schema.axis(axis).index
    group_of = np.full(len(index), -1, dtype=np.int64)
    for place, group in enumerate(flagged):
        for category in group:
            group_of[index[category]] = place
    mine = group_of[roll.codes[:, at]]
    others = np.delete(roll.codes, at, axis=1)[mine >= 0]
    keys = row_keys(others, [int(column.max(initial=0)) + 1 for column in others.T])
    together = np.unique(np.stack([keys, mine[mine >= 0]], axis=1), axis=0)
    return len(np.unique(together[:, 0])) == len(together)
