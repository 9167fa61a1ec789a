"""Attacks find what is broken, and nothing in what `decide` lets out."""

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from brute import Fiber, TooMany, published
from cases import Town, margin, rolls, town
from safemargin.audit.attack import ATTACKS, attack
from safemargin.audit.findings import Attempt, Findings
from safemargin.core import Guarantee, Onlooker, Publication, PublishedTable, Target, frozen, onlooker_with_roll
from safemargin.io import read_tidy
from safemargin.release.decide.decide import decide
from safemargin.release.publish import RULE, publish
from safemargin.release.rule.make import PROTECTIONS

pytestmark = pytest.mark.full

COMPOSITIONS = ("joint", "sizes", "none")


def by(findings: Findings, attack: str) -> Attempt:
    return next(attempt for attempt in findings.attempts if attempt.attack == attack)


def city() -> Town:
    people, votes = {}, {}
    for i, (p, q) in enumerate(product(("p0", "p1"), ("q0", "q1", "q2"))):
        people[p, q] = 30 + i
        votes[p, q] = (12 + i, 18)
    return Town(("p", "q"), (("p0", "p1"), ("q0", "q1", "q2")), ("A", "B"), people, votes)


def hiding(place: Town, *groups: str) -> PublishedTable:
    """The axis q with some groups suppressed."""
    rows = [
        ((q,), option, None if q in groups else place.count(("q",), ((q,),), option))
        for q in place.categories[1]
        for option in place.options
    ]
    return published("q", ("q",), rows, place.options)


def test_every_attack_reports() -> None:
    place = city()
    findings = attack(Publication((margin(place, ()), margin(place, ("p",))), Target(kappa=10, tau=0)))
    assert [attempt.attack for attempt in findings.attempts] == list(ATTACKS)
    assert findings.is_safe == (not any(attempt.findings for attempt in findings.attempts))


@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_a_single_suppressed_group_follows_by_subtraction(composition: str) -> None:
    """Of q1 nearly everybody chose A, and B is common elsewhere: its limit is beta."""
    place = city()
    votes = {profile: (n - 1, 1) if profile[1] == "q1" else (12, n - 12) for profile, n in place.people.items()}
    place = replace(place, votes=votes)
    release = Publication(
        (margin(place, ()), margin(place, ("p",)), hiding(place, "q1")), Target(beta=0.2, kappa=5, tau=0)
    )
    findings = attack(release, Onlooker(roll=rolls(place, composition)))
    broken = by(findings, "subtraction").findings
    assert {(one.cell["q"], one.option) for one in broken} == {("q1", "A"), ("q1", "B")}
    for one in broken:
        assert one.lower == one.upper == place.count(("q",), (("q1",),), one.option)
    assert not findings.is_safe


@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_two_suppressed_groups_do_not(composition: str) -> None:
    place = city()
    release = Publication(
        (margin(place, ()), margin(place, ("p",)), hiding(place, "q1", "q2")), Target(beta=0.05, kappa=5, tau=0)
    )
    findings = attack(release, Onlooker(roll=rolls(place, composition)))
    assert by(findings, "subtraction").findings == ()
    assert by(findings, "subtraction").looked_at == 4


def test_two_suppressed_groups_do_if_the_roll_leaves_no_choice() -> None:
    """All 62 people of q1 and q2 together chose A: suppressing both hides nothing from whoever knows their sizes."""
    people = {
        ("p0", "q0"): 30,
        ("p1", "q0"): 30,
        ("p0", "q1"): 20,
        ("p1", "q1"): 12,
        ("p0", "q2"): 15,
        ("p1", "q2"): 15,
    }
    votes = {cell: (15, 15) if cell[1] == "q0" else (n, 0) for cell, n in people.items()}
    place = Town(("p", "q"), (("p0", "p1"), ("q0", "q1", "q2")), ("A", "B"), people, votes)
    release = Publication((margin(place, ()), hiding(place, "q1", "q2")), Target(beta=0.05, kappa=5, tau=0))
    assert by(attack(release, Onlooker(roll=rolls(place, "sizes"))), "subtraction").people_exposed == 62
    assert by(attack(release), "subtraction").findings != ()  # nobody chose B there: that follows without any roll


