"""From the entries of a ledger to what an onlooker remembers."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from safemargin.core import Earlier, Histories, InputError, Past, Profile, Schema, net_histories, roll_margin
from safemargin.release.ledger.entry import Entry, Person

ANOTHER = "name another population (which forgets the earlier releases)"


def check_same(path: Path, entries: Sequence[Entry], population: str, cycle: str, schema: Schema) -> None:
    """Raise if a release cannot be compared with the earlier ones about its population, or is one of them."""
    axes = {axis.name: axis.categories for axis in schema.axes}
    for entry in entries:
        where = f"{path}: population {population!r}"
        if entry.cycle == cycle:
            raise InputError(f"{where}: cycle {cycle!r} was released already; give ledger.cycle another name")
        if set(entry.axes) != set(axes):
            raise InputError(
                f"{where}: the axes were {', '.join(entry.axes)} in {entry.cycle!r} and are {', '.join(axes)} now; "
                f"keep them, or {ANOTHER}"
            )
        for name, categories in axes.items():
            if changed := set(entry.axes[name]) ^ set(categories):
                odd = min(changed)
                said = f"is gone since {entry.cycle!r}; list it in axes.{name}.categories"
                if odd in categories:
                    said = f"is new since {entry.cycle!r}; count it with an old one"
                raise InputError(f"{where}: axis {name!r}: category {odd!r} {said}, or {ANOTHER}")
        if set(entry.options) != set(schema.options):
            raise InputError(
                f"{where}: the options were {', '.join(entry.options)} in {entry.cycle!r} and are "
                f"{', '.join(schema.options)} now; keep them, or {ANOTHER}"
            )


def remember(
    entries: Sequence[Entry],
    axes: tuple[str, ...],
    now: str,
    rolls: Mapping[tuple[str, ...], Mapping[Profile, int]],
    members: Mapping[Person, Profile],
    by_group: bool,
) -> Past | None:
    """Earlier releases as an onlooker who knows `rolls` remembers them; none if no roll can be compared.

    People are followed by their identifiers if all cycles have them and the joint roll is known. Otherwise the net
    change of every profile is taken to be all joiners or all leavers.
    """
    known = [entry for entry in entries if entry.rolls]
    if not known or not rolls:
        return None
    slack = max(entry.slack for entry in known)
    earlier = tuple(Earlier(entry.cycle, entry.tables) for entry in known)
    is_joint = all(any(set(axes) == set(key) for key in each) for each in (rolls, *(entry.rolls for entry in known)))
    if is_joint and members and all(entry.members for entry in known):
        followed = _followed([*(_ordered(entry, axes) for entry in known), members])
        return Past(axes, now, earlier, {axes: followed}, by_group, slack)
    wanted = [axes] if is_joint else [(axis,) for axis in axes]
    histories = {
        key: net_histories([*(roll_margin(entry.rolls, key) for entry in known), roll_margin(rolls, key)])
        for key in wanted
    }
    return Past(axes, now, earlier, histories, by_group, slack)


def _ordered(entry: Entry, axes: tuple[str, ...]) -> dict[Person, Profile]:
    """The members of an entry, with their categories in the order of `axes`."""
    places = [list(entry.axes).index(axis) for axis in axes]
    return {name: tuple(profile[place] for place in places) for name, profile in entry.members.items()}


def _followed(cycles: Sequence[Mapping[Person, Profile]]) -> Histories:
    everybody = {name for members in cycles for name in members}
    return Counter(tuple(members.get(name) for members in cycles) for name in sorted(everybody))
