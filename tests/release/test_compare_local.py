"""Randomised response as a way to publish: its law, estimates and intervals against all draws, written here anew."""

import math
from collections import Counter
from itertools import product

import numpy as np
import pytest

from cases import Town, town
from release.test_compare import STAFF, TARGET, table_of
from safemargin.core import Target, onlooker_with_roll
from safemargin.release.compare.belief import largest_posterior
from safemargin.release.compare.compare import measure
from safemargin.release.compare.local import Response, all_answers, local_dp
from safemargin.release.compare.methods import Case

EPSILONS = (0.05, 0.7, 2.0, 6.0)


def reported(truth: list[int], answers: int, epsilon: float) -> "dict[tuple[int, ...], float]":
    """The law of the reports of people with these answers, person by person."""
    own = math.exp(epsilon) / (math.exp(epsilon) + answers - 1)
    law: dict[tuple[int, ...], float] = Counter()  # type: ignore[assignment]
    for said in product(range(answers), repeat=len(truth)):
        chance = math.prod(own if a == b else (1 - own) / (answers - 1) for a, b in zip(said, truth, strict=True))
        law[tuple(said.count(answer) for answer in range(answers))] += chance
    return law


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("answers", [2, 3])
def test_law_estimate_and_likelihood(answers: int, epsilon: float) -> None:
    response = Response.of(answers, epsilon)
    assert response.own / response.other == pytest.approx(math.exp(epsilon))
    for truth in ([0, 0, 1, 1, 1], [0] * 5, [1, 1, 1, answers - 1, answers - 1], []):
        people, count = len(truth), truth.count(0)
        law = reported(truth, answers, epsilon)
        mean = sum(p * (seen[0] - people * response.other) / response.truthful for seen, p in law.items())
        assert mean == pytest.approx(count, abs=1e-9), "no bias"
        for seen in range(people + 1):
            chance = sum(p for reports, p in law.items() if reports[0] == seen)
            at_most = sum(p for reports, p in law.items() if reports[0] <= seen)
            assert response.likelihood(np.array([count]), people, seen)[0] == pytest.approx(chance, abs=1e-12)
            assert response.chance(count, people, seen) == pytest.approx((at_most, 1 - at_most + chance), abs=1e-12)
            estimate = int(response.estimate(np.array([seen]), np.array([people]))[0])
            assert response.reports(estimate, people) == seen, "reports follow from the estimate"


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_one_answer_changes_the_odds_by_exp_epsilon(epsilon: float) -> None:
    """Of one report, and so of any table that is counted from reports; and not by less."""
    for answers in (2, 3, 5):
        laws = [reported([truth], answers, epsilon) for truth in range(answers)]
        worst = max(one[seen] / other[seen] for one in laws for other in laws for seen in one)
        assert math.log(worst) == pytest.approx(epsilon, abs=1e-9)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_intervals_hold_in_95_of_100_runs(epsilon: float) -> None:
    """Summed over all reports, for every true count: no draw is needed."""
    response, people = Response.of(3, epsilon), 40
    ends = {}
    for seen in range(people + 1):
        estimate = int(response.estimate(np.array([seen]), np.array([people]))[0])
        ends[seen] = response.interval(estimate, people)
    tight = []
    for count in range(people + 1):
        chances = {seen: float(response.likelihood(np.array([count]), people, seen)[0]) for seen in ends}
        held = sum(chance for seen, chance in chances.items() if ends[seen][0] <= count <= ends[seen][1])
        assert held >= 0.95 - 1e-12
        tight.append(held)
    assert min(tight) < 0.995 or epsilon == 6.0, "not simply everything"


def test_all_reports_of_large_groups() -> None:
    """The likelihood adds up to one over reports, in groups too large for an enumeration."""
    response = Response.of(4, 1.0)
    for count in (0, 700, 2_000):
        counts = np.array([count])
        expected = count * response.own + (2_000 - count) * response.other
        seen = range(max(int(expected) - 400, 0), int(expected) + 400)
        whole = sum(float(response.likelihood(counts, 2_000, each)[0]) for each in seen)
        assert whole == pytest.approx(1.0, abs=1e-9)
        assert sum(response.chance(count, 2_000, int(expected))) == pytest.approx(
            1 + float(response.likelihood(counts, 2_000, int(expected))[0]), abs=1e-9
        )