def test_unanimous_groups_are_found_by_looking() -> None:
    people = {("q0",): 30, ("q1",): 7, ("q2",): 3}
    place = Town(
        ("q",), (("q0", "q1", "q2"),), ("A", "B"), people, {("q0",): (14, 16), ("q1",): (7, 0), ("q2",): (0, 3)}
    )
    release = Publication((margin(place, ()), margin(place, ("q",))), Target(kappa=1, tau=0))
    for composition in COMPOSITIONS:
        found = by(attack(release, Onlooker(roll=rolls(place, composition))), "homogeneity")
        assert {(one.cell["q"], one.option, one.people) for one in found.findings} == {("q1", "A", 7), ("q2", "B", 3)}
        assert (found.looked_at, found.people_exposed) == (3, 10)


def overlapping(place: Town) -> PublishedTable:
    """The axis q by category, and two of its groups together, as a table with an area and its parts has them."""
    cells = [("q0",), ("q1",), ("q2",), ("q1 | q2",)]
    groups = {("q1 | q2",): ("q1", "q2")}
    rows = [
        (cell, option, place.count(("q",), (groups.get(cell, cell),), option))
        for cell in cells
        for option in place.options
    ]
    return published("q", ("q",), rows, place.options)


@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_groups_that_overlap_have_all_their_people(composition: str) -> None:
    """20 of 40 people in q1 and q2 chose A; all 30 of q0 did. The area holds its parts, which are ordinary."""
    people = {("q0",): 30, ("q1",): 25, ("q2",): 15}
    votes = {("q0",): (30, 0), ("q1",): (12, 13), ("q2",): (8, 7)}
    place = Town(("q",), (("q0", "q1", "q2"),), ("A", "B"), people, votes)
    release = Publication((margin(place, ()), overlapping(place)), Target(kappa=1, tau=0))
    found = by(attack(release, Onlooker(roll=rolls(place, composition))), "homogeneity")
    assert [(one.cell["q"], one.option, one.people) for one in found.findings] == [("q0", "A", 30)]
    assert (found.looked_at, found.people_exposed) == (4, 30)


def test_a_roll_with_areas_and_their_parts_counts_nobody_twice() -> None:
    people = {("q0",): 30, ("q1",): 25, ("q2",): 15}
    place = Town(
        ("q",), (("q0", "q1", "q2"),), ("A", "B"), people, {("q0",): (30, 0), ("q1",): (12, 13), ("q2",): (8, 7)}
    )
    roll = published("roll", ("q",), [(("q0",), None, 30), (("q1",), None, 25), (("q2",), None, 15)], measure="people")
    nested = published(
        "roll",
        ("q",),
        [(("q0",), None, 30), (("q1",), None, 25), (("q2",), None, 15), (("q1 | q2",), None, 40)],
        measure="people",
    )
    release = Publication((margin(place, ()), overlapping(place)), Target(kappa=1, tau=0))
    plain, wide = (by(attack(release, Onlooker(roll=(each,))), "homogeneity") for each in (roll, nested))
    assert plain == wide and plain.looked_at == 4


def test_joint_collapse_is_found() -> None:
    """All four published shares are between .25 and .5; together they disclose how 100 people answered."""
    people = {("p0", "q0"): 100, ("p0", "q1"): 100, ("p1", "q0"): 100}
    votes = {("p0", "q0"): (0,), ("p0", "q1"): (50,), ("p1", "q0"): (50,)}
    place = Town(("p", "q"), (("p0", "p1"), ("q0", "q1")), ("A",), people, votes)
    tables = (margin(place, ()), margin(place, ("p",)), margin(place, ("q",)))
    findings = attack(Publication(tables, Target(beta=0.2, kappa=100, tau=0)), Onlooker(roll=rolls(place, "joint")))
    assert by(findings, "homogeneity").findings == ()
    found = by(findings, "joint").findings
    assert [(one.cell, one.people, one.lower, one.upper) for one in found] == [({"p": "p0", "q": "q0"}, 100, 0, 0)]


