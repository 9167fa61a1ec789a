"""What is open: projects, data files, runs, and changes of the project file."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from safemargin.core import InputError
from safemargin.release.project import Project
from safemargin.web.edit import set_keys
from safemargin.web.place import Place
from test_golden import FILES


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("project.toml", "votes.csv"):
        (tmp_path / name).write_text(FILES[name], encoding="utf-8")
    return tmp_path


def test_a_folder_its_project_or_a_data_file_is_opened(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = folder / "project.toml"
    assert Place(folder).project == Place(project).project == project
    place = Place(folder / "votes.csv")
    assert (place.project, place.data, place.folder) == (None, folder / "votes.csv", folder)
    monkeypatch.chdir(folder)
    assert Place().project == project
    with pytest.raises(InputError, match="there is no such file"):
        Place(folder / "nothing.csv")


def test_a_project_that_changed_meanwhile_is_not_overwritten(folder: Path) -> None:
    place = Place(folder)
    seen = place.digest
    other = place.text.replace("Works council", "Another title")
    place.save(other, seen)
    with pytest.raises(InputError, match="changed meanwhile"):
        place.save(FILES["project.toml"], seen)
    assert place.text == other
    with pytest.raises(InputError, match="target.beta"):
        place.save(other.replace("beta = 0.1", "beta = 7"), place.digest)
    assert place.text == other, "what is wrong is not written"


def test_limits_change_nothing_else(folder: Path) -> None:
    place = Place(folder)
    before = place.load()
    place.save(place.with_limits(replace(before.target, beta=0.025, kappa=7, tau=2), "merge"), place.digest)
    after = Project.load(folder / "project.toml")
    assert (after.target.beta, after.target.kappa, after.target.tau, after.protect) == (0.025, 7, 2, "merge")
    assert after.model_copy(update={"aims": before.aims}) == before


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[axes.site]\n",
        "[target]   # limits\nbeta=0.1#close\n",
        '[target]\nsensitive = {site = [\n  "North",\n]}\n[outputs]\nformats = ["csv"]\n',
        'a = 1\n[ target ]\n"beta" = 0.1\n',
    ],
)
def test_keys_are_set_in_their_section_alone(text: str) -> None:
    tomllib = pytest.importorskip("tomllib")
    changed = set_keys(text, "target", {"beta": 0.2, "protect": 'a "name"\\'})
    if '"beta"' in text:  # the same key twice: the project is refused when it is parsed
        with pytest.raises(tomllib.TOMLDecodeError):
            tomllib.loads(changed)
        return
    before, after = tomllib.loads(text), tomllib.loads(changed)
    assert after.pop("target") == {**before.pop("target", {}), "beta": 0.2, "protect": 'a "name"\\'}
    assert after == before


def test_runs_are_those_that_this_version_wrote(folder: Path) -> None:
    place = Place(folder)
    stated = {"cells": [], "verdict": {}, "answers": [], "certified": True}
    documents = {
        "draft": {**stated, "command": "safemargin release project.toml"},
        "tried": {**stated, "command": "safemargin release project.toml --protect merge"},
        "other": {**stated, "command": "safemargin release project.toml.bak"},
        "old": {"cells": []},
    }
    for name, document in documents.items():
        (folder / name / "confidential").mkdir(parents=True)
        (folder / name / "confidential/plan.json").write_text(json.dumps(document))
    (folder / "broken/confidential").mkdir(parents=True)
    (folder / "broken/confidential/plan.json").write_text("[" * 100_000)  # of somebody who sent the folder
    assert {run.name for run in place.runs()} == {"draft", "tried", "other"}
    assert [run.name for run in place.own_runs()] == ["draft"], "what was tried is no plan of the project"
    assert place.run("draft").kind == "draft" and place.is_newer(place.run("draft"))
    with pytest.raises(InputError, match="no such run"):
        place.run("../draft")


def test_data_are_read_again_only_where_a_file_changed(folder: Path) -> None:
    place = Place(folder)
    first = place.inputs()
    assert place.inputs() is first
    with (folder / "votes.csv").open("a", encoding="utf-8") as file:
        file.write("South,senior,no,5\n")
    assert int(place.inputs().table.totals.sum()) == int(first.table.totals.sum()) + 5
