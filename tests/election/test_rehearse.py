"""Whole elections with every role as a process, from the command line and with every role killed."""

import json
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from commands import SCRIPT, Ran
from safemargin import election
from safemargin.election.report import ElectionRehearsal

pytestmark = pytest.mark.slow


def script(*arguments: str, cwd: Path) -> Ran:
    """The installed command; eleven processes start, which takes its time on a busy machine."""
    ran = subprocess.run([str(SCRIPT), *arguments], cwd=cwd, capture_output=True, text=True, check=False, timeout=900)
    return Ran(ran.returncode, ran.stdout, ran.stderr)


def test_the_black_box(tmp_path: Path) -> None:
    ran = script("election", "rehearse", "--voters", "60", "--out", "folder", "--json", cwd=tmp_path)
    assert ran.code == 0, ran.err
    document = ran.document
    assert document["enrolled"] == 60 and document["verified"] is True and document["certified"] is True
    assert document["total_verified"] is True and sum(document["total"].values()) <= 60  # type: ignore[attr-defined]
    assert document["board"] == "folder/board" and document["release"] == "folder/release"
    ages = document["dimensions"]["age"]  # type: ignore[index]
    assert ages["opened"] is True and 0 < ages["accepted"] <= ages["issued"] <= 60
    page = (tmp_path / "folder" / "views.html").read_text()
    assert all(name in page for name in ("registrar", "issuer-3", "box", "collector", "trustee-1"))
    assert (tmp_path / "folder" / "release" / "published" / "certificate.json").exists()
    pinned = str(document["id"])
    ran = script("election", "verify", "folder/board", "--id", pinned, "--json", cwd=tmp_path)
    assert ran.code == 0 and json.loads(ran.out)["verified"] is True and json.loads(ran.out)["not_shown"]
    ran = script("election", "verify", "folder/board", "--id", "0" * 32, "--json", cwd=tmp_path)
    assert ran.code == 1 and "another election" in json.loads(ran.out)["findings"][0]
    for path in sorted((tmp_path / "folder/board/entries").glob("*.json")):
        if json.loads(path.read_bytes())["type"] == "result":
            path.write_bytes(path.read_bytes().replace(b'"yes":', b'"yes":1', 1))
            ran = script("election", "verify", "folder/board", "--id", pinned, "--json", cwd=tmp_path)
            assert (
                ran.code == 1 and f"entry {int(path.stem)} (result of collector)" in json.loads(ran.out)["findings"][0]
            )


def test_killing_every_role_loses_and_doubles_nothing(tmp_path: Path) -> None:
    found = election.rehearse(tmp_path / "out", voters=30, seed=1, kill=True)
    assert not found.check.findings and found.check.complete, found.to_json()
    assert found.lost == 0 and found.kills >= 20, "every role twice"
    assert all(noted["accepted"] <= noted["issued"] <= 30 for noted in found.check.dimensions.values())


def test_killing_every_role_on_postgres(tmp_path: Path, postgres: str) -> None:
    found = election.rehearse(tmp_path / "out", voters=30, seed=3, kill=True, database=postgres)
    assert not found.check.findings and found.lost == 0 and found.kills, found.to_json()


def test_a_rehearsal_below_the_minimum_says_so(tmp_path: Path) -> None:
    noted = {"issued": 19, "accepted": 19, "opened": False}
    check = SimpleNamespace(
        enrolled=20, dimensions={"age": noted}, turnout={}, findings=[], certified=False, total={}, total_verified=False
    )
    rehearsal = ElectionRehearsal(tmp_path, "id", check, lost=0, kills=0, seconds=1.0, storage={})  # type: ignore[arg-type]
    assert "age: 19 ballots are fewer than the minimum: nothing was decrypted" in rehearsal.to_text()
