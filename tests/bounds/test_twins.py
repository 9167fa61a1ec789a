"""Many options and few people of every kind: tables are found, also where few of the axes are published."""

from collections.abc import Sequence

import numpy as np
import pytest

from safemargin.bounds import build_system, certify
from safemargin.bounds.exchange import Exchanges
from safemargin.bounds.first_table import some_table
from safemargin.bounds.twins import TwinPools, spread, spread_in_pools
from safemargin.core import (
    Axis,
    Schema,
    Table,
    Tally,
    Target,
    exact_margins,
    frozen,
    onlooker_with_roll,
)

SIZES = (7, 2, 4, 5, 4)


def people_of_many_kinds(seed: int, people: int = 900, options: int = 10) -> Table:
    """About two people of every kind, and as many options as a survey of incomes has."""
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.choice(size, people, p=rng.dirichlet(np.full(size, 4.0))) for size in SIZES], axis=1)
    answers = rng.choice(options, people, p=rng.dirichlet(np.full(options, 3.0)))
    kinds, place = np.unique(codes, axis=0, return_inverse=True)
    votes = np.zeros((len(kinds), options), dtype=np.int64)
    np.add.at(votes, (place.ravel(), answers), 1)
    axes = tuple(Axis(f"a{number}", tuple(map(str, range(size)))) for number, size in enumerate(SIZES))
    schema = Schema(axes, tuple(f"o{number}" for number in range(options)))
    roll = Tally(schema.names, frozen(kinds, len(axes)), frozen(votes.sum(axis=1), 1))
    return Table(schema, (Tally(schema.names, roll.codes, frozen(votes, options)),), (roll,))


@pytest.mark.parametrize("published", [("a0",), ("a0", "a3"), ("a0", "a1", "a2", "a4")])
def test_a_table_is_found_whichever_axes_are_published(published: Sequence[str]) -> None:
    table = people_of_many_kinds(1)
    shown = tuple(margin for margin in exact_margins(table) if set(margin.axes) <= set(published))
    system = build_system(shown, onlooker_with_roll(table, "joint"))
    found = some_table(system)
    assert found is not None and system.admits(found)


def test_one_published_axis_is_proved_safe() -> None:
    """Cells that lie in a published group are held to its counts, also where their other axis is not published."""
    table = people_of_many_kinds(2, people=500, options=6)
    shown = tuple(margin for margin in exact_margins(table) if margin.axes in ((), ("a0",)))
    limits = Target().limits(table.totals.tolist(), int(table.totals.sum()), table.schema.options)
    assert certify(build_system(shown, onlooker_with_roll(table, "joint")), limits).holds


@pytest.mark.parametrize("seed", range(5))
def test_votes_are_dealt_out_among_twins_and_nobody_loses_a_vote(seed: int) -> None:
    rng = np.random.default_rng(seed)
    blocks = rng.integers(0, 3, (2, 40))
    counts = rng.integers(0, 4, (40, 5))
    people = counts.sum(axis=1)
    ends = np.zeros_like(counts), np.broadcast_to(people[:, None], counts.shape)
    twins = TwinPools(Exchanges(blocks, 3, people, *ends))
    wanted = twins.sums(counts)
    for row in wanted:  # another table of the same people
        given, taken = rng.choice(5, 2, replace=False)
        moved = int(rng.integers(0, row[given] + 1))
        row[given] -= moved
        row[taken] += moved
    twins.deal(wanted, counts)
    assert (twins.sums(counts) == wanted).all() and (counts >= 0).all() and (counts.sum(axis=1) == people).all()
    assert twins.count == len(np.unique(blocks, axis=1).T)


@pytest.mark.parametrize("seed", range(5))
def test_pools_are_dealt_with_at_once_as_one_by_one(seed: int) -> None:
    rng = np.random.default_rng([seed, 28])
    pool = rng.permutation(np.repeat(np.arange(30), rng.integers(1, 9, 30)))
    room = rng.integers(0, 12, len(pool))
    room[[int(np.argmax(pool == one)) for one in range(30)]] += 1  # somebody has something to give
    units = rng.integers(0, 40, 30)
    together = spread_in_pools(room, pool, units)
    for one in range(30):
        assert (together[pool == one] == spread(room[pool == one], int(units[one]))).all()
        assert together[pool == one].sum() == min(int(units[one]), int(room[pool == one].sum()))
    assert ((together >= 0) & (together <= room)).all()
