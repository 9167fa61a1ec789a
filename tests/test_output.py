"""A standard output that is closed or full: the exit code is not 1, and what was recorded is named."""

import os
import subprocess
from pathlib import Path

import pytest

from commands import SCRIPT

ROWS = "".join(f"{site},{answer}\n" * 45 for site in ("N", "S") for answer in ("yes", "no"))
CALL = [str(SCRIPT), "release", "votes.csv", "--answer", "answer", "--by", "site", "--out", "out"]


@pytest.fixture(name="folder")
def fixture_folder(tmp_path: Path) -> Path:
    (tmp_path / "votes.csv").write_text("site,answer\n" + ROWS)
    return tmp_path


def test_a_closed_output_after_a_release(folder: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    ran = subprocess.run(CALL, cwd=folder, stdout=writing, stderr=subprocess.PIPE, text=True, check=False, timeout=120)
    os.close(writing)
    assert ran.returncode == 141
    assert len(ran.stderr.splitlines()) == 1 and "out is complete, and recorded if it has a ledger" in ran.stderr
    assert (folder / "out/published/manifest.json").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_a_full_output_after_a_release(folder: Path) -> None:
    with open("/dev/full", "w") as full:
        ran = subprocess.run(CALL, cwd=folder, stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=120)
    assert ran.returncode == 2
    assert "standard output cannot be written (No space left on device); but out is complete" in ran.stderr
