"""What a terminal of 80 columns shows: help of every command, and small runs."""

import re
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import pytest
import typer.core
import typer.main

from safemargin import cli
from safemargin.ui import notes, out

pytestmark = pytest.mark.full

GOLDEN = Path(__file__).parent / "golden"
WIDTH = 80
PROJECT = """\
title = "Works council"
[data]
file = "votes.csv"
answer = "answer"
count = "people"
[axes.site]
[axes.grade]
[target]
beta = 0.1
kappa = 20
tau = 0
[ledger]
file = "ledger.sqlite"
population = "staff"
cycle = "2026"
answers = "kept"
turnover = "net"
"""
COUNTS = [[20, 1, 12], [5, 30, 2], [14, 9, 40], [3, 22, 18]]
FILES = {
    "project.toml": PROJECT,
    "strict.toml": PROJECT.partition("[ledger]")[0].replace("beta = 0.1", "beta = 0.49").replace("20", "200"),
    "votes.csv": "site,grade,answer,people\nNorth,junior,yes,40\nNorth,junior,no,35\nNorth,senior,yes,30\n"
    "North,senior,no,25\nSouth,junior,yes,45\nSouth,junior,no,50\nSouth,senior,yes,20\nSouth,senior,no,30\n",
    "site.csv": "site,option,count\nNorth,yes,70\nNorth,no,60\nSouth,yes,65\nSouth,no,80\n",
    "grade.csv": "grade,option,count\njunior,yes,85\njunior,no,85\nsenior,yes,50\nsenior,no,55\n",
    "roll.csv": "site,grade,people\nNorth,junior,75\nNorth,senior,55\nSouth,junior,95\nSouth,senior,50\n",
    "accidents.csv": "region,month,count\n"
    + "".join(f"{r},{m},{c}\n" for r, row in zip("abcd", COUNTS, strict=True) for m, c in zip("xyz", row, strict=True)),
    "wrong.csv": "site,option,count\nNorth,yes,many\n",
}
RUNS = {
    "init": ["init votes.csv --out first.toml"],
    "release": ["release project.toml --out release", "release strict.toml --out refused", "ledger ledger.sqlite"],
    "bound": ["bound project.toml", "bound site.csv grade.csv --roll roll.csv --limit 3"],
    "audit": ["audit site.csv grade.csv --roll roll.csv --certificate proofs.json", "audit wrong.csv"],
    "verify": [
        "audit site.csv grade.csv --roll roll.csv --certificate proofs.json",
        "verify proofs.json site.csv grade.csv --roll roll.csv",
    ],
    "fiber": ["fiber site.csv grade.csv --roll roll.csv"],
    "suppress": ["suppress accidents.csv --primary 1-3 --out gaps"],
    "guarantee": [
        "guarantee swap --epsilon 3 --largest-stratum 10",
        "guarantee convert --rho-squared 2.63 --delta 1e-10",
    ],
    "noise": ["noise average --kt2 0.1", "noise ptable --variance 2 --bound 3"],
    "outcome": ["outcome --rule borda --candidates 3 --voters 50", "outcome --rule nonsense --voters 50"],
    "topdown": ["topdown --demo country --people 1000 --blocks 20", "topdown country/topdown.toml --plan"],
}
VARIES = [(re.compile(r"\b\d+(?:\.\d+)? (?=(?:CPU )?s\b)"), "# ")]
"""What differs from run to run: times."""


def helps() -> Iterator[tuple[str, list[list[str]]]]:
    """Every file of help texts with the calls that print them: a group of commands is one file."""
    yield "menu", [["--help"]]
    for name in cli.COMMANDS:
        command = typer.main.get_command(cli.app([name]))
        assert isinstance(command, typer.core.TyperGroup)
        members = getattr(command.commands[name], "commands", {})
        yield f"help-{name}", [[name, "--help"], *([name, member, "--help"] for member in members)]


HELPS = dict(helps())


def shown(arguments: list[str]) -> str:
    """The call, and all that it prints."""
    output = StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(output), redirect_stderr(output):
        patch.setattr("sys.argv", ["safemargin", *arguments])
        with pytest.raises(SystemExit) as end:
            cli.main()
    text = output.getvalue()
    for pattern, instead in VARIES:
        text = pattern.sub(instead, text)
    code = end.value.code or 0
    lines = [line.rstrip() for line in text.splitlines()]
    called = f"$ safemargin {' '.join(arguments)}{f'  # exit {code}' if code else ''}"
    text = "\n".join([called, *lines]).rstrip("\n") + "\n"
    # The date, and hashes, which change with the style of the page for the public.
    return re.sub(r"[0-9a-f]{14,}", "HASH", re.sub(r"\d{4}-\d\d-\d\d$", "DATE", text, flags=re.MULTILINE))


def compare(name: str, text: str, rewrite: bool) -> None:
    file = GOLDEN / f"{name}.txt"
    if rewrite:
        GOLDEN.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    assert file.read_text(encoding="utf-8") == text, "if this is meant: pytest tests/test_golden.py --rewrite-golden"


@pytest.fixture
def rewrite(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether to write the files again; the test runs in an empty folder at 80 columns."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    for console in (out, notes):  # they read COLUMNS once
        monkeypatch.setattr(console, "width", WIDTH)
    return bool(request.config.getoption("--rewrite-golden"))


@pytest.mark.parametrize("name", HELPS)
def test_help(name: str, rewrite: bool) -> None:
    text = "\n".join(map(shown, HELPS[name]))
    assert max(map(len, text.splitlines())) <= WIDTH
    compare(name, text, rewrite)


@pytest.mark.alternatives
@pytest.mark.parametrize("name", RUNS)
def test_run(name: str, rewrite: bool, tmp_path: Path) -> None:
    for file, text in FILES.items():
        (tmp_path / file).write_text(text, encoding="utf-8")
    text = "\n".join(shown(call.split()) for call in RUNS[name])
    # Chance chooses among patterns of suppression that are equally good.
    text = re.sub(r"  - also suppressed: .*\n", "", text)
    if name == "suppress":
        text = re.sub(r"^\w+ +[0-9][0-9 PS]*\n", "", text, flags=re.MULTILINE)  # the rows of the pattern
    compare(f"run-{name}", text, rewrite)


def test_no_file_is_left_over() -> None:
    expected = {*HELPS, *(f"run-{name}" for name in RUNS)}
    assert {file.stem for file in GOLDEN.glob("*.txt")} == expected
