"""`suppress` attacked by integer programs and reruns, from docs/suppress.md; only the public function is called."""

import csv
from collections.abc import Iterator, Sequence
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evidence import seeds
from integer_onlooker import MANY, Fact, People, Possible, Vector, coalitions
from safemargin import RefusedError, suppress, verify

pytestmark = pytest.mark.usefixtures("no_pictures")

AREAS = {"r": {"north": ["r0", "r1"], "south": ["r2", "r3"]}}
PRIMARY = (1, 3)
Key = tuple[tuple[str, str], ...]


class Case:
    """People by some axes, and the tables that are published about them, of which `r` may have wider areas."""

    def __init__(self, seed: int, kinds: Sequence[str]) -> None:
        self.rng = rng = np.random.default_rng(seed)
        kind = str(rng.choice(list(kinds)))
        size = {name: int(rng.integers(2, 4)) for name in "ra"} | {"k": 2, "b": 2}
        size |= {"r": 4, "a": 2} if kind.startswith("areas") else {}
        self.tables = {
            "single": [("r", "a")],
            "cube": [("r", "a", "k")],
            "two": [("r", "a"), ("r", "k")],
            "three": [("r", "a"), ("r", "k"), ("r", "b")],
            "cycle": [("r", "a"), ("a", "k"), ("r", "k")],
            "areas": [("r", "a")],
            "areas of two": [("r", "a"), ("r", "k")],
        }[kind]
        self.in_cycle = kind == "cycle"
        names = [name for name in size if any(name in axes for axes in self.tables)]
        areas = AREAS if kind.startswith("areas") else {}
        self.people = People({name: [f"{name}{i}" for i in range(size[name])] for name in names}, areas)
        self.counts: Vector = rng.poisson(rng.choice([0.8, 1.5, 3]), size=len(self.people.profiles)).astype(np.int64)
        self.rows = {key(cell): self.people.row(cell) for axes in self.tables for cell in self.cells(axes)}

    def labels(self, axis: str) -> list[str]:
        return ["", *self.people.areas.get(axis, {}), *self.people.axes[axis]]

    def cells(self, axes: Sequence[str]) -> Iterator[dict[str, str]]:
        for labels in product(*(self.labels(axis) for axis in axes)):
            yield {axis: label for axis, label in zip(axes, labels, strict=True) if label}

    def lines(self) -> Iterator[list[Key]]:
        """Every sum with its parts."""
        for axes in self.tables:
            for axis in axes:
                wider = dict(self.people.areas.get(axis, {}))
                sums = [("", list(wider) or self.people.axes[axis]), *wider.items()]
                for cell in self.cells([other for other in axes if other != axis]):
                    for whole, parts in sums:
                        first = cell | ({axis: whole} if whole else {})
                        yield [key(first), *(key(cell | {axis: part}) for part in parts)]

    def suppress(self, folder: Path, counts: Vector, **options: Any) -> Any:
        folder.mkdir(parents=True)
        files = []
        for axes in self.tables:
            files.append(folder / f"{'-'.join(axes)}.csv")
            with files[-1].open("w", newline="") as file:
                writer = csv.writer(file)
                writer.writerow([*axes, "count"])
                for labels in product(*(self.people.axes[axis] for axis in axes)):
                    row = self.people.row(dict(zip(axes, labels, strict=True)))
                    writer.writerow([*labels, int(row @ counts)])
        hierarchy = {}
        for axis, areas in self.people.areas.items():
            lines = [line for area, parts in areas.items() for line in (area, *(f"@{part}" for part in parts))]
            (folder / "areas.hrc").write_text("\n".join(lines) + "\n", encoding="utf-8")
            hierarchy[axis] = [folder / "areas.hrc"]
        return suppress(files if len(files) > 1 else files[0], PRIMARY, hierarchy=hierarchy, **options)

    def facts(self, counts: Vector, gaps: frozenset[Key]) -> list[Fact]:
        sums = {cell: int(row @ counts) for cell, row in self.rows.items()}
        return [(row, 1, MANY) if cell in gaps else (row, sums[cell], sums[cell]) for cell, row in self.rows.items()]


