"""The screens without a browser: every form that a person can fill in wrongly is answered in one line."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from commands import without_salt
from safemargin import release
from safemargin.core import InputError
from safemargin.release.project import Project
from safemargin.ui import Grid, Headline, Section
from safemargin.web import jobs
from safemargin.web.app import SCREENS, App
from safemargin.web.bench import Bench
from safemargin.web.jobs import Job
from safemargin.web.place import Place
from safemargin.web.screens.check import audit_parts, corrections, reading_parts
from safemargin.web.workbench import open_workbench
from test_golden import FILES

pytestmark = pytest.mark.full


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    uploads = tmp_path / "uploads"
    uploads.mkdir()
    return Bench(Place(tmp_path), uploads)


@pytest.fixture
def page(bench: Bench) -> TestClient:
    return TestClient(App(bench).starlette("/s/"), base_url="http://127.0.0.1/s/", follow_redirects=False)


@pytest.mark.parametrize("name", [name for name in SCREENS if name not in ("job", "attack")])
def test_every_screen_shows_something(page: TestClient, name: str) -> None:
    answer = page.get(name)
    assert answer.status_code == 200 and "<h1>" in answer.text and answer.text.count("<script>") == 1
    assert "script-src 'sha256-" in answer.headers["content-security-policy"]


@pytest.mark.parametrize(
    ("screen", "form", "message"),
    [
        ("home", {"do": "open", "path": ""}, "path: name a project file"),
        ("home", {"do": "open", "path": "nothing.csv"}, "there is no such file"),
        ("home", {"do": "open", "path": "a\0b"}, "a\\x00b: there is no such file"),
        ("data", {"do": "save", "text": "beta = ", "digest": "old"}, "changed meanwhile"),
        ("limits", {"do": "save", "share": "<b>", "people": "1", "known": "0"}, "&lt;b&gt;"),
        ("limits", {"do": "save", "share": "40", "people": "1", "known": "0"}, "must be above 50 %"),
        ("limits", {"do": "save", "share": "95", "people": "0", "known": "0"}, "must be at least 1"),
        ("limits", {"do": "save", "share": "95", "people": "٣", "known": "0"}, "digits 0 to 9"),
        ("limits", {"do": "save", "share": "95", "people": "9", "known": "0", "protect": "x"}, "choose one"),
        ("limits", {"do": "ledger", "population": "", "cycle": "1"}, "population and cycle"),
        ("limits", {"do": "lock", "digest": "old"}, "changed meanwhile"),
        ("limits", {"do": "rehearse", "other": ""}, "other data: name a file"),
        ("plan", {"do": "try", "options": "--protect x; rm"}, "is no alternative"),
        ("plan", {"do": "write", "options": "--beta 9"}, "is no alternative"),
        ("publish", {"do": "publish", "decided": "A", "checked": "B"}, "this does not hold yet"),
        ("plan", {"do": "try", "axis": "site", "members": "North", "how": "keep"}, "make a plan first"),
        ("plan", {"do": "write", "axis": "nothing", "members": "North", "how": "keep"}, "there is no axis"),
        ("plan", {"do": "write", "axis": "site", "members": "", "how": "keep"}, "name at least one"),
        ("plan", {"do": "write", "axis": "site", "members": "Nowhere", "how": "keep"}, "has no category"),
        ("plan", {"do": "write", "axis": "site", "members": "North", "how": "join"}, "name at least two"),
        ("plan", {"do": "write", "axis": "site", "members": "North", "how": "keep"}, "try it first"),
        ("map", {"do": "look", "cell": "site=Nowhere"}, "is no cell of these data"),
        ("map", {"do": "look", "cell": "site=North", "option": "maybe"}, "there is no option"),
        ("data", {"do": "describe", "axis": "nothing"}, "there is no axis"),
        ("data", {"do": "describe", "axis": "site", "labels": "North"}, "write VALUE = LABEL"),
        ("data", {"do": "roles", "role-0": "answer"}, "choose at least one column"),
        ("home", {"do": "remove"}, "cannot be brought back"),
        ("home", {"do": "remove", "sure": "yes"}, "not made from a dropped file"),
        ("check", {"do": "audit", "path": ""}, "table: name a file"),
        ("check", {"do": "audit", "path": "nothing.csv"}, "there is no such file"),
        ("check", {"do": "audit", "path": "site.csv", "by": "--out"}, "does not begin with a dash"),
        ("check", {"do": "suppress", "path": "site.csv", "primary": "few"}, "counts to protect"),
    ],
)
def test_a_wrong_form_is_answered_in_one_line(
    page: TestClient, screen: str, form: dict[str, str], message: str
) -> None:
    answer = page.post(screen, data=form)
    alert = answer.text.partition('role="alert"><strong>')[2].partition("</p>")[0]
    assert answer.status_code == 422 and message in alert.replace("\xa0", " ") and "\n" not in alert.strip()


def test_a_project_that_is_wrong_can_be_mended(page: TestClient, bench: Bench) -> None:
    """Screens say what is wrong in one line, and the file can still be edited."""
    assert bench.place.project is not None
    bench.place.project.write_text(FILES["project.toml"].replace("beta = 0.1", "beta = 3"), encoding="utf-8")
    for name in ("", "limits", "plan", "publish", "map"):
        answer = page.get(name)
        assert answer.status_code == 422 and "target.beta = 3" in answer.text, name
    answer = page.get("data")
    assert "target.beta = 3" in answer.text and "<textarea" in answer.text
    form = {"do": "save", "text": FILES["project.toml"], "digest": bench.place.digest}
    assert page.post("data", data=form).status_code == 303
    assert page.get("").status_code == 200


def test_only_files_of_a_run_are_shown(page: TestClient, bench: Bench) -> None:
    run = bench.place.folder / "draft/confidential"
    run.mkdir(parents=True)
    (run / "plan.json").write_text('{"cells": [], "verdict": {}, "answers": []}')
    (run / "report.html").write_text("<p>report</p>")
    answer = page.get("file/draft/confidential/report.html")
    assert answer.text == "<p>report</p>" and "sandbox" in answer.headers["content-security-policy"]
    for name in (
        "draft/../project.toml",
        "draft/..%2Fproject.toml",
        "draft/confidential/nothing.html",
        "uploads/a.html",
    ):
        assert page.get(f"file/{name}").status_code == 404, name


def test_a_dropped_file_gets_a_name_that_is_safe(page: TestClient, bench: Bench) -> None:
    path = Path(page.post("drop?name=..%2F..%2Fa%3Bb.csv", content=b"x,count\n").json()["path"])
    assert path.parent.parent == bench.uploads and path.read_bytes() == b"x,count\n"
    assert path.stat().st_mode & 0o077 == 0


@pytest.mark.slow
def test_commands_run_one_at_a_time_and_can_be_cancelled(bench: Bench) -> None:
    """A cancelled command leaves nothing behind; the next one may start."""
    job = bench.jobs.start(["release", "project.toml", "--out", "out"], bench.place.folder, "The plan", "plan")
    with pytest.raises(InputError, match="The plan is still running"):
        bench.jobs.start(["schema"], bench.place.folder, "The schema", "home")
    while job.step == "starting":
        time.sleep(0.02)
    bench.jobs.cancel()
    assert (job.state, job.message) == ("cancelled", "Cancelled. Nothing was written.")
    assert {path.name for path in bench.place.folder.iterdir()} == {*FILES, "uploads"}
    job = bench.jobs.start(["audit", "wrong.csv"], bench.place.folder, "The check", "check")
    while job.state == "running":
        time.sleep(0.02)
    assert (job.state, job.message) == ("failed", "wrong.csv: no row holds a label and a number; where is the table?")
    assert job.command == "safemargin audit wrong.csv"


DEAF = "signal.signal(15, lambda *_: signal.signal(15, signal.default_int_handler))"
"""As Python does with an interrupt that arrives in a callback: it is lost, the next one is not."""


@pytest.mark.skipif(os.name == "nt", reason="no signals to send")
@pytest.mark.parametrize(
    ("first", "then", "expected"),
    [
        (DEAF, "", ("cancelled", "Cancelled. Nothing was written.")),
        ("", "sys.exit(70)", ("cancelled", "Cancelled. Nothing was written.")),
        ("", "os.mkdir('out')", ("cancelled", "Cancelled. out was written.")),
        ("", "print('{}'); sys.exit(0)", ("done", "It ended before it could be cancelled.")),
    ],
    ids=["lost", "error", "written", "result"],
)
def test_a_cancelled_command_is_answered_however_it_ends(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, first: str, then: str, expected: tuple[str, str]
) -> None:
    """An interrupt may be lost, become an error of a library, or come when the work is done."""
    code = f"import os, signal, sys, time\nsignal.signal(15, signal.default_int_handler)\n{first}\n"
    code += 'print(\'{"step": "reading", "done": 0, "total": null}\', file=sys.stderr, flush=True)\n'
    code += f"try:\n    time.sleep(300)\nexcept KeyboardInterrupt:\n    {then or 'pass'}\n    sys.exit(130)\n"
    popen = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", lambda _, **more: popen([sys.executable, "-c", code], **more))
    monkeypatch.setattr(jobs, "AGAIN", 0.2)
    job = bench.jobs.start(["release", "project.toml", "--out", "out"], bench.place.folder, "The plan", "plan")
    while job.step == "starting":
        time.sleep(0.02)
    bench.jobs.cancel()
    assert (job.state, job.message) == expected


@pytest.mark.slow
def test_what_the_page_publishes_is_what_the_library_writes(page: TestClient, bench: Bench) -> None:
    """Every published file, byte for byte, without a ledger and the salt of auditors, which differ from run to run."""
    folder, project = bench.place.folder, bench.place.project
    assert project is not None
    project.write_text(FILES["project.toml"].partition("[ledger]")[0], encoding="utf-8")
    stated = {"state": "sound", "sentence": "", "detail": ""}
    command = "safemargin release project.toml"
    (folder / "draft/confidential").mkdir(parents=True)
    (folder / "draft/confidential/plan.json").write_text(
        json.dumps({"cells": [], "verdict": stated, "answers": [], "certified": True, "command": command})
    )
    form = {"do": "publish", "decided": "Ada", "checked": "Emmy"}
    assert page.post("publish", data=form).headers["location"] == "job?id=1"
    release(project).write(folder / "again")
    while bench.jobs.running is not None:
        time.sleep(0.02)
    assert bench.jobs.jobs[1].state == "done", bench.jobs.jobs[1].message
    ours, theirs = (without_salt(folder / name / "published") for name in RUNS)
    assert ours == theirs and "certificate.json" in ours


RUNS = ("release", "again")


def started(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that forms ask for, none of which runs."""
    calls: list[list[str]] = []

    def start(arguments: list[str], folder: Path, title: str, link: str, **_: object) -> Job:
        calls.append(arguments)
        return Job(len(calls), tuple(arguments), folder, title, link)

    monkeypatch.setattr(bench.jobs, "start", start)
    return calls


