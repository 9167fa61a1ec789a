"""All bounds of a three-way table with its two-way margins, against two cold programs per cell, in one run.

    python benchmarks/bench_bounds.py

Peers: HiGHS with its defaults, started afresh for every end of every cell, and scipy's linprog; both measured on a
sample of cells and multiplied. Prints ratios; the bounds found must agree on the sample.
"""

import time
from itertools import combinations

import highspy
import numpy as np
from scipy.optimize import linprog

from safemargin.bounds import bound
from safemargin.bounds.system import System, system
from safemargin.model.arrays import frozen
from safemargin.model.exposure import Exposure
from safemargin.model.onlooker import Onlooker
from safemargin.model.published import PublishedTable

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


def cold(known: System, cell: int) -> tuple[float, float]:
    """Both ends of one cell, each by a solver of its own."""
    ends = []
    for sense in (1.0, -1.0):
        solver = highspy.Highs()
        solver.setOptionValue("output_flag", False)
        model = highspy.HighsLp()
        columns = known.rows.tocsc()
        cost = np.zeros(known.size)
        cost[cell] = sense
        model.num_col_, model.num_row_ = known.size, columns.shape[0]
        model.col_cost_, model.col_lower_ = cost, np.zeros(known.size)
        model.col_upper_ = np.full(known.size, highspy.kHighsInf)
        model.row_lower_ = model.row_upper_ = known.lower.astype(float)
        model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        model.a_matrix_.start_, model.a_matrix_.index_ = columns.indptr, columns.indices
        model.a_matrix_.value_ = columns.data.astype(float)
        solver.passModel(model)
        solver.run()
        ends.append(sense * solver.getInfo().objective_function_value)
    return ends[0], ends[1]


def by_scipy(known: System, cell: int) -> None:
    cost = np.zeros(known.size)
    for sense in (1.0, -1.0):
        cost[cell] = sense
        linprog(cost, A_eq=known.rows.astype(float), b_eq=known.lower.astype(float), method="highs")


def by_lines(tables: list[PublishedTable]) -> Exposure:
    """All bounds over real numbers, rounded inwards: what the peers find."""
    return bound(tables, whole=False)


def decide(tables: list[PublishedTable]) -> Exposure:
    """Which cells are known to within three."""
    return bound(tables, enough=3)


def timed(call: object, *arguments: object) -> tuple[float, object]:
    start = time.process_time()
    result = call(*arguments)  # type: ignore[operator]
    return time.process_time() - start, result


def main() -> None:
    generator = np.random.default_rng(0)
    print("CPU seconds of one thread; cold and scipy extrapolated from a sample of cells")
    print("| table | cells | cold HiGHS | scipy | all bounds | ratio | decide tau = 3 | ratio |")
    print("|---|---|---|---|---|---|---|---|")
    for size, rate in ((10, 3.0), (10, 0.5)):
        table = generator.poisson(rate * generator.gamma(1.0, 1.0, (size,) * 3))
        tables = margins(table, 2)
        known = system(tables, Onlooker())
        sample = generator.choice(known.size, SAMPLE, replace=False).tolist()
        slow = [timed(cold, known, cell) for cell in sample]
        scipy = sum(timed(by_scipy, known, cell)[0] for cell in sample[:4]) / 4 * known.size
        peer = sum(seconds for seconds, _ in slow) / SAMPLE * known.size
        ours, exposure = timed(by_lines, tables)
        decided, _ = timed(decide, tables)
        for cell, (_, ends) in zip(sample, slow, strict=True):
            assert exposure.lower[cell, 0] == np.ceil(ends[0] - 1e-6), cell
            assert exposure.upper[cell, 0] == np.floor(ends[1] + 1e-6), cell
        print(
            f"| {size}^3, mean {rate:g} | {known.size:,} | {peer:.0f} | {scipy:.0f} | {ours:.2f} | {peer / ours:.0f} "
            f"| {decided:.2f} | {peer / decided:.0f} |"
        )
    table = generator.poisson(3.0 * generator.gamma(1.0, 1.0, (30, 30, 30)))
    seconds, exposure = timed(decide, margins(table, 2))
    print(f"30^3: tau = 3 decided for {exposure.lower.size:,} cells in {seconds:.1f} s")


if __name__ == "__main__":
    main()
