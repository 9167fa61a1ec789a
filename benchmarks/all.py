"""One table: safemargin beside the programs that people would use instead, in one run.

    python benchmarks/all.py [--peers PYTHON] [--tauargus PYTHON] [--rows 2000000] [--out docs/benchmarks.md]
    python benchmarks/all.py --skewed FOLDER [--before SOURCES] [--scale docs/scale.md]

`PYTHON` is an interpreter that has `cell-key-perturbation` and `acro`, or `pytauargus`; whatever is not installed is
listed with the reason. Where two programs answer the same question the run fails if the answers differ. `--out` writes
the table into the page between its marks. Seconds are CPU seconds (user and system, all threads and child processes) of
the call alone, best of three where it takes less than two. `before.json` has an earlier run: its ratios are the column
`before`. With `--skewed`, releases of skewed people (`bench_skewed.py`) are measured alone, beside the bare query, by
the code of another checkout too if its `src` is given. Read the ratios, since both sides of one come from the same
minutes of the same machine.
"""

import argparse
import csv
import json
import platform
import re
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import bench_bounds
import bench_outcome
import bench_scale
import bench_skewed
import bench_suppress
import numpy as np
import peers
from scipy.sparse import csr_matrix, kron, vstack
from scipy.sparse.linalg import lsmr

import safemargin
from safemargin.bounds import build_system, infer
from safemargin.core import Onlooker
from safemargin.io import open_counted
from safemargin.noise.perturb import perturb
from safemargin.noise.ptable_file import read_ptable
from safemargin.samplers import DiscreteGaussian, Geometric
from safemargin.suppress.suppress import find_pattern
from safemargin.topdown.attributes import Attributes
from safemargin.topdown.design import Design, Measurements, build_spine
from safemargin.topdown.least_squares import fit
from safemargin.voting.election import Election, uniform
from safemargin.voting.grid import enumerate_votes
from safemargin.voting.rules import rule_named

MARKS = "<!-- benchmarks/all.py -->"
VERSIONS = ("duckdb", "polars", "pandas", "pyspark", "highspy", "scipy", "opendp", "numpy")
NEVER = {
    "sdcTable, GaussSuppression and ptable (R)": (
        "Debian has R 4.2.2, but none of these packages (`apt-cache search r-cran`), and CRAN is not at hand"
    ),
    "Tumult Analytics": (
        "on Python 3.11 it needs PySpark below 3.6, which pip had not installed after 15 minutes on a busy machine"
    ),
}
QUICK = 2.0
BEFORE = json.loads(Path(__file__).with_name("before.json").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Line:
    """One peer beside us; without seconds, the reason."""

    question: str
    peer: str
    ours: float
    theirs: float | None
    answers: str

    def __str__(self) -> str:
        then = BEFORE["lines"].get(self.question.partition(":")[0], {}).get(self.peer, {})
        before = _ratio(then.get("ours"), then.get("peer"))
        theirs = "" if self.theirs is None else f"{self.theirs:.3g}"
        after = _ratio(self.ours, self.theirs)
        return f"| {self.question} | {self.peer} | {self.ours:.3g} | {theirs} | {before} | {after} | {self.answers} |"


def _ratio(ours: float | None, theirs: float | None) -> str:
    if ours is None or theirs is None:
        return ""
    ratio = theirs / max(ours, 1e-9)
    return f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.2g}"


def cpu() -> float:
    """Seconds of the processor that this process has used, and the processes that it waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds of the best run, and what it returned."""
    best, found = float("inf"), None
    for _ in range(3):
        start = cpu()
        found = call()
        best = min(best, cpu() - start)
        if best > QUICK:
            break
    return best, found


def beside(question: str, ours: float, peer: str, answer: Any, expected: object, words: str = "the same") -> Line:
    """A line about a peer of another process, whose answer must be the expected one."""
    if isinstance(answer, str):
        return Line(question, peer, ours, None, f"not run: {answer}")
    if answer[1] != expected:
        raise SystemExit(f"{question}: {peer} answers {str(answer[1])[:200]}, not {str(expected)[:200]}")
    return Line(question, peer, ours, answer[0], words)


