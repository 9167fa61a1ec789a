"""Which groups of an axis cover each other: blocks by the roll alone, and the cut through them by shares."""

import numpy as np

from safemargin.core import Axis, Hierarchy, Limits, Target
from safemargin.release.rule.protect import AxisCoarsening
from safemargin.release.rule.split import AxisPartition, blocks

AREAS = {"q0": "north", "q1": "north", "q2": "south", "q3": "south"}


def case(seed: int) -> tuple[AxisPartition, Limits, np.ndarray]:
    rng = np.random.default_rng([seed, 77])
    names = tuple(f"q{place}" for place in range(int(rng.integers(2, 6))))
    kind = seed % 3
    areas = Hierarchy.from_parents("q", names, {n: AREAS[n] for n in names if n in AREAS})
    axis = Axis("q", names, ordered=kind == 1, hierarchy=areas if kind == 2 else None)
    people = rng.integers(2, 7, len(names))
    chose = rng.binomial(people, rng.choice([0.02, 0.5, 0.5, 0.98], len(names)))
    votes = np.stack([chose, people - chose], axis=1)
    target = Target(beta=float(rng.choice([0.02, 0.15])), kappa=1, tau=int(rng.integers(0, 2)))
    limits = target.limits(votes.sum(axis=0).tolist(), int(people.sum()))
    groups = tuple(frozenset([name]) for name in names)
    return AxisPartition(axis, votes, people, groups), limits, votes


def test_what_is_published_alone_is_regular() -> None:
    for seed in range(90):
        one, limits, _ = case(seed)
        for block in AxisCoarsening(one, limits.strict).cut():
            if not block.children:
                assert one.regular(block.whole, limits.strict)


def test_blocks_look_at_the_roll_alone() -> None:
    for seed in range(30):
        one, _, votes = case(seed)
        other = AxisPartition(one.axis, votes[:, ::-1], one.people, one.groups)
        assert str(blocks(one)) == str(blocks(other))
        assert sorted(map(sorted, blocks(one).groups)) == sorted(map(sorted, one.groups))


def test_ordered_groups_are_covered_by_neighbours() -> None:
    for seed in range(1, 90, 3):
        one, limits, _ = case(seed)
        for block in AxisCoarsening(one, limits.strict).cut():
            places = sorted(one.axis.index[category] for category in block.whole)
            assert places == list(range(places[0], places[0] + len(places)))


def test_a_group_outside_the_strict_limits_is_never_published_alone_and_more_force_never_splits() -> None:
    for seed in range(60):
        one, limits, _ = case(seed)
        cover = AxisCoarsening(one, limits.strict)
        before = [block.whole for block in cover.cut()]
        for group, parent in cover.parents.items():
            after = [block.whole for block in cover.cut({parent.whole})]
            assert all(any(old <= new for new in after) for old in before), (seed, group)


def test_strict_limits_lie_inside_by_the_guard_and_by_more_than_tau_counts() -> None:
    people = np.arange(12, 400)
    for tau in (0, 3):
        limits = Target(beta=0.05, kappa=5, tau=tau).limits([500, 500], 1000)
        least, strict = limits.least(people), limits.strict.least(people)
        assert (strict - least > np.minimum(tau, people // 4)[:, None]).all()
        assert (strict >= 0.075 * people[:, None] - 1e-9).all()
        # If two groups together are outside, one of them is: a merged block is explained by its sum alone.
        of = dict(zip(people.tolist(), strict[:, 0].tolist(), strict=True))
        assert all(of[a + b] <= of[a] + of[b] for a in range(12, 150, 7) for b in range(12, 150, 11))
