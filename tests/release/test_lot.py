"""The choice of noised groups, by exhaustion: exchanging two answers changes its odds by no more than is guaranteed."""

import math
from collections import Counter
from itertools import permutations, product

import numpy as np
import pytest

from cases import Town
from safemargin.core import Axis, Group, Hierarchy, InputError, Limits, Target
from safemargin.guarantees.noise import choice_epsilon, is_vacuous, noise_budget, partnered
from safemargin.release.decide.decide import decide
from safemargin.release.plan import Action
from safemargin.release.rule.lot import RandomisedSelection, drawn, room, units
from safemargin.release.rule.split import AxisPartition

EPSILON = 0.7
SIZES = (4, 4, 3, 3)
Chosen = frozenset[Group]


def town_of(chose: tuple[int, ...], sizes: tuple[int, ...] = SIZES) -> AxisPartition:
    names = tuple(f"q{place}" for place in range(len(sizes)))
    votes = np.array([[count, size - count] for count, size in zip(chose, sizes, strict=True)])
    return AxisPartition(Axis("q", names), votes, np.array(sizes), tuple(frozenset([name]) for name in names))


def limits_of(total: int, sizes: tuple[int, ...] = SIZES) -> Limits:
    return Target(beta=0.15, kappa=1, tau=0).limits([total, sum(sizes) - total], sum(sizes))


def law(one: AxisPartition, limits: Limits, epsilon: float, most: int = 2) -> dict[Chosen, float]:
    """The chance of every choice: all reaches that the noise can have, those from `most` on as one."""
    q = math.exp(-epsilon)
    chance = [(1 - q) / (1 + q), *(2 * q**far * (1 - q) / (1 + q) for far in range(1, most)), 2 * q**most / (1 + q)]
    found: Counter[Chosen] = Counter()
    for reaches in product(range(most + 1), repeat=len(one.groups)):
        by_group = dict(zip(one.groups, reaches, strict=True))
        unit_list = drawn(one, limits, lambda _, group, moved=by_group: moved[group])
        found[frozenset(group for unit in unit_list for group in unit)] += math.prod(chance[far] for far in reaches)
    return dict(found)


def worst(laws: dict[tuple[int, ...], dict[Chosen, float]]) -> float:
    """The most that an exchange of two answers changes the odds of a choice, if it leaves the other groups alone."""
    most = 1.0
    for chose, first in laws.items():
        for giver, taker in permutations(range(len(chose)), 2):
            other = tuple(count - (at == giver) + (at == taker) for at, count in enumerate(chose))
            for choice, chance in first.items() if other in laws else ():
                if chance and {frozenset([f"q{giver}"]), frozenset([f"q{taker}"])} <= choice:
                    again = laws[other].get(choice, 0.0)
                    most = max(most, chance / again if again else math.inf)
    return most


def test_the_choice_costs_no_more_than_is_guaranteed_on_everything_it_could_have_seen() -> None:
    """Naive: those outside the limits are noised, and a single exchange of answers can be seen for sure."""
    limits = limits_of(7)
    every = [chose for chose in product(*(range(size + 1) for size in SIZES)) if sum(chose) == 7]
    assert max(room(town_of(chose), group, limits) for chose in every for group in town_of(chose).groups) == 2
    laws = {chose: law(town_of(chose), limits, EPSILON) for chose in every}
    assert all(math.isclose(sum(each.values()), 1) for each in laws.values())
    assert 1.5 < worst(laws) <= math.exp(2 * EPSILON) * (1 + 1e-9)
    naive = {}
    for chose in every:
        chosen = frozenset(g for unit in drawn(town_of(chose), limits, lambda *_: 0) for g in unit)
        naive[chose] = {chosen: 1.0}
    assert worst(naive) == math.inf


def test_a_group_outside_the_limits_is_always_noised_and_never_alone() -> None:
    for chose in product(*(range(size + 1) for size in SIZES)):
        one, limits = town_of(chose), limits_of(sum(chose))
        chosen = {group for unit in drawn(one, limits, lambda *_: 0) for group in unit}
        assert {group for group in one.groups if not one.regular(group, limits)} <= chosen
        assert len(chosen) != 1


@pytest.mark.parametrize("kind", ["free", "ordered", "areas"])
def test_units_look_at_the_roll_alone_and_part_the_axis(kind: str) -> None:
    for count in range(2, 12):
        rng = np.random.default_rng([count, 5])
        names = tuple(f"q{place}" for place in range(count))
        areas = {name: ("north" if at % 3 else f"only {name}") for at, name in enumerate(names)}
        axis = Axis(
            "q",
            names,
            ordered=kind == "ordered",
            hierarchy=Hierarchy.from_parents("q", names, areas) if kind == "areas" else None,
        )
        people, votes = rng.integers(5, 90, count), rng.integers(0, 5, (count, 2))
        groups = tuple(frozenset([name]) for name in names)
        found = units(AxisPartition(axis, votes, people, groups))
        assert found == units(AxisPartition(axis, votes[::-1], people, groups))
        assert sorted(min(group) for unit in found for group in unit) == sorted(names)
        assert all(len(unit) >= 2 for unit in found)


