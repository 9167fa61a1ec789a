"""Many cycles in one ledger: those that say nothing new cost nothing, and decide nothing otherwise."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from unittest import mock

import numpy as np
import pytest

from evidence import seeds
from safemargin.bounds import Proof, certify_with_earlier, together
from safemargin.bounds.cells import Level, needs
from safemargin.bounds.exchange import Links, finest
from safemargin.bounds.levels import _enclose_all
from safemargin.bounds.rounding import _path
from safemargin.bounds.system import slice_ranges
from safemargin.core import (
    CROSS,
    Axis,
    Earlier,
    History,
    Limits,
    Past,
    PublishedTable,
    Schema,
    Table,
    Tally,
    Target,
    frozen,
)
from safemargin.release.report.alternatives import effort

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


@pytest.mark.parametrize("seed", seeds(0, 4, 60))
def test_what_slices_leave_of_a_cell_is_added_up_from_the_definition(seed: int) -> None:
    """Slices inside a cell, one block at a time, and the slice around it, in plain Python."""
    panel = Panel(seed)
    tables, past = panel.tables(len(panel.order) - 1), panel.past(True)
    assert past.larger is not None
    system = together._known(tables, past.larger)[0]
    assert system.people is not None
    ranges, people = slice_ranges(system), system.people.tolist()
    limits = Target(kappa=5, tau=1).limits(tables[0].lower.tolist(), int(tables[0].lower.sum()))
    column = np.random.default_rng(seed).integers(system.codes.shape[1])
    level = Level((system.axes[column],), system.codes[:, [column]], system.people, len(system.options), limits)
    _enclose_all(system, [level], ranges)
    for cell in range(len(level.first)):
        members = set(np.flatnonzero(level.cell_of == cell).tolist())
        for option in range(len(system.options)):
            low, high = 0, sum(people[p] for p in members)
            for block in system.blocks.tolist():
                within = {s: {p for p, other in enumerate(block) if other == s} for s in set(block) - {-1}}
                inside = {s: who for s, who in within.items() if who <= members}
                rest = sum(people[p] for p in members - set().union(*inside.values()))
                low = max(low, sum(int(ranges.least[s, option]) for s in inside))
                high = min(high, rest + sum(int(ranges.most[s, option]) for s in inside))
                for s, who in within.items():
                    if members <= who:
                        low = max(low, int(ranges.least[s, option]) - sum(people[p] for p in who - members))
                        high = min(high, int(ranges.most[s, option]))
            assert (level.outer_lower[cell, option], level.outer_upper[cell, option]) == (low, high)


def test_open_ends_are_counted_as_they_are() -> None:
    """Also after some rows alone were shown, and after a table that shows nothing new."""
    rng = np.random.default_rng(28)
    people = rng.integers(20, 60, 40)
    limits = Target(kappa=5, tau=1).limits([600, int(people.sum()) - 600], int(people.sum()))
    level = Level(("a",), rng.integers(0, 12, (40, 1)), people, 2, limits)
    for _ in range(20):
        sums = level.add(np.stack([(yes := rng.binomial(people, rng.random())), people - yes], axis=1))
        rows = rng.permutation(len(sums))[:4]
        for step in (partial(level.show_some, rows, sums[rows], sums[rows]), partial(level.show, sums, sums)):
            step()
            up, down = level._find_needs()
            assert level.open_cells == int((up | down).any(axis=1).sum())
            assert needs([level]) == int(up.sum() + down.sum())


@pytest.mark.parametrize("seed", range(40))
def test_a_block_that_another_refines_is_not_among_the_finest(seed: int) -> None:
    rng = np.random.default_rng(seed)
    blocks = rng.integers(-1, 4, (5, 12))
    blocks[1], blocks[3] = np.where(blocks[0] < 0, -1, blocks[0] // 2), blocks[2]

    def follows(coarse: list[int], fine: list[int]) -> bool:
        return len(set(zip(coarse, fine, strict=True))) == len(set(fine))

    found = finest(blocks)
    parts = blocks.tolist()
    assert all(any(follows(each, parts[top]) for top in found) for each in parts)
    assert not any(follows(parts[a], parts[b]) for a in found for b in found if a != b)


@pytest.mark.parametrize("seed", range(60))
def test_the_way_between_slices_is_the_cheapest(seed: int) -> None:
    """Against all ways, listed; a link of few pairs is dear, and some are barred."""
    rng = np.random.default_rng([seed, 3])
    near: dict[int, dict[int, tuple[np.ndarray, np.ndarray]]] = {}
    for a in range(-1, 5):
        for b in range(a + 1, 5):
            if rng.random() < 0.6:
                pairs = np.zeros(int(rng.choice([1, 2, 3, 90, 400])), dtype=np.int64)
                near.setdefault(a, {})[b] = near.setdefault(b, {})[a] = pairs, pairs
    links = Links({a: dict(sorted(to.items(), key=lambda link: -len(link[1][0]))) for a, to in near.items()})
    barred = {(int(a), int(b)) for a, b in rng.integers(-1, 5, (4, 2))}

    def cost(way: Sequence[int]) -> float:
        return sum(1 + 100 / len(links[a][b][0]) for a, b in zip(way, way[1:], strict=False))

    def ways(way: list[int]) -> list[list[int]]:
        if way[-1] == 4:
            return [way]
        open_ends = [b for b in links.get(way[-1], {}) if b not in way and (way[-1], b) not in barred]
        return [longer for b in open_ends for longer in ways([*way, b])]

    found, every = _path(links, 0, 4, barred), ways([0])
    assert (found is None) == (not every)
    if found is not None:
        assert found in every and cost(found) == pytest.approx(min(map(cost, every)))


def test_what_a_choice_costs_grows_with_cycles_and_histories() -> None:
    """So a report lists fewer choices that nobody asked for after many cycles, and all cycles take a bounded time."""
    panel = Panel(2)
    axes = tuple(Axis(name, tuple(sorted({profile[a] for profile in PROFILES}))) for a, name in enumerate(AXES))
    codes = frozen([[axis.index[name] for axis, name in zip(axes, p, strict=True)] for p in PROFILES], 2)
    votes = Tally(AXES, codes, frozen(np.full((len(PROFILES), 2), 30), 2))
    table = Table(Schema(axes, OPTIONS), (votes,), (Tally(AXES, codes, frozen(np.full(len(PROFILES), 60), 1)),))
    alone, past = effort(table), panel.past(True)
    assert alone == len(PROFILES) * len(OPTIONS)
    few = replace(past, earlier=past.earlier[:1])
    assert alone < effort(table, [few]) < effort(table, [few, past])
    people = dict.fromkeys([*past.histories[AXES], *((p, None) for p in PROFILES)], 1)
    assert effort(table, [past]) < effort(table, [replace(past, histories={AXES: people})])
