"""Many cycles in one ledger: those that say nothing new cost nothing, and decide nothing otherwise."""

from collections import Counter
from collections.abc import Sequence
from itertools import product
from unittest import mock

import numpy as np
import pytest

from evidence import seeds
from safemargin.bounds import Proof, certify_with_earlier, together
from safemargin.core import CROSS, Earlier, History, Limits, Past, PublishedTable, Target, frozen

AXES, OPTIONS = ("a", "b"), ("no", "yes")
PROFILES = list(product(("a0", "a1", "a2"), ("b0", "b1")))


class Panel:
    """Random people over some cycles, a part of which are copies of others, and what is published of each."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = np.random.default_rng([seed, 41])
        states = int(rng.integers(1, 4))
        self.order = [*rng.integers(0, states, int(rng.integers(3, 7))).tolist()]
        changing = rng.choice([0.0, 0.0, 0.03])
        self.people: Counter[tuple[History, tuple[int, ...]]] = Counter()
        for profile in PROFILES:
            for _ in range(int(rng.poisson(14))):
                there = rng.random(states) < rng.choice([1.0, 0.8])
                moved = PROFILES[int(rng.integers(len(PROFILES)))] if rng.random() < 0.03 else profile
                answers = np.where(rng.random(states) < changing, rng.integers(2, size=states), rng.integers(2))
                places = [(profile, moved)[s % 2] if there[s] else None for s in range(states)]
                history = tuple(places[s] for s in self.order)
                if any(history):
                    self.people[history, tuple(int(answers[s]) for s in self.order)] += 1
        self.merged = [bool(rng.random() < 0.3) for _ in range(states)]

    def tables(self, cycle: int) -> tuple[PublishedTable, ...]:
        joined = self.merged[self.order[cycle]]
        parts: list[tuple[tuple[str, ...], list[frozenset[str]]]] = [
            ((), []),
            (
                ("a",),
                [frozenset({"a0", "a1"}), frozenset({"a2"})]
                if joined
                else [frozenset({n}) for n in ("a0", "a1", "a2")],
            ),
            (("b",), [frozenset({"b0"}), frozenset({"b1"})]),
        ]
        made = []
        for axes, groups in parts:
            counts = np.zeros((max(len(groups), 1), 2), dtype=np.int64)
            for (history, answers), size in self.people.items():
                if (profile := history[cycle]) is not None:
                    row = (
                        next((g for g, group in enumerate(groups) if profile[AXES.index(axes[0])] in group), 0)
                        if axes
                        else 0
                    )
                    counts[row, answers[cycle]] += size
            codes = np.repeat(np.arange(len(counts)), 2)[:, None] if axes else np.zeros((2, 0), dtype=np.int64)
            values = counts.ravel()
            made.append(
                PublishedTable(
                    f"{axes} of {cycle}", axes, (tuple(groups),) if axes else (), frozen(codes, len(axes)), OPTIONS,
                    frozen(np.tile([0, 1], len(counts))), frozen(values), frozen(values), ("exact",) * len(values),
                )
            )  # fmt: skip
        return tuple(made)

    def past(self, by_group: bool) -> Past:
        histories: Counter[History] = Counter()
        for (history, _), size in self.people.items():
            histories[history] += size
        last = len(self.order) - 1
        return Past(
            AXES, "now", tuple(Earlier(str(c), self.tables(c)) for c in range(last)), {AXES: histories}, by_group
        )


def decided(panel: Panel, limits: Limits, by_group: bool, quick: bool) -> Proof:
    together._DECIDED.clear()
    return certify_with_earlier(panel.tables(len(panel.order) - 1), panel.past(by_group), limits, quick=quick)


def every_fact(facts: Sequence[PublishedTable], said: Sequence[PublishedTable] = ()) -> tuple[PublishedTable, ...]:
    return tuple(facts)


@pytest.mark.parametrize("seed", seeds(1, 4, 300))
def test_cycles_that_repeat_others_change_no_decision(seed: int) -> None:
    """The same with every fact as often as it was published, and every two cycles compared by themselves."""
    panel = Panel(seed)
    totals = panel.tables(len(panel.order) - 1)[0].lower
    limits = Target(kappa=5, tau=seed % 2).limits(totals.tolist(), int(totals.sum()))
    by_group, quick = bool(seed % 3), seed % 4 == 3
    short = decided(panel, limits, by_group, quick)
    alone = property(lambda past: tuple(range(len(past.earlier))))
    with mock.patch.object(together, "_once", every_fact), mock.patch.object(Past, "kinds", alone):
        long = decided(panel, limits, by_group, quick)
    assert (short.holds, short.exposed) == (long.holds, long.exposed)
    assert set(short.checked) == set(long.checked)


@pytest.mark.parametrize("seed", range(3))
def test_turnover_is_counted_by_its_definition(seed: int) -> None:
    past = Panel(seed).past(True)
    last = len(past.earlier)
    groups = [("a", None), ("a", frozenset({"a0", "a1"})), ("b", frozenset({"b1"}))]
    for axis, group in [*groups, (CROSS.join(AXES), frozenset({CROSS.join(("a2", "b0"))}))]:
        for first, second in product(range(last), range(last + 1)):
            came = went = moved = 0
            for history, size in past.histories[AXES].items():
                texts = [
                    None if (p := history[c]) is None else CROSS.join(p[AXES.index(name)] for name in axis.split(CROSS))
                    for c in (first, second)
                ]
                was, is_there = (text is not None and (group is None or text in group) for text in texts)
                came, went = came + size * (is_there and not was), went + size * (was and not is_there)
                moved += size * (was != is_there and None not in texts)
            assert past.turnover(axis, group, first, second) == (came, went, moved)


def test_a_hundred_cycles_without_a_change_are_a_system_of_one() -> None:
    """The larger population has as many slices with 100 equal cycles as with one."""
    panel, sizes = Panel(1), []
    for cycles in (2, 100):
        panel.order = [0] * cycles
        panel.people = Counter({((profile,) * cycles, (n % 2,) * cycles): 20 + n for n, profile in enumerate(PROFILES)})
        past = panel.past(True)
        assert past.larger is not None and set(past.kinds) == {0}
        system = together._known(panel.tables(cycles - 1), past.larger)[0]
        sizes.append((system.blocks.shape, system.slices.shape, len(system.lower)))
    assert sizes[0] == sizes[1]
