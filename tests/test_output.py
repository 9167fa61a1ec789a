"""A standard output that is closed or full, and errors that nobody foresaw: one line, and the exit code is not 1."""

import os
import re
import subprocess
import tempfile
from importlib import import_module
from pathlib import Path

import pytest

from commands import SCRIPT, in_process

ROWS = "".join(f"{site},{answer}\n" * 45 for site in ("N", "S") for answer in ("yes", "no"))
CALL = [str(SCRIPT), "release", "votes.csv", "--answer", "answer", "--by", "site", "--out", "out"]


@pytest.fixture(name="folder")
def fixture_folder(tmp_path: Path) -> Path:
    (tmp_path / "votes.csv").write_text("site,answer\n" + ROWS)
    return tmp_path


@pytest.mark.slow
def test_a_closed_output_after_a_release(folder: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    ran = subprocess.run(CALL, cwd=folder, stdout=writing, stderr=subprocess.PIPE, text=True, check=False, timeout=500)
    os.close(writing)
    assert ran.returncode == 141
    assert len(ran.stderr.splitlines()) == 1 and "out is complete, and recorded if it has a ledger" in ran.stderr
    assert (folder / "out/published/manifest.json").exists()


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_a_full_output_after_a_release(folder: Path) -> None:
    with open("/dev/full", "w") as full:
        ran = subprocess.run(CALL, cwd=folder, stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=500)
    assert ran.returncode == 2
    assert "standard output cannot be written (No space left on device); but out is complete" in ran.stderr


def test_an_error_that_nobody_foresaw(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise KeyError("surprise")

    monkeypatch.chdir(folder)
    monkeypatch.setattr(tempfile, "tempdir", str(folder / "temporary"))
    (folder / "temporary").mkdir()
    monkeypatch.setattr(import_module("safemargin.release.decide.decide"), "prove", fail)
    ran = in_process(monkeypatch, capsys)(*CALL[1:])
    assert ran.code == 70
    assert len(ran.err.splitlines()) == 1 and "internal error: KeyError: 'surprise'" in ran.err
    details = re.search(r"the details are in (\S+), please report them", ran.err)
    assert details is not None
    text = Path(details[1]).read_text()
    assert "Traceback" in text and "surprise" in text
    assert not (folder / "out").exists()
