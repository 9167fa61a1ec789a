"""The coverage table of the paper: every equation, table and figure has a row, and what it names exists."""

import itertools
import re
from pathlib import Path

import typer.main

from safemargin import noise
from safemargin.cli import app
from safemargin.noise.programme import load_programme
from safemargin.noise.redundancy import redundancies

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs/noise_paper.md").read_text()
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.splitlines()
    if line.startswith("| ") and not line.startswith("| in the paper")
]


def test_every_equation_table_and_figure_has_one_row() -> None:
    """The paper numbers 22 equations, 2 tables and 7 figures."""
    for kind, numbers in (("Eq.", range(1, 23)), ("Table", range(1, 3)), ("Figure", range(1, 8))):
        for number in numbers:
            name = f"Eq. ({number})" if kind == "Eq." else f"{kind} {number}:"
            assert sum(name in row[0] for row in ROWS) == 1, name


def test_every_row_names_what_exists_or_gives_a_reason() -> None:
    root = typer.main.get_command(app())
    commands = root.commands  # type: ignore[attr-defined]
    for paper, shown in ROWS:
        named = re.findall(r"`([^`]+)`", shown)
        assert named or shown.startswith("none: "), paper
        if shown.startswith("none"):
            assert len(shown) > 30, "a reason"
        for text in named:
            words = text.split()
            if text.startswith("noise."):
                assert callable(getattr(noise, text.removeprefix("noise.").partition("(")[0]))
            elif words[0] in ("noise", "guarantee"):
                command = commands[words[0]].commands[words[1]]
                known = {flag for parameter in command.params for flag in parameter.opts}
                assert {word for word in words[2:] if word.startswith("--")} <= known, text
    assert (ROOT / "examples/eu_census.toml").exists()


def test_the_part_of_the_eu_programme_that_is_there() -> None:
    """Representations by Eqs. (21) and (22): all sets of variables of all tables, once or once per table."""
    programme = load_programme(ROOT / "examples/eu_census.toml")
    tables = [frozenset(v for v, _ in table.axes) for table in programme.tables]
    assert len(tables) == 19 and all(3 <= len(table) <= 6 for table in tables), "three to six dimensions"
    sets = [frozenset(part) for table in tables for n in range(7) for part in itertools.combinations(sorted(table), n)]
    for same_noise, listed in ((True, set(sets)), (False, sets)):
        counted = {entry.statistic: entry.t for entry in redundancies(programme, same_noise=same_noise)}
        assert counted["total"] == len(listed) == (210 if same_noise else 360)
        sex = next(v for v, variable in enumerate(programme.variables) if variable.name == "SEX")
        assert counted["SEX"] == sum(sex in part for part in listed)
    assert "210 representations in them with SPSN and 360 without" in PAGE.replace("\n", " ")
