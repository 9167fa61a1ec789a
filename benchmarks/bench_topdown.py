"""TopDown's cost against the number of areas: CPU seconds of each step on synthetic countries of growing size.

    python benchmarks/bench_topdown.py [--largest 16000] [--out curve.svg]
    python benchmarks/bench_topdown.py --whole 100000

Every country has 100 people per block, 50 blocks per tract and 24 counts in each area. The slope is that of the
logarithms: 1 is linear. Least squares alone are also measured on larger trees without people. With `--whole`, only the
command `safemargin topdown` is run, as a process of its own, on a country of so many blocks.
"""

import argparse
import math
import resource
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from safemargin.topdown.attributes import Attributes, Grouping, MarginQuery
from safemargin.topdown.country import AGE, SEX, TENURE, write_country
from safemargin.topdown.design import Design, Measurements, build_spine, combine_limits
from safemargin.topdown.folder import Folder
from safemargin.topdown.groups_of_areas import with_groups_of_areas
from safemargin.topdown.least_squares import fit
from safemargin.topdown.measure import add_noise, publish_measurements
from safemargin.topdown.project import TopDownProject
from safemargin.topdown.run import estimate
from safemargin.topdown.tables import solve_tables
from safemargin.topdown.tabulate import count_people, read_design
from safemargin.ui import to_svg

STEPS = ("count", "measure", "least squares", "all estimates")


def costs(blocks: int, folder: Path) -> tuple[int, dict[str, float]]:
    """Areas of a country, and CPU seconds by step; the last step includes the one before it."""
    project = TopDownProject.load(write_country(folder / "country", 100 * blocks, blocks))
    marks = [time.process_time()]
    design = read_design(project)
    counts = design.spine.counts(count_people(project, design.spine))
    marks.append(time.process_time())
    public = Folder(folder / "published")
    publish_measurements(public, design, counts)
    marks.append(time.process_time())
    fit(design, public.read_measurements(design))
    marks.append(time.process_time())
    estimate(public)
    marks.append(time.process_time())
    return design.spine.areas, dict(zip(STEPS, np.diff(marks).tolist(), strict=True))


def bare_tree(width: int, grouped: bool) -> tuple[int, float]:
    """Areas of a tree of three levels, and CPU seconds of least squares on it, with 24 counts and no people in each."""
    paths = [(f"{a}", f"{a}.{b}", f"{a}.{b}.{c}") for a in range(width) for b in range(width) for c in range(2 * width)]
    spine = build_spine(["land", "region", "tract", "block"], "land", paths)
    voting, working = (
        Grouping("voting", 1, ("no", "yes"), (0, 1, 1, 1)),
        Grouping("working", 1, ("no", "yes"), (0, 1, 1, 0)),
    )
    kinds = Attributes(("sex", "age", "tenure"), (SEX, AGE, TENURE), (voting, working) if grouped else ())
    titles = ("total", "voting", "sex*working", "detailed") if grouped else ("total", "age", "sex*age", "detailed")
    quarter = (Fraction(1, 4),) * 4
    queries = {kinds.query(title): Fraction(1, 4) for title in titles}
    total = MarginQuery(())
    free = np.zeros(kinds.cells(kinds.detailed), dtype=bool)
    exact = ((0, total),)
    design = Design(
        spine, kinds, Fraction(1), 1e-10, quarter, (queries,) * 4, exact, free, (), (), (total, kinds.detailed)
    )
    noisy = tuple(
        {query: np.zeros((len(names), kinds.cells(query)), dtype=np.int64) for query in queries}
        for names in spine.names
    )
    start = time.process_time()
    fit(design, Measurements(noisy, {(0, total): np.zeros((1, 1), dtype=np.int64)}))
    return spine.areas, time.process_time() - start


def curve(found: list[tuple[int, dict[str, float]]]) -> str:
    """The seconds of every step against the areas, both logarithmic."""
    values = [{"areas": areas, "step": step, "s": s} for areas, each in found for step, s in each.items()]
    axis = {"type": "quantitative", "scale": {"type": "log", "nice": False}}
    return to_svg(
        {
            "data": {"values": values},
            "width": 500,
            "height": 300,
            "mark": {"type": "line", "point": True},
            "encoding": {
                "x": {"field": "areas", **axis},
                "y": {"field": "s", **axis, "axis": {"title": "CPU seconds"}},
                "color": {"field": "step", "type": "nominal", "sort": list(STEPS)},
            },
        }
    )


