"""Integer tables near a fractional one: what the certificate of a release rests on."""

import numpy as np
import pytest

from safemargin.bounds.build import build_system
from safemargin.bounds.rounding import Rounder
from safemargin.core import Axis, Schema, Table, Tally, as_published, frozen, onlooker_with_roll

PLACES, RACES, PARTIES = 60, 3, 3


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
    known = build_system(tuple(tables), onlooker_with_roll(table, "joint"), 0)
    rounder = Rounder(known)
    counts = rounder.round(rounder.guess())
    assert counts is not None and known.admits(counts)
