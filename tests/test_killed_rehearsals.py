"""A rehearsal that is killed leaves no process: the parties that it started would answer on their ports for good."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from safemargin.core import python_command

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc"),
]


def processes_in(folder: Path) -> set[int]:
    """Numbers of the processes whose current folder is this one."""
    found = set[int]()
    for place in Path("/proc").glob("[0-9]*"):
        try:
            state = (place / "stat").read_text().rpartition(")")[2].split()[0]
            if state != "Z" and os.readlink(place / "cwd") == str(folder):
                found.add(int(place.name))
        except OSError:  # ended meanwhile, or of another user
            continue
    return found


def is_served(folder: Path) -> bool:
    """Whether a party serves: it has a log, or says so in its arguments."""
    if list(folder.glob("rehearsal/parties/logs/* serve.txt")):
        return True
    return any(b"\0serve\0" in _command_line(number) for number in processes_in(folder))


def _command_line(number: int) -> bytes:
    try:
        return Path(f"/proc/{number}/cmdline").read_bytes()
    except OSError:  # ended meanwhile
        return b""


@pytest.mark.parametrize(
    "command", ["election rehearse --voters 10 --out rehearsal", "aggregate rehearse --clients 200 --bits 2"]
)
def test_nothing_runs_after_a_kill(tmp_path: Path, command: str) -> None:
    quiet, started = subprocess.DEVNULL, python_command("-m", "safemargin", *command.split())
    run = subprocess.Popen(started, cwd=tmp_path, stdout=quiet, stderr=quiet)
    while not is_served(tmp_path):
        assert run.poll() is None, "ended before it started anything"
        time.sleep(0.01)
    assert run.pid in processes_in(tmp_path)
    run.kill()
    run.wait()
    deadline = time.monotonic() + 60  # the kill of the others follows at once, but not at the same time
    while (left := processes_in(tmp_path)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not left
