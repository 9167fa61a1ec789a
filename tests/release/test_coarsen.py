"""Merges of categories against every way to part them."""

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pytest

from safemargin.core import Axis, Group, Hierarchy, Target
from safemargin.release.rule import coarsen as coarsening
from safemargin.release.rule.coarsen import Coarsening, Merging, coarsen

pytestmark = pytest.mark.full

KINDS = ("free", "ordered", "tree", "two trees")


def partitions(names: tuple[str, ...]) -> Iterator[list[Group]]:
    """Every way to part the names."""
    if not names:
        yield []
        return
    first, rest = names[0], names[1:]
    for size in range(len(rest) + 1):
        for others in combinations(rest, size):
            group = frozenset([first, *others])
            for below in partitions(tuple(name for name in rest if name not in group)):
                yield [group, *below]


def tree(rng: np.random.Generator, names: tuple[str, ...]) -> dict[str, str]:
    """Areas of one or two levels; some categories may lie in none."""
    parents = {name: f"area {rng.integers(3)}" for name in names if rng.random() < 0.9}
    return parents | {f"area {place}": f"region {rng.integers(2)}" for place in range(3) if rng.random() < 0.6}


def siblings(parents: dict[str, str], names: tuple[str, ...]) -> set[Group]:
    """Unions of whole children of one area, or of the top."""

    def leaves(node: str) -> Group:
        below = [name for name in {*parents, *names} if parents.get(name) == node]
        return frozenset([node]) if node in names else frozenset().union(*(leaves(name) for name in below))

    nodes = {*names, *(node for node in parents), *parents.values()}
    found: set[Group] = set()
    for area in [None, *nodes]:
        children = [group for node in nodes if parents.get(node) == area and node != area if (group := leaves(node))]
        for size in range(1, len(children) + 1):
            found |= {frozenset().union(*some) for some in combinations(children, size)}
    return found


def problem(seed: int, kind: str, most: int = 6) -> Merging:
    """Some small and some nearly unanimous categories."""
    rng = np.random.default_rng(seed)
    names = tuple("abcdefgh"[: rng.integers(3, most + 1)])
    people = rng.integers(0, 30, len(names))
    yes = rng.binomial(people, rng.choice([0.02, 0.3, 0.5, 0.97], len(names)))
    limits = Target(beta=0.1, kappa=12, tau=0).limits([int(yes.sum()), int((people - yes).sum())], int(people.sum()))
    pairs = [frozenset(pair) for pair in combinations(names, 2)]
    apart = frozenset(pairs[place] for place in rng.permutation(len(pairs))[: rng.integers(0, 3)])
    trees = [tree(rng, names) for _ in range({"tree": 1, "two trees": 2}.get(kind, 0))]
    hierarchy = Hierarchy.from_parents("q", names, *trees) if trees else None
    axis = Axis("q", names, ordered=kind == "ordered", hierarchy=hierarchy)
    return Merging(
        axis,
        people,
        np.stack([yes, people - yes], axis=1),
        people * rng.integers(1, 3, len(names)),
        lambda size, votes: (limits.verdicts(votes, votes, size) == 0).all(axis=1),
        apart=apart if rng.random() < 0.5 else frozenset(),
    )


def least(one: Merging) -> int | None:
    """The loss of the best parting, by trying all of them."""
    axis = one.axis
    shapes: list[set[Group] | None] = [None]
    if axis.ordered:
        shapes = [{frozenset(axis.categories[i:j]) for i in range(len(axis.categories)) for j in range(i + 1, 9)}]
    elif axis.hierarchy and axis.parents:
        shapes = [siblings(dict(each), axis.categories) for each in axis.hierarchy.trees]
    best = None
    for groups in partitions(axis.categories):
        if not any(shape is None or shape.issuperset(groups) for shape in shapes):
            continue
        items = [one.item(group) for group in groups]
        permitted = one.permits(groups, np.array([i.people for i in items]), np.stack([i.votes for i in items]))
        loss = sum(one.loss(group) for group in groups)
        if permitted.all() and (best is None or loss < best):
            best = loss
    return best


def check(one: Merging, found: Coarsening, best: int | None, exact: bool) -> None:
    if best is None:
        assert not found.found
        return
    if not exact and not found.found:
        return
    assert frozenset().union(*found.groups) == frozenset(one.axis.categories)
    assert sum(len(group) for group in found.groups) == len(one.axis.categories)
    items = [one.item(group) for group in found.groups]
    votes = np.stack([item.votes for item in items])
    assert one.permits(found.groups, np.array([item.people for item in items]), votes).all()
    assert found.loss == sum(one.loss(group) for group in found.groups)
    assert found.bound <= best <= found.loss
    if exact:
        assert found.loss == best


@pytest.mark.parametrize("kind", KINDS)
def test_merges_lose_as_little_as_any(kind: str) -> None:
    possible = 0
    for seed in range(150):
        one = problem(seed, kind)
        best = least(one)
        possible += best is not None and best > 0
        check(one, coarsen(one), best, exact=True)
    assert possible > 40


@pytest.mark.parametrize("kind", ("free", "tree"))
def test_merges_of_many_categories_stay_within_the_gap(kind: str, monkeypatch) -> None:
    monkeypatch.setattr(coarsening, "FEW", 2)
    best_found = 0
    for seed in range(60):
        one = problem(seed, kind)
        best, found = least(one), coarsen(one)
        check(one, found, best, exact=False)
        best_found += found.found and found.loss == best
    assert best_found > 30


def test_sixty_categories_are_merged_at_once() -> None:
    rng = np.random.default_rng(5)
    names = tuple(f"d{place:02d}" for place in range(60))
    people = rng.integers(5, 400, 60)
    yes = rng.binomial(people, 0.4)
    limits = Target(beta=0.1, kappa=50, tau=0).limits([int(yes.sum()), int((people - yes).sum())], int(people.sum()))
    one = Merging(
        Axis("d", names),
        people,
        np.stack([yes, people - yes], axis=1),
        people,
        lambda size, votes: (limits.verdicts(votes, votes, size) == 0).all(axis=1),
    )
    found = coarsen(one)
    assert found.found and found.bound <= found.loss <= 4 * found.bound


def test_a_long_order_is_parted_at_the_least_loss() -> None:
    count = 1_800
    names = tuple(f"{place:04}" for place in range(count))
    people = np.ones(count, dtype=np.int64)

    def merging(least: int) -> Merging:
        return Merging(
            axis=Axis("day", names, ordered=True),
            people=people,
            votes=np.stack([people, people], axis=1),
            weights=people,
            allowed=lambda size, votes: size >= least,
        )

    halves, whole = coarsen(merging(count // 2)), coarsen(merging(count // 2 + 1))
    assert [len(group) for group in halves.groups] == [900, 900] and halves.loss == halves.bound == 2 * 900 * 899
    assert [len(group) for group in whole.groups] == [1_800] and whole.loss == whole.bound == 1_800 * 1_799
