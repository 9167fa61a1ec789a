"""Thousands of small releases: every table that fits what is printed is listed, and limits are read off the list.

The onlooker knows how many people there are of every kind. Populations are so small that all their answers are one
array; an interval is a least and a largest sum over it. Written from docs/target.md; nothing is shared with proofs.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import numpy.typing as npt
import pytest

from evidence import seeds
from safemargin import RefusedError
from safemargin.core import Axis, PublishedTable, Schema, Table, Tally, Target, as_published, frozen
from safemargin.release.decide.decide import decide
from safemargin.release.publish import publish

pytestmark = pytest.mark.full

Ints = npt.NDArray[np.int64]
MOST_TABLES = 60_000
BLOCK = 25


class Village:
    """Few people by two or three axes, each with an answer."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = np.random.default_rng([seed, 2828])
        while True:
            sizes = [(2, 2), (3, 2), (2, 2, 2), (4,), (4, 2), (3, 3)][rng.integers(6)]
            self.kinds = [kind for kind in product(*map(range, sizes)) if rng.random() < 0.9]
            options = 2 if rng.random() < 0.75 else 3
            self.people = rng.integers(1, 9, len(self.kinds))
            ways = [list(answers(int(n), options)) for n in self.people]
            if len(self.kinds) > 1 and np.prod([len(each) for each in ways], dtype=float) <= MOST_TABLES:
                break
        self.axes = tuple(Axis(n, tuple(f"{n}{c}" for c in range(s))) for n, s in zip("abc", sizes, strict=False))
        shares = rng.dirichlet(np.full(options, float(rng.choice([0.4, 1, 4]))), len(self.kinds))
        self.truth = np.array([rng.multinomial(n, share) for n, share in zip(self.people, shares, strict=True)])
        self.options = tuple("xyz"[:options])
        self.target = Target(
            beta=float(rng.choice([0.05, 0.1, 0.2])), kappa=int(rng.integers(2, 9)), tau=int(rng.integers(3))
        )
        # One row per table of answers: everybody of a kind, by option.
        grid = np.indices([len(each) for each in ways]).reshape(len(ways), -1)
        self.all = np.stack([np.array(each)[chosen] for each, chosen in zip(ways, grid, strict=True)], axis=1)

    def table(self) -> Table:
        codes = frozen([list(kind) for kind in self.kinds], len(self.axes))
        names = tuple(axis.name for axis in self.axes)
        votes = Tally(names, codes, frozen(self.truth, len(self.options)))
        return Table(Schema(self.axes, self.options), (votes,), (Tally(names, codes, frozen(self.people[:, None], 1)),))

    def members(self, cell: dict[str, frozenset[str]]) -> Ints:
        """Who is in these groups, as kinds."""
        inside = [
            all(f"{axis}{kind['abc'.index(axis)]}" in group for axis, group in cell.items()) for kind in self.kinds
        ]
        return np.flatnonzero(inside)

    def fitting(self, tables: Sequence[PublishedTable]) -> Ints:
        """The tables of answers that fit everything printed."""
        found = self.all
        for table in tables:
            for row, group in enumerate(groups_of(table)):
                option, low, high = int(table.option[row]), int(table.lower[row]), int(table.upper[row])
                sums = found[:, self.members(group), option].sum(axis=1)
                found = found[(sums >= low) & (sums <= high)]
        return found

    def cells(self, tables: Sequence[PublishedTable]) -> dict[tuple[int, ...], object]:
        """The sets of kinds that a certificate speaks of: combinations of categories, groups, any two groups."""
        named: dict[tuple[int, ...], object] = {}
        for count in range(1, len(self.axes) + 1):
            for chosen in combinations(range(len(self.axes)), count):
                for kind in self.kinds:
                    cell = {self.axes[a].name: frozenset([f"{self.axes[a].name}{kind[a]}"]) for a in chosen}
                    named[tuple(self.members(cell).tolist())] = cell
        groups = [group for table in tables for group in groups_of(table) if len(group) == 1]
        for cell in (*groups, *({**one, **other} for one, other in combinations(groups, 2) if set(one) != set(other))):
            named[tuple(self.members(cell).tolist())] = cell
        return {members: name for members, name in named.items() if members}

    def is_disclosed(self, low: int, high: int, people: int, option: int) -> bool:
        """The table of verdicts in docs/target.md, of one option as a secret."""
        share, beta = (
            Fraction(int(self.truth[:, option].sum()), int(self.people.sum())),
            Fraction(str(self.target.beta)),
        )
        ceiling = (1 - min(beta, (1 - share) / 2)) * people
        if share in (0, 1) or (high <= ceiling and people >= self.target.kappa):
            return False
        return low > ceiling or (high - low <= min(self.target.tau, people // 4) and low >= 1)

    def broken(self, tables: Sequence[PublishedTable]) -> list[object]:
        """Cells and options that are disclosed, and not as closely by the total alone."""
        found, everybody = self.fitting(tables), int(self.people.sum())
        assert (found == self.truth).all(axis=(1, 2)).any(), "the truth fits what is printed"
        faults: list[object] = []
        for members, name in self.cells(tables).items():
            people, sums = int(self.people[list(members)].sum()), found[:, list(members)].sum(axis=1)
            for option, total in enumerate(self.truth.sum(axis=0).tolist()):
                low, high = int(sums[:, option].min()), int(sums[:, option].max())
                alone = max(0, total - everybody + people), min(people, total)
                if self.is_disclosed(low, high, people, option) and (low, high) != alone:
                    faults.append((name, option, low, high, people))
        return faults


def answers(people: int, options: int) -> Iterator[tuple[int, ...]]:
    """All ways in which so many people choose among the options."""
    if options == 1:
        yield (people,)
        return
    for first in range(people + 1):
        yield from ((first, *rest) for rest in answers(people - first, options - 1))


def groups_of(table: PublishedTable) -> list[dict[str, frozenset[str]]]:
    """The group of every row, by axis."""
    return [
        {axis: table.groups[a][code] for a, (axis, code) in enumerate(zip(table.axes, row, strict=True))}
        for row in table.codes.tolist()
    ]


def attacked(seed: int) -> str:
    """Decide, list and judge one village: `refused`, `total` where nothing else is printed, or `held`."""
    village = Village(seed)
    protect = ("merge", "suppress")[seed % 2]
    table = village.table()
    try:
        plan = decide(table, village.target, protect=protect)
    except RefusedError:
        return "refused"
    if not plan.certificate.certified:
        return "refused"
    tables = publish(plan, table).tables
    faults = village.broken(tables)
    assert not faults, (seed, village.target, faults)
    return "held" if any(each.axes for each in tables) else "total"


@pytest.mark.parametrize("block", seeds(0, 1, 120))
def test_no_listed_release_discloses_anybody(block: int) -> None:
    """25 releases in each block; with `EVIDENCE=all`, 3,000."""
    outcomes = [attacked(seed) for seed in range(BLOCK * block, BLOCK * (block + 1))]
    assert block or outcomes.count("held") >= BLOCK // 5, outcomes  # others hold fewer by chance


def test_the_list_finds_what_everything_exact_discloses() -> None:
    """The attack itself: with all single axes printed as they are, many of the same villages disclose somebody."""
    found = 0
    for seed in range(40):
        village = Village(seed)
        table = village.table()
        plain = [table.margin(()), *(table.margin((axis.name,)) for axis in village.axes)]
        found += bool(village.broken([as_published(margin, table.schema, "all") for margin in plain]))
    assert found > 10