def tabulation(folder: Path, rows: int) -> list[Line]:
    """All occupied profiles of a Parquet file."""
    sizes = [20, 12, 8, 6, 4, 2]
    data = bench_scale.write_people(folder, rows, sizes)
    (file,) = data.glob("*.parquet")
    columns = [*(bench_scale.name(axis) for axis in range(len(sizes))), "vote"]
    seconds, found = timed(lambda: open_counted(file).profiles(tuple(columns)))
    expected = {"profiles": len(found.counts), "people": int(found.counts.sum())}
    question = f"tabulate {rows:,} rows, 6 axes and the answer, {len(found.counts):,} profiles"
    return [
        beside(
            question, seconds, peer, peers.run(sys.executable, peer, folder, data=str(file), columns=columns), expected
        )
        for peer in ("DuckDB", "polars", "pandas", "Spark")
    ]


def bounds() -> list[Line]:
    """Three-way tables with all two-way margins; peers solve a sample of cells, which is multiplied up."""
    lines = []
    generator = np.random.default_rng(0)
    infer(bench_bounds.margins(np.ones((2, 2, 2), dtype=np.int64), 2))  # loads the solver
    for rate in (3.0, 0.5):
        tables = bench_bounds.margins(generator.poisson(rate * generator.gamma(1.0, 1.0, (10, 10, 10))), 2)
        system = build_system(tables, Onlooker())
        sample = generator.choice(system.size, bench_bounds.SAMPLE, replace=False).tolist()
        cold, ends = bench_bounds.sampled(bench_bounds.cold, system, sample)
        scipy, _ = bench_bounds.sampled(bench_bounds.by_scipy, system, sample)
        real = bench_bounds.timed(bench_bounds.by_lines, tables)
        for cell, (low, high) in zip(sample, ends, strict=True):
            assert real.result.lower[cell, 0] == np.ceil(low - 1e-6), cell
            assert real.result.upper[cell, 0] == np.floor(high + 1e-6), cell
        decided = bench_bounds.timed(bench_bounds.decide, tables)
        words = f"10x10x10, mean count {rate:g}"
        lines += [
            Line(f"all linear bounds, {words}", "HiGHS, cold", real.cpu, cold.cpu, "the same on the sample"),
            Line(f"all linear bounds, {words}", "scipy linprog", real.cpu, scipy.cpu, "the same on the sample"),
            Line(f"cells known to within 3, {words}", "HiGHS, cold", decided.cpu, cold.cpu, "ours for integer tables"),
        ]
    return lines


def suppression(folder: Path, python: str | None) -> list[Line]:
    """Secondary suppression of a table, ours to the optimum."""
    table = bench_suppress.random_table((20, 10), 500)
    seconds, pattern = timed(lambda: find_pattern(table, (1, 3), extra=0, seconds=60.0))
    question = f"suppress 20x10: {len(pattern.suppressed)} cells, at least {pattern.lower_bound}"
    if python is None:
        return [Line(question, "tau-ARGUS OPT", seconds, None, "not run: no interpreter with pytauargus was named")]
    said = bench_suppress.peer(python, table, "OPT(1,5)", folder)
    match = re.search(r"([0-9.]+) s$", said)
    return [
        Line(
            question,
            "tau-ARGUS OPT",
            seconds,
            float(match[1]) if match else None,
            said if match else f"not run: {said}",
        )
    ]


