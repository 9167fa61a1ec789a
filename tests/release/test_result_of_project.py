"""What the exact result of a project discloses: the command, and what a release says about it."""

import json
from pathlib import Path

import pytest

from commands import Run, in_process
from safemargin.release.project import Project
from safemargin.voting.result import result_privacy, result_words


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return in_process(monkeypatch, capsys)


def project(folder: Path, more: str = "") -> Path:
    rows = [("North" if n % 2 else "South", ("yes", "no", "yes", "yes", "blank")[n % 5]) for n in range(400)]
    (folder / "v.csv").write_text("site,vote\n" + "".join(f"{site},{vote}\n" for site, vote in rows))
    path = folder / "project.toml"
    path.write_text(f'[data]\nfile = "v.csv"\nanswer = "vote"\n[axes.site]\n{more}')
    return path


def test_project_and_release(run: Run, tmp_path: Path) -> None:
    path = project(tmp_path)
    alone = run("outcome", path, "--json").document
    released = run("release", path, "--out", tmp_path / "out", "--json").document["outcome"]
    assert released == {key: value for key, value in alone.items() if key != "schema"}
    expected = result_privacy(("blank", "no", "yes"), (80, 80, 240))
    assert expected is not None and alone["delta"] == expected.delta and alone["words"] == result_words(expected)
    page = (tmp_path / "out/confidential/report.html").read_text()
    assert "What the total discloses" in page and "Publishing this result exactly is (" in page
    kept = json.loads((tmp_path / "out/confidential/plan.json").read_text())
    assert kept["outcome"] == released
    assert "-private against an onlooker who believes" in " ".join(run("outcome", path).out.split())


def test_exact_counts_by_group(run: Run, tmp_path: Path) -> None:
    document = run("outcome", project(tmp_path), "--by", "site", "--json").document
    groups = document["groups"]
    assert [group["voters"] for group in groups] and sum(group["voters"] for group in groups) == document["voters"]
    assert all(group["delta"] >= 0 and group["curve"][0][1] > document["curve"][0][1] for group in groups)
    assert "in the counts of its own group only" in " ".join(
        run("outcome", project(tmp_path), "--by", "site").out.split()
    )


def test_project_with_another_belief(tmp_path: Path) -> None:
    loaded = Project.load(project(tmp_path, '[outcome]\nbelief = "uniform"\n'))
    assert loaded.outcome.belief == "uniform"


def test_a_result_that_says_nothing_is_refused(run: Run, tmp_path: Path) -> None:
    path = project(tmp_path)
    (tmp_path / "v.csv").write_text("site,vote\nNorth,yes\nSouth,yes\n")
    said = run("outcome", path)
    assert said.code == 2 and "fewer than two options" in said.err