@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_whatever_the_joint_attack_claims_is_true(composition: str) -> None:
    claims = 0
    for seed in range(30):
        rng = np.random.default_rng([seed, 71])
        place = town(rng, axes=2, options=1 + seed % 2, people=int(rng.integers(4, 14)), fill=0.8)
        tables = [margin(place, ()), *(margin(place, (axis,)) for axis in place.axes)]
        onlooker = Onlooker(roll=rolls(place, composition))
        try:
            fiber = Fiber(tables, onlooker)
        except TooMany:
            continue
        for one in by(attack(Publication(tuple(tables), Target(beta=0.1, kappa=3, tau=0)), onlooker), "joint").findings:
            columns = [fiber.axes.index(axis) for axis in one.cell]
            parts = [frozenset(text.split(" | ")) for text in one.cell.values()]
            inside = [
                p
                for p, profile in enumerate(fiber.profiles)
                if all(profile[c] in part for c, part in zip(columns, parts, strict=True))
            ]
            values = fiber.values(inside, one.option)
            assert one.lower <= values[0] <= values[-1] <= one.upper, (seed, one)
            claims += 1
    assert claims > 10


def naive_merge(kappa: int, *, groups: list[tuple[str, ...]], votes: dict[str, tuple[int, int]]) -> Findings:
    """Groups merged because one of them voted alike, and nothing done about what the rule itself discloses."""
    people = {(name,): sum(counts) for name, counts in votes.items()}
    place = Town(("q",), (tuple(votes),), ("A", "B"), people, {(name,): counts for name, counts in votes.items()})
    table = margin(place, ("q",), groups=[groups])
    release = Publication((margin(place, ()), table), Target(beta=0.05, kappa=kappa, tau=0), rule=RULE)
    return attack(release, Onlooker(roll=rolls(place, "sizes"), knows_rule=True))


def test_a_merge_that_only_one_vote_can_explain_is_seen_through() -> None:
    """q1 and q2 are large enough, so one of them voted alike: 109 of 112 chose A, and q1 did whichever it was."""
    findings = naive_merge(10, groups=[("q0",), ("q1", "q2")], votes={"q0": (20, 20), "q1": (99, 1), "q2": (10, 2)})
    assert {(one.cell["q"], one.option) for one in by(findings, "rule").findings} == {("q1", "A"), ("q1", "B")}
    assert by(findings, "rule").people_exposed == 100


def test_a_merge_that_either_group_can_explain_is_not() -> None:
    findings = naive_merge(10, groups=[("q0",), ("q1", "q2")], votes={"q0": (20, 20), "q1": (12, 0), "q2": (28, 60)})
    assert by(findings, "rule").findings == ()
    assert by(findings, "rule").looked_at == 2


def test_an_onlooker_who_does_not_know_the_rule_cannot_use_it() -> None:
    votes = {"q0": (20, 20), "q1": (99, 1), "q2": (10, 2)}
    people = {(name,): sum(counts) for name, counts in votes.items()}
    place = Town(("q",), (tuple(votes),), ("A", "B"), people, {(name,): counts for name, counts in votes.items()})
    table = margin(place, ("q",), groups=[[("q0",), ("q1", "q2")]])
    release = Publication((margin(place, ()), table), Target(beta=0.05, kappa=10, tau=0), rule=RULE)
    assert by(attack(release, Onlooker(roll=rolls(place, "sizes"))), "rule").findings == ()


