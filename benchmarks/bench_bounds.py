"""All bounds of a three-way table with its two-way margins, against two cold programs per cell, in one run.

    python benchmarks/bench_bounds.py

Peers: HiGHS with its defaults, started afresh for every end of every cell, and scipy's linprog; both measured on a
sample of cells and multiplied. Prints CPU and wall seconds and ratios of CPU seconds to the faster peer; the bounds
found must agree on the sample. Then two larger tables are decided, without a peer.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import highspy
import numpy as np
from scipy.optimize import linprog

from safemargin.bounds import Exposure, System, build_system, infer
from safemargin.core import Onlooker, PublishedTable, frozen

SAMPLE = 12


def margins(table: np.ndarray, order: int) -> list[PublishedTable]:
    """All margins of one order, exactly."""
    found = []
    for axes in combinations(range(table.ndim), order):
        sums = table.sum(axis=tuple(a for a in range(table.ndim) if a not in axes))
        codes = np.indices(sums.shape).reshape(len(axes), -1).T
        groups = tuple(tuple(frozenset([f"{'abcdef'[a]}{c}"]) for c in range(table.shape[a])) for a in axes)
        values = frozen(sums.ravel())
        names = tuple("abcdef"[a] for a in axes)
        none = frozen(np.full(len(values), -1))
        status = ("exact",) * len(values)
        found.append(
            PublishedTable("".join(names), names, groups, frozen(codes, len(axes)), (), none, values, values, status)
        )
    return found


def cold(system: System, cell: int) -> tuple[float, float]:
    """Both ends of one cell, each by a solver of its own."""
    ends = []
    for sense in (1.0, -1.0):
        solver = highspy.Highs()
        solver.setOptionValue("output_flag", False)
        model = highspy.HighsLp()
        columns = system.rows.tocsc()
        cost = np.zeros(system.size)
        cost[cell] = sense
        model.num_col_, model.num_row_ = system.size, columns.shape[0]
        model.col_cost_, model.col_lower_ = cost, np.zeros(system.size)
        model.col_upper_ = np.full(system.size, highspy.kHighsInf)
        model.row_lower_ = model.row_upper_ = system.lower.astype(float)
        model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        model.a_matrix_.start_, model.a_matrix_.index_ = columns.indptr, columns.indices
        model.a_matrix_.value_ = columns.data.astype(float)
        solver.passModel(model)
        solver.run()
        ends.append(sense * solver.getInfo().objective_function_value)
    return ends[0], ends[1]


def by_scipy(system: System, cell: int) -> None:
    cost = np.zeros(system.size)
    for sense in (1.0, -1.0):
        cost[cell] = sense
        linprog(cost, A_eq=system.rows.astype(float), b_eq=system.lower.astype(float), method="highs")


def by_lines(tables: list[PublishedTable]) -> Exposure:
    """All bounds over real numbers, rounded inwards: what the peers find."""
    return infer(tables, whole=False)


def decide(tables: list[PublishedTable], onlooker: Onlooker | None = None) -> Exposure:
    """Which cells are known to within three; settled for every one of them."""
    exposure = infer(tables, onlooker, enough=3)
    assert (exposure.integer | (exposure.width <= 3)).all()
    return exposure


@dataclass(frozen=True)
class Timed:
    """What a call returned, and the CPU and wall seconds that it took."""

    result: Any
    cpu: float
    wall: float

    def __str__(self) -> str:
        return f"{self.cpu:.2f} ({self.wall:.2f})"


def timed(call: Callable[..., Any], *arguments: object) -> Timed:
    cpu, wall = time.process_time(), time.perf_counter()
    result = call(*arguments)
    return Timed(result, time.process_time() - cpu, time.perf_counter() - wall)


def sampled(call: Callable[..., Any], system: System, cells: list[int]) -> tuple[Timed, list[Any]]:
    """The time that all cells would take, from a sample, and what was found for it."""
    each = [timed(call, system, cell) for cell in cells]
    times = system.size / len(cells)
    total = Timed(None, times * sum(one.cpu for one in each), times * sum(one.wall for one in each))
    return total, [one.result for one in each]


def capped() -> tuple[list[PublishedTable], Onlooker]:
    """Six margins of single axes over some 70,000 occupied profiles of known size."""
    generator = np.random.default_rng(0)
    shape = (20, 12, 8, 6, 4, 2)
    drawn = 1 + generator.poisson(20 * generator.gamma(0.7, 1.0, shape))
    people = np.where(generator.random(shape) < 0.76, drawn, 0)
    votes = generator.binomial(people, generator.beta(2.0, 2.0, shape))
    roll = margins(people, 6)[0]
    occupied = roll.lower > 0
    codes, sizes = roll.codes[occupied], roll.lower[occupied]
    roll = replace(
        roll,
        name="roll",
        codes=frozen(codes, 6),
        option=frozen(np.full(len(sizes), -1)),
        lower=frozen(sizes),
        upper=frozen(sizes),
        status=("exact",) * len(sizes),
        measure="people",
    )
    return margins(votes, 1), Onlooker(roll=(roll,))


def main() -> None:
    generator = np.random.default_rng(0)
    timed(infer, margins(np.ones((2, 2, 2), dtype=np.int64), 2))  # loads the solver
    print("CPU (wall) seconds; the peers' are extrapolated from a sample of cells; ratios of CPU seconds to cold HiGHS")
    print("| table | cold HiGHS | scipy | linear bounds | ratio | whole bounds | decide tau = 3 | ratio |")
    print("|---|---|---|---|---|---|---|---|")
    for size, rate in ((10, 3.0), (10, 0.5)):
        table = generator.poisson(rate * generator.gamma(1.0, 1.0, (size,) * 3))
        tables = margins(table, 2)
        system = build_system(tables, Onlooker())
        sample = generator.choice(system.size, SAMPLE, replace=False).tolist()
        peer, ends = sampled(cold, system, sample)
        scipy, _ = sampled(by_scipy, system, sample)
        real, decided, whole = timed(by_lines, tables), timed(decide, tables), timed(infer, tables)
        for cell, (low, high) in zip(sample, ends, strict=True):
            assert real.result.lower[cell, 0] == np.ceil(low - 1e-6), cell
            assert real.result.upper[cell, 0] == np.floor(high + 1e-6), cell
        assert ((whole.result.width <= 3) == (decided.result.width <= 3)).all()
        print(
            f"| {size}^3, mean {rate:g} | {peer} | {scipy} | {real} | {peer.cpu / real.cpu:.0f} | {whole} "
            f"| {decided} | {peer.cpu / decided.cpu:.0f} |"
        )
    table = generator.poisson(3.0 * generator.gamma(1.0, 1.0, (30, 30, 30)))
    decided = timed(decide, margins(table, 2))
    print(f"30^3: tau = 3 decided for {decided.result.lower.size:,} cells in {decided} s")
    tables, onlooker = capped()
    decided = timed(decide, tables, onlooker)
    print(f"six axes with caps: tau = 3 decided for {decided.result.lower.size:,} profiles in {decided} s")


if __name__ == "__main__":
    main()
