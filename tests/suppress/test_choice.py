"""Which pattern is chosen: totals last, costs, cells to keep, records, a time limit, and what a rerun discloses."""

import json
import math
from itertools import combinations, count, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from safemargin import InputError, RefusedError, suppress, verify
from safemargin.core import BoolArray, Hierarchy, IntArray, Lattice, lattice, numpy_generator
from safemargin.suppress import suppress as module
from safemargin.suppress.feasibility import PatternBuilder
from safemargin.suppress.linked import LinkedTables, single
from safemargin.suppress.moves import MoveStore, Problem
from safemargin.suppress.problem import build_problem
from safemargin.suppress.suppress import find_pattern

ROW = "row,column,count\n"


def small(base: object) -> Lattice:
    counts = np.array(base, dtype=np.int64)
    trees = [Hierarchy.flat(f"x{a}", [f"{a}{c}" for c in range(size)]) for a, size in enumerate(counts.shape)]
    return lattice(trees, counts)


def tables_that_print_the_same(table: Lattice, hidden: IntArray) -> IntArray:
    """Every table of at least one person where a cell is not empty, by listing: one row of all its sums each."""
    base = table.counts[np.ix_(*(tree.leaves for tree in table.trees))]
    cells, total = np.flatnonzero(base), int(base.sum())
    shown = np.setdiff1d(np.arange(table.counts.size), hidden)
    found = []
    for cuts in combinations(range(1, total), len(cells) - 1):
        counts = np.zeros(base.size, dtype=np.int64)
        counts[cells] = np.diff([0, *cuts, total])
        every = lattice(table.trees, counts.reshape(base.shape)).counts.ravel()
        if (every[shown] == table.counts.ravel()[shown]).all():
            found.append(every)
    return np.array(found)


def test_who_reruns_the_program_cannot_infer_a_count() -> None:
    """[[5, 2, 0], [5, 9, 1]]: one pattern for one of the five tables would disclose every count."""
    table = small([[5, 2, 0], [5, 9, 1]])
    pattern = find_pattern(table, (1, 3), extra=0)
    assert pattern.rerun.shown and len(pattern.suppressed) == 6
    hidden = frozenset(pattern.suppressed.tolist())
    possible = tables_that_print_the_same(table, pattern.suppressed)
    others = [lattice(table.trees, every.reshape(table.shape)[1:, 1:]) for every in possible]
    seen: set[int] = set()
    # Two other tables lead to this pattern, each in about a fifth of the runs: the chance that neither does in 60
    # rounds is .8^120, below one in a million million.
    for _ in range(60):
        for number, other in enumerate(others):
            if frozenset(find_pattern(other, (1, 3), extra=0).suppressed.tolist()) == hidden:
                seen.add(number)
        differ = np.ptp(possible[sorted(seen)], axis=0) > 0 if seen else np.zeros(table.counts.size, dtype=bool)
        if differ[pattern.suppressed].all():
            return
    pytest.fail("whoever runs the program again can infer a count")


