"""Releases of many axes: all of them exact where integer tables prove it, and the others omitted by the roll alone."""

import numpy as np
import pytest

from cases import Town
from reruns import run, with_votes
from safemargin.core import Target, onlooker_with_roll
from safemargin.release.decide.decide import decide
from safemargin.release.plan import Action
from safemargin.release.rule.make import MANY, rule_for


def town(axes: int, people: int, seed: int, pull: float = 0.0) -> Town:
    """People with three random categories on each axis; on the first axis, `pull` moves the share of an answer."""
    rng = np.random.default_rng([seed, axes])
    names = tuple(f"a{number}" for number in range(axes))
    codes = np.unique(rng.integers(0, 3, (people, axes)), axis=0)
    yes = rng.random(len(codes)) < 0.5 + pull * (codes[:, 0] - 1)
    cells = [tuple(f"{name}{code}" for name, code in zip(names, row, strict=True)) for row in codes.tolist()]
    categories = tuple(tuple(f"{name}{code}" for code in range(3)) for name in names)
    votes = {cell: (int(chosen), int(not chosen)) for cell, chosen in zip(cells, yes, strict=True)}
    return Town(names, categories, ("yes", "no"), dict.fromkeys(cells, 1), votes)


@pytest.mark.slow
def test_every_group_of_twelve_axes_is_exact() -> None:
    plan = decide(town(12, 800, 1).table(), Target(kappa=10, tau=0))
    assert plan.certificate.certified
    assert (plan.certificate.proved, plan.certificate.rule) == ("integer", "rerun")
    assert {decision.action for decision in plan.decisions} == {Action.EXACT}


def test_axes_beyond_reach_are_omitted_by_the_roll_alone() -> None:
    place, rng = town(40, 600, 2), np.random.default_rng(5)
    yes = rng.random(len(place.people)) < 0.4
    other = with_votes(place, np.stack([yes, ~yes], axis=1).astype(np.int64))
    omitted = []
    for each in (place, other):
        table = each.table()
        onlooker = onlooker_with_roll(table, "joint")
        limits = Target(kappa=10, tau=0).limits(table.totals.tolist(), len(each.people))
        splits = rule_for(table, limits, [onlooker], "auto", Target(kappa=10, tau=0)).first().splits
        omitted.append([split.axis.name for split in splits if MANY in split.reasons.values()])
        assert [split.is_published for split in splits] == [split.axis.name not in omitted[-1] for split in splits]
    assert omitted[0] == omitted[1]
    assert 10 <= 40 - len(omitted[0]) < 30


@pytest.mark.slow
def test_merged_groups_among_many_axes_are_explained_by_other_answers() -> None:
    """One category of the first axis is outside the target, so that groups merge because of their answers."""
    plan, _ = run(town(8, 600, 3, pull=0.49), Target(kappa=10, tau=0))
    assert plan.certificate.certified
    assert plan.certificate.proved == "integer"
    first = [decision for decision in plan.decisions if decision.axis == "a0"]
    assert all(decision.action is not Action.EXACT for decision in first if "a00" in decision.group)
    assert {d.action for d in plan.decisions if d.axis != "a0"} == {Action.EXACT}
