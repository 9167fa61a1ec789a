"""A total that says how everybody chose, and three answers of which one is rare."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from commands import in_process
from safemargin import release
from safemargin.core import Secrets, Target


def rows(yes: int, no: int) -> list[dict[str, str]]:
    return [{"site": "ab"[n % 2], "vote": "yes" if n < yes else "no"} for n in range(yes + no)]


@pytest.mark.parametrize(
    ("yes", "no", "exposes"),
    [(200, 0, True), (197, 3, True), (196, 4, False), (1, 1, True), (1, 0, True), (3, 3, False)],
)
def test_the_total_alone_exposes_everybody(yes: int, no: int, exposes: bool) -> None:
    """All but `tau` people, here 3, and at most a quarter of few people; or one or two people."""
    assert Target().total_exposes([yes, no], yes + no) is exposes
    if yes + no > 100:
        made = release(rows(yes, no), answer="vote", by=["site"], options=["yes", "no"])
        assert made.to_json()["total_exposes"] is made.draft.total_exposes is exposes
        assert ("total alone shows how everybody voted" in made.certificate.statement) is exposes
        assert ("decision" in made.to_json()["verdict"]["sentence"]) is exposes


def city(precincts: int = 60) -> list[dict[str, str]]:
    rng, listed = np.random.default_rng(27), []
    for number in range(precincts):
        lean = rng.uniform(0.35, 0.65)
        for _ in range(int(rng.integers(90, 260))):
            choice = "Green" if rng.random() < 0.005 else "Red" if rng.random() < lean else "Blue"
            age = str(rng.choice(["18-34", "35-59", "60+"]))
            listed.append({"precinct": f"P{number:02d}", "age": age, "vote": choice})
    return listed


@pytest.mark.slow
def test_a_third_candidate_costs_no_precinct() -> None:
    made = release(city(), answer="vote", by=["precinct", "age"])
    cells = made.to_json()["cells"]
    assert [cell["action"] for cell in cells] == ["exact"] * 63 and made.certificate.rule == "rerun"
    assert "nearly one mind" not in made.to_text()
    both = replace(Target(), secrets=Secrets("both"))
    strict = release(city(), answer="vote", by=["precinct", "age"], target=both)
    exact = [cell for cell in strict.to_json()["cells"] if cell["action"] == "exact"]
    assert len(exact) < 20 and "with too few" in strict.to_text()


def test_an_unknown_option_in_secrets_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "votes.csv").write_text("site,vote\n" + "a,yes\nb,no\n" * 40, encoding="utf-8")
    project = '[data]\nfile = "votes.csv"\nanswer = "vote"\n[axes.site]\n[target]\nsecrets = {maybe = "both"}\n'
    (tmp_path / "project.toml").write_text(project, encoding="utf-8")
    ran = in_process(monkeypatch, capsys)("release", tmp_path / "project.toml", "--out", tmp_path / "out")
    assert ran.code == 2 and "there is no option 'maybe'" in ran.err
    assert not (tmp_path / "out").exists()
