"""Two releases held together: whoever believes of some published groups that those who stayed kept their answers.

The attack is an integer program from the definition: one unknown per kind of people, answer then and answer now. A
belief about a group forbids that those who are in it in both cycles changed their answer.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pytest
from scipy import optimize

from evidence import seeds
from safemargin.bounds import TOGETHER, Proof, certify_with_earlier, together
from safemargin.core import Earlier, Limits, Past, PublishedTable, Target, frozen

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


def random_waves(seed: int) -> tuple[Waves, list[dict[int, list[frozenset[str]]]]]:
    rng = np.random.default_rng([seed, 77])
    sizes = [(2, 2), (2, 3), (2, 2, 2)][seed % 3]
    axes = tuple("abc"[: len(sizes)])
    profiles = list(product(*([f"{axis}{n}" for n in range(size)] for axis, size in zip(axes, sizes, strict=True))))
    count = 2
    people: Counter[tuple[Kind, int, int]] = Counter()
    changing = rng.choice([0.0, 0.0, 0.02, 0.1])
    share = rng.dirichlet(np.full(count, 6.0))
    for profile in profiles:
        for kind, mean in (((profile, profile), 16), ((profile, None), 4), ((None, profile), 5)):
            for _ in range(rng.poisson(mean) if rng.random() < 0.85 else 0):
                then = int(rng.choice(count, p=share))
                now = int(rng.integers(count)) if rng.random() < changing else then
                people[kind, then if kind[0] else -1, now if kind[1] else -1] += 1
    merged = []
    for _ in range(2):
        groups: dict[int, list[frozenset[str]]] = {}
        for place, size in enumerate(sizes):
            names = [f"{axes[place]}{n}" for n in range(size)]
            if rng.random() < 0.9:
                joined = size > 2 and rng.random() < 0.3
                groups[place] = (
                    [frozenset(names[:2]), frozenset(names[2:])] if joined else [frozenset([n]) for n in names]
                )
        merged.append(groups)
    return Waves(axes, ("no", "yes"), people), merged


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


@pytest.mark.parametrize("seed", seeds(0, 2, 400))
def test_no_believer_breaks_what_is_certified(seed: int) -> None:
    waves, merged = random_waves(seed)
    target = Target(kappa=8, tau=seed % 2)
    totals = waves.counts(1, 0, None)
    limits = target.limits(totals.tolist(), int(totals.sum()))
    past = waves.past(waves.tables(0, merged[0]))
    proof = certify_with_earlier(waves.tables(1, merged[1]), past, limits)
    assert TOGETHER in proof.checked or proof.exposed
    if not proof.holds:
        return
    attack, rng = Attack(waves, merged), np.random.default_rng(seed)
    held = unrefuted(waves, merged)
    everybody: Group = (-1, frozenset())
    subsets = [[everybody], held, *([h for h in held if rng.random() < 0.6] for _ in range(2))]
    for beliefs in subsets:
        while beliefs and attack.run(beliefs, np.zeros(len(attack.columns))) is None and beliefs != [everybody]:
            beliefs = [belief for belief in beliefs if rng.random() < 0.7]  # some of them that are possible together
        assert attack.broken(beliefs, limits) == [], (seed, beliefs)


def test_a_decision_that_is_kept_is_the_one_that_would_be_made() -> None:
    """Equal arguments give the kept decision, and any other count, history or limit a new one."""
    waves, merged = random_waves(0)
    totals = waves.counts(1, 0, None)
    limits = Target(kappa=8).limits(totals.tolist(), int(totals.sum()))
    tables = waves.tables(1, merged[1])

    def decided(before: tuple[PublishedTable, ...], these: Limits = limits) -> Proof:
        return certify_with_earlier(tables, waves.past(before), these)

    first = decided(waves.tables(0, merged[0]))
    assert decided(waves.tables(0, merged[0])) is first
    together._DECIDED.clear()
    again = decided(waves.tables(0, merged[0]))
    assert again == first and again is not first
    fewer = waves.tables(0, {place: groups for place, groups in merged[0].items() if place})
    assert decided(fewer) is not again
    assert decided(waves.tables(0, merged[0]), replace(limits, tau=limits.tau + 1)) is not again


def three_groups(gained: int) -> tuple[Waves, dict[int, list[frozenset[str]]]]:
    """Profiles {0,1,2} x {0,1} x {0,1}: every two groups leave the joiners at 110 open, the three coded 1 do not."""
    people: Counter[tuple[Kind, int, int]] = Counter()
    for profile in product("012", "01", "01"):
        lost = {("0", "0", "0"): 80, ("2", "0", "0"): -gained}.get(profile, 0)
        people[(profile, profile), 1, 1] += 100 - max(lost, 0)
        people[(profile, profile), 0, 0] += 100 - max(-lost, 0)
        people[(profile, profile), 1, 0] += max(lost, 0)
        people[(profile, profile), 0, 1] += max(-lost, 0)
    for joined, yes in ((("1", "1", "0"), 0), (("1", "0", "1"), 20), (("0", "1", "1"), 20)):
        people[(None, joined), -1, 1] += yes
        people[(None, joined), -1, 0] += 40 - yes
    groups = {place: [frozenset(name) for name in names] for place, names in enumerate(("012", "01", "01"))}
    return Waves(("a", "b", "c"), ("no", "yes"), +people), groups


@pytest.mark.parametrize("gained", [40, 10])
def test_pairs_of_groups_are_not_enough(gained: int) -> None:
    """With 40 the totals alone say that no joiner said yes; with 10 they are refuted, and say nothing."""
    waves, groups = three_groups(gained)
    totals = waves.counts(1, 0, None)
    limits = Target().limits(totals.tolist(), int(totals.sum()))
    attack = Attack(waves, [groups, groups])
    coded = [(place, frozenset("1")) for place in range(3)]
    inside = np.array([float(c[0] == (None, ("1", "1", "0")) and c[2] == 1) for c in attack.columns])
    assert attack.run(coded, -inside) == 0
    assert all(attack.run([c for c in coded if c != left], -inside) == -20 for left in coded)
    tables = waves.tables(1, groups)
    proof = certify_with_earlier(tables, waves.past(waves.tables(0, groups)), limits)
    assert not proof.holds
    if gained == 10:
        assert any("joined" in str(cell.cell) and cell.people == 40 for cell in proof.exposed)


@pytest.mark.slow
def test_joiners_in_a_corner_are_protected_at_any_size() -> None:
    """[[100, 100], [100, 0]] among joiners, 0 of the first 100 said yes; beside 14,000 other profiles."""
    people: Counter[tuple[Kind, int, int]] = Counter()
    rng = np.random.default_rng(3)
    names = [[f"{axis}{n}" for n in range(24)] for axis in "abc"]
    for profile in product(*names):
        if profile[0] in ("a0", "a1") or profile[1] in ("b0", "b1"):
            continue
        yes = int(rng.binomial(4, 0.5))
        people[(profile, profile), 1, 1] += yes
        people[(profile, profile), 0, 0] += 4 - yes
    for a, b, size, yes in ((0, 0, 100, 0), (0, 1, 100, 50), (1, 0, 100, 50)):
        stayed: Profile = (f"a{a}", f"b{b}", "c0")
        people[(stayed, stayed), 1, 1] += 300
        people[(stayed, stayed), 0, 0] += 300
        people[(None, stayed), -1, 1] += yes
        people[(None, stayed), -1, 0] += size - yes
    waves = Waves(("a", "b", "c"), ("no", "yes"), +people)
    groups = {place: [frozenset([name]) for name in names[place]] for place in range(3)}
    totals = waves.counts(1, 0, None)
    limits = Target().limits(totals.tolist(), int(totals.sum()))
    proof = certify_with_earlier(waves.tables(1, groups), waves.past(waves.tables(0, groups)), limits)
    assert not proof.holds
