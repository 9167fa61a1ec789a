"""The whole rule, run backwards over everything it could have seen: what is omitted discloses nobody's answer."""

import numpy as np
import pytest

from cases import Town, town
from evidence import seeds
from safemargin.audit.attack import attack
from safemargin.audit.findings import Attempt
from safemargin.audit.rerun import possible_tables
from safemargin.bounds import build_system
from safemargin.core import Limits, Target, onlooker_with_roll
from safemargin.release.decide.decide import decide
from safemargin.release.decide.maximise import maximise
from safemargin.release.plan import Wanted
from safemargin.release.publish import publish
from safemargin.release.rerun import rule_of

pytestmark = pytest.mark.full


def attacked(place: Town, target: Target, protect: str = "merge", wanted: tuple[Wanted, ...] = ()) -> Attempt | None:
    """What running the rule backwards discloses; none if the release is not certified, or too much is possible."""
    table = place.table()
    onlooker = onlooker_with_roll(table, "joint")
    plan = decide(table, target, [onlooker], protect=protect)
    if not plan.certificate.certified:
        return None
    if wanted:
        plan = maximise(plan, table, wanted, [onlooker])
    rerun = rule_of(table, target, [onlooker], protect, wanted)
    findings = attack(publish(plan, table), onlooker, sharp=None, rule_again=rerun)
    return next((attempt for attempt in findings.attempts if attempt.attack == "rerun"), None)


def naive(monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups are protected only beyond the limits."""
    monkeypatch.setattr(Limits, "strict", property(lambda self: self))


def opposite() -> Town:
    people = {("a",): 20, ("b",): 20}
    return Town(("q",), (("a", "b"),), ("yes", "no"), people, {("a",): (0, 20), ("b",): (20, 0)})


@pytest.mark.parametrize("protect", ["merge", "suppress"])
def test_an_axis_left_out_does_not_disclose_two_unanimous_groups(protect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everybody in a said no, everybody in b yes, and nothing is said about q. Naive: only that leads to it."""
    shipped = attacked(opposite(), Target(beta=0.05, kappa=5, tau=0), protect)
    assert shipped is not None and shipped.findings == ()
    assert shipped.summary.startswith("4 of 21 possible tables lead to this release")
    naive(monkeypatch)
    caught = attacked(opposite(), Target(beta=0.05, kappa=5, tau=0), protect)
    assert caught is not None and caught.summary.startswith("2 of 21 possible tables")
    assert {(one.cell["q"], one.words) for one in caught.findings} == {
        (name, "the rule would have decided otherwise, were it not 0 or 20 of 20 people") for name in "ab"
    }


def test_a_table_that_is_missing_does_not_disclose_who_made_it_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """p x q was asked for. Were it missing only for a unanimous cell, the two people of p1 and q0 agree."""
    rng = np.random.default_rng([15, 91])
    place = town(
        rng, axes=2, options=2, people=int(rng.integers(8, 16)), fill=1.0, most_categories=2, most_per_profile=15
    )
    target = Target(beta=float(rng.choice([0.1, 0.2])), kappa=int(rng.integers(1, 4)), tau=0)
    wanted = (Wanted(place.axes, None),)
    shipped = attacked(place, target, wanted=wanted)
    assert shipped is not None and shipped.findings == () and shipped.looked_at
    naive(monkeypatch)
    caught = attacked(place, target, wanted=wanted)
    assert caught is not None and caught.findings


def small(seed: int, axes: int) -> tuple[Town, Target]:
    rng = np.random.default_rng([seed, 91])
    place = town(
        rng,
        axes=axes,
        options=2,
        people=int(rng.integers(8, 16)),
        fill=1.0,
        most_categories=2 if axes > 1 else 3,
        most_per_profile=15,
    )
    return place, Target(beta=float(rng.choice([0.1, 0.2])), kappa=int(rng.integers(1, 4)), tau=0)


def leaks(seeds: range, axes: int, protect: str, crossed: bool = False) -> tuple[list[object], int]:
    found: list[object] = []
    looked = 0
    for seed in seeds:
        place, target = small(seed, axes)
        attempt = attacked(place, target, protect, (Wanted(place.axes, None),) if crossed else ())
        if attempt is not None and attempt.looked_at:
            looked += 1
            found += [(seed, one) for one in attempt.findings]
    return found, looked


@pytest.mark.parametrize("protect", ["merge", "suppress"])
def test_what_is_decided_in_small_towns_discloses_nothing_backwards(protect: str) -> None:
    found, looked = leaks(range(6), 1, protect)
    assert found == [] and looked > 3


@pytest.mark.slow
@pytest.mark.parametrize(("axes", "crossed"), [(1, False), (2, False), (2, True)])
def test_what_is_decided_in_more_small_towns_discloses_nothing_backwards(axes: int, crossed: bool) -> None:
    found, looked = leaks(seeds(10, 3, 10), axes, "merge", crossed)
    assert found == [] and looked > 1


def test_every_possible_table_is_listed_once() -> None:
    place = opposite()
    table = place.table()
    release = publish(decide(table, Target(beta=0.05, kappa=5, tau=0)), table)
    listed = possible_tables(build_system(release.tables, onlooker_with_roll(table, "joint")))
    assert listed is not None
    assert sorted(counts.tolist() for counts in listed) == [[count, 20 - count] for count in range(21)]