def test_a_lot_is_drawn_once_and_afresh_for_another_run() -> None:
    first, second = RandomisedSelection(0.01), RandomisedSelection(0.01)
    groups = [frozenset([str(place)]) for place in range(20)]
    drawn_first = [first("q", group) for group in groups]
    assert drawn_first == [first("q", group) for group in groups]
    assert drawn_first != [second("q", group) for group in groups]
    assert min(drawn_first) >= 0


def workplace(sites: dict[str, tuple[int, int]]) -> Town:
    people = {(name,): size for name, (size, _) in sites.items()}
    votes = {(name,): (yes, size - yes) for name, (size, yes) in sites.items()}
    return Town(("site",), (tuple(sites),), ("yes", "no"), people, votes)


def test_the_guarantee_adds_up_and_names_whom_it_covers() -> None:
    place = workplace({"Aarau": (280, 136), "Basel": (240, 118), "Chur": (160, 158), "Egg": (150, 81)})
    target = Target(beta=0.05, kappa=20, epsilon_max=1.0, tau=0)
    plan = decide(place.table(), target, protect="noise")
    assert {min(d.group) for d in plan.decisions if d.action is Action.NOISED} == {"Chur", "Egg"}
    (guarantee,) = plan.guarantees
    assert guarantee.choice == choice_epsilon(1, 1.0) == 0.25 and guarantee.count == 0.25
    assert 2 * guarantee.choice + 2 * guarantee.count == guarantee.epsilon == 1.0
    assert "310" not in guarantee.statement and "No epsilon" not in guarantee.statement
    assert any("each of the 310 people in noised groups" in note for note in plan.notes)


def test_noised_groups_that_are_outside_together_are_merged_instead() -> None:
    """The total less the exact groups would disclose that 305 of 310 people said yes."""
    place = workplace({"Aarau": (280, 136), "Basel": (240, 118), "Chur": (160, 158), "Egg": (150, 147)})
    plan = decide(place.table(), Target(beta=0.05, kappa=20, tau=0), protect="noise")
    assert plan.certificate.certified
    assert not [d for d in plan.decisions if d.action is Action.NOISED] and not plan.guarantees


def test_noise_that_nobody_could_exchange_answers_under_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everybody in q2 and q3 has a grade of their own: no two of them could change places unseen."""
    monkeypatch.setattr(RandomisedSelection, "__call__", lambda *_: 0)
    people = {("q0", "a"): 40, ("q1", "a"): 40, ("q2", "b"): 30, ("q3", "c"): 30, ("q0", "b"): 40, ("q1", "c"): 40}
    votes = {cell: (size // 2, size - size // 2) for cell, size in people.items()} | {("q2", "b"): (30, 0)}
    names = (("q0", "q1", "q2", "q3"), ("a", "b", "c"))
    table = Town(("q", "grade"), names, ("yes", "no"), people, votes).table()
    assert is_vacuous(table, "q", [frozenset(["q2"]), frozenset(["q3"])])
    assert not is_vacuous(table, "q", [frozenset(["q0"]), frozenset(["q2"])])
    plan = decide(table, Target(beta=0.05, kappa=10, tau=0), protect="noise")
    assert {d.reason for d in plan.axis("q")} == {
        "noise would guarantee nothing: no two people could exchange answers unnoticed"
    }
    assert not plan.guarantees
    groups = {"q": [frozenset([name]) for name in names[0]], "grade": [frozenset([name]) for name in names[1]]}
    noised = {"q": [frozenset(["q2"]), frozenset(["q3"])]}
    assert partnered(table, groups, noised) == 60  # with others of the same group, which discloses nothing at all


def test_noise_too_small_to_guarantee_anything_is_refused_in_one_line() -> None:
    place = workplace({"Aarau": (280, 136), "Basel": (240, 118), "Chur": (160, 158), "Egg": (150, 81)})
    with pytest.raises(InputError, match=r"target.epsilon_max = 50: 100.0% of noised counts would be the true ones"):
        decide(place.table(), Target(kappa=20, epsilon_max=50, tau=0), protect="noise")
    assert decide(place.table(), Target(kappa=20, epsilon_max=50, tau=0)).certificate.certified
    budget = noise_budget(place.table().schema, 1, True, Target(epsilon_max=1.0, kappa=10, tau=0), 0.25)
    assert budget.unchanged == pytest.approx(math.tanh(0.25 / 2))
