"""Integer tables near a fractional one: what the certificate of a release rests on."""

import numpy as np
import pytest

from safemargin.bounds.build import build_system
from safemargin.bounds.rounding import Rounder
from safemargin.bounds.witness import SoftmaxDual
from safemargin.core import Axis, Schema, Table, Tally, as_published, frozen, group_sums, onlooker_with_roll, row_keys

PLACES, RACES, PARTIES = 60, 3, 3
SIZES = 40, 9, 5, 6, 7, 2


def county(seed: int) -> Table:
    """Places by race by party; the first race has a single person in most places, also in the first."""
    rng = np.random.default_rng(seed)
    people = np.stack([np.ones(PLACES, int), rng.integers(200, 900, PLACES), rng.integers(50, 400, PLACES)], axis=1)
    people[5::3, 0] = rng.integers(100, 900, len(people[5::3]))
    shares = np.array([[0.7, 0.2, 0.1], [0.5, 0.35, 0.15], [0.85, 0.05, 0.1]])
    votes = np.array([[rng.multinomial(people[p, r], shares[r]) for r in range(RACES)] for p in range(PLACES)])
    names = ("place", "race")
    codes = frozen(np.argwhere(people > 0), 2)
    axes = (Axis("place", tuple(f"p{p:02}" for p in range(PLACES))), Axis("race", ("a", "b", "c")))
    tally = Tally(names, codes, frozen(votes, PARTIES))
    return Table(Schema(axes, ("x", "y", "z")), (tally,), (Tally(names, codes, frozen(people, 1)),))


@pytest.mark.parametrize("published", [("place",), ("place", "race")])
@pytest.mark.parametrize("seed", range(5))
def test_a_place_with_one_person_does_not_hinder_rounding(seed: int, published: tuple[str, ...]) -> None:
    table = county(seed)
    tables = [as_published(table.margin(()), table.schema, "total")]
    tables += [as_published(table.margin((name,)), table.schema, name) for name in published]
    system = build_system(tuple(tables), onlooker_with_roll(table, "joint"), 0)
    rounder = Rounder(system)
    counts = rounder.round(rounder.guess())
    assert counts is not None and system.admits(counts)


def strangers(options: int, people: int = 30_000) -> Table:
    """People of whom nearly everybody has a profile of their own; few choose anything but the first option."""
    rng = np.random.default_rng(options)
    codes = np.stack([rng.choice(size, people, p=rng.dirichlet(np.full(size, 3.0))) for size in SIZES], axis=1)
    logits = 1.5 + np.cos(codes * 1.7 + np.arange(len(SIZES))).sum(axis=1) * 0.4
    chosen = np.where(rng.random(people) < 1 / (1 + np.exp(-logits)), 0, rng.integers(1, options, people))
    first, counts = group_sums(row_keys(codes, SIZES), np.eye(options, dtype=np.int64)[chosen])
    axes = tuple(Axis(f"a{a}", tuple(f"{code:02}" for code in range(size))) for a, size in enumerate(SIZES))
    names, where = tuple(axis.name for axis in axes), frozen(codes[first], len(SIZES))
    roll = Tally(names, where, frozen(counts.sum(axis=1), 1))
    return Table(Schema(axes, tuple("xyz"[:options])), (Tally(names, where, frozen(counts, options)),), (roll,))


@pytest.mark.parametrize("options", [2, 3])
def test_single_people_are_rounded_evenly(options: int) -> None:
    """The nearest integers give nearly everybody the commonest option, which no exchange puts right."""
    table = strangers(options)
    margins = [table.margin(()), *(table.margin((name,)) for name in table.schema.names)]
    tables = tuple(as_published(margin, table.schema, f"{margin.axes}") for margin in margins)
    system = build_system(tables, onlooker_with_roll(table, "joint"), 0)
    rounder = Rounder(system)
    values = SoftmaxDual(system, system.low, system.high).fit().values
    assert rounder._matched(rounder.near(values)) is None
    near = rounder.near(values, evenly=True)
    assert (near >= 0).all() and (near.sum(axis=1) == rounder.people).all()
    assert np.abs(system.residual(near[:, : system.n_free_options].ravel())).max() < 100
    counts = rounder.round(values)
    assert counts is not None and system.admits(counts)
