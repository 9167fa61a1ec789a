"""Noise on a million cells and cell keys for ten million records, beside plain numpy, in one run.

    python benchmarks/bench_noise.py [--records 10000000] [--cells 1000000]

The numpy baseline adds noise without keys, secrets or exact sums: it is what the work costs at least. Prints CPU
seconds, best of three where that takes no more than a few, and ratios.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from safemargin.noise.columns import RecordColumns
from safemargin.noise.records import read_cells
from safemargin.samplers import (
    HASHED,
    DiscreteGaussian,
    Geometric,
    noise_of,
    ptable,
    record_keys,
    reference_ptable,
    request,
    secret_of,
)


def timed(call: Callable[[], Any], runs: int = 3) -> tuple[float, Any]:
    """CPU seconds of the best run, and what it returned."""
    best, found = float("inf"), None
    for _ in range(runs):
        start = time.process_time()
        found = call()
        best = min(best, time.process_time() - start)
    return best, found


def line(words: str, seconds: float, baseline: float) -> None:
    print(f"| {words} | {seconds:.3f} | {baseline:.3f} | {seconds / baseline:.1f} |", flush=True)


def plain_noise(generator: np.random.Generator, counts: np.ndarray, law: np.ndarray) -> np.ndarray:
    """Fresh noise of one law on every cell."""
    found: np.ndarray = counts + np.searchsorted(np.cumsum(law), generator.random(counts.size)) - len(law) // 2
    return found


def plain_geometric(generator: np.random.Generator, counts: np.ndarray, epsilon: float) -> np.ndarray:
    chance = 1 - np.exp(-epsilon)
    found: np.ndarray = counts + generator.geometric(chance, counts.size) - generator.geometric(chance, counts.size)
    return found


def cells_of(generator: np.random.Generator, size: int) -> None:
    """Noise on cells whose keys are known."""
    counts = generator.poisson(20, size).astype(np.int64)
    keys = generator.integers(0, 2**48, size)
    table, _ = ptable(request(5, 2))
    baseline, _ = timed(partial(plain_noise, generator, counts, table.matrix[-1]))
    ours, noise = timed(lambda: counts + noise_of(table, counts, keys))
    assert abs(noise - counts).max() <= 5
    line(f"noise by cell keys, {size:,} cells", ours, baseline)
    exact = [
        ("two-sided geometric noise", Geometric(1.0), partial(plain_geometric, generator, counts, 1.0)),
        (
            "discrete Gaussian noise",
            DiscreteGaussian(Fraction(4)),
            lambda: counts + np.rint(generator.normal(0, 2.0, size)),
        ),
    ]
    for name, mechanism, plain in exact:
        baseline, _ = timed(plain)
        ours, _ = timed(partial(mechanism.protect, counts))
        opendp, _ = timed(partial(mechanism.protect, counts, "opendp"), 1)
        line(f"{name} by inversion, {size:,} cells", ours, baseline)
        line(f"{name} by OpenDP, {size:,} cells", opendp, baseline)
        print(f"| {name}: OpenDP over inversion | | | {opendp / ours:.0f} |", flush=True)


def records_of(generator: np.random.Generator, size: int) -> None:
    """Keys of cells from keys of records, in memory and from a file, and keys of records from ids."""
    cells = 10_000
    places = generator.integers(0, cells, size)
    keys = generator.integers(0, 2**48, size)
    real = keys / 2**48
    baseline, theirs = timed(lambda: np.bincount(places, weights=real, minlength=cells) % 1)
    ours, mine = timed(lambda: HASHED.cell_keys(places, keys, cells))
    apart = abs(mine / 2**48 - theirs)
    assert np.minimum(apart, 1 - apart).max() < 1e-6
    line(f"cell keys of {size:,} records in memory, {cells:,} cells", ours, baseline)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "records.parquet"
        duckdb.sql(
            f"copy (select (random() * 100)::int::varchar as a, (random() * 100)::int::varchar as b, "
            f"(random() * 1e8)::int / 1e8 as key from range({size})) to '{path}' (format parquet)"
        )
        ours, found = timed(lambda: read_cells(path, RecordColumns(("a", "b"), key="key")), 1)
        assert int(found.counts.sum()) == size
    line(f"the same from a Parquet file, {len(found.counts):,} cells", ours, baseline)
    ids = [str(n) for n in range(min(size, 2_000_000))]
    secret = secret_of(b"a secret of more than sixteen bytes")
    baseline, _ = timed(lambda: generator.random(size))
    ours, _ = timed(lambda: record_keys(ids, secret), 1)
    line(f"record keys of {size:,} ids (BLAKE2b; measured on {len(ids):,})", ours * size / len(ids), baseline)


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--records", type=int, default=10_000_000)
    options.add_argument("--cells", type=int, default=1_000_000)
    asked = options.parse_args()
    generator = np.random.default_rng(0)
    timed(lambda: Geometric(1.0).protect(np.zeros(1, dtype=np.int64)), 1)  # loads the library
    print("| | ours, CPU s | numpy, CPU s | ratio |")
    print("|---|---|---|---|")
    cells_of(generator, asked.cells)
    records_of(generator, asked.records)
    for bound, variance, js in ((5, 2, 0), (5, 3, 2), (10, 2, 0), (20, 4, 0)):
        exact, _ = timed(partial(ptable, request(bound, variance, js)))
        theirs, _ = timed(partial(reference_ptable, request(bound, variance, js)))
        print(f"p-table D={bound}, V={variance}, js={js}: {exact:.3f} s exactly, {theirs:.3f} s as the reference")


if __name__ == "__main__":
    main()
