"""The proof of the lower bound: what its weights show is never more than a count of all choices says."""

import random
from itertools import product
from typing import Any

import numpy as np
import pytest

from safemargin.core import Hierarchy, lattice
from safemargin.suppress.fewest import Need, least_value
from safemargin.suppress.suppress import find_pattern


def fewest_by_trying(needs: list[Need], free: frozenset[int]) -> int:
    """The least number of free cells that meets all needs: every choice is tried."""
    cells = sorted(free)
    choices = [
        frozenset(cell for cell, inside in zip(cells, bits, strict=True) if inside)
        for bits in product((0, 1), repeat=len(cells))
    ]
    met = [c for c in choices if all(cell in free and cell not in c or c & others for cell, others in needs)]
    return min((len(c) for c in met), default=99)


def any_tree(rng: random.Random, needs: list[Need], free: frozenset[int], depth: int) -> Any:
    if depth and free and rng.random() < 0.6:
        cell = rng.choice(sorted(free))
        rest = free - {cell}
        return {
            "cell": cell,
            "with": any_tree(rng, needs, rest, depth - 1),
            "without": any_tree(rng, needs, rest, depth - 1),
        }
    times = rng.randint(1, 4)
    weights = [[number, rng.randint(0, 2 * times)] for number in range(len(needs)) if rng.random() < 0.8]
    return {"times": times, "weights": weights}


def test_no_weights_show_more_than_every_choice() -> None:
    rng, attained = random.Random(3), 0
    for _ in range(400):
        free = frozenset(range(rng.randint(1, 6)))
        needs = [
            (rng.choice([100, 101, *sorted(free)]), frozenset(rng.sample(sorted(free), rng.randint(1, len(free)))))
            for _ in range(rng.randint(1, 5))
        ]
        needs = [(cell, cells - {cell}) for cell, cells in needs if cells - {cell}]
        truth = fewest_by_trying(needs, free)
        for _ in range(8):
            shown = least_value(any_tree(rng, needs, free, 3), needs, free)
            assert shown <= truth
            attained += shown == truth > 0
    assert attained > 50


@pytest.mark.parametrize("shape", [(5, 5), (6, 8)])
def test_the_proof_shows_the_bound_of_the_search(shape: tuple[int, ...]) -> None:
    """Tables in which the cuts alone prove the bound; a margin that is kept is part of it."""
    rng = np.random.default_rng(4)
    trees = [Hierarchy.flat(name, [f"{name}{n}" for n in range(size)]) for name, size in zip("ab", shape, strict=True)]
    for more in ({}, {"tau": 1}, {"protect": 6}, {"keep": ("a",)}):
        pattern = find_pattern(lattice(trees, rng.geometric(0.12, size=shape)), (1, 3), seconds=20, **more)
        assert pattern.fewest is not None and pattern.fewest.cells == pattern.lower_bound, more
        assert bool(pattern.fewest.document["kept"]) == ("keep" in more)
