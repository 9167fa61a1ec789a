"""A certificate is believed only where exhaustion agrees, and so is every claim that a cell is disclosed."""

from fractions import Fraction

import numpy as np
import pytest

from brute import Fiber, TooMany, subsets
from cases import Town, facts_about, margin, partition, rolls, town, turnout
from evidence import seeds
from safemargin.bounds.build import build_system
from safemargin.bounds.certify import certify
from safemargin.bounds.effort import EFFORT
from safemargin.bounds.exposure import Proof
from safemargin.bounds.programs import nearby
from safemargin.bounds.propagate import propagate
from safemargin.bounds.rounding import Rounder
from safemargin.bounds.system import System
from safemargin.bounds.witness import SoftmaxDual
from safemargin.core import Limits, Onlooker, PublishedTable, Target, exact_margins, onlooker_with_roll

pytestmark = pytest.mark.full


def case(seed: int, small: bool) -> tuple[Town, list[PublishedTable], Onlooker, Limits]:
    """A random town with a joint roll, what is published about it, and a target; small ones with tables of any kind."""
    rng = np.random.default_rng([seed, int(small), 31])
    options, axes = int(rng.integers(1, 4 if small else 3)), int(rng.integers(1, 4))
    people = int(rng.integers(2, 25)) if small or axes == 3 else int(rng.integers(20, 70))
    place = town(
        rng,
        axes=axes,
        options=options,
        people=people,
        fill=float(rng.choice([0.5, 0.8, 1.0])),
        most_per_profile=30,
        most_categories=3 if axes < 3 else 2,
    )
    merge = float(rng.choice([0.0, 0.4]))
    if small and rng.random() < 0.6:
        tables, aside = facts_about(rng, place, merge=merge)
        if rng.random() < 0.2:
            tables.append(turnout(place, (place.axes[0],)))
    else:
        tables, aside = facts_about(rng, place, two_way=0.0, hide=0.0, widen=0.0, merge=merge)[0], []
    tau = int(rng.choice([0, 0, 0, 1, 2]))
    target = Target(beta=float(rng.choice([0.01, 0.05, 0.1, 0.2, 0.3])), kappa=int(rng.integers(1, 8)), tau=tau)
    totals = [place.count((), (), option) for option in place.options]
    onlooker = Onlooker(roll=rolls(place, "joint", rng), facts=tuple(aside))
    return place, tables, onlooker, target.limits(totals, sum(place.people.values()))


def given_away(fiber: Fiber, tables: list[PublishedTable], limits: Limits) -> list[object]:
    """Every joint cell, cell of fewer axes and published slice that exhaustion finds disclosed."""
    levels = [tuple(fiber.axes), *subsets(fiber.axes, range(1, len(fiber.axes)))]
    found: list[object] = []
    for axes in levels:
        for cell, profiles in fiber.cells(axes).items():
            found += [(axes, cell, option) for option in fiber.disclosed(profiles, limits)]
    for table in tables:
        for row in range(len(table.lower)) if table.axes else ():
            columns = [fiber.axes.index(axis) for axis in table.axes]
            groups = [table.groups[a][table.codes[row, a]] for a in range(len(table.axes))]
            inside = [p for p, profile in enumerate(fiber.profiles) if _within(profile, columns, groups)]
            if inside:
                found += [(table.name, table.cell(row), option) for option in fiber.disclosed(inside, limits)]
    return found


def _within(profile: tuple[str, ...], columns: list[int], groups: list[frozenset[str]]) -> bool:
    return all(profile[column] in group for column, group in zip(columns, groups, strict=True))


def check(
    fiber: Fiber,
    system: System,
    proof: Proof,
    tables: list[PublishedTable],
    aside: tuple[PublishedTable, ...],
    limits: Limits,
    seed: object,
) -> None:
    for table in proof.tables:
        assert system.admits(table), seed
    for one in proof.exposed:
        columns = [fiber.axes.index(axis) for axis in one.cell]
        groups = [frozenset(text.split(" | ")) for text in one.cell.values()]
        inside = [p for p, profile in enumerate(fiber.profiles) if _within(profile, columns, groups)]
        if one.people != fiber.size(inside):  # what a table of two axes does not list has no name of its own
            assert any(len(table.axes) > 1 for table in (*tables, *aside)), (seed, one)
            continue
        values = fiber.values(inside, fiber.options[one.option])
        assert one.option in fiber.disclosed(inside, limits), (seed, one, values)
        assert one.lower <= values[0] <= values[-1] <= one.upper, (seed, one, values)
    if proof.holds and proof.linear == 0:
        assert given_away(fiber, tables, limits) == [], seed


