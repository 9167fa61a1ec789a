"""An onlooker who knows the rule and runs the program on other answers: see `reruns.py` for the attack."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest

from cases import Town
from evidence import seeds
from question_reruns import attacked_battery, random_battery
from reruns import attacked, attacked_crossed, random_city, random_secrets, run, unguarded, with_votes, witnesses
from safemargin.core import Target, onlooker_with_roll
from safemargin.release.decide.decide import decided
from safemargin.release.decide.rerun import ExplanationSearch
from safemargin.release.rule.hide import dealt

pytestmark = pytest.mark.full


def broken(seeds: Iterable[int], wide: bool = False) -> tuple[list[object], int, int]:
    """Cells confined by the rule in releases that are certified against it; how many, and others."""
    found: list[object] = []
    shown = others = 0
    for seed in seeds:
        place, target = random_city(seed, 5_000, (1, 2, 3) if wide else (2, 3, 4), wide)
        plan, breaks, same = attacked(place, target)
        if plan.certificate.rule != "rerun":
            others += plan.certificate.certified
            continue
        shown += 1
        assert same, f"{seed}: a witness does not lead to the same files"
        assert plan.certificate.witnesses == max(len(plan.tables), 1) and (plan.tables or plan.data_independent)
        found += [(seed, each) for each in breaks]
    return found, shown, others


def test_the_rule_confines_no_cell_of_small_cities() -> None:
    found, shown, others = broken(range(2000, 2004))
    assert found == [] and shown >= others


def test_the_rule_confines_no_cell_where_single_groups_are_suppressed() -> None:
    """The first had no witness table, since sums decide every cell; the second has a group merged for its size."""
    found, shown, _ = broken((600_077, 600_143, 600_001, 600_002, 600_003), wide=True)
    assert found == [] and shown >= 4


@pytest.mark.slow
def test_the_rule_confines_no_cell_of_larger_cities() -> None:
    """`benchmarks/bench_rerun.py` attacks thousands."""
    found, shown, others = broken(range(2004, 2013))
    assert found == [] and shown > others


def two_by_two(people: list[list[int]], yes: list[list[int]]) -> Town:
    cells = {(f"p{i}", f"q{j}"): (people[i][j], yes[i][j]) for i in range(2) for j in range(2) if people[i][j]}
    votes = {cell: (chose, n - chose) for cell, (n, chose) in cells.items()}
    return Town(("p", "q"), (("p0", "p1"), ("q0", "q1")), ("yes", "no"), {c: n for c, (n, _) in cells.items()}, votes)


KINDS = {
    "1,600 people": ([[500, 500], [500, 100]], [[10, 300], [290, 98]]),
    "1,424 people": ([[252, 500], [500, 172]], [[2, 290], [300, 162]]),
    "590 people": ([[229, 150], [150, 61]], [[0, 80], [85, 61]]),
    "25 people": ([[9, 7], [6, 3]], [[0, 4], [3, 3]]),
}
"""Four populations in which all tables together disclose a cell, so that an axis is merged or omitted for it."""


@pytest.mark.parametrize("kind", KINDS)
def test_what_the_joint_check_hides_is_not_published_by_hiding_it(kind: str) -> None:
    """The attack breaks the rule without its guard, and not with it: so it would notice."""
    place, target = two_by_two(*KINDS[kind]), Target(beta=0.05, kappa=5, tau=0)
    plan, found, _ = attacked(place, target, unguarded)
    assert plan.certificate.certified and plan.refusals
    assert ((("p", "q"), ("p0", "q0")), "yes") in [each[:2] for each in found]
    guarded, found, same = attacked(place, target)
    assert guarded.certificate.rule == "rerun" and same and found == []


def test_the_search_sees_only_what_is_public() -> None:
    """Other true answers that lead to the same files lead to the same certificate and witnesses."""
    looked = 0
    for seed in range(2000, 2008):
        place, target = random_city(seed)
        plan, shown = run(place, target)
        for table in plan.tables[:1]:
            names = [tuple(place.categories[a][code] for a, code in enumerate(row)) for row in table.codes.tolist()]
            votes = dict(zip(names, table.counts, strict=True))
            other, again = run(with_votes(place, np.array([votes[p] for p in place.people])), target)
            if plan.certificate.rule == "rerun":
                # A witness that is the truth itself would show nothing.
                looked += any(tuple(votes[p]) != tuple(place.votes[p]) for p in place.people)
                assert again == shown
                assert all((a.counts == b.counts).all() for a, b in zip(plan.tables, other.tables, strict=True))
    assert looked > 2


def test_rows_stand_in_the_order_of_the_axis() -> None:
    for seed in range(2000, 2008):
        place, target = random_city(seed)
        plan, _ = run(place, target)
        for axis, categories in zip(place.axes, place.categories, strict=True):
            first = [min(categories.index(name) for name in decision.group) for decision in plan.axis(axis)]
            assert first == sorted(first)


def test_counts_are_dealt_out_whole() -> None:
    rng = np.random.default_rng(5)
    for _ in range(200):
        people = rng.integers(0, 30, int(rng.integers(1, 6)))
        pool = rng.multinomial(int(people.sum()), rng.dirichlet(np.ones(3)))
        rows = dealt(pool, people)
        assert (rows >= 0).all() and (rows.sum(axis=1) == people).all() and (rows.sum(axis=0) == pool).all()


def test_the_proof_of_a_release_sees_only_what_the_release_prints() -> None:
    """Section 8.3: whether witnesses are found is a function of the release; the attack proves each release once."""
    compared = 0
    for seed in (2000, 2002, 2004, 2011):
        place, target = random_city(seed)
        plan, shown = run(place, target)
        for votes in list(witnesses(place, plan))[:2] if plan.certificate.rule == "rerun" else ():
            other, files = run(with_votes(place, votes), target)
            assert files == shown and other.certificate == plan.certificate
            assert [t.counts.tolist() for t in other.tables] == [t.counts.tolist() for t in plan.tables]
            compared += 1
    assert compared >= 4


def test_whoever_has_no_time_left_can_stop_the_rule_at_every_step() -> None:
    """Alternatives of a release are computed for some seconds only, by a progress that raises."""

    class TimeUpError(Exception):
        pass

    asked = []

    def progress(step: str, *_: object) -> None:
        asked.append(step)
        raise TimeUpError

    place, target = random_city(3, 400)
    table = place.table()
    rule, candidate = decided(table, target, (onlooker_with_roll(table, "joint"),), protect="auto")
    with pytest.raises(TimeUpError):
        ExplanationSearch(rule, candidate, progress).leads_here([split.votes for split in candidate.splits])
    assert asked == ["deciding"]


CROSSED = 900_010, 900_008, 900_023, 900_011


def test_tables_of_two_axes_confine_no_cell() -> None:
    """`benchmarks/bench_rerun.py --crossed` attacks more. The first is certified against those who know the rule."""
    published = 0
    for seed in CROSSED:
        place, target = random_city(seed, 1_200, answers=(3, 4, 5, 6))
        plan, found, same = attacked_crossed(seed, place, replace(target, secrets=random_secrets(seed, place.options)))
        assert same and found == [], seed
        published += any(margin.is_published for margin in plan.margins)
    assert published == len(CROSSED)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["single tables", "crossed tables", "several questions"])
def test_no_kind_of_secret_is_broken_by_the_rule(kind: str) -> None:
    """Three to six options, secrets of all kinds; with EVIDENCE=all, 2,000 cities of each kind."""
    labels: Counter[str] = Counter()
    for seed in seeds(950_000, 3, 2_000):
        if kind == "several questions":
            plans, found, same = attacked_battery(random_battery(seed, 600, (2, 3)))
            label = "rerun" if all(each.certificate.rule == "rerun" for each in plans) else "another"
        else:
            place, target = random_city(seed, 600, (2, 3), answers=(3, 4, 5, 6))
            target = replace(target, secrets=random_secrets(seed, place.options))
            is_single = kind == "single tables"
            plan, found, same = attacked(place, target) if is_single else attacked_crossed(seed, place, target)
            label = plan.certificate.rule
        assert same and found == [], (kind, seed)
        labels[label] += 1
    assert labels["rerun"] or kind == "crossed tables", labels
