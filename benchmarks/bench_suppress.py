"""Suppressing beside tau-ARGUS: how many cells, how many of them a reader works out, and how long it takes.

    python benchmarks/bench_suppress.py [--peer PYTHON] [--large | --linked] [--anytime] [--seconds 120]

`PYTHON` is an interpreter that has `pytauargus` and `pandas`; without it only this side is run. Tables are random:
people fall into categories of uneven size, independently. Counts of 1 to 3 are primary and empty cells are published.
`--large` runs 60x40x6 (17,507 cells with margins) instead, on which the peer is stopped after 15 minutes. What the peer
writes beside its output goes to a temporary folder. `--linked` protects sets of tables of one population at once, for
which the peer has no call. `--anytime` lists the suppressed cells by CPU seconds, as ratios to those of the last one.
"""

import argparse
import csv
import json
import subprocess
import sys
import tempfile
import time
from itertools import product
from pathlib import Path

import numpy as np

from safemargin.audit.attack import attack
from safemargin.core import Hierarchy, Lattice, Publication, Target, lattice, no_progress, numpy_generator
from safemargin.io import read_published
from safemargin.suppress.linked import link, single
from safemargin.suppress.problem import build_problem
from safemargin.suppress.report import pattern_csv
from safemargin.suppress.search import PatternSearch
from safemargin.suppress.suppress import find_pattern

TABLES = [((20, 10), 500), ((8, 6, 5), 400), ((12, 10, 8), 1_800)]
LARGE = ((60, 40, 6), 223_559)
LINKED: list[tuple[tuple[int, ...], float, list[tuple[int, ...]], int]] = [
    ((20, 8, 6), 1.2, [(0, 1), (0, 2)], 0),
    ((20, 8, 6), 1.2, [(0, 1), (0, 2)], 1),
    ((12, 6, 5), 1.2, [(0, 1), (0, 2), (1, 2)], 0),
    ((100, 12, 8), 0.24, [(0, 1), (0, 2)], 0),
]
"""Categories per axis, mean count, axes of each table, insiders."""
STOP = 900.0

PEER = """
import json, os, sys
import pandas as pd
from pytauargus import protect
rows = pd.read_csv(sys.argv[1], dtype=str)
rows["one"] = 1
start = sum(os.times()[:4])  # tau-ARGUS is a program of its own, which has ended then
result = protect(rows, list(rows.columns[:-1]), response="one", safety_rules="FREQ(4,30)", suppress=sys.argv[2])
result.tables[0].dataframe().to_csv(sys.argv[3], index=False)
print(json.dumps({"seconds": sum(os.times()[:4]) - start}))
"""


def random_table(shape: tuple[int, ...], people: int) -> Lattice:
    """People at random in categories of uneven size."""
    generator = numpy_generator(1)
    share = np.ones(())
    for size in shape:
        share = np.multiply.outer(share, generator.gamma(1.0, size=size) + 0.05)
    base = generator.multinomial(people, (share / share.sum()).ravel()).reshape(shape)
    return lattice(
        [Hierarchy.flat(f"v{a}", [f"{'abc'[a]}{c:02d}" for c in range(size)]) for a, size in enumerate(shape)], base
    )


def recovered(path: Path) -> tuple[int, int]:
    """Suppressed counts of a file, and how many of them follow from the rest."""
    attempts = attack(Publication(read_published([path]), Target(kappa=10, tau=0))).attempts
    attempt = next(one for one in attempts if one.attack == "suppressed")
    return attempt.looked_at, len(attempt.findings)


def ours(table: Lattice, folder: Path, limit: float) -> str:
    """Our pattern, attacked like any other where that takes seconds; its certificate stands for it elsewhere."""
    start = time.perf_counter()
    pattern = find_pattern(table, (1, 3), extra=0, seconds=limit)
    seconds = time.perf_counter() - start
    exact = 0
    if table.counts.size < 2_000:
        path = folder / "pattern.csv"
        path.write_text(pattern_csv(pattern))
        exact = recovered(path)[1]
    known = f"{len(pattern.exposed)} known to be at most 3"
    return (
        f"{len(pattern.suppressed)} cells (at least {pattern.lower_bound}), {exact} recovered, {known}, {seconds:.1f} s"
    )


