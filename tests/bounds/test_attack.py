"""An attack on certificates with three and more options and cells where nobody can be, written from the definition.

Tables are read here again, and solved by scipy: nothing of `bounds` but its result is used.
"""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

from brute import published
from cases import Rng, Town, facts_about, margin, rolls, town
from evidence import seeds
from safemargin.bounds import build_system, certify, methods
from safemargin.bounds.propagate import propagate
from safemargin.bounds.witness import SoftmaxDual, real_table
from safemargin.core import FloatArray, Limits, Onlooker, PublishedTable, Target


class Polytope:
    """Counts per occupied profile and option that satisfy every published row."""

    def __init__(self, place: Town, tables: list[PublishedTable]) -> None:
        self.place, self.profiles, self.width = place, list(place.people), len(place.options)
        self.most = np.repeat([float(people) for people in place.people.values()], self.width)
        self.rows: list[FloatArray] = []
        self.ends: list[tuple[float, float]] = []
        for profile, people in enumerate(place.people.values()):  # the options of a profile share its people
            self._add([profile * self.width + option for option in range(self.width)], 0, people)
        for table in tables:
            self._read(table)

    def _add(self, places: list[int], least: float, most: float) -> None:
        self.rows.append(np.isin(np.arange(len(self.most)), places).astype(np.float64))
        self.ends.append((least, most))

    def _read(self, table: PublishedTable) -> None:
        columns = [self.place.axes.index(axis) for axis in table.axes]
        listed: dict[int, set[int]] = {}
        for row, option in enumerate(table.option.tolist()):
            groups = [table.groups[a][table.codes[row, a]] for a in range(len(columns))]
            inside = [
                number
                for number, profile in enumerate(self.profiles)
                if all(profile[c] in group for c, group in zip(columns, groups, strict=True))
            ]
            listed.setdefault(option, set()).update(inside)
            self._add([p * self.width + option for p in inside], float(table.lower[row]), float(table.upper[row]))
        for option, profiles in listed.items():  # combinations of listed categories without a row are empty
            for number, profile in enumerate(self.profiles):
                known = all(profile[c] in frozenset().union(*table.groups[a]) for a, c in enumerate(columns))
                if known and number not in profiles:
                    self.most[number * self.width + option] = 0.0

    def interval(self, profiles: list[int], option: int, whole: bool) -> tuple[int, int]:
        """Least and most of one option in a cell."""
        cost = np.isin(np.arange(len(self.most)), [p * self.width + option for p in profiles]).astype(np.float64)
        least, most = np.array(self.ends).T
        rows, box = LinearConstraint(np.array(self.rows), least, most), Bounds(np.zeros(len(cost)), self.most)
        ends = [
            milp(way * cost, constraints=rows, bounds=box, integrality=np.full(len(cost), whole)) for way in (1, -1)
        ]
        assert all(end.status == 0 for end in ends)
        return int(np.ceil(ends[0].fun - 1e-6)), int(np.floor(-ends[1].fun + 1e-6))

    def disclosed(self, limits: Limits, whole: bool) -> list[object]:
        """Every cell of any number of axes that misses the target."""
        worst: list[object] = []
        for order in range(1, len(self.place.axes) + 1):
            for columns in combinations(range(len(self.place.axes)), order):
                cells: dict[tuple[str, ...], list[int]] = {}
                for number, profile in enumerate(self.profiles):
                    cells.setdefault(tuple(profile[c] for c in columns), []).append(number)
                for cell, inside in cells.items():
                    ends = np.array([self.interval(inside, option, whole) for option in range(self.width)])
                    people = np.array([sum(self.place.people[self.profiles[p]] for p in inside)])
                    if (limits.verdicts(ends[None, :, 0], ends[None, :, 1], people) == 2).any():
                        worst.append((cell, ends.tolist()))
        return worst

    def miss(self, values: FloatArray) -> float:
        """How far a table is from satisfying everything."""
        least, most = np.array(self.ends).T
        sums = np.array(self.rows) @ values
        return float(max((values - self.most).max(), -values.min(), (sums - most).max(), (least - sums).max()))


