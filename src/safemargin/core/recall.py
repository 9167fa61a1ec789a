"""Rolls of earlier cycles, and what somebody remembers who holds the rolls of then and now."""

from collections.abc import Mapping, Sequence

from safemargin.core.errors import InputError
from safemargin.core.published import Earlier, Past, Profile, PublishedTable, net_histories


def recall(
    tables: tuple[PublishedTable, ...],
    cycle: str,
    before: Sequence[PublishedTable],
    after: Sequence[PublishedTable],
) -> Past:
    """Earlier tables as somebody remembers them who holds the rolls of then and now."""
    axes = tuple(dict.fromkeys(axis for roll in after for axis in roll.axes))
    rolls = [{roll.axes: roll_people(roll) for roll in cycle_rolls} for cycle_rolls in (before, after)]
    for names in rolls:
        if missing := set(axes) - {axis for key in names for axis in key}:
            raise InputError(
                f"the earlier roll lacks the axis {min(missing)!r}; give the rolls of both by the same axes"
            )
    # Joint rolls in both cycles fix every flow; else only flows by single axes are known.
    is_joint = all(any(set(axes) <= set(key) for key in names) for names in rolls)
    wanted = [axes] if is_joint else [(axis,) for axis in axes]
    histories = {key: net_histories([roll_margin(names, key) for names in rolls]) for key in wanted}
    return Past(axes, "now", (Earlier(cycle, tables),), histories)


def roll_people(roll: PublishedTable) -> dict[Profile, int]:
    if not roll.is_exact or any(len(group) > 1 for groups in roll.groups for group in groups):
        raise InputError(f"{roll.name}: a roll that is compared needs exact numbers of plain categories")
    return {tuple(roll.cell(row).values()): int(people) for row, people in enumerate(roll.lower)}


def roll_margin(rolls: Mapping[tuple[str, ...], Mapping[Profile, int]], axes: tuple[str, ...]) -> dict[Profile, int]:
    """People by some axes, from a roll that has them."""
    sums: dict[Profile, int] = {}
    for names, roll in rolls.items():
        if set(axes) <= set(names):
            places = [names.index(axis) for axis in axes]
            for profile, people in roll.items():
                key = tuple(profile[position] for position in places)
                sums[key] = sums.get(key, 0) + people
            return sums
    return sums
