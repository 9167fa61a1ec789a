"""Single cells suppressed in tables of several axes: all tables that agree are listed, and none is alone."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest

from brute import TooMany, is_safe
from cases import Town
from evidence import seeds
from safemargin.audit.attack import attack
from safemargin.core import Limits, Table, Target, onlooker_with_roll
from safemargin.release.decide.decide import decide
from safemargin.release.decide.maximise import maximise
from safemargin.release.decide.split import crossed_version, unmerged_split
from safemargin.release.plan import Action, Wanted
from safemargin.release.publish import publish

TARGET = Target(beta=0.1, kappa=4, tau=1, guard=0.02)


def limits_of(table: Table) -> Limits:
    return TARGET.limits(table.totals.tolist(), int(table.people(()).counts.sum()))


def spotted_town(seed: int) -> Town:
    """Even answers in every cell of a table, but for a few cells that are small or nearly of one mind."""
    rng = np.random.default_rng([seed, 65])
    categories = (tuple(f"p{n}" for n in range(3 + (seed % 6 == 1))), ("q0", "q1", "q2"), ("r0", "r1"))[
        : 2 + (seed % 15 == 5)
    ]
    cells = list(product(*categories))
    people = {cell: int(rng.integers(4, 7) if seed % 3 == 0 else rng.integers(6, 10)) for cell in cells}
    yes = {cell: int(rng.integers(2, size - 1)) for cell, size in people.items()}
    for number in rng.choice(len(cells), int(rng.integers(1, 3)), replace=False).tolist():
        cell = cells[number]
        if rng.random() < 0.5:
            people[cell] = int(rng.integers(1, 4))
        yes[cell] = int(rng.integers(2)) * people[cell]
    if seed % 3 == 0:  # p0 is of one mind nearly everywhere, so that its own table suppresses it
        yes |= {cell: people[cell] - (cell[1] == "q0") for cell in cells if cell[0] == "p0"}
    votes = {cell: (count, people[cell] - count) for cell, count in yes.items()}
    return Town(("p", "q", "r")[: len(categories)], categories, ("yes", "no"), people, votes)


def run(cases: Iterable[int]) -> dict[str, int]:
    seen = dict.fromkeys(("hidden", "compared", "axis too", "lost without"), 0)
    for seed in cases:
        place = spotted_town(seed)
        table = place.table()
        watching = [
            onlooker_with_roll(table, "joint"),
            *([onlooker_with_roll(table, "none", "none")] if seed % 2 else []),
        ]
        plan = decide(table, TARGET, watching, protect="suppress")
        wanted = [Wanted(("p", "q"))]
        found = maximise(plan, table, wanted, watching, protect="suppress")
        (margin,) = found.margins
        if not margin.hidden:
            continue
        seen["hidden"] += 1
        seen["axis too"] += any(d.action is Action.SUPPRESSED for axis in "pq" for d in found.axis(axis))
        merged = maximise(plan, table, wanted, watching).margins[0]
        seen["lost without"] += not merged.is_published
        assert margin.cells > merged.cells and margin.cells + len(margin.hidden) == margin.all_cells
        assert found.certificate.certified and found.certificate.rule == "not shown"
        release = publish(found, table)
        crossed = next(each for each in release.tables if len(each.axes) == 2)
        assert set(crossed.status) <= {"exact", "merged", "suppressed"} and "suppressed" in crossed.status
        for onlooker in watching:
            assert attack(release, onlooker).is_safe, (seed, onlooker.name)
        try:
            assert is_safe(release.tables, table, limits_of(table)), seed
            seen["compared"] += 1
        except TooMany:
            continue
    return seen


def test_no_suppressed_cell_can_be_inferred() -> None:
    assert run([4, 11])["compared"] == 2


@pytest.mark.slow
def test_no_suppressed_cell_can_be_inferred_in_more_towns() -> None:
    seen = run([9, *seeds(100, 2, 300)])  # in town 9 the table of p suppresses groups too
    assert seen["compared"] > 0 and seen["lost without"] > 0 and seen["axis too"] > 0


def test_without_covers_a_suppressed_cell_can_be_inferred() -> None:
    table = spotted_town(4).table()
    plan, limits = decide(table, TARGET, protect="suppress"), limits_of(table)
    finest = crossed_version(table, [unmerged_split(table, axis) for axis in "pq"])
    bare = replace(finest, hidden=finest.irregular(limits))
    assert 0 < len(bare.hidden_cells) < bare.people.size
    assert not is_safe([*publish(plan, table).tables, bare.table(table)], table, limits)


def test_an_exchange_that_exact_axes_do_not_show_changes_no_cell() -> None:
    """Why no single cell is noised: a guarantee about such exchanges would say nothing about any cell."""
    for seed in range(8):
        place = spotted_town(seed)
        options = range(len(place.options))
        kinds = [(cell, option) for cell, votes in place.votes.items() for option in options if votes[option]]
        for (one, first), (other, second) in combinations(kinds, 2):
            if one == other or first == second:
                continue
            moved = {(one, first): -1, (one, second): 1, (other, second): -1, (other, first): 1}
            groups: dict[tuple[int, str, int], int] = {}
            for (cell, option), change in moved.items():
                for axis, name in enumerate(cell):
                    groups[axis, name, option] = groups.get((axis, name, option), 0) + change
            assert any(groups.values())


def test_a_table_that_noise_cannot_protect_is_refused_with_what_to_do() -> None:
    table = spotted_town(4).table()
    plan = decide(table, replace(TARGET, epsilon_max=1.0), protect="suppress")  # all groups of single axes are exact
    (noised,) = maximise(plan, table, [Wanted(("p", "q"))], protect="noise").margins
    (suppressed,) = maximise(plan, table, [Wanted(("p", "q"))], protect="auto").margins
    assert not noised.is_published and suppressed.hidden
    assert noised.reason.endswith('single cells cannot be noised, protect = "auto" suppresses them')
