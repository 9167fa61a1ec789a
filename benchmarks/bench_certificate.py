"""One witness check by Newton against the linear program for the same question, in one run.

    python benchmarks/bench_certificate.py [seconds for the largest program]

The program maximises beta over all tables with every share in [beta, 1 - beta] and the published margins. The answers
must agree to 1e-4 where the program ends; on the largest table it is cut off, and the ratio printed is a lower bound.
"""

import sys
import time

import highspy
import numpy as np

from safemargin.bounds import System, build_system, propagate
from safemargin.bounds.witness import SoftmaxDual
from safemargin.core import Axis, Schema, Table, Tally, exact_margins, frozen, onlooker_with_roll

CASES = (((10, 8, 6, 5), 20_000), ((10, 8, 6, 5, 4), 60_000), ((20, 12, 8, 6, 4, 2), 500_000))


def population(sizes: tuple[int, ...], people: int) -> Table:
    """A skewed population whose votes depend on every axis."""
    generator = np.random.default_rng(5)
    columns = [generator.choice(k, people, p=generator.dirichlet(np.full(k, 4.0))) for k in sizes]
    lean = sum(generator.normal(0, 0.25, k)[column] for k, column in zip(sizes, columns, strict=True))
    votes = generator.random(people) < 1 / (1 + np.exp(-lean))
    profiles, place = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
    yes = np.bincount(place.ravel(), votes, minlength=len(profiles)).astype(np.int64)
    size = np.bincount(place.ravel(), minlength=len(profiles))
    names = tuple(f"axis{a}" for a in range(len(sizes)))
    axes = tuple(Axis(name, tuple(f"{c}" for c in range(k))) for name, k in zip(names, sizes, strict=True))
    tally = Tally(names, frozen(profiles, len(names)), frozen(np.stack([yes, size - yes], axis=1), 2))
    return Table(Schema(axes, ("yes", "no")), (tally,), (Tally(names, tally.codes, frozen(size, 1)),))


def by_program(system: System, seconds: float) -> tuple[float | None, float]:
    """The largest beta by HiGHS with its defaults, or none if it did not end in time."""
    assert system.people is not None
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("time_limit", seconds)
    beta = solver.addVariable(0.0, 0.5)
    cells = [solver.addVariable(0.0, float(n)) for n in system.people]
    for cell, people in zip(cells, system.people.tolist(), strict=True):
        solver.addConstr(cell - people * beta >= 0)
        solver.addConstr(cell + people * beta <= people)
    rows = system.rows
    for row in range(rows.shape[0]):
        members = rows.indices[rows.indptr[row] : rows.indptr[row + 1]]
        solver.addConstr(solver.qsum(cells[m] for m in members) == float(system.lower[row]))
    start = time.perf_counter()
    solver.maximize(beta)
    taken = time.perf_counter() - start
    done = solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return (float(solver.val(beta)) if done else None), taken


def largest_beta(family: SoftmaxDual, precision: float = 1e-5) -> float:
    """The largest `beta` for which one real-valued table has every share in `[beta, 1 - beta]`, by bisection.

    Of three or more options, the least share that all of them can have at once.
    """
    low, high = 0.0, 1.0 / (family.system.n_free_options + 1)
    # Monotone: a table with every share in [beta, 1 - beta] serves every smaller beta.
    while high - low > precision:
        middle = (low + high) / 2
        if family.fit(floors=np.full(family.system.n_free_options + 1, middle)).found:
            low = middle
        else:
            high = middle
    return low


def main() -> None:
    limit = float(sys.argv[1]) if len(sys.argv) > 1 else 120.0
    print("| axes | profiles | LP: beta, s | Newton: beta, s | one check, s | LP / one check |")
    print("|---|---|---|---|---|---|")
    for sizes, people in CASES:
        table = population(sizes, people)
        system = build_system(exact_margins(table), onlooker_with_roll(table, "joint"))
        family = SoftmaxDual(system, *propagate(system))
        start = time.perf_counter()
        found = largest_beta(family)
        bisected = time.perf_counter() - start
        start = time.perf_counter()
        family.fit(floors=np.full(2, found * 0.99))
        once = time.perf_counter() - start
        beta, taken = by_program(system, limit)
        said = "not in" if beta is None else f"{beta:.5f},"
        if beta is not None:
            assert abs(beta - found) < 1e-4, (beta, found)
        shape = "x".join(map(str, sizes))
        more = "> " if beta is None else ""
        print(
            f"| {shape} | {len(system.codes):,} | {said} {taken:.1f} | {found:.5f}, {bisected:.2f} | {once:.3f} "
            f"| {more}{taken / once:,.0f} |"
        )


if __name__ == "__main__":
    main()
