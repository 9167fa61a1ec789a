"""Many exchanges at once: published sums and the people of profiles stay, and who is wanted gives something up."""

import numpy as np
import pytest

from safemargin.bounds.exchange import Exchanges
from safemargin.bounds.single_exchange import exchange_profiles


@pytest.mark.parametrize("seed", range(12))
def test_sums_and_people_stay_and_the_wanted_give_up(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes, options = (8, 6, 5, 4)[: int(rng.integers(2, 5))], int(rng.integers(2, 6))
    cells = np.stack([axis.ravel() for axis in np.indices(sizes)], axis=1)
    cells = cells[rng.random(len(cells)) < 0.6]
    people = rng.integers(1, 20, len(cells))
    before = np.array([rng.multinomial(n, rng.dirichlet(np.ones(options))) for n in people])
    blocks = (cells + np.cumsum([0, *sizes[:-1]])).T
    ends = np.zeros((len(cells), options - 1), dtype=np.int64), np.repeat(people[:, None], options - 1, axis=1)
    after, wanted = before.copy(), rng.random((len(cells), options)) < 0.1
    exchange_profiles(Exchanges(blocks, sum(sizes), people, *ends), after, wanted, np.eye(options, dtype=bool))
    assert (after >= 0).all() and (after.sum(axis=1) == people).all()
    for column in cells.T:
        for category in range(int(column.max()) + 1):
            assert (after[column == category].sum(axis=0) == before[column == category].sum(axis=0)).all()
    changed = (after != before).any(axis=1)
    # Whoever is wanted and changed gave up a wanted option, or stands on the other side of such an exchange.
    assert not changed.any() or ((after < before) & wanted).any()
