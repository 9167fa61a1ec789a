"""What must hold of any correct inference, whatever its method."""

from dataclasses import replace

import numpy as np
import pytest

from cases import Town, facts_about, margin, rolls, situation, town
from safemargin.bounds.bound import infer
from safemargin.bounds.exposure import Exposure
from safemargin.core import Onlooker, PublishedTable, frozen

pytestmark = pytest.mark.full

COMPOSITIONS = ("joint", "sizes", "none")

Intervals = dict[tuple[tuple[tuple[str, str], ...], str], tuple[int, int]]


def intervals(exposure: Exposure, names: dict[str, str] | None = None) -> Intervals:
    """Every interval by its cell and option, with categories renamed."""
    found = {}
    for row in range(len(exposure.cells)):
        cell = {axis: (names or {}).get(name, name) for axis, name in exposure.cells.cell(row).items()}
        for option, name in enumerate(exposure.options or ("",)):
            ends = int(exposure.lower[row, option]), int(exposure.upper[row, option])
            found[tuple(sorted(cell.items())), name] = ends
    return found


def renamed(table: PublishedTable, names: dict[str, str]) -> PublishedTable:
    groups = tuple(tuple(frozenset(names[name] for name in group) for group in each) for each in table.groups)
    return replace(table, groups=groups)


def shuffled(table: PublishedTable, rng: np.random.Generator) -> PublishedTable:
    """The same table with its rows, its lists of groups and its options in another order."""
    rows = rng.permutation(len(table.lower))
    codes, groups = table.codes.copy(), []
    for a, each in enumerate(table.groups):
        order = rng.permutation(len(each))
        groups.append(tuple(each[g] for g in order))
        codes[:, a] = np.argsort(order)[table.codes[:, a]]
    order = rng.permutation(len(table.options))
    option = np.argsort(order)[table.option] if table.options else table.option
    return replace(
        table,
        groups=tuple(groups),
        codes=frozen(codes[rows], len(table.axes)),
        options=tuple(table.options[o] for o in order),
        option=frozen(option[rows]),
        lower=frozen(table.lower[rows]),
        upper=frozen(table.upper[rows]),
        status=tuple(table.status[row] for row in rows),
    )


@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_more_facts_never_widen_an_interval(composition: str) -> None:
    for seed in range(15):
        place, tables, onlooker = situation(seed, composition, 1 + seed % 3)
        rng = np.random.default_rng([seed, 21])
        before = intervals(infer(tables, onlooker))
        extra, aside = facts_about(rng, place, two_way=1.0)
        known = {axis for table in tables for axis in table.axes}
        extra = [table for table in (*extra, *aside) if set(table.axes) <= known]
        after = intervals(infer([*tables, *extra], onlooker))
        for cell, (low, high) in before.items():
            if cell in after:
                assert low <= after[cell][0] <= after[cell][1] <= high, (seed, cell)


def test_knowing_the_roll_better_never_widens_an_interval() -> None:
    for seed in range(15):
        rng = np.random.default_rng([seed, 22])
        place = town(rng, axes=2, options=1 + seed % 2, people=10, fill=0.7)
        tables = [margin(place, ()), *(margin(place, (axis,)) for axis in place.axes)]
        onlookers = [Onlooker(roll=rolls(place, composition)) for composition in ("none", "sizes", "joint")]
        none, sizes, joint = (intervals(infer(tables, onlooker)) for onlooker in onlookers)
        for cell, (low, high) in joint.items():
            assert sizes[cell][0] <= low <= high <= sizes[cell][1], (seed, cell)
            assert none[cell][0] <= sizes[cell][0] <= sizes[cell][1] <= none[cell][1], (seed, cell)


@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_other_names_give_the_same_answer_under_other_names(composition: str) -> None:
    for seed in range(9):
        place, tables, onlooker = situation(seed, composition, 1 + seed % 3)
        rng = np.random.default_rng([seed, 23])
        names: dict[str, str] = {}
        for categories in place.categories:
            names |= dict(zip(categories, rng.permutation(categories).tolist(), strict=True))
        moved = [renamed(table, names) for table in tables]
        other = replace(
            onlooker,
            roll=tuple(renamed(table, names) for table in onlooker.roll),
            facts=tuple(renamed(table, names) for table in onlooker.facts),
        )
        back = {new: old for old, new in names.items()}
        assert intervals(infer(moved, other), back) == intervals(infer(tables, onlooker)), seed


@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_the_order_of_rows_tables_and_axes_does_not_matter(composition: str) -> None:
    for seed in range(9):
        _, tables, onlooker = situation(seed, composition, 1 + seed % 3)
        rng = np.random.default_rng([seed, 24])
        moved = [shuffled(tables[place], rng) for place in rng.permutation(len(tables))]
        other = replace(
            onlooker,
            roll=tuple(shuffled(table, rng) for table in onlooker.roll),
            facts=tuple(shuffled(table, rng) for table in onlooker.facts),
        )
        assert intervals(infer(moved, other)) == intervals(infer(tables, onlooker)), seed


@pytest.mark.parametrize("sharp", [True, False, None])
@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_the_truth_lies_inside(composition: str, sharp: bool | None) -> None:
    for seed in range(9):
        place, tables, onlooker = situation(seed, composition, 1 + seed % 3, people=25)
        exposure = infer(tables, onlooker, sharp=sharp)
        truth = counted(place, exposure)
        assert (exposure.lower <= truth).all(), seed
        assert (truth <= exposure.upper).all(), seed


@pytest.mark.slow
@pytest.mark.parametrize("sharp", [False, None])
def test_the_truth_lies_inside_large_tables(sharp: bool | None) -> None:
    for seed in range(6):
        rng = np.random.default_rng([seed, 25])
        place = town(rng, axes=4, options=1 + seed % 3, people=4_000, most_categories=7, most_per_profile=200)
        tables = [margin(place, ()), *(margin(place, (axis,)) for axis in place.axes)]
        exposure = infer(tables, Onlooker(roll=rolls(place, "joint")), sharp=sharp)
        truth = counted(place, exposure)
        assert ((exposure.lower <= truth) & (truth <= exposure.upper)).all(), seed


def test_intervals_that_are_not_sharp_contain_the_sharp_ones() -> None:
    for seed in range(20):
        _, tables, onlooker = situation(seed, "joint", 1 + seed % 3)
        sharp, quick = infer(tables, onlooker), infer(tables, onlooker, sharp=False)
        assert (quick.lower <= sharp.lower).all(), seed
        assert (sharp.upper <= quick.upper).all(), seed
        settled = quick.integer
        assert (quick.lower[settled] == sharp.lower[settled]).all(), seed
        assert (quick.upper[settled] == sharp.upper[settled]).all(), seed


def counted(place: Town, exposure: Exposure) -> np.ndarray:
    """The true counts of the cells of an exposure."""
    axes = exposure.cells.axes
    options = exposure.options or (place.options[0],)
    return np.array(
        [
            [place.count(axes, [(exposure.cells.cell(row)[axis],) for axis in axes], option) for option in options]
            for row in range(len(exposure.cells))
        ]
    )