def key(cell: dict[str, str]) -> Key:
    return tuple(sorted(cell.items()))


def printed(case: Case, folder: Path) -> frozenset[Key]:
    """The gaps of all published files, which print every other count as it is."""
    gaps, shown = set(), set()
    for path in sorted(folder.glob("*.csv")):
        with path.open(newline="") as file:
            for row in csv.DictReader(file):
                cell = key({axis: name for axis, name in row.items() if axis in case.people.axes and name != "Total"})
                if row["status"] == "suppressed":
                    assert row["count"] == "" and cell not in shown
                    gaps.add(cell)
                else:
                    assert int(row["count"]) == case.rows[cell] @ case.counts and cell not in gaps
                    shown.add(cell)
    assert gaps | shown == set(case.rows)
    return frozenset(gaps)


def inferred(case: Case, gaps: frozenset[Key], insiders: int, tau: int) -> list[object]:
    """Suppressed counts that the public or a coalition knows to within `tau`."""
    facts, found, tables = case.facts(case.counts, gaps), [], [case.counts]
    for members in coalitions(case.counts, insiders):
        knows, own = [], set()
        for cell in gaps:
            row = case.rows[cell]
            inside, count = int(row @ members), int(row @ case.counts)
            if inside == count:  # nobody else is in it
                own.add(cell)
            if inside:
                knows.append((row, inside, count if inside == count else MANY))
        if not case.in_cycle:  # docs/suppress.md says that a profile across the tables of a cycle is not protected
            knows += [(np.eye(len(members), dtype=np.int64)[i], int(members[i]), MANY) for i in np.flatnonzero(members)]
        possible = Possible(facts + knows, tables)
        found += [(cell, members) for cell in gaps - own if not possible.is_wide(case.rows[cell], tau)]
        tables = list({table.tobytes(): table for table in [*tables, *possible.tables]}.values())
    return found


def smaller_pattern(case: Case, size: int, tau: int, most: int = 20_000) -> frozenset[Key] | None:
    """A pattern of fewer than `size` cells that protects all of its cells from the public, by trying `most` of them."""
    counts = {cell: int(row @ case.counts) for cell, row in case.rows.items()}
    primary = {cell for cell, n in counts.items() if PRIMARY[0] <= n <= PRIMARY[1]}
    others = [cell for cell, n in counts.items() if n > PRIMARY[1] and cell]
    lines = list(case.lines())
    tried = 0
    for more in range(size - len(primary)):
        for added in combinations(others, more):
            tried += 1
            gaps = frozenset(primary.union(added))
            if tried > most:
                return None
            if any(sum(cell in gaps for cell in line) == 1 for line in lines):
                continue
            possible = Possible(case.facts(case.counts, gaps), [case.counts])
            if all(possible.is_wide(case.rows[cell], tau) for cell in gaps):
                return gaps
    return None


def attack(folder: Path, seed: int, kinds: Sequence[str], insiders: int) -> bool:
    """Whether a pattern was published; it must protect its cells, be no larger than stated, and be verified."""
    case = Case(seed, kinds)
    tau = int(case.rng.choice([0, 0, 1]))
    try:
        result = case.suppress(folder / str(seed), case.counts, insiders=insiders, tau=tau)
    except RefusedError:
        return False
    out = result.write(folder / str(seed) / "out")
    gaps, document = printed(case, out / "published"), result.to_json()
    assert all(cell in gaps for cell, row in case.rows.items() if PRIMARY[0] <= row @ case.counts <= PRIMARY[1])
    assert () not in gaps
    assert inferred(case, gaps, insiders, tau) == []
    assert document["lower_bound"] <= len(gaps)
    proved = result.pattern.fewest  # by addition, of patterns that protect from the public
    least = 0 if proved is None else proved.cells
    assert smaller_pattern(case, least if insiders else max(least, document["lower_bound"]), tau) is None
    assert verify(out / "confidential" / "certificate.json", out / "published").holds
    return True


