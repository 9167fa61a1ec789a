"""Releases in two cycles over people who stay, join, leave and move: enumerated, nobody's answer comes out."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, combinations, product

import numpy as np
import pytest

from brute import published
from evidence import seeds
from safemargin.audit.attack import attack
from safemargin.bounds import sides_of_totals
from safemargin.bounds.differences import unions
from safemargin.core import (
    Axis,
    Earlier,
    History,
    Limits,
    Onlooker,
    Past,
    Profile,
    Publication,
    PublishedTable,
    Schema,
    Table,
    Tally,
    Target,
    exact_margins,
    frozen,
    net_histories,
    onlooker_with_roll,
)
from safemargin.release.decide.decide import decide
from safemargin.release.plan import Plan
from safemargin.release.publish import publish

pytestmark = pytest.mark.full

AXES = {"p": ("p0", "p1", "p2"), "q": ("q0", "q1")}
OPTIONS = ("A", "B")
Person = tuple[Profile | None, Profile | None, int]
"""Profile then, profile now, and the answer, which nobody changes."""


def table_of(people: Sequence[Person], cycle: int) -> Table:
    schema = Schema(tuple(Axis(name, names) for name, names in AXES.items()), OPTIONS)
    counts: dict[Profile, list[int]] = {}
    for *profiles, answer in people:
        if (profile := profiles[cycle]) is not None:
            counts.setdefault(profile, [0, 0])[answer] += 1
    codes = frozen([[AXES[a].index(name) for a, name in zip(AXES, p, strict=True)] for p in counts], 2)
    votes = Tally(tuple(AXES), codes, frozen(list(counts.values()), 2))
    return Table(schema, (votes,), (Tally(tuple(AXES), codes, frozen(votes.counts.sum(axis=1), 1)),))


def past_of(people: Sequence[Person], by_group: bool, followed: bool = True) -> Past:
    histories: Mapping[History, int] = Counter((then, now) for then, now, _ in people)
    if not followed:
        rolls = [Counter(p[cycle] for p in people if p[cycle] is not None) for cycle in (0, 1)]
        histories = net_histories(rolls)
    before = exact_margins(table_of(people, 0))
    return Past(tuple(AXES), "2026", (Earlier("2025", before),), {tuple(AXES): histories}, by_group)


def decided(people: Sequence[Person], past: Past, target: Target) -> tuple[Plan, Publication, Onlooker]:
    table = table_of(people, 1)
    onlooker = replace(onlooker_with_roll(table, "joint"), past=past)
    plan = decide(table, target, (onlooker,))
    return plan, publish(plan, table), onlooker


def limits_of(people: Sequence[Person], target: Target) -> Limits:
    answers = [answer for _, now, answer in people if now is not None]
    return target.limits([answers.count(0), answers.count(1)], len(answers))


class World:
    """Every way the people of each history may have answered, as counts of the first option."""

    def __init__(self, people: Sequence[Person], old: Sequence[PublishedTable], new: Sequence[PublishedTable]) -> None:
        sizes = Counter((then, now) for then, now, _ in people)
        self.histories, self.sizes = list(sizes), np.array(list(sizes.values()))
        ways = np.array(list(product(*(range(size + 1) for size in self.sizes))), dtype=np.int64)
        for cycle, tables in ((0, old), (1, new)):
            for table in tables:
                for row in np.flatnonzero((table.option == 0) & (table.lower == table.upper)).tolist():
                    groups = [table.groups[a][table.codes[row, a]] for a in range(len(table.axes))]
                    columns = [list(AXES).index(axis) for axis in table.axes]
                    inside = [
                        h[cycle] is not None and all(h[cycle][c] in g for c, g in zip(columns, groups, strict=True))
                        for h in self.histories
                    ]
                    ways = ways[ways[:, inside].sum(axis=1) == table.lower[row]]
        self.ways = ways

    def disclosed(self, members: Sequence[bool], limits: Limits) -> bool:
        people = int(self.sizes[np.array(members)].sum())
        counts = self.ways[:, np.array(members)].sum(axis=1)
        lower, upper = np.array([[counts.min()]]), np.array([[counts.max()]])
        both = np.hstack([lower, people - upper]), np.hstack([upper, people - lower])
        return people > 0 and bool((limits.verdicts(*both, np.array([people])) == 2).any())

    def cells(self) -> Iterator[tuple[str, list[bool]]]:
        """People of one history, of one kind of change, and of one kind of change in one category."""
        for history in self.histories:
            yield f"{history}", [h == history for h in self.histories]
        kinds = {h: (h[0] is not None, h[1] is not None) for h in self.histories}
        for kind in set(kinds.values()):
            yield f"{kind}", [kinds[h] == kind for h in self.histories]
            for cycle, (a, axis) in product((0, 1), enumerate(AXES)):
                for category in AXES[axis]:
                    members = [
                        kinds[h] == kind and h[cycle] is not None and h[cycle][a] == category for h in self.histories
                    ]
                    yield f"{kind} {axis} {category} in cycle {cycle}", members


def random_people(seed: int, moves: bool = True) -> list[Person]:
    rng = np.random.default_rng([seed, 77])
    profiles = list(product(*AXES.values()))
    share = rng.uniform(0.3, 0.7, size=len(profiles))
    people: list[Person] = []

    def add(then: Profile | None, now: Profile | None, count: int) -> None:
        at = profiles.index(now or then or profiles[0])
        people.extend((then, now, int(rng.random() < share[at])) for _ in range(count))

    for profile in profiles:
        add(profile, profile, int(rng.integers(3, 6)))
    for _ in range(int(rng.integers(0, 4))):
        add(None, profiles[int(rng.integers(6))], 1)
    for _ in range(int(rng.integers(0, 3))):
        add(profiles[int(rng.integers(6))], None, 1)
    for _ in range(int(rng.integers(0, 3)) if moves else 0):
        add(profiles[int(rng.integers(6))], profiles[int(rng.integers(6))], 1)
    return people


def naive(people: Sequence[Person]) -> tuple[PublishedTable, ...]:
    return exact_margins(table_of(people, 1))


def locally_disclosed(people: Sequence[Person], new: Sequence[PublishedTable], limits: Limits) -> list[str]:
    """Groups whose change alone discloses who came or went, by trying every way these may have answered."""
    old = naive([(now, then, answer) for then, now, answer in people])
    found = []
    for then, now in product(old, new):
        if not now.axes or then.axes != now.axes:
            continue
        a = list(AXES).index(now.axes[0])
        groups = [g for r in range(1, len(now.groups[0]) + 1) for g in combinations(now.groups[0], r)]
        for union in {frozenset(chain(*g)) for g in groups} - {frozenset(AXES[now.axes[0]])}:
            if any(group & union and not group <= union for group in then.groups[0]):
                continue
            change = sum(
                sign * int(table.lower[row])
                for sign, table in ((1, now), (-1, then))
                for row in np.flatnonzero(table.option == 0).tolist()
                if table.groups[0][table.codes[row, 0]] <= union
            )
            came = sum(1 for t, n, _ in people if n and n[a] in union and not (t and t[a] in union))
            went = sum(1 for t, n, _ in people if t and t[a] in union and not (n and n[a] in union))
            ways = [(x, y) for x in range(came + 1) for y in range(went + 1) if x - y == change]
            for size, values in ((came, [x for x, _ in ways]), (went, [y for _, y in ways])):
                if size and ways:
                    ends = np.array([[min(values), size - max(values)]]), np.array([[max(values), size - min(values)]])
                    if (limits.verdicts(*ends, np.array([size])) == 2).any():
                        found.append(f"{now.axes[0]} {sorted(union)}: {min(values)}..{max(values)} of {size}")
    return found


@pytest.mark.parametrize("by_group", [True, False], ids=["any group", "everybody"])
@pytest.mark.parametrize("seed", seeds(0, 6, 12))
def test_nobody_is_disclosed_together_with_the_earlier_release(seed: int, by_group: bool) -> None:
    people, target = random_people(seed), Target(beta=0.1, kappa=3, tau=0)
    past, limits = past_of(people, by_group), limits_of(people, target)
    plan, release, onlooker = decided(people, past, target)
    old = past.earlier[0].tables
    alone = World(people, old[:1], release.tables[:1])
    both = World(people, old, release.tables)
    known = {name for name, members in alone.cells() if any(members) and alone.disclosed(members, limits)}
    found = [name for name, members in both.cells() if any(members) and both.disclosed(members, limits)]
    if plan.certificate.certified:
        assert set(found) <= known
        assert attack(release, onlooker).is_safe
        if by_group:
            assert locally_disclosed(people, release.tables, limits) == []
    else:
        assert known or found or not decide(table_of(people, 1), target).certificate.certified


def test_the_naive_release_is_caught_as_often_as_enumeration_catches_it() -> None:
    target = Target(beta=0.1, kappa=3, tau=0)
    caught = 0
    for seed in range(40):
        people = random_people(seed)
        past, limits = past_of(people, True), limits_of(people, target)
        onlooker = replace(onlooker_with_roll(table_of(people, 1), "joint"), past=past)
        attempt = attack(Publication(naive(people), target), onlooker).attempts[-1]
        local = locally_disclosed(people, naive(people), limits)
        assert attempt.attack == "differencing"
        if local:
            caught += 1
            assert attempt.findings, (seed, local)
    assert caught > 20


def three_joined(answers: Sequence[int], where: Sequence[Profile]) -> list[Person]:
    """Sixty people who stay, and three who join."""
    stay = [(p, p, i % 2) for p in product(*AXES.values()) for i in range(10)]
    return [*stay, *((None, place, answer) for place, answer in zip(where, answers, strict=True))]


TARGET = Target(kappa=5, tau=0)


def test_three_who_joined_are_disclosed_by_both_exact_slices_and_not_by_the_plan() -> None:
    people = three_joined([0, 1, 0], [("p0", "q0"), ("p0", "q1"), ("p1", "q0")])
    past = past_of(people, by_group=True)
    plan, release, onlooker = decided(people, past, TARGET)
    found = attack(Publication(naive(people), TARGET), onlooker).attempts[-1].findings
    assert {str(one.cell.get("p")) for one in found} >= {"p0", "p1"}
    assert plan.certificate.certified
    assert attack(release, onlooker).is_safe
    assert any("together with the release of 2025 it would disclose the answers of" in d.reason for d in plan.axis("p"))
    assert any("joined since 2025" in note for note in plan.notes)


def test_who_believes_it_of_everybody_is_informed_by_the_totals() -> None:
    people = three_joined([0, 1, 0], [("p0", "q0"), ("p0", "q1"), ("p1", "q0")])
    plan, release, onlooker = decided(people, past_of(people, by_group=False), TARGET)
    assert plan.certificate.certified and attack(release, onlooker).is_safe
    assert any({"p0", "p1"} <= d.group for d in plan.axis("p"))


def test_three_who_joined_and_agreed_are_disclosed_by_the_totals_so_nothing_is_published() -> None:
    people = three_joined([1, 1, 1], [("p0", "q0"), ("p0", "q1"), ("p1", "q0")])
    for by_group in (True, False):
        plan, _, _ = decided(people, past_of(people, by_group), TARGET)
        assert not plan.certificate.certified
        assert any("2025" in str(refusal) for refusal in plan.refusals)


def test_without_change_nothing_is_lost() -> None:
    people = three_joined([], [])
    plan, release, onlooker = decided(people, past_of(people, by_group=True), TARGET)
    assert plan.certificate.certified and attack(release, onlooker).is_safe
    assert {str(d.action) for d in plan.decisions} == {"exact"}


def test_leavers_are_protected_too() -> None:
    people = [(now, then, answer) for then, now, answer in three_joined([0, 1, 0], [("p0", "q0")] * 3)]
    plan, release, onlooker = decided(people, past_of(people, by_group=True), TARGET)
    found = attack(Publication(naive(people), TARGET), onlooker).attempts[-1].findings
    assert any("left since 2025" in one.cell["history"] for one in found)
    assert plan.certificate.certified and attack(release, onlooker).is_safe
    assert "p0" not in {name for d in plan.axis("p") if str(d.action) == "exact" for name in d.group}


def test_somebody_who_moved_keeps_their_answer() -> None:
    """One who moved from p0 to p1 changes both counts by their own answer, though nobody joined or left."""
    people = [*three_joined([], []), (("p0", "q0"), ("p1", "q0"), 0)]
    past = past_of(people, by_group=True)
    plan, release, onlooker = decided(people, past, TARGET)
    found = attack(Publication(naive(people), TARGET), onlooker).attempts[-1].findings
    assert {one.cell["history"] for one in found} == {
        "joined or moved here since 2025",
        "left or moved away since 2025",
    }
    assert plan.certificate.certified and attack(release, onlooker).is_safe
    assert any({"p0", "p1"} <= d.group for d in plan.axis("p"))
    assert {str(d.action) for d in plan.axis("q")} == {"exact"}
    larger = past.larger
    assert larger is not None and "p in 2025" in larger.roll.axes and "q in 2025" not in larger.roll.axes


def test_changed_minds_refute_the_assumption_and_cost_nothing() -> None:
    people = three_joined([0, 1, 0], [("p0", "q0")] * 3)
    place = {profile: 0 for profile in product(*AXES.values())}
    before = []
    for then, now, answer in people:
        if then is not None and answer == 0 and place[then] < 2:  # two of every profile thought otherwise then
            place[then] += 1
            answer = 1
        before.append((then, now, answer))
    past = replace(past_of(people, by_group=True), earlier=past_of(before, by_group=True).earlier)
    plan, release, onlooker = decided(people, past, TARGET)
    assert plan.certificate.certified and attack(release, onlooker).is_safe
    assert {str(d.action) for d in plan.decisions} == {"exact"}
    assert any("changed their answers" in note for note in plan.notes)


def test_net_change_stands_in_where_nobody_is_followed() -> None:
    people = three_joined([0, 1, 0], [("p0", "q0")] * 3)
    assert past_of(people, True).histories == past_of(people, True, followed=False).histories


@pytest.mark.parametrize(
    ("rolls", "expected"),
    [
        ([5, 5], {(1, 1): 5}),
        ([5, 3], {(1, 1): 3, (1, 0): 2}),
        ([0, 3], {(0, 1): 3}),
        ([5, 3, 6], {(1, 1, 1): 3, (1, 0, 0): 2, (0, 0, 1): 3}),
        ([2, 4, 1], {(1, 1, 1): 1, (1, 1, 0): 1, (0, 1, 0): 2}),
    ],
)
def test_net_histories(rolls: list[int], expected: dict[tuple[int, ...], int]) -> None:
    found = net_histories([{("a",): people} if people else {} for people in rolls])
    assert {tuple(int(p is not None) for p in history): n for history, n in found.items()} == expected


def test_unions_of_two_partitions() -> None:
    first = [frozenset("ab"), frozenset("c"), frozenset("de")]
    second = [frozenset("a"), frozenset("bc"), frozenset("d"), frozenset("e")]
    assert sorted(sorted(union) for union in unions(first, second)) == [["a", "b", "c"], ["d", "e"]]
    assert unions([frozenset("ab")], [frozenset("a"), frozenset("b")]) == []


@pytest.mark.parametrize("options", [1, 2, 3])
def test_differences_are_sharp(options: int) -> None:
    """Every way that those who came and went may have answered, one answer more standing for none of the listed."""
    names = tuple("ABC"[:options])
    rng = np.random.default_rng(options)
    for _ in range(30):
        came, went = int(rng.integers(0, 4)), int(rng.integers(0, 4))
        truth = [np.bincount(rng.integers(0, options + 1, n), minlength=options + 1)[:-1] for n in (came, went)]
        stay = 20
        histories = {(("a",), ("a",)): stay, (None, ("a",)): came, (("a",), None): went}
        past = Past(
            ("p",), "2026", (Earlier("2025", (_total(names, np.full(options, 5) + truth[1]),)),), {("p",): histories}
        )
        sides = dict(
            (side.words.split()[0], side) for _, side in sides_of_totals(np.full(options, 5) + truth[0], past, names)
        )
        ways = [
            (x, y)
            for x in product(range(came + 1), repeat=options)
            for y in product(range(went + 1), repeat=options)
            if sum(x) <= came and sum(y) <= went and tuple(np.subtract(x, y)) == tuple(truth[0] - truth[1])
        ]
        for at, word in enumerate(("joined", "left")):
            if word in sides:
                values = np.array([way[at] for way in ways])
                assert sides[word].lower.tolist() == values.min(axis=0).tolist()
                assert sides[word].upper.tolist() == values.max(axis=0).tolist()


def _total(options: Sequence[str], counts: Sequence[int]) -> PublishedTable:
    return published("total", (), [((), o, int(c)) for o, c in zip(options, counts, strict=True)], options)
