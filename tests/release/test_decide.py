"""Plans are carried out and attacked by exhaustion: who knows the whole roll learns nothing that the target forbids."""

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from brute import Fiber, TooMany, subsets
from cases import Town, margin, town
from evidence import seeds
from safemargin.audit.attack import attack as run_attacks
from safemargin.core import Limits, Publication, Table, Tally, Target, frozen, onlooker_with_roll
from safemargin.release.decide.decide import decide
from safemargin.release.plan import Action, Plan
from safemargin.release.publish import publish
from safemargin.release.rule.lot import RandomisedSelection
from safemargin.release.rule.make import PROTECTIONS

pytestmark = pytest.mark.full

Finding = tuple[object, ...]


def random_town(seed: int, tau: Sequence[int] = (0,)) -> tuple[Town, Target]:
    rng = np.random.default_rng([seed, 51])
    options, axes = int(rng.choice([1, 2, 2, 3])), int(rng.integers(1, 4))
    place = town(
        rng,
        axes=axes,
        options=options,
        people=int(rng.integers(15, 30)) if options == 3 or axes == 3 else int(rng.integers(20, 60)),
        fill=float(rng.choice([0.6, 0.8, 1.0])),
        most_categories=3 if axes < 3 else 2,
        most_per_profile=30,
    )
    beta, kappa = float(rng.choice([0.02, 0.05, 0.1, 0.2])), int(rng.integers(1, 10))
    return place, Target(beta=beta, kappa=kappa, tau=int(rng.choice(tau)))


def limits_of(place: Town, target: Target) -> Limits:
    totals = [place.count((), (), option) for option in place.options]
    return target.limits(totals, sum(place.people.values()))


def known_from_the_total(place: Town, limits: Limits, people: int, option: int) -> bool:
    """Whether the total alone, which is always exact, gives a cell of this size away."""
    totals = np.array([[place.count((), (), name) for name in place.options]])
    others = sum(place.people.values()) - people
    lower, upper = np.maximum(totals - others, 0), np.minimum(totals, people)
    return bool(limits.verdicts(lower, upper, np.array([people]))[0, option] == 2)


def attack(place: Town, release: Publication, limits: Limits, every_axis: bool = True) -> list[Finding]:
    """Joint cells, cells of any fewer axes, published groups and pairs of them that the release discloses.

    The roll has every axis, also those of which nothing is published: `every_axis` looks at their cells too.
    """
    shown = {axis for table in release.tables for axis in table.axes}
    silent = [
        margin(place, (axis,), groups=[[categories]])
        for axis, categories in zip(place.axes, place.categories, strict=True)
        if axis not in shown and every_axis
    ]
    fiber = Fiber([*release.tables, *silent], onlooker_with_roll(place.table(), "joint"))
    sets: dict[Finding, list[int]] = {}
    for axes in subsets(fiber.axes, range(1, len(fiber.axes) + 1)):
        sets |= {(axes, cell): profiles for cell, profiles in fiber.cells(axes).items()}
    groups = [(table.axes[0], group) for table in release.tables if table.axes for group in table.groups[0]]
    slices = {
        (axis, group): [p for p, profile in enumerate(fiber.profiles) if profile[fiber.axes.index(axis)] in group]
        for axis, group in groups
    }
    sets |= slices
    for first, second in product(slices, slices):
        if first[0] < second[0]:
            sets[first, second] = sorted(set(slices[first]) & set(slices[second]))
    found = []
    for what, profiles in sets.items():
        for option in fiber.disclosed(profiles, limits) if profiles else ():
            if not known_from_the_total(place, limits, fiber.size(profiles), option):
                found.append((what, option, fiber.values(profiles, fiber.options[option]), fiber.size(profiles)))
    return found


