"""Deciding for a million people by 100 districts and seven more axes, against the two minutes it may take.

    python benchmarks/bench_decide.py [people]
    python benchmarks/bench_decide.py city [people]

Yes or no; axes of 100, 9, 5, 3, 6, 4, 7 and 2 categories. Prints profiles, seconds, and what the certificate says. With
`city`, every pair of axes of the synthetic city is asked for: how much of it is published, how much more at most,
and how long choosing takes beside deciding single axes.
"""

import sys
import time
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from safemargin import Table, Target
from safemargin.core.arrays import frozen, group_sums, row_keys
from safemargin.core.axis import Axis, Schema
from safemargin.core.table import Tally
from safemargin.release.decide.decide import decide
from safemargin.release.decide.maximise import maximise
from safemargin.release.demo import write_city
from safemargin.release.inputs import tabulate
from safemargin.release.plan import Wanted
from safemargin.release.project import Project
from safemargin.ui import progress_bar

SIZES = (100, 9, 5, 3, 6, 4, 7, 2)


def country(people: int) -> Table:
    """Random people with votes that lean on every axis."""
    rng = np.random.default_rng(1)
    columns = [rng.choice(size, people, p=rng.dirichlet(np.full(size, 3.0))) for size in SIZES]
    lean = np.sum([np.cos(column * 1.7 + place) * 0.4 for place, column in enumerate(columns)], axis=0)
    yes = (rng.random(people) < 1 / (1 + np.exp(-lean))).astype(np.int64)
    codes = np.stack(columns, axis=1)
    first, counts = group_sums(row_keys(codes, SIZES), np.stack([yes, 1 - yes], axis=1))
    names = tuple(f"axis {place}" for place in range(len(SIZES)))
    labels = [tuple(f"{code:03d}" for code in range(size)) for size in SIZES]
    axes = tuple(Axis(name, label) for name, label in zip(names, labels, strict=True))
    where = frozen(codes[first], len(SIZES))
    roll = Tally(names, where, frozen(counts.sum(axis=1), 1))
    return Table(Schema(axes, ("yes", "no")), (Tally(names, where, frozen(counts, 2)),), (roll,))


def city(people: int) -> None:
    """Choose among all pairs of axes of the synthetic city."""
    with TemporaryDirectory() as folder:
        project = Project.load(write_city(Path(folder), people))
        table = tabulate(project)
    start = time.process_time()
    plan = decide(table, project.target)
    single = time.process_time() - start
    wanted = [Wanted(pair) for pair in combinations(table.schema.names, 2)]
    start = time.process_time()
    with progress_bar("choosing") as progress:
        plan = maximise(plan, table, wanted, progress=progress)
    took = time.process_time() - start
    assert plan.maximum is not None
    print(f"single axes in {single:.1f} CPU s, pairs in {took:.0f} CPU s: {took / single:.0f} times as long")
    print(f"worth {plan.maximum.value:g}, at most {plan.maximum.bound:g}; {plan.maximum.proofs} tests")
    print(f"{plan.maximum.unproved} of them undecided; {plan.certificate.linear} cells by a real-valued witness only")
    for each in plan.margins:
        print(f"  {each.name}: {each.cells} of {each.all_cells} cells; {each.reason}")


def main() -> None:
    if sys.argv[1:2] == ["city"]:
        city(int(sys.argv[2]) if len(sys.argv) > 2 else 500_000)
        return
    people = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    table = country(people)
    start = time.perf_counter()
    with progress_bar("deciding") as progress:
        plan = decide(table, Target(beta=0.05, kappa=100, tau=3), progress=progress)
    took = time.perf_counter() - start
    held = plan.certificate
    print(f"{held.checked['joint cells']:,} profiles decided in {took:.0f} s of 120; certified: {held.certified}")
    print(f"{sum(held.checked.values()):,} cells checked, {held.linear:,} of them by a real-valued witness only")


if __name__ == "__main__":
    main()