def test_a_rerun_counts_the_people_of_the_other_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Costs by people are hidden counts too, so they differ in every table that prints the same."""
    calls: list[tuple[IntArray, IntArray]] = []

    def build(tables: LinkedTables, *options: Any) -> Problem:
        calls.append((tables.counts, options[5]))
        return build_problem(tables, *options)

    monkeypatch.setattr(module, "build_problem", build)
    assert find_pattern(small([[1, 2, 3], [2, 3, 2]]), (1, 1), extra=0, cost="people").rerun.tables > 0
    assert len({counts.tobytes() for counts, _ in calls}) > 1
    assert all((cost == np.maximum(counts, 1)).all() for counts, cost in calls)


def test_chance_chooses_among_patterns_that_are_equally_good() -> None:
    table = small([[2, 9, 9, 9], [9, 9, 9, 9], [9, 9, 9, 9], [9, 9, 9, 9]])
    patterns = {tuple(find_pattern(table, (1, 3)).suppressed.tolist()) for _ in range(12)}
    # Nine equal patterns: the chance that twelve runs all give the same is 9^-11, below one in a thousand million.
    assert len(patterns) > 1 and {len(pattern) for pattern in patterns} == {4}


def test_no_total_is_hidden_where_inner_cells_do() -> None:
    table = small([[2, 9, 9], [9, 9, 9], [9, 9, 9]])
    for _ in range(5):
        pattern = find_pattern(table, (1, 3))
        assert all(len(pattern.tables.cell(cell)) == 2 for cell in pattern.suppressed.tolist())


def test_cells_to_keep(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(ROW + "a,x,2\na,y,9\na,z,9\nb,x,9\nb,y,9\nb,z,9\nc,x,9\nc,y,9\nc,z,9\n")
    for _ in range(4):
        found = suppress(path, keep=["row=b,column", "row=a,column=y", "row", "column"]).pattern
        cells = [found.tables.cell(cell) for cell in found.suppressed.tolist()]
        assert all(cell.get("row") != "b" and cell != {"row": "a", "column": "y"} for cell in cells)
    with pytest.raises(InputError, match="keep = 'age': there is no axis 'age'"):
        suppress(path, keep=["age"])
    with pytest.raises(InputError, match="keep = 'row=q': there is no category 'q' of row"):
        suppress(path, keep=["row=q"])


def test_costs(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    costs = {"x": 5, "y": 1, "z": 5}
    lines = [f"{r},{c},{2 if r + c == 'ax' else 9},{1 if r == 'b' else costs[c]}\n" for r in "abc" for c in "xyz"]
    path.write_text("row,column,count,effort\n" + "".join(lines))
    found = suppress(path, cost="effort").pattern
    cells = [found.tables.cell(cell) for cell in found.suppressed.tolist()]
    assert {"row": "a", "column": "y"} in cells and {"row": "b", "column": "x"} in cells and len(cells) == 4
    assert found.cost == (3, 3)
    people = suppress(path, cost="people", by=["row", "column"], count="count").pattern
    assert people.cost[0] == people.cost[1] == 27


def test_records_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    rows = [(r, c) for r in "abc" for c in "xyz" for _ in range(2 if r + c == "ax" else 9)]
    path.write_text("name,row,column\n" + "".join(f"p{n},{r},{c}\n" for n, (r, c) in enumerate(rows)))
    found = suppress(path, by=["row", "column"])
    assert int(found.pattern.table.counts.ravel()[0]) == 74 and len(found.pattern.suppressed) == 4
    folder = found.write(tmp_path / "out")
    assert sorted(p.name for p in folder.iterdir()) == ["confidential", "published"]
    assert {"manifest.json", "pattern.csv"} <= {p.name for p in (folder / "published").iterdir()}
    checked = verify(folder / "confidential/certificate.json", folder / "published")
    assert checked.holds
    manifest = json.loads((folder / "published/manifest.json").read_text())
    assert "rule" not in manifest and set(manifest["files"]) == {"certificate.json", "pattern.csv"}
    certificate = json.loads((folder / "confidential/certificate.json").read_text())
    assert certificate["rule"] == found.to_json()["rule"] == ("rerun" if found.pattern.rerun.shown else "not shown")
    (folder / "published/manifest.json").write_text(json.dumps({**manifest, "files": {"pattern.csv": "0"}}))
    assert not verify(folder / "confidential/certificate.json", folder / "published").holds


def test_seconds_are_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(5)
    table = small(generator.integers(0, 9, (9, 8, 6)))
    looks = count()
    monkeypatch.setattr("time.monotonic", lambda: next(looks) / 20)  # every look at the clock takes 0.05 s
    try:
        pattern = find_pattern(table, (1, 3), seconds=1.0)
        assert pattern.gap > 0, "the search was cut: after thousands of looks the gap still closes"
    except RefusedError as error:
        assert "no pattern was found in this time" in str(error)
    assert next(looks) < 60, "20 looks until time is up, and some to stop what had begun"


@pytest.mark.slow
@pytest.mark.data
def test_adult_hides_no_total_of_one_axis(data_sets: Path) -> None:
    found = suppress(data_sets / "adult_uci.parquet", by=["race", "sex", "marital_status"], seconds=60).pattern
    sizes = [len(found.tables.cell(cell)) for cell in found.suppressed.tolist()]
    assert found.gap == 0 and 1 not in sizes


def test_a_search_that_ends_early_keeps_the_smallest_pattern_it_reached() -> None:
    """Every pattern that is reached is smaller than the one before and protects all its cells."""
    draw = numpy_generator(5)
    table = small(draw.poisson(2.0, size=(6, 5, 4)))
    problem = build_problem(single(table), (1, 2))
    builder = PatternBuilder(problem, MoveStore(problem.counts))
    first = builder.complete(problem.forced, math.inf)
    assert first is not None
    reached: list[BoolArray] = []
    last = builder.reduce(first, accept=lambda pattern: reached.append(pattern.copy()))
    assert reached and (reached[-1] == last).all()
    for wider, pattern in pairwise([first, *reached]):
        assert (pattern <= wider).all() and pattern.sum() == wider.sum() - 1
        fresh = PatternBuilder(problem, MoveStore(problem.counts))
        assert fresh.unprotected(pattern) == []
