"""Waves: people who are asked again, and the same answers published again."""

from pathlib import Path

import numpy as np
import pytest

from safemargin import Project, Release, release
from safemargin.core import InputError
from safemargin.history.entries import same_wave
from safemargin.history.file import read_ledger

PROJECT = """[data]
file = "{cycle}.csv"
answer = "answer"
[axes.site]
[axes.grade]
[ledger]
file = "ledger.sqlite"
population = "staff"
cycle = "{cycle}"
turnover = "net"
{answers}
"""


def survey(seed: int, people: int, changed: int) -> tuple[list[str], list[str]]:
    """Two waves of the same people, of whom some answer otherwise in the second."""
    rng = np.random.default_rng(seed)
    rows = [(f"s{rng.integers(5)}", f"g{rng.integers(3)}", int(rng.random() < 0.45)) for _ in range(people)]
    others = set(rng.choice(people, changed, replace=False).tolist())
    second = [(site, grade, 1 - yes if n in others else yes) for n, (site, grade, yes) in enumerate(rows)]
    first, again = ([f"{s},{g},{'yes' if yes else 'no'}" for s, g, yes in wave] for wave in (rows, second))
    return first, again


def published(folder: Path, rows: list[str], cycle: str, answers: str) -> Release:
    (folder / f"{cycle}.csv").write_text("\n".join(["site,grade,answer", *rows]) + "\n", encoding="utf-8")
    path = folder / f"{cycle}.toml"
    path.write_text(PROJECT.format(cycle=cycle, answers=f'answers = "{answers}"'), encoding="utf-8")
    made = release(path)
    made.write(folder / f"out {cycle}")
    return made


def groups(made: Release) -> dict[str, list[str]]:
    return {name: sorted(set(map(str, frame.iloc[:, 0]))) for name, frame in made.tables.items()}


def test_a_new_wave_gives_what_the_first_gave(tmp_path: Path) -> None:
    first, second = survey(1, 2_700, 200)
    one, two = published(tmp_path, first, "2025", "kept"), published(tmp_path, second, "2026", "new")
    assert groups(one) == groups(two) and set(two.tables) == {"total", "site", "grade"}
    assert two.certificate.earlier == "not" and two.certificate.rule == one.certificate.rule == "rerun"
    assert any("asked again since 2025" in note for note in two.plan.notes)
    three = published(tmp_path, second, "2026 again", "kept")
    assert three.certificate.earlier == "jointly" and "the release of '2026' " in three.certificate.statement
    entries = read_ledger(tmp_path / "ledger.sqlite")
    assert [entry.cycle for entry in same_wave(entries, "kept")] == ["2026", "2026 again"]
    assert same_wave(entries, "new") == ()


def test_a_project_with_a_ledger_chooses() -> None:
    text = PROJECT.format(cycle="1", answers="")
    with pytest.raises(InputError) as error:
        Project.parse(text)
    assert 'answers = "kept"' in str(error.value) and 'answers = "new"' in str(error.value)
    assert "\n" not in str(error.value)
