"""The attack of `reruns.py` on several questions: an onlooker who runs the whole program on tuples of other answers.

A table of one question is possible if some tuple with it leads to the same files. The attack tries each with the true
answers and with the witnesses of the other questions beside it, so it finds fewer possible tables than there are: what
it calls a break deserves a look, and what it does not break is left with at least the tables that it found.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cases import Town
from question_enumeration import Survey, Votes
from reruns import breaks, random_city, random_secrets, roll_groups, witnesses
from safemargin.core import Target, onlooker_with_roll
from safemargin.release.plan import Plan
from safemargin.release.rule.questions import common_rule

MOST_TUPLES = 3


def random_battery(seed: int, most: int = 1_500, questions: Sequence[int] = (2, 3, 5, 6)) -> Survey:
    """A random city with several questions of 2 to 6 options; a few people skip each but the first."""
    first, target = random_city(seed, most, (1, 2, 3), False, (2, 3, 4, 5, 6))
    rng = np.random.default_rng([seed, 97])
    towns = [first]
    for _ in range(int(rng.choice(questions)) - 1):
        count = int(rng.integers(2, 7))
        spread = float(rng.choice([0.3, 0.8, 1.5, 2.5]))
        pulls = [rng.normal(0, spread, (len(each), count)) for each in first.categories]
        people, votes = {}, {}
        for profile, number in first.people.items():
            there = int(rng.binomial(number, 0.97))
            pull = sum(pulls[a][first.categories[a].index(name)] for a, name in enumerate(profile))
            chances = np.exp(pull - np.max(pull))
            if there:
                people[profile] = there
                votes[profile] = tuple(rng.multinomial(there, chances / chances.sum()).tolist())
        towns.append(Town(first.axes, first.categories, tuple("ABCDEF"[:count]), people, votes))
    targets = [
        replace(target, secrets=random_secrets(10 * seed + place, town.options)) for place, town in enumerate(towns)
    ]
    grouping = str(rng.choice(["common", "common", "each"]))
    protect = str(rng.choice(["auto", "auto", "merge", "suppress"]))
    return Survey(tuple(towns), tuple(targets), grouping, protect)


def groups_of(survey: Survey, question: int) -> list[tuple[int, ...]]:
    """Per profile the groups of its categories that rolls alone make; the program reads no finer counts."""
    town, target = survey.towns[question], survey.targets[question]
    if survey.grouping == "each" or len(survey.towns) == 1:
        return roll_groups(town, target)
    tables = [each.table() for each in survey.towns]
    watching = [[onlooker_with_roll(table, "joint")] for table in tables]
    rule = common_rule(survey.everybody(), tables, survey.targets, watching, survey.protect)
    homes = [
        {name: number for number, group in enumerate(cover.split.groups) for name in group}
        for cover in rule.rules[question].covers
    ]
    return [tuple(home[name] for home, name in zip(homes, profile, strict=True)) for profile in town.people]


def attacked_battery(survey: Survey) -> tuple[Sequence[Plan], list[object], bool]:
    """The plans, what is broken, and whether every tuple of witnesses leads to the same files."""
    plans, shown = survey.run(survey.truth)
    if not all(plan.certificate.certified and plan.certificate.rule == "rerun" for plan in plans):
        return plans, [], True
    held = [
        [_votes(votes) for votes in witnesses(town, plan)] or [own]
        for town, plan, own in zip(survey.towns, plans, survey.truth, strict=True)
    ]
    tuples = [[own[k % len(own)] for own in held] for k in range(min(max(map(len, held)), MOST_TUPLES))]
    same = all(survey.run(each)[1] == shown for each in tuples)
    contexts = [survey.truth, *(tuples if same else ())]
    found: list[object] = []
    for question, (town, target, plan) in enumerate(zip(survey.towns, survey.targets, plans, strict=True)):

        def program(place: Town, _: Target, question: int = question) -> tuple[Plan, tuple[object, ...]]:
            for context in contexts:
                votes = [tuple(place.votes.values()) if q == question else own for q, own in enumerate(context)]
                tried, seen = survey.run(votes)
                if seen == shown:
                    break
            return tried[question], seen

        starts = [np.array(context[question]) for context in contexts]
        groups = groups_of(survey, question)
        broken = breaks(town, target, plan, shown, starts, program=program, groups=groups)
        found += [(question, each) for each in broken]
    return plans, found, same


def _votes(table: np.ndarray) -> Votes:
    return tuple(map(tuple, table.tolist()))
