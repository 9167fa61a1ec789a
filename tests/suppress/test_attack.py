"""An onlooker who lists every table and every pattern, by docs/suppress.md; shares no code with the search."""

from functools import cache
from itertools import combinations, product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from evidence import seeds
from safemargin import RefusedError, suppress

SHAPES = (((2, 2), 30), ((2, 3), 20), ((2, 4), 14), ((3, 3), 12), ((2, 2, 2), 13))
RANGES = ((1, 1), (1, 2), (1, 3), (2, 2), (2, 3))
WIDER_TOTAL = 20
"""A hidden total counts as this many of those that sum up over one axis less."""

Counts = npt.NDArray[np.int16]
Cells = frozenset[int]


def with_totals(inner: npt.NDArray[np.integer], first: int = 0) -> npt.NDArray[np.integer]:
    for axis in range(first, inner.ndim):
        inner = np.concatenate([inner.sum(axis=axis, keepdims=True), inner], axis=axis)
    return inner


class Onlooker:
    """Knows every table of `people` people, the primary range, `tau`, what cells cost and which margins are kept."""

    def __init__(self, shape: tuple[int, ...], people: int, primary: tuple[int, int], tau: int) -> None:
        cells = int(np.prod(shape))
        bars = np.array(list(combinations(range(people + cells - 1), cells - 1)))
        ends = np.pad(bars, ((0, 0), (1, 1)), constant_values=((0, 0), (-1, people + cells - 1)))
        every = with_totals((np.diff(ends, axis=1) - 1).reshape(-1, *shape), first=1)
        self.tables: Counts = np.ascontiguousarray(every.reshape(len(every), -1).T.astype(np.int16))
        self.cells = list(product(*(range(size + 1) for size in shape)))  # 0 is the total of an axis
        self.weights = np.array([WIDER_TOTAL ** cell.count(0) * (0 in cell) for cell in self.cells])
        lines: dict[object, set[int]] = {}
        for i, cell in enumerate(self.cells):
            for axis in range(len(shape)):
                lines.setdefault((axis, *cell[:axis], "", *cell[axis + 1 :]), set()).add(i)
        self.lines = [[frozenset(line) for line in lines.values() if i in line] for i in range(len(self.cells))]
        self.least, self.most = primary
        self.tau, self.kept, self.by_people = tau, frozenset[int](), False
        self.known = cache(self._known)

    def print_the_same(self, table: Counts, gaps: Cells) -> Counts:
        """Every table with the same counts outside the gaps and at least one person in each of them."""
        found = np.arange(self.tables.shape[1])
        for cell in range(len(table)):
            counts = self.tables[cell, found]
            found = found[counts >= 1 if cell in gaps else counts == table[cell]]
        return self.tables[:, found]

    def _known(self, table: bytes, gaps: Cells) -> int | None:
        """How many primary counts are known to be primary; nothing if a suppressed count is known to within tau."""
        counts = np.frombuffer(table, dtype=np.int16)
        every = self.print_the_same(counts, gaps)[sorted(gaps)]
        low, high = every.min(axis=1), every.max(axis=1)
        return None if (high - low <= self.tau).any() else int(((low >= self.least) & (high <= self.most)).sum())

    def rank(self, table: Counts, gaps: Cells) -> tuple[int, int]:
        cells = sorted(gaps)
        return int(table[cells].sum()) if self.by_people else len(cells), int(self.weights[cells].sum())

    def best(self, table: Counts, gaps: Cells) -> bool:
        """Whether no pattern for this table is cheaper, or has fewer totals, or fewer counts known to be primary."""
        primary = frozenset(np.flatnonzero((table >= self.least) & (table <= self.most)).tolist())
        never = frozenset(np.flatnonzero(table == 0).tolist()) | {0} | (self.kept - primary)
        ours = (*self.rank(table, gaps), self.known(table.tobytes(), gaps))

        def better(chosen: Cells, out: Cells) -> bool:
            rank = self.rank(table, chosen)
            if rank[0] > ours[0]:
                return False
            # A single gap in a line follows by subtraction, so another cell of the line must be suppressed, too.
            alone = [line - chosen - out for i in chosen for line in self.lines[i] if len(line & chosen) == 1]
            if not alone and chosen and rank <= ours[:2]:
                known = self.known(table.tobytes(), chosen)
                if known is not None and (*rank, known) < ours:
                    return True
            for cell in (
                sorted(min(alone, key=lambda line: len(line)))
                if alone
                else sorted(set(range(len(table))) - chosen - out)
            ):
                if better(chosen | {cell}, out):
                    return True
                out |= {cell}
            return False

        return not better(primary, never)

    def cannot_exclude(self, truth: Counts, gaps: Cells) -> bool:
        """Whether every count has values more than tau apart in tables for which no pattern is better."""
        low = high = truth
        for table in self.print_the_same(truth, gaps).T:
            missing = [cell for cell in gaps if high[cell] - low[cell] <= self.tau]
            if not missing:
                return True
            news = (table[missing] < low[missing]) | (table[missing] > high[missing])
            if news.any() and self.best(np.ascontiguousarray(table), gaps):
                low, high = np.minimum(low, table), np.maximum(high, table)
        return not any(high[cell] - low[cell] <= self.tau for cell in gaps)