def cell_keys(folder: Path, rows: int, python: str) -> list[Line]:
    """Counts with noise by integer record keys, from the peer's own p-table."""
    generator = np.random.default_rng(4)
    path, table = folder / "records.csv", folder / "ptable.csv"
    columns = {"a": 50, "b": 20}
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*columns, "record_key"])
        drawn = [generator.integers(0, size, rows).tolist() for size in (*columns.values(), 256)]
        writer.writerows([f"a{a}", f"b{b}", key] for a, b, key in zip(*drawn, strict=True))
    question = f"cell keys, {rows:,} records, 1,000 cells"
    found = peers.run(python, "cell-key-perturbation", folder, data=str(path), columns=[*columns], ptable=str(table))
    if isinstance(found, str):
        return [Line(question, "cell-key-perturbation", float("nan"), None, f"not run: {found}")]
    given = {"ptable": read_ptable(table, biased=True), "record_key": "record_key", "modulus": 256}
    ours, noised = timed(lambda: perturb(path, [*columns], **given))
    mine = {tuple(row["cell"].values()): row["count"] for row in noised.to_json()["cells"]}
    theirs = {(a, b): int(float(count)) for a, b, _, count in found[1]["cells"]}  # type: ignore[attr-defined]
    assert all(mine[cell] == count for cell, count in theirs.items()), "the noised counts differ"
    return [Line(question, "cell-key-perturbation", ours, found[0], "the same counts; ours with all margins")]


def checks(folder: Path, python: str) -> list[Line]:
    """Is a table of two columns safe to publish? Rules of thumb, and what can be inferred."""
    path = folder / "records.csv"
    found = peers.run(python, "ACRO", folder, data=str(path), columns=["a", "b"])
    counted = open_counted(path).profiles(("a", "b"))
    rows = [
        {"a": counted.labels[0][a], "b": counted.labels[1][b], "count": count}
        for (a, b), count in zip(counted.codes.tolist(), counted.counts.tolist(), strict=True)
    ]
    seconds, _ = timed(lambda: safemargin.audit(rows))
    question = "check a table of 50x20 cells"
    if isinstance(found, str):
        return [Line(question, "ACRO", seconds, None, f"not run: {found}")]
    return [Line(question, "ACRO crosstab", seconds, found[0], "another question: thresholds only; ours attacks")]


def noise() -> list[Line]:
    """Exact noise on counts."""
    counts = np.random.default_rng(5).poisson(20, 100_000).astype(np.int64)
    lines = []
    for name, mechanism in (
        ("two-sided geometric", Geometric(1.0)),
        ("discrete Gaussian", DiscreteGaussian(Fraction(4))),
    ):
        ours, _ = timed(lambda: mechanism.protect(counts))  # noqa: B023
        theirs, _ = timed(lambda: mechanism.protect(counts, "opendp"))  # noqa: B023
        lines.append(Line(f"{name} noise on 100,000 counts", "OpenDP", ours, theirs, "the same law"))
    return lines


def least_squares() -> list[Line]:
    """The estimate of TopDown before rounding, against LSMR on the whole sparse system."""
    width, kinds = 10, Attributes(("sex", "age"), (("f", "m"), ("a", "b", "c", "d")))
    paths = [(f"{a}", f"{a}.{b}", f"{a}.{b}.{c}") for a in range(width) for b in range(width) for c in range(2 * width)]
    spine = build_spine(["land", "region", "tract", "block"], "land", paths)
    queries = {kinds.query(title): Fraction(1, 3) for title in ("total", "age", "detailed")}
    shares, free = (Fraction(1, 4),) * 4, np.zeros(8, dtype=bool)
    design = Design(spine, kinds, Fraction(1), 1e-10, shares, (queries,) * 4, (), free, (), (), (kinds.detailed,))
    generator = np.random.default_rng(6)
    noisy = tuple(
        {query: generator.integers(0, 50, (len(names), kinds.cells(query))) for query in queries}
        for names in spine.names
    )
    ours, found = timed(lambda: fit(design, Measurements(noisy, {})).estimate(3))
    leaves = len(spine.names[3])
    above = [csr_matrix(sums) for sums in spine.counts(np.eye(leaves, dtype=np.int64))]

    def plain() -> np.ndarray:
        rows, values, weights = [], [], []
        for level, sums in enumerate(above):
            for query, variance in design.noise(level).items():
                rows.append(kron(sums, csr_matrix(kinds.margin(np.eye(8, dtype=np.int64), query).T)))
                values.append(noisy[level][query].ravel())
                weights.append(np.full(len(values[-1]), 1 / variance))
        matrix, weight = vstack(rows).tocsr(), np.concatenate(weights)
        # Normal equations would be dense, since the counts of the whole land tie all areas together.
        root = np.sqrt(weight)
        solved = lsmr(matrix.multiply(root[:, None]).tocsr(), root * np.concatenate(values), atol=1e-12, btol=1e-12)
        return np.asarray(solved[0]).reshape(leaves, 8)

    theirs, expected = timed(plain)
    assert abs(found - expected).max() < 1e-6, "the estimates differ"
    return [
        Line(
            f"least squares, {spine.areas:,} areas of 8 counts", "GLS in scipy (LSMR)", ours, theirs, "the same to 1e-6"
        )
    ]


