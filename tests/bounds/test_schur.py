"""Newton's step for systems with one wide axis: the same step as from the square of all rows."""

from functools import partial

import numpy as np
import pytest

from safemargin.bounds import System, build_system, certify
from safemargin.bounds.effort import EFFORT
from safemargin.bounds.schur import WideRows, solved
from safemargin.bounds.wide import is_wide
from safemargin.bounds.witness import SoftmaxDual, newton_step
from safemargin.core import Axis, Schema, Table, Tally, Target, exact_margins, frozen, onlooker_with_roll


def city(sizes: tuple[int, ...], options: int, seed: int, density: float = 0.7) -> tuple[Table, System]:
    """Random votes of random people, with all single axes published."""
    rng = np.random.default_rng(seed)
    cells = np.stack([axis.ravel() for axis in np.indices(sizes)], axis=1)
    cells = cells[rng.random(len(cells)) < density]
    people = rng.integers(2, 60, len(cells))
    votes = np.array([rng.multinomial(n, rng.dirichlet(np.full(options, 4.0))) for n in people])
    names = tuple("abcd"[: len(sizes)])
    axes = tuple(
        Axis(name, tuple(f"{name}{i:04d}" for i in range(size))) for name, size in zip(names, sizes, strict=True)
    )
    tally = partial(Tally, names, frozen(cells, len(sizes)))
    schema = Schema(axes, tuple(f"o{i}" for i in range(options)))
    table = Table(schema, (tally(frozen(votes, options)),), (tally(frozen(people, 1)),))
    return table, build_system(exact_margins(table), onlooker_with_roll(table, "joint"))


@pytest.mark.parametrize(("options", "seed"), [(2, 0), (2, 1), (3, 2), (4, 3)])
def test_the_step_is_that_of_the_whole_square(options: int, seed: int) -> None:
    """Steps may differ along directions that change no table, so what they do to the logits is compared."""
    _, system = city((30, 5, 4), options, seed)
    dual = SoftmaxDual(system, system.low, system.high)
    rng = np.random.default_rng(seed)
    share, span = rng.dirichlet(np.ones(options), len(system.codes))[:, :-1].ravel(), dual._ranges(None)[1]
    gradient = dual.sums(span * share) - dual.goal
    extra = np.where(rng.random(len(gradient)) < 0.2, rng.random(len(gradient)), 0.0)
    wide = WideRows(system, dual.slice_of, dual.weights)
    assert wide.apply and len(wide.slices) == 30
    whole = newton_step(dual.hessian(share, span) + np.diag(extra), gradient)
    found = wide.step(share, span, extra, gradient)
    assert abs(dual.adjoint(whole) - dual.adjoint(found)).max() < 1e-5 * max(1.0, abs(dual.adjoint(whole)).max())


def test_squares_along_the_diagonal_solve_the_whole() -> None:
    rng = np.random.default_rng(5)
    size, rest = 4 * 3, 5
    half = rng.normal(size=(size + rest, 40))
    whole = half @ half.T
    keep = np.kron(np.eye(4), np.ones((3, 3)))
    whole[:size, :size] *= keep
    whole += 20 * np.eye(size + rest)
    squares = np.stack([whole[3 * n : 3 * n + 3, 3 * n : 3 * n + 3] for n in range(4)])
    right = rng.normal(size=size + rest)
    found = solved(squares, whole[size:, :size], whole[size:, size:], right)
    assert abs(found - np.linalg.solve(whole, right)).max() < 1e-9


@pytest.mark.parametrize("options", [2, 3])
def test_a_wide_axis_is_fitted_and_proved_by_integer_tables(options: int) -> None:
    """More slices than a square is made for: the fit meets every count, and certified tables are added up here."""
    table, system = city((EFFORT.dense_slices + 30, 3, 2), options, 7)
    assert system.slices.shape[0] > EFFORT.dense_slices and not is_wide(system)
    assert SoftmaxDual(system, system.low, system.high).fit().found
    limits = Target(beta=0.001, kappa=2, tau=1).limits(
        table.totals.tolist(),
        int(system.people.sum()),
        table.schema.options,  # type: ignore[union-attr]
    )
    proof = certify(system, limits)
    assert proof.tables
    rows = system.rows.toarray() if len(system.rows.shape) == 2 else system.rows
    for counts in proof.tables:
        sums = np.asarray(rows) @ counts
        assert (system.lower <= sums).all() and (sums <= system.upper).all()
        free = counts.reshape(-1, system.n_free_options)
        assert (free >= 0).all() and (free.sum(axis=1) <= system.people).all()  # type: ignore[operator]
