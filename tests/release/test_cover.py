"""The rule, run backwards by exhaustion: what is published the same way leaves open how every covered group voted."""

from itertools import product

import numpy as np
import pytest

from safemargin.core import Axis, Group, Hierarchy, Limits, Target
from safemargin.release.decide.protect import Cover, blocks
from safemargin.release.decide.split import Split

AREAS = {"q0": "north", "q1": "north", "q2": "south", "q3": "south"}


def case(seed: int) -> tuple[Split, Limits, np.ndarray]:
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
    return Split(axis, votes, people, groups), limits, votes


def disclosed(one: Split, limits: Limits, votes: np.ndarray, merged: bool) -> list[Group]:
    """Groups that follow from what is published, by whoever knows the roll and the rule."""
    cover = Cover(one, limits)
    out = cover.published(votes)
    if out is None:
        return []
    hidden = [place for part in out if len(part) > 1 for place in (one.groups.index(group) for group in part)]
    people = np.array([one.size(group) for group in one.groups])
    lower, upper = people.copy(), people * 0
    for some in product(*(range(int(people[place]) + 1) for place in hidden)):
        trial = votes.copy()
        trial[hidden, 0] = some
        trial[hidden, 1] = people[hidden] - trial[hidden, 0]
        if (trial.sum(axis=0) != votes.sum(axis=0)).any():
            continue
        codes = [[one.groups.index(group) for group in part] for part in out]
        if merged and any((trial[part].sum(axis=0) != votes[part].sum(axis=0)).any() for part in codes):
            continue
        if cover.published(trial) == out:
            lower, upper = np.minimum(lower, trial[:, 0]), np.maximum(upper, trial[:, 0])
    lower2 = np.stack([lower, people - upper], axis=1)[hidden]
    upper2 = np.stack([upper, people - lower], axis=1)[hidden]
    verdicts = limits.verdicts(lower2, upper2, people[hidden])
    return [one.groups[hidden[row]] for row in np.flatnonzero((verdicts == 2).any(axis=1)).tolist()]


@pytest.mark.parametrize("merged", [True, False], ids=["merged", "suppressed"])
@pytest.mark.parametrize(("seeds", "least"), [(12, 8), pytest.param(90, 20, marks=pytest.mark.slow)])
def test_nobody_sees_through_the_rule(seeds: int, least: int, merged: bool) -> None:
    covered = 0
    for seed in range(seeds):
        split, limits, votes = case(seed)
        parts = Cover(split, limits).published(votes)
        if parts is None or all(len(part) == 1 for part in parts):
            continue
        covered += 1
        assert disclosed(split, limits, votes, merged) == [], seed
    assert covered > least


def test_what_is_published_alone_is_regular() -> None:
    for seed in range(90):
        one, limits, votes = case(seed)
        for part in Cover(one, limits).published(votes) or []:
            if len(part) == 1:
                assert one.regular(part[0], limits)


def test_blocks_look_at_the_roll_alone() -> None:
    for seed in range(30):
        one, _, votes = case(seed)
        other = Split(one.axis, votes[:, ::-1], one.people, one.groups)
        assert str(blocks(one)) == str(blocks(other))
        assert sorted(map(sorted, blocks(one).groups)) == sorted(map(sorted, one.groups))


def test_ordered_groups_are_covered_by_neighbours() -> None:
    for seed in range(1, 90, 3):
        one, limits, votes = case(seed)
        for part in Cover(one, limits).published(votes) or []:
            places = sorted(one.axis.index[category] for group in part for category in group)
            assert places == list(range(places[0], places[0] + len(places)))
