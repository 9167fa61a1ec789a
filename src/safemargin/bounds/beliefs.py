"""Of which groups somebody may think that those who stayed kept their answers, and which of these go together.

A *belief* is about a group of people between two cycles: whoever is in the group in both gave the same answer in both.
Published groups are believed in where their own figures do not refute it: if the count of a group changed by more than
came and went, somebody in it must have changed their answer. More beliefs leave fewer tables, so what is safe for
somebody who holds several of them is safe for whoever holds some of these. It is enough to look at *maximal* sets of
beliefs that are possible together.

All maximal sets are found with a test whether a set is possible (`possible`), which fails for every set that contains
one that fails. A set that is possible is extended until nothing can be added. A further maximal set has, for every set
found before, an element outside of it: so elements from outside are added one by one (Reiter 1987, hitting sets), and
sets that contain an impossible one are passed over.

Pairs of beliefs are not enough: three groups can be possible two by two, and fix an answer only together.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from safemargin.bounds.differences import GroupChange, changes_of_groups
from safemargin.core import CROSS, Group, History, Past, PublishedTable


@dataclass(frozen=True)
class KeptBelief:
    """Nobody changed their answer who is in a group (none: anybody) in two cycles; `places` are those of its axes.

    `first` and `second` number the cycles; the present one is the last.
    """

    first: int
    second: int
    places: tuple[int, ...] = ()
    group: Group | None = None

    def holds_for(self, history: History) -> bool:
        """Whether it is about people with this history."""
        then, now = history[self.first], history[self.second]
        if then is None or now is None or self.group is None:
            return then is not None and now is not None
        return all(CROSS.join(profile[place] for place in self.places) in self.group for profile in (then, now))


class TooManyError(Exception):
    """There are more maximal sets than are looked at."""


def beliefs_of(tables: Sequence[PublishedTable], past: Past, slack: int) -> list[KeptBelief]:
    """All beliefs that their own figures do not refute."""
    now = len(past.earlier)
    held = (
        KeptBelief(first, second, tuple(past.axes.index(axis) for axis in axes), group)
        for second in range(1, now + 1)
        for first in range(second)
        for axes, group, is_refuted in _changes(tables, past, first, second, slack)
        if not is_refuted
    )
    return list(dict.fromkeys(held))


def is_possible_of_all(tables: Sequence[PublishedTable], past: Past, slack: int) -> tuple[bool, bool]:
    """Whether no figures refute that nobody changed their answer; and whether any figures could.

    Two cycles say together what the first two of their kinds say: so every pair of kinds is looked at once. With
    cycles in which nothing changed this takes as long as with one of them.
    """
    now = len(past.earlier)
    kinds = (*past.kinds, now)
    pairs = {(kinds[first], kinds[second]): (first, second) for second in range(1, now + 1) for first in range(second)}
    changes = [change for pair in pairs.values() for change in _changes(tables, past, *pair, slack)]
    return not any(is_refuted for *_, is_refuted in changes), bool(changes)


def _changes(
    tables: Sequence[PublishedTable], past: Past, first: int, second: int, slack: int
) -> Sequence[GroupChange]:
    """The groups of two cycles; those of earlier ones, which the present one does not change, are kept."""
    now = len(past.earlier)
    known: dict[object, Sequence[GroupChange]] = past.__dict__.setdefault("_changes", {})
    if second == now:
        return tuple(changes_of_groups(tables, past, first, second, slack))
    key = past.kinds[first], past.kinds[second], past.earlier[second].tables[0].options, slack
    if key not in known:
        known[key] = tuple(changes_of_groups(past.earlier[second].tables, past, first, second, slack))
    return known[key]


def parts_by(held: Sequence[KeptBelief]) -> Callable[[History], list[tuple[int, ...]]]:
    """The cycles of a history in parts: those that beliefs tie together, directly or through others."""

    def parts(history: History) -> list[tuple[int, ...]]:
        part_of = {cycle: cycle for cycle, profile in enumerate(history) if profile is not None}
        for belief in held:
            if belief.first in part_of and belief.second in part_of and belief.holds_for(history):
                one, other = part_of[belief.first], part_of[belief.second]
                if one != other:
                    part_of = {cycle: one if part == other else part for cycle, part in part_of.items()}
        return [tuple(c for c, part in part_of.items() if part == one) for one in dict.fromkeys(part_of.values())]

    return parts


def maximal_sets(
    held: Sequence[KeptBelief], possible: Callable[[frozenset[KeptBelief]], bool], most: int, tests: int
) -> list[frozenset[KeptBelief]]:
    """Every maximal set that is possible; raises if there are more than so many, or that takes more tests.

    `possible` must be monotone: if it holds for a set, it holds for every part of it. Small impossible sets are kept,
    and every set that contains one is passed over without a test. `extended` adds all that can be added, half by half.
    """
    made: dict[frozenset[KeptBelief], bool] = {}
    blocked: list[frozenset[KeptBelief]] = []

    def test(chosen: frozenset[KeptBelief]) -> bool:
        if any(other <= chosen for other in blocked):
            return False
        if chosen not in made:
            if len(made) >= tests:
                raise TooManyError
            made[chosen] = possible(chosen)
            if not made[chosen] and len(chosen) <= 3:
                blocked.append(chosen)
        return made[chosen]

    def extended(chosen: frozenset[KeptBelief], more: Sequence[KeptBelief]) -> frozenset[KeptBelief]:
        if not more or test(chosen | set(more)):
            return chosen | set(more)
        if len(more) == 1:
            return chosen
        half = len(more) // 2
        return extended(extended(chosen, more[:half]), more[half:])

    found: list[frozenset[KeptBelief]] = []
    seeds, seen = [frozenset[KeptBelief]()], set[frozenset[KeptBelief]]()
    while seeds:
        seed = seeds.pop()
        around = next((other for other in found if seed <= other), None)
        if around is None:
            if not test(seed):
                continue
            around = extended(seed, [belief for belief in held if belief not in seed])
            found.append(around)
            if len(found) > most:
                raise TooManyError
        for belief in held:
            if belief not in around and (further := seed | {belief}) not in seen:
                seen.add(further)
                seeds.append(further)
    return found