def under_one_parent(areas: int) -> float:
    """CPU seconds for the integer tables of areas that all lie directly under one parent, 8 counts in each."""
    kinds = Attributes(("sex", "age"), (("f", "m"), ("a", "b", "c", "d")))
    spine = build_spine(["land", "block"], "all", [(f"b{number:07d}",) for number in range(areas)])
    total, detailed, half = MarginQuery(()), kinds.detailed, Fraction(1, 2)
    queries = ({detailed: Fraction(1)}, {total: half, detailed: half})
    common = ((0, total),), np.zeros(8, dtype=bool), (), (), (total, detailed)
    design = Design(spine, kinds, Fraction(1), 1e-10, (half, half), queries, *common)
    counts = spine.counts(np.random.default_rng(1).poisson(3, (areas, 8)).astype(np.int64))
    noisy = tuple(
        {query: add_noise(kinds.margin(counts[level], query), size) for query, size in design.measured(level).items()}
        for level in (0, 1)
    )
    measured = Measurements(noisy, {(0, total): kinds.margin(counts[0], total)})
    start = time.process_time()
    wide, places = with_groups_of_areas(design)
    measured = measured.placed(places)
    solve_tables(wide, combine_limits(wide, measured.exact), fit(wide, measured))
    return time.process_time() - start


def whole_command(blocks: int) -> str:
    """CPU seconds and memory of the command, from its start to its end."""
    with TemporaryDirectory() as name:
        path = write_country(Path(name, "country"), 100 * blocks, blocks)
        command = [sys.executable, "-m", "safemargin", "topdown", str(path), "--out", str(Path(name, "release"))]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = used.ru_utime + used.ru_stime
    return f"safemargin topdown on {blocks:,} blocks: {seconds:.1f} s of CPU, {used.ru_maxrss / 2**20:.2f} GiB"


def main() -> None:
    """Double the country until the largest."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--largest", type=int, default=16_000)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--whole", type=int, metavar="BLOCKS")
    options = parser.parse_args()
    if options.whole is not None:
        print(whole_command(options.whole))
        return
    few, many = under_one_parent(4_000), under_one_parent(16_000)
    print(f"under one parent: 16,000 areas {many:.2f} s, {many / few:.1f} times as long as 4,000 (4 is linear)")
    with TemporaryDirectory() as name:
        costs(100, Path(name, "first"))  # what is loaded with the first run
    found = []
    print(f"{'areas':>8}  " + "  ".join(f"{step:>14}" for step in STEPS) + "   ms per area in all")
    blocks = 1_000
    while blocks <= options.largest:
        with TemporaryDirectory() as name:
            areas, seconds = costs(blocks, Path(name))
        found.append((areas, seconds))
        whole = seconds["count"] + seconds["measure"] + seconds["all estimates"]
        print(f"{areas:>8,}  " + "  ".join(f"{seconds[s]:>12.2f} s" for s in STEPS) + f"   {1000 * whole / areas:.2f}")
        blocks *= 2
    sizes = [math.log(areas) for areas, _ in found]
    for step in STEPS if len(found) > 1 else ():
        slope = np.polyfit(sizes, [math.log(max(each[step], 1e-3)) for _, each in found], 1)[0]
        print(f"slope of {step}: {slope:.2f}")
    for crossing in (False, True):
        bare = [bare_tree(width, crossing) for width in (10, 14, 20, 28, 36)]
        slope = np.polyfit(*np.log(bare).T, 1)[0]
        words = "with groups that cross" if crossing else "without groups"
        print(f"least squares on {bare[-1][0]:,} areas {words}: {bare[-1][1]:.2f} s, slope {slope:.2f}")
    if options.out is not None:
        options.out.write_text(curve(found), encoding="utf-8")


if __name__ == "__main__":
    main()