def attack(seed: int) -> str:
    """Suppress a random table and attack what is published: its rule, or why there is nothing to attack."""
    rng = np.random.default_rng(seed)
    shape, most = SHAPES[rng.integers(len(SHAPES))]
    people = int(rng.integers(most // 2, most + 1))
    inner = rng.multinomial(people, rng.dirichlet(np.full(np.prod(shape), rng.choice([0.5, 1, 3])))).reshape(shape)
    primary = RANGES[rng.choice(5, p=[0.4, 0.25, 0.2, 0.05, 0.1])]
    onlooker = Onlooker(shape, people, primary, tau=int(rng.choice([0, 0, 0, 1, 2])))
    onlooker.by_people, keep = bool(rng.random() < 0.3), ["a"] * int(rng.random() < 0.3)
    if keep:
        onlooker.kept = frozenset(i for i, cell in enumerate(onlooker.cells) if cell[0] and not any(cell[1:]))
    rows: list[dict[str, Any]] = [
        {**dict(zip("abc", map(str, cell), strict=False)), "count": int(inner[cell])} for cell in np.ndindex(shape)
    ]
    try:
        cost = "people" if onlooker.by_people else None
        answer = suppress(rows, primary=primary, tau=onlooker.tau, cost=cost, keep=keep).to_json()
    except RefusedError:
        return "refused"
    cells = [tuple(int(gap["cell"].get(axis, -1)) + 1 for axis in "abc"[: len(shape)]) for gap in answer["suppressed"]]
    gaps = frozenset(map(onlooker.cells.index, cells))
    truth = with_totals(inner).ravel().astype(np.int16)
    assert gaps >= set(np.flatnonzero((truth >= primary[0]) & (truth <= primary[1])).tolist())
    assert not gaps & set(np.flatnonzero(truth == 0).tolist()) | gaps & {0}
    if not gaps:
        return "nothing suppressed"
    assert onlooker.known(truth.tobytes(), gaps) is not None, f"{seed}: a suppressed count follows"
    assert onlooker.best(truth, gaps), f"{seed}: another pattern is better"
    if answer["rule"] == "rerun":
        assert onlooker.cannot_exclude(truth, gaps), f"{seed}: a rerun discloses a count"
    return str(answer["rule"])


@pytest.mark.slow
def test_no_count_follows_and_no_rerun_discloses_one() -> None:
    found = [attack(seed) for seed in seeds(20_000, 16, 1_000)]
    assert found.count("rerun") > 2
    assert found.count("not shown") > 2
