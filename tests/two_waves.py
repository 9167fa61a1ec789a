"""Two waves of the same people, and an attack on what is published of both: an integer program from the definition.

One unknown per kind of people, answer then and answer now. A belief about a group forbids that those who are in it in
both cycles changed their answer.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy import optimize

from safemargin.core import Earlier, Limits, Past, PublishedTable, frozen

Profile = tuple[str, ...]
Kind = tuple[Profile | None, Profile | None]
Group = tuple[int, frozenset[str]]
"""An axis and categories of it; axis -1 stands for everybody."""


@dataclass
class Waves:
    """People by kind and by answers then and now (-1: not there)."""

    axes: tuple[str, ...]
    options: tuple[str, ...]
    people: Counter[tuple[Kind, int, int]]

    def counts(self, wave: int, place: int, group: frozenset[str] | None) -> np.ndarray:
        counts = np.zeros(len(self.options), dtype=np.int64)
        for (kind, *answers), people in self.people.items():
            profile = kind[wave]
            if profile is not None and (group is None or profile[place] in group):
                counts[answers[wave]] += people
        return counts

    def tables(self, wave: int, merged: Mapping[int, Sequence[frozenset[str]]]) -> tuple[PublishedTable, ...]:
        made = [self._table("total", (), [self.counts(wave, 0, None)], ())]
        for place, groups in merged.items():
            counts = [self.counts(wave, place, group) for group in groups]
            made.append(self._table(self.axes[place], (self.axes[place],), counts, (tuple(groups),)))
        return tuple(made)

    def _table(
        self,
        name: str,
        axes: tuple[str, ...],
        counts: Sequence[np.ndarray],
        groups: tuple[tuple[frozenset[str], ...], ...],
    ) -> PublishedTable:
        count = len(self.options)
        values = np.concatenate(counts)
        codes = np.repeat(np.arange(len(counts)), count)[:, None] if axes else np.zeros((count, 0), dtype=np.int64)
        return PublishedTable(
            name=name,
            axes=axes,
            groups=groups,
            codes=frozen(codes, len(axes)),
            options=self.options,
            option=frozen(np.tile(np.arange(count), len(counts))),
            lower=frozen(values),
            upper=frozen(values),
            status=("exact",) * len(values),
        )

    def kinds(self) -> Counter[Kind]:
        sizes: Counter[Kind] = Counter()
        for (kind, *_), people in self.people.items():
            sizes[kind] += people
        return sizes

    def past(self, tables: tuple[PublishedTable, ...]) -> Past:
        return Past(
            self.axes,
            "2",
            (Earlier("1", tables),),
            {self.axes: {tuple(kind): people for kind, people in self.kinds().items()}},
        )


class Attack:
    """Integer programs over both waves; `merged` are the groups of every axis in each of them."""

    def __init__(self, waves: Waves, merged: Sequence[Mapping[int, Sequence[frozenset[str]]]]) -> None:
        self.waves, self.sizes, count = waves, waves.kinds(), len(waves.options)
        self.columns = [
            (kind, then, now)
            for kind in self.sizes
            for then in (range(count) if kind[0] else [-1])
            for now in (range(count) if kind[1] else [-1])
        ]
        rows, values = [], []
        for kind, people in self.sizes.items():
            rows.append([column[0] == kind for column in self.columns])
            values.append(people)
        for wave in (0, 1):
            for place, group in [(0, None), *((place, g) for place, groups in merged[wave].items() for g in groups)]:
                for option, value in enumerate(waves.counts(wave, place, group).tolist()):
                    rows.append(
                        [self._inside(c[0], wave, place, group) and c[1 + wave] == option for c in self.columns]
                    )
                    values.append(value)
        self.rows = optimize.LinearConstraint(np.array(rows, dtype=float), values, values)

    def _inside(self, kind: Kind, wave: int, place: int, group: frozenset[str] | None) -> bool:
        profile = kind[wave]
        return profile is not None and (group is None or profile[place] in group)

    def run(self, beliefs: Sequence[Group], cost: np.ndarray) -> int | None:
        """The least value of `cost`, or nothing if the beliefs are impossible."""
        most = []
        for kind, then, now in self.columns:
            kept = any(
                all(self._inside(kind, wave, place, None if place < 0 else group) for wave in (0, 1))
                for place, group in beliefs
            )
            most.append(0 if kept and then != now else self.sizes[kind])
        found = optimize.milp(
            cost,
            constraints=[self.rows],
            bounds=optimize.Bounds(0, most),
            integrality=np.ones(len(most), dtype=np.int64),
        )
        return round(found.fun) if found.success else None

    def broken(self, beliefs: Sequence[Group], limits: Limits) -> list[object]:
        """Sets of people of one or two waves whose answers are disclosed beyond what totals alone say."""
        if self.run(beliefs, np.zeros(len(self.columns))) is None:
            return []
        cells: dict[object, list[Kind]] = {}
        for kind in self.sizes:
            for wave in (0, 1):
                if kind[wave] is not None:
                    cells.setdefault((wave, kind[wave]), []).append(kind)
                    cells.setdefault((wave, kind), []).append(kind)
        broken: list[object] = []
        for name, kinds in cells.items():
            wave = name[0]  # type: ignore[index]
            people = np.array([sum(self.sizes[kind] for kind in kinds)])
            ends = np.zeros((2, 1, len(self.waves.options)), dtype=np.int64)
            for option, sign in product(range(len(self.waves.options)), (1, -1)):
                inside = [float(c[0] in kinds and c[1 + wave] == option) for c in self.columns]
                value = self.run(beliefs, sign * np.array(inside))
                assert value is not None
                ends[int(sign < 0), 0, option] = sign * value
            if (limits.verdicts(ends[0], ends[1], people) == 2).any():
                broken.append((name, ends[:, 0].tolist(), int(people[0])))
        return broken


def unrefuted(waves: Waves, merged: Sequence[Mapping[int, Sequence[frozenset[str]]]]) -> list[Group]:
    """Published groups that their own figures, where both releases state them, do not refute."""
    found: list[Group] = []
    groups: list[tuple[int, frozenset[str] | None]] = [(-1, None)]
    groups += [(place, group) for wave in (0, 1) for place, parts in merged[wave].items() for group in parts]
    for place, group in dict.fromkeys(groups):
        both = place < 0 or all(group in merged[wave].get(place, ()) for wave in (0, 1))
        came = went = 0
        for kind, people in waves.kinds().items():
            inside = [p is not None and (group is None or p[place] in group) for p in kind]
            came, went = came + people * (inside[1] and not inside[0]), went + people * (inside[0] and not inside[1])
        change = waves.counts(1, place, group) - waves.counts(0, place, group)
        if not both or (np.maximum(change, 0).sum() <= came and np.maximum(-change, 0).sum() <= went):
            if place < 0 or all(place in merged[wave] for wave in (0, 1)):
                found.append((place, group or frozenset()))
    return found
