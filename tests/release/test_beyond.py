"""Reasons that fix one count: every table that agrees with a release and with its ranges leads the rule to it."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from evidence import EVERYTHING
from reruns import attacked, exchanges, part_groups, random_city, run, with_votes, witnesses
from safemargin import release, verify
from safemargin.core import onlooker_with_roll
from safemargin.release.decide.decide import prove
from safemargin.release.decide.elsewhere import explained_way
from safemargin.release.plan import Plan
from safemargin.release.publish import publish
from safemargin.release.replay import rerun_failures
from safemargin.release.rule.make import made_rule
from safemargin.release.witnesses import carried_in

pytestmark = pytest.mark.full


def agrees(plan: Plan, profiles: list[tuple[str, ...]], axes: tuple[str, ...], votes: np.ndarray) -> bool:
    """Whether a table has a count in every range, by adding up."""
    for each in plan.beyond:
        at = axes.index(each.axis)
        inside = [number for number, profile in enumerate(profiles) if profile[at] in each.group]
        if not each.least <= votes[inside, each.option].sum() <= each.most:
            return False
    return True


CITIES = list(range(300_000, 301_000)) if EVERYTHING else [300_000, 300_010, 300_020, 300_026]
"""Cities of 60 to 200 people with 3 or 5 options, of which these rest on ranges."""


def test_every_table_with_such_counts_leads_here() -> None:
    """Walks over tables that agree with what is published: wherever the ranges are met, the files are the same."""
    inside = others = 0
    for seed in CITIES:
        place, target = random_city(seed, 200, (2,), answers=(3, 5))
        plan, shown = run(place, target)
        if not plan.beyond:
            continue
        assert plan.certificate.rule == "rerun"
        rng, profiles = np.random.default_rng(seed), list(place.people)
        for start in list(witnesses(place, plan))[:6]:
            assert agrees(plan, profiles, place.axes, start)
            for votes in [each.copy() for each in exchanges(part_groups(place, plan), rng, start, 12)][-1:]:
                met = agrees(plan, profiles, place.axes, votes)
                inside, others = inside + met, others + (not met)
                if met:
                    assert run(with_votes(place, votes), target)[1] == shown, seed
    assert inside >= 8 and others, (inside, others)


@pytest.mark.slow
def test_an_onlooker_who_knows_the_rule_confines_no_cell() -> None:
    """The attack from the definition on releases that rest on ranges; with EVIDENCE=all, of 1,000 cities."""
    attacks = 0
    for seed in CITIES if EVERYTHING else CITIES[1:2]:
        place, target = random_city(seed, 200, (2,), answers=(3, 5))
        if run(place, target)[0].beyond:
            _, found, same = attacked(place, target)
            attacks += 1
            assert same and found == [], seed
    assert attacks


@pytest.mark.slow
@pytest.mark.parametrize("seed", [200_011, 200_072, *((200_066, 200_098, 200_046) if EVERYTHING else ())])
def test_reasons_from_whole_tables_and_other_ways_to_coarsen(seed: int) -> None:
    """The first two rest on a cell that is driven to a limit, the others on another way to coarsen: none is broken.

    All were "not shown" before, with five options.
    """
    place, target = random_city(seed, 5_000, answers=(5,))
    plan, found, same = attacked(place, target)
    assert plan.certificate.rule == "rerun" and not plan.data_independent
    assert same and found == []
    assert bool(plan.shared_sums) == (seed in (200_011, 200_072))


def test_the_way_that_is_explained_omits_no_axis() -> None:
    """Another way is taken only if it publishes as many axes as the release that nothing explains."""
    place, target = random_city(200_046, 5_000, answers=(5,))
    table = place.table()
    rule = made_rule(table, target, (onlooker_with_roll(table, "joint"),), protect="auto")
    for axes in (1, 2, 3):
        found = explained_way(rule, axes, lambda way: prove(rule, way))
        if found is not None:
            assert len(found[0].published) >= axes and found[1].rule and found[1].proof.holds
    assert explained_way(rule, 4, lambda way: prove(rule, way)) is None


def test_ranges_are_carried_and_explain_the_release(tmp_path: Path) -> None:
    """Whoever reruns a release finds the reason of every block; without the range, or with one inside, it is none."""
    place, target = random_city(300_010, 200, (2,), answers=(3, 5))
    rows = [
        {**dict(zip(place.axes, profile, strict=True)), "answer": option, "n": count}
        for profile, counts in place.votes.items()
        for option, count in zip(place.options, counts, strict=True)
    ]
    made = release(rows, answer="answer", count="n", by=list(place.axes), target=target)
    assert made.certificate.rule == "rerun"
    made.write(tmp_path / "out")
    (question,) = json.loads((tmp_path / "out/auditors/witnesses.json").read_text())["questions"]
    assert question["beyond"] and not question["fixed"]
    folders = {"release": tmp_path / "out/published", "auditors": tmp_path / "out/auditors"}
    assert verify(folders["release"], auditors=folders["auditors"], rerun=True).outcome == "holds"
    carried = carried_in({path.name: path.read_bytes() for path in folders["auditors"].iterdir()})
    plan, _ = run(place, target)
    (held,) = carried.beyond
    printed = publish(plan, place.table()).tables
    for wrong in (replace(held, least=0), replace(held, group=frozenset()), None):
        other = replace(carried, beyond=() if wrong is None else (wrong,))
        assert "fixes no sums that explain" in next(rerun_failures(other, target, printed)), wrong