def run(seeds: range, small: bool) -> dict[str, int]:
    seen = {"holds": 0, "exposed": 0, "undecided": 0}
    for seed in seeds:
        _, tables, onlooker, limits = case(seed, small)
        try:
            fiber = Fiber(tables, onlooker)
        except TooMany:
            continue
        system = build_system(tables, onlooker)
        proof = certify(system, limits)
        check(fiber, system, proof, tables, onlooker.facts, limits, seed)
        seen["holds" if proof.holds else "exposed" if proof.exposed else "undecided"] += 1
    return seen


@pytest.mark.parametrize("small", [True, False], ids=["any tables", "margins"])
def test_certificates_hold_and_exposed_cells_are_exposed(small: bool) -> None:
    seen = run(range(60), small)
    assert seen["holds"] > 10 and seen["exposed"] > 10


@pytest.mark.slow
@pytest.mark.parametrize("small", [True, False], ids=["any tables", "margins"])
def test_certificates_hold_in_many_more_cases(small: bool) -> None:
    run(seeds(1000, 40, 400), small)


def test_exchanges_reach_only_what_some_table_attains() -> None:
    claims = 0
    for seed in range(60):
        place, tables, onlooker, _ = case(seed, small=seed % 3 > 0)
        try:
            fiber = Fiber(tables, onlooker)
        except TooMany:
            continue
        system = build_system(tables, onlooker)
        labels = [[system.categories[a][c] for a, c in enumerate(code)] for code in system.codes]
        cells = [[(name,) for name in names] for names in labels]
        truth = [[place.count(system.axes, cell, o) for o in system.options[: system.n_free_options]] for cell in cells]
        order = [system.axes.index(axis) for axis in fiber.axes]
        values = [
            [fiber.values([fiber.profiles.index(tuple(names[a] for a in order))], o) for o in fiber.options]
            for names in labels
        ]
        wanted = np.ones(len(system.codes), dtype=bool)
        counts = np.array(truth, dtype=np.int64).ravel()
        assert system.admits(counts), seed
        exchanges = Rounder(system).exchanges
        # The second as if few pairs were asked for: then only those between the same slices are looked at.
        for least, most in (ends for few in (EFFORT.few_pairs, 2.0) for ends in exchanges.reach(counts, wanted, few)):
            for row, possible in enumerate(values):
                for place_of, each in enumerate(possible):
                    assert least[row, place_of] in each and most[row, place_of] in each, (seed, labels[row])
                    claims += int(most[row, place_of] > least[row, place_of])
    assert claims > 50


def test_tables_that_come_with_a_certificate_are_checked() -> None:
    place = town(np.random.default_rng(3), axes=2, options=1, people=60, fill=1.0, most_per_profile=20)
    table = place.table()
    system = build_system(exact_margins(table), onlooker_with_roll(table, "joint"))
    limits = Limits((Fraction(0),), (Fraction(1),), kappa=1, tau=0)
    wrong = np.zeros_like(system.low)
    assert not system.admits(wrong)
    proof = certify(system, limits, given=[wrong, system.high + 1, np.zeros(1, dtype=np.int64)])
    assert all(system.admits(each) for each in proof.tables)
    assert proof.holds == certify(system, limits).holds


@pytest.mark.slow
@pytest.mark.parametrize("side", [3, 20, 50])
def test_a_bridge_between_two_blocks_is_never_certified(side: int) -> None:
    """Two blocks of groups share one small cell: rows of the first less its columns give its count exactly.

    No single row shows it, and a real-valued table well inside the limits exists: only the width of the cell shows it.
    """
    rng = np.random.default_rng(side)
    people, votes = {}, {}
    for block in "xy":
        for i in range(side):
            for j in range(side):
                people[f"p{block}{i}", f"q{block}{j}"] = 20
                votes[f"p{block}{i}", f"q{block}{j}"] = (int(rng.integers(6, 14)),)
    people["px0", "qy0"], votes["px0", "qy0"] = 6, (3,)
    categories = tuple(tuple(f"{axis}{block}{i}" for block in "xy" for i in range(side)) for axis in "pq")
    table = Town(("p", "q"), categories, ("A",), people, votes).table()
    limits = Target(beta=0.05, kappa=10, tau=0).limits(table.totals.tolist(), sum(people.values()))
    proof = certify(build_system(exact_margins(table), onlooker_with_roll(table, "joint")), limits)
    assert not proof.holds
    for one in proof.exposed:
        assert (one.cell, one.lower, one.upper) == ({"p": "px0", "q": "qy0"}, 3, 3)