def run(seeds: range, protect: str, tau: Sequence[int] = (0,), every_axis: bool = True) -> list[tuple[int, Finding]]:
    leaks, certified = [], 0
    for seed in seeds:
        place, target = random_town(seed, tau)
        plan = decide(place.table(), target, protect=protect)
        if plan.certificate.certified:
            certified += 1
            try:
                found = attack(place, publish(plan, place.table()), limits_of(place, target), every_axis)
            except TooMany:
                continue
            leaks += [(seed, each) for each in found]
    assert certified > 0.6 * len(seeds)
    return leaks


@pytest.mark.parametrize("protect", PROTECTIONS)
def test_a_certified_release_discloses_nobody(protect: str) -> None:
    assert run(seeds(0, 6, 16), protect) == []


@pytest.mark.slow
@pytest.mark.parametrize("protect", PROTECTIONS)
def test_a_certified_release_discloses_nobody_in_many_more_cases(protect: str) -> None:
    assert run(seeds(1000, 15, 200), protect) == []


@pytest.mark.slow
@pytest.mark.parametrize("protect", PROTECTIONS)
def test_with_a_tolerance_no_cell_of_the_published_axes_is_disclosed(protect: str) -> None:
    assert [leak for leak in run(seeds(0, 4, 10), protect, tau=(1, 2), every_axis=False) if _of_two_axes(leak[1])] == []


def _of_two_axes(finding: Finding) -> bool:
    """Whether it is about a published group, a pair of them, or a cell of at least two axes."""
    axes = finding[0][0]
    return not (isinstance(axes, tuple) and len(axes) == 1 and isinstance(axes[0], str))


def test_with_a_tolerance_no_cell_of_an_omitted_axis_is_disclosed() -> None:
    """Everybody on the roll has a place on every axis, published or not.

    Of ten people in q0 two chose A. All but one of them are in p0, so of those nine one or two did: known to within 1.
    """
    people = {("p0", "q0"): 9, ("p1", "q0"): 1, ("p0", "q1"): 20, ("p1", "q1"): 20}
    votes = {("p0", "q0"): (1,), ("p1", "q0"): (1,), ("p0", "q1"): (19,), ("p1", "q1"): (1,)}
    place = Town(("p", "q"), (("p0", "p1"), ("q0", "q1")), ("A",), people, votes)
    target = Target(beta=0.2, kappa=10, tau=1)
    plan = decide(place.table(), target)
    assert not plan.certificate.certified or attack(place, publish(plan, place.table()), limits_of(place, target)) == []


@pytest.mark.parametrize("protect", PROTECTIONS)
def test_the_total_is_always_exact(protect: str) -> None:
    for seed in seeds(0, 4, 10):
        place, target = random_town(seed, tau=(0, 1))
        table = place.table()
        first = publish(decide(table, target, protect=protect), table).tables[0]
        assert first.axes == ()
        assert first.lower.tolist() == first.upper.tolist() == table.totals.tolist()
        assert set(first.status) == {"exact"}


@pytest.mark.parametrize("protect", PROTECTIONS)
def test_sealed_elections_lead_to_the_same_decisions(protect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RandomisedSelection, "__call__", lambda _, axis, group: sum(map(ord, axis + min(group))) % 7)
    for seed in seeds(0, 6, 15):
        place, target = random_town(seed, tau=(0, 1))
        whole, sealed = (decide(each, target, protect=protect) for each in (place.table(), place.sealed()))
        assert whole.decisions == sealed.decisions, seed
        assert whole.certificate == sealed.certificate, seed
        assert [str(refusal) for refusal in whole.refusals] == [str(refusal) for refusal in sealed.refusals], seed


