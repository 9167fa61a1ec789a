"""Nothing is published but what is certified and stood up to every attack, by whatever sequence of public calls."""

import copy
import dataclasses
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas
import polars
import pytest

import safemargin
from commands import Run, in_process
from safemargin import Draft, RefusedError, Release, Target, release
from safemargin.core import OutputError
from safemargin.release import witnesses
from safemargin.release.release import _ISSUED

pytestmark = pytest.mark.full

HOLE = {("a", "c"): (100, 0), ("a", "d"): (100, 50), ("b", "c"): (100, 50)}
"""N = [[100, 100], [100, 0]], T = [[0, 50], [50, 0]]: exact margins disclose that nobody of (a, c) said yes."""
SAFE = {("a", "c"): (200, 80), ("a", "d"): (200, 90), ("b", "c"): (300, 150), ("b", "d"): (100, 60)}
JOINED = SAFE | {("b", "d"): (103, 63)}
"""Three more people, who all said yes: beside the total of SAFE, the total alone discloses them."""


def write(folder: Path, people: dict[tuple[str, str], tuple[int, int]], name: str = "voters.csv") -> Path:
    lines = ["row,column,vote"]
    for (row, column), (count, yes) in people.items():
        lines += [f"{row},{column},{'yes' if n < yes else 'no'}" for n in range(count)]
    (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder / name


def call(path: Path, **options: Any) -> Release:
    return release(path, answer="vote", by=["row", "column"], **options)


def refusal(folder: Path) -> RefusedError:
    """The refusal of a release that nothing makes safe."""
    ledger = {"file": str(folder / "ledger"), "population": "town", "turnover": "net", "answers": "kept"}
    call(write(folder, SAFE), ledger={**ledger, "cycle": "1"}).write(folder / "first")
    with pytest.raises(RefusedError) as error:
        call(write(folder, JOINED), ledger={**ledger, "cycle": "2"})
    assert isinstance(error.value.draft, Draft) and not isinstance(error.value.draft, Release)
    return error.value


def published(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("published")]


def forged(draft: Draft) -> Draft:
    """The draft with a certificate that says yes, and without what the attacks found."""
    plan = dataclasses.replace(draft.plan, certificate=dataclasses.replace(draft.plan.certificate, certified=True))
    findings = tuple(dataclasses.replace(each, attempts=()) for each in draft.findings)
    return dataclasses.replace(draft, plan=plan, findings=findings)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Release:
    return call(write(tmp_path_factory.mktemp("safe"), SAFE))


@pytest.fixture(scope="module")
def draft(tmp_path_factory: pytest.TempPathFactory) -> Draft:
    draft = refusal(tmp_path_factory.mktemp("joined")).draft
    assert isinstance(draft, Draft)
    return draft


def test_a_release_is_written_the_same_by_every_way_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(witnesses, "new_secret", lambda: "5a" * 32)  # the salt is all that is drawn
    path = write(tmp_path, SAFE)
    project = tmp_path / "project.toml"
    project.write_text('[data]\nfile = "voters.csv"\nanswer = "vote"\n[axes.row]\n[axes.column]\n')
    call(path).write(tmp_path / "library")
    release(project).write(tmp_path / "project")
    release(safemargin.Project.load(project)).write(tmp_path / "loaded")
    for name, frame in (("pandas", pandas.read_csv(path)), ("polars", polars.read_csv(path))):
        release(frame, answer="vote", by=["row", "column"]).write(tmp_path / name)
    run: Run = in_process(monkeypatch, capsys)
    ran = run("release", path, "--answer", "vote", "--by", "row,column", "--out", tmp_path / "command")
    assert ran.code == 0, ran.err
    first, *others = (
        {file.name: file.read_bytes() for file in (tmp_path / name / "published").iterdir()}
        for name in ("library", "project", "loaded", "pandas", "polars", "command")
    )
    assert {"total.csv", "row.json", "column.csv", "certificate.json", "manifest.json"} <= set(first)
    assert all(other == first for other in others)


def test_a_release_reads_as_json_text_page_and_tables(tmp_path: Path) -> None:
    result = call(write(tmp_path, SAFE), title="A vote")
    assert result.to_json()["certified"] is True
    assert "published/total.csv" in result.to_json()["published"]
    assert result.to_text().startswith("You may publish") and ">A vote</p>" in result.to_html()
    assert set(result.tables) == {"total", "row", "column"}
    assert result.frame("row").columns.tolist() == ["row", "option", "count", "status"]
    assert result.tables["total"]["count"].sum() == 800
    with pytest.raises(KeyError, match="there is no published table 'age'"):
        result.frame("age")


@pytest.mark.parametrize(
    "forge",
    [
        lambda made, draft: Release(),
        lambda made, draft: Release(draft),
        lambda made, draft: Release(plan=draft.plan, publication=draft.publication, findings=()),
        lambda made, draft: copy.copy(made),
        lambda made, draft: copy.deepcopy(made),
        lambda made, draft: pickle.loads(pickle.dumps(made)),
        lambda made, draft: dataclasses.replace(made, _draft=draft),
        lambda made, draft: type("Mine", (Release,), {})(),
        lambda made, draft: object.__new__(Release).write("out"),
        lambda made, draft: object.__new__(Release).to_json(),
        lambda made, draft: setattr(made, "_draft", draft),
        lambda made, draft: delattr(made, "_draft"),
        lambda made, draft: setattr(made, "_files", {"total.csv": b""}),
        lambda made, draft: made._files.update({"total.csv": b""}),
        lambda made, draft: Release.write(draft, "out"),
        lambda made, draft: Release.write(forged(draft), "out"),
    ],
)
def test_no_release_can_be_forged(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    made: Release,
    draft: Draft,
    forge: Callable[[Release, Draft], object],
) -> None:
    monkeypatch.chdir(tmp_path)
    before = list(_ISSUED)
    with pytest.raises((RefusedError, TypeError, AttributeError)):
        forge(made, draft)
    assert list(_ISSUED) == before and published(tmp_path) == []


def test_a_draft_is_never_written_as_published(tmp_path: Path, draft: Draft) -> None:
    for each in (draft, forged(draft)):
        for place in ("published", "published/below", "release/published"):
            with pytest.raises(OutputError, match="a draft is confidential"):
                each.write(tmp_path / place)
    forged(draft).write(tmp_path / "forged")
    draft.write(tmp_path / "draft")
    for name in ("draft", "forged"):
        assert sorted(path.name for path in (tmp_path / name).iterdir()) == ["confidential"]
    assert published(tmp_path) == []
    assert draft.to_json()["certified"] is False and forged(draft).to_json()["certified"] is False
    assert draft.to_text().startswith("Not certified: do not publish.")
    assert "Publish " not in forged(draft).to_text() and "Not certified: do not publish" in draft.to_html()


def test_a_refused_error_is_one_line(tmp_path: Path) -> None:
    error = refusal(tmp_path)
    assert str(error).startswith("Not certified: do not publish.") and "\n" not in str(error)


WAYS: list[dict[str, Any]] = [
    {"protect": protect, "target": target, "onlookers": onlookers, "outputs": outputs}
    for protect in ("merge", "suppress", "noise")
    for target in (Target(kappa=10, tau=0), Target(beta=0.01, kappa=1, tau=0), Target(tau=3, kappa=10))
    for onlookers, outputs in (
        (None, None),
        ([{"name": "clerk", "composition": "joint", "knows_rule": False}], {"pairs": "all"}),
    )
]


@pytest.mark.parametrize("way", WAYS)
def test_the_hole_cannot_be_published(tmp_path: Path, way: dict[str, Any]) -> None:
    """Whatever is released of it, the margins together leave open how (a, c) voted."""
    path = write(tmp_path, HOLE)
    try:
        made = call(path, **way)
    except RefusedError as error:
        with pytest.raises(OutputError):
            forged(error.draft).write(tmp_path / "published")
        assert published(tmp_path) == []
        return
    exact = [
        set(table[name][table["status"] == "exact"])
        for name in ("row", "column")
        if name in made.tables
        for table in [made.tables[name]]
    ]
    assert exact != [{"a", "b"}, {"c", "d"}], "exact margins disclose the hole"
    assert not any(" x " in name for name in made.tables)


def test_the_gate_is_on_the_public_surface_alone() -> None:
    """What decides and what publishes without the gate has no public name."""
    assert not {"decide", "publish", "tabulate", "maximise"} & set(safemargin.__all__)
    assert {"release", "Release", "Draft", "RefusedError"} <= set(safemargin.__all__)
    assert issubclass(RefusedError, safemargin.SafemarginError)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"answer": "vote"}, "by is missing"),
        ({"by": ["row"]}, "answer is missing"),
        ({"answer": "vote", "by": ["row", "row"]}, "by: names 'row' twice"),
        ({"answer": "vote", "by": ["vote"]}, "column 'vote' is already"),
        ({"answer": "vote", "by": ["row"], "protect": "hide"}, "must be"),
        ({"answer": "nothing", "by": ["row"]}, "there is no column 'nothing'"),
    ],
)
def test_wrong_arguments_are_named(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(safemargin.SafemarginError, match=message):
        release(write(tmp_path, SAFE), **options)


def test_a_project_says_everything_itself(tmp_path: Path) -> None:
    path = tmp_path / "project.toml"
    write(tmp_path, SAFE)
    path.write_text('[data]\nfile = "voters.csv"\nanswer = "vote"\n[axes.row]\n')
    with pytest.raises(safemargin.SafemarginError, match="answer, by: a project says all of this itself"):
        release(path, answer="vote", by=["row"])
