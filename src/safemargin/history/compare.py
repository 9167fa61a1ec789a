"""Whether a release can be held together with earlier ones about the same people, and who else it may be about.

Under `turnover = "net"` nobody is followed: who came and who went is read off the rolls, category by category. That is
turnover only while the categories mean the same. If "under 40" becomes "under 42", the rolls say that everybody left
and others came, and nothing would be subtracted; but the difference of the two groups is the answers of those who are
40 and 41. So bands, and categories that are emptied while others are filled, are compared first.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from safemargin.core import InputError, Profile, Schema, roll_margin
from safemargin.history.entries import Entry, person
from safemargin.history.names import normalised

Rolls = Mapping[tuple[str, ...], Mapping[Profile, int]]
MOST_MOVED = 0.5
"""Share of the people of an axis whose category changed on balance, above which its categories cannot be the same."""
LEAST_OVERLAP = 0.5
"""Share of the smaller population that may be in both, from which on a release says so."""


def check_same(
    path: Path,
    entries: Sequence[Entry],
    population: str,
    cycle: str,
    schema: Schema,
    rolls: Rolls | None = None,
    bands: Mapping[str, list[str]] | None = None,
) -> None:
    """Raise if a release cannot be compared with the earlier ones about its population, or is one of them.

    `rolls` are those of the release where people are not followed; `bands` are the edges of its axes.
    """
    axes = {axis.name: axis.categories for axis in schema.axes}
    where = f"{path}: population {population!r}"
    check_cycle(path, entries, population, cycle)
    for entry in entries:
        if entry.lattices:
            raise InputError(
                f"{where}: {entry.cycle!r} was published by suppress, and a release cannot be held together with it; "
                "publish further tables about these people by suppress"
            )
        for name in entry.axes:
            if name not in axes:
                raise InputError(
                    f"{where}: axis {name!r} was published in {entry.cycle!r} and is missing now; add [axes.{name}], "
                    "so that both releases can be held together"
                )
            if changed := set(entry.axes[name]) ^ set(axes[name]):
                odd = min(changed)
                raise InputError(
                    f"{where}: axis {name!r}: category {odd!r} is {'new' if odd in axes[name] else 'gone'} since "
                    f"{entry.cycle!r}; list those of then in axes.{name}.categories, each with the meaning it had"
                )
            _check_bands(where, entry, name, (bands or {}).get(name, []))
            if rolls is not None:
                _check_moves(where, entry, name, rolls)
        if set(entry.options) != set(schema.options):
            raise InputError(
                f"{where}: the options were {', '.join(entry.options)} in {entry.cycle!r} and are "
                f"{', '.join(schema.options)} now; keep them (data.options)"
            )


def check_cycle(path: Path, entries: Sequence[Entry], population: str, cycle: str) -> None:
    """Raise if a cycle was released already."""
    for entry in entries:
        if normalised(entry.cycle) == normalised(cycle):
            raise InputError(
                f"{path}: population {population!r}: cycle {entry.cycle!r} was released already; give ledger.cycle "
                "another name"
            )


def _check_bands(where: str, entry: Entry, axis: str, now: list[str]) -> None:
    then = entry.bands.get(axis, [])
    if then and now and then != now:
        raise InputError(
            f"{where}: axes.{axis}.bands were {', '.join(then)} in {entry.cycle!r} and are {', '.join(now)} now; the "
            "difference of two bands is the answers of those between their edges: keep the bands"
        )


def _check_moves(where: str, entry: Entry, axis: str, rolls: Rolls) -> None:
    """Raise if an axis cannot have the same categories, by the number of people in them then and now."""
    then, now = roll_margin(entry.rolls, (axis,)), roll_margin(rolls, (axis,))
    emptied = [profile[0] for profile, people in then.items() if people and not now.get(profile, 0)]
    filled = [profile[0] for profile, people in now.items() if people and not then.get(profile, 0)]
    rule = "net changes of the rolls do not show who moved: keep the categories, or follow people by ledger.id"
    if emptied and filled:
        raise InputError(
            f"{where}: axis {axis!r}: nobody is in {min(emptied)!r} any more, and the first people are in "
            f"{min(filled)!r} since {entry.cycle!r}; {rule}"
        )
    stayed = sum(min(people, now.get(profile, 0)) for profile, people in then.items())
    smaller = min(sum(then.values()), sum(now.values()))
    if smaller and smaller - stayed > MOST_MOVED * smaller:
        raise InputError(
            f"{where}: axis {axis!r}: {smaller - stayed:,} of {smaller:,} people are in other categories than in "
            f"{entry.cycle!r}; {rule}"
        )


def overlap_notes(entries: Iterable[Entry], population: str, rolls: Rolls, people: Iterable[str] = ()) -> list[str]:
    """Other populations that may hold the same people, by their identifiers (`people`) or else by rolls, in words."""
    latest: dict[str, Entry] = {}
    for entry in entries:
        if normalised(entry.population) != normalised(population) and (entry.rolls or entry.members):
            latest[normalised(entry.population)] = entry
    names = list(people)
    notes = []
    for entry in latest.values():
        if names and entry.members:
            shared, known = sum(person(entry.population, name) in entry.members for name in names), "are"
        else:
            shared, known = _shared(entry.rolls, rolls), "may be, by the rolls,"
            smaller = min(entry.people, _people(rolls))
            shared = min(shared, smaller) if shared >= LEAST_OVERLAP * max(smaller, 1) else 0
        if shared:
            notes.append(
                f"{shared:,} people of this release {known} also in population {entry.population!r} of the ledger "
                f"({entry.cycle}). Releases about the two are not held together: if they are the same people, give "
                "them one name (population)."
            )
    return notes


def _people(rolls: Rolls) -> int:
    return max((sum(roll.values()) for roll in rolls.values()), default=0)


def _shared(then: Rolls, now: Rolls) -> int:
    """The most people that can be in both rolls, by the axes they share; none if they share no axis."""
    common = {axis for key in then for axis in key} & {axis for key in now for axis in key}
    wanted: list[tuple[str, ...]] = [(axis,) for axis in sorted(common)]
    if common and any(common <= set(key) for key in then) and any(common <= set(key) for key in now):
        wanted = [tuple(sorted(common))]
    ends = []
    for axes in wanted:
        old, new = roll_margin(then, axes), roll_margin(now, axes)
        ends.append(sum(min(count, new.get(profile, 0)) for profile, count in old.items()))
    return min(ends, default=0)