@pytest.mark.parametrize("protect", PROTECTIONS)
def test_one_irregular_group_does_not_follow_by_subtraction(protect: str) -> None:
    """Everybody in q2 chose A; all other groups are ordinary. The groups add up to the exact total."""
    rng = np.random.default_rng(7)
    for _ in range(6):
        people, votes = {}, {}
        for p, q in product(("p0", "p1"), ("q0", "q1", "q2")):
            people[p, q] = int(rng.integers(4, 9))
            chose = people[p, q] if q == "q2" else int(rng.integers(1, 4))
            votes[p, q] = (chose, people[p, q] - chose)
        place = Town(("p", "q"), (("p0", "p1"), ("q0", "q1", "q2")), ("A", "B"), people, votes)
        table, target = place.table(), Target(beta=0.05, kappa=5, tau=0)
        plan = decide(table, target, protect=protect)
        assert plan.certificate.certified
        alone = [d for d in plan.axis("q") if d.group == {"q2"}]
        hidden = [d for d in plan.axis("q") if d.action in (Action.NOISED, Action.SUPPRESSED)]
        assert not alone or (len(hidden) > 1 and alone[0] in hidden)
        release = publish(plan, table)
        fiber = Fiber(release.tables, onlooker_with_roll(table, "joint"))
        if "q" in fiber.axes:
            inside = fiber.cells(("q",))[("q2",)]
            assert fiber.disclosed(inside, limits_of(place, target)) == []
        assert run_attacks(release, onlooker_with_roll(table, "joint")).is_safe


@pytest.mark.slow
def test_every_category_is_decided_on_once() -> None:
    for seed in range(12):
        place, target = random_town(seed)
        for protect in PROTECTIONS:
            plan = decide(place.table(), target, protect=protect)
            for axis, categories in zip(place.axes, place.categories, strict=True):
                named = sorted(name for decision in plan.axis(axis) for name in decision.group)
                assert named == sorted(categories), (seed, protect)
                assert sum(d.people for d in plan.axis(axis)) == sum(place.people.values())
            noised = [d for d in plan.decisions if d.action is Action.NOISED]
            assert all(d.epsilon for d in noised) and bool(noised) == bool(plan.guarantees)


COUNTER_EXAMPLES = {
    "a structural zero": ([[100, 100], [100, 0]], [[0, 50], [50, 0]], (0, 0)),
    "no zero at all": ([[1000, 1000], [1000, 40]], [[3, 520], [510, 10]], (0, 33)),
}
"""Section 2 of the notes on the release: people, votes, and what the margins leave of the first cell."""


def counter_example(name: str) -> Town:
    people, votes, _ = COUNTER_EXAMPLES[name]
    cells = {(f"p{i}", f"q{j}"): (people[i][j], votes[i][j]) for i in range(2) for j in range(2) if people[i][j]}
    return Town(
        ("p", "q"),
        (("p0", "p1"), ("q0", "q1")),
        ("A",),
        {cell: n for cell, (n, _) in cells.items()},
        {cell: (t,) for cell, (_, t) in cells.items()},
    )


def linear_intervals(place: Town, release: Publication) -> dict[tuple[str, ...], tuple[float, float]]:
    """The interval of every joint cell by scipy's linear programs alone, from the counts as they are published."""
    profiles = list(place.people)
    rows, sums = [], []
    for table in release.tables:
        for row in np.flatnonzero(table.lower == table.upper):
            group = [table.groups[a][table.codes[row, a]] for a in range(len(table.axes))]
            columns = [place.axes.index(axis) for axis in table.axes]
            rows.append([float(all(p[c] in g for c, g in zip(columns, group, strict=True))) for p in profiles])
            sums.append(float(table.lower[row]))
    box = [(0, place.people[profile]) for profile in profiles]
    found = {}
    for at, profile in enumerate(profiles):
        cost = np.eye(len(profiles))[at]
        low, high = (linprog(sign * cost, A_eq=rows, b_eq=sums, bounds=box) for sign in (1, -1))
        assert low.status == high.status == 0
        found[profile] = (low.fun, -high.fun)
    return found


