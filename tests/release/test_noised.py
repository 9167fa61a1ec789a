"""What noised counts say, as a release states it: against an enumeration from the files and the roll alone."""

import json
import math
from itertools import product

import numpy as np
import pytest

import safemargin
from safemargin.core import Target
from safemargin.guarantees import rounded_up


def rows_of(cells: dict[tuple[str, str], tuple[int, ...]], options: tuple[str, ...]) -> list[dict[str, str]]:
    return [
        {"site": site, "grade": grade, "vote": option}
        for (site, grade), counts in cells.items()
        for option, count in zip(options, counts, strict=True)
        for _ in range(count)
    ]


def printed(release: safemargin.Release, axis: str) -> dict[str, dict[str, tuple[int, str]]]:
    found: dict[str, dict[str, tuple[int, str]]] = {}
    for row in release.tables[axis].to_dict("records"):
        found.setdefault(row[axis], {})[row["option"]] = int(row["count"]), row["status"]
    return found


def bounds(release: safemargin.Release, rows: list[dict[str, str]], group: str, inside: set[str]) -> tuple[int, int]:
    """What the exact table by grade leaves for a site."""
    lower = upper = 0
    for grade, counts in printed(release, "grade").items():
        assert {status for _, status in counts.values()} == {"exact"}
        chose = sum(counts[option][0] for option in inside)
        here = sum(row["grade"] == grade and row["site"] == group for row in rows)
        there = sum(row["grade"] == grade and row["site"] != group for row in rows)
        lower, upper = lower + max(chose - there, 0), upper + min(chose, here)
    return lower, upper


def enumerate_posterior(
    release: safemargin.Release, rows: list[dict[str, str]], inside: set[str], epsilon: float, is_one_count: bool
) -> dict[str, float]:
    """P(share of `inside` beyond a limit), by noised site: all vectors of counts with the exact sum."""
    table, target = printed(release, "site"), release.plan.target
    noised = [site for site, counts in table.items() if "noised" in {status for _, status in counts.values()}]
    total = sum(row["vote"] in inside for row in rows) - sum(
        counts[option][0] for site, counts in table.items() if site not in noised for option in inside
    )
    sizes = {site: sum(row["site"] == site for row in rows) for site in noised}
    share = sum(row["vote"] in inside for row in rows) / len(rows)
    ceiling = 1 - min(target.beta, (1 - share) / 2)
    floor = min(target.beta, share / 2) if is_one_count else 0.0

    def law(distance: int, summed: int) -> float:
        ratio, far = math.exp(-epsilon), 120
        if summed == 1:
            return ratio ** abs(distance)
        return sum(ratio ** abs(k) * law(distance - k, summed - 1) for k in range(-far, far + 1))

    def likelihood(site: str, count: int) -> float:
        here = sum(table[site][option][0] for option in inside)
        chance = law(here - count, len(inside))
        others = set(table[site]) - inside
        if not is_one_count:
            there = sum(table[site][option][0] for option in others)
            chance *= law(there - (sizes[site] - count), len(others))
        return chance

    ranges = {site: bounds(release, rows, site, inside) for site in noised}
    weights = {
        site: {count: likelihood(site, count) for count in range(low, high + 1)} for site, (low, high) in ranges.items()
    }
    everything, outside = 0.0, dict.fromkeys(noised, 0.0)
    for counts in product(*(weights[site] for site in noised)):
        if sum(counts) == total:
            weight = math.prod(weights[site][count] for site, count in zip(noised, counts, strict=True))
            everything += weight
            for site, count in zip(noised, counts, strict=True):
                is_outside = count > ceiling * sizes[site] or count < floor * sizes[site]
                outside[site] += weight if is_outside else 0.0
    return {site: weight / everything for site, weight in outside.items()}


@pytest.mark.parametrize("options", [("yes", "no"), ("red", "green", "blue")])
def test_the_posterior_of_an_axis_that_is_noised_whole(options: tuple[str, ...]) -> None:
    """No lot is drawn, so the enumeration needs nothing but files and roll."""
    generator = np.random.default_rng(len(options))
    cells = {
        (site, grade): tuple(generator.multinomial(16, [0.8, *[0.2 / (len(options) - 1)] * (len(options) - 1)]))
        for site in ("A", "B", "C")
        for grade in ("x", "y")
    }
    rows = rows_of(cells, options)
    release = safemargin.release(
        rows, answer="vote", by={"site": {"epsilon": 0.9}, "grade": {}}, target=Target(kappa=10, tau=0)
    )
    stated = json.loads(release._files["certificate.json"])["noise"]
    epsilon = 0.9 / (2 if len(options) == 2 else 4)
    by_secret = [enumerate_posterior(release, rows, {option}, epsilon, len(options) == 2) for option in options]
    wanted = {site: rounded_up(max(each[site] for each in by_secret)) for site in ("A", "B", "C")}
    assert {each["group"]: each["chance"] for each in stated[0]["posterior"]} == wanted
    assert {each["draw"] for each in stated[0]["posterior"]} == {"counted"}  # there is none


WORKPLACE = {
    (site, grade): (yes, 60 - yes)
    for site, yes in (("Aarau", 30), ("Basel", 28), ("Chur", 59), ("Egg", 33))
    for grade in ("x", "y")
}


def test_an_axis_above_the_limit_is_omitted_and_its_epsilon_stays() -> None:
    rows = rows_of(WORKPLACE, ("yes", "no"))
    limits = Target(tau=0, epsilon_max=2.0, posterior_max=0.01)
    release = safemargin.release(rows, answer="vote", by=["site", "grade"], target=limits, protect="noise")
    certificate = json.loads(release._files["certificate.json"])
    assert certificate["noise"] == [{"epsilon": "2", "posterior": [], "omitted": ["site"]}]
    assert set(release.tables) == {"total", "grade"}
    (guarantee,) = json.loads(release._files["manifest.json"])["guarantees"]
    assert guarantee["epsilon"] == 2 and "site was noised as well and then omitted" in guarantee["statement"]
    assert "say too much" in next(each.reason for each in release.plan.decisions if each.axis == "site")


def test_the_first_screen_and_the_document_have_every_noised_group() -> None:
    rows = rows_of(WORKPLACE, ("yes", "no"))
    target = Target(tau=0, epsilon_max=2.0)
    release = safemargin.release(rows, answer="vote", by=["site", "grade"], target=target, protect="noise")
    stated = {tuple(each["cell"].items()): each["posterior"] for each in release.to_json()["noised"]}
    noised = {(("site", min(d.group)),) for d in release.plan.decisions if str(d.action) == "noised"}
    assert set(stated) == noised >= {(("site", "Chur"),)}
    assert "What noised counts say" in release.to_text()
    assert "site Chur: " in release.to_text()


def test_nothing_is_stated_where_nobody_knows_how_large_groups_are() -> None:
    rows = rows_of(WORKPLACE, ("yes", "no"))
    release = safemargin.release(
        rows,
        answer="vote",
        by=["site", "grade"],
        target=Target(tau=0, epsilon_max=2.0),
        protect="noise",
        onlookers=[{"name": "stranger", "composition": "none"}],
    )
    assert json.loads(release._files["certificate.json"])["noise"][0]["posterior"] == []