def test_an_alternative_is_tried_before_it_is_written_and_no_other(
    page: TestClient, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls, choice = started(bench, monkeypatch), "--protect merge --beta 0.03"
    offered = [
        {"words": "a", "options": options, "kept": {"site": "1 of 2"}, "share": 0.5, "state": "certified"}
        for options in ("--protect auto", choice, "--protect noise")
    ]
    verdict = {"state": "unsound", "sentence": "No.", "detail": ""}
    cells = [{"cell": {"site": "A | B"}, "people": 9, "action": "merged", "reason": "small", "counts": {}}]
    command = "safemargin release project.toml"
    document = {"cells": cells, "verdict": verdict, "answers": [], "alternatives": offered, "command": command}
    run = bench.place.folder / "draft/confidential"
    run.mkdir(parents=True)
    (run / "plan.json").write_text(json.dumps(document))
    text = page.get("plan").text
    assert "What else you could do" in text and "Groups that are not exact" in text and choice in text
    form, before = {"options": choice, "digest": bench.place.digest, "run": "trial"}, bench.place.text
    answer = page.post("plan", data={"do": "write", **form})
    assert answer.status_code == 422 and "try it first" in answer.text and bench.place.text == before
    assert page.post("plan", data={"do": "try", **form}).status_code == 303
    assert calls == [["release", "trial.toml", "--out", "trial", "--draft"]] and bench.place.text == before
    trial = Project.load(bench.place.folder / "trial.toml")
    assert (trial.protect, trial.target.beta, trial.ledger) == ("merge", 0.03, None)
    (bench.place.folder / "trial/confidential").mkdir(parents=True)
    (bench.place.folder / "trial/confidential/plan.json").write_text(json.dumps({**document, "command": "other"}))
    text = page.get("plan", params={"run": "trial", "options": choice}).text
    assert "A trial:" in text and "merge groups (merge), limit 3" in text and "Write it to the project" in text
    assert "A trial:" not in page.get("plan").text, "the plan is that of the project"
    assert "try it first" in page.post("plan", data={"do": "write", **form, "options": "--protect noise"}).text
    assert page.post("plan", data={"do": "write", **form}).status_code == 303
    project = bench.place.load()
    assert (project.protect, project.target.beta, project.target.kappa) == ("merge", 0.03, 20)
    answer = page.post("publish", data={"do": "publish", "decided": "A", "checked": "B"})
    assert answer.status_code == 422 and len(calls) == 1, "a refused plan is not published"


def test_categories_are_kept_and_joined_by_hand(
    page: TestClient, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A trial is a copy of the project; the project changes only when the trial is written, and can be undone."""
    calls = started(bench, monkeypatch)
    stated = {"state": "sound", "sentence": "", "detail": ""}
    document = {"cells": [], "verdict": stated, "answers": [], "command": "safemargin release project.toml"}
    (bench.place.folder / "draft/confidential").mkdir(parents=True)
    (bench.place.folder / "draft/confidential/plan.json").write_text(json.dumps(document))
    before, section = bench.place.text, bench.place.load().axes["site"]
    names = bench.place.inputs().table.schema.axis("site").categories
    form = {"axis": "site", "members": " | ".join(names[:2]), "how": "join"}
    answer = page.post("plan", data={"do": "try", **form})
    assert answer.status_code == 303 and calls == [["release", "trial.toml", "--out", "trial", "--draft"]]
    trial = Project.load(bench.place.folder / "trial.toml")
    assert trial.axes["site"].join == (names[:2],) and trial.ledger is None and bench.place.text == before

    def write(name: str, digest: str, form: dict[str, str]) -> int:
        (bench.place.folder / name / "confidential").mkdir(parents=True)
        (bench.place.folder / name / "confidential/plan.json").write_text(json.dumps({**document, "command": "other"}))
        return page.post("plan", data={"do": "write", "run": name, "digest": digest, **form}).status_code

    assert write("trial", "old", form) == 422
    assert (
        page.post("plan", data={"do": "write", "run": "trial", **form, "digest": bench.place.digest}).status_code == 303
    )
    assert bench.place.load().axes["site"].join == (names[:2],) and "join" in page.get("plan").text
    grade = bench.place.inputs().table.schema.axis("grade").categories[0]
    kept = {"axis": "grade", "members": grade, "how": "keep"}
    assert page.post("plan", data={"do": "try", **kept}).status_code == 303
    assert write("trial-2", bench.place.digest, kept) == 303
    assert bench.place.load().axes["grade"].keep == (grade,)
    for name, axis, members in (("trial-3", "site", " + ".join(names[:2])), ("trial-4", "grade", grade)):
        undo = {"axis": axis, "members": members, "how": "free"}
        assert page.post("plan", data={"do": "try", **undo}).status_code == 303
        assert write(name, bench.place.digest, undo) == 303, members
    after = bench.place.load().axes
    assert after["site"] == section and after["grade"].keep == ()


def test_a_count_that_several_attacks_find_is_one_count() -> None:
    def found(**cell: str) -> dict[str, object]:
        return {"cell": cell, "option": None, "lower": 2, "upper": 2, "words": "exactly 2"}

    attacks = [
        {"attack": name, "looked_at": 1, "findings": [finding], "summary": "", "people_exposed": 2}
        for name, finding in (("suppressed", found(site="A", age="old")), ("joint", found(age="old", site="A")))
    ]
    headline, worst, _ = audit_parts({"safe": False, "attacks": attacks})
    assert isinstance(headline, Headline) and headline.headline.startswith("Do not publish: 1 count could be inferred")
    assert isinstance(worst, Section) and isinstance(grid := worst.parts[0], Grid)
    assert [str(row[2]) for row in grid.rows] == ["suppressed, joint"]


def test_labels_are_written_by_a_form(page: TestClient, bench: Bench) -> None:
    names = bench.place.inputs().table.schema.axis("site").categories
    form = {"do": "describe", "axis": "site", "labels": f"{names[0]} = First\n{names[1]} = {names[1]}"}
    assert page.post("data", data={**form, "digest": bench.place.digest}).status_code == 303
    assert bench.place.load().axes["site"].labels == {names[0]: "First"}
    assert "First" in bench.place.inputs().table.schema.axis("site").categories
    assert f"{names[0]} = First" in page.get("data?axis=site").text


def test_bands_are_written_by_a_form(page: TestClient, bench: Bench) -> None:
    lines = "".join(f"{age},{answer},1\n" for age in range(18, 80) for answer in ("yes", "no"))
    (bench.place.folder / "votes.csv").write_text(f"age,answer,people\n{lines}", encoding="utf-8")
    described = '[data]\nfile = "votes.csv"\nanswer = "answer"\ncount = "people"\n[axes.age]\n'
    (bench.place.folder / "project.toml").write_text(described, encoding="utf-8")
    form = {"do": "roles", "role-0": "bands", "role-1": "answer", "role-2": "count", "bands-0": "30, 45, 65"}
    wrong = page.post("data", data={**form, "bands-0": "few", "digest": bench.place.digest})
    assert wrong.status_code == 422 and 'aria-describedby="bands-0-wrong"' in wrong.text
    assert page.post("data", data={**form, "digest": bench.place.digest}).status_code == 303
    assert "bands = [30, 45, 65]" in bench.place.text
    assert bench.place.inputs().table.schema.axis("age").categories == ("under 30", "30-44", "45-64", "65 and over")


def test_a_cell_is_worked_out_by_the_command(page: TestClient, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    calls, axis = started(bench, monkeypatch), bench.place.inputs().table.schema.axes[0]
    cell = f"{axis.name}={axis.categories[0]}"
    assert page.post("map", data={"do": "look", "cell": cell, "rows": axis.name}).status_code == 303
    assert calls == [["bound", "project.toml", f"--cell={cell}"]]
    text = page.get("map", params={"rows": axis.name, "columns": axis.name, "cell": cell}).text
    assert 'id="cell"' in text and "Work out what could be inferred" in text and "Estimate, not certified." in text


def test_a_rehearsal_has_other_data_and_no_ledger(
    page: TestClient, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = started(bench, monkeypatch)
    (bench.place.folder / "-last.csv").write_text(FILES["votes.csv"], encoding="utf-8")
    assert page.post("limits", data={"do": "rehearse", "other": "-last.csv"}).status_code == 303
    assert calls == [["release", "rehearsal.toml", "--out", "rehearsal", "--draft"]]
    rehearsal, project = Project.load(bench.place.folder / "rehearsal.toml"), bench.place.load()
    assert rehearsal.ledger is None and project.ledger is not None and rehearsal.target == project.target
    assert rehearsal.data is not None and rehearsal.data.place.name == "-last.csv"
    page.post("check", data={"do": "audit", "path": "-last.csv"})
    assert calls[1] == ["audit", "./-last.csv"], "a name that looks like an option is none"


def test_a_large_map_is_drawn_and_names_cannot_break_out(page: TestClient, bench: Bench) -> None:
    names = ["</script><b>", *(f"j{number}" for number in range(101))]
    lines = [f"s{number},{name},{vote},9" for number in range(100) for name in names for vote in ("yes", "no")]
    (bench.place.folder / "votes.csv").write_text("site,grade,answer,people\n" + "\n".join(lines) + "\n")
    text = page.get("map?rows=site&columns=grade").text
    assert "<canvas" in text and "<b>" not in text and text.count("<script") == 2
    shown = json.loads(text.partition('<script type="application/json">')[2].partition("</script>")[0])
    assert len(shown["cells"]) == 10_200 and "</script><b>" in shown["columns"]


def test_it_ends_when_nobody_looks(tmp_path: Path) -> None:
    addresses: list[str] = []
    open_workbench(tmp_path, browser=False, idle=0.005, ready=addresses.append)
    assert len(addresses) == 1 and addresses[0].startswith("http://127.0.0.1:")
    with pytest.raises(InputError, match="idle = 0"):
        open_workbench(tmp_path, browser=False, idle=0)
    with pytest.raises(InputError, match="there is no such file"):
        open_workbench(tmp_path / "nothing", browser=False)


def test_the_library_works_without_the_extra() -> None:
    """Every name can be imported; the workbench itself states what to install."""
    script = """
import sys
sys.modules["uvicorn"] = sys.modules["starlette"] = None
from safemargin import *
try:
    open_workbench(browser=False)
except InputError as error:
    print(error)
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout == "uvicorn is not installed; run: pip install 'safemargin[web]'\n"


def test_the_reading_comes_first_and_one_click_corrects_it() -> None:
    axes = [
        {"name": "Precinct", "role": "rows", "categories": 3, "labels": ["A", "B", "C"], "total": "Total"},
        {"name": "columns", "role": "columns", "categories": 2, "labels": ["Yes", "No"], "total": "Total"},
    ]
    table = {"table": "t.csv", "role": "table", "words": "rows Precinct (3).", "axes": axes, "options": [], "gaps": 2}
    table |= {"rounded_to": 1, "notes": ["skipped a line"], "doubts": []}
    document = {"safe": True, "attacks": [], "reading": [table]}
    assert reading_parts(document)[0] == "Read as: rows Precinct (3)."
    clicks = {(name, value) for _, name, value in corrections(document)}
    assert {("totals", "none"), ("answers", "Yes,No"), ("suppressed", "1-4"), ("rounded", "5")} <= clicks
    doubtful = {**document, "reading": [{**table, "doubts": ["a dash may be a zero"]}]}
    first = reading_parts(doubtful)[0]
    assert isinstance(first, Headline) and first.state == "partly" and first.parts == ("a dash may be a zero.",)
