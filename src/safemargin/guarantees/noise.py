"""What noise costs a person, counted on the changes that leave everything exact as it is."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from safemargin.core import Group, InputError, Schema, Table, Target, group_sums, row_keys

CHOICE = 0.5
"""The part of `epsilon_max` that goes to the choice of noised groups."""

PLAIN = 0.95
"""Noise that leaves so many counts as they are guarantees nothing."""


@dataclass(frozen=True)
class NoiseBudget:
    """Noise for the flagged groups of all axes: `epsilon` per noised count, `choice` per group that may be drawn,
    `loss` of one person over the release.
    """

    epsilon: float
    sensitivity: int
    loss: float
    choice: float

    @property
    def unchanged(self) -> float:
        """The chance that a noised count is the true one."""
        return math.tanh(self.epsilon / 2)  # geometric noise is 0 with probability (1 - a) / (1 + a), a = e^-epsilon


def choice_epsilon(axes: int, epsilon_max: float) -> float:
    """What the choice of noised groups costs per group: an exchange of two answers moves two groups of every axis."""
    return CHOICE * epsilon_max / (2 * max(axes, 1))


def noise_budget(
    schema: Schema, noised_axes: int, covers_everybody: bool, target: Target, choice: float
) -> NoiseBudget:
    """Split `epsilon_max` over the noised axes, after what their `choice` costs per group.

    The exact rest fixes the sum of the noised groups of an axis, so a vote can only change together with another one:
    exchanging the answers of two people moves two groups. Where two options cover everybody, one noised count per group
    says it all and two counts move by one; otherwise two options move in each group.
    """
    sensitivity = exchange_sensitivity(schema, covers_everybody)
    # An exchange of two answers moves two groups of each axis, so the choice is paid for twice.
    left = target.epsilon_max - 2 * choice * noised_axes
    return NoiseBudget(left / (sensitivity * noised_axes), sensitivity, target.epsilon_max, choice)


def check_noise(schema: Schema, axes: int, covers_everybody: bool, target: Target) -> None:
    """Refuse noise so small that it would guarantee nothing, if it falls on all of `axes`."""
    budget = noise_budget(schema, max(axes, 1), covers_everybody, target, choice_epsilon(axes, target.epsilon_max))
    if budget.unchanged > PLAIN:
        raise InputError(
            f"target.epsilon_max = {target.epsilon_max:g}: {budget.unchanged:.1%} of noised counts would be the true "
            "ones, which guarantees nothing; lower it, or protect by merge or suppress"
        )


def partnered(
    table: Table, groups: Mapping[str, Sequence[Group]], noised: Mapping[str, Collection[Group]], least: int = 2
) -> int:
    """How many people in noised groups have somebody to exchange answers with, so that no exact count changes.

    `groups` part every published axis. Two people can exchange answers unseen if they are in the same exact group of
    every axis, or both in noised ones; at `least` so many are.
    """
    roll = table.people(table.schema.names)
    keys, inside = np.zeros((len(roll.codes), 0), dtype=np.int64), np.zeros(len(roll.codes), dtype=bool)
    for column, axis in enumerate(roll.axes):
        index = table.schema.axis(axis).index
        home = np.zeros(len(index), dtype=np.int64)
        for number, group in enumerate(groups.get(axis, ())):
            home[[index[category] for category in group]] = -1 if group in noised.get(axis, ()) else number
        codes = home[roll.codes[:, column]]
        inside |= codes < 0
        keys = np.column_stack([keys, codes + 1])
    first, sums = group_sums(row_keys(keys, [int(key.max(initial=0)) + 1 for key in keys.T]), roll.counts)
    return int(sums[inside[first] & (sums[:, 0] >= least)].sum())


def exchange_sensitivity(schema: Schema, covers_everybody: bool) -> int:
    """By how much an exchange of two answers moves the noised counts of an axis, added up."""
    return 2 if one_count_suffices(schema, covers_everybody) else 4


def one_count_suffices(schema: Schema, covers_everybody: bool) -> bool:
    """Whether the count of one option determines the rest of its group."""
    return len(schema.options) == 1 or (len(schema.options) == 2 and covers_everybody)


def is_vacuous(table: Table, axis: str, flagged: Sequence[Group]) -> bool:
    """Whether no two people of different flagged groups agree on every other axis.

    Then no exchange of two answers leaves the exact counts as they are, and a guarantee about such exchanges is empty.
    """
    if not table.knows_composition:
        return False
    roll = table.people(table.schema.names)
    column = roll.axes.index(axis)
    index = table.schema.axis(axis).index
    group_of = np.full(len(index), -1, dtype=np.int64)
    for number, group in enumerate(flagged):
        for category in group:
            group_of[index[category]] = number
    codes = group_of[roll.codes[:, column]]
    others = np.delete(roll.codes, column, axis=1)[codes >= 0]
    keys = row_keys(others, [int(key.max(initial=0)) + 1 for key in others.T])
    together = np.unique(np.stack([keys, codes[codes >= 0]], axis=1), axis=0)
    # Every combination of the other axes then lies in one flagged group: no exchange stays unseen.
    return len(np.unique(together[:, 0])) == len(together)
