"""Limits are locked before the count; a release with others names what changed, and the ledger keeps both."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import safemargin
from safemargin import InputError
from safemargin.release.ledger.locks import CHANGED, LOCKED, read_locks
from safemargin.release.project import Project

TEXT = """
[data]
file = "staff.csv"
answer = "answer"
count = "people"
[axes.site]
[target]
beta = {beta}
kappa = 20
tau = 0
[ledger]
file = "ledger.sqlite"
population = "staff"
cycle = "2026"
answers = "kept"
turnover = "net"
lock = true
"""


def project(folder: Path, beta: float = 0.05) -> Path:
    rows = "site,answer,people\nA,yes,90\nA,no,110\nB,yes,80\nB,no,120\nC,yes,40\nC,no,60\n"
    (folder / "staff.csv").write_text(rows)
    path = folder / "project.toml"
    path.write_text(TEXT.format(beta=beta))
    return path


@pytest.mark.slow
def test_a_release_names_what_changed_since_the_limits_were_locked(tmp_path: Path) -> None:
    path = project(tmp_path)
    with pytest.raises(InputError, match="are not locked; run safemargin lock"):
        safemargin.release(path)
    locked = safemargin.lock(path)
    assert safemargin.lock(path) == locked and len(locked.digest) == 64
    same = safemargin.release(path)
    assert any(note.startswith("The limits were locked on") and locked.digest[:16] in note for note in same.plan.notes)
    other = safemargin.release(project(tmp_path, beta=0.03))
    assert any("target.beta: 0.05 became 0.03" in note for note in other.plan.notes)
    section = Project.load(path).ledger
    assert section is not None and [each.event for each in read_locks(section)] == [LOCKED, CHANGED]
    with pytest.raises(InputError, match="were locked on"):
        safemargin.lock(project(tmp_path, beta=0.04))
    other.write(tmp_path / "release")
    record = (tmp_path / "release/confidential/record.html").read_text(encoding="utf-8")
    assert "target.beta: 0.05 became 0.03" in record and locked.digest[:16] in record
    with pytest.raises(InputError, match="already published"):
        safemargin.lock(path)
    whole = (tmp_path / "ledger.sqlite").read_bytes()
    for damage in (
        "delete from locked where event = 'locked'",
        f"delete from locked where event = '{CHANGED}'",
        "drop table locked",
    ):
        (tmp_path / "ledger.sqlite").write_bytes(whole)
        with closing(sqlite3.connect(tmp_path / "ledger.sqlite")) as database, database:
            database.execute(damage)
        with pytest.raises(InputError, match="changed or removed"):
            read_locks(section)


def test_a_lock_needs_a_ledger(tmp_path: Path) -> None:
    path = project(tmp_path)
    path.write_text(path.read_text().split("[ledger]")[0])
    with pytest.raises(InputError, match="ledger is missing"):
        safemargin.lock(path)


def test_a_lock_keeps_a_forecast_that_reads_the_roll_only(tmp_path: Path) -> None:
    (tmp_path / "roll.csv").write_text("site,people\nA,300\nB,200\nC,9\n")
    (tmp_path / "project.toml").write_text(
        '[data]\nfile = "not_counted_yet.csv"\nanswer = "v"\noptions = ["yes", "no"]\n[roll]\nfiles = ["roll.csv"]\n'
        '[axes.site]\n[ledger]\nfile = "l.sqlite"\npopulation = "staff"\n'
        'cycle = "1"\nanswers = "new"\nturnover = "net"\n'
    )
    made = safemargin.lock(tmp_path / "project.toml", draws=5)
    document = made.to_json()["forecast"]
    assert document["draws"] == 5 and "C" in document["certain"]["merged"]["site"][0]
    assert set(document["tables"]["site"]) == {"exact", "merged", "lost"}
    again = safemargin.lock(tmp_path / "project.toml")
    assert again.to_json() == made.to_json()
    assert len(read_locks(Project.load(tmp_path / "project.toml").ledger)) == 1


def test_a_lock_without_a_roll_says_why_nothing_is_forecast(tmp_path: Path) -> None:
    (tmp_path / "project.toml").write_text(
        '[data]\nfile = "not_counted_yet.csv"\nanswer = "v"\n[axes.site]\n[ledger]\nfile = "l.sqlite"\n'
        'population = "staff"\ncycle = "1"\nanswers = "new"\nturnover = "net"\n'
    )
    made = safemargin.lock(tmp_path / "project.toml")
    assert "There is no forecast" in made.to_json()["forecast"]["missing"]
