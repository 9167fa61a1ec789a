"""All answers that lead to the same files, listed one by one: nothing certified with `rerun` is disclosed by them."""

from collections import Counter
from itertools import product

import numpy as np
import pytest

from evidence import seeds
from question_enumeration import Survey, disclosed, possible, random_survey

KINDS = {
    "one question": (1, "each", "auto"),
    "one question, suppressed": (1, "each", "suppress"),
    "common groups, merged": (2, "common", "merge"),
    "common groups, suppressed": (2, "common", "suppress"),
    "groups of each": (2, "each", "auto"),
}


def attacked(kind: str, first: int, wanted: int, most: int) -> Counter[str]:
    """Surveys of one kind until so many with something merged or suppressed were attacked by enumeration."""
    questions, grouping, protect = KINDS[kind]
    seen: Counter[str] = Counter()
    for seed in range(first, first + most):
        survey = random_survey(seed, questions, grouping, protect, (2, 3, 4) if questions == 1 else (2, 3))
        plans, shown = survey.run(survey.truth)
        certified = all(plan.certificate.certified for plan in plans)
        if not certified or any(plan.certificate.rule != "rerun" for plan in plans):
            seen["another label"] += 1
            continue
        plain = all(plan.data_independent for plan in plans)
        left = possible(survey, plans, shown)
        if left is None:
            seen["too many answers"] += 1
            continue
        for town, target, plan, tables in zip(survey.towns, survey.targets, plans, left, strict=True):
            assert len(tables), (kind, seed)
            broken = disclosed(town, target, plan, tables)
            assert not broken, (kind, seed, broken)
        seen["plain" if plain else "merged or suppressed"] += 1
        if seen["merged or suppressed"] >= wanted:
            break
    return seen


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_enumeration_of_all_answers_breaks_nothing(kind: str) -> None:
    count = len(seeds(0, 2, 40))
    assert attacked(kind, 1_000, count, 60 * count)["merged or suppressed"] >= 1


def sets_lead_here(survey: Survey) -> tuple[bool, bool] | None:
    """Whether `F^-1(P)` is the product of what is left of each question; and whether something was merged or hidden."""
    plans, shown = survey.run(survey.truth)
    left = possible(survey, plans, shown)
    if left is None or not all(plan.certificate.rule == "rerun" for plan in plans):
        return None
    chosen = [[tuple(map(tuple, table.tolist())) for table in tables[:: max(len(tables) // 6, 1)]] for tables in left]
    return all(survey.run(votes)[1] == shown for votes in product(*chosen)), not all(
        plan.data_independent for plan in plans
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["common groups, suppressed", "groups of each"])
def test_answers_that_lead_to_the_same_files_are_a_product(kind: str) -> None:
    """The law behind the label where groups are suppressed: decisions about a question read that question only."""
    questions, grouping, protect = KINDS[kind]
    found = [sets_lead_here(random_survey(s, questions, grouping, protect)) for s in seeds(3_000, 8, 200)]
    assert all(each[0] for each in found if each is not None)
    assert any(each[1] for each in found if each is not None)


def test_five_questions_by_auto_read_one_question_each() -> None:
    """From five questions on `auto` suppresses: what is printed of one does not change with the answers to others."""
    survey = random_survey(5, 5, "common", "auto")
    rng = np.random.default_rng(1)
    _, shown = survey.run(survey.truth)
    for question in range(5):
        other = [
            own if place == question else tuple(tuple(rng.permutation(row).tolist()) for row in own)
            for place, own in enumerate(survey.truth)
        ]
        plans, _ = survey.run(other)
        before, _ = survey.run(survey.truth)
        assert plans[question].decisions == before[question].decisions
        assert plans[question].certificate == before[question].certificate
    assert shown
