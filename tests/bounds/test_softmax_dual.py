"""The Hessian of the softmax dual, from its definition."""

import numpy as np

from safemargin.bounds.build import build_system
from safemargin.bounds.witness import SoftmaxDual
from safemargin.core import Axis, Schema, Table, Tally, as_published, frozen, onlooker_with_roll


def test_hessian_is_the_covariance_of_the_row_sums() -> None:
    """A Cov A' from the definition: every profile is a multinomial by itself."""
    rng = np.random.default_rng(5)
    axes = Axis("p", ("a", "b")), Axis("q", ("x", "y", "z"))
    codes = frozen([[a, b] for a in range(2) for b in range(3)], 2)
    votes = rng.integers(1, 9, (6, 4))
    tally, roll = Tally(("p", "q"), codes, frozen(votes, 4)), Tally(("p", "q"), codes, frozen(votes.sum(axis=1), 1))
    table = Table(Schema(axes, ("A", "B", "C", "D")), (tally,), (roll,))
    published = tuple(as_published(table.margin((name,)), table.schema, name) for name in ("p", "q"))
    system = build_system(published, onlooker_with_roll(table, "joint"))
    dual = SoftmaxDual(system, system.low, system.high)
    share, people = (
        rng.dirichlet(np.ones(system.n_free_options + 1), len(codes))[:, :-1],
        votes.sum(axis=1).astype(float),
    )
    covariance = np.zeros((system.size, system.size))
    for profile, (part, size) in enumerate(zip(share, people, strict=True)):
        place = slice(profile * system.n_free_options, (profile + 1) * system.n_free_options)
        covariance[place, place] = size * (np.diag(part) - np.outer(part, part))
    matrix = system.rows.toarray()[dual.rows]
    found = dual.hessian(share.ravel(), np.repeat(people, system.n_free_options))
    assert np.allclose(found, matrix @ covariance @ matrix.T)