def test_a_narrow_interval_within_the_limits_is_not_called_disclosed() -> None:
    """[0, 1] of 5 people would be too narrow; the sharp interval [1, 1] is contained, and that is what counts."""
    place = Town(
        ("p", "q"),
        (("p0", "p1"), ("q0", "q1")),
        ("A",),
        {("p0", "q0"): 5, ("p0", "q1"): 5, ("p1", "q0"): 5, ("p1", "q1"): 5},
        {("p0", "q0"): (1,), ("p0", "q1"): (2,), ("p1", "q0"): (2,), ("p1", "q1"): (2,)},
    )
    tables = [margin(place, ()), margin(place, ("p", "q"))]
    onlooker = Onlooker(roll=rolls(place, "joint"))
    limits = Target(beta=0.1, kappa=5, tau=1).limits([7], 20)
    assert certify(build_system(tables, onlooker), limits).exposed == ()


def of_several_axes(seed: int) -> tuple[Town, list[PublishedTable], Onlooker, Limits]:
    """A town whose axes and some of their pairs and triples are published, in circles or not, merged or not."""
    rng = np.random.default_rng([seed, 77])
    axes = int(rng.integers(2, 5))
    place = town(
        rng,
        axes=axes,
        options=int(rng.integers(1, 4)),
        people=int(rng.integers(10, 60)) if axes == 2 else int(rng.integers(10, 26)),
        fill=float(rng.choice([0.7, 1.0])),
        most_per_profile=30,
        most_categories=3 if axes == 2 else 2,
    )
    tables = [margin(place, ()), *(margin(place, (axis,)) for axis in place.axes)]
    for chosen in subsets(place.axes, (2, 3)):
        if rng.random() < 0.5:
            groups = [partition(rng, place.categories[place.axes.index(axis)], 0.2) for axis in chosen]
            tables.append(margin(place, chosen, groups=groups))
    target = Target(beta=float(rng.choice([0.01, 0.05, 0.1])), kappa=int(rng.integers(1, 6)), tau=int(rng.integers(2)))
    totals = [place.count((), (), option) for option in place.options]
    onlooker = Onlooker(roll=rolls(place, "joint"))
    return place, tables, onlooker, target.limits(totals, sum(place.people.values()))


def check_several_axes(seeds: range) -> dict[str, int]:
    seen = {"holds": 0, "exposed": 0, "undecided": 0, "linear": 0}
    for seed in seeds:
        _, tables, onlooker, limits = of_several_axes(seed)
        try:
            fiber = Fiber(tables, onlooker)
        except TooMany:
            continue
        system = build_system(tables, onlooker)
        proof = certify(system, limits)
        check(fiber, system, proof, tables, (), limits, seed)
        seen["holds" if proof.holds else "exposed" if proof.exposed else "undecided"] += 1
        seen["linear"] += proof.holds and proof.linear > 0
    return seen


def test_tables_of_several_axes_are_decided_and_rightly() -> None:
    seen = check_several_axes(range(60))
    assert seen["holds"] > 5 and seen["exposed"] > 20
    assert (seen["undecided"], seen["linear"]) == (0, 0)


@pytest.mark.slow
def test_tables_of_several_axes_are_decided_rightly_in_many_more_cases() -> None:
    seen = check_several_axes(seeds(1000, 40, 400))
    assert (seen["undecided"], seen["linear"]) == (0, 0)


@pytest.mark.parametrize("sets", [["pq"], ["pq", "qr"], ["pq", "qr", "rs"], ["pqr", "rs"], ["pq", "rs", "qr"]])
def test_joined_tables_of_several_axes_are_rounded_by_exchanges(sets: list[str]) -> None:
    for seed in range(20):
        rng = np.random.default_rng([seed, 78])
        options = int(rng.integers(1, 4))
        place = town(rng, axes=4, options=options, people=2000, fill=0.9, most_per_profile=2000, most_categories=4)
        singles = [margin(place, (axis,)) for axis in place.axes]
        tables = [margin(place, ()), *singles, *(margin(place, tuple(axes)) for axes in sets)]
        system = build_system(tables, Onlooker(roll=rolls(place, "joint")))
        fit = SoftmaxDual(system, *propagate(system)).fit()
        counts = Rounder(system).round(fit.values)
        assert counts is not None and system.admits(counts), seed


def test_tables_in_a_circle_are_rounded_by_a_program() -> None:
    for seed in range(5):
        rng = np.random.default_rng([seed, 79])
        place = town(rng, axes=3, options=2, people=800, fill=1.0, most_per_profile=800, most_categories=4)
        tables = [margin(place, axes) for axes in subsets(place.axes, (1, 2))]
        system = build_system(tables, Onlooker(roll=rolls(place, "joint")))
        low, high = propagate(system)
        rounder = Rounder(system)
        assert rounder.in_circles and rounder.round(SoftmaxDual(system, low, high).fit().values) is None
        counts = nearby(system, SoftmaxDual(system, low, high).fit().values, low, high)
        assert counts is not None and system.admits(counts), seed
