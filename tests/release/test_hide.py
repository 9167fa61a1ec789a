"""Single groups that are suppressed: the rule, answers that explain it, and by brute force every answer that fits."""

from itertools import product

import numpy as np
import pytest

from cases import Town
from reruns import limits_by_hand, run, with_votes
from safemargin.core import Limits, Target
from safemargin.release.decide.decide import decide
from safemargin.release.plan import Action
from safemargin.release.rule.hide import explanations, suppressed


def one_axis(people: list[int], yes: list[int]) -> Town:
    names = [(f"p{place}",) for place in range(len(people))]
    votes = {name: (chose, size - chose) for name, size, chose in zip(names, people, yes, strict=True)}
    return Town(
        ("p",), (tuple(name[0] for name in names),), ("yes", "no"), dict(zip(names, people, strict=True)), votes
    )


def hidden(place: Town, target: Target) -> list[int]:
    decisions = decide(place.table(), target).decisions
    return [int(next(iter(d.group))[1:]) for d in decisions if d.action is Action.SUPPRESSED and len(d.group) == 1]


CASES = {
    "one": ([40, 30, 36, 44, 50, 60, 55, 52], [39, 12, 20, 22, 21, 25, 30, 20]),
    "both sides": ([26, 24, 40, 44, 50, 42, 43, 60], [25, 1, 18, 21, 30, 20, 21, 35]),
}


@pytest.mark.parametrize("case", CASES)
def test_every_answer_that_leads_to_the_release_leaves_each_group_within_the_target(case: str) -> None:
    place, target = one_axis(*CASES[case]), Target(beta=0.1, kappa=10, tau=0)
    plan, shown = run(place, target)
    gone = hidden(place, target)
    assert plan.certificate.rule == "rerun" and len(gone) == 2
    people, yes = (np.array(each) for each in CASES[case])
    least, most = limits_by_hand(place, target, people[gone])
    total, left = int(yes[gone].sum()), []
    for first in product(*(range(size + 1) for size in people[gone[:-1]].tolist())):
        last = total - sum(first)
        if 0 <= last <= people[gone[-1]]:
            votes = np.stack([yes, people - yes], axis=1)
            votes[gone, 0] = [*first, last]
            votes[gone, 1] = people[gone] - votes[gone, 0]
            if run(with_votes(place, votes), target)[1] == shown:
                left.append(votes[gone, 0])
    seen = np.array(left)
    assert (seen == yes[gone]).all(axis=1).any()
    within = (seen >= least[:, 0]) & (seen <= most[:, 0])
    assert within.any(axis=0).all(), "somebody who reruns the program excludes every count within the target"
    assert (seen.max(axis=0) > seen.min(axis=0)).all(), "a suppressed count is known exactly"


def limits_of(beta: float = 0.05, tau: int = 3) -> Limits:
    return Target(beta=beta, kappa=30, tau=tau).limits([6_000, 4_000], 10_000)


def test_made_up_answers_are_within_the_target_and_suppress_the_same_groups() -> None:
    found, tried, limits = 0, 0, limits_of()
    for seed in range(40):
        rng = np.random.default_rng([seed, 16])
        people = np.sort(rng.integers(60, 900, int(rng.integers(3, 9))))
        yes = rng.binomial(people, rng.choice([0.97, 0.97, 0.6, 0.03], len(people)))
        counts = np.stack([yes, people - yes], axis=1)
        bad = np.flatnonzero((limits.strict.verdicts(counts, counts, people) != 0).any(axis=1)).tolist()
        kinds = [""] * len(people)
        gone = sorted(suppressed(people, counts, bad, kinds, frozenset(), limits.strict))
        if not bad or len(gone) == len(people):
            continue
        tried, same = tried + 1, False
        for rows in list(explanations(people[gone], np.append(counts[gone].sum(axis=0), 0), limits))[:24]:
            other = counts.copy()
            other[gone] = rows[:, :-1]
            assert (other.sum(axis=0) == counts.sum(axis=0)).all() and (other.sum(axis=1) == people).all()
            assert (other[gone] >= limits.least(people[gone])).all() and (
                other[gone] <= limits.most(people[gone])
            ).all()
            again = np.flatnonzero((limits.strict.verdicts(other, other, people) != 0).any(axis=1)).tolist()
            # Covers of like size may be others; the program runs the rule on all that are made up and keeps one.
            same |= sorted(suppressed(people, other, again, kinds, frozenset(), limits.strict)) == gone
        found += same
    assert tried > 15 and 10 * found > 7 * tried


def test_a_few_bad_groups_never_lose_the_axis_and_covers_follow_from_sizes() -> None:
    people = [900, 200, 210, 220, 230, 240, 250, 260]
    place = one_axis(people, [450, 198, 100, 110, 120, 125, 130, 140])
    assert hidden(place, Target(beta=0.05, kappa=30, tau=3)) == [1, 2], "the smallest that is large enough covers it"