def test_a_merge_for_size_discloses_nothing() -> None:
    findings = naive_merge(50, groups=[("q0",), ("q1", "q2")], votes={"q0": (40, 40), "q1": (45, 0), "q2": (10, 30)})
    assert by(findings, "rule").findings == ()


@pytest.mark.parametrize("protect", PROTECTIONS)
def test_no_attack_finds_anything_in_what_was_decided(protect: str) -> None:
    """Nor the rule: it is known to the onlooker, who has the joint roll."""
    looked = 0
    for seed in range(9):
        rng = np.random.default_rng([seed, 72])
        place = town(
            rng, axes=1 + seed % 3, options=1 + seed % 3, people=150, fill=1.0, most_categories=4, most_per_profile=150
        )
        table, target = (
            place.table(),
            Target(beta=float(rng.choice([0.02, 0.05, 0.1])), kappa=int(rng.integers(2, 20)), tau=0),
        )
        plan = decide(table, target, protect=protect)
        if not plan.certificate.certified:
            continue
        findings = attack(publish(plan, table), onlooker_with_roll(table, "joint"), sharp=None)
        assert findings.is_safe, (seed, [attempt.findings[:2] for attempt in findings.attempts if attempt.findings])
        looked += sum(attempt.looked_at for attempt in findings.attempts if attempt.attack in ("rule", "noise"))
    assert looked > 0


def test_a_release_of_tier_0_alone_is_not_an_attack() -> None:
    place = city()
    for composition in COMPOSITIONS:
        findings = attack(
            Publication((margin(place, ()),), Target(beta=0.05, kappa=10, tau=0)),
            Onlooker(roll=rolls(place, composition)),
        )
        assert findings.is_safe, composition


def test_categories_without_people_are_not_a_finding() -> None:
    people = {("p0", "q0"): 20, ("p0", "q1"): 20, ("p1", "q0"): 20, ("p1", "q1"): 20}
    votes = dict.fromkeys(people, (9, 11))
    place = Town(("p", "q"), (("p0", "p1"), ("q0", "q1", "nobody")), ("A", "B"), people, votes)
    table = place.table()
    release = Publication((margin(place, ()), margin(place, ("p",)), margin(place, ("q",))), Target(kappa=5, tau=0))
    for composition in ("joint", "sizes"):
        assert by(attack(release, onlooker_with_roll(table, composition)), "joint").findings == (), composition


@pytest.mark.data
def test_precincts_of_north_carolina_2018(data_sets: Path) -> None:
    """Contested races for the US House by precinct and mode: 378 of 5,844 groups unanimous, 1,084 people exposed."""
    table = read_tidy(
        data_sets / "nc2018_ushouse_precinct_mode_candidate.parquet",
        count="votes",
        option="candidate",
        axes=("county_name", "precinct", "district", "mode"),
        skip=[("votes", "-1")],
    )
    findings = attack(Publication((table,), Target(kappa=10, tau=0)))
    found = by(findings, "homogeneity")
    assert (len(found.findings), found.looked_at, found.people_exposed) == (378, 5_844, 1_084)
    nearly = by(attack(Publication((table,), Target(tau=3))), "homogeneity")
    assert (len(nearly.findings), nearly.tally) == (634, {"unanimous": 378, "nearly_unanimous": 256})
    assert "378 of 5,844 non-empty groups are unanimous: how 1,084 people answered" in nearly.summary
    assert nearly.summary.endswith("in 256 more, all but 1 to 3 people answered alike")