def test_everybody_is_in_the_answers() -> None:
    """Sealed or not, with or without people who gave no answer: a last column for them."""
    for seed in range(12):
        place = town(np.random.default_rng(seed), axes=2, options=1 + seed % 3, people=60, most_per_profile=30)
        table = place.sealed() if seed % 2 else place.table()
        for tally in all_answers(table):
            assert int(tally.counts.sum()) == int(table.people(()).counts.sum())


@pytest.mark.statistical
def test_draws_follow_the_law() -> None:
    """The mean error of many draws, by its exact law: beyond seven standard errors once in 1e9 runs."""
    table = table_of(STAFF)
    case = Case(table, TARGET, (onlooker_with_roll(table, "joint"),), epsilons=(0.8,))
    (method,) = local_dp(case)
    response = Response.of(2, 0.8)
    draws = [np.concatenate([each.noisy for each in tables if each.noisy is not None]) for tables in method.draw(4000)]
    truth = np.concatenate([each.lower for each in case.exact])
    sizes = np.concatenate([[822] * 2, *(np.repeat(split.people, 2) for split in case.splits)])
    spread = np.sqrt(sizes * response.own * response.other + 1 / 12) / response.truthful
    assert (abs(np.mean(draws, axis=0) - truth) < 7 * spread / math.sqrt(4000)).all()
    shares = np.std(draws, axis=0) / spread
    assert (abs(shares - 1) < 0.12).all()  # seven standard errors of a standard deviation
    one, other = np.array(draws)[:, 0], np.array(draws)[:, 1]
    assert (abs(one + other - 822) <= 1).all(), "of two answers one report says both, up to rounding"


def test_beside_the_other_ways() -> None:
    found = measure(table_of(STAFF), TARGET, epsilons=(1.0,), draws=50)
    mine, peer = (next(m for m in found.methods if m.family == name) for name in ("local DP", "global DP"))
    assert mine.loss == peer.loss == 1.0 and mine.people_exposed == 0
    assert mine.mean_error is not None and peer.mean_error is not None and mine.mean_error > 2 * peer.mean_error
    assert len(mine.counts) == 16 and mine.half_width is not None and peer.half_width is not None
    assert mine.half_width > peer.half_width > 0
    assert all(each.low <= each.high for each in (*mine.counts, *peer.counts))
    text = found.to_text(80)
    assert "Differential privacy, global and local" in text and max(map(len, text.splitlines())) <= 80


def test_what_is_believed_has_the_law_of_reports() -> None:
    """Against all counts of one site: two answers, so that one report says both."""
    people = {("A",): 12, ("B",): 9}
    place = Town(("site",), (("A", "B"),), ("yes", "no"), people, {("A",): (11, 1), ("B",): (4, 5)})
    case = Case(place.table(), Target(beta=0.1, kappa=1, tau=0), (), epsilons=(1.0,))
    (method,) = local_dp(case)
    (tables,) = method.draw(1)
    site = next(each for each in tables if each.axes == ("site",))
    assert site.noisy is not None
    response, found = Response.of(2, 1.0), []
    limits = case.limits
    for size, printed in ((12, int(site.noisy[0])), (9, int(site.noisy[2]))):
        reports = response.reports(printed, size)
        weights = []
        for count in range(size + 1):
            law = reported([0] * count + [1] * (size - count), 2, 1.0)
            weights.append(law.get((reports, size - reports), 0.0))
        low, high = limits.least(np.array([size]))[0, 0], limits.most(np.array([size]))[0, 0]
        outside = sum(w for count, w in enumerate(weights) if not low <= count <= high)
        found.append(outside / sum(weights))
    assert largest_posterior(case, method, tables) == pytest.approx(max(found), abs=1e-9)
