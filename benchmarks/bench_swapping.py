"""Swapping beside one sort of the same data: CPU and wall seconds, ratios to the sort, peak memory.

    python benchmarks/bench_swapping.py [--records 10000000] [--blocks 100000] [--rates 0.05,0.5] [--distinct]

A synthetic country in Parquet: 50 states, 100,000 blocks, age group, sex, race and tenure. Blocks are swapped within
state, age group and sex. With few blocks many records are alike; with `--distinct` every record has a number of its
own, so that no two are. The peer is `order by all` of the same columns in DuckDB with the same settings, written to
Parquet as well. A table holds tenure and no race: with both most records would stand alone, and `swap` refuses to call
that a table.
"""

import argparse
import resource
import tempfile
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import duckdb

import safemargin
from safemargin.io.duck import SETTINGS

COUNTRY = """
copy (
    select (block * 50 // {blocks})::int as state, block::int as block, (hash(i + 1) % 20)::int as age,
           (hash(i + 2) % 2)::int as sex, (hash(i + 3) % 6)::int as race, (hash(i + 4) % 3)::int as tenure{more}
    from (select hash(n) % {blocks} as block, n as i from range({records}) t(n))
) to '{path}' (format parquet)
"""


def seconds(work: Callable[[], object]) -> tuple[float, float]:
    """CPU seconds of one call, of all threads, and wall seconds."""
    start = time.process_time(), time.perf_counter()
    work()
    return time.process_time() - start[0], time.perf_counter() - start[1]


def sort(path: Path, out: Path) -> None:
    """The peer."""
    with duckdb.connect(":memory:", config=SETTINGS) as database:
        database.execute(f"copy (select * from read_parquet('{path}') order by all) to '{out}' (format parquet)")


def main() -> None:
    """Measure the sort twice and every rate and form once."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--records", type=int, default=10_000_000)
    parser.add_argument("--blocks", type=int, default=100_000)
    parser.add_argument("--rates", default="0.05,0.5")
    parser.add_argument("--distinct", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        path, out = Path(name) / "country.parquet", Path(name) / "out.parquet"
        more = ", i as number" if options.distinct else ""
        duckdb.execute(COUNTRY.format(more=more, records=options.records, blocks=options.blocks, path=path))
        peer = min(seconds(lambda: sort(path, out)) for _ in range(2))
        print(
            f"{options.records:,} records{', all distinct' if options.distinct else ''}: "
            f"one sort {peer[0]:.1f} s CPU, {peer[1]:.1f} s wall"
        )
        held = ["race", "tenure", *(["number"] if options.distinct else [])]
        for text in options.rates.split(","):
            for form in ("records",) if options.distinct else ("table", "records"):
                took = seconds(
                    lambda text=text, form=form: safemargin.swap(  # type: ignore[misc]
                        path,
                        swapped=["block"],
                        match=["state", "age", "sex"],
                        hold=held if form == "records" else ["tenure"],
                        rate=Fraction(text),
                        form=form,
                    )
                )
                ratios = ", ".join(f"{ours / theirs:.1f}" for ours, theirs in zip(took, peer, strict=True))
                print(f"  rate {text}, {form}: {took[0]:.1f} s CPU, {took[1]:.1f} s wall; ratios {ratios}", flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"  peak memory {peak:.1f} GiB")


if __name__ == "__main__":
    main()