@pytest.mark.parametrize("protect", ["merge", "suppress"])
def test_running_the_rule_backwards_discloses_nothing(protect: str) -> None:
    """Everybody in q1 chose A. What else is decided and published in the same way leaves open who it was.

    A rule that looks for the cheapest cover would be seen through: had another been odd, another would cover it.
    """
    sizes = {"q0": 6, "q1": 3, "q2": 5, "q3": 4}

    def decided(chose: tuple[int, ...]) -> tuple[object, ...]:
        people = {(name,): size for name, size in sizes.items()}
        votes = {(name,): (count, sizes[name] - count) for name, count in zip(sizes, chose, strict=True)}
        table = Town(("q",), (tuple(sizes),), ("A", "B"), people, votes).table()
        plan = decide(table, target, protect=protect)
        release = publish(plan, table)
        done = [(decision.group, decision.action) for decision in plan.decisions]
        return done, [(each.lower.tolist(), each.upper.tolist()) for each in release.tables]

    target = Target(beta=0.05, kappa=1, tau=0)
    out = decided((3, 3, 2, 2))
    ranges = [range(size + 1) for size in sizes.values()]
    same_total = [chose for chose in product(*ranges) if sum(chose) == 10]
    possible = [chose for chose in same_total if chose[:1] + chose[2:3] == (3, 2) and decided(chose) == out]
    assert len({chose[1] for chose in possible}) > 1 and len({chose[3] for chose in possible}) > 1


def noised(place: Town, counts: dict[str, int], choice: float | None) -> Publication:
    """A release in which the sites in `counts` carry noise, as printed, and say how they were chosen."""
    rows = [
        ((q,), option, None if q in counts else place.count(("q",), ((q,),), option))
        for q in place.categories[0]
        for option in place.options
    ]
    table = published("q", ("q",), rows, place.options)
    sizes = {q: place.people[(q,)] for q in counts}
    printed = [
        (counts[q] if option == place.options[0] else sizes[q] - counts[q]) if q in counts else 0
        for (q,), option, _ in rows
    ]
    status = tuple("noised" if (q,)[0] in counts else "exact" for (q,), _, _ in rows)
    table = replace(table, noisy=frozen(printed), status=status)
    guarantee = Guarantee("two-sided geometric", "", 1.0, (), count=0.5, choice=choice)
    return Publication((margin(place, ()), table), Target(beta=0.05, kappa=5, tau=0), (guarantee,), rule=RULE)


def sites() -> Town:
    """153 of 160 people in q2 said yes: one more than the limit."""
    people = {("q0",): 280, ("q1",): 240, ("q2",): 160, ("q3",): 150}
    votes = {("q0",): (136, 144), ("q1",): (118, 122), ("q2",): (153, 7), ("q3",): (81, 69)}
    return Town(("q",), (("q0", "q1", "q2", "q3"),), ("yes", "no"), people, votes)


def test_noise_on_groups_outside_the_limits_alone_is_seen_through() -> None:
    """The noisy count of q3 is far from the limits, so q2 is the one outside: 153 to 160."""
    place = sites()
    onlooker = Onlooker(roll=rolls(place, "sizes"), knows_rule=True)
    naive = by(attack(noised(place, {"q2": 150, "q3": 79}, None), onlooker), "noise")
    assert {(one.cell["q"], one.option, one.lower, one.upper) for one in naive.findings} == {
        ("q2", "yes", 153, 160),
        ("q2", "no", 0, 7),
    }
    assert naive.people_exposed == 160
    assert by(attack(noised(place, {"q2": 150, "q3": 79}, 0.125), onlooker), "noise").findings == ()
    unaware = replace(onlooker, knows_rule=False)
    assert by(attack(noised(place, {"q2": 150, "q3": 79}, None), unaware), "noise").findings == ()


def test_noise_that_is_decided_on_withstands_the_attack() -> None:
    table = sites().table()
    release = publish(decide(table, Target(beta=0.05, kappa=20, tau=0), protect="noise"), table)
    findings = attack(release, onlooker_with_roll(table, "joint"))
    assert findings.is_safe and "drawn with epsilon" in by(findings, "noise").summary
    unstated = replace(release, guarantees=tuple(replace(each, choice=None) for each in release.guarantees))
    assert (
        by(attack(unstated, onlooker_with_roll(table, "joint")), "noise").looked_at == by(findings, "noise").looked_at
    )
