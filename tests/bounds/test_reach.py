"""What single exchanges show of a cell is attained by some integer table, whatever is published."""

import numpy as np
import pytest

from safemargin.bounds.build import build_system
from safemargin.bounds.cells import open_cells, show
from safemargin.bounds.effort import EFFORT
from safemargin.bounds.levels import levels
from safemargin.bounds.perturb import perturb_and_repair
from safemargin.bounds.programs import program_of
from safemargin.bounds.propagate import propagate
from safemargin.bounds.reach import ExchangeGraph, ExchangeNeighbourhood, attain_by_exchanges
from safemargin.bounds.rounding import Rounder
from safemargin.bounds.system import System
from safemargin.bounds.witness import SoftmaxDual
from safemargin.core import Axis, Schema, Table, Tally, Target, frozen, onlooker_with_roll, printed

NAMES, SHAPE = ("site", "grade", "term"), (3, 3, 2)


def village(seed: int, options: int) -> tuple[Table, System]:
    """A few people by three axes; a table of two of them and the third are published, two sites as one."""
    rng = np.random.default_rng(seed)
    people = rng.integers(0, 5, SHAPE)
    votes = np.array([rng.multinomial(size, np.full(options, 1 / options)) for size in people[people > 0]])
    codes = frozen(np.argwhere(people > 0), len(SHAPE))
    axes = tuple(Axis(name, tuple(f"{name}{c}" for c in range(size))) for name, size in zip(NAMES, SHAPE, strict=True))
    tally, roll = Tally(NAMES, codes, frozen(votes, options)), Tally(NAMES, codes, frozen(people[people > 0], 1))
    table = Table(Schema(axes, tuple("xyzabcdefghi"[:options])), (tally,), (roll,))
    merged = (frozenset({"site0", "site1"}), frozenset({"site2"}))
    alone = {axis.name: tuple(frozenset({category}) for category in axis.categories) for axis in axes}
    tables = [printed(table, ("site",), {"site": merged})]
    if seed % 2:
        tables.append(printed(table, ("site", "grade"), {"site": merged, "grade": alone["grade"]}))
    else:
        tables.append(printed(table, ("grade",), {"grade": alone["grade"]}))
    tables.append(printed(table, ("term",), {"term": alone["term"]}))
    return table, build_system(tuple(tables), onlooker_with_roll(table, "joint"), 0)


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "options"), [(0, 2), (1, 2), (2, 3), (3, 3)])
def test_every_end_that_exchanges_show_is_attained(seed: int, options: int) -> None:
    table, system = village(seed, options)
    rounder = Rounder(system)
    limits = Target(beta=0.05, kappa=1, tau=0).limits(table.totals.tolist(), int(table.totals.sum()))
    counts = table.margin(NAMES).counts[:, : system.n_free_options].ravel()
    assert system.admits(counts)
    program = program_of(system, *propagate(system))
    reach = ExchangeGraph(rounder.exchanges)
    around = ExchangeNeighbourhood(reach, counts)
    wider = 0
    for level in levels(system, rounder.ranges, limits):
        *_, (least, most) = around.ends(level.pieces(reach.pieces))
        now = level.add(system.listed(counts))
        for cell in range(len(level.first)):
            for option in range(system.n_free_options):
                assert least[cell, option] <= now[cell, option] <= most[cell, option]
                wider += int(most[cell, option] > least[cell, option])
                cost = np.zeros((len(system.codes), system.n_free_options))
                cost[level.cell_of == cell, option] = 1.0
                assert most[cell, option] <= program.maximise_integer(cost.ravel(), 20.0).value + 1e-6
                assert least[cell, option] >= -program.maximise_integer(-cost.ravel(), 20.0).value - 1e-6
    assert wider