@pytest.mark.parametrize("protect", PROTECTIONS)
@pytest.mark.parametrize("name", COUNTER_EXAMPLES)
def test_counter_examples_are_refused_and_made_safe(name: str, protect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RandomisedSelection, "__call__", lambda *_: 0)
    place, target = counter_example(name), Target(beta=0.2, kappa=100, guard=0.01, tau=0)
    table = place.table()
    interval = COUNTER_EXAMPLES[name][2]
    naive = Publication((margin(place, ()), margin(place, ("p",)), margin(place, ("q",))), target)
    assert linear_intervals(place, naive)["p0", "q0"] == pytest.approx(interval)

    plan = decide(table, target, protect=protect)
    refusal = next(each for each in plan.refusals if each.cell == {"p": "p0", "q": "q0"})
    assert (refusal.people, refusal.lower, refusal.upper) == (place.people["p0", "q0"], *interval)
    assert f"{refusal.people:,}" in str(refusal) and "p p0, q q0" in str(refusal)

    assert plan.certificate.certified and plan.certificate.proved == "integer"
    release = publish(plan, table)
    for profile, (low, high) in linear_intervals(place, release).items():
        people = place.people[profile]
        assert high >= 0.2 * people - 1e-6 and low <= 0.8 * people + 1e-6, profile
        contained = low >= 0.2 * people and high <= 0.8 * people and people >= 100
        assert contained or high - low > 1e-6, profile


def test_where_everybody_agrees_the_axes_add_nothing_to_the_total() -> None:
    """Everybody chose A: the total, which is always published, says so of every group."""
    people = {("p0", "q0"): 20, ("p0", "q1"): 20, ("p1", "q0"): 20}
    place = Town(("p", "q"), (("p0", "p1"), ("q0", "q1")), ("A", "B"), people, dict.fromkeys(people, (20, 0)))
    plan: Plan = decide(place.table(), Target(beta=0.05, kappa=5, tau=0))
    assert plan.certificate.certified
    assert {str(decision.action) for decision in plan.decisions} == {"exact"}


def test_an_option_that_nobody_chose_does_not_hinder_a_release() -> None:
    rng = np.random.default_rng(1)
    people, votes = {}, {}
    for cell in product(("p0", "p1", "p2"), ("q0", "q1", "q2")):
        people[cell] = int(rng.integers(3, 60))
        chose = int(rng.binomial(people[cell], 0.5))
        votes[cell] = (chose, people[cell] - chose, 0)
    place = Town(("p", "q"), (("p0", "p1", "p2"), ("q0", "q1", "q2")), ("A", "B", "C"), people, votes)
    plan = decide(place.table(), Target(beta=0.05, kappa=10, tau=0))
    assert {decision.action for decision in plan.decisions} == {Action.EXACT}


def test_a_sealed_tally_that_omits_a_group_without_votes_discloses_it_to_nobody() -> None:
    """Nobody in q2 voted, so its election does not list it. Both q0 and q2 are suppressed, but q2 is not listed."""
    groups = ("q0", "q1", "q2", "q3")
    people = dict(zip(product(("p0", "p1"), groups), (20, 25, 15, 26, 22, 21, 15, 24), strict=True))
    votes = {cell: (0 if cell[1] == "q2" else size // 2,) for cell, size in people.items()}
    place = Town(("p", "q"), (("p0", "p1"), groups), ("A",), people, votes)
    whole = place.sealed()
    sparse = []
    for tally in whole.votes:
        listed = tally.counts.any(axis=1)
        sparse.append(Tally(tally.axes, frozen(tally.codes[listed], len(tally.axes)), frozen(tally.counts[listed], 1)))
    table = Table(whole.schema, tuple(sparse), whole.roll)
    plan = decide(table, Target(beta=0.05, kappa=10, tau=0), [onlooker_with_roll(table, "sizes")], protect="suppress")
    release = publish(plan, table)
    shown = next(each for each in release.tables if each.axes == ("q",))
    assert [shown.cell(row)["q"] for row in range(len(shown.lower))] == list(groups)
