"""Amounts are refused in one sentence by every command that takes counts; counts that could be thousands as well."""

from pathlib import Path

import pytest

from commands import Run, in_process

TURNOVER = (
    "region,sector,turnover,largest\nN,a,1204551.5,900000\nN,b,88120.25,30000\nS,a,431999,431999\nS,b,23000.75,9000\n"
)
TIDY = "region,option,count\nN,yes,1204551.5\nN,no,88120\nS,yes,431999\nS,no,23000\n"
HUGE = "region,option,count\nN,yes,120455100000\nN,no,88120\nS,yes,431999\nS,no,23000\n"
DOTS = "region,option,count\nN,yes,1.000\nN,no,2.345\nS,yes,12\nS,no,100\n"
PROJECT = '[data]\nfile = "t.csv"\nanswer = "sector"\n[axes.region]\n'
COUNTED = '[data]\nfile = "t.csv"\nanswer = "option"\ncount = "count"\n[axes.region]\n'
SEALED = '[tallies]\nfiles = {region = "t.csv"}\n[roll]\nfiles = ["roll.csv"]\n[axes.region]\n'


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "roll.csv").write_text("region,people\nN,90000000\nS,90000000\n")
    return in_process(monkeypatch, capsys)


@pytest.mark.parametrize(
    ("text", "project", "commands"),
    [
        (TURNOVER, PROJECT, ["init t.csv", "audit t.csv", "bound t.csv", "fiber t.csv", "suppress t.csv"]),
        (TURNOVER, PROJECT, ["release project.toml --out out", "compare project.toml", "bound project.toml"]),
        (TIDY, COUNTED, ["audit t.csv", "bound t.csv", "fiber t.csv", "init t.csv --answer option --count count"]),
        (TIDY, COUNTED, ["release project.toml --out out", "compare project.toml", "suppress t.csv"]),
        (HUGE, COUNTED, ["audit t.csv", "release project.toml --out out", "init t.csv --answer option --count count"]),
        (TIDY, SEALED, ["release project.toml --out out"]),
        (TURNOVER, SEALED, ["release project.toml --out out"]),
    ],
)
def test_amounts_are_refused(text: str, project: str, commands: list[str], run: Run, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(text)
    (tmp_path / "project.toml").write_text(project)
    before = sorted(tmp_path.iterdir())
    for command in commands:
        ran = run(*command.split())
        assert ran.code == 2 and "these look like amounts, not counts of people; use a tool" in ran.err, (command, ran)
        assert sorted(tmp_path.iterdir()) == before, command


@pytest.mark.parametrize(
    "command", ["audit t.csv", "release project.toml --out out", "init t.csv --answer option --count count"]
)
def test_counts_that_may_be_thousands_are_refused(command: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(DOTS)
    (tmp_path / "project.toml").write_text(COUNTED)
    ran = run(*command.split())
    assert ran.code == 2 and "thousands or a fraction" in ran.err, ran


def test_records_of_people_with_an_income_are_no_amounts(run: Run, tmp_path: Path) -> None:
    rows = [f"{'NS'[k % 2]},{'ab'[k % 3 % 2]},{'yes' if k % 5 else 'no'},{1000 + 37 * k}.5\n" for k in range(40)]
    (tmp_path / "t.csv").write_text("region,sex,vote,income\n" + "".join(rows))
    assert run("init", "t.csv", "--answer", "vote").code == 0
