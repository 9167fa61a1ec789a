"""Single cells suppressed in tables of several axes: all tables that agree are listed, and none is alone."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest

from brute import TooMany, is_safe
from cases import Town
from evidence import seeds
from safemargin.audit.attack import attack
from safemargin.bounds import Exposed, Proof
from safemargin.core import Limits, Table, Target, label, onlooker_with_roll
from safemargin.release.decide.crossed import Version, crossed_version, with_cells_suppressed
from safemargin.release.decide.decide import decide
from safemargin.release.decide.maximise import maximise
from safemargin.release.plan import Action, Wanted
from safemargin.release.publish import publish
from safemargin.release.rule.split import unmerged_split

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


LETTERS = "abcde"


def wide_version() -> tuple[Version, Limits]:
    """Five groups by five, all of them regular but the first cell, which has too few people."""
    people = {cell: 100 + 3 * number for number, cell in enumerate(product(LETTERS, LETTERS))} | {("a", "a"): 4}
    votes = {cell: (2 * count // 5, count - 2 * count // 5) for cell, count in people.items()}
    table = Town(("p", "q"), (tuple(LETTERS),) * 2, ("yes", "no"), people, votes).table()
    limits = Target(beta=0.05, kappa=20, tau=0).limits(table.totals.tolist(), sum(people.values()))
    return crossed_version(table, [unmerged_split(table, axis) for axis in "pq"]), limits


def suppressed_in_turn(proofs: Sequence[Proof]) -> list[set[tuple[str, ...]]]:
    """The cells that are suppressed at each test, where these proofs fail one after the other and then one holds."""
    finest, limits = wide_version()
    turns: list[set[tuple[str, ...]]] = []

    def prove(version: Version) -> tuple[bool, Proof]:
        turns.append({tuple(label(group) for group in cell) for cell in version.hidden_cells})
        return (True, Proof((), {})) if len(turns) > len(proofs) else (False, proofs[len(turns) - 1])

    found = with_cells_suppressed(finest, limits, prove)
    assert found is not None and {tuple(label(g) for g in cell) for cell in found.hidden_cells} == turns[-1]
    return turns


def in_line(cells: set[tuple[str, ...]], axis: int, name: str) -> int:
    return sum(cell[axis] == name for cell in cells)


def test_a_cell_that_is_disclosed_gets_covers_along_every_axis() -> None:
    first, second = suppressed_in_turn([Proof((Exposed({"p": "a", "q": "a"}, 0, 4, 1, 1),), {})])
    assert ("a", "a") in first < second
    assert all(in_line(first, axis, cell[axis]) >= 2 for cell in first for axis in (0, 1)), "never one alone"
    assert all(in_line(second, axis, "a") > in_line(first, axis, "a") for axis in (0, 1))


def test_a_printed_cell_that_is_disclosed_is_suppressed_itself() -> None:
    first, second = suppressed_in_turn([Proof((), {}, doubtful=(Exposed({"p": "e", "q": "e"}, 0, 172, 0, 9),))])
    assert ("e", "e") not in first and {("e", "e")} | first < second


def test_a_failure_that_names_no_cell_adds_a_cover_to_every_group_that_has_one() -> None:
    first, second = suppressed_in_turn([Proof((), {})])
    for axis, name in product((0, 1), LETTERS):
        if in_line(first, axis, name):
            assert in_line(second, axis, name) > in_line(first, axis, name)


def test_a_table_that_never_passes_is_given_up() -> None:
    finest, limits = wide_version()
    assert with_cells_suppressed(finest, limits, lambda version: (False, Proof((), {}))) is None