def fiber(facts: list[Fact], most: int = 2000) -> list[Vector] | None:
    """Every possible table, profile by profile; nothing if there are too many."""
    possible = Possible(facts)
    units = np.eye(possible.rows.shape[1], dtype=np.int64)
    ends = [possible.interval(unit) for unit in units]
    rest = np.cumsum([(row * [hi for _, hi in ends])[::-1] for row in possible.rows], axis=1)[:, ::-1]
    partial = [(np.zeros(len(units), dtype=np.int64), np.zeros(len(possible.rows), dtype=np.int64))]
    for i, (low, high) in enumerate(ends):
        after = rest[:, i + 1] if i + 1 < len(units) else 0
        longer = []
        for table, sums in partial:
            for n in range(low, high + 1):
                now = sums + possible.rows[:, i] * n
                if (now <= possible.most).all() and (now + after >= possible.least).all():
                    longer.append((table + units[i] * n, now))
        if len(longer) > most:
            return None
        partial = longer
    return [table for table, _ in partial]


def rerun(folder: Path, seed: int, kinds: Sequence[str], runs: int = 6) -> bool:
    """Whether a pattern was labelled `rerun`; then other tables lead to it too, and no gap has one value in them."""
    case = Case(seed, kinds)
    tau = int(case.rng.choice([0, 0, 1]))

    def pattern(counts: Vector, name: str) -> tuple[frozenset[Key], str]:
        try:
            document = case.suppress(folder / f"{seed}-{name}", counts, tau=tau).to_json()
        except RefusedError:
            return frozenset([()]), ""
        return frozenset(key(found["cell"]) for found in document["suppressed"]), document["rule"]

    gaps, rule = pattern(case.counts, "true")
    tables = fiber(case.facts(case.counts, gaps)) if gaps and rule == "rerun" else None
    if tables is None:
        return False
    rows = np.array([case.rows[cell] for cell in gaps])
    low = high = rows @ case.counts
    others = {tuple(rows @ table): table for table in tables}
    nearest = sorted(others, key=lambda sums: int(abs(np.array(sums) - rows @ case.counts).sum()))
    for attempt in range(runs):
        for number, sums in enumerate(nearest):
            wider = np.maximum(high, sums) - np.minimum(low, sums) > high - low
            if (wider & (high - low <= tau)).any() and pattern(others[sums], f"{attempt}-{number}")[0] == gaps:
                low, high = np.minimum(low, sums), np.maximum(high, sums)
    assert (high - low > tau).all()
    return True


def test_a_coalition(tmp_path: Path) -> None:
    assert sum(attack(tmp_path, seed, ["single"], 1 + seed % 2) for seed in range(3)) >= 2


def test_linked_tables_and_areas(tmp_path: Path) -> None:
    assert sum(attack(tmp_path, seed, ["two", "cycle", "areas"], 0) for seed in range(5)) >= 3


def test_tables_that_print_the_same(tmp_path: Path) -> None:
    assert rerun(tmp_path, 1, ["areas"])


@pytest.mark.slow
def test_many_coalitions(tmp_path: Path) -> None:
    for seed in seeds(100, 8, 400):
        attack(tmp_path, seed, ["single", "cube", "two", "cycle", "areas"], 1 + seed % 3)


@pytest.mark.slow
def test_many_linked_tables_and_areas(tmp_path: Path) -> None:
    for seed in seeds(100, 20, 600):
        attack(tmp_path, seed, ["two", "three", "cycle", "areas", "areas of two"], 0)


@pytest.mark.slow
def test_many_tables_that_print_the_same(tmp_path: Path) -> None:
    assert sum(rerun(tmp_path, seed, ["single", "cube", "two", "areas"]) for seed in seeds(100, 15, 250)) >= 4
