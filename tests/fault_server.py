"""Runs commands in children of a process that has everything loaded, with a fault at one operation on files."""

import json
import os
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

PRELOAD = Path(__file__).parent / "preload"
COUNT, KILL, TERM, INT, IO, FULL, READ_ONLY = range(7)
KINDS = {"KILL": KILL, "TERM": TERM, "INT": INT, "EIO": IO, "ENOSPC": FULL, "EROFS": READ_ONLY}
WORK, TEMPORARY = "work", "tmp"
"""Below a root: the folder in which commands run, and the one for temporary files. Operations in both are counted."""


class Server:
    """The process that runs commands."""

    def __init__(self, library: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-P", str(PRELOAD / "server.py"), str(library)],
            env={
                "LD_PRELOAD": str(library),
                "PATH": "/usr/bin:/bin",
                "PYTHONPATH": os.environ["PYTHONPATH"],
                "COLUMNS": "120",
                "LANG": "C.UTF-8",
                "OPENBLAS_NUM_THREADS": "1",
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n"

    def ask(self, **request: object) -> Any:
        assert self.process.stdin is not None and self.process.stdout is not None
        print(json.dumps(request), file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())

    def run(self, root: Path, command: str, at: int = -1, kind: int = COUNT) -> dict[str, Any]:
        """Run a command to its end: its exit code, a letter for each of its operations, and what it said."""
        answer: dict[str, Any] = self.ask(do="run", root=str(root), arguments=shlex.split(command), at=at, kind=kind)
        return answer

    def start(self, root: Path, command: str, at: int = -1, kind: int = COUNT) -> int:
        """Start a command and leave it running; the number of its process."""
        return int(self.ask(do="start", root=str(root), arguments=shlex.split(command), at=at, kind=kind))

    def is_over(self, process: int) -> bool:
        return bool(self.ask(do="over", process=process))

    def end(self, process: int, number: int = signal.SIGKILL) -> dict[str, Any]:
        """Send a command that was started a signal, and wait for its end; 0 is no signal."""
        answer: dict[str, Any] = self.ask(do="end", process=process, signal=int(number))
        return answer

    def stop(self) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture(name="server", scope="module")
def fixture_server() -> Iterator[Server]:
    compiler = shutil.which("cc")
    if compiler is None or sys.platform != "linux":
        pytest.skip("needs a C compiler, on Linux")
    with tempfile.TemporaryDirectory() as name:
        library = Path(name, "faults.so")
        subprocess.run([compiler, "-shared", "-fPIC", "-o", library, PRELOAD / "faults.c", "-ldl"], check=True)
        server = Server(library)
        yield server
        server.stop()


def restore(template: Path, root: Path) -> None:
    """Put the content of a template into the folder in which commands run; no temporary file is there."""
    for path in (root / WORK, root / TEMPORARY):
        shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(template, root / WORK)
    (root / TEMPORARY).mkdir()


def modes(root: Path) -> dict[str, int]:
    """Every file and folder below a root, with who may read it."""
    return {str(path.relative_to(root)): path.lstat().st_mode for path in root.rglob("*")}


def content(root: Path) -> str:
    """A digest of all that is below a root: names, who may read, and bytes."""
    found = sha256()
    for path in sorted(root.rglob("*")):
        status = path.lstat()
        found.update(f"{path.relative_to(root)}\0{status.st_mode}\0{status.st_size}\0".encode())
        if stat.S_ISREG(status.st_mode):
            found.update(path.read_bytes())
        elif stat.S_ISLNK(status.st_mode):
            found.update(os.fsencode(os.readlink(path)))
    return found.hexdigest()


def allowed_codes(kind: str, good: int) -> set[int]:
    """How a command may end that a fault strikes: as the fault says, or as if it had not been there."""
    return {good, {"KILL": 137, "TERM": 130, "INT": 130}.get(kind, 2)}


STRUCK = {"ENOSPC": "owtn", "EROFS": "onx"}
"""Operations that a full or a read-only disk refuses: at another one nothing happens, so the next one is struck."""


def points(seen: str, number: int, share: int | None, copies: int = 10) -> list[int]:
    """At which operations the fault of a number strikes: at all of them, or at a share spread over them.

    Omitted are those where a fault does what it does at the next one: what a kill leaves is what is on the disk.
    SIGTERM and SIGINT have one handler, and take turns. Of operations on copies (capital letters: the same few for each
    of many files), so many are struck.
    """
    kind, letters = list(KINDS)[number], seen.lower() + "r"
    chosen = [
        at + 1
        for at, letter in enumerate(letters[:-1])
        if letter in STRUCK.get(kind, letter)
        and not (kind == "KILL" and letter in "rs" and letters[at + 1] in "rs")
        and (kind not in ("TERM", "INT") or at % 2 == (kind == "INT"))
    ]
    if share is not None:
        return _spread(chosen, share, number)
    own = [at for at in chosen if seen[at - 1].islower()]
    return sorted(own + _spread([at for at in chosen if seen[at - 1].isupper()], copies, number))


def _spread(places: list[int], share: int, number: int) -> list[int]:
    """So many of the places, others for each kind of fault."""
    if len(places) <= share:
        return places
    return [places[(step * len(KINDS) + number) * len(places) // (share * len(KINDS))] for step in range(share)]