def voting() -> list[Line]:
    """What a winner discloses, against enumeration of all ways to vote."""
    lines = []
    for name, voters, engine, run in bench_outcome.CASES:
        rule = rule_named(name, 3)
        election = Election(rule, voters, uniform(rule))
        ours, delta = timed(lambda: run(election).worst().delta)  # noqa: B023
        theirs, expected = timed(lambda: enumerate_votes(election.kinds).worst().delta)  # noqa: B023
        assert abs(delta - expected) < 1e-12
        lines.append(Line(f"{name}, {voters:,} voters, {engine}", "enumeration", ours, theirs, "the same to 1e-12"))
    return lines


def page(lines: list[Line]) -> str:
    """The table with what it was measured on."""
    known = []
    for name in VERSIONS:
        try:
            known.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            known.append(f"{name} not installed")
    listed = [
        f"Python {platform.python_version()}, {', '.join(known)}; two cores of a machine on which other programs ran. "
        f"*Before* are the ratios of {BEFORE['seconds']} seconds in the run of {BEFORE['date']} "
        f"(commit {BEFORE['commit']}, `benchmarks/before.json`).",
        "",
        "| question | peer | ours, CPU s | peer, CPU s | peer / ours before | after | answers |",
        "|---|---|---|---|---|---|---|",
        *map(str, lines),
        "",
        "Not run:",
        "",
        *(f"- {name}: {reason}." for name, reason in NEVER.items()),
        *(f"- {line.peer}: {line.answers.removeprefix('not run: ')}." for line in lines if line.theirs is None),
    ]
    return "\n".join(listed)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--peers", default=sys.executable)
    parser.add_argument("--tauargus")
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--skewed", type=Path, metavar="FOLDER", help="where the people are kept")
    parser.add_argument("--before", type=Path, metavar="SOURCES")
    parser.add_argument("--scale", type=Path)
    said = parser.parse_args()
    if said.skewed is not None:
        text = bench_skewed.table(said.skewed, before=said.before)
        if said.scale is not None:
            write_between(said.scale, "<!-- bench_skewed.py -->", text)
        return
    lines: list[Line] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        parts: list[Callable[[], list[Line]]] = [
            lambda: tabulation(folder, said.rows),
            bounds,
            lambda: suppression(folder, said.tauargus),
            lambda: cell_keys(folder, 200_000, said.peers),
            lambda: checks(folder, said.peers),
            noise,
            least_squares,
            voting,
        ]
        for part in parts:
            for line in part():
                print(line, flush=True)
                lines.append(line)
    text = page(lines)
    if said.out is None:
        print(text)
        return
    write_between(said.out, MARKS, text)


def write_between(page: Path, mark: str, text: str) -> None:
    """Put a text between the two marks of a page."""
    before, _, rest = page.read_text(encoding="utf-8").partition(mark)
    after = rest.partition(mark)[2]
    page.write_text(f"{before}{mark}\n\n{text}\n\n{mark}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