def situation(rng: Rng) -> tuple[Town, list[PublishedTable]]:
    """A town of many people, all margins, and a table of two axes that omits the cells where an option has no votes."""
    place = town(
        rng, axes=int(rng.integers(2, 4)), options=int(rng.integers(3, 5)), people=160, fill=0.9, most_per_profile=60
    )
    tables = [margin(place, (axis,)) for axis in place.axes]
    rows = []
    for first in place.categories[0]:
        for second in place.categories[1]:
            for option in place.options:
                votes = place.count(place.axes[:2], ([first], [second]), option)
                rows += [((first, second), option, votes)] if votes else []
    return place, [*tables, published("two axes", place.axes[:2], rows, place.options)]


def target_of(place: Town, rng: Rng) -> Limits:
    target = Target(beta=float(rng.choice([0.01, 0.03])), kappa=int(rng.integers(1, 4)), tau=int(rng.integers(2)))
    return target.limits([place.count((), (), option) for option in place.options], sum(place.people.values()))


@pytest.mark.parametrize("seed", [5, 33, 90, 95, 107])
def test_real_tables_put_nobody_where_nobody_can_be(seed: int) -> None:
    """Options that share the people of a profile have no ceilings of their own in the fit."""
    rng = np.random.default_rng(seed)
    place = town(
        rng,
        axes=int(rng.integers(2, 4)),
        options=int(rng.integers(3, 5)),
        people=int(rng.integers(10, 60)),
        fill=float(rng.choice([0.5, 0.8, 1.0])),
    )
    tables = facts_about(rng, place, merge=0.0)[0]
    system = build_system(tables, Onlooker(roll=rolls(place, "joint", rng)))
    polytope, family = Polytope(place, tables), SoftmaxDual(system, *propagate(system))
    assert (polytope.most == 0).any()
    columns = [system.axes.index(axis) for axis in place.axes]
    names = [tuple(system.categories[c][codes[c]] for c in columns) for codes in system.codes.tolist()]
    order, options = [names.index(profile) for profile in place.people], list(map(system.options.index, place.options))
    tilt = 3 * rng.standard_normal(system.size)
    tables_found = [*real_table(system, family.fit()), *real_table(system, family.fit(tilt=tilt, steps=80))]
    assert tables_found
    for values in tables_found:
        assert polytope.miss(values[order][:, options].ravel()) < 0.02


def certified(seed: int, allow: bool = False) -> bool:
    """Whether a random town is certified; if so, scipy finds no cell disclosed."""
    rng = np.random.default_rng([seed, 11])
    place, tables = situation(rng)
    limits = replace(target_of(place, rng), allow_linear=allow)
    proof = certify(build_system(tables, Onlooker(roll=rolls(place, "joint", rng))), limits)
    if proof.holds:
        assert Polytope(place, tables).disclosed(limits, whole=proof.linear == 0) == [], seed
    return proof.holds


@pytest.mark.slow
@pytest.mark.parametrize("seed", [4, 5, 17, 50])
def test_no_certified_cell_is_disclosed(seed: int) -> None:
    assert certified(seed)


@pytest.mark.parametrize("seed", [4, 27])
def test_no_cell_that_real_tables_clear_is_disclosed(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without other methods: what is stated of real-valued tables must be true of all real-valued tables."""
    kept = [method for method in methods.METHODS if method.name in ("propagation", "real tables")]
    monkeypatch.setattr(methods, "METHODS", tuple(kept))
    assert certified(seed, allow=True) and not certified(seed)


@pytest.mark.slow
def test_no_certified_cell_is_disclosed_in_many_towns() -> None:
    assert sum(certified(seed) for seed in seeds(100, 25, 60)) > 1