def test_columns_that_are_wanted_reach_as_far_as_if_all_were() -> None:
    for seed in range(4):
        table, system = village(seed, 3)
        rounder = Rounder(system)
        limits = Target(beta=0.05, kappa=1, tau=0).limits(table.totals.tolist(), int(table.totals.sum()))
        reach = ExchangeGraph(rounder.exchanges)
        around = ExchangeNeighbourhood(reach, table.margin(NAMES).counts[:, : system.n_free_options].ravel(), [(0, 1)])
        width, rng = around.pooled.shape[1], np.random.default_rng(seed)
        for level in levels(system, rounder.ranges, limits):
            parts = level.pieces(reach.pieces)
            *_, (least, most) = around.ends(parts)
            up, down = rng.random(width) < 0.5, rng.random(width) < 0.5
            *_, (low, high) = around.ends(parts, (up, down))
            assert (high[:, up] == most[:, up]).all() and (low[:, down] == least[:, down]).all()
            assert (high <= most).all() and (low >= least).all()


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_partners_are_looked_at_one_by_one_and_reach_as_far_as_all_pairs(seed: int) -> None:
    """With many options, cells are first looked at with the commonest option, then with more, then with all."""
    table, system = village(seed, 12)
    rounder = Rounder(system)
    limits = Target(beta=0.05, kappa=1, tau=0).limits(table.totals.tolist(), int(table.totals.sum()))
    counts = table.margin(NAMES).counts[:, : system.n_free_options].ravel()
    reach = ExchangeGraph(rounder.exchanges)
    around = ExchangeNeighbourhood(reach, counts)
    sizes = [None if some is None else int(some.sum()) for some in around.partners(many=False)]
    assert sizes == [1, EFFORT.partners, None] and len(list(around.partners(many=True))) == 2
    for level in levels(system, rounder.ranges, limits):
        parts, ends = level.pieces(reach.pieces), []
        for partners in around.partners(many=False):
            *_, found = around.ends(parts, None, partners)
            ends.append(found)
        for (low, high), (least, most) in zip(ends, ends[1:], strict=False):
            assert (least <= low).all() and (high <= most).all()
    staged, once = levels(system, rounder.ranges, limits), levels(system, rounder.ranges, limits)
    attain_by_exchanges(staged, system, reach, [counts])
    for level in once:
        if level.open_cells:
            *_, (least, most) = around.ends(level.pieces(reach.pieces))
            level.show(least[:, :12], most[:, :12])
    assert [level.open_cells for level in staged] == [level.open_cells for level in once]


def test_newton_from_independent_shares_finds_the_table_of_largest_entropy() -> None:
    table, system = village(0, 12)
    dual, rounder = SoftmaxDual(system, *propagate(system)), Rounder(system)
    near = dual.fit(start=dual.independent(rounder.middle))
    assert near.found and np.abs(near.values - dual.fit().values).max() < 1e-4


@pytest.mark.parametrize(("seed", "options"), [(0, 2), (1, 2), (2, 3), (3, 3), (4, 3), (5, 2)])
def test_perturbed_profiles_lead_to_tables_that_fit_and_show_more(seed: int, options: int) -> None:
    table, system = village(seed, options)
    rounder = Rounder(system)
    limits = Target(beta=0.05, kappa=1, tau=0).limits(table.totals.tolist(), int(table.totals.sum()))
    checked = levels(system, rounder.ranges, limits)
    tables = [table.margin(NAMES).counts[:, : system.n_free_options].ravel()]
    show(checked, system.listed(tables[0]))
    before = open_cells(checked)
    shares: list[float] = []
    reach, generator = ExchangeGraph(rounder.exchanges), np.random.default_rng(seed)
    perturb_and_repair(checked, system, reach, rounder.round, tables, generator, shares.append)
    assert 0 < len(shares) <= EFFORT.perturbations and shares == sorted(shares) and 0 == shares[0] <= shares[-1] < 1
    assert all(system.admits(counts) for counts in tables)
    assert len(tables) > 1 and open_cells(checked) < before