def peer(python: str, table: Lattice, method: str, folder: Path) -> str:
    """The same table through tau-ARGUS, as one line per person."""
    people, output = folder / "people.csv", folder / "peer.csv"
    leaves = [[tree.labels[leaf] for leaf in tree.leaves] for tree in table.trees]
    base = table.counts[np.ix_(*(tree.leaves for tree in table.trees))].ravel()
    with people.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([tree.name for tree in table.trees])
        for cell, count in zip(product(*leaves), base.tolist(), strict=True):
            writer.writerows([cell] * count)
    command = [python, "-c", PEER, str(people), method, str(output)]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=STOP, check=False, cwd=folder)
    except subprocess.TimeoutExpired:
        return f"no answer in {STOP:.0f} s"
    if run.returncode:
        return f"failed: {run.stderr.strip().splitlines()[-1]}"
    seconds = json.loads(run.stdout.splitlines()[-1])["seconds"]
    cells, exact = recovered(output)
    return f"{cells} cells, {exact} recovered, {seconds:.1f} s"


def anytime(table: Lattice, limit: float) -> str:
    """By CPU seconds, the cells of the best pattern so far over those of the last; and the last over the bound."""
    found: list[tuple[float, int]] = []
    start = time.process_time()
    search = PatternSearch(build_problem(single(table), (1, 3)), limit, no_progress)

    def note(_: str) -> None:
        if search.best is not None:
            found.append((time.process_time() - start, search.value(search.best)))

    search.progress = note
    search.search()
    last = found[-1][1]
    near = next(seconds for seconds, cells in found if cells <= 1.05 * last)
    steps = [min(cells for seconds, cells in found if seconds <= max(at, found[0][0])) for at in (0.5, 1, 2, 5, 15, 60)]
    ratios = ", ".join(f"{cells / last:.3f}" for cells in steps)
    return (
        f"first after {found[0][0]:.2f} CPU s; over the last at .5, 1, 2, 5, 15, 60 CPU s: {ratios}; within 5 % after "
        f"{near:.1f}; last {last} cells, {last / search.bound:.3f} of the bound, "
        f"{time.process_time() - start:.0f} CPU s"
    )


def linked(limit: float) -> None:
    """Sets of tables at once."""
    generator = numpy_generator(2)
    for shape, mean, scopes, insiders in LINKED:
        people = generator.poisson(generator.gamma(0.6, mean, size=shape))
        tables = {}
        for scope in scopes:
            trees = [Hierarchy.flat(f"v{a}", [f"{'abc'[a]}{c:02d}" for c in range(shape[a])]) for a in scope]
            others = tuple(a for a in range(len(shape)) if a not in scope)
            tables["x".join(str(shape[a]) for a in scope)] = lattice(trees, people.sum(axis=others))
        start = time.perf_counter()
        pattern = find_pattern(link(tables), (1, 3), insiders=insiders, extra=0, seconds=limit)
        seconds = time.perf_counter() - start
        primary = int(pattern.is_primary.sum())
        print(
            f"{', '.join(tables)}, {insiders} insiders: {pattern.size:,} cells, {primary} primary, "
            f"{len(pattern.suppressed)} suppressed (at least {pattern.lower_bound}), {seconds:.1f} s"
        )


def main() -> None:
    """Run all tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--peer")
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--linked", action="store_true")
    parser.add_argument("--anytime", action="store_true")
    parser.add_argument("--seconds", type=float, default=120.0)
    options = parser.parse_args()
    if options.linked:
        linked(options.seconds)
        return
    for shape, people in [LARGE] if options.large else TABLES:
        table = random_table(shape, people)
        primary = int(((table.counts >= 1) & (table.counts <= 3)).sum())
        print(f"{'x'.join(map(str, shape))}: {table.counts.size:,} cells, {primary} primary")
        if options.anytime:
            print(f"  {anytime(table, options.seconds)}", flush=True)
            continue
        with tempfile.TemporaryDirectory() as name:
            print(f"  safemargin     {ours(table, Path(name), options.seconds)}")
            for method in ("OPT(1,5)", "MOD(1,5,1,1,1)") if options.peer else ():
                print(f"  tau-ARGUS {method[:3]}  {peer(options.peer, table, method, Path(name))}")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
