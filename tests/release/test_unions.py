"""Two to four releases about the same people, attacked together: integer programs from the definition.

One unknown per history (where somebody was in each cycle) and option. The onlooker reads the published files alone,
knows how many people there are of every history, and believes that nobody changed their answer. The limits are those
of the statement; what the totals alone disclose is not a fault of the other tables.
"""

import csv
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import chain, combinations
from pathlib import Path

import numpy as np
import pytest

from evidence import seeds
from integer_onlooker import Fact, Possible, Vector
from safemargin import RefusedError, Target, release

Profile = tuple[str, ...]
History = tuple[Profile | None, ...]
AXES = "abc"


class Staff:
    """People who come, go and move over some cycles, and never change their answer."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng([seed, 2804])
        self.options = [f"o{n}" for n in range(2 + seed % 4)]
        self.sizes = [(2, 3), (3, 3), (2, 2, 2), (4, 2)][seed // 4 % 4]
        self.cycles = 2 + seed % 3
        self.share = self.rng.dirichlet(np.full(len(self.options), 8.0))
        self.people: dict[str, tuple[list[Profile | None], str]] = {}
        start, turnover = int(self.rng.integers(60, 500)), self.rng.choice([0.02, 0.1, 0.3])
        for cycle in range(self.cycles):
            if cycle:
                self._turn_over(cycle, turnover)
            for _ in range(self.rng.poisson(start * (turnover if cycle else 1.0))):
                answer = str(self.rng.choice(self.options, p=self.share))
                self.people[f"p{len(self.people)}"] = [None] * cycle + [self._place()], answer

    def _place(self) -> Profile:
        return tuple(f"{axis}{self.rng.integers(size)}" for axis, size in zip(AXES, self.sizes, strict=False))

    def _turn_over(self, cycle: int, turnover: float) -> None:
        for where, _ in self.people.values():
            before = next(place for place in reversed(where) if place is not None)
            gone = self.rng.random() < (turnover if where[-1] is not None else 0.9)
            moves = self.rng.random() < turnover / 4
            where.append(None if gone else self._place() if moves else before)

    def rows(self, cycle: int) -> list[dict[str, str]]:
        return [
            {"id": name, "answer": answer, **dict(zip(AXES, place, strict=False))}
            for name, (where, answer) in self.people.items()
            if (place := where[cycle]) is not None
        ]


class Onlooker:
    """Integer tables of people by history and option that fit everything published."""

    def __init__(self, staff: Staff, published: dict[int, Path], beta: Fraction, kappa: int, tau: int) -> None:
        self.sizes = Counter(tuple(where) for where, _ in staff.people.values())
        self.histories, self.options = list(self.sizes), staff.options
        self.beta, self.kappa, self.tau, self.axes = beta, kappa, tau, len(staff.sizes)
        self.published = published
        roll = [(self._row([h == one for h in self.histories], None), n, n) for one, n in self.sizes.items()]
        total: list[Fact] = []
        rest: list[Fact] = []
        for cycle, folder in published.items():
            for path in sorted(folder.glob("*.csv")):
                facts = list(self._facts(cycle, path))
                (total if path.stem == "total" else rest).extend(facts)
        truth = Counter((tuple(where), answer) for where, answer in staff.people.values())
        known = np.array([truth[h, option] for h in self.histories for option in self.options])
        self.all, self.totals = Possible(roll + total + rest, [known]), Possible(roll + total, [known])
        assert self.all.tables and self.totals.tables, "the truth fits what is published"

    def _row(self, members: Sequence[bool], option: str | None) -> Vector:
        inside = [option is None or option == each for each in self.options]
        return np.outer(np.array(members, dtype=np.int64), np.array(inside, dtype=np.int64)).ravel()

    def _facts(self, cycle: int, path: Path) -> Iterator[Fact]:
        with path.open(encoding="utf-8", newline="") as file:
            for line in csv.DictReader(file):
                groups = {AXES.index(axis): line[axis].split(" | ") for axis in AXES if axis in line}
                assert line["status"] in ("exact", "merged", "empty"), line
                row = self._row([self._inside(h[cycle], groups) for h in self.histories], line["option"])
                yield row, int(line["count"]), int(line["count"])

    @staticmethod
    def _inside(place: Profile | None, groups: dict[int, list[str]]) -> bool:
        return place is not None and all(place[axis] in names for axis, names in groups.items())

    def groups(self) -> Iterator[tuple[object, list[bool]]]:
        """Cells of every set of axes in every published cycle, people of one history, and of one pattern of coming.

        A cycle that was refused is no part of a history: no statement speaks of who came or went in it.
        """
        seen = {h: tuple(h[cycle] for cycle in self.published) for h in self.histories}
        patterns = {h: tuple(place is not None for place in seen[h]) for h in self.histories}
        for one in dict.fromkeys(seen.values()):
            yield one, [seen[h] == one for h in self.histories]
        for cycle in self.published:
            for axes in chain.from_iterable(combinations(range(self.axes), n) for n in range(1, self.axes + 1)):
                keys = [None if (p := h[cycle]) is None else tuple(p[a] for a in axes) for h in self.histories]
                for key in sorted({k for k in keys if k is not None}):
                    yield (cycle, key), [k == key for k in keys]
                    for pattern in {patterns[h] for h, k in zip(self.histories, keys, strict=True) if k == key}:
                        inside = [
                            k == key and patterns[h] == pattern for h, k in zip(self.histories, keys, strict=True)
                        ]
                        yield (cycle, key, pattern), inside

    def is_disclosed(self, low: int, high: int, people: int) -> bool:
        """The statement: a share above 1 - beta, or a count above 0 known to within tau outside of what is allowed."""
        if low > (1 - self.beta) * people:
            return True
        within = people >= self.kappa and high <= (1 - self.beta) * people
        if len(self.options) == 2:  # the same of the other option
            within &= low >= self.beta * people
        return low >= 1 and high - low <= min(self.tau, people // 4) and not within

    def found(self) -> list[object]:
        """Groups and options that all tables together disclose, and the totals do not."""
        found: list[object] = []
        for name, members in self.groups():
            people = sum(self.sizes[h] for h, inside in zip(self.histories, members, strict=True) if inside)
            for option in self.options:
                row = self._row(members, option)
                seen = [int(row @ table) for table in self.all.tables]
                if min(seen) <= (1 - self.beta) * people and max(seen) - min(seen) > min(self.tau, people // 4):
                    continue
                low, high = self.all.interval(row)
                if self.is_disclosed(low, high, people):
                    least, most = self.totals.interval(row)
                    if not self.is_disclosed(least, most, people):
                        found.append((name, option, (low, high), people))
        return found


@pytest.mark.parametrize("seed", seeds(0, 1, 400))
def test_no_union_of_releases_discloses_anybody(seed: int, tmp_path: Path) -> None:
    staff = Staff(seed)
    published: dict[int, Path] = {}
    kappa, tau = [(30, 3), (8, 1), (5, 0)][seed % 5 % 3]
    for cycle in range(staff.cycles):
        ledger = {"file": str(tmp_path / "ledger.sqlite"), "population": "staff", "cycle": str(cycle), "id": "id"}
        try:
            made = release(
                staff.rows(cycle),
                answer="answer",
                by=list(AXES[: len(staff.sizes)]),
                ledger={**ledger, "answers": "kept"},
                target=Target(kappa=kappa, tau=tau),
            )
        except RefusedError:
            continue
        made.write(tmp_path / str(cycle))
        published[cycle] = tmp_path / str(cycle) / "published"
        certificate = json.loads((published[cycle] / "certificate.json").read_bytes())
        assert certificate["earlier"]["held"] == ("jointly" if len(published) > 1 else "not")
    if published:
        assert Onlooker(staff, published, Fraction(1, 20), kappa, tau).found() == [], seed


def test_the_onlooker_breaks_exact_tables_of_every_cycle(tmp_path: Path) -> None:
    """Each table alone is safe here; together they say what the few who came had answered."""
    staff = Staff(1)
    newcomers: dict[str, tuple[list[Profile | None], str]] = {
        "p": ([None, ("a0", "b0")], "o0"),
        "q": ([None, ("a1", "b1")], "o1"),
        "r": ([None, ("a1", "b2")], "o2"),
    }
    stayed: dict[str, tuple[list[Profile | None], str]] = {
        f"{number} {place}": ([place, place], option)
        for place in (("a0", "b0"), ("a0", "b1"), ("a1", "b1"), ("a1", "b2"))
        for option in staff.options
        for number in (option + "x", option + "y")
    }
    staff.people = stayed | newcomers
    published = {}
    for cycle in (0, 1):
        published[cycle] = tmp_path / str(cycle)
        published[cycle].mkdir()
        rows = staff.rows(cycle)
        for name, axes in (("total", ""), ("a", "a"), ("b", "b")):
            counts = Counter((*(row[axis] for axis in axes), row["answer"]) for row in rows)
            lines = [",".join([*key, str(count), "exact"]) for key, count in sorted(counts.items())]
            text = "\n".join([",".join([*axes, "option", "count", "status"]), *lines])
            (published[cycle] / f"{name}.csv").write_text(text + "\n", encoding="utf-8")
    found = Onlooker(staff, published, Fraction(1, 20), 8, 1).found()
    assert ((None, ("a0", "b0")), "o0", (1, 1), 1) in found
