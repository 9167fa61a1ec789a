"""Deciding for a million people by 100 districts and seven more axes, against the two minutes it may take.

    python benchmarks/bench_decide.py [people]

Yes or no; axes of 100, 9, 5, 3, 6, 4, 7 and 2 categories. Prints profiles, seconds, and what the certificate says.
"""

import sys
import time

import numpy as np
from rich.progress import Progress

from safemargin import Table, Target, decide
from safemargin.model.arrays import frozen, group_sums, row_keys
from safemargin.model.domain import Axis, Schema
from safemargin.model.table import Tally

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


def main() -> None:
    people = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    table = country(people)
    start = time.perf_counter()
    with Progress(transient=True) as bar:
        task = bar.add_task("deciding")
        plan = decide(
            table,
            Target(beta=0.05, kappa=100, tau=3),
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
    took = time.perf_counter() - start
    held = plan.certificate
    print(f"{held.checked['joint cells']:,} profiles decided in {took:.0f} s of 120; certified: {held.certified}")
    print(f"{sum(held.checked.values()):,} cells checked, {held.linear:,} of them by a real-valued witness only")


if __name__ == "__main__":
    main()
